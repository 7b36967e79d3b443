"""The columns of msprof's CSV files by every name they have had, and their values as numbers."""

from __future__ import annotations

import re

__all__ = ["CORES", "NAMES", "dtype_name", "dtypes", "first", "number", "shapes", "whole"]

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
    "op_type": ("OP Type", "Op Type"),
    "name": ("Op Name",),
    "task_type": ("Task Type", "Core Type"),
    "state": ("OP State", "Op State"),
    "start": ("Task Start Time(us)", "Task Start Time"),
    "duration": ("Task Duration(us)", "Task Duration"),
    "wait": ("Task Wait Time(us)", "Task Wait Time"),
    "block_dim": ("Block Num", "Block Dim"),
    "device": ("Device_id", "Device ID"),
    "stream": ("Stream ID", "Stream Id"),
    "input_shapes": ("Input Shapes",),
    "input_dtypes": ("Input Data Types",),
    "output_shapes": ("Output Shapes",),
    "output_dtypes": ("Output Data Types",),
}
"""Fields of a kernel by their columns, the newest name first."""


def shapes(text: str) -> tuple[tuple[int, ...], ...] | None:
    """Shapes as `"2,3;4"`; an empty place is a scalar."""
    if not text.strip('"'):
        return None
    found = []
    for part in text.strip('"').split(";"):
        dims = [whole(dim) for dim in part.split(",") if dim.strip()]
        found.append(tuple(dim for dim in dims if dim is not None))
    return tuple(found)


def dtypes(text: str) -> tuple[str, ...] | None:
    """Dtypes as `"FLOAT;DT_BF16"`; None for an empty cell."""
    if not text.strip('"'):
        return None
    return tuple(dtype_name(part) for part in text.strip('"').split(";"))


def dtype_name(text: str) -> str:
    """CANN's name of a dtype without its prefix: DT_BF16, BFLOAT16 and BF16 are one."""
    plain = text.strip().upper().removeprefix("DT_").removeprefix("ACL_")
    return {"BFLOAT16": "BF16", "FLOAT32": "FLOAT", "HALF": "FLOAT16"}.get(plain, plain)


def number(text: str) -> float | None:
    """A number; None for anything else."""
    try:
        return float(text)
    except ValueError:
        return None


def whole(text: str) -> int | None:
    """A whole number; None for anything else."""
    text = text.strip()
    return int(text) if re.fullmatch(r"\d+", text) else None


def first(row: dict[str, str], *names: str) -> str:
    """The value of the first of these columns that is there; empty for none and for N/A."""
    value = next((row[name] for name in names if name in row), "")
    return "" if value == "N/A" else value
