"""Betray the twin that rounds λ to bfloat16: an x and a λ at which the device says otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from labkit.course.half import read_pair
from labkit.course.judge import Array, Verdict, bits, not_yet, passed
from labkit.course.show import number
from labkit.host.device import Device
from labkit.language import gettext as _
from labkit.op import data_type
from labkit.operators import hardshrink_backward

NOTEBOOK = 6
KIND = "separate"


def twin(x: Array, lambd: float) -> Array:
    """A wrong twin: a gradient of 1, masked by λ rounded to the dtype of x."""
    limit = np.asarray(max(lambd, 0.0), np.float32).astype(x.dtype)
    dead = np.abs(x.astype(np.float32)) <= limit.astype(np.float32)
    masked: Array = np.where(dead, x.dtype.type(0), x.dtype.type(1))
    return masked


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a pair (x, λ) by what the device and the twin make of it in bfloat16."""
    pair = read_pair(answer)
    if pair is None:
        return not_yet(_("an answer is a pair of numbers: (x, λ)"))
    with np.errstate(all="ignore"):
        x = np.array(pair[:1], np.float32).astype(data_type("bfloat16").numpy)
        other = twin(x, pair[1])
    result = hardshrink_backward(np.ones_like(x), x, lambd=pair[1], device=device).grad_input
    assert result is not None
    lines = (
        _("as bfloat16, x is {value}").format(value=number(x[0])),
        _("the device gives {value}").format(value=number(result[0])),
        _("the twin gives {value}").format(value=number(other[0])),
    )
    if bits(result)[0] == bits(other)[0]:
        return not_yet(*lines, _("this input does not tell them apart"))
    return passed(_("betrayed"), *lines)
