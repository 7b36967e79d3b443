"""Build the shape rule: judged on all pairs of small shapes, smallest first, and on long ones."""

from __future__ import annotations

from itertools import product
from typing import Any

from labkit.course.judge import Verdict, not_yet, passed, told
from labkit.host.device import Device
from labkit.language import gettext as _
from labkit.op import TensorDesc, plan_hardshrink_backward
from labkit.op.broadcast import broadcast_shapes

NOTEBOOK = 4
KIND = "build"

Shape = tuple[int, ...]

ANY = "any"
"""The answer where the operator looks at no shape of gradInput."""

_NOBODYS: Shape = (7, 1, 7)
_LONG: tuple[tuple[Shape, Shape], ...] = (
    ((2, 3, 4), (3, 4)),
    ((5, 1, 4), (3, 1)),
    ((2, 3, 4), (2, 3, 1)),
    ((2, 3, 4), (2, 4)),
    ((1,) * 8, (2,)),
    ((2,) * 8, (1,) * 8),
    ((1,) * 9, (1,)),
    ((3,), (1,) * 9),
    ((0,), (1,) * 9),
    ((1,) * 9, (0, 3)),
)


def truth(grad: Shape, own: Shape) -> Shape | str | None:
    """The shape that gradInput must have, "any", or None when no shape helps."""
    inputs = TensorDesc("float32", grad), TensorDesc("float32", own)
    if plan_hardshrink_backward(*inputs, 0.5, TensorDesc("float32", _NOBODYS)).ok:
        return ANY
    shape = broadcast_shapes(grad, own)
    if not isinstance(shape, tuple):
        return None
    plan = plan_hardshrink_backward(*inputs, 0.5, TensorDesc("float32", shape))
    return shape if plan.ok else None


def pairs() -> list[tuple[Shape, Shape]]:
    """Pairs of shapes, the smallest first."""
    shapes = [shape for rank in range(3) for shape in product((1, 2, 3, 0), repeat=rank)]
    small = [(grad, own) for grad in shapes for own in shapes]
    return [*sorted(small, key=_simplicity), *_LONG]


def _simplicity(pair: tuple[Shape, Shape]) -> tuple[int, int]:
    """Few axes before many, small sizes before large ones, the special 0 last."""
    sizes = (*pair[0], *pair[1])
    return len(sizes), sum(size or 9 for size in sizes)


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a function of two shapes; the device is not asked, since nothing need run."""
    tried = pairs()
    for grad, own in tried:
        want = truth(grad, own)
        try:
            got = _read(answer(grad, own))
        except Exception as error:
            return told(error)
        if got != want:
            asked = _("gradOutput {grad} with self {own}").format(grad=list(grad), own=list(own))
            return not_yet(
                _("the smallest input that betrays it: {input}").format(input=asked),
                _("your answer says {value}").format(value=_write(got)),
                _nearer(want),
            )
    return passed(_("right, on all {n} pairs of shapes").format(n=len(tried)))


def _read(got: Any) -> Any:
    """A list of sizes is as good as a tuple; all else is compared as it is."""
    return tuple(got) if isinstance(got, (list, tuple)) else got


def _write(value: Any) -> str:
    return str(list(value)) if isinstance(value, tuple) else repr(value)[:60]


def _nearer(want: Shape | str | None) -> str:
    """In which direction the right answer lies, without saying it."""
    if want is None:
        return _("phase 1 refuses this pair with 161002")
    if want == ANY:
        return _("phase 1 returns 0 here, whatever shape gradInput has")
    return _("phase 1 accepts this pair with just one shape of gradInput, of rank {n}").format(
        n=len(want)
    )
