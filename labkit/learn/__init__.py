"""A model that learns with the operator: sparse coding of a real signal, notebook 10.

signals (what is learned from) · coder (one layer: forward, and the gradient by
hand) · training (gradient descent, and what became of every unit).

The part stands above the operator and the host program: it calls the lab's own
`hardshrink` and `hardshrink_backward` on a device, or the kernels' arithmetic
(`labkit.op`) where a panel must be quick. Both give the same bits. All else is
NumPy in float64, so that a sum does not depend on how a processor orders it as
far as anything here is printed.
"""

from __future__ import annotations

from labkit.learn.coder import Operators, Slope, first_weights, model, on_device, slope
from labkit.learn.signals import Signal, cut, ecg, noise
from labkit.learn.training import Training, train

__all__ = [
    "Operators",
    "Signal",
    "Slope",
    "Training",
    "cut",
    "ecg",
    "first_weights",
    "model",
    "noise",
    "on_device",
    "slope",
    "train",
]
