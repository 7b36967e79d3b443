"""What the picture of a tiling shows, as data, and the words that stand in it."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.draw.cores import Share, all_lanes, lanes_of, shares
from labkit.draw.lanes import Curves, Mark
from labkit.draw.sheet import chip_words, grouped, tiling_words
from labkit.op.schedule import Schedule
from labkit.op.tiling import FORWARD, Tiling

__all__ = ["TilingView"]


@dataclass(frozen=True)
class TilingView:
    """A tiling, its counterpart that is cut by the core's share, and the core looked at.

    `timed` is the schedule of that core's first tiles (`opening`); `cycles`
    are the model's cycles of the whole core for both cuts, None where a core
    has too many tiles to walk; `curves` and `mark` are the lane shares over
    the total; the names of the curves are those of the two cuts.
    """

    chip: str
    tiling: Tiling
    shared: Tiling
    core: int
    timed: Schedule
    cycles: tuple[int, int] | None
    curves: Curves
    mark: Mark

    @property
    def run(self) -> Share:
        """The run of cores with equal work to which the core belongs."""
        return next(
            run for run in shares(self.tiling) if run.first <= self.core < run.first + run.count
        )

    @property
    def start(self) -> int:
        """The core's first element."""
        return self.tiling.block_factor * self.core

    @property
    def offset(self) -> int:
        """Where the core's share starts in global memory, in bytes from the tensor's start."""
        return self.start * (self.tiling.dtype.itemsize or 0)

    @property
    def aligned(self) -> bool:
        """Whether that is a multiple of 32 bytes."""
        return self.offset % 32 == 0

    @property
    def constants(self) -> int:
        """Lanes of constants that each core fills before its first tile: λ and 0, forward only."""
        return 2 * self.tiling.ub_factor if self.tiling.op == FORWARD else 0

    @property
    def tiles(self) -> int:
        """Tiles of the core looked at."""
        return lanes_of(self.tiling, self.core).tiles

    def state_lines(self) -> tuple[str, str]:
        """The two grey lines under the title."""
        return tiling_words(self.tiling), f"{self.chip}: {chip_words(self.tiling)}"

    def cores_words(self) -> str:
        """Block dim and block factor."""
        return (
            f"block dim {grouped(self.tiling.block_dim)}, "
            f"block factor {grouped(self.tiling.block_factor)}"
        )

    @property
    def cuts(self) -> tuple[tuple[str, Tiling], tuple[str, Tiling]]:
        """Both cuts by name."""
        return tuple(zip(self.curves, (self.tiling, self.shared)))  # type: ignore[return-value]

    def place_words(self) -> str:
        """Where the core's share lies."""
        if not self.tiling.core_length(self.core):
            return f"core {self.core}: no work"
        told = f"core {self.core} starts at byte {grouped(self.offset)}"
        if self.aligned:
            return f"{told}, a multiple of 32"
        return f"{told}, {self.offset % 32} past a multiple of 32"

    def lanes_words(self) -> tuple[str, ...]:
        """What all cores compute, and what the forward kernel fills before."""
        if not self.tiling.total_num:
            return ("no element, no lane",)
        public = all_lanes(self.tiling)
        elements = "element" if public.valid == 1 else "elements"
        told = f"all cores: {grouped(public.computed or 0)} lanes for {grouped(public.valid)} "
        told += elements
        if not self.constants:
            return (told,)
        return told, f"and before that, {grouped(self.constants)} lanes of constants on each core"

    def cycles_words(self) -> tuple[str, ...]:
        """Model cycles of the whole core, and how much of it is not drawn."""
        if not self.tiles:
            return (f"none: core {self.core} has no element",)
        told = []
        if self.cycles is not None:
            public, shared = self.cycles
            told = [f"whole core {grouped(public)}, cut by share {grouped(shared)}"]
        more = self.tiles - 1 - max(span.step.tile for span in self.timed.spans)
        if more:
            told.append(f"{grouped(more)} more tile{'' if more == 1 else 's'} not drawn")
        return tuple(told)
