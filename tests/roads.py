"""The two roads of the numerics, NumPy's and numba's: tests take one on purpose."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from labkit.op import numerics

ROADS = ("numpy", "numba")


@contextmanager
def taking(road: str) -> Iterator[None]:
    """Compute by one road while inside; skips the test when numba is not installed."""
    if road == "numba" and importlib.util.find_spec("numba") is None:
        pytest.skip("numba is not installed (it is optional)")
    before = os.environ.get("LABKIT_FAST")
    os.environ["LABKIT_FAST"] = "1" if road == "numba" else "0"
    numerics._fast_kernels.cache_clear()
    try:
        assert (numerics._fast_kernels() is not None) == (road == "numba")
        yield
    finally:
        if before is None:
            del os.environ["LABKIT_FAST"]
        else:
            os.environ["LABKIT_FAST"] = before
        numerics._fast_kernels.cache_clear()
