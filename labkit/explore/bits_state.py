"""What the bits panel can be asked: its state, and what may be typed and chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labkit.draw.bits_view import BOTH, OPERATORS
from labkit.explore.mask_state import DTYPES, GRAD_DTYPES, MaskState
from labkit.explore.mask_state import changed as mask_changed
from labkit.explore.typed import SAME, chosen, refuse_unknown

__all__ = [
    "AROUND",
    "CARPET",
    "DTYPES",
    "GRAD_DTYPES",
    "OPERATORS",
    "PICTURES",
    "BitsState",
    "changed",
]

AROUND, CARPET = "around λ", "all 65,536 patterns"
PICTURES = (AROUND, CARPET)


@dataclass(frozen=True)
class BitsState:
    """What the panel was asked to show.

    `lambd` is the number, `typed` how it was written; `dtype` that of self;
    `grad_dtype` one of `GRAD_DTYPES`, `operator` one of `OPERATORS`, `picture`
    one of `PICTURES`.
    """

    lambd: float = 0.3
    typed: str = "0.3"
    dtype: str = "float16"
    grad_dtype: str = SAME
    operator: str = BOTH
    picture: str = AROUND

    @property
    def grad(self) -> str:
        """The gradient's dtype, by its name."""
        return self.dtype if self.grad_dtype == SAME else self.grad_dtype


def changed(state: BitsState, changes: dict[str, Any]) -> BitsState:
    """The state with what was typed or chosen; raises `LabValueError` where it cannot be."""
    refuse_unknown(state, changes)
    shared = {"lambd", "typed", "dtype", "grad_dtype"}
    tensors = mask_changed(
        MaskState(state.lambd, state.typed, state.dtype, state.grad_dtype),
        {name: value for name, value in changes.items() if name in shared},
    )
    return BitsState(
        tensors.lambd,
        tensors.typed,
        tensors.dtype,
        tensors.grad_dtype,
        chosen("operator", changes.get("operator", state.operator), OPERATORS),
        chosen("picture", changes.get("picture", state.picture), PICTURES),
    )
