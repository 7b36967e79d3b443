"""What stands behind the libraries of `labkit sdk`: one software NPU for the process.

    LABKIT_SOC           the chip, Ascend950PR_9599 when not set
    LABKIT_STRICT        0 lets pass what the real library would let pass
    LABKIT_DEVICE_COUNT  how many devices there are, 1 when not set
    LABKIT_CALL_LOG      a file that gets a line for each C call, see `labkit.sim.call_log`

A C program cannot be given a Python error. So where the software NPU has
something to say, such as a use after free, it says it on stderr and the call
returns a code; at the last aclFinalize it names what was never destroyed.
"""

from __future__ import annotations

import os
import sys
import threading

from labkit.cann.interface import MissingSymbol, ffi
from labkit.errors import LabError
from labkit.sim.call_log import CallLog
from labkit.sim.npu import SoftwareNpu

__all__ = ["address", "npu"]

_LOCK = threading.Lock()
_NPU: list[SoftwareNpu] = []
_LOG: list[CallLog | None] = []


def npu() -> SoftwareNpu:
    """The software NPU of this process, made when it is first wanted."""
    with _LOCK:
        if not _NPU:
            made = SoftwareNpu(
                os.environ.get("LABKIT_SOC") or None,
                devices=int(os.environ.get("LABKIT_DEVICE_COUNT") or 1),
                strict=os.environ.get("LABKIT_STRICT") != "0",
            )
            made.on_error = _tell
            made.on_finalize = lambda: _tell_leaks(made)
            _NPU.append(made)
        return _NPU[0]


def address(name: str) -> int:
    """The address of the function behind a name of the interface; 0 when there is none."""
    try:
        pointer = npu().symbol(name)
        log = _log()
        if log is not None:
            pointer = log.around(name, pointer)
    except MissingSymbol as error:
        _tell(error)
        return 0
    except (LabError, ValueError) as error:  # a chip that is not in the table, say
        print(f"labkit: {error}", file=sys.stderr, flush=True)
        return 0
    return int(ffi().cast("uintptr_t", pointer))


def _log() -> CallLog | None:
    """The call log that was asked for; none that cannot be written, and then it is said once."""
    with _LOCK:
        if not _LOG:
            path = os.environ.get("LABKIT_CALL_LOG")
            try:
                _LOG.append(CallLog(path) if path else None)
            except OSError as error:
                print(f"labkit: no call log: {error}", file=sys.stderr, flush=True)
                _LOG.append(None)
        return _LOG[0]


def _tell(error: LabError) -> None:
    print(f"labkit: {type(error).__name__}: {error}", file=sys.stderr, flush=True)


def _tell_leaks(npu: SoftwareNpu) -> None:
    for leak in npu.leaks():
        print(f"labkit: at aclFinalize {leak}", file=sys.stderr, flush=True)
