"""Betray the strict twin: an input at which the device and the twin differ in their bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from labkit.course.judge import Verdict
from labkit.course.numbers import judge_twin
from labkit.host.device import Device

NOTEBOOK = 1
KIND = "separate"


def twin(grad: Any, x: Any, lambd: float) -> Any:
    """A wrong twin: it keeps the gradient at ±λ itself."""
    return np.where(np.abs(x) < lambd, np.float32(0), grad)


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a pair (grad, x) by what the device and the twin make of it at λ = 0.5."""
    return judge_twin(answer, twin, device)
