"""NumPy arrays as aclTensor views: shape, strides and offset over the memory behind them.

No hidden copy: a transposed or sliced array is described as what it is, a view
of its base, and the whole base goes to the device. Arrays that share memory on
the host share it on the device.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.errors import LabValueError

__all__ = ["Storage", "TensorView", "acl_data_type", "describe_all"]

Array = npt.NDArray[Any]


@cache
def _acl_types() -> dict[str, int]:
    path = Path(__file__).resolve().parent.parent / "data" / "dtypes.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["dtypes"]
    return {row[3]: row[0] for row in rows if row[3] is not None and row[2] is not None}


@cache
def acl_data_type(dtype: np.dtype[Any]) -> int:
    """The aclDataType number of a NumPy dtype; LabValueError where there is none."""
    found = _acl_types().get(dtype.name)
    if found is None or not dtype.isnative:
        raise LabValueError(
            f"no aclDataType for NumPy dtype {dtype.str if not dtype.isnative else dtype.name}; "
            f"there is one for {', '.join(_acl_types())}"
        )
    return found


@dataclass(frozen=True, eq=False)
class Storage:
    """A piece of host memory that one device buffer mirrors; `owner` keeps it alive."""

    address: int
    nbytes: int
    owner: Array


@dataclass(frozen=True)
class TensorView:
    """What aclCreateTensor is told about an array. Strides and offset are in elements."""

    dtype: str
    data_type: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage_shape: tuple[int, ...]


class _Memory:
    """Where an array's first element is, and the stretch of memory its base reaches."""

    __slots__ = ("array", "first", "high", "low", "root")

    def __init__(self, array: Array) -> None:
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        self.array, self.root = array, root
        self.first = int(array.ctypes.data)
        low = high = self.first if root is array else int(root.ctypes.data)
        if root.flags.c_contiguous:
            high += root.nbytes
        elif root.size:
            for size, stride in zip(root.shape, root.strides):
                step = stride * (size - 1)
                low, high = low + min(0, step), high + max(0, step)
            high += root.itemsize
        self.low, self.high = low, high


def describe_all(
    arrays: Mapping[str, Array],
) -> tuple[list[Storage], dict[str, tuple[TensorView, Storage | None]]]:
    """Describe named arrays over the pieces of memory behind them.

    Returns the pieces (overlapping ones become one), in the order in which the
    arguments first need them, and by name the view with its piece; an array
    without memory has none.
    """
    for name, array in arrays.items():
        if isinstance(array, np.ma.MaskedArray):
            raise LabValueError(
                f"{name} is a masked array, and no aclTensor has a mask; fill it first"
            )
    memories = {name: _Memory(array) for name, array in arrays.items()}
    merged: list[tuple[int, int, Array]] = []
    for memory in sorted(memories.values(), key=lambda m: (m.low, m.high)):
        low, high = memory.low, memory.high
        if merged and low < merged[-1][1]:
            first, last, owner = merged[-1]
            merged[-1] = (first, max(last, high), owner)
        elif high > low:
            merged.append((low, high, memory.root))
    pieces = [Storage(low, high - low, owner) for low, high, owner in merged]
    views = {name: _describe(name, memory, pieces) for name, memory in memories.items()}
    # Not in the order of addresses: two runs of one program would differ in their record.
    needed = dict.fromkeys(piece for _, piece in views.values() if piece is not None)
    return list(needed), views


def _describe(
    name: str, memory: _Memory, pieces: list[Storage]
) -> tuple[TensorView, Storage | None]:
    array, root = memory.array, memory.root
    item, shape = array.itemsize, array.shape
    number = acl_data_type(array.dtype)
    steps = array.strides
    if memory.high == memory.low:
        strides = tuple(step // item for step in steps)
        return TensorView(array.dtype.name, number, shape, strides, 0, shape), None
    piece = next(p for p in pieces if p.address <= memory.low < p.address + p.nbytes)
    offset = memory.first - piece.address
    if offset % item or any(step % item for step, size in zip(steps, shape) if size > 1):
        raise LabValueError(
            f"{name}: strides {steps} or the offset of {offset} bytes are not whole "
            f"elements of {item} bytes, so no aclTensor can describe this view; copy it first"
        )
    whole = (
        root.flags.c_contiguous
        and root.itemsize == item
        and (memory.low, memory.high - memory.low) == (piece.address, piece.nbytes)
    )
    storage_shape = root.shape if whole else (piece.nbytes // item,)
    strides = tuple(step // item for step in steps)
    view = TensorView(array.dtype.name, number, shape, strides, offset // item, storage_shape)
    return view, piece
