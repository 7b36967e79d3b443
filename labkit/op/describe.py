"""What the operator is told about its arguments: tensor and scalar descriptors.

Models aclCreateTensor and aclCreateScalar (cann/opbase aa3cd74b
src/nnopbase/common/api/acl_op_api.cpp:34-55, common/utils/common_types.cpp:192-221).
Like the real calls, a descriptor accepts almost anything: negative strides, a
view that leaves its storage, rank 9. The operator's own checks come later.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from labkit.errors import LabValueError, shown
from labkit.op.dtypes import DataType, data_type

__all__ = ["ND", "TensorDesc", "contiguous_strides", "element_count", "shape_text"]

ND = 2
"""aclFormat ACL_FORMAT_ND, the plain row-major format."""

_PRIVATE_FORMATS = frozenset({3, 4, 12, 29, 32, 33, 50, 51, 52, 53, 54})
"""Formats whose storage is not laid out by strides (NC1HWC0, FRACTAL_NZ, ...)."""

_INT64_MAX = 2**63 - 1
_MOST_AXES = 2**16
"""Of what has more sizes nobody made a shape: an iterator without an end, say."""


def element_count(shape: Sequence[int]) -> int:
    """Number of elements of a shape; 1 for a 0-d one."""
    return math.prod(shape)


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements, as the framework fills them in for a null pointer.

    A zero-size axis counts with its true size, so strides before it are 0.
    """
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def shape_text(shape: Iterable[int]) -> str:
    """A shape as CANN prints it: `[2, 3]`, and `[]` for 0-d."""
    return "[" + ", ".join(str(size) for size in shape) + "]"


def _integers(name: str, values: Any) -> tuple[int, ...]:
    try:
        listed = [values] if hasattr(values, "__index__") else values
        result = tuple(map(operator.index, islice(listed, _MOST_AXES + 1)))
        if len(result) > _MOST_AXES:
            raise ValueError(f"more than {_MOST_AXES} numbers")
    except Exception as error:  # of anybody's __index__ and __iter__
        raise LabValueError(f"{name} must be whole numbers, not {shown(values)}") from error
    if any(not -_INT64_MAX - 1 <= value <= _INT64_MAX for value in result):
        raise LabValueError(f"{name} has a number that does not fit int64: {shown(values)}")
    return result


def _integer(name: str, value: Any) -> int:
    found = _integers(name, value)
    if len(found) != 1:
        raise LabValueError(f"{name} must be one whole number, not {shown(value)}")
    return found[0]


@dataclass(frozen=True)
class TensorDesc:
    """An aclTensor without its memory.

    `shape` is the view shape, `strides` are in elements (None: row-major),
    `offset` is the view's first element in its storage, and `storage_shape`
    the shape of the memory behind the view (None: the view shape). `format`
    is an aclFormat number; nothing of this operator checks it.

    >>> TensorDesc("float16", (4, 1))
    TensorDesc(FLOAT16 [4, 1])
    """

    dtype: DataType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage_shape: tuple[int, ...]
    format: int
    is_contiguous: bool = field(compare=False, repr=False)

    def __init__(
        self,
        dtype: Any,
        shape: Any,
        strides: Any = None,
        offset: int = 0,
        storage_shape: Any = None,
        format: int = ND,
    ) -> None:
        put = object.__setattr__
        shape = _integers("shape", shape)
        put(self, "dtype", data_type(dtype))
        put(self, "shape", shape)
        strides = contiguous_strides(shape) if strides is None else _integers("strides", strides)
        if len(strides) != len(shape):
            raise LabValueError(
                f"a shape of {len(shape)} axes needs as many strides, not {len(strides)}"
            )
        put(self, "strides", strides)
        put(self, "offset", _integer("offset", offset))
        storage = shape if storage_shape is None else _integers("storage_shape", storage_shape)
        put(self, "storage_shape", storage)
        put(self, "format", _integer("format", format))
        put(self, "is_contiguous", _is_contiguous(shape, strides, self.format))

    @property
    def size(self) -> int:
        """Elements of the view."""
        return element_count(self.shape)

    @property
    def storage_size(self) -> int:
        """Elements of the storage."""
        return element_count(self.storage_shape)

    @property
    def is_empty(self) -> bool:
        """Whether any view axis has size 0 (the storage does not count)."""
        return 0 in self.shape

    @property
    def reach(self) -> tuple[int, int]:
        """Lowest and highest storage index that the view touches (elements)."""
        low = high = self.offset
        for size, stride in zip(self.shape, self.strides):
            step = stride * (size - 1)
            low += min(0, step)
            high += max(0, step)
        return low, high

    @property
    def fits_storage(self) -> bool:
        """Whether the view stays inside its storage.

        The operator asks this only for a non-contiguous input; nothing asks
        it for a contiguous one or for the output.
        Source: cann/opbase composite_op/utils/tensor_view_utils.cpp:50-71.
        """
        low, high = self.reach
        return low >= 0 and high + 1 <= self.storage_size

    def __repr__(self) -> str:
        text = f"TensorDesc({self.dtype.short} {shape_text(self.shape)}"
        if self.strides != contiguous_strides(self.shape):
            text += f", strides {shape_text(self.strides)}"
        if self.offset:
            text += f", offset {self.offset}"
        if self.storage_shape != self.shape:
            text += f", storage {shape_text(self.storage_shape)}"
        return text + (f", format {self.format})" if self.format != ND else ")")


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...], storage_format: int) -> bool:
    """Whether the elements lie one after another; the offset does not count.

    Source: cann/opbase composite_op/utils/tensor_view_utils.cpp:21-48.
    """
    if storage_format in _PRIVATE_FORMATS or element_count(shape) in (0, 1):
        return True
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True
