"""The comparison of this project: the same dtype, the same shape, the same bits.

The operator only copies or zeroes, so no tolerance is ever right: a NaN must be
the same NaN, and +0 is not −0. A failure names what kind of difference it is.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = {"float32": np.dtype(np.float32), "float16": np.dtype(np.float16), "bfloat16": BFLOAT16}
BITS = {name: np.dtype(f"u{dtype.itemsize}") for name, dtype in FLOATS.items()}
INFINITY = {"float32": 0x7F800000, "float16": 0x7C00, "bfloat16": 0x7F80}
MAGNITUDE = {"float32": 0x7FFFFFFF, "float16": 0x7FFF, "bfloat16": 0x7FFF}


def bits_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bit patterns of a float array, flat, as unsigned integers."""
    return np.ascontiguousarray(array).reshape(-1).view(BITS[array.dtype.name])


def from_bits(patterns: Any, dtype: str) -> np.ndarray[Any, Any]:
    """A float array with these bit patterns."""
    return np.array(patterns, dtype=BITS[dtype]).view(FLOATS[dtype])


def assert_same_bits(want: Any, got: Any) -> None:
    """Fail unless two arrays of float32, float16 or bfloat16 agree in dtype, shape and bits."""
    want, got = _array("want", want), _array("got", got)
    assert want.dtype == got.dtype, f"dtype: want {want.dtype}, got {got.dtype}"
    assert want.shape == got.shape, f"shape: want {want.shape}, got {got.shape}"
    a, b = bits_of(want), bits_of(got)
    differing = np.flatnonzero(a != b)
    if differing.size:
        raise AssertionError(_report(want, got, a, b, differing))


def _array(name: str, value: Any) -> np.ndarray[Any, Any]:
    if not isinstance(value, (np.ndarray, np.generic)):
        raise TypeError(f"{name} must be a NumPy array, so that its dtype is sure: {value!r}")
    array = np.asarray(value)
    if array.dtype not in FLOATS.values():
        raise TypeError(f"{name} has dtype {array.dtype}; this compares {', '.join(FLOATS)}")
    return array


def _report(want: Any, got: Any, a: Any, b: Any, differing: Any) -> str:
    digits = want.dtype.itemsize * 2
    first = [
        f"  at {list(map(int, np.unravel_index(i, want.shape)))}: "
        f"want {want.reshape(-1)[i]} ({int(a[i]):0{digits}x}), "
        f"got {got.reshape(-1)[i]} ({int(b[i]):0{digits}x}): "
        f"{_kind(int(a[i]), int(b[i]), want.dtype.name)}"
        for i in differing[:5]
    ]
    return "\n".join([f"{differing.size} of {want.size} elements differ", *first])


def _kind(a: int, b: int, dtype: str) -> str:
    mask, infinity = MAGNITUDE[dtype], INFINITY[dtype]
    if a & mask == 0 and b & mask == 0:
        return "sign of zero"
    nans = (a & mask > infinity) + (b & mask > infinity)
    return ("value", "NaN against a number", "NaN payload")[nans]
