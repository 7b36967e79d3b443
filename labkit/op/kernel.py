"""The kernel, instruction by instruction: real bytes through a core's UB.

`program.py` says what a core does; here it is done, in program order or in any
other order that the waits allow, and every legal order gives the same bits. A
wait that is missing is caught: an instruction that would read a piece of UB
before it was filled, or fill one that is still needed, raises `HazardError`.

Same arithmetic as the fast path by another road: numbers are compared as
numbers, in the dtype and with the λ that the kernel uses.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.errors import LabError, LabValueError, shown
from labkit.op.arrays import as_array
from labkit.op.asked import instance
from labkit.op.cast import round_cast
from labkit.op.dtypes import FLOAT, FLOAT16
from labkit.op.program import MTE2, MTE3, PIPES, Instruction, Slot, program
from labkit.op.scalar import as_scalar
from labkit.op.tiling import FORWARD, Tiling, TilingError

__all__ = ["HazardError", "KernelRun", "check_local_start", "run_kernel"]

Array = npt.NDArray[Any]
Order = Callable[[list[Instruction]], Instruction]

_POISON = 0xCD
_LOCAL_ALIGNMENT = 32


class HazardError(LabError, RuntimeError):
    """An instruction ran before what it needs: a wait between two pipes is missing."""


@dataclass(frozen=True)
class KernelRun:
    """The result of a run and its trace.

    `out` has the shape and dtype of the input; `trace` holds the executed
    instructions, core by core, in the order in which they ran.
    """

    out: Array
    tiling: Tiling
    trace: tuple[Instruction, ...]

    @property
    def lanes_computed(self) -> int:
        """Lanes of the comparisons, over all tiles of all cores."""
        return sum(step.lanes for step in self.trace if step.name.startswith("Compare"))

    @property
    def lanes_valid(self) -> int:
        """Those of them that belong to real elements."""
        return sum(step.valid for step in self.trace if step.name.startswith("Compare"))


def run_kernel(
    grad: npt.ArrayLike | None,
    self: npt.ArrayLike,
    lambd: Any,
    tiling: Tiling,
    *,
    order: str | int = "program",
    drop_waits: Callable[[Instruction, Instruction], bool] | None = None,
) -> KernelRun:
    """Run the kernel on arrays of `tiling.total_num` elements.

    `grad` and `self` have one shape and the tiling's dtype (`grad` is None
    for the forward kernel). `order`: "program"; "late" (the pipe furthest
    down the road first); "early" (the opposite); or a number, the seed of a
    random legal order. `drop_waits(earlier, later)` leaves waits out, to see
    them missed. Raises `HazardError`, `TilingError` (tile does not fit),
    `LabValueError` (arrays do not fit the tiling).
    """
    instance("tiling", tiling, Tiling, "what labkit.op.tile gives")
    _chooser(order, 0)
    x = np.ascontiguousarray(as_array("self", self))
    tensors = {"self": x}
    if tiling.op != FORWARD:
        if grad is None:
            raise LabValueError("the backward kernel needs a gradient")
        tensors["grad"] = np.ascontiguousarray(as_array("grad", grad))
    for name, array in tensors.items():
        if array.dtype != tiling.dtype.numpy or array.size != tiling.total_num:
            raise LabValueError(
                f"{name} is {array.dtype} with {array.size} elements; the tiling is for "
                f"{tiling.total_num} of {tiling.dtype.numpy}"
            )
    value = as_scalar(lambd).to_float()
    if tiling.op != FORWARD and value < 0:
        value = np.float32(0.0)
    tiling = replace(tiling, lambd=value)
    out = np.empty(x.shape, x.dtype)
    memory = {name: array.reshape(-1).view(np.uint8) for name, array in tensors.items()}
    memory["out"] = out.reshape(-1).view(np.uint8)
    trace: list[Instruction] = []
    for core in range(tiling.block_dim):
        steps = program(tiling, core)
        if drop_waits is not None:
            steps = _without(steps, drop_waits)
        unit = _Core(tiling, memory)
        for step in _ordered(steps, _chooser(order, core)):
            unit.execute(step)
            trace.append(step)
    return KernelRun(out, tiling, tuple(trace))


def _without(
    steps: tuple[Instruction, ...], drop: Callable[[Instruction, Instruction], bool]
) -> tuple[Instruction, ...]:
    return tuple(
        replace(step, waits=tuple(w for w in step.waits if not drop(steps[w], step)))
        for step in steps
    )


def _chooser(order: str | int, core: int) -> Order:
    if not isinstance(order, (str, int)):
        raise LabValueError(
            f"order must be 'program', 'early', 'late' or a seed, not {shown(order)}"
        )
    if order == "program":
        return lambda ready: min(ready, key=lambda step: step.place)
    if order == "late":
        return lambda ready: max(ready, key=lambda step: PIPES.index(step.pipe))
    if order == "early":
        return lambda ready: min(ready, key=lambda step: PIPES.index(step.pipe))
    if isinstance(order, int):
        return random.Random(order * 1009 + core).choice
    raise LabValueError(f"order must be 'program', 'early', 'late' or a seed, not {shown(order)}")


def _ordered(steps: tuple[Instruction, ...], choose: Order) -> Iterable[Instruction]:
    """The steps in an order that keeps each pipe in line and every wait."""
    waiting = {pipe: [step for step in steps if step.pipe == pipe][::-1] for pipe in PIPES}
    done: set[int] = set()
    for _ in steps:
        ready = [line[-1] for line in waiting.values() if line and done.issuperset(line[-1].waits)]
        step = choose(ready)
        waiting[step.pipe].pop()
        done.add(step.place)
        yield step


class _Core:
    """One core: its UB, and who may read or fill which piece of it."""

    def __init__(self, tiling: Tiling, memory: dict[str, Array]) -> None:
        self.tiling, self.memory = tiling, memory
        self.ub: dict[Slot, Array] = {
            Slot(buffer.name, piece): np.full(buffer.size, _POISON, np.uint8)
            for buffer in tiling.buffers
            for piece in range(buffer.count)
        }
        self.holds: dict[Slot, int] = {}
        self.needed: dict[Slot, int] = {}
        self.compared_with = self._lambd()

    def _lambd(self) -> Any:
        """λ in the dtype in which the kernel compares."""
        if self.tiling.op != FORWARD and self.tiling.dtype is FLOAT16:
            with np.errstate(over="ignore"):
                return np.float16(self.tiling.lambd)
        return self.tiling.lambd

    def execute(self, step: Instruction) -> None:
        """Run one instruction; raises `HazardError` when a wait was missing."""
        self._check(step)
        if step.pipe == MTE2:
            source = self.memory[step.gm][step.gm_offset : step.gm_offset + step.nbytes]
            self.ub[step.writes[0]][: step.nbytes] = source
        elif step.pipe == MTE3:
            target = self.memory[step.gm][step.gm_offset : step.gm_offset + step.nbytes]
            target[...] = self.ub[step.reads[0]][: step.nbytes]
        else:
            with np.errstate(all="ignore"):
                self._vector(step)

    def _check(self, step: Instruction) -> None:
        """Keep account of the queues' pieces: filled by whom, needed by whom."""
        for slot in step.reads:
            if slot.buffer.endswith("Queue") and self.holds.get(slot) != step.tile:
                held = f"tile {self.holds[slot]}" if slot in self.holds else "nothing yet"
                raise HazardError(
                    f"core {step.core}: {step.name} of tile {step.tile} reads {slot}, which holds "
                    f"{held}; a wait is missing"
                )
        for slot in step.writes:
            if self.needed.get(slot, step.tile) != step.tile:
                raise HazardError(
                    f"core {step.core}: {step.name} of tile {step.tile} overwrites {slot}, whose "
                    f"tile {self.needed[slot]} is still needed; a wait is missing"
                )
            if slot.buffer.endswith("Queue"):
                self.holds[slot] = self.needed[slot] = step.tile
        for slot in step.releases:
            self.needed.pop(slot, None)

    def _typed(self, slot: Slot, lanes: int) -> Array:
        """A piece of UB as numbers: queues have the tensor's dtype, the rest is float32."""
        dtype = self.tiling.dtype if slot.buffer.endswith("Queue") else FLOAT
        return self.ub[slot][: lanes * (dtype.itemsize or 0)].view(dtype.numpy)

    def _vector(self, step: Instruction) -> None:
        target, lanes = step.writes[0], step.lanes
        if step.name in ("Compares", "Compare"):
            values = self._typed(step.reads[0], lanes)
            limit = self.compared_with
            if step.name == "Compare":
                limit = self._typed(step.reads[1], lanes)
            packed = np.packbits(values <= limit, bitorder="little")
            self.ub[target][: packed.size] = packed
            return
        out = self._typed(target, lanes)
        if step.name == "Duplicate":
            out[...] = self.tiling.lambd if target.buffer == "lambdBuf" else 0
        elif step.name == "Abs":
            unsigned = np.dtype(f"u{out.itemsize}")
            bits = self._typed(step.reads[0], lanes).view(unsigned)
            out.view(unsigned)[...] = bits & unsigned.type(np.iinfo(unsigned).max >> 1)
        elif step.name == "Cast":
            round_cast(self._typed(step.reads[0], lanes), out)
        else:
            mask = np.unpackbits(self.ub[step.reads[0]], count=lanes, bitorder="little")
            zeros, values = (self._typed(slot, lanes) for slot in step.reads[1:])
            unsigned = np.dtype(f"u{out.itemsize}")
            out.view(unsigned)[...] = np.where(
                mask.astype(bool), zeros.view(unsigned), values.view(unsigned)
            )


def check_local_start(start: int, dtype: Any, what: str = "a vector instruction") -> None:
    """Refuse a UB start that is not aligned to 32 bytes; the GM side may be anywhere.

    `start` is in elements. Raises `TilingError` naming the operation, the
    offset and the alignment.
    """
    from labkit.op.dtypes import data_type

    offset = start * (data_type(dtype).itemsize or 0)
    if offset % _LOCAL_ALIGNMENT:
        raise TilingError(
            f"{what} at local offset {offset} bytes: UB operands start at multiples of "
            f"{_LOCAL_ALIGNMENT} bytes"
        )
