"""The dtype cube of a chip: every combination asked of the operator model, once."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

from labkit.draw.dtype_cube import ChipDtypes, CubeCell, DtypeCube
from labkit.explore.contract_presets import DTYPES, NULL
from labkit.explore.typed import CHIPS
from labkit.op import Plan, TensorDesc, find_soc, plan_hardshrink, plan_hardshrink_backward

__all__ = ["CUBE_DTYPES", "cube_of"]

CUBE_DTYPES = tuple(dtype for dtype in DTYPES if dtype != NULL)
"""The dtypes along each edge of the cube."""

_SHAPE = (2, 3)


@lru_cache(maxsize=8)
def cube_of(soc: str) -> DtypeCube:
    """All combinations of dtypes of gradOutput, self and gradInput on a chip, in shape (2, 3)."""
    made = {name: TensorDesc(name, _SHAPE) for name in CUBE_DTYPES}
    cells = {
        (grad, x, out): _cell(
            plan_hardshrink_backward(made[grad], made[x], 0.5, made[out], soc=soc)
        )
        for grad, x, out in product(CUBE_DTYPES, repeat=3)
    }
    names = CHIPS if soc in CHIPS else (*CHIPS, soc)
    return DtypeCube(soc, cells, tuple(_chip(name) for name in names))


def _cell(plan: Plan) -> CubeCell:
    if plan.fault is not None:
        return CubeCell(plan.status, plan.fault.messages[-1].values[0], "", 0)
    assert plan.promoted is not None
    casts = sum(launch.op_type == "Cast" for launch in plan.launches)
    return CubeCell(plan.status, "", plan.promoted.numpy.name, casts)


@lru_cache(maxsize=len(CHIPS) + 8)
def _chip(name: str) -> ChipDtypes:
    """What a chip takes, asked of both operators with one dtype throughout."""
    same = [(dtype, TensorDesc(dtype, _SHAPE)) for dtype in CUBE_DTYPES]
    backward = tuple(d for d, t in same if plan_hardshrink_backward(t, t, 0.5, t, soc=name).ok)
    forward = tuple(d for d, t in same if plan_hardshrink(t, 0.5, t, soc=name).ok)
    return ChipDtypes(name, find_soc(name).family, backward, forward)
