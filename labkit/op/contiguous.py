"""Which kernels make a strided view contiguous: the pattern analysis of l0op::Contiguous.

Models cann/ops-math c4193324 conversion/contiguous/op_host/op_api/contiguous.cpp
(:39-49 the fixed list, :255-405 the analysis, :407-460 the order of kernels).
A view is taken apart into at most Slice or StridedSlice, then Transpose, then
BroadcastTo; what does not fit becomes one AsStrided.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from labkit.op.describe import TensorDesc, element_count
from labkit.op.tables import Soc

__all__ = ["CopyStep", "analyse_view", "slice_kernel"]

Ints = tuple[int, ...]

_FIXED_AS_STRIDED: tuple[tuple[Ints, Ints], ...] = (
    ((4, 288, 2, 2, 240, 240), (67046400, 230400, 480, 1, 960, 2)),
    ((4, 512, 2, 2, 120, 120), (33177600, 57600, 240, 1, 480, 2)),
    ((4, 10, 32, 128), (122880, 128, 3840, 1)),
)


@dataclass(frozen=True)
class CopyStep:
    """One kernel of the chain that makes a view contiguous.

    `source` is the shape in which the kernel reads its input, `result` the
    shape it writes, `constants` its host-side integer operands (offsets and
    sizes, begin/end/step, permutation, target shape, or size/stride/offset).
    `at_offset` tells that the input address includes the view's offset; where
    it does not, the offset is among the constants.
    """

    op_type: str
    source: Ints
    result: Ints
    constants: tuple[Ints, ...]
    at_offset: bool = False


def analyse_view(view: TensorDesc) -> tuple[CopyStep, ...]:
    """The kernels that copy a non-contiguous view into row-major order, in launch order."""
    as_strided = (
        CopyStep(
            "AsStrided",
            view.shape,
            view.shape,
            (view.shape, view.strides, (0,)),
            at_offset=True,
        ),
    )
    if any(stride < 0 for stride in view.strides):
        return as_strided
    pairs: list[tuple[int, int, int]] = []  # (stride, place among the kept axes, size)
    transposed = False
    for size, stride in zip(view.shape, view.strides):
        if stride == 0 or size == 1:
            continue
        transposed = transposed or bool(pairs and pairs[-1][0] < stride)
        pairs.append((stride, len(pairs), size))
    # Stride 0 is asked before size 1, so a size-1 axis of stride 0 counts as broadcast too.
    broadcast = 0 in view.strides
    kept = tuple(p[2] for p in pairs), tuple(p[0] for p in pairs)
    if kept in _FIXED_AS_STRIDED:
        return as_strided
    narrow = tuple(1 if stride == 0 else size for size, stride in zip(view.shape, view.strides))
    tail: tuple[CopyStep, ...] = ()
    if broadcast:
        tail = (CopyStep("BroadcastTo", narrow, view.shape, (view.shape,)),)
        if _row_major(pairs):
            return (_first_at_offset(tail[0]),)
    if transposed:
        pairs.sort(reverse=True)
        perm = [0] * len(pairs)
        for place, (_, kept_index, _) in enumerate(pairs):
            perm[kept_index] = place
        source = tuple(size for _, _, size in pairs)
        result = tuple(source[place] for place in perm)
        transpose = CopyStep("Transpose", source, result, (tuple(perm),))
        tail = (transpose, *tail)
        if _row_major(pairs):
            return (_first_at_offset(transpose), *tail[1:])
    cut = _cut(view, pairs, transposed)
    return as_strided if cut is None else (cut, *tail)


def _first_at_offset(step: CopyStep) -> CopyStep:
    return CopyStep(step.op_type, step.source, step.result, step.constants, at_offset=True)


def _row_major(pairs: list[tuple[int, int, int]]) -> bool:
    expected = 1
    for stride, _, size in reversed(pairs):
        if stride != expected:
            return False
        expected *= size
    return True


def _cut(view: TensorDesc, pairs: list[tuple[int, int, int]], transposed: bool) -> CopyStep | None:
    """The Slice or StridedSlice that picks the kept axes out of the storage, or None."""
    strides = [stride for stride, _, _ in pairs]
    sizes = [size for _, _, size in pairs]
    if len(pairs) == 1:
        strides.append(1)
        sizes.append(1)
    plain = strides[-1] == 1
    common = 0
    for before, stride, size in zip(strides, strides[1:], sizes[1:]):
        plain = plain and before % stride == 0
        if before < stride * (size - 1):
            return None
        common = math.gcd(common, before)
    if plain:
        if transposed and view.strides[-1] == 1 and view.shape[-1] % 64 == 0:
            return None
        return _slice(view, strides, sizes)
    if common > 1 and common >= strides[-1] * sizes[-1]:
        return _strided_slice(view, strides, sizes, common)
    return None


def _slice(view: TensorDesc, strides: list[int], sizes: list[int]) -> CopyStep | None:
    source = [0] + [a // b for a, b in pairwise(strides)]
    source[0] = view.storage_size // math.prod(source[1:])
    offsets, rest = [], view.offset
    for stride in strides:
        offsets.append(rest // stride)
        rest %= stride
    if any(have < first + size for have, first, size in zip(source, offsets, sizes)):
        return None
    return CopyStep("Slice", tuple(source), tuple(sizes), (tuple(offsets), tuple(sizes)))


def _strided_slice(
    view: TensorDesc, strides: list[int], sizes: list[int], common: int
) -> CopyStep | None:
    last = len(strides) - 1
    source, source_strides = [0] * (last + 1), [1] * (last + 1)
    source[last] = product = common
    for axis in range(last - 1, 0, -1):
        source_strides[axis] = product
        source[axis] = strides[axis - 1] // product
        product *= source[axis]
        if product == 0:
            return None
    source[0], source_strides[0] = view.storage_size // product, product
    begin, step, rest = [], [], view.offset
    for stride, unit in zip(strides, source_strides):
        if unit == 0 or stride % unit:
            return None
        begin.append(rest // unit)
        rest %= unit
        step.append(stride // unit)
    for have, first, size, pace in zip(source, begin, sizes, step):
        if have < first or (size - 1) * pace + first >= have or have < size:
            return None
    end = tuple(first + size * pace for first, size, pace in zip(begin, sizes, step))
    return CopyStep("StridedSlice", tuple(source), tuple(sizes), (tuple(begin), end, tuple(step)))


def slice_kernel(step: CopyStep, itemsize: int, soc: Soc) -> str:
    """Slice or, under size rules on A2 and A3, SliceV2.

    Source: cann/ops-math conversion/slice/op_api/slice.cpp:78-174.
    """
    if soc.short not in ("Ascend910B", "Ascend910_93"):
        return "Slice"
    source, (offsets, sizes) = step.source, step.constants
    block = 32 // itemsize
    rows = element_count(sizes[:-1])
    cut_axes = [axis for axis, (a, b) in enumerate(zip(source, sizes)) if a != b]
    if sizes[-1] != source[-1]:
        fits = (
            cut_axes == [len(sizes) - 1]
            and sizes[-1] % block == 0
            and source[-1] % block == 0
            and rows * sizes[-1] > 1048576
            and offsets[-1] * itemsize % 64 != 0
            and source[-1] <= 192
        )
        return "SliceV2" if fits else "Slice"
    if len(cut_axes) != 1:
        return "Slice"
    axis = cut_axes[0]
    tail = element_count(sizes[axis + 1 :])
    fits = (
        tail % block == 0
        and sizes[axis] >= 48
        and sizes[axis] * tail >= 196608 * 48 // itemsize
        and sizes[0] <= 12
    )
    return "SliceV2" if fits else "Slice"
