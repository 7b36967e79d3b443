"""What the tiling panel can be asked, and how a state becomes the data of its picture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from labkit.draw.lanes import MOST_DOUBLINGS, LanePoint, Mark, lane_share
from labkit.draw.pipeline import opening
from labkit.draw.tiling_view import TilingView
from labkit.errors import LabValueError
from labkit.explore.typed import chosen, read_count, read_dtype
from labkit.language import gettext as _
from labkit.op import Soc, Tiling, find_soc, tile
from labkit.op.cuts import by_share
from labkit.op.schedule import schedule

__all__ = ["CHIPS", "DTYPES", "MOST", "OPS", "TilingState", "changed", "look"]

DTYPES = ("float32", "float16", "bfloat16")
OPS = ("hardshrink_grad", "hardshrink")
CHIPS = (
    *("Ascend950PR_9599", "Ascend950DT_9581", "Ascend950DT_9571", "Ascend350_355e"),
    *("Ascend950PR_950z", "Ascend910B1", "Ascend910B3", "Ascend910_9391", "Ascend910A"),
    *("Ascend310P3", "Ascend310B1"),
)
"""Chips for the menu, by their cores and UB; any other of the table may be set by name."""

MOST = 2**MOST_DOUBLINGS
_WALKED = 64
"""A core with more tiles than this is not walked to its end."""


@dataclass(frozen=True)
class TilingState:
    """What the panel was asked to show: `total` elements, and the core looked at."""

    total: int = 4096
    dtype: str = "float32"
    soc: str = CHIPS[0]
    op: str = "hardshrink_grad"
    core: int = 0


def changed(state: TilingState, changes: dict[str, Any]) -> TilingState:
    """The state with what was typed or chosen; raises `LabValueError` where it cannot be.

    A chip with fewer cores takes the core looked at along to its last one.
    """
    wanted = dict(changes)
    if "total" in wanted:
        wanted["total"] = read_count("total", wanted["total"], "4096, 2^20 or 1e6")
        if wanted["total"] > MOST:
            told = _("total is more than the picture holds; right would be 0 to 2^{most}")
            raise LabValueError(told.format(most=MOST_DOUBLINGS))
    if "dtype" in wanted:
        wanted["dtype"] = read_dtype("dtype", wanted["dtype"], DTYPES)
    if "op" in wanted:
        wanted["op"] = chosen("op", wanted["op"], OPS)
    if "soc" in wanted:
        soc = find_soc(wanted["soc"])
        if not soc.tiling_cores:
            raise LabValueError(_("{soc} has no vector core to cut for").format(soc=soc.name))
        wanted["soc"] = soc.name
    cores = find_soc(wanted.get("soc", state.soc)).tiling_cores
    if "core" in wanted:
        wanted["core"] = read_count("core", wanted["core"])
        if wanted["core"] >= cores:
            told = _("core is {core}; this chip has the cores 0 to {last}")
            raise LabValueError(told.format(core=wanted["core"], last=cores - 1))
    new = replace(state, **wanted)
    return replace(new, core=min(new.core, cores - 1))


def look(state: TilingState) -> TilingView:
    """The data of the picture of a state; depends on nothing else."""
    soc = find_soc(state.soc)
    cut = tile(state.total, state.dtype, op=state.op, soc=soc)
    shared = by_share(cut)
    public, by_core = _curves(state.op, state.dtype, soc)
    name = "public cut" if cut.public else "the 950's rule"
    here = ((name, lane_share(cut)), ("cut by share", lane_share(shared)))
    return TilingView(
        soc.name,
        cut,
        shared,
        state.core,
        schedule(opening(cut, state.core), state.core),
        _cycles(cut, shared, state.core),
        {name: public, "cut by share": by_core},
        Mark(state.total, here if state.total else ()),
    )


def _cycles(cut: Tiling, shared: Tiling, core: int) -> tuple[int, int] | None:
    length = cut.core_length(core)
    if not length or length > _WALKED * min(cut.ub_factor, shared.ub_factor):
        return None
    only = [replace(each, total_num=each.block_factor * core + length) for each in (cut, shared)]
    return schedule(only[0], core).cycles, schedule(only[1], core).cycles


_PER_DOUBLING = 14


@lru_cache(maxsize=64)
def _curves(op: str, dtype: str, soc: Soc) -> tuple[tuple[LanePoint, ...], tuple[LanePoint, ...]]:
    """Lane shares of both cuts at totals from 1 to `MOST`, evenly over the logarithm."""
    steps = range(_PER_DOUBLING * MOST_DOUBLINGS + 1)
    totals = sorted({round(2 ** (step / _PER_DOUBLING)) for step in steps})
    cuts = [tile(total, dtype, op=op, soc=soc) for total in totals]
    public = tuple(LanePoint(cut.total_num, lane_share(cut)) for cut in cuts)
    return public, tuple(LanePoint(cut.total_num, lane_share(by_share(cut))) for cut in cuts)
