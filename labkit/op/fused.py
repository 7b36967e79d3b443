"""One fused loop over bit patterns, compiled by numba: the optional fast road.

Imported only when numba is installed; the same bits as the NumPy road in
numerics.py, and the tests run both. The compiled code is cached beside this
file (or in numba's own cache folder) so that only the first call waits.
"""

from __future__ import annotations

from typing import Any

from numba import njit

__all__ = ["select"]


@njit(nogil=True, cache=True, boundscheck=False)
def select(values: Any, x: Any, mask: Any, limit: Any, out: Any) -> None:
    """Out = values where (x & mask) > limit, else 0; all unsigned, one dtype, 1-d."""
    for i in range(x.size):
        out[i] = values[i] if (x[i] & mask) > limit else 0
