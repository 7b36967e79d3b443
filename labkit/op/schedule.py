"""When the instructions of a core run: a schedule from a stated cost model.

Every time in here is a **model**, in cycles, never a measurement. The order is
the hardware's: each pipe works in line, and an instruction starts when its pipe
is free and its waits are over. What the pipes cost is `CostModel`; change it
and look what changes.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.op.program import MTE2, PIPES, Instruction, V, program
from labkit.op.tiling import Tiling

__all__ = ["CostModel", "Schedule", "Span", "schedule"]


@dataclass(frozen=True)
class CostModel:
    """Cycles per instruction: `start` once, then bytes or lanes at a rate.

    The defaults are round numbers of the right order for a vector core that
    shares its memory with many others; no public source gives them. Rates are
    bytes per cycle (copies in and out) and bytes of operand width per cycle
    (vector).
    """

    start_copy: int = 400
    start_vector: int = 20
    copy_in_rate: int = 24
    copy_out_rate: int = 24
    vector_rate: int = 256

    def cycles(self, step: Instruction) -> int:
        """Model cycles of one instruction."""
        if step.pipe == V:
            width = step.lanes * (step.dtype.itemsize or 0)
            return self.start_vector + -(-width // self.vector_rate)
        rate = self.copy_in_rate if step.pipe == MTE2 else self.copy_out_rate
        return self.start_copy + -(-step.nbytes // rate)


@dataclass(frozen=True)
class Span:
    """An instruction with its first cycle and the cycle after its last (model)."""

    step: Instruction
    start: int
    end: int


@dataclass(frozen=True)
class Schedule:
    """One core's spans, in program order; all cycles are the model's."""

    spans: tuple[Span, ...]
    model: CostModel

    @property
    def cycles(self) -> int:
        """Model cycles from the first start to the last end."""
        return max((span.end for span in self.spans), default=0)

    def busy(self, pipe: str) -> int:
        """Model cycles in which a pipe works."""
        return sum(span.end - span.start for span in self.spans if span.step.pipe == pipe)


def schedule(tiling: Tiling, core: int = 0, model: CostModel | None = None) -> Schedule:
    """The schedule of one core under a cost model.

    >>> from labkit.op import tile
    >>> plan = schedule(tile(1048576, "float32"))
    >>> plan.cycles > 0
    True
    """
    costs = model or CostModel()
    free = dict.fromkeys(PIPES, 0)
    spans: list[Span] = []
    for step in program(tiling, core):
        start = max([free[step.pipe], *(spans[place].end for place in step.waits)])
        end = start + costs.cycles(step)
        free[step.pipe] = end
        spans.append(Span(step, start, end))
    return Schedule(tuple(spans), costs)
