"""What the mask picture shows, as data, and the same in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.draw.numbers import number_text, percent, short_dtype

__all__ = ["MaskView", "Rung", "alt_text", "notes", "state_line"]

QUESTION = "Which elements get their gradient?"


@dataclass(frozen=True)
class Rung:
    """One number near λ and what became of it.

    `bits` is its pattern in three fields, `grad` whether it got its gradient
    (backward), `forward` whether the forward operator kept it.
    """

    value: float
    bits: str
    grad: bool
    forward: bool


@dataclass(frozen=True, eq=False)
class MaskView:
    """One state of the mask picture: what was asked and what the device answered.

    `typed` is λ as the user wrote it, `lambd` the float32 it became (as a
    Python float), `compared` the number that |x| was compared with, in the
    dtype `compared_in`. `x` (float32) and `live` (bool) are two-dimensional
    and of one shape, the broadcast one: the values of self and whether their
    element of gradInput was not +0. `rungs` go down from above λ. `agreeing`
    counts the elements whose bits are those the model predicts.
    """

    dtype: str
    grad_dtype: str
    self_shape: tuple[int, ...]
    grad_shape: tuple[int, ...]
    typed: str
    lambd: float
    compared: float
    compared_in: str
    device: str
    x: npt.NDArray[np.float32]
    live: npt.NDArray[np.bool_]
    rungs: tuple[Rung, ...]
    agreeing: int

    @property
    def total(self) -> int:
        """Elements of the result."""
        return int(self.live.size)

    @property
    def alive(self) -> int:
        """Elements that got their gradient."""
        return int(np.count_nonzero(self.live))

    @property
    def on_edge(self) -> npt.NDArray[np.bool_]:
        """Which elements are ±λ itself, as compared, and got nothing."""
        edge: npt.NDArray[np.bool_] = np.abs(self.x) == np.float32(self.compared)
        return edge & ~self.live


def _shape(shape: tuple[int, ...]) -> str:
    return str(tuple(shape))


def state_line(view: MaskView) -> tuple[str, str, str]:
    """The grey line under the question, in three parts: tensors, the way of λ, the device."""
    if (view.dtype, view.self_shape) == (view.grad_dtype, view.grad_shape):
        what = f"{short_dtype(view.dtype)} · self and grad {_shape(view.self_shape)}"
    elif view.self_shape == view.grad_shape:
        what = (
            f"self {short_dtype(view.dtype)}, grad {short_dtype(view.grad_dtype)}"
            f" · {_shape(view.self_shape)}"
        )
    else:
        what = (
            f"self {short_dtype(view.dtype)} {_shape(view.self_shape)}, "
            f"grad {short_dtype(view.grad_dtype)} {_shape(view.grad_shape)}"
        )
    chain = f"λ typed {view.typed} → float32 {number_text(view.lambd)}"
    if view.lambd < 0:
        chain += " → used 0"
    chain += f" → compared as {short_dtype(view.compared_in)} {number_text(view.compared)}"
    return what, chain, view.device


def notes(view: MaskView) -> tuple[str, ...]:
    """What is surprising about this state, in up to three short lines."""
    found = []
    if math.isnan(view.lambd):
        found += ["no comparison with nan is true:", "nothing is dead"]
    elif view.lambd < 0:
        found.append("a negative λ acts as 0: only ±0 is dead")
    elif view.compared == 0:
        found.append("λ is 0: only ±0 is dead")
    elif math.isinf(view.compared):
        found.append("|x| ≤ ∞: everything but nan is dead")
    if math.isfinite(view.lambd) and math.isinf(view.compared):
        found.append(f"in fp16 {number_text(view.lambd)} rounds to ∞")
    if any(rung.forward and not rung.grad for rung in view.rungs):
        found.append("forward keeps it, but it gets no gradient")
    return tuple(found)


def alt_text(view: MaskView) -> str:
    """The picture in words, for those who do not see it."""
    rows, columns = view.live.shape
    edge = int(np.count_nonzero(view.on_edge))
    told = [
        f"{QUESTION} {' · '.join(state_line(view))}.",
        f"Of {rows} × {columns} elements {percent(view.alive, view.total)} get their gradient, "
        f"{percent(view.total - view.alive, view.total)} get 0"
        + (f"; {edge} of these are exactly ±λ." if edge else "."),
        "Around λ, from above: " + "; ".join(_rung_text(rung) for rung in view.rungs) + ".",
        *([f"Note: {'; '.join(notes(view)).replace(':;', ':')}."] if notes(view) else []),
        f"{agreement(view).capitalize()}.",
    ]
    return " ".join(told)


def _rung_text(rung: Rung) -> str:
    return (
        f"{number_text(rung.value)} (bits {rung.bits}) "
        f"{'gets its gradient' if rung.grad else 'gets 0'}, "
        f"forward {'keeps it' if rung.forward else 'gives 0'}"
    )


def agreement(view: MaskView) -> str:
    """Whether the device gave the bits that the model predicts."""
    if view.agreeing == view.total:
        return f"all {view.total} results have the bits the model predicts"
    return f"{view.total - view.agreeing} of {view.total} results differ from the model"


def field_codes(view: MaskView) -> npt.NDArray[Any]:
    """Per element: 0 dead, 1 passes, 2 passes and is negative, 3 dead and exactly ±λ."""
    codes = view.live.astype(np.uint8)
    codes += view.live & (view.x < 0)
    codes[view.on_edge] = 3
    return codes
