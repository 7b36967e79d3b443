"""Betray the multiplying twin: an input at which the device and the twin differ in their bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from labkit.course.judge import Verdict
from labkit.course.numbers import judge_twin
from labkit.host.device import Device

NOTEBOOK = 1
KIND = "separate"


def twin(grad: Any, x: Any, lambd: float) -> Any:
    """A wrong twin: it multiplies the gradient by 0 or 1."""
    return grad * (~(np.abs(x) <= lambd)).astype(np.float32)


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a pair (grad, x) by what the device and the twin make of it at λ = 0.5."""
    return judge_twin(answer, twin, device)
