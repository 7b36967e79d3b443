"""Flip an element by nothing but the gradient's dtype: an fp16 x and a λ at which it matters."""

from __future__ import annotations

from typing import Any

import numpy as np

from labkit.course.half import read_pair
from labkit.course.judge import Verdict, not_yet, passed
from labkit.course.show import number
from labkit.host.device import Device
from labkit.language import gettext as _
from labkit.operators import hardshrink_backward

NOTEBOOK = 6
KIND = "separate"


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a pair (x, λ) by two calls that differ in the gradient's dtype only."""
    pair = read_pair(answer)
    if pair is None:
        return not_yet(_("an answer is a pair of numbers: (x, λ)"))
    with np.errstate(all="ignore"):
        x = np.array(pair[:1]).astype(np.float16)
    results = []
    for kind in (np.float16, np.float32):
        call = hardshrink_backward(np.ones(1, kind), x, lambd=pair[1], device=device)
        assert call.grad_input is not None
        results.append(float(call.grad_input[0]))
    lines = (
        _("as float16, x is {value}").format(value=number(x[0])),
        _("with a gradient of float16 the device gives {value}").format(value=number(results[0])),
        _("with a gradient of float32 the device gives {value}").format(value=number(results[1])),
    )
    if results[0] == results[1]:
        return not_yet(*lines, _("the gradient's dtype makes no difference here"))
    return passed(_("flipped"), *lines)
