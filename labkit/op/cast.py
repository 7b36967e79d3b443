"""Conversion between float32, float16 and bfloat16, as the Cast kernel rounds.

Models cann/ops-math c4193324 math/cast/op_kernel/arch35/cast_struct.h:136-157:
narrowing is to nearest even in INF/NAN mode. NaN stays NaN with its sign. The
payload of a narrowed NaN is not settled by any public source; here its upper
bits stay, so that bfloat16 to float32 and back gives every pattern again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.op.dtypes import BF16

__all__ = ["round_cast"]

Array = npt.NDArray[Any]

_TILE = 64 * 1024
"""Elements converted at a time."""


def round_cast(source: Array, out: Array) -> None:
    """Convert `source` into `out` (same shape, each float32, float16 or bfloat16).

    Overflow gives ∞, a subnormal result is kept. Works tile by tile where
    both lie row-major, so that no temporary is larger than a tile.
    """
    if source.size > _TILE and source.flags.c_contiguous and out.flags.c_contiguous:
        flat, target = source.reshape(-1), out.reshape(-1)
        for start in range(0, flat.size, _TILE):
            _convert(flat[start : start + _TILE], target[start : start + _TILE])
    else:
        _convert(source, out)


def _convert(source: Array, out: Array) -> None:
    if out.dtype == BF16.numpy:
        wide = source if source.dtype == np.float32 else _widened(source)
        out.view(np.uint16)[...] = _bfloat16_bits(np.ascontiguousarray(wide).view(np.uint32))
        return
    if source.dtype == BF16.numpy:
        source = _widened(source)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        out[...] = source


def _widened(source: Array) -> Array:
    """float16 or bfloat16 as float32; always exact."""
    if source.dtype == BF16.numpy:
        wide = np.ascontiguousarray(source).view(np.uint16).astype(np.uint32)
        shifted: Array = (wide << np.uint32(16)).view(np.float32)
        return shifted
    with np.errstate(invalid="ignore"):
        single: Array = source.astype(np.float32)
    return single


def _bfloat16_bits(bits: Array) -> Array:
    nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    rounded = (bits.astype(np.uint64) + np.uint64(0x7FFF) + odd) >> np.uint64(16)
    upper = bits >> np.uint32(16)
    # A NaN whose upper half alone would read as ∞ gets the quiet bit.
    kept = np.where(upper & np.uint32(0x7F), upper, upper | np.uint32(0x40))
    narrow: Array = np.where(nan, kept, rounded).astype(np.uint16)
    return narrow
