"""How a result reaches the caller's output view: the decisions of l0op::ViewCopy.

Models cann/ops-math c4193324 conversion/contiguous/op_host/op_api/contiguous.cpp
:527-565,670-724 and conversion/view_copy/op_api/view_copy.cpp:130-177 (which
core the ViewCopy kernel runs on).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from labkit.language import Text
from labkit.op.contiguous import CopyStep
from labkit.op.describe import TensorDesc, contiguous_strides
from labkit.op.tables import Soc

__all__ = ["Delivery", "plan_delivery", "transpose_into", "view_copy_core"]

AI_CORE, AI_CPU = "AICORE", "AICPU"

_UB_A2 = 196608


@dataclass(frozen=True)
class Delivery:
    """What ViewCopy does: `redirect`, `memcpy`, `Transpose` or `ViewCopy`, and why."""

    kind: str
    why: str
    core: str = AI_CORE
    step: CopyStep | None = None


def plan_delivery(out: TensorDesc, soc: Soc) -> Delivery:
    """The road from a contiguous result to the output view `out`."""
    if out.is_contiguous:
        if not soc.copies_into_contiguous_output:
            why = Text("the output is contiguous: the last kernel writes it directly")
            return Delivery("redirect", why)
        if out.storage_size == out.size + out.offset:
            why = Text(
                "the output is contiguous and ends where its storage ends: "
                "the last kernel writes it directly"
            )
            return Delivery("redirect", why)
        why = Text(
            "on {soc} a contiguous output whose storage goes on behind it "
            "is filled by a device copy",
            soc=soc.short,
        )
        return Delivery("memcpy", why)
    step = transpose_into(out)
    if step is not None:
        why = Text("the output's axes are a permutation of row-major")
        return Delivery("Transpose", why, step=step)
    why = Text("the output has gaps or overlaps")
    return Delivery("ViewCopy", why, core=view_copy_core(out, soc))


def transpose_into(out: TensorDesc) -> CopyStep | None:
    """The Transpose that writes a full permutation, or None when ViewCopy must do it."""
    if 0 in out.strides:
        return None
    kept = [
        (stride, place, size)
        for place, (stride, size) in enumerate(
            (t, s) for t, s in zip(out.strides, out.shape) if s != 1
        )
    ]
    if not any(a[0] < b[0] for a, b in pairwise(kept)):
        return None
    order = sorted(kept, reverse=True)
    expected = 1
    for stride, _, size in reversed(order):
        if stride != expected:
            return None
        expected *= size
    source = tuple(size for _, _, size in kept)
    perm = tuple(place for _, place, _ in order)
    result = tuple(source[place] for place in perm)
    return CopyStep("Transpose", source, result, (perm,), at_offset=True)


def view_copy_core(out: TensorDesc, soc: Soc) -> str:
    """AI Core, or AI CPU where the stride pattern is none of those the kernel knows."""
    if soc.is_regbase:
        return AI_CORE
    itemsize = out.dtype.itemsize or 4
    shape, strides = out.shape, out.strides
    known = (
        _pairs_of_rows(shape, strides, itemsize)
        or _interleaved(shape, strides, itemsize)
        or _blocks(shape, strides)
        or _one_padded_axis(shape, strides)
    )
    return AI_CORE if known else AI_CPU


def _pairs_of_rows(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    if len(shape) != 3:
        return False
    block, plane = 32 // itemsize, shape[1] * shape[2]
    return (
        shape[1] == strides[2]
        and strides[1] == 1
        and shape[2] == 2
        and 2 * plane * itemsize < _UB_A2
        and (plane % block == 0 or strides[0] - plane >= block)
    )


def _interleaved(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    if len(shape) != 3:
        return False
    block = 32 // itemsize
    return (
        shape[0] == 1
        and strides[0] == 1
        and strides[1] == 1
        and (shape[1] % block == 0 or strides[2] - shape[1] >= block)
        and shape[1] * (shape[2] + 1) * itemsize < _UB_A2
    )


def _runs(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """(number of strided runs or -1, length of the innermost one): ReCalSize."""
    size = stride = 1
    runs = innermost = 0
    for axis in range(len(shape) - 1, -1, -1):
        if stride * size != strides[axis]:
            if runs == 0:
                innermost = size
            if strides[axis] < innermost:
                return -1, innermost
            runs += 1
            size, stride = shape[axis], strides[axis]
        else:
            size *= shape[axis]
    return runs + 1, innermost


def _blocks(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    runs, innermost = _runs(shape, strides)
    return runs in (3, 4) and innermost >= 32


def _one_padded_axis(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    if _runs(shape, strides)[0] < 0:
        return False
    dense = contiguous_strides(shape)
    differing = [axis for axis, (a, b) in enumerate(zip(strides, dense)) if a != b]
    if not differing:
        return False
    last = differing[-1]
    gap = strides[last] - dense[last]
    if gap == -1:
        return False
    for axis in range(last - 1, -1, -1):
        gap *= shape[axis + 1]
        if strides[axis] - dense[axis] != gap:
            return False
    return True
