"""How two shapes meet.

Models BroadcastInferShape (cann/opbase aa3cd74b
src/nnopbase/common/utils/shape_utils.cpp:78-149). Not NumPy's rule in one
respect only: this operator never asks it about empty tensors.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.language import Text
from labkit.op.describe import shape_text

__all__ = ["BroadcastFault", "broadcast_shapes"]


@dataclass(frozen=True)
class BroadcastFault:
    """Why two shapes do not meet, as the framework's message EZ1007 tells it.

    `larger` is the first shape only if its rank is strictly larger; `dim` is
    the size in it that has no partner.
    """

    larger: tuple[int, ...]
    other: tuple[int, ...]
    dim: int

    @property
    def reason(self) -> str:
        """One sentence with both shapes, the larger first."""
        return Text(
            "{larger} and {other} do not broadcast: the {size} meets neither a {size} nor a 1",
            larger=shape_text(self.larger),
            other=shape_text(self.other),
            size=self.dim,
        )


def broadcast_shapes(
    first: tuple[int, ...], second: tuple[int, ...]
) -> tuple[int, ...] | BroadcastFault:
    """The common shape, aligned at the last axis, or the fault that prevents it.

    Per axis: equal sizes stay, a 1 takes the other's size, anything else
    fails; so 0 with 1 gives 0 and 0 with 4 fails. A 0-d shape meets any.

    >>> broadcast_shapes((4, 1), (3,))
    (4, 3)
    """
    larger, other = (first, second) if len(first) > len(second) else (second, first)
    lead = len(larger) - len(other)
    result = list(larger)
    for axis in range(len(larger) - 1, lead - 1, -1):
        mine, theirs = larger[axis], other[axis - lead]
        if mine != theirs and mine != 1 and theirs != 1:
            return BroadcastFault(larger, other, mine)
        result[axis] = theirs if mine == 1 else mine
    return tuple(result)
