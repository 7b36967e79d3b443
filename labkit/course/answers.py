"""The answers to the exercises, and the wrong twins that some of them are about.

Do not read on before you have tried: `labkit.course.solution` shows each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["MULTIPLYING_ANSWER", "STRICT_ANSWER", "backward", "mask"]


def mask(x: Any, lambd: float) -> Any:
    """Dead is |x| ≤ λ: ±λ included, λ below 0 acts as 0, and NaN is never dead."""
    limit = np.float32(0 if lambd < 0 else lambd)
    return ~(np.abs(x) <= limit)


def backward(grad: Any, x: Any, lambd: float) -> Any:
    """Select, do not multiply: the dead zone gives +0 whatever the gradient was."""
    limit = np.float32(0 if lambd < 0 else lambd)
    return np.where(np.abs(x) <= limit, np.float32(0), grad)


def strict_twin(grad: Any, x: Any, lambd: float) -> Any:
    """A wrong twin: it keeps the gradient at ±λ itself."""
    return np.where(np.abs(x) < lambd, np.float32(0), grad)


def multiplying_twin(grad: Any, x: Any, lambd: float) -> Any:
    """A wrong twin: it multiplies the gradient by 0 or 1."""
    return grad * (~(np.abs(x) <= lambd)).astype(np.float32)


STRICT_ANSWER = ("(1, 0.5)", "The twin says < where the kernel says <=; only ±λ itself can tell.")
MULTIPLYING_ANSWER = (
    "(-2, 0.25)",
    "−2 × 0 is −0, and the kernel puts +0 there. A NaN or ∞ gradient betrays it too.",
)
