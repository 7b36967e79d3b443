"""Tiling: how the work is cut over cores and over tiles in the unified buffer (UB).

Models cann/ops-nn e5c3fa93
activation/hard_shrink_grad/op_host/arch35/hard_shrink_grad_tiling.cpp and
activation/hard_shrink/op_host/arch35/hard_shrink_tiling_arch35.cpp. Integer
arithmetic only, so any size is cut in no time. These kernels exist in the open
for the 950 (arch35); for other chips the same rule is applied to their cores
and UB, as an assumption.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labkit.errors import LabValueError
from labkit.op.asked import count, word
from labkit.op.dtypes import BF16, FLOAT, FLOAT16, DataType, data_type
from labkit.op.scalar import as_scalar
from labkit.op.tables import Soc, find_soc

__all__ = ["Buffer", "Tiling", "TilingError", "tile"]

GRAD, FORWARD = "hardshrink_grad", "hardshrink"

_DOUBLE_FROM = 1024
_RESERVED = 16384
"""Bytes that the backward tiling keeps back: 8 KiB system, 8 KiB for Select."""

_FORWARD_RESERVED = 1024
_FORWARD_UB_LIMIT = 512 * 1024 * 1024
_ALIGN_ELEMENTS = {FLOAT: 64, FLOAT16: 128, BF16: 64}


class TilingError(LabValueError):
    """The tiling function fails: phase 1 or the launch ends with 561103."""


@dataclass(frozen=True)
class Buffer:
    """One buffer of a core's UB: name, bytes of one piece, number of pieces."""

    name: str
    size: int
    count: int = 1

    @property
    def total(self) -> int:
        """Bytes of all pieces."""
        return self.size * self.count


@dataclass(frozen=True)
class Tiling:
    """What the tiling function hands to the kernel, and where it comes from.

    `total_num` elements are cut into `block_dim` cores of `block_factor`
    elements (the last may have fewer), each of which works in tiles of
    `ub_factor` elements. `lambd` is λ as the kernel compares (clamped again
    in the backward tiling). `tiling_key` chooses the kernel's variant.
    """

    op: str
    dtype: DataType
    cores: int
    ub_bytes: int
    total_num: int
    block_factor: int
    ub_factor: int
    lambd: np.float32
    block_dim: int
    tiling_key: int
    double_buffer: bool
    public: bool = True

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers that the kernel allocates in UB for this tile."""
        return _buffers(self.op, self.dtype, self.ub_factor, self.double_buffer)

    @property
    def ub_used(self) -> int:
        """Bytes of UB that the buffers take."""
        return sum(buffer.total for buffer in self.buffers)

    @property
    def reserved(self) -> int:
        """Bytes of UB that the tiling function leaves out when it cuts."""
        return _RESERVED if self.op == GRAD else _FORWARD_RESERVED

    @property
    def fits(self) -> bool:
        """Whether the tile is a real one and its buffers fit in UB."""
        return self.total_num == 0 or (self.ub_factor > 0 and self.ub_used <= self.ub_bytes)

    def core_length(self, core: int) -> int:
        """Elements that a core has to do (0 for a core that is not used)."""
        return max(0, min(self.block_factor, self.total_num - self.block_factor * core))

    def tiles_of(self, core: int) -> list[tuple[int, int]]:
        """(first element, valid elements) of each tile of a core."""
        start, length = self.block_factor * core, self.core_length(core)
        return [
            (start + done, min(self.ub_factor, length - done))
            for done in range(0, length, self.ub_factor)
        ]

    def with_tile(self, ub_factor: int, *, block_factor: int | None = None) -> Tiling:
        """The same work with another tile, for designing a better cut.

        Raises `TilingError` with the numbers when it does not fit in UB.
        """
        block = self.block_factor if block_factor is None else block_factor
        if block <= 0 or ub_factor <= 0:
            raise TilingError(f"a tile of {ub_factor} and a share of {block} cut nothing")
        changed = replace(
            self,
            ub_factor=ub_factor,
            block_factor=block,
            block_dim=-(-self.total_num // block),
        )
        if changed.block_dim > self.cores:
            raise TilingError(f"{changed.block_dim} shares, but the chip has {self.cores} cores")
        changed.require_fit()
        return changed

    def require_fit(self) -> None:
        """Raise `TilingError` with every buffer's bytes when the tile does not fit."""
        if self.fits:
            return
        listed = " + ".join(f"{b.name} {b.count} x {b.size}" for b in self.buffers)
        raise TilingError(
            f"a tile of {self.ub_factor} {self.dtype.short} elements needs {self.ub_used} bytes "
            f"({listed}); this core has {self.ub_bytes}"
        )


_ANY = 2**63
"""No cores and no UB, and fewer, are for the tiling itself to refuse."""


def tile(
    total: int,
    dtype: Any,
    *,
    op: str = GRAD,
    soc: str | Soc | None = None,
    cores: int | None = None,
    ub_bytes: int | None = None,
    lambd: Any = 0.5,
) -> Tiling:
    """Cut `total` elements of a dtype for a chip.

    `soc` (default Ascend950PR_9599) gives vector cores and UB bytes as the
    tiling is told them; `cores` and `ub_bytes` override them. `op` is
    "hardshrink_grad" or "hardshrink" (the forward operator). Raises
    `TilingError` where the real tiling fails: no cores, no UB, a dtype other
    than float32, float16, bfloat16, and for the forward operator a UB that is
    too small. The backward tiling lets a small UB through with a tile of 0 or
    less; `Tiling.fits` tells.

    >>> t = tile(4096, "float32")
    >>> t.block_dim, t.block_factor, t.ub_factor, t.tiling_key
    (72, 57, 4096, 256)
    """
    word("op", op, (GRAD, FORWARD))
    chip = soc if isinstance(soc, Soc) else find_soc(soc)
    core_count = count("cores", chip.tiling_cores if cores is None else cores, least=-_ANY)
    ub = count("ub_bytes", chip.tiling_ub_bytes if ub_bytes is None else ub_bytes, least=-_ANY)
    total = count("total", total, "a number of elements")
    if core_count <= 0:
        raise TilingError("the tiling is told of no vector core")
    if ub <= 0:
        raise TilingError("the tiling is told of no UB")
    kind = data_type(dtype)
    if kind not in _ALIGN_ELEMENTS:
        raise TilingError(f"the tiling takes FLOAT, FLOAT16 and BF16, not {kind.short}")
    value = as_scalar(lambd).to_float()
    made = (_cut_backward if op == GRAD else _cut_forward)(total, kind, core_count, ub, value)
    return replace(made, public=chip.is_regbase)


def _quotient(value: int, divisor: int) -> int:
    """Division that truncates towards zero, as C++ does."""
    return abs(value) // divisor * (1 if value >= 0 else -1)


def _cut_backward(total: int, dtype: DataType, cores: int, ub: int, lambd: np.float32) -> Tiling:
    double = total > _DOUBLE_FROM
    pieces = 2 if double else 1
    align = _ALIGN_ELEMENTS[dtype]
    per_element = 3 * pieces * (dtype.itemsize or 0) + (8 if dtype is BF16 else 0)
    cap = _quotient(_quotient(ub - _RESERVED, per_element), align) * align
    block = -(-total // cores)
    return Tiling(
        GRAD,
        dtype,
        cores,
        ub,
        total,
        block,
        -(-total // align) * align if total < cap else cap,
        np.float32(0.0) if lambd < 0 else lambd,
        -(-total // block) if block else 0,
        dtype.value | (int(double) << 8),
        double,
    )


def _cut_forward(total: int, dtype: DataType, cores: int, ub: int, lambd: np.float32) -> Tiling:
    if total == 0:
        return Tiling(FORWARD, dtype, cores, ub, 0, 0, 0, np.float32(0.0), 1, 0, False)
    double = total > _DOUBLE_FROM
    pieces = 2 if double else 1
    per_element = 8 * pieces + 12 if dtype is FLOAT else 4 * pieces + 16
    # One more bit per element for the comparison mask.
    ub_factor = _quotient(8 * (ub - _FORWARD_RESERVED), 8 * per_element + 1) // 64 * 64
    if ub > _FORWARD_UB_LIMIT or ub_factor <= 0:
        raise TilingError(
            f"the forward tiling finds no tile for {ub} bytes of UB "
            f"({per_element} bytes and a mask bit per element)"
        )
    block = -(-total // cores)
    return Tiling(
        FORWARD,
        dtype,
        cores,
        ub,
        total,
        block,
        ub_factor,
        lambd,
        -(-total // block),
        int(double),
        double,
    )


def _mask_bytes(elements: int) -> int:
    """One bit per element, in whole blocks of 32 bytes."""
    return max(32, (elements + 255) // 256 * 32)


def _buffers(op: str, dtype: DataType, elements: int, double: bool) -> tuple[Buffer, ...]:
    if elements <= 0:
        return ()
    pieces = 2 if double else 1
    item = dtype.itemsize or 0
    mask = Buffer("mask", _mask_bytes(elements))
    if op == GRAD:
        queues = tuple(
            Buffer(name, elements * item, pieces) for name in ("gradQueue", "selfQueue", "outQueue")
        )
        wide = tuple(Buffer(name, elements * 4) for name in ("gradFloat", "selfFloat"))
        return (*queues, mask, *(wide if dtype is BF16 else ()))
    queues = tuple(Buffer(name, elements * item, pieces) for name in ("inQueue", "outQueue"))
    wide = tuple(Buffer(name, elements * 4) for name in ("lambdBuf", "zeroBuf", "tempBuf"))
    extra = () if dtype is FLOAT else (Buffer("floatBuf", elements * 4),)
    return (*queues, *wide, *extra, mask)
