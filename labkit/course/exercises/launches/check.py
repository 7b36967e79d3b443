"""Predict the launches of ten calls: the truth is what phase 1 plans on an Ascend 950."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from labkit.course.judge import Verdict, predicted
from labkit.explain.cli import tensor_desc
from labkit.host.device import Device
from labkit.op import plan_hardshrink_backward

NOTEBOOK = 5
KIND = "predict"

SOC = "Ascend950PR_9599"
CALLS = {
    "plain": ("float32:2,2", "float32:2,2", "float32:2,2"),
    "fp16 gradient": ("float16:4,4", "float32:4,4", "float32:4,4"),
    "fp16 output": ("float32:4,4", "float32:4,4", "float16:4,4"),
    "two halves": ("float16:4,4", "bfloat16:4,4", "float32:4,4"),
    "row and column": ("float32:4,1", "float32:1,4", "float32:4,4"),
    "one fits": ("float32:4,4", "float32:4", "float32:4,4"),
    "turned input": ("float32:2,4", "float32:2,4:1,2", "float32:2,4"),
    "gapped output": ("float32:4,4", "float32:4,4", "float32:4,4:8,1:0:4,8"),
    "output at 16": ("float32:4,4", "float32:4,4", "float32:4,4:4,1:16:40"),
    "empty": ("float32:0", "float32:5", "float32:7"),
}
"""The ten calls as `labkit explain` takes them: gradOutput, self, gradInput."""


@cache
def truth() -> dict[str, str]:
    """The kernels of each call in launch order, with commas between."""
    found = {}
    for name, texts in CALLS.items():
        grad, x, out = (tensor_desc(name, text) for text in texts)
        plan = plan_hardshrink_backward(grad, x, 0.5, out, soc=SOC)
        found[name] = ", ".join(launch.op_type for launch in plan.launches)
    return found


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a dict from call to kernel names: a text with commas, or a list of texts."""
    if isinstance(answer, Mapping):
        answer = {name: _listed(answer.get(name)) for name in CALLS}
    return predicted(answer, truth())


def _listed(value: Any) -> Any:
    """Kernel names with commas between, however they were written; others as they are."""
    if isinstance(value, (list, tuple)):
        value = ", ".join(map(str, value))
    if not isinstance(value, str):
        return value
    return ", ".join(re.findall(r"[^\s,;]+", value))
