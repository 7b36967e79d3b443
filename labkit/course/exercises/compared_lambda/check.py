"""Predict the number that |x| is compared with, for a λ and two dtypes: as a number or as bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from labkit.course.judge import Verdict, predicted
from labkit.course.show import bits
from labkit.draw.numbers import short_dtype
from labkit.host.device import Device
from labkit.op import TensorDesc, lambd_as_compared, plan_hardshrink_backward

NOTEBOOK = 6
KIND = "predict"

CASES = (
    ("0.3", "float16", "float16"),
    ("0.3", "float16", "float32"),
    ("0.3", "bfloat16", "bfloat16"),
    ("-0.3", "float16", "float16"),
    ("70000", "float16", "float16"),
    ("70000", "bfloat16", "float16"),
    ("1e-8", "float16", "float16"),
    ("16777217", "float32", "float32"),
)
"""λ as written, dtype of self, dtype of the gradient."""


def key(written: str, dtype: str, grad_dtype: str) -> str:
    """How a case is named in the answer."""
    return f"{written}: self {short_dtype(dtype)}, grad {short_dtype(grad_dtype)}"


def truth() -> dict[str, float]:
    """The number compared in every case, asked of the model of the operator."""
    return {key(*case): _compared(*case)[0] for case in CASES}


def _compared(written: str, dtype: str, grad_dtype: str) -> tuple[float, str]:
    """The number that |x| is compared with, and its bits in the dtype of the comparison."""
    lambd = float(written)
    grad, x = TensorDesc(grad_dtype, (4,)), TensorDesc(dtype, (4,))
    plan = plan_hardshrink_backward(grad, x, lambd, grad)
    assert plan.promoted is not None
    promoted = plan.promoted
    value = lambd_as_compared(promoted, lambd)
    inside = np.float16 if promoted.numpy.name == "float16" else np.float32
    with np.errstate(over="ignore"):
        return value, bits(inside(value))


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a dict from case to number, or to a string of bits."""
    if not isinstance(answer, Mapping):
        return predicted(answer, truth())
    read = {}
    for case in CASES:
        value, pattern = _compared(*case)
        given = answer.get(key(*case))
        if given is not None:
            read[key(*case)] = value if _same(given, value, pattern) else object()
    return predicted(read, truth())


def _same(given: Any, value: float, pattern: str) -> bool:
    """Whether what was given is that number, read as float32, or its bits with any spacing."""
    if isinstance(given, str) and "".join(given.split()) == pattern.replace(" ", ""):
        return True
    try:
        with np.errstate(over="ignore"):
            return bool(np.float32(float(given)) == np.float32(value))
    except (TypeError, ValueError, OverflowError):
        return False
