"""Predict the C calls: the truth is the record of the calls, made on a software NPU of its own."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np

from labkit.course.judge import Verdict, predicted
from labkit.host.device import Device
from labkit.operators import hardshrink_backward, open_device

NOTEBOOK = 0
KIND = "predict"

SOC = "Ascend950PR_9599"
CALLS = {
    "million": ((1000, 1000), (1000, 1000)),
    "refused": ((2, 3), (4,)),
    "empty": ((0, 4), (0, 4)),
}
"""The three calls: shapes of gradient and x."""
ASKED = {
    "million": ("aclrtMalloc", "aclrtMemcpy", "aclnnHardshrinkBackward"),
    "refused": ("aclrtMemcpy", "aclDestroyTensor", "aclnnHardshrinkBackward"),
    "empty": ("aclrtMalloc", "aclCreateTensor", "aclnnHardshrinkBackward"),
}


@cache
def truth() -> dict[str, int]:
    """How often each C function was called in each of the three, and aclInit in the whole."""
    counts: dict[str, int] = {}
    with open_device("sim", soc=SOC) as device:
        for name, (grad_shape, x_shape) in CALLS.items():
            grad, x = np.ones(grad_shape, np.float32), np.ones(x_shape, np.float32)
            call = hardshrink_backward(grad, x, device=device, check=False)
            found = Counter(entry.name for entry in call.record)
            counts |= {f"{name}: {function}": found[function] for function in ASKED[name]}
    counts["all three: aclInit"] = sum(entry.name == "aclInit" for entry in device.record)
    return counts


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a dict from "call: C function" to how often it is called."""
    return predicted(answer, truth())
