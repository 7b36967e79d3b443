"""What the mask picture shows, as data, and the same in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.draw.numbers import number_text, percent, short_dtype
from labkit.language import Text
from labkit.language import gettext as _

__all__ = ["MaskView", "Rung", "mask_alt_text", "notes", "remarks", "state_line"]

QUESTION = Text("Which elements get their gradient?")
_NOTE_LETTERS = 42
"""What fits on one line under the list of numbers."""


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


def state_line(view: MaskView) -> tuple[Text, Text, str]:
    """The grey line under the question, in three parts: tensors, the way of λ, the device."""
    own, other = short_dtype(view.dtype), short_dtype(view.grad_dtype)
    shape, grad_shape = _shape(view.self_shape), _shape(view.grad_shape)
    if (own, shape) == (other, grad_shape):
        what = Text("{dtype} · self and grad {shape}", dtype=own, shape=shape)
    elif shape == grad_shape:
        what = Text("self {own}, grad {other} · {shape}", own=own, other=other, shape=shape)
    else:
        what = Text(
            "self {own} {shape}, grad {other} {grad_shape}",
            own=own,
            shape=shape,
            other=other,
            grad_shape=grad_shape,
        )
    compared = f"{short_dtype(view.compared_in)} {number_text(view.compared)}"
    ways = {"typed": view.typed, "number": number_text(view.lambd), "compared": compared}
    if view.lambd < 0:
        way = Text("λ typed {typed} → float32 {number} → used 0 → compared as {compared}", **ways)
    else:
        way = Text("λ typed {typed} → float32 {number} → compared as {compared}", **ways)
    return what, way, view.device


def remarks(view: MaskView) -> tuple[Text, ...]:
    """What is surprising about this state, in up to two short sentences."""
    found = []
    if math.isnan(view.lambd):
        found.append(Text("no comparison with nan is true: nothing is dead"))
    elif view.lambd < 0:
        found.append(Text("a negative λ acts as 0: only ±0 is dead"))
    elif view.compared == 0:
        found.append(Text("λ is 0: only ±0 is dead"))
    elif math.isinf(view.compared):
        found.append(Text("|x| ≤ ∞: everything but nan is dead"))
    if math.isfinite(view.lambd) and math.isinf(view.compared):
        found.append(Text("in fp16 {number} rounds to ∞", number=number_text(view.lambd)))
    if any(rung.forward and not rung.grad for rung in view.rungs):
        found.append(Text("forward keeps it, but it gets no gradient"))
    return tuple(found)


def notes(view: MaskView) -> tuple[str, ...]:
    """The remarks in up to three lines, as short as the picture has room for."""
    lines: list[str] = []
    for remark in remarks(view):
        head, colon, rest = remark.partition(": ")
        lines += [remark] if len(remark) <= _NOTE_LETTERS or not colon else [f"{head}:", rest]
    return tuple(lines)


def mask_alt_text(view: MaskView) -> str:
    """The picture in words, for those who do not see it."""
    rows, columns = view.live.shape
    edge = int(np.count_nonzero(view.on_edge))
    shares = {
        "rows": rows,
        "columns": columns,
        "alive": percent(view.alive, view.total),
        "dead": percent(view.total - view.alive, view.total),
    }
    of_all = _("Of {rows} × {columns} elements {alive} get their gradient, {dead} get 0.").format(
        **shares
    )
    told = [
        _("{question} {state}.").format(
            question=_(QUESTION), state=" · ".join(map(_, state_line(view)))
        ),
        of_all,
        *([_("Exactly ±λ, and so dead: {count}.").format(count=edge)] if edge else []),
        _("Around λ, from above: {rungs}.").format(
            rungs=_("; ").join(_rung_text(rung) for rung in view.rungs)
        ),
        *(
            [_("Note: {remarks}.").format(remarks=_("; ").join(map(_, remarks(view))))]
            if remarks(view)
            else []
        ),
        _("Check: {agreement}.").format(agreement=_(agreement(view))),
    ]
    return " ".join(told)


def _rung_text(rung: Rung) -> str:
    grad = _("gets its gradient") if rung.grad else _("gets 0")
    forward = _("forward keeps it") if rung.forward else _("forward gives 0")
    return _("{number} (bits {bits}) {grad}, {forward}").format(
        number=number_text(rung.value), bits=rung.bits, grad=grad, forward=forward
    )


def agreement(view: MaskView) -> Text:
    """Whether the device gave the bits that the model predicts."""
    if view.agreeing == view.total:
        return Text("all {total} results have the bits the model predicts", total=view.total)
    return Text(
        "{odd} of {total} results differ from the model",
        odd=view.total - view.agreeing,
        total=view.total,
    )


def field_codes(view: MaskView) -> npt.NDArray[Any]:
    """Per element: 0 dead, 1 passes, 2 passes and is negative, 3 dead and exactly ±λ."""
    codes = view.live.astype(np.uint8)
    codes += view.live & (view.x < 0)
    codes[view.on_edge] = 3
    return codes
