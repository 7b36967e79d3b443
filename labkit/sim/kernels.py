"""The software NPU's kernels: each launch does its own work on device memory.

A Transpose transposes, a Cast rounds, a BroadcastTo writes every copy: the
result of a call is what its launches made of the bytes, not an answer computed
beside them. The arithmetic is `labkit.op.numerics` and `labkit.op.cast`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.op.cast import round_cast
from labkit.op.describe import contiguous_strides, element_count
from labkit.op.dtypes import DataType
from labkit.op.numerics import hardshrink, hardshrink_grad
from labkit.op.plan import Launch, Operand
from labkit.sim.heap import Heap

__all__ = ["KERNELS", "Access", "Kernel", "Task", "round_cast"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Access:
    """How a kernel touches one operand: a strided view of device memory.

    `address` is the first element's; `shape` and `strides` count elements.
    """

    address: int
    dtype: DataType
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @cached_property
    def is_dense(self) -> bool:
        """Whether the elements lie row-major, one after another."""
        return self.strides == contiguous_strides(self.shape)

    @cached_property
    def span(self) -> tuple[int, int]:
        """First byte and number of bytes that the view reaches."""
        item = self.dtype.itemsize or 1
        if self.is_dense:
            return self.address, element_count(self.shape) * item
        low = high = 0
        for size, stride in zip(self.shape, self.strides):
            if size == 0:
                return self.address, 0
            step = stride * (size - 1)
            low, high = low + min(0, step), high + max(0, step)
        return self.address + low * item, (high - low + 1) * item

    def array(self, heap: Heap, what: str, *, write: bool = False) -> Array:
        """The view as a NumPy array over device memory."""
        start, nbytes = self.span
        item = self.dtype.itemsize or 1
        raw = heap.view(start, nbytes, what, write=write and self.is_dense)
        typed = raw.view(self.dtype.numpy)
        if self.is_dense:
            return typed.reshape(self.shape)
        return np.lib.stride_tricks.as_strided(
            typed[(self.address - start) // item :],
            self.shape,
            tuple(stride * item for stride in self.strides),
        )


@dataclass(frozen=True)
class Task:
    """One launch with its addresses: what it reads, what it writes, how it runs.

    `launch` is the planned launch that it carries out.
    """

    op_type: str
    core: str
    addresses: tuple[int, ...]
    reads: tuple[Access, ...]
    writes: Access
    attrs: Any = None
    launch: Launch | None = None

    @classmethod
    def of(cls, launch: Launch, inputs: list[int], output: int, workspace: int | None) -> Task:
        """Bind a planned launch to addresses (`inputs` without the host-side operands)."""
        reads, writes = _ACCESS.get(launch.op_type, _dense)(launch, inputs, output)
        own = () if workspace is None else (workspace,)
        return cls(
            launch.op_type,
            launch.core,
            (*inputs, output, *own),
            reads,
            writes,
            launch.attrs,
            launch,
        )

    def run(self, heap: Heap) -> None:
        """Execute on device memory; raises `HeapFault` when an operand is not there."""
        inputs = [access.array(heap, f"{self.op_type} reads") for access in self.reads]
        out = self.writes.array(heap, f"{self.op_type} writes", write=True)
        if out.size == 0:
            return
        KERNELS.get(self.op_type, _copy)(inputs, self.attrs, out)


# -- what each kernel computes -------------------------------------------------

Kernel = Callable[[list[Array], Any, Array], None]
"""Reads the input arrays and the attributes, writes the output array."""


def _copy(inputs: list[Array], attrs: Any, out: Array) -> None:
    """What all others do: they bring elements from one place to another."""
    out[...] = inputs[0].reshape(out.shape) if inputs[0].size == out.size else inputs[0]


def _grad(inputs: list[Array], attrs: Any, out: Array) -> None:
    hardshrink_grad(inputs[0], inputs[1], attrs["lambd"], out=out)


def _forward(inputs: list[Array], attrs: Any, out: Array) -> None:
    hardshrink(inputs[0], attrs["lambd"], out=out)


def _cast(inputs: list[Array], attrs: Any, out: Array) -> None:
    round_cast(inputs[0], out)


KERNELS: dict[str, Kernel] = {"HardShrinkGrad": _grad, "HardShrink": _forward, "Cast": _cast}
"""The kernels that compute, by op type; `labkit.sim.add_operator` adds to them."""


# -- how each kernel addresses its operands ------------------------------------


def _row_major(address: int, operand: Operand) -> Access:
    return Access(address, operand.dtype, operand.shape, contiguous_strides(operand.shape))


def _strided(
    address: int, dtype: DataType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> Access:
    return Access(address + offset * (dtype.itemsize or 1), dtype, shape, strides)


def _constants(launch: Launch) -> list[tuple[int, ...]]:
    return [operand.const for operand in launch.inputs if operand.const is not None]


Bound = tuple[tuple[Access, ...], Access]


def _dense(launch: Launch, inputs: list[int], output: int) -> Bound:
    operands = [operand for operand in launch.inputs if operand.const is None]
    reads = tuple(_row_major(a, o) for a, o in zip(inputs, operands))
    return reads, _row_major(output, launch.outputs[0])


def _slice(launch: Launch, inputs: list[int], output: int) -> Bound:
    source, (begin, *rest) = launch.inputs[0], _constants(launch)
    step = rest[1] if launch.op_type == "StridedSlice" else (1,) * len(begin)
    base = contiguous_strides(source.shape)
    offset = sum(first * stride for first, stride in zip(begin, base))
    strides = tuple(stride * pace for stride, pace in zip(base, step))
    out = launch.outputs[0]
    read = _strided(inputs[0], source.dtype, out.shape, strides, offset)
    return (read,), _row_major(output, out)


def _transpose(launch: Launch, inputs: list[int], output: int) -> Bound:
    source, (perm,) = launch.inputs[0], _constants(launch)
    base = contiguous_strides(source.shape)
    shape = tuple(source.shape[axis] for axis in perm)
    read = Access(inputs[0], source.dtype, shape, tuple(base[axis] for axis in perm))
    write = Access(output, source.dtype, shape, contiguous_strides(shape))
    return (read,), write


def _broadcast_to(launch: Launch, inputs: list[int], output: int) -> Bound:
    source, out = launch.inputs[0], launch.outputs[0]
    lead = len(out.shape) - len(source.shape)
    shape = (1,) * lead + source.shape
    base = contiguous_strides(shape)
    strides = tuple(0 if size == 1 else stride for size, stride in zip(shape, base))
    return (Access(inputs[0], source.dtype, out.shape, strides),), _row_major(output, out)


def _as_strided(launch: Launch, inputs: list[int], output: int) -> Bound:
    source, (shape, strides, (offset,)) = launch.inputs[0], _constants(launch)
    read = _strided(inputs[0], source.dtype, shape, strides, offset)
    return (read,), _row_major(output, launch.outputs[0])


def _view_copy(launch: Launch, inputs: list[int], output: int) -> Bound:
    target = launch.inputs[0]
    shape, strides, (offset,), source_shape, source_strides, _ = _constants(launch)
    read = Access(inputs[1], target.dtype, source_shape, source_strides)
    return (read,), _strided(output, target.dtype, shape, strides, offset)


_ACCESS: dict[str, Callable[[Launch, list[int], int], Bound]] = {
    "Slice": _slice,
    "SliceV2": _slice,
    "StridedSlice": _slice,
    "Transpose": _transpose,
    "BroadcastTo": _broadcast_to,
    "AsStrided": _as_strided,
    "ViewCopy": _view_copy,
}


def overlaps(first: Access, second: Access) -> bool:
    """Whether two views share any byte of their spans."""
    a, n = first.span
    b, m = second.span
    return n > 0 and m > 0 and a < b + m and b < a + n


def writes_twice(view: Access) -> bool:
    """Whether two elements of a view share an address, so that the last writer wins."""
    if view.is_dense:
        return False
    axes = sorted((abs(stride), size) for stride, size in zip(view.strides, view.shape) if size > 1)
    if element_count(view.shape) <= 1:
        return False
    reach = 0
    for stride, size in axes:
        if stride <= reach:
            return stride == 0 or _has_duplicates(view)
        reach += stride * (size - 1)
    return False


def _has_duplicates(view: Access) -> bool:
    if element_count(view.shape) > 1 << 20:
        return True
    places = np.zeros(view.shape, np.int64)
    for axis, (size, stride) in enumerate(zip(view.shape, view.strides)):
        steps = np.arange(size, dtype=np.int64) * stride
        places += steps.reshape([-1 if k == axis else 1 for k in range(len(view.shape))])
    return np.unique(places).size != places.size
