"""Calling the C interface: one door, which records, checks and raises.

Everything the host program does goes through `CApi.call`, on the real library
and on the software NPU alike.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from labkit.cann.codes import explain, name_of
from labkit.cann.interface import CInterface, ffi, prototypes
from labkit.errors import AclError, AclnnError, StaysHere
from labkit.host.record import HostCall, out_places

__all__ = ["CApi"]

_RECORD_LIMIT = 10_000


class CApi(StaysHere):
    """A C interface with a record.

    `record` keeps the last ten thousand calls of the device; `listen` gives
    the calls made from then on to one list as well.
    """

    def __init__(self, interface: CInterface) -> None:
        self.interface = interface
        self.record: deque[HostCall] = deque(maxlen=_RECORD_LIMIT)
        self.listener: list[HostCall] | None = None
        self._functions: dict[str, tuple[Any, bool, tuple[int, ...]]] = {}
        self._null = ffi().NULL
        self._clock = time.perf_counter_ns

    def has(self, name: str) -> bool:
        """Whether the function is there."""
        return self.interface.has(name)

    def call(self, name: str, *args: Any) -> Any:
        """Call a C function and return what it returned.

        A code other than 0 is returned, not raised; an error that the
        software NPU caught (`LifetimeError` ...) is raised.
        """
        known = self._functions.get(name)
        if known is None:
            function = self.interface.symbol(name)
            is_status = prototypes()[name].returns in ("aclError", "aclnnStatus")
            known = self._functions[name] = (function, is_status, out_places(name))
        function, is_status, outs = known
        start = self._clock()
        result = function(*args)
        spent = self._clock() - start
        # Now, since the program may use its out pointers again.
        received = {place: args[place][0] for place in outs if args[place] != self._null}
        entry = HostCall(name, args, result if is_status else None, result, spent, received)
        self.record.append(entry)
        if self.listener is not None:
            self.listener.append(entry)
        error = self.interface.take_error()
        if error is not None:
            raise error
        return result

    def check(self, name: str, *args: Any, accept: tuple[int, ...] = (0,)) -> int:
        """Call a function that returns a code; raise `AclError` unless the code is accepted."""
        status: int = self.call(name, *args)
        if status not in accept:
            raise self.error(name, status)
        return status

    def error(self, name: str, status: int, hint: str = "") -> AclError:
        """The error for a code that a call returned, with the library's own message in it."""
        message = self.recent_message()
        kind = AclnnError if name.startswith("aclnn") else AclError
        lines = [f"{name} returned {explain(status)}"]
        if message:
            lines.append(f"library message: {message}")
        if hint:
            lines.append(hint)
        return kind(
            "\n".join(lines), status=status, name=name_of(status), call=name, message=message
        )

    def recent_message(self) -> str:
        """What aclGetRecentErrMsg has for this thread; empties it. Not part of the record."""
        try:
            pointer = self.interface.symbol("aclGetRecentErrMsg")()
        except Exception:
            return ""
        text: bytes = b"" if pointer == ffi().NULL else ffi().string(pointer)
        return text.decode(errors="replace").strip()
