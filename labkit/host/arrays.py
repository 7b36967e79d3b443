"""NumPy arrays as aclTensor views: shape, strides and offset over the memory behind them.

No hidden copy: a transposed or sliced array is described as what it is, a view
of its base, and the whole base goes to the device. Arrays that share memory on
the host share it on the device.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.errors import LabValueError

__all__ = ["Storage", "TensorView", "acl_data_type", "describe", "storages"]

Array = npt.NDArray[Any]


@lru_cache(maxsize=None)
def _acl_types() -> dict[str, int]:
    path = Path(__file__).resolve().parent.parent / "data" / "dtypes.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["dtypes"]
    return {row[3]: row[0] for row in rows if row[3] is not None and row[2] is not None}


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


def _root(array: Array) -> Array:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _span(array: Array) -> tuple[int, int]:
    """First byte and end of the memory that an array reaches."""
    low = high = int(array.__array_interface__["data"][0])
    if array.size == 0:
        return low, low
    for size, stride in zip(array.shape, array.strides):
        step = stride * (size - 1)
        low, high = low + min(0, step), high + max(0, step)
    return low, high + array.itemsize


def storages(arrays: list[Array]) -> list[Storage]:
    """The pieces of memory behind arrays; overlapping ones become one piece."""
    spans = sorted(((*_span(_root(array)), _root(array)) for array in arrays), key=lambda s: s[:2])
    merged: list[tuple[int, int, Array]] = []
    for low, high, owner in spans:
        if merged and low < merged[-1][1]:
            first, last, keeper = merged[-1]
            merged[-1] = (first, max(last, high), keeper)
        elif high > low:
            merged.append((low, high, owner))
    return [Storage(low, high - low, owner) for low, high, owner in merged]


def describe(name: str, array: Array, pieces: list[Storage]) -> tuple[TensorView, Storage | None]:
    """Describe an array over the piece that holds it (None for an array without memory)."""
    start, _ = _span(array) if array.size else (int(array.__array_interface__["data"][0]), 0)
    first = int(array.__array_interface__["data"][0])
    item = array.itemsize
    piece = next(
        (p for p in pieces if p.address <= start and first <= p.address + p.nbytes), None
    )
    number = acl_data_type(array.dtype)
    if piece is None or (array.size == 0 and first == piece.address + piece.nbytes):
        dense = np.empty(array.shape, array.dtype)
        strides = tuple(stride // item for stride in dense.strides)
        return TensorView(array.dtype.name, number, array.shape, strides, 0, array.shape), None
    offset = first - piece.address
    if offset % item or any(s % item for s, n in zip(array.strides, array.shape) if n > 1):
        raise LabValueError(
            f"{name}: strides {array.strides} or the offset of {offset} bytes are not whole "
            f"elements of {item} bytes, so no aclTensor can describe this view; copy it first"
        )
    root = _root(array)
    whole = (
        root.flags.c_contiguous
        and root.dtype.itemsize == item
        and _span(root) == (piece.address, piece.address + piece.nbytes)
    )
    storage_shape = root.shape if whole else (piece.nbytes // item,)
    strides = tuple(stride // item for stride in array.strides)
    return (
        TensorView(array.dtype.name, number, array.shape, strides, offset // item, storage_shape),
        piece,
    )
