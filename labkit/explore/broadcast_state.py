"""What the broadcast panel can be asked: two shapes, three views, a chip."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from labkit.draw.broadcast_view import Axis, BroadcastView
from labkit.explore.broadcast_views import INPUT_KINDS, OUTPUT_KINDS, lay_out
from labkit.explore.typed import CHIPS, chosen, read_chip, read_drawn_shape
from labkit.op import plan_hardshrink_backward
from labkit.op.broadcast import broadcast_shapes

__all__ = ["PAIRS", "TYPED", "BroadcastState", "changed", "look"]

Shape = tuple[int, ...]

TYPED = "as typed"
PAIRS: dict[str, tuple[Shape, Shape]] = {
    "grad (4, 4), self (4, 4)": ((4, 4), (4, 4)),
    "grad (4, 1), self (1, 4)": ((4, 1), (1, 4)),
    "grad (4, 4), self (4,)": ((4, 4), (4,)),
    "grad (1, 4, 4), self (4, 4)": ((1, 4, 4), (4, 4)),
    "grad (2, 1, 4), self (3, 1)": ((2, 1, 4), (3, 1)),
    "grad (), self (2, 3)": ((), (2, 3)),
    "grad (), self (1,)": ((), (1,)),
    "grad (2, 3), self (4,)": ((2, 3), (4,)),
    "grad (0, 3), self (5,)": ((0, 3), (5,)),
    "grad (6,), self of 9 axes": ((6,), (1, 1, 1, 1, 1, 1, 1, 1, 6)),
}
"""Telling pairs of shapes by the words of the menu."""


@dataclass(frozen=True)
class BroadcastState:
    """What the panel was asked to show.

    `pair` is a key of `PAIRS`, or `TYPED` when the shapes are none of those.
    The views are keys of `broadcast_views.KINDS`. gradInput has the common
    shape, or that of self where there is none.
    """

    pair: str = "grad (4, 4), self (4, 4)"
    grad_shape: Shape = (4, 4)
    self_shape: Shape = (4, 4)
    grad_view: str = "contiguous"
    self_view: str = "transposed"
    out_view: str = "contiguous"
    soc: str = CHIPS[0]


def changed(state: BroadcastState, changes: dict[str, Any]) -> BroadcastState:
    """The state with what was typed or chosen; raises `LabValueError` where it cannot be."""
    wanted = dict(changes)
    if "pair" in wanted:
        pair = chosen("pair", wanted["pair"], (*PAIRS, TYPED))
        if pair in PAIRS:
            wanted = dict(zip(("grad_shape", "self_shape"), PAIRS[pair])) | wanted
    for name in ("grad_shape", "self_shape"):
        if name in wanted:
            wanted[name] = read_drawn_shape(name, wanted[name])
    for name in ("grad_view", "self_view", "out_view"):
        if name in wanted:
            kinds = OUTPUT_KINDS if name == "out_view" else INPUT_KINDS
            wanted[name] = chosen(name, wanted[name], kinds)
    if "soc" in wanted:
        wanted["soc"] = read_chip(wanted["soc"])
    new = replace(state, **wanted)
    shapes = (new.grad_shape, new.self_shape)
    pair = next((words for words, pair in PAIRS.items() if pair == shapes), TYPED)
    return replace(new, pair=pair)


def look(state: BroadcastState) -> BroadcastView:
    """Plan the call of a state; depends on nothing but its argument."""
    grad_shape, self_shape = state.grad_shape, state.self_shape
    common = broadcast_shapes(grad_shape, self_shape)
    out_shape = common if isinstance(common, tuple) else self_shape
    grad_words, grad = lay_out(state.grad_view, grad_shape)
    self_words, own = lay_out(state.self_view, self_shape)
    out_words, out = lay_out(state.out_view, out_shape)
    return BroadcastView(
        plan_hardshrink_backward(grad, own, 0.5, out, soc=state.soc),
        (grad_words, self_words, out_words),
        _aligned(grad_shape, self_shape),
    )


def _aligned(grad: Shape, own: Shape) -> tuple[Axis, ...]:
    """The axes of two shapes side by side, first to last, each met as the operator does it."""
    axes = []
    for back in range(max(len(grad), len(own)), 0, -1):
        one, two = (shape[-back:][:1] if back <= len(shape) else () for shape in (grad, own))
        met = broadcast_shapes(one, two)
        axes.append(
            Axis(
                one[0] if one else None,
                two[0] if two else None,
                met[0] if isinstance(met, tuple) else None,
            )
        )
    return tuple(axes)
