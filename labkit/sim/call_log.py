"""The call log of `labkit sdk`: every C call of a program, a line of JSON each.

    LABKIT_CALL_LOG=FILE ./main

appends to FILE lines such as

    {"name": "aclrtFree", "args": ["devPtr=0x12c000000000"], "status": 0, "returned": "0"}

`name`, `args`, `status` and `returned` are those of `labkit.host.record`: what
the lab keeps of its own calls, a C++ program's calls can be compared with. A
line is written when the call comes back, so a call in which the process ends
is not there. No library of CANN writes such a log.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import IO, Any

from labkit.cann.calls import out_places, pointer_text, rendered_args
from labkit.cann.interface import ffi, prototypes

__all__ = ["CallLog"]


class CallLog:
    """A log file, and functions that write to it around others."""

    def __init__(self, path: str) -> None:
        self._file: IO[str] | None = open(path, "a", encoding="utf-8")  # until the process ends
        self._lock = threading.Lock()
        self._made: dict[str, Any] = {}  # C may call them as long as the process lives

    def around(self, name: str, pointer: Any) -> Any:
        """A C function that calls the one behind `pointer` and logs the call."""
        if name not in self._made:
            types, prototype = ffi(), prototypes()[name]
            outs = out_places(name)

            def entry(*args: Any) -> Any:
                result = pointer(*args)
                received = {at: args[at][0] for at in outs if args[at] != types.NULL}
                self._write(name, args, result, received)
                return result

            failed = types.NULL if "*" in prototype.returns else 0
            self._made[name] = types.callback(prototype.signature, entry, error=failed)
        return self._made[name]

    def _write(self, name: str, args: Any, result: Any, received: dict[int, Any]) -> None:
        status = prototypes()[name].returns in ("aclError", "aclnnStatus")
        with self._lock:
            if self._file is None:
                return
            try:
                line = {
                    "name": name,
                    "args": rendered_args(name, args, received),
                    "status": int(result) if status else None,
                    "returned": pointer_text(result),
                }
                self._file.write(json.dumps(line) + "\n")
                self._file.flush()
            except Exception as error:  # whatever it is, the call returns what it returned
                self._file = None
                print(f"labkit: no call log any more: {error!r}", file=sys.stderr, flush=True)
