"""Another cut than the public one: the tile by the core's own share.

The public backward tiling caps the tile by the total (cann/ops-nn e5c3fa93
activation/hard_shrink_grad/op_host/arch35/hard_shrink_grad_tiling.cpp:199-205),
though no core ever sees more than its share. What is here is not CANN's: it is
the lab's counter-design, to set beside it.
"""

from __future__ import annotations

from labkit.op.dtypes import FLOAT16
from labkit.op.tiling import GRAD, Tiling

__all__ = ["by_share", "lane_step"]

_VECTOR_BYTES = 256


def lane_step(tiling: Tiling) -> int:
    """Lanes of one vector instruction: 256 bytes of the dtype in which the kernel computes.

    A tile is a multiple of this. The backward kernel computes float16 as such;
    everything else is computed in float32.
    """
    half = tiling.op == GRAD and tiling.dtype is FLOAT16
    return _VECTOR_BYTES // (2 if half else 4)


def by_share(tiling: Tiling) -> Tiling:
    """The same cut over cores, with a tile no longer than a core's share needs.

    Raises `TilingError` where not even the public tile fits.

    >>> from labkit.op import tile
    >>> by_share(tile(4096, "float32")).ub_factor
    64
    """
    if not tiling.total_num:
        return tiling
    step = lane_step(tiling)
    needed = -(-tiling.block_factor // step) * step
    return tiling.with_tile(min(tiling.ub_factor, needed))
