"""Predict what phase 1 asks for: the bytes of workspace of six calls on an Ascend 950."""

from __future__ import annotations

from typing import Any

from labkit.course.judge import Verdict, predicted
from labkit.host.device import Device
from labkit.op import TensorDesc, plan_hardshrink_backward

NOTEBOOK = 2
KIND = "predict"
SOC = "Ascend950PR_9599"

_SQUARE = TensorDesc("float32", (4, 4))
_LARGE = TensorDesc("float32", (1000, 1000))
_NONE = TensorDesc("float32", (0, 4))
CALLS: dict[str, tuple[TensorDesc, TensorDesc, TensorDesc]] = {
    "all fp32": (_SQUARE, _SQUARE, _SQUARE),
    "a million": (_LARGE, _LARGE, _LARGE),
    "empty": (_NONE, _NONE, _NONE),
    "fp16 grad": (TensorDesc("float16", (4, 4)), _SQUARE, _SQUARE),
    "column grad": (TensorDesc("float32", (4, 1)), _SQUARE, _SQUARE),
    "gaps in out": (_SQUARE, _SQUARE, TensorDesc("float32", (4, 4), (8, 1), 0, (4, 8))),
}
"""gradOutput, self and gradInput of each call."""


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a dict of bytes by what the operator model plans; the device plays no part."""
    return predicted(answer, truth())


def truth() -> dict[str, int]:
    """The workspace of each call."""
    return {
        name: plan_hardshrink_backward(grad, x, 0.5, out, soc=SOC).workspace_size
        for name, (grad, x, out) in CALLS.items()
    }
