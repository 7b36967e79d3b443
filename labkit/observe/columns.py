"""The columns of msprof's CSV files by every name they have had, and their cells as values.

A cell has often been through pandas or a spreadsheet: 72 comes back as `72.0`,
`1,099` or `1.099E+3`, a shape as `[4, 1]`. Such a cell is read as the number
that it is. One that is no number raises `ValueError` with what would be right:
it must never pass for a value that was not taken.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

from labkit.language import gettext as _

__all__ = [
    "CORES",
    "NAMES",
    "column_key",
    "core",
    "dtype_name",
    "dtypes",
    "is_absent",
    "number",
    "shapes",
    "time",
    "whole",
]

CORES = {
    "AI_CORE": "AICORE",
    "AI_VECTOR_CORE": "AICORE",
    "AIV": "AICORE",
    "AIC": "AICORE",
    "MIX_AIC": "AICORE",
    "MIX_AIV": "AICORE",
    "AI_CPU": "AICPU",
    "AICPU": "AICPU",
}
"""Task types by the core as a plan names it."""

NAMES = {
    "op_type": ("OP Type",),
    "name": ("Op Name",),
    "task_type": ("Task Type", "Core Type"),
    "state": ("OP State",),
    "start": ("Task Start Time(us)", "Task Start Time"),
    "duration": ("Task Duration(us)", "Task Duration"),
    "wait": ("Task Wait Time(us)", "Task Wait Time"),
    "block_dim": ("Block Num", "Block Dim"),
    "device": ("Device_id",),
    "stream": ("Stream ID",),
    "input_shapes": ("Input Shapes",),
    "input_dtypes": ("Input Data Types",),
    "output_shapes": ("Output Shapes",),
    "output_dtypes": ("Output Data Types",),
}
"""Fields of a kernel by their columns, the newest name first; letters' case does not count."""

_ABSENT = {"", "n/a", "#n/a", "na", "<na>", "nan", "none", "null", "-", "--"}
_DIGITS = 15
"""More digits than these no count has, and no float keeps."""
_POINT = re.compile(
    r"[+-]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,3}(?:[ \u00a0\u2009\u202f'][0-9]{3})+|[0-9]+)"
    r"(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,4})?|[+-]?\.[0-9]+(?:[eE][+-]?[0-9]{1,4})?"
)
_SWAP = str.maketrans(",.", ".,")


def column_key(name: str) -> str:
    """A column's name without what a tool may have changed: case, blanks, underscores."""
    return re.sub(r"[\s_]+", " ", name).strip().casefold()


def is_absent(cell: str) -> bool:
    """Whether a cell says that nothing was taken."""
    return len(cell) <= 4 and cell.lower() in _ABSENT


def core(cell: str) -> str | None:
    """The core that a task type means; None for another."""
    return CORES.get(re.sub(r"[\s-]+", "_", cell).upper())


@lru_cache(maxsize=4096)
def number(cell: str, *, comma: bool = False) -> float | None:
    """A number; with `comma`, the comma stands before the decimals and points group digits.

    >>> number("1,234.5"), number("1.234,5", comma=True), number("N/A")
    (1234.5, 1234.5, None)
    """
    if is_absent(cell):
        return None
    plain = cell.translate(_SWAP) if comma else cell
    if len(plain) > 40 or not _POINT.fullmatch(plain):
        raise ValueError(_("right would be a number, or N/A"))
    value = float(re.sub(r"[, \u00a0\u2009\u202f']", "", plain))
    if not math.isfinite(value):
        raise ValueError(_("right would be a number, or N/A"))
    return value


def time(cell: str, *, comma: bool = False) -> float | None:
    """A number that is not below 0."""
    value = number(cell, comma=comma)
    if value is not None and value < 0:
        raise ValueError(_("right would be a time of 0 or more, or N/A"))
    return value


@lru_cache(maxsize=4096)
def whole(cell: str, *, comma: bool = False) -> int | None:
    """A whole number of 0 or more, however a tool wrote it.

    >>> whole("99.0"), whole("1,099"), whole("1.099E+3"), whole("")
    (99, 1099, 1099, None)
    """
    if cell.isascii() and cell.isdigit() and len(cell) <= _DIGITS:
        return int(cell)
    try:
        value = number(cell, comma=comma)
    except ValueError:
        value = -1.0
    if value is None:
        return None
    if value < 0 or value != int(value) or value >= 10**_DIGITS:
        raise ValueError(_("right would be a whole number of 0 or more, or N/A"))
    return int(value)


@lru_cache(maxsize=4096)
def shapes(cell: str, *, comma: bool = False) -> tuple[tuple[int, ...], ...] | None:
    """Shapes as `"2,3;4"`; an empty place between the quotes is a scalar.

    >>> shapes('"4,1;"'), shapes("[4096.0]"), shapes("N/A")
    (((4, 1), ()), ((4096,),), None)
    """
    if is_absent(cell):
        return None
    return tuple(_shape(part) for part in re.sub("[\"']", "", cell).split(";"))


def _shape(text: str) -> tuple[int, ...]:
    plain = text.strip()
    for opened, closed in ("[]", "()"):
        if plain.startswith(opened) and plain.endswith(closed):
            plain = plain[1:-1].strip()
            break
    if len(plain) > 1:
        plain = plain.removesuffix(",")
    return tuple(_size(dim.strip()) for dim in plain.split(",")) if plain else ()


def _size(text: str) -> int:
    found = re.fullmatch(r"(0|[1-9][0-9]{0,17})(?:\.0*)?", text)
    if found is None:
        raise ValueError(_('right would be whole numbers, as in "4,1;1,4", or N/A'))
    return int(found[1])


@lru_cache(maxsize=4096)
def dtypes(cell: str) -> tuple[str, ...] | None:
    """Dtypes as `"FLOAT;DT_BF16"`; None for an empty cell."""
    if is_absent(cell) or not cell.strip('"'):
        return None
    return tuple(dtype_name(part) for part in cell.replace('"', "").split(";"))


def dtype_name(text: str) -> str:
    """CANN's name of a dtype without its prefix: DT_BF16, BFLOAT16 and BF16 are one."""
    plain = text.strip().upper().removeprefix("DT_").removeprefix("ACL_")
    return {"BFLOAT16": "BF16", "FLOAT32": "FLOAT", "HALF": "FLOAT16"}.get(plain, plain)
