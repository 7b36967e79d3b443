"""What one core does: the kernel as a list of instructions on three pipes.

Models cann/ops-nn e5c3fa93
activation/hard_shrink_grad/op_kernel/arch35/hard_shrink_grad.h and
activation/hard_shrink/op_kernel/arch35/hard_shrink.h. MTE2 copies from global
memory (GM) into UB, V computes, MTE3 copies back. Each pipe works in order; the
queues of the kernel make one pipe wait for another, and those waits are
written out here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from labkit.op.dtypes import BF16, FLOAT, DataType
from labkit.op.tiling import FORWARD, Tiling

__all__ = ["MTE2", "MTE3", "PIPES", "Instruction", "Slot", "V", "program"]

MTE2, V, MTE3 = "MTE2", "V", "MTE3"
PIPES = (MTE2, V, MTE3)

_BLOCK_LENGTH_LIMIT = 1 << 16
"""DataCopyPad takes its length in bytes as 16 bits."""


@dataclass(frozen=True)
class Slot:
    """One piece of a buffer in UB: a queue has one or two of them (ping and pong)."""

    buffer: str
    piece: int = 0

    def __str__(self) -> str:
        return f"{self.buffer}[{self.piece}]"


@dataclass(frozen=True)
class Instruction:
    """One instruction of a core's program.

    `valid` elements of the tile are real; a vector instruction computes
    `lanes` of them, the rest on whatever lies in UB. A copy moves `nbytes`
    bytes at `gm_offset` (bytes) of the GM tensor `gm`; `asked` is the length
    before it was cut to 16 bits. `waits` are places in the program whose end
    it needs; `releases` are the pieces that nobody needs after it.
    """

    place: int
    core: int
    tile: int
    pipe: str
    name: str
    reads: tuple[Slot, ...]
    writes: tuple[Slot, ...]
    valid: int
    lanes: int
    dtype: DataType
    gm: str = ""
    gm_offset: int = 0
    nbytes: int = 0
    asked: int = 0
    waits: tuple[int, ...] = ()
    releases: tuple[Slot, ...] = ()

    @property
    def aligned(self) -> bool:
        """Whether a copy's GM offset is a multiple of 32 bytes (it need not be)."""
        return self.gm_offset % 32 == 0

    @property
    def wrapped(self) -> bool:
        """Whether the length did not fit 16 bits, so that too little is copied."""
        return self.asked != self.nbytes


class _Writer:
    """Appends instructions and keeps the waits of the queues."""

    def __init__(self, tiling: Tiling, core: int) -> None:
        self.tiling, self.core = tiling, core
        self.depth = 2 if tiling.double_buffer else 1
        self.done: list[Instruction] = []
        self.last_use: dict[Slot, int] = {}
        self.filled: dict[Slot, int] = {}
        self.tile = 0
        self.start = 0
        self.valid = 0
        self.lanes = 0

    def slot(self, buffer: str) -> Slot:
        """The piece of a queue that this tile uses."""
        return Slot(buffer, self.tile % self.depth)

    def copy_in(self, gm: str, queue: str) -> None:
        """GM to UB: waits until the piece was used up by an earlier tile."""
        slot = self.slot(queue)
        waits = (self.last_use[slot],) if slot in self.last_use else ()
        self._copy(MTE2, "DataCopyPad in", gm, (), (slot,), waits)
        self.filled[slot] = len(self.done) - 1

    def copy_out(self, gm: str, queue: str) -> None:
        """UB to GM: the valid elements only; waits for the computation."""
        slot = self.slot(queue)
        self._copy(MTE3, "DataCopyPad out", gm, (slot,), (), (self.filled[slot],))
        self.last_use[slot] = len(self.done) - 1

    def _copy(
        self,
        pipe: str,
        name: str,
        gm: str,
        reads: tuple[Slot, ...],
        writes: tuple[Slot, ...],
        waits: tuple[int, ...],
    ) -> None:
        item = self.tiling.dtype.itemsize or 0
        asked = self.valid * item
        self.done.append(
            Instruction(
                place=len(self.done),
                core=self.core,
                tile=self.tile,
                pipe=pipe,
                name=name,
                reads=reads,
                writes=writes,
                valid=self.valid,
                lanes=self.valid,
                dtype=self.tiling.dtype,
                gm=gm,
                gm_offset=self.start * item,
                nbytes=asked % _BLOCK_LENGTH_LIMIT,
                asked=asked,
                waits=waits,
                releases=reads,
            )
        )

    def vector(
        self,
        name: str,
        writes: Slot,
        *reads: Slot,
        dtype: DataType = FLOAT,
        lanes: int | None = None,
        waits: tuple[int, ...] = (),
    ) -> None:
        """A vector instruction over `lanes` lanes (the tile's own, unless given)."""
        self.done.append(
            Instruction(
                place=len(self.done),
                core=self.core,
                tile=self.tile,
                pipe=V,
                name=name,
                reads=reads,
                writes=(writes,),
                valid=self.valid,
                lanes=self.lanes if lanes is None else lanes,
                dtype=dtype,
                waits=waits,
            )
        )

    def computed(self, inputs: tuple[Slot, ...], out: Slot) -> None:
        """The computation of this tile is over: inputs are free, the output is full."""
        place = len(self.done) - 1
        self.done[place] = replace(self.done[place], releases=inputs)
        for slot in inputs:
            self.last_use[slot] = place
        self.filled[out] = place

    def ready(self, inputs: tuple[Slot, ...], out: Slot) -> tuple[int, ...]:
        """What the first vector instruction waits for: inputs copied in, output copied out."""
        waits = [self.filled[slot] for slot in inputs]
        if out in self.last_use:
            waits.append(self.last_use[out])
        return tuple(waits)


def program(tiling: Tiling, core: int) -> tuple[Instruction, ...]:
    """The instructions of one core, in program order; none for a core without work.

    Raises `TilingError` when the tile does not fit in UB.
    """
    tiling.require_fit()
    if tiling.core_length(core) <= 0:
        return ()
    writer = _Writer(tiling, core)
    if tiling.op == FORWARD:
        _forward_setup(writer)
    for tile, (start, valid) in enumerate(tiling.tiles_of(core)):
        writer.tile, writer.start, writer.valid = tile, start, valid
        (_forward_tile if tiling.op == FORWARD else _backward_tile)(writer)
    return tuple(writer.done)


def _backward_tile(writer: _Writer) -> None:
    """Every vector instruction runs over the whole tile, however little of it is valid."""
    tiling = writer.tiling
    writer.lanes = tiling.ub_factor
    grad, x = writer.slot("gradQueue"), writer.slot("selfQueue")
    out, mask = writer.slot("outQueue"), Slot("mask")
    writer.copy_in("grad", "gradQueue")
    writer.copy_in("self", "selfQueue")
    waits = writer.ready((grad, x), out)
    dtype = tiling.dtype
    if dtype is BF16:
        wide_grad, wide_x = Slot("gradFloat"), Slot("selfFloat")
        writer.vector("Cast", wide_x, x, waits=waits)
        writer.vector("Cast", wide_grad, grad)
        writer.vector("Abs", wide_x, wide_x)
        writer.vector("Compares", mask, wide_x)
        writer.vector("Duplicate", wide_x)
        writer.vector("Select", wide_grad, mask, wide_x, wide_grad)
        writer.vector("Cast", out, wide_grad, dtype=dtype)
    else:
        writer.vector("Abs", x, x, dtype=dtype, waits=waits)
        writer.vector("Compares", mask, x, dtype=dtype)
        writer.vector("Duplicate", x, dtype=dtype)
        writer.vector("Select", out, mask, x, grad, dtype=dtype)
    writer.computed((grad, x), out)
    writer.copy_out("out", "outQueue")


def _forward_setup(writer: _Writer) -> None:
    """The constants: λ and 0 over the whole tile, once per core, however short its share."""
    lanes = writer.tiling.ub_factor
    writer.vector("Duplicate", Slot("lambdBuf"), lanes=lanes)
    writer.vector("Duplicate", Slot("zeroBuf"), lanes=lanes)


def _forward_tile(writer: _Writer) -> None:
    tiling, valid = writer.tiling, writer.valid
    rounded = min(-(-valid // 64) * 64, tiling.ub_factor)
    x, out = writer.slot("inQueue"), writer.slot("outQueue")
    mask, temp = Slot("mask"), Slot("tempBuf")
    lambd, zero = Slot("lambdBuf"), Slot("zeroBuf")
    writer.copy_in("self", "inQueue")
    waits = writer.ready((x,), out)
    if tiling.dtype is FLOAT:
        writer.vector("Abs", temp, x, lanes=valid, waits=waits)
        writer.vector("Compare", mask, temp, lambd, lanes=rounded)
        writer.vector("Select", out, mask, zero, x, lanes=rounded)
    else:
        wide = Slot("floatBuf")
        writer.vector("Cast", wide, x, lanes=valid, waits=waits)
        writer.vector("Abs", temp, wide, lanes=valid)
        writer.vector("Compare", mask, temp, lambd, lanes=rounded)
        writer.vector("Select", temp, mask, zero, wide, lanes=rounded)
        writer.vector("Cast", out, temp, dtype=tiling.dtype, lanes=valid)
    writer.computed((x,), out)
    writer.copy_out("out", "outQueue")
