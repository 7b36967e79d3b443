"""Build the operator: judged bit for bit, on gradients that a multiplication would spoil."""

from __future__ import annotations

from typing import Any

import numpy as np

from labkit.course.judge import Array, Verdict, compared
from labkit.course.numbers import GRADS, LAMBDAS, lambda_words, telling_numbers
from labkit.host.device import Device
from labkit.operators import hardshrink_backward

NOTEBOOK = 1
KIND = "build"


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a function of grad_output, x (both float32) and λ that gives gradInput."""

    def right(grad: Array, x: Array, lambd: float) -> Array:
        result: Array | None = hardshrink_backward(grad, x, lambd=lambd, device=device).grad_input
        assert result is not None
        return result

    x = telling_numbers()
    inputs = [
        (
            (np.full(x.shape, gradient, np.float32), x, lambd),
            f"grad = {{}}, x = {{}}, {lambda_words(lambd)}",
        )
        for lambd in LAMBDAS
        for gradient in GRADS
    ]
    return compared(answer, right, inputs)
