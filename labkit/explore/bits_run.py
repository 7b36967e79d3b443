"""What the bits panel runs: both operators on the numbers around ±λ, or on all 65,536 patterns.

One call of an operator takes all numbers at once. The gradient is 1 everywhere,
so a result that is not +0 has passed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.draw.bits_view import BACKWARD, FORWARD, BitsView, Neighbour, Pairing
from labkit.draw.carpet_view import PATTERNS, CarpetView
from labkit.explore.bits_state import BitsState
from labkit.explore.field import around
from labkit.host.device import Device
from labkit.op import numerics
from labkit.op.dtypes import data_type, promote_type
from labkit.op.numerics import lambd_as_compared
from labkit.op.scalar import as_scalar, clamp_lambd, float32_bits
from labkit.operators import hardshrink, hardshrink_backward

__all__ = ["look_around", "look_at_all", "other_grad"]

Array = npt.NDArray[Any]
_STEPS = 2


@dataclass(frozen=True, eq=False)
class _Results:
    """Whether each number passed backward, backward with the other gradient, and forward."""

    backward: npt.NDArray[np.bool_]
    other: npt.NDArray[np.bool_]
    forward: npt.NDArray[np.bool_]
    agreeing: int
    total: int
    device: str


def look_around(device: Device, state: BitsState) -> BitsView:
    """Run the operators on the numbers next to ±λ; depends on nothing but its arguments."""
    kind = data_type(state.dtype).numpy
    unsigned = np.dtype(f"u{kind.itemsize}")
    sign = unsigned.type(1 << (8 * kind.itemsize - 1))
    used = float(clamp_lambd(as_scalar(state.lambd).to_float()))
    upper = _telling(kind) if math.isnan(used) else around(abs(used), kind, _STEPS)
    numbers = np.concatenate([upper.view(unsigned), upper.view(unsigned) ^ sign]).view(kind)
    results = _run(device, state, numbers)
    asked = _pairing(state, results)
    with np.errstate(invalid="ignore"):
        values = numbers.astype(np.float64)
    columns = zip(
        values,
        numbers.view(unsigned),
        results.backward,
        results.other,
        results.forward,
    )
    found = tuple(
        Neighbour(float(value), int(pattern), bool(first), bool(second), bool(third))
        for value, pattern, first, second, third in columns
    )
    compared = np.asarray(asked.compared, np.float32).astype(data_type(asked.compared_in).numpy)
    return BitsView(
        asked,
        float32_bits(as_scalar(state.lambd).to_float()),
        int(compared.view(f"u{compared.itemsize}")),
        found[: len(upper)],
        found[len(upper) :],
    )


def look_at_all(device: Device, state: BitsState) -> CarpetView:
    """Run the operators on every pattern of a 16-bit dtype."""
    patterns = np.arange(PATTERNS, dtype=np.uint16)
    results = _run(device, state, patterns.view(data_type(state.dtype).numpy))
    return CarpetView(_pairing(state, results), results.backward, results.other, results.forward)


def other_grad(dtype: str, grad_dtype: str) -> str:
    """The gradient dtype to compare with: float32 when both are alike, else self's own."""
    if grad_dtype != dtype:
        return dtype
    return "float16" if dtype == "float32" else "float32"


def _telling(kind: np.dtype[Any]) -> Array:
    """What stands in for neighbours when λ is NaN: large, one, the least number, zero, below."""
    with np.errstate(over="ignore"):
        return np.array([np.inf, 1.0, 0.25, 0.0, -1.0]).astype(kind)


def _run(device: Device, state: BitsState, numbers: Array) -> _Results:
    """Run what is shown; a column that is not shown repeats one that is."""
    runs = []
    if state.operator != FORWARD:
        for grad in (state.grad, other_grad(state.dtype, state.grad)):
            runs.append(_backward(device, state, numbers, grad))
    if state.operator != BACKWARD:
        runs.append(_forward(device, state, numbers))
    agreeing = sum(count for _, count in runs)
    passed = [column for column, _ in runs]
    backward, other, forward = {
        BACKWARD: [*passed, passed[0]],
        FORWARD: passed * 3,
    }.get(state.operator, passed)
    return _Results(backward, other, forward, agreeing, len(runs) * numbers.size, device.name)


def _backward(
    device: Device, state: BitsState, numbers: Array, grad_dtype: str
) -> tuple[npt.NDArray[np.bool_], int]:
    """What passes backward, and how many results are those of the model."""
    ones = np.ones(numbers.shape, data_type(grad_dtype).numpy)
    result = hardshrink_backward(ones, numbers, lambd=state.lambd, device=device).grad_input
    assert result is not None
    with np.errstate(invalid="ignore"):
        wide = numbers.astype(result.dtype)
    predicted = numerics.hardshrink_grad(ones.astype(result.dtype), wide, state.lambd)
    return _bits(result) != 0, int(np.count_nonzero(_bits(result) == _bits(predicted)))


def _forward(device: Device, state: BitsState, numbers: Array) -> tuple[npt.NDArray[np.bool_], int]:
    """What is kept forward, and how many results are those of the model."""
    out = hardshrink(numbers, lambd=state.lambd, device=device).out
    assert out is not None
    clamped = clamp_lambd(as_scalar(state.lambd).to_float())
    same = _bits(out) == _bits(numerics.hardshrink(numbers, clamped))
    # A chip may change a NaN's payload in its casts; here a NaN is a NaN.
    same |= np.isnan(out.astype(np.float32)) & np.isnan(numbers.astype(np.float32))
    kept = _bits(out) != 0
    # +0 kept and +0 put there look alike, so −0 speaks for it: no state shows one without the other
    zeros = numbers == 0
    kept[zeros] = kept[zeros].any()
    return kept, int(np.count_nonzero(same))


def _bits(values: Array) -> Array:
    return values.view(f"u{values.itemsize}")


def _pairing(state: BitsState, results: _Results) -> Pairing:
    scalar = as_scalar(state.lambd)
    if state.operator == FORWARD:
        inside = "float32"
        compared = lambd_as_compared("float32", clamp_lambd(scalar.to_float()), op="hardshrink")
    else:
        promoted = promote_type(data_type(state.grad), data_type(state.dtype))
        inside = "float16" if promoted.numpy.name == "float16" else "float32"
        compared = lambd_as_compared(promoted, scalar)
    return Pairing(
        dtype=state.dtype,
        grad_dtype=state.grad,
        other_dtype=other_grad(state.dtype, state.grad),
        operator=state.operator,
        typed=state.typed,
        value=state.lambd,
        lambd=float(scalar.to_float()),
        compared=compared,
        compared_in=inside,
        device=results.device,
        agreeing=results.agreeing,
        total=results.total,
    )
