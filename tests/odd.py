"""Odd objects, the same in every run: what a call may be given by mistake or in spite."""

from __future__ import annotations

import array
import datetime
import enum
import itertools
from collections import deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["name_of", "nested", "odd"]


class Whole(enum.IntEnum):
    ONE = 1


class Word(str):
    pass


class Hidden:
    """What cannot be shown."""

    def __repr__(self) -> str:
        raise ValueError("no words for it")


def nested(depth: int, inner: Any = 1.0) -> Any:
    for _ in range(depth):
        inner = [inner]
    return inner


def _hostile(*methods: str) -> Any:
    """An object whose methods of that name fail."""

    def fails(*_args: Any, **_named: Any) -> Any:
        raise RuntimeError("hostile")

    return type(f"Hostile_{'_'.join(methods)}", (), dict.fromkeys(methods, fails))()


def _holding_itself() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


def _numbers() -> list[Any]:
    plain = [True, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**400, -(10**400), 10**5000]
    floats = [0.0, -0.0, 0.5, float("nan"), float("inf"), 1e39, 1j]
    exact = [Decimal("NaN"), Decimal("1e999"), Decimal("0.5"), Fraction(1, 2), Fraction(10**400)]
    typed = [np.float16(1), np.float64(1), np.int64(1), np.longdouble(1), np.complex64(1)]
    typed += [np.str_("x"), np.datetime64("2020"), np.timedelta64(1), np.void(b"ab"), np.True_]
    return [*plain, *floats, *exact, *typed, ml_dtypes.bfloat16(1), Whole.ONE]


def _texts() -> list[Any]:
    texts = ["", "x", "4 4", "(,)", "1e-5", "nan", "1e999", "9" * 5000, "１", "²", "\0", "\ud800"]
    return [*texts, "a" * 10_000, Word("forward"), b"", b"ab", bytearray(b"ab"), memoryview(b"abc")]


def _arrays() -> list[Any]:
    masked = np.ma.array([1.0, 2.0], mask=[0, 1])
    plain = [np.ones(2), np.ones(2, np.float32), np.ones((), np.float32), np.ones((1,) * 30)]
    others = [np.array([object()]), np.array(["a"]), np.zeros(2, [("a", "f4")]), np.ones(2, ">f4")]
    return [*plain, *others, np.ma.masked, masked, np.ma.array(1.0), array.array("d", [1.0, 2.0])]


def _containers() -> list[Any]:
    lists = [[], [[]], [None], ["x"], [[1], [1, 2]], [1, [2]], _holding_itself(), [10**400]]
    deep = [nested(33), nested(70), nested(5000)]
    rest = [(), {}, {1}, frozenset(), range(3), range(10**12), deque([1.0]), slice(1)]
    return [*lists, *deep, *rest, [np.ma.masked], [Decimal(1)]]


def odd(*, endless: bool = True) -> list[Any]:
    """The objects, each made anew; the last one is an iterator without an end."""
    spelled = "array float index len iter eq str repr bool hash dlpack dlpack_device int complex"
    hostile = [_hostile(f"__{name}__") for name in [*spelled.split(), "getattr", "fspath"]]
    rest = [None, object(), type, int, np.float32, np, len, iter([1]), Hidden(), Ellipsis]
    rest += [NotImplemented, datetime.datetime(2020, 1, 1), lambda: 1, (x for x in [1, 2])]
    hostile.append(_hostile("__array__", "__float__", "__repr__"))
    found = [*rest, *_numbers(), *_texts(), *_arrays(), *_containers(), *hostile, *_of_others()]
    return [*found, itertools.count()] if endless else found


def _of_others() -> list[Any]:
    """Tensors and frames, where their libraries are installed."""
    found: list[Any] = []
    try:
        import torch
    except ImportError:
        pass
    else:
        found += [torch.ones(2), torch.ones(2, dtype=torch.bfloat16), torch.tensor(0.5)]
        found += [torch.float16, torch.ones(2, device="meta"), torch.eye(2).to_sparse()]
    try:
        import pandas as pd
    except ImportError:
        pass
    else:
        found += [pd.NA, pd.NaT, pd.Series([1.0]), pd.Series([1, None], dtype="Int64")]
        found.append(pd.DataFrame({"dtype": [1]}))
    return found


def name_of(value: Any) -> str:
    """An object in a few letters, for the words of a test that failed."""
    try:
        return f"{type(value).__name__} {value!r}"[:80]
    except Exception:
        return type(value).__name__
