"""Build the operator for 16 bits: judged on all 65,536 patterns of self, in six pairs of dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from labkit.course.judge import Array, Verdict, compared
from labkit.course.numbers import lambda_words
from labkit.course.show import bits, number
from labkit.draw.numbers import short_dtype
from labkit.host.device import Device
from labkit.op import data_type
from labkit.operators import hardshrink_backward

NOTEBOOK = 6
KIND = "build"

PAIRS = (
    ("float16", "float16"),
    ("bfloat16", "bfloat16"),
    ("float16", "float32"),
    ("bfloat16", "float32"),
    ("float16", "bfloat16"),
    ("bfloat16", "float16"),
)
"""Dtypes of self and of the gradient."""

LAMBDAS = (0.5, 0.3, 0.1, 0.0, -0.3, 70000.0, 1e-8, float("inf"), float("nan"))
_TELLING = (1.0, 0.5, 0.3, 0.1, 0.25, 0.0, -0.0, -0.3, -0.1, 1e-8, np.inf, -np.inf, np.nan)


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a function of grad, x (of any two of the dtypes) and λ, bit for bit."""

    def right(grad: Array, x: Array, lambd: float) -> Array:
        result = hardshrink_backward(grad, x, lambd=lambd, device=device).grad_input
        assert result is not None
        return result

    return compared(answer, right, _inputs(), lambda value: f"{number(value)} ({bits(value)})")


def _inputs() -> list[tuple[tuple[Any, ...], str]]:
    """Each pair of dtypes with each λ."""
    found: list[tuple[tuple[Any, ...], str]] = []
    for dtype, grad_dtype in PAIRS:
        grad, x = _grad(grad_dtype, dtype), _self(dtype)
        pair = f"self {short_dtype(dtype)}, grad {short_dtype(grad_dtype)}"
        found += [
            ((grad, x, lambd), f"grad = {{}}, x = {{}}, {lambda_words(lambd)} ({pair})")
            for lambd in LAMBDAS
        ]
    return found


def _self(dtype: str) -> Array:
    """The telling numbers, and then every pattern."""
    kind = data_type(dtype).numpy
    with np.errstate(over="ignore"):
        telling = np.array(_TELLING).astype(kind)
    return np.concatenate([telling, np.arange(65_536, dtype=np.uint16).view(kind)])


def _grad(grad_dtype: str, dtype: str) -> Array:
    """1 for the telling numbers, and then patterns in another order than those of self.

    NaN payloads are among them for float16 alone: there the kernel copies
    gradients as they are. In all other pairs it casts them, and what a chip's
    cast makes of a payload is not public.
    """
    kind = data_type(grad_dtype).numpy
    size = kind.itemsize
    order = (np.arange(65_536, dtype=np.uint64) * 40_503 + 15_872) & 0xFFFF
    patterns = (order << (16 if size == 4 else 0)).astype(f"u{size}").view(kind)
    if (dtype, grad_dtype) != ("float16", "float16"):
        with np.errstate(invalid="ignore"):
            patterns = np.where(np.isnan(patterns), kind.type(1), patterns)
    return np.concatenate([np.ones(len(_TELLING), kind), patterns])
