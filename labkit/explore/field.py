"""What the mask panel runs: a field of numbers, the numbers around λ, and the operator on both."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.draw.mask_view import MaskView, Rung
from labkit.draw.numbers import bits_text, magnitude_pattern
from labkit.host.device import Device
from labkit.op.dtypes import data_type
from labkit.op.numerics import hardshrink_grad, lambd_as_compared
from labkit.op.scalar import as_scalar
from labkit.operators import hardshrink, hardshrink_backward

__all__ = ["around", "field", "run_mask"]

Array = npt.NDArray[Any]

_WAVES = (
    # amplitude, waves down, waves across, phase (turns)
    (0.38, 1.0, 0.7, 0.10),
    (0.34, -0.8, 1.6, 0.37),
    (0.30, 2.1, 1.1, 0.62),
    (0.26, -1.7, 2.4, 0.21),
    (0.22, 3.2, -0.6, 0.84),
    (0.18, 2.6, 3.4, 0.45),
    (0.14, -4.1, 2.9, 0.93),
    (0.10, 1.3, 5.2, 0.08),
)


@lru_cache(maxsize=8)
def field(rows: int, columns: int) -> npt.NDArray[np.float32]:
    """A smooth field between −1.6 and 1.6, float32, read-only, the same on every machine.

    Its values are multiples of 1/64, so float32, float16 and bfloat16 hold
    the same field, and some elements are exactly 0.25 or 0.5.
    """
    down = (np.arange(rows) / max(1, rows))[:, None]
    across = (np.arange(columns) / max(1, columns))[None, :]
    total = sum(
        size * np.sin(2 * np.pi * (a * down + b * across + phase)) for size, a, b, phase in _WAVES
    )
    values = (np.round(64 * np.clip(total, -1.5, 1.5)) / 64).astype(np.float32)
    values.flags.writeable = False  # one array for all who ask
    return values


def around(limit: float, dtype: np.dtype[Any], steps: int = 3) -> Array:
    """The numbers of `dtype` nearest to `limit`, going down, `steps` on each side.

    The middle one is the largest that is not above `limit`. The steps go
    through 0 into the negative numbers and, past ∞, into NaN. For a NaN
    there is no near: then a few telling numbers.
    """
    if math.isnan(limit):
        return np.array([np.inf, 1.0, 0.0, -0.0, -1.0, -np.inf, np.nan], np.float32).astype(dtype)
    with np.errstate(over="ignore"):
        nearest = np.asarray(limit, np.float32).astype(dtype)
    middle = magnitude_pattern(nearest) - (1 if float(nearest) > limit else 0)
    sign = 1 << (8 * dtype.itemsize - 1)
    places = range(middle + steps, middle - steps - 1, -1)
    patterns = [place if place >= 0 else sign | (-place - 1) for place in places]
    return np.array(patterns, f"u{dtype.itemsize}").view(dtype)


def run_mask(
    device: Device,
    *,
    dtype: str,
    grad_dtype: str,
    self_shape: tuple[int, ...],
    grad_shape: tuple[int, ...],
    lambd: float,
    typed: str,
) -> MaskView:
    """Run the operator on a gradient of ones and tell what came out.

    Shapes have one or two axes. Raises `AclnnError` when the operator
    refuses, and what the device raises.
    """
    kind, grad_kind = data_type(dtype).numpy, data_type(grad_dtype).numpy
    x = field(*(1, *self_shape)[-2:]).reshape(self_shape).astype(kind)
    ones = np.ones(grad_shape, grad_kind)
    call = hardshrink_backward(ones, x, lambd=lambd, device=device)
    result = call.grad_input
    assert result is not None
    predicted = hardshrink_grad(
        np.broadcast_to(ones, result.shape).astype(result.dtype),
        np.broadcast_to(x, result.shape).astype(result.dtype),
        lambd,
    )
    bits = np.dtype(f"u{result.dtype.itemsize}")
    in_half = result.dtype.name == "float16"
    compared = lambd_as_compared(result.dtype, lambd)
    flat = (1, *result.shape)[-2:]
    return MaskView(
        dtype=kind.name,
        grad_dtype=grad_kind.name,
        self_shape=self_shape,
        grad_shape=grad_shape,
        typed=typed,
        lambd=float(as_scalar(lambd).to_float()),
        compared=compared,
        compared_in="float16" if in_half else "float32",
        device=call.device,
        x=np.broadcast_to(x, result.shape).astype(np.float32).reshape(flat),
        live=(result.view(bits) != 0).reshape(flat),
        rungs=_rungs(device, around(compared, kind), grad_kind, lambd),
        agreeing=int(np.count_nonzero(result.view(bits) == predicted.view(bits))),
    )


def _rungs(
    device: Device, numbers: Array, grad_kind: np.dtype[Any], lambd: float
) -> tuple[Rung, ...]:
    """Run both operators on the numbers around λ."""
    ones = np.ones(numbers.shape, grad_kind)
    grad = hardshrink_backward(ones, numbers, lambd=lambd, device=device).grad_input
    kept = hardshrink(numbers, lambd=lambd, device=device).out
    assert grad is not None and kept is not None
    bits = f"u{numbers.itemsize}"
    through = kept.view(bits) != 0
    # +0 kept and +0 put there look alike, so −0 speaks for it: no λ keeps one without the other.
    zeros = numbers == 0
    through[zeros] = through[zeros].any()
    return tuple(
        Rung(float(number), bits_text(number), bool(passed), bool(unchanged))
        for number, passed, unchanged in zip(numbers, grad.astype(np.float32) != 0, through)
    )
