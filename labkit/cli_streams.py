"""What a command says, and where it goes: stdout and stderr as they are found, errors in words.

A terminal that has no λ gets `?` for it. A stdout that is closed or full, a
reader that has left, memory that is not there, Ctrl-C: one line and an exit
code. What nobody thought of is one line too, and `LABKIT_DEBUG=1` shows where
it happened.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Callable
from typing import TextIO

from labkit.errors import AclError, LabError
from labkit.language import gettext

__all__ = ["answered"]

_UNWRITTEN = {errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC}
"""What a write says where the place is closed, full or broken."""


def answered(answer: Callable[[], int]) -> int:
    """The exit code of what `answer` does; an error becomes words on stderr and a code."""
    _open_streams()
    try:
        try:
            code = answer()
        except SystemExit:  # argparse has told its help or what is wrong
            sys.stdout.flush()
            raise
        sys.stdout.flush()  # here, where a reader that has left is no traceback
        return code
    except KeyboardInterrupt:
        _flushed()
        return _tell(_("stopped"), 130)
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> int:
    unwritten = _flushed()
    if isinstance(error, AclError):  # the code, and the library's own words behind it
        return _tell("; ".join(str(error).splitlines()))
    if isinstance(error, LabError):
        return _tell(str(error))
    if isinstance(error, OSError):
        return _failed_outside(error, unwritten or error)
    if isinstance(error, MemoryError):
        return _tell(_("that does not fit in this machine's memory; try smaller tensors"))
    if os.environ.get("LABKIT_DEBUG", "") not in ("", "0"):
        with contextlib.suppress(OSError):
            traceback.print_exception(error)
    kind, said = type(error).__name__, " ".join(str(error).split())[:200]
    words = _(
        "an error that the lab did not expect, {error}; please report it "
        "(LABKIT_DEBUG=1 shows where it is)"
    )
    return _tell(words.format(error=f"{kind}: {said}" if said else kind))


def _failed_outside(error: OSError, unwritten: OSError) -> int:
    """The system said no: to stdout, or to a file that the error names."""
    if isinstance(unwritten, BrokenPipeError):  # whoever read has stopped
        return 1
    if error.filename is not None:
        return _tell(f"{error.filename}: {_why(error)}")
    if unwritten.errno in _UNWRITTEN:
        words = _("the answer could not be written to stdout: {why}")
        return _tell(words.format(why=_why(unwritten)))
    if not _folder_is_there():
        return _tell(_("the working folder was deleted; go to another one and try again"))
    return _tell(_why(error))


def _why(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__


def _(text: str) -> str:
    """The sentence in the language of this process; in English where that itself is wrong."""
    try:
        return gettext(text)
    except LabError:
        return text


def _folder_is_there() -> bool:
    try:
        return bool(os.getcwd())
    except OSError:
        return False


def _tell(text: str, code: int = 1) -> int:
    try:
        print(f"labkit: {text}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        _silence(sys.stderr)
    return code


def _flushed() -> OSError | None:
    """Write what Python still holds for stdout; where that fails drop it and say why."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        _silence(sys.stdout)
        return error if isinstance(error, OSError) else OSError(errno.EBADF, str(error))
    return None


def _silence(stream: TextIO) -> None:
    """Lead a stream nowhere: what it still holds must not fail again when Python ends."""
    with contextlib.suppress(OSError, ValueError):
        _onto(stream.fileno(), os.O_WRONLY)
        stream.flush()


def _open_streams() -> None:
    """Give a stream that was closed (`>&-`) a place, and stdout letters for what it cannot say."""
    if sys.stdout is None:  # a place that refuses every write, as a closed one does
        sys.stdout = _stand_in(1, os.O_RDONLY)
    if sys.stderr is None:  # print() would take stdout for it
        sys.stderr = _stand_in(2, os.O_WRONLY)
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # a notebook's have none
            stream.reconfigure(errors=errors)  # type: ignore[union-attr]


def _stand_in(number: int, access: int) -> TextIO:
    try:
        os.fstat(number)
    except OSError:  # else the first file that is opened would get the number, and the output
        _onto(number, access)
        return open(number, "w", encoding="utf-8", closefd=False)
    return open(os.devnull, "w", encoding="utf-8")


def _onto(number: int, access: int) -> None:
    """Open the null device as file `number`."""
    handle = os.open(os.devnull, access)
    if handle != number:
        os.dup2(handle, number)
        os.close(handle)
