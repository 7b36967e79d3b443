"""Arrays as they are given: NumPy's, those of other libraries, lists of numbers.

One rule: what has a dtype keeps it, bit for bit, or is refused in words. Plain
Python numbers have none, and those alone become float32. Where a value may be
missing (a mask, NA, a null) nothing of CANN could say so, and dropping it
would compute with what was hidden: that is refused too.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.errors import LabValueError, shown
from labkit.op.dtypes import data_type

__all__ = ["TooManyAxes", "as_array", "refuse_masked"]

Array = npt.NDArray[Any]

_MOST_AXES = 64 if int(np.__version__.partition(".")[0]) >= 2 else 32
"""As many axes as a NumPy array has (NPY_MAXDIMS)."""

_DEEPEST, _LARGEST = 1000, 2**28
"""Lists nested deeper, or with more numbers, are a mistake: one that holds itself, say."""

_PROTOCOLS = (
    *("dtype", "__array__", "__array_interface__", "__array_struct__"),
    *("__dlpack__", "__cuda_array_interface__"),
)
_ON_THE_HOST = (1, 3, 11)
"""DLPack's devices whose memory the host reads: the CPU, and pinned memory of CUDA and ROCm."""


class TooManyAxes(LabValueError):  # noqa: N818 - no fault of the caller alone
    """An array with more axes than NumPy holds; `dtype` and `shape` are what it has."""

    def __init__(self, text: str, *, dtype: Any, shape: tuple[int, ...]) -> None:
        super().__init__(text)
        self.dtype = dtype
        self.shape = shape


def as_array(name: str, value: Any) -> Array:
    """What was given as a NumPy array with its own dtype, over the same memory where it can be.

    Raises `LabValueError` for what has no dtype and is no number, for what may
    be missing (masks, NA), for what lies in a device's memory, and where
    somebody's `__array__` fails.

    >>> as_array("x", [1, 2.5]).dtype, as_array("x", memoryview(b"ab")).dtype
    (dtype('float32'), dtype('uint8'))
    """
    if type(value) is np.ndarray:
        return value
    try:
        return _taken(name, value)
    except LabValueError:
        raise
    except Exception as error:  # of anybody's __array__, dtype, __len__, __float__
        raise LabValueError(
            f"{name} is {shown(value)}, which does not become an array: {shown(error)}; right "
            "would be a NumPy array, or plain numbers"
        ) from error


def refuse_masked(name: str, value: Any) -> None:
    """Raise `LabValueError` for a masked array: no kernel knows of a mask."""
    if isinstance(value, np.ma.MaskedArray):
        raise _missing(name, "a masked array", "x.filled(value), or x.data for all of it")


def _missing(name: str, what: str, right: str) -> LabValueError:
    return LabValueError(
        f"{name} is {what}, and an aclTensor has no place for what is missing: the operator would "
        f"compute with what the mask hides; right would be {right}"
    )


def _taken(name: str, value: Any) -> Array:
    if isinstance(value, np.ndarray):
        refuse_masked(name, value)
        return np.asarray(value)
    if isinstance(value, np.generic):
        return np.asarray(value)
    if isinstance(value, (bool, int, float)):
        return _numbers(name, [value]).reshape(())
    if isinstance(value, (list, tuple)):
        return _listed(name, value)
    if not isinstance(value, (str, bytes)):
        if _has_dtype(value):
            return _others(name, value)
        if isinstance(value, Sequence) and len(value) <= _LARGEST:  # range, deque
            return _listed(name, list(value))
    raise LabValueError(f"{name} must be an array of numbers, not {shown(value)}")


def _has_dtype(value: Any) -> bool:
    if any(hasattr(value, mark) for mark in _PROTOCOLS):
        return True
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


# -- lists -----------------------------------------------------------------------------


def _numbers(name: str, plain: list[Any]) -> Array:
    """Plain numbers as float32: what is too large for it is ∞, as it is in a C program."""
    try:
        with np.errstate(over="ignore"):
            return np.array(plain, np.float32)
    except OverflowError as error:
        raise LabValueError(
            f"{name} has a number in it that no float holds; the largest of float32 is 3.4e38, "
            "and float('inf') is larger than all"
        ) from error


def _listed(name: str, value: list[Any] | tuple[Any, ...]) -> Array:
    """Lists in lists, taken apart level by level: what is innermost decides the dtype."""
    shape: list[int] = []
    level: list[Any] = [value]
    while level and all(issubclass(kind, (list, tuple)) for kind in set(map(type, level))):
        lengths = set(map(len, level))
        if len(lengths) > 1:
            raise LabValueError(
                f"{name} is ragged: lists of {' and '.join(map(str, sorted(lengths)[:3]))} items "
                "lie side by side; right would be rows of one length"
            )
        shape.append(lengths.pop())
        if len(shape) > _DEEPEST or math.prod(shape) > _LARGEST:
            raise LabValueError(
                f"{name} has lists nested {len(shape)} deep, of {shown(shape)} items; right would "
                "be a NumPy array"
            )
        level = list(chain.from_iterable(level))
    kinds = set(map(type, level))
    if all(issubclass(k, (bool, int, float)) and not issubclass(k, np.generic) for k in kinds):
        return _shaped(name, _numbers(name, level), (*shape,))
    if all(issubclass(kind, np.generic) for kind in kinds):
        dtypes = {item.dtype for item in level}
        return _shaped(name, np.array(level, np.result_type(*dtypes)), (*shape,))
    parts = [item if _is_plain(item) else as_array(f"an item of {name}", item) for item in level]
    inner = {np.shape(part) for part in parts}
    if len(inner) > 1:
        raise LabValueError(f"{name} is ragged: its items have the shapes {shown(sorted(inner))}")
    # A plain number takes the dtype of the others, as it does in NumPy's arithmetic.
    common = np.result_type(*{_weak(part) for part in parts})
    (each,) = inner
    whole = np.empty((len(parts), *each), common)
    with np.errstate(over="ignore"):
        for place, part in enumerate(parts):
            whole[place] = part
    return _shaped(name, whole, (*shape, *each))


def _is_plain(item: Any) -> bool:
    return isinstance(item, (bool, int, float)) and not isinstance(item, np.generic)


def _weak(part: Any) -> Any:
    return part.dtype if isinstance(part, np.ndarray) else type(part)(0)


def _shaped(name: str, flat: Array, shape: tuple[int, ...]) -> Array:
    if len(shape) > _MOST_AXES:
        raise _too_many(name, flat.dtype, shape)
    return flat.reshape(shape)


def _too_many(name: str, dtype: Any, shape: tuple[int, ...]) -> TooManyAxes:
    return TooManyAxes(
        f"{name} has {len(shape)} axes, more than an array of NumPy has ({_MOST_AXES}); no "
        "operator of CANN takes more than 8",
        dtype=dtype,
        shape=shape,
    )


# -- arrays of other libraries -----------------------------------------------------------


def _others(name: str, value: Any) -> Array:
    _refuse_missing(name, value)
    _refuse_elsewhere(name, value)
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and len(shape) > _MOST_AXES:
        raise _too_many(name, _own_dtype(value), tuple(map(int, shape)))
    detach: Callable[[], Any] | None = getattr(value, "detach", None)
    if detach is not None:  # a tensor that records gradients: its numbers alone are asked for
        value = detach()
    own = _own_dtype(value)
    if detach is not None and own is not None and own.isbuiltin != 1:  # none of NumPy's own
        home = sys.modules[type(value.dtype).__module__]
        found = np.asarray(value.view(getattr(home, {1: "uint8", 2: "int16"}[own.itemsize])))
        return found.view(own)
    found = np.asanyarray(value)
    refuse_masked(name, found)
    if found.dtype == np.dtype(object) and hasattr(value, "__dlpack__"):
        found = np.from_dlpack(value)
    if getattr(value, "dtype", None) is not None and own != found.dtype:
        raise LabValueError(
            f"{name} says that it holds {value.dtype}, but NumPy gets {found.dtype} from it; right "
            "would be a NumPy array of the dtype that is meant"
        )
    return np.asarray(found)


def _own_dtype(value: Any) -> np.dtype[Any] | None:
    """The dtype that an array says it has, as NumPy's; None where NumPy has no word for it."""
    own = getattr(value, "dtype", None)
    if own is None or isinstance(own, np.dtype):
        return own
    try:
        return data_type(own).numpy
    except LabValueError:
        return None


def _refuse_missing(name: str, value: Any) -> None:
    mask = getattr(type(value), "mask", None)
    if (mask is not None and not callable(mask)) or hasattr(value, "get_mask"):
        raise _missing(name, f"a masked {type(value).__name__}", "one with its gaps filled")
    columns = getattr(value, "dtypes", ()) if hasattr(value, "columns") else ()
    for own in (getattr(value, "dtype", None), *columns):
        if hasattr(own, "na_value"):
            what = f"a {type(value).__name__} of dtype {own}, which may hold NA"
            raise _missing(name, what, 'x.to_numpy("float32") or another dtype of NumPy')
    nulls = getattr(value, "null_count", 0)
    if nulls() if callable(nulls) else nulls:
        raise _missing(name, f"a {type(value).__name__} with nulls in it", "one with them filled")


def _refuse_elsewhere(name: str, value: Any) -> None:
    where = getattr(value, "__dlpack_device__", None)
    there = where is not None and int(where()[0]) not in _ON_THE_HOST
    if there or hasattr(value, "__cuda_array_interface__"):
        raise LabValueError(
            f"{name} is a {type(value).__name__} in the memory of a device, which the lab does not "
            "read; right would be a copy on the host, such as x.cpu(), x.get() or np.array(x)"
        )
