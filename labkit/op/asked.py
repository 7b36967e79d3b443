"""Small arguments read: a word of a few, a whole number, a number, a descriptor.

What it cannot read is a `LabValueError` that names the argument, whatever the
value does when it is looked at.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any, TypeVar

from labkit.errors import LabValueError, shown

__all__ = ["count", "instance", "number", "word"]

Kind = TypeVar("Kind")

_MOST = 10**100
"""Shapes of int64 sizes may multiply to far more than int64 holds; above this is a mistake."""


def word(name: str, value: Any, known: Iterable[str]) -> str:
    """The value, if it is one of the words known.

    >>> word("op", "hardshrink", ("hardshrink_grad", "hardshrink"))
    'hardshrink'
    """
    words = tuple(known)
    if not isinstance(value, str) or value not in words:
        listed = " or ".join(map(repr, words))
        raise LabValueError(f"{name} must be {listed}, not {shown(value)}")
    return value


def count(name: str, value: Any, what: str = "a whole number", least: int = 0) -> int:
    """A whole number, `least` or more; `what` says what of."""
    try:
        found = int(operator.index(value))
    except Exception:  # of anybody's __index__
        found = least - 1
    if not least <= found <= _MOST:
        raise LabValueError(f"{name} is {shown(value)}; right would be {what}, {least} or more")
    return found


def number(name: str, value: Any) -> float:
    """A number that a float holds; infinite is one, NaN is none."""
    try:
        found = math.nan if isinstance(value, (str, bytes)) else float(value)
    except Exception:  # of anybody's __float__
        found = math.nan
    if math.isnan(found):
        raise LabValueError(f"{name} is {shown(value)}; right would be a number")
    return found


def instance(name: str, value: Any, kind: type[Kind] | tuple[type[Kind], ...], right: str) -> Kind:
    """The value, if it is of that kind; `right` says what would be."""
    if not isinstance(value, kind):
        raise LabValueError(f"{name} is {shown(value)}; right would be {right}")
    return value
