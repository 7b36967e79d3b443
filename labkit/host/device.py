"""A device: opened, used from any thread, closed once, in the right order.

`open_device` decides what stands below the C interface (the NPU or the
software NPU) and says why; everything above is the same program.
"""

from __future__ import annotations

import atexit
import os
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from labkit.cann.interface import CInterface, ffi
from labkit.errors import DeviceUseError, LabError, LeakWarning, StaysHere
from labkit.host.capi import CApi
from labkit.host.record import HostCall
from labkit.host.session import Session
from labkit.host.worker import OwnerThread

__all__ = ["Device"]

T = TypeVar("T")

_MALLOC_HUGE_FIRST = 0
# Not weak: a device that was dropped without closing still holds the library.
_OPEN: set[Device] = set()
_FORKED = False


class Device(StaysHere):
    """One device with a stream, owned by one thread.

    Made by `labkit.open_device`; a context manager. `kind` is "npu" or
    "sim", `name` what it is ("software NPU as Ascend950PR_9599", or the chip),
    `soc` the chip's name, `why` one line on how it was chosen, `record` every
    C call made on it (the last ten thousand). `stream` is a stream of somebody
    else's to work on: it is waited for and never destroyed.

    Every method may be called from any thread. In a forked child the device
    cannot be used: start workers with `multiprocessing.get_context("spawn")`.
    """

    def __init__(
        self,
        interface: CInterface,
        *,
        kind: str,
        index: int,
        why: str,
        stream: int | None = None,
    ) -> None:
        self.kind, self.index, self.why = kind, index, why
        self.interface = interface
        self.api = CApi(interface)
        self.stream: Any = None
        self._lent_stream = stream
        self.soc = ""
        self.name = interface.source
        self._pid = os.getpid()
        self._closed = False
        self._set = False
        self._session: Session | None = None
        self._worker = OwnerThread(f"labkit-{kind}-{index}")
        try:
            self._worker.run(self._open)
        except BaseException:
            self._worker.run(self._give_back)
            self._closed = True
            self._worker.stop()
            raise
        _OPEN.add(self)

    def _open(self) -> None:
        self._session = Session.enter(self.api, self.kind)
        self.api.check("aclrtSetDevice", self.index)
        self._set = True
        if self._lent_stream is not None:
            self.stream = ffi().cast("aclrtStream", self._lent_stream)
        else:
            stream = ffi().new("aclrtStream *")
            self.api.check("aclrtCreateStream", stream)
            self.stream = stream[0]
        name = self.api.call("aclrtGetSocName")
        self.soc = "" if name == ffi().NULL else ffi().string(name).decode()
        if self.kind == "npu":
            of_chip = self.soc or "chip not named"
            self.name = (
                f"software NPU as {of_chip}, behind CANN's library names"
                if not self.is_npu
                else f"NPU {self.index}: {of_chip}"
            )

    # -- use -------------------------------------------------------------------

    @property
    def record(self) -> tuple[HostCall, ...]:
        """The C calls made on this device, in order."""
        return tuple(self.api.record)

    @property
    def is_npu(self) -> bool:
        """Whether an NPU computes, and not the software NPU behind CANN's library names."""
        return self.kind == "npu" and not getattr(self.interface, "simulated", False)

    @property
    def closed(self) -> bool:
        """Whether the device was closed."""
        return self._closed

    def run(self, function: Callable[[], T]) -> T:
        """Run a function on the thread that owns the device, and return its result."""
        if os.getpid() != self._pid:
            raise DeviceUseError(_fork_text(self._pid))
        if self._closed:
            raise DeviceUseError(f"{self.name} is closed; open it again with labkit.open_device")
        return self._worker.run(function)

    def call(self, name: str, *args: Any) -> Any:
        """Call any C function of `cann.h` on the owner thread; codes are returned, not raised.

        >>> import labkit
        >>> from labkit.cann.interface import ffi
        >>> with labkit.open_device("sim") as dev:
        ...     count = ffi().new("uint32_t *")
        ...     dev.call("aclrtGetDeviceCount", count), count[0]
        (0, 1)
        """
        return self.run(lambda: self.api.call(name, *args))

    def synchronize(self) -> None:
        """Wait for the stream; raises `AclError` when queued work failed."""
        self.run(lambda: self.api.check("aclrtSynchronizeStream", self.stream))

    # -- closing ---------------------------------------------------------------

    def close(self) -> None:
        """Give everything back: synchronise, stream, device, library. Twice is once.

        All of it is tried whatever fails; then the first failure is raised.
        """
        if self._closed or os.getpid() != self._pid:
            return
        self._closed = True
        _OPEN.discard(self)
        try:
            failures = self._worker.run(self._give_back)
        finally:
            self._worker.stop()
        self._report_leaks()
        if failures:
            first, *others = failures
            if others:
                first.args = (f"{first}\nalso: " + "\nalso: ".join(map(str, others)),)
            raise first

    def _give_back(self) -> list[LabError]:
        """Undo `_open` in reverse; never raises, returns what failed."""
        failures: list[LabError] = []

        def attempt(function: Callable[..., Any], *args: Any) -> None:
            try:
                function(*args)
            except LabError as error:
                failures.append(error)

        if self.stream is not None:
            attempt(self.api.check, "aclrtSynchronizeStream", self.stream)
            if self._lent_stream is None:
                attempt(self.api.check, "aclrtDestroyStream", self.stream)
            self.stream = None
        if self._set:
            attempt(self.api.check, "aclrtResetDevice", self.index)
            self._set = False
        if self._session is not None:
            session, self._session = self._session, None
            attempt(session.leave, self.api)
        return failures

    def _report_leaks(self) -> None:
        """Name what the program made and never gave back, where the device keeps accounts.

        The software NPU does. Only when its last user leaves: before that,
        what is alive may be somebody else's.
        """
        leaks: Any = getattr(self.interface, "leaks", None)
        users: Any = getattr(self.interface, "users", 0)
        if leaks is None or users:
            return
        left: list[str] = leaks()
        if left:
            more = f" and {len(left) - 5} more" if len(left) > 5 else ""
            warnings.warn(
                f"{self.name} was closed, but {'; '.join(left[:5])}{more}",
                LeakWarning,
                stacklevel=3,
            )

    def __enter__(self) -> Device:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except LabError:
            if error is None:
                raise  # an error of the body is not hidden behind one of the close

    def __repr__(self) -> str:
        state = " (closed)" if self._closed else ""
        return f"<Device {self.name}{state}>"


def _fork_text(pid: int) -> str:
    return (
        f"this device was opened by process {pid} and cannot be used in a forked child. Start "
        'workers with multiprocessing.get_context("spawn") and open a device in each of them'
    )


def forked() -> bool:
    """Whether this process was forked from one that had a device open."""
    return _FORKED


def fork_refusal() -> str:
    """What to say to a forked child that wants a device."""
    return _fork_text(os.getppid())


def _after_fork() -> None:
    global _FORKED
    _FORKED = _FORKED or bool(len(_OPEN))
    _OPEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def _close_all() -> None:
    for device in list(_OPEN):
        try:
            device.close()
        except Exception as error:
            print(f"labkit: closing {device.name} at exit: {error}")
