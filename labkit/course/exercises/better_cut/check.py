"""Build a better cut: legal, the same bits, far fewer lanes in the middle, no loss beyond."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from labkit.course.judge import Verdict, bits, not_yet, passed, told
from labkit.course.tilings import Work
from labkit.draw.cores import all_lanes
from labkit.draw.sheet import dtype_text
from labkit.errors import LabError
from labkit.host.device import Device
from labkit.language import gettext as _
from labkit.op import Tiling, find_soc, run_kernel
from labkit.op.cuts import lane_step
from labkit.op.schedule import CostModel, schedule

NOTEBOOK = 7
KIND = "build"

FACTOR = 5
"""How many times fewer lanes a cut must compute in the middle."""

_CHIPS = ("Ascend950PR_9599", "Ascend950DT_9571")
_DTYPES = ("float32", "float16", "bfloat16")
_MIDDLE, _LARGE = (1025, 8192, 65_536), (1 << 20, 1 << 24)
_SMALL = tuple(Work(5000, dtype, 2, 30_720) for dtype in _DTYPES)
"""Several tiles on each of two cores with little UB: for the bits only, not for the figures."""

_RUN = 5000
"""The kernel is run, instruction by instruction, on work up to this size."""

_COPY_LIMIT = 1 << 16
"""DataCopyPad takes its length in bytes as 16 bits."""
_LAMBD = 0.5


@dataclass(frozen=True)
class Tried:
    """The public cut of some work, the learner's, and the model's cycles of both."""

    work: Work
    public: Tiling
    mine: Tiling
    cycles: tuple[int, int]

    @property
    def lanes(self) -> tuple[int, int]:
        """Lanes of both, over all cores."""
        return all_lanes(self.public).computed or 0, all_lanes(self.mine).computed or 0

    def words(self) -> str:
        """Both figures of both cuts."""
        return _(
            "{total} {dtype}, {cores} cores: lanes {public} → {mine}, "
            "cycles (model) {public_cycles} → {my_cycles}"
        ).format(
            total=self.work.total,
            dtype=dtype_text(self.public.dtype),
            cores=self.work.cores,
            public=self.lanes[0],
            mine=self.lanes[1],
            public_cycles=self.cycles[0],
            my_cycles=self.cycles[1],
        )


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a function of total, dtype, cores and ub_bytes that gives a tile, or (tile, share)."""
    shown: list[str] = []
    for work in _all_work():
        try:
            tile, share = _read(answer(*work.arguments()))
        except Exception as error:
            return told(error)
        public = work.public
        fault = _fault(public, tile, share)
        if fault:
            return not_yet(work.words(), fault)
        mine = public.with_tile(tile, block_factor=share)
        if work.total <= _RUN and not _same_bits(public, mine):
            return not_yet(work.words(), _("the kernel gives other bits with this cut"))
        if work in _SMALL:
            continue
        cycles = _slowest(public)
        if _least(mine) > cycles:
            return not_yet(
                work.words(),
                _("a tile of {tile} makes {n} tiles of a core's share: too many copies").format(
                    tile=tile, n=-(-mine.block_factor // tile)
                ),
                _("that is at least {least} cycles (model); the public cut takes {public}").format(
                    least=_least(mine), public=cycles
                ),
            )
        tried = Tried(work, public, mine, (cycles, _slowest(mine)))
        short = _short(tried)
        if short:
            return not_yet(tried.words(), short)
        if work.dtype == "float32" and work.cores == find_soc(_CHIPS[0]).tiling_cores:
            shown.append(tried.words())
    return passed(_("better, and the same bits"), *shown)


def _all_work() -> Iterator[Work]:
    for total in (*_MIDDLE, *_LARGE):
        for dtype in _DTYPES:
            for name in _CHIPS:
                chip = find_soc(name)
                yield Work(total, dtype, chip.tiling_cores, chip.tiling_ub_bytes)
    yield from _SMALL


def _read(cut: Any) -> tuple[int, int | None]:
    """A tile, or a tile and a share, as integers."""
    if isinstance(cut, (tuple, list)):
        tile, share = cut
        return operator.index(tile), operator.index(share)
    return operator.index(cut), None


def _fault(public: Tiling, tile: int, share: int | None) -> str:
    """Why the kernel could not run with this cut; empty when it can."""
    step = lane_step(public)
    if tile <= 0 or tile % step:
        return _("a tile of {tile} is no multiple of the {step} lanes of an instruction").format(
            tile=tile, step=step
        )
    if tile * (public.dtype.itemsize or 0) >= _COPY_LIMIT:
        return _("a tile of {tile} is too long for one copy, which counts bytes in 16 bits").format(
            tile=tile
        )
    try:
        public.with_tile(tile, block_factor=share)
    except LabError as error:
        return str(error)
    return ""


def _short(tried: Tried) -> str:
    """What the cut does not reach; empty when it does."""
    public, mine = tried.lanes
    if tried.work.total in _MIDDLE and FACTOR * mine > public:
        return _("in the middle it must compute {factor} times fewer lanes").format(factor=FACTOR)
    if mine > public:
        return _("it computes more lanes than the public cut")
    if tried.cycles[1] > tried.cycles[0]:
        return _("its slowest core takes longer than the public cut's, by the model")
    return ""


def _slowest(cut: Tiling) -> int:
    """Model cycles of the first core, which has the largest share."""
    return schedule(cut).cycles


def _least(cut: Tiling) -> int:
    """Model cycles that the first core's copies take at the least, without walking its tiles."""
    return 2 * CostModel().start_copy * -(-cut.core_length(0) // cut.ub_factor)


def _same_bits(public: Tiling, mine: Tiling) -> bool:
    """Whether the kernel gives the same with both cuts, on bit patterns of all kinds."""
    made = np.random.default_rng(mine.total_num)
    size = mine.total_num * (mine.dtype.itemsize or 0)
    grad, x = (made.integers(0, 256, size, np.uint8).view(mine.dtype.numpy) for _number in range(2))
    one, other = (bits(run_kernel(grad, x, _LAMBD, cut).out) for cut in (public, mine))
    return bool(np.array_equal(one, other))
