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
from labkit.errors import LabError, LabValueError
from labkit.sim.call_log import CallLog
from labkit.sim.npu import SoftwareNpu

__all__ = ["address", "npu"]

_LOCK = threading.RLock()
_NPU: list[SoftwareNpu | None] = []
_LOG: list[CallLog | None] = []


def npu() -> SoftwareNpu | None:
    """The software NPU of this process, made when it is first wanted.

    None when a variable is wrong; that is said once.
    """
    with _LOCK:
        if not _NPU:
            try:
                _NPU.append(_made())
            except LabError as error:
                _say(f"no call of CANN's can be answered: {error}")
                _NPU.append(None)
        return _NPU[0]


def address(name: str) -> int:
    """The address of the function behind a name of the interface; 0 when there is none.

    Called by C once for each function, by several threads at a time perhaps.
    """
    with _LOCK:  # two threads must not make one function twice: C keeps the address of either
        machine = npu()
        if machine is None:
            return 0
        try:
            pointer = machine.symbol(name)
        except MissingSymbol as error:
            _tell(error)
            return 0
        log = _log()
        if log is not None:
            pointer = log.around(name, pointer)
        return int(ffi().cast("uintptr_t", pointer))


def _made() -> SoftwareNpu:
    count = os.environ.get("LABKIT_DEVICE_COUNT") or "1"
    if not count.isdecimal():
        raise LabValueError(f"LABKIT_DEVICE_COUNT is {count!r}; right would be a number from 0")
    try:
        made = SoftwareNpu(
            os.environ.get("LABKIT_SOC") or None,
            devices=int(count),
            strict=os.environ.get("LABKIT_STRICT") != "0",
        )
    except LabValueError as error:
        raise LabValueError(f"LABKIT_SOC: {error}") from error
    made.on_error = _tell
    made.on_finalize = lambda: _tell_leaks(made)
    return made


def _log() -> CallLog | None:
    """The call log that was asked for; none that cannot be written, and then it is said once."""
    if not _LOG:
        path = os.environ.get("LABKIT_CALL_LOG")
        try:
            _LOG.append(CallLog(path) if path else None)
        except OSError as error:
            _say(f"no call log: {error}")
            _LOG.append(None)
    return _LOG[0]


def _tell(error: LabError) -> None:
    _say(f"{type(error).__name__}: {error}")


def _tell_leaks(npu: SoftwareNpu) -> None:
    for leak in npu.leaks():
        _say(f"at aclFinalize {leak}")


def _say(text: str) -> None:
    if sys.stderr is not None:  # a program may have closed it
        print(f"labkit: {text}", file=sys.stderr, flush=True)
