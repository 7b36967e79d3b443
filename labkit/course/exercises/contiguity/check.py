"""Build the contiguity test: judged on all small views, smallest first, by what l0 would ask."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from labkit.course.judge import Verdict, not_yet, passed, told
from labkit.host.device import Device
from labkit.language import gettext as _
from labkit.op import TensorDesc
from labkit.op.describe import contiguous_strides

NOTEBOOK = 4
KIND = "build"

_SIZES = (2, 3, 1, 0)
_STRIDES = (1, 2, 3, 6, 0, 4, -1)


def truth(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether l0op::Contiguous would launch nothing for such a view."""
    return TensorDesc("float32", shape, strides).is_contiguous


def inputs() -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Shapes with strides: up to two axes all of them, with three and four the telling ones."""
    small = [
        (shape, strides)
        for rank in range(3)
        for shape in product(_SIZES, repeat=rank)
        for strides in product(_STRIDES, repeat=rank)
    ]
    large = []
    for shape in (*product(_SIZES, repeat=3), (2, 1, 3, 1), (1, 2, 3, 4), (2, 0, 3, 4)):
        dense = contiguous_strides(shape)
        large.append((shape, dense))
        large.append((shape, dense[::-1]))
        for axis in range(len(shape)):
            for stride in (0, 7, -1, dense[axis] + 1):
                large.append((shape, (*dense[:axis], stride, *dense[axis + 1 :])))
    return small + large


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a function of shape and strides; the device is not asked, since nothing need run."""
    tried = inputs()
    for shape, strides in tried:
        try:
            got = answer(shape, strides)
        except Exception as error:
            return told(error)
        asked = _("shape {shape}, strides {strides}").format(
            shape=list(shape), strides=list(strides)
        )
        betrayed = _("the smallest input that betrays it: {input}").format(input=asked)
        if not isinstance(got, (bool, np.bool_)):
            return not_yet(
                betrayed,
                _("it gave {got}; True or False was asked for").format(got=repr(got)[:60]),
            )
        if bool(got) != truth(shape, strides):
            words = [_("yes") if value else _("no") for value in (not got, got)]
            return not_yet(
                betrayed,
                _("the operator says {value}").format(value=words[0]),
                _("your answer says {value}").format(value=words[1]),
            )
    return passed(_("right, on all {n} views tried").format(n=len(tried)))
