"""What the mask panel can be asked: its state, and what may be typed and chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from labkit.explore.typed import SAME, chosen, read_dtype, text_of, with_lambd

__all__ = ["DTYPES", "GRAD_DTYPES", "SHAPES", "MaskState", "changed"]

DTYPES = ("float32", "float16", "bfloat16")
GRAD_DTYPES = (SAME, *DTYPES)
SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "(8, 8)": ((8, 8), (8, 8)),
    "(64, 64)": ((64, 64), (64, 64)),
    "(256, 256)": ((256, 256), (256, 256)),
    "grad (64, 1), self (64, 64)": ((64, 1), (64, 64)),
    "grad (64, 64), self (1, 64)": ((64, 64), (1, 64)),
    "grad (2, 3), self (4,)": ((2, 3), (4,)),
}
"""Shapes of grad and self by the words of the menu. The last pair does not broadcast."""


@dataclass(frozen=True)
class MaskState:
    """What the panel was asked to show.

    `lambd` is the number, `typed` how it was written; `dtype` that of self;
    `grad_dtype` one of `GRAD_DTYPES`, `shape` a key of `SHAPES`.
    """

    lambd: float = 0.5
    typed: str = "0.5"
    dtype: str = "float32"
    grad_dtype: str = SAME
    shape: str = "(64, 64)"


def changed(state: MaskState, changes: dict[str, Any]) -> MaskState:
    """The state with what was typed or chosen; raises `LabValueError` where it cannot be."""
    wanted = with_lambd(changes)
    if "dtype" in wanted:
        wanted["dtype"] = read_dtype("dtype", wanted["dtype"], DTYPES)
    if "grad_dtype" in wanted:
        kind = SAME if text_of(wanted["grad_dtype"]) == "same" else wanted["grad_dtype"]
        wanted["grad_dtype"] = read_dtype("grad_dtype", kind, GRAD_DTYPES)
    if "shape" in wanted:
        wanted["shape"] = chosen("shape", text_of(wanted["shape"]), SHAPES)
    return replace(state, **wanted)
