"""The words for a call: how dtypes, shapes, views and chips are chosen and typed.

A view is a way to lie in storage, by the words that a menu shows; `viewed`
makes a tensor of it, `read_shapes` reads what people type.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from labkit.errors import LabValueError, shown
from labkit.explore.typed import read_drawn_shape
from labkit.language import Text
from labkit.language import gettext as _
from labkit.op import TensorDesc
from labkit.op.describe import contiguous_strides, element_count

__all__ = ["DTYPES", "PROMOTED", "SHAPES", "VIEWS", "read_shapes", "viewed"]

DTYPES = ("float32", "float16", "bfloat16", "float64", "int32")
PROMOTED = "promoted"
SHAPES = (
    "(2, 2) (2, 2)",
    "(4, 4) (4, 4)",
    "(4, 1) (1, 4)",
    "(4, 4) (4,)",
    "(4, 6, 8) (4, 6, 8)",
    "(1024, 1024) (1024, 1024)",
    "() ()",
    "(0,) (5,)",
    "(2, 3) (4,)",
    "(2, 3) (2, 3) (3, 2)",
    "(1, 1, 1, 1, 1, 1, 1, 1, 2) (2,)",
)
"""Telling shapes of gradOutput and self; a third one is the output's."""

Desc = TensorDesc
Shape = tuple[int, ...]


def _wide(shape: Shape) -> Shape:
    return (*shape[:-1], 2 * shape[-1]) if shape else ()


def _every_second(dtype: str, shape: Shape) -> Desc:
    storage = _wide(shape)
    strides = contiguous_strides(storage)
    return Desc(dtype, shape, (*strides[:-1], 2) if shape else (), 0, storage)


def _reversed(dtype: str, shape: Shape) -> Desc:
    strides = contiguous_strides(shape)
    if not shape or 0 in shape:
        return Desc(dtype, shape)
    return Desc(dtype, shape, (-strides[0], *strides[1:]), (shape[0] - 1) * strides[0], shape)


def _leaving(desc: Desc) -> Desc:
    """The same view over a storage of only its own shape, which its strides leave."""
    return Desc(desc.dtype, desc.shape, desc.strides, desc.offset, desc.shape)


VIEWS: dict[str, Callable[[str, Shape], Desc | None]] = {
    Text("contiguous"): Desc,
    Text("from offset 4"): lambda dtype, shape: Desc(
        dtype, shape, None, 4, (element_count(shape) + 8,)
    ),
    Text("transposed"): lambda dtype, shape: Desc(
        dtype, shape, contiguous_strides(shape[::-1])[::-1], 0, shape[::-1]
    ),
    Text("rows with gaps"): lambda dtype, shape: Desc(
        dtype, shape, contiguous_strides(_wide(shape)), 0, _wide(shape)
    ),
    Text("every second"): _every_second,
    Text("reversed"): _reversed,
    Text("expanded"): lambda dtype, shape: Desc(
        dtype, shape, (0, *contiguous_strides(shape)[1:]) if shape else (), 0, (1, *shape[1:])
    ),
    Text("outside its storage"): lambda dtype, shape: _leaving(_every_second(dtype, shape)),
    Text("null pointer"): lambda dtype, shape: None,
}
"""How a tensor lies in its storage: what numpy writes as x.T, x[:, ::2], x[::-1] and so on."""


def viewed(dtype: str, shape: Shape, view: str) -> Desc | None:
    """A tensor of that dtype and shape lying in its storage as the view says.

    >>> viewed("float32", (2, 3), "transposed")
    TensorDesc(FLOAT [2, 3], strides [1, 2], storage [3, 2])
    """
    return VIEWS[view](dtype, shape)


def read_shapes(text: str) -> tuple[Shape, Shape, Shape | None]:
    """The shapes of gradOutput, self and, if there is a third, the output.

    Groups in brackets, or separated by semicolons; one alone is that of both.

    >>> read_shapes("4,1; 1,4"), read_shapes("[2, 2]")
    (((4, 1), (1, 4), None), ((2, 2), (2, 2), None))
    """
    groups = re.findall(r"[(\[]([^()\[\]]*)[)\]]", text)
    rest = re.sub(r"[(\[][^()\[\]]*[)\]]", "", text)
    if not groups:
        groups, rest = text.split(";"), ""
    try:
        if re.sub(r"[\s,;]|grad(Output)?|self|out|gradInput", "", rest):
            raise ValueError
        shapes = [read_drawn_shape("shape", group) for group in groups]
        if not 1 <= len(shapes) <= 3:
            raise ValueError
    except ValueError:
        raise LabValueError(
            _(
                "{text} are no shapes; right would be (4, 1) (1, 4) for grad and self, "
                "or three of them with the output's, each of at most 12 axes"
            ).format(text=shown(text))
        ) from None
    grad = shapes[0]
    return grad, shapes[min(1, len(shapes) - 1)], shapes[2] if len(shapes) == 3 else None
