"""Views by the words of a menu: how a tensor of a given shape lies in a larger storage.

Each kind is what a NumPy expression makes: a slice, a transposition, a
broadcast. `lay_out` gives the descriptor that labkit would pass to
aclCreateTensor for it, without an array.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from labkit.language import Text
from labkit.op.describe import TensorDesc, contiguous_strides

__all__ = ["INPUT_KINDS", "KINDS", "OUTPUT_KINDS", "lay_out"]

Shape = tuple[int, ...]
Layout = tuple[str, TensorDesc]


def _desc(shape: Shape, strides: Shape, offset: int, storage: Shape) -> TensorDesc:
    return TensorDesc("float32", shape, strides, offset, storage)


def _contiguous(shape: Shape) -> Layout:
    return "x", TensorDesc("float32", shape)


def _offset(shape: Shape) -> Layout:
    if not shape:
        return "x[2, ...]", _desc((), (), 2, (3,))
    rest = math.prod(shape[1:])
    storage = (shape[0] + 3, *shape[1:])
    return "x[2:-1]", _desc(shape, contiguous_strides(shape), 2 * rest, storage)


def _transposed(shape: Shape) -> Layout:
    storage = shape[::-1]
    return "x.T", _desc(shape, contiguous_strides(storage)[::-1], 0, storage)


def _columns(shape: Shape) -> Layout:
    storage = (*shape[:-1], shape[-1] + 3)
    return "x[..., 1:-2]", _desc(shape, contiguous_strides(storage), 1, storage)


def _columns_turned(shape: Shape) -> Layout:
    expression, cut = _columns(shape[::-1])
    return f"{expression}.T", _desc(shape, cut.strides[::-1], 1, cut.storage_shape)


def _every_second(shape: Shape) -> Layout:
    storage = (*shape[:-1], 2 * shape[-1])
    dense = contiguous_strides(storage)
    return "x[..., ::2]", _desc(shape, (*dense[:-1], 2 * dense[-1]), 0, storage)


def _second_rows(shape: Shape) -> Layout:
    storage = (2 * shape[0], *shape[1:])
    dense = contiguous_strides(storage)
    return "x[::2]", _desc(shape, (2 * dense[0], *dense[1:]), 0, storage)


def _second_everywhere(shape: Shape) -> Layout:
    storage = tuple(2 * size for size in shape)
    strides = tuple(2 * step for step in contiguous_strides(storage))
    return f"x[{', '.join(['::2'] * len(shape))}]", _desc(shape, strides, 0, storage)


def _reversed(shape: Shape) -> Layout:
    strides = (*contiguous_strides(shape)[:-1], -1)
    return "x[..., ::-1]", _desc(shape, strides, max(shape[-1] - 1, 0), shape)


def _stretched(shape: Shape) -> Layout:
    storage = (1, *shape[1:])
    strides = (0, *contiguous_strides(storage)[1:])
    return f"broadcast_to(x, {list(shape)})", _desc(shape, strides, 0, storage)


def _windows(shape: Shape) -> Layout:
    storage = (1 + sum(max(size - 1, 0) for size in shape),)
    words = f"sliding_window_view(x, {shape[-1]})" if len(shape) == 2 else "as_strided(x)"
    return words, _desc(shape, (1,) * len(shape), 0, storage)


def _outside(shape: Shape) -> Layout:
    whole = _every_second(shape)[1]
    return "as_strided(x)", _desc(shape, whole.strides, 0, (max(whole.reach[1], 1),))


KINDS: dict[str, tuple[Text, Callable[[Shape], Layout]]] = {
    "contiguous": (Text("contiguous"), _contiguous),
    "offset": (Text("rows from the middle: an offset"), _offset),
    "transposed": (Text("transposed"), _transposed),
    "columns": (Text("columns from the middle"), _columns),
    "columns transposed": (Text("columns, transposed"), _columns_turned),
    "every second": (Text("every second column"), _every_second),
    "every second row": (Text("every second row"), _second_rows),
    "every second of each": (Text("every second, on every axis"), _second_everywhere),
    "reversed": (Text("reversed"), _reversed),
    "broadcast": (Text("one row, repeated: stride 0"), _stretched),
    "windows": (Text("overlapping windows"), _windows),
    "outside": (Text("one element too far"), _outside),
}
"""Kind of view -> the words of the menu, and how it is laid out."""

INPUT_KINDS = tuple(KINDS)
OUTPUT_KINDS = tuple(kind for kind in KINDS if kind not in ("broadcast", "windows"))
"""An output whose elements share memory has no defined result."""


def lay_out(kind: str, shape: Shape) -> Layout:
    """A float32 view of that kind and shape: the NumPy expression and the descriptor.

    A 0-d tensor has no axis to slice: only "offset" differs from "contiguous" then.

    >>> lay_out("columns", (2, 3))
    ('x[..., 1:-2]', TensorDesc(FLOAT [2, 3], strides [6, 1], offset 1, storage [2, 6]))
    """
    make = KINDS[kind][1]
    return make(shape) if shape or make is _offset else _contiguous(shape)
