"""Predict the launches of six views; the truth is planned by the operator model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from labkit.course.judge import Array, Verdict, predicted
from labkit.host.device import Device
from labkit.op import TensorDesc, plan_hardshrink_backward
from labkit.views import describe

NOTEBOOK = 4
KIND = "predict"

SOC = "Ascend910B1"
VIEWS: dict[str, Callable[[Array], Array]] = {
    "x[3:]": lambda x: x[3:],
    "x[::2]": lambda x: x[::2],
    "x[:, ::2]": lambda x: x[:, ::2],
    "x[:, 3:].T": lambda x: x[:, 3:].T,
    "x[::-1]": lambda x: x[::-1],
    "np.broadcast_to(x[:, 3:4], (8, 8))": lambda x: np.broadcast_to(x[:, 3:4], (8, 8)),
}
"""Views of an 8 x 8 array, by how they are written."""


def truth() -> dict[str, tuple[str, ...]]:
    """The kernels that each view launches as self, with a contiguous gradOutput and gradInput."""
    x = np.zeros((8, 8), np.float32)
    found = {}
    for words, make in VIEWS.items():
        own = describe(make(x))
        dense = TensorDesc("float32", own.shape)
        plan = plan_hardshrink_backward(dense, own, 0.5, dense, soc=SOC)
        found[words] = tuple(launch.op_type for launch in plan.launches)
    return found


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a dict from view to the list of its kernels, in launch order."""
    if isinstance(answer, Mapping):
        answer = {key: _read(value) for key, value in answer.items()}
    return predicted(answer, truth())


def _read(value: Any) -> Any:
    """A list is as good as a tuple, and a single name as a list of one."""
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(","))
    return tuple(value) if isinstance(value, (list, tuple)) else repr(value)
