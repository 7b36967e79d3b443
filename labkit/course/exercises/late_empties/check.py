"""Betray the contract that checks emptiness too late: both are run on the same shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from labkit.course.judge import Verdict, not_yet, passed
from labkit.host.device import Device
from labkit.language import gettext as _
from labkit.op.status import ACLNN_ERR_PARAM_INVALID, ACLNN_SUCCESS
from labkit.operators import hardshrink_backward

NOTEBOOK = 3
KIND = "separate"

_MOST_ELEMENTS = 1 << 16
_MOST_AXES = 16

Shape = tuple[int, ...]


def twin(grad_output: Shape, self: Shape, grad_input: Shape) -> int:
    """A wrong contract: it broadcasts first, and asks then whether an input is empty."""
    if max(map(len, (grad_output, self, grad_input))) > 8:
        return ACLNN_ERR_PARAM_INVALID
    try:
        common = np.broadcast_shapes(grad_output, self)
    except ValueError:
        return ACLNN_ERR_PARAM_INVALID
    if 0 in grad_output or 0 in self:
        return ACLNN_SUCCESS
    return ACLNN_SUCCESS if common == grad_input else ACLNN_ERR_PARAM_INVALID


def _shapes(answer: Any) -> tuple[Shape, Shape, Shape] | None:
    """Three shapes of modest size, or None."""
    try:
        grad, x, out = ((s,) if isinstance(s, int) else tuple(s) for s in answer)
        for shape in (grad, x, out):
            whole = all(isinstance(size, (int, np.integer)) and size >= 0 for size in shape)
            if not whole or len(shape) > _MOST_AXES or math.prod(shape) > _MOST_ELEMENTS:
                return None
    except (TypeError, ValueError):
        return None
    return grad, x, out


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge three shapes (gradOutput, self, gradInput) by what the device and the twin say."""
    shapes = _shapes(answer)
    if shapes is None:
        return not_yet(_("an answer is three shapes of modest size: (gradOutput, self, gradInput)"))
    grad, x, out = (np.zeros(shape, np.float32) for shape in shapes)
    call = hardshrink_backward(grad, x, out=out, device=device, check=False)
    other = twin(*shapes)
    lines = (
        _("the device gives {value}").format(value=call.status),
        _("the twin gives {value}").format(value=other),
    )
    if call.status == other:
        return not_yet(*lines, _("these shapes do not tell them apart"))
    return passed(_("betrayed"), *lines)
