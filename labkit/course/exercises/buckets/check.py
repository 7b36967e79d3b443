"""Build the bucket allocator: judged on real calls and on lifetimes made up for it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from labkit.course.judge import Verdict, not_yet, passed, told
from labkit.course.lifetimes import Piece, pieces_of, workspace_bytes
from labkit.explain.cli import tensor_desc
from labkit.host.device import Device
from labkit.language import gettext as _
from labkit.op import plan_hardshrink_backward

NOTEBOOK = 5
KIND = "build"

CALLS = (
    ("float32:2,2", "float32:2,2", "float32:2,2"),
    ("float16:4,4", "float32:4,4", "float32:4,4"),
    ("float16:4,4", "float32:4,4", "float16:4,4"),
    ("float16:4,1", "float32:1,4", "float32:4,4"),
    ("float32:2,4:1,2", "float32:2,4:1,2", "float32:2,4:1,2"),
    ("float16:4,6,8:96,16,2:0:4,6,16", "bfloat16:6,1", "bfloat16:4,6,8:96,16,1:0:4,6,16"),
)
"""Calls whose workspaces are tried too."""
_SIZES = (0, 32, 480, 481, 1000, 16777216)
_TRIES = 400


@cache
def inputs() -> tuple[tuple[Piece, ...], ...]:
    """Lists of pieces, the smallest first; the same on each run."""
    found = list(_generated())
    for texts in CALLS:
        grad, x, out = (tensor_desc("call", text) for text in texts)
        found.append(pieces_of(plan_hardshrink_backward(grad, x, 0.5, out)))
    return tuple(sorted(found, key=lambda pieces: (len(pieces), sum(size for size, *_ in pieces))))


def _generated() -> Iterator[tuple[Piece, ...]]:
    yield from (((size, 0, 0),) for size in _SIZES)
    draw = random.Random(5)
    for number in range(_TRIES):
        count = 2 + number * 7 // _TRIES
        starts = sorted(draw.randrange(count) for _piece in range(count))
        yield tuple((draw.choice(_SIZES), at, at + draw.choice((0, 0, 1, 2))) for at in starts)


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a function from a list of (bytes, first launch, last launch) to bytes of workspace."""
    for pieces in inputs():
        want = workspace_bytes(pieces)
        try:
            got = answer(list(pieces))
        except Exception as error:
            return told(error)
        try:
            right = bool(got == want)
        except Exception:
            right = False
        if not right:
            return not_yet(
                _("the smallest input that betrays it: {input}").format(input=list(pieces)),
                _("the allocator takes {count} bytes").format(count=want),
                _("your answer says {value}").format(value=_short(got)),
            )
    return passed(_("right, on all {n} lists of pieces tried").format(n=len(inputs())))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
