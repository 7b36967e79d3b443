"""Predict ten return codes: what phase 1 says is asked of the operator model."""

from __future__ import annotations

from typing import Any

from labkit.course.judge import Verdict, predicted
from labkit.host.device import Device
from labkit.op import Plan, Scalar, TensorDesc, plan_hardshrink_backward

NOTEBOOK = 3
KIND = "predict"

_950, _910 = "Ascend950PR_9599", "Ascend910A"


def _fp32(*shape: int, **rest: Any) -> TensorDesc:
    return TensorDesc("float32", shape, **rest)


def plans() -> dict[str, Plan]:
    """The ten calls by their letters."""
    backward = plan_hardshrink_backward
    half, brain = TensorDesc("float16", (4,)), TensorDesc("bfloat16", (4,))
    nine = _fp32(*[1] * 9)
    calls: dict[str, tuple[Any, Any, Any, Any, str]] = {
        "a": (_fp32(2, 3), _fp32(3), 0.5, _fp32(2, 3), _950),
        "b": (_fp32(2, 3), _fp32(3), 0.5, _fp32(3), _950),
        "c": (half, brain, 0.5, half, _950),
        "d": (brain, brain, 0.5, brain, _910),
        "e": (_fp32(4), TensorDesc("int32", (4,)), None, _fp32(4), _950),
        "f": (_fp32(), _fp32(), 0.5, _fp32(1), _950),
        "g": (_fp32(0), _fp32(5), 0.5, _fp32(7), _950),
        "h": (_fp32(0), nine, 0.5, _fp32(7), _950),
        "i": (_fp32(4), _fp32(4), Scalar(2 + 1j, "complex64"), _fp32(4), _950),
        "j": (_fp32(4), _fp32(4, strides=(2,), storage_shape=(4,)), 0.5, _fp32(4), _950),
    }
    return {key: backward(*call[:4], soc=call[4]) for key, call in calls.items()}


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a dict from the letter of a call to the code that phase 1 returns."""
    return predicted(answer, {key: plan.status for key, plan in plans().items()})
