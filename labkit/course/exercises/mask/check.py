"""Build the mask: judged on the telling numbers and on bit patterns from all over float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from labkit.course.judge import Array, Verdict, compared
from labkit.course.numbers import LAMBDAS, lambda_words, telling_numbers
from labkit.host.device import Device
from labkit.language import gettext as _
from labkit.operators import hardshrink_backward

NOTEBOOK = 1
KIND = "build"


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a function of x (float32) and λ that says where the gradient passes."""

    def right(x: Array, lambd: float) -> Array:
        result = hardshrink_backward(np.ones_like(x), x, lambd=lambd, device=device).grad_input
        assert result is not None
        return np.not_equal(result, 0)

    inputs = [((telling_numbers(), lambd), f"x = {{}}, {lambda_words(lambd)}") for lambd in LAMBDAS]
    return compared(answer, right, inputs, lambda value: _("yes") if value else _("no"))
