"""What the exercises about numbers of 16 bits share: reading an answer of an x and a λ."""

from __future__ import annotations

from typing import Any

__all__ = ["read_pair"]


def read_pair(answer: Any) -> tuple[float, float] | None:
    """The pair (x, λ) that was answered; None when it is no pair of numbers.

    >>> read_pair((0.5, 1)), read_pair("two words")
    ((0.5, 1.0), None)
    """
    try:
        x, lambd = (float(value) for value in answer)
    except (TypeError, ValueError, OverflowError):
        return None
    return x, lambd
