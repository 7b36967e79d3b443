"""One layer of sparse coding: patterns, a code that is mostly zero, and the gradient by hand.

A unit has a pattern, a row of `weights`. For a window x,

    u = x · weightsᵀ              how much of each pattern is in the window
    z = hardshrink(u, λ)          the code
    y = z · weights               the window, put together from what was kept

and the loss is ½ |y − clean|², averaged over the windows. The weights come in
twice, so their gradient has two parts; the second one has to come back through
the operator:

    error = y − clean
    dz = error · weightsᵀ
    du = hardshrink_backward(dz, u, λ)
    gradient = (zᵀ · error + duᵀ · x) / windows

A unit that is in the dead zone in every window has a column of zeros in z and in du. Then both
parts of its row are exactly zero, whatever the error: it can never learn again.

Used in notebook 10, "The gradient by hand".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.errors import LabValueError
from labkit.host.device import Device
from labkit.learn.signals import noise, samples
from labkit.op.asked import count, instance
from labkit.op.dtypes import data_type
from labkit.op.numerics import hardshrink, hardshrink_grad
from labkit.op.scalar import as_scalar, clamp_lambd
from labkit.operators import hardshrink as device_hardshrink
from labkit.operators import hardshrink_backward as device_hardshrink_backward

__all__ = ["Operators", "Slope", "first_weights", "model", "on_device", "slope"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Operators:
    """The two operators that a layer needs: `forward(u, λ)` and `backward(dz, u, λ)`."""

    forward: Callable[[Array, float], Array]
    backward: Callable[[Array, Array, float], Array]


def on_device(device: Device | None = None) -> Operators:
    """The aclnn operators on a device (None: the default one)."""

    def forward(u: Array, lambd: float) -> Array:
        result = device_hardshrink(u, lambd=lambd, device=device).out
        assert result is not None
        return result

    def backward(dz: Array, u: Array, lambd: float) -> Array:
        result = device_hardshrink_backward(dz, u, lambd=lambd, device=device).grad_input
        assert result is not None
        return result

    return Operators(forward, backward)


def model() -> Operators:
    """The kernels' arithmetic without a device: the same bits, some ten times as fast."""

    def forward(u: Array, lambd: float) -> Array:
        # A negative λ is replaced by the host, not by the forward kernel.
        return hardshrink(u, clamp_lambd(as_scalar(lambd).to_float()))

    return Operators(forward, lambda dz, u, lambd: hardshrink_grad(dz, u, lambd))


def first_weights(units: int, length: int, seed: int = 0) -> Array:
    """Where the patterns start: noise, each of about length 1."""
    units, length = count("units", units, least=1), count("length", length, least=1)
    return noise((units, length), min(length, 2**53) ** -0.5, seed)


def matrix(name: str, value: Any) -> Array:
    """Rows of samples, float64."""
    found: Array = samples(name, value)
    if found.ndim != 2:
        raise LabValueError(f"{name} has the shape {list(found.shape)}; right would be two axes")
    return found


@dataclass(frozen=True, eq=False)
class Slope:
    """One pass forward and back: the loss, its gradient by the weights, and what was between.

    `code` has a row for each window and a column for each unit, in the dtype
    in which the operators ran; `built` is the windows put together from it.
    """

    loss: float
    gradient: Array
    code: Array
    built: Array


def slope(
    weights: Array,
    windows: Array,
    clean: Array,
    lambd: float,
    operators: Operators,
    dtype: Any = np.float32,
) -> Slope:
    """Run the layer on `windows` and compare with `clean`; see the head of this module.

    `weights` is units × samples, the other two windows × samples, all float64.
    The operators see `dtype`; everything else is computed in float64.
    """
    instance("operators", operators, Operators, "what model() or on_device() gives")
    weights, windows, clean = (
        matrix(name, value)
        for name, value in (("weights", weights), ("windows", windows), ("clean", clean))
    )
    if not windows.size or windows.shape != clean.shape or windows.shape[1] != weights.shape[1]:
        raise LabValueError(
            f"weights {list(weights.shape)}, windows {list(windows.shape)}, clean "
            f"{list(clean.shape)}; right would be units x samples and twice windows x samples"
        )
    dtype = data_type(dtype).numpy
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # a training that explodes ends in ∞ and NaN, not in warnings
        u = (windows @ weights.T).astype(dtype)
        code = operators.forward(u, lambd)
        wide = code.astype(np.float64)
        built = wide @ weights
        error = built - clean
        back = operators.backward((error @ weights.T).astype(dtype), u, lambd)
    gradient = (wide.T @ error + back.astype(np.float64).T @ windows) / len(windows)
    loss = 0.5 * float(np.sum(error * error)) / len(windows)
    return Slope(loss, gradient, code, built)
