"""What the contract panel lets one choose, and the telling calls."""

from __future__ import annotations

from labkit.explore.typed import CHIPS
from labkit.language import Text

__all__ = [
    "DTYPES",
    "LAYOUTS",
    "NULL",
    "POINTERS",
    "PRESETS",
    "SCALAR_CHOICES",
    "VIEWS",
]

NULL = "null"
"""The dtype that stands for a null pointer."""

_FLOATS = ("float32", "float16", "bfloat16", "float64")
DTYPES = (*_FLOATS, "int32", "int64", "int8", "uint8", "bool", "complex64", "float8_e5m2", NULL)
SCALAR_CHOICES = (*_FLOATS, "int32", "int64", "bool", "complex64", NULL)
LAYOUTS = (
    *("row-major", "transposed", "reversed"),
    *("strided past its storage", "shifted past its storage"),
)
POINTERS = ("given", "workspaceSize null", "executor null")
VIEWS = ("checks", "dtypes")
PRESETS: dict[str, tuple[Text, dict[str, str]]] = {
    "plain": (Text("(2, 3) with (3,): accepted"), {}),
    "null and dtype": (
        Text("λ is null, self is int32"),
        {"lambd_dtype": NULL, "self_dtype": "int32"},
    ),
    "dtype and rank": (
        Text("gradOutput has rank 9, gradInput is float64"),
        {"grad_shape": "1, 1, 1, 1, 1, 1, 1, 2, 3", "out_dtype": "float64"},
    ),
    "rank and shape": (
        Text("rank 9, and shapes that do not fit"),
        {"self_shape": "1, 1, 1, 1, 1, 1, 1, 1, 4", "out_shape": "7"},
    ),
    "no common shape": (Text("(2, 3) with (4,)"), {"self_shape": "4"}),
    "empty": (
        Text("(0,) with (5,) into (7,)"),
        {"grad_shape": "0", "self_shape": "5", "out_shape": "7"},
    ),
    "empty and dtype": (
        Text("(0,) with (5,), and self is int32"),
        {"grad_shape": "0", "self_shape": "5", "self_dtype": "int32"},
    ),
    "0-d": (
        Text("0-d with 0-d into (1,)"),
        {"grad_shape": "", "self_shape": "", "out_shape": "1"},
    ),
    "complex": (
        Text("λ is complex: 2 + 1j"),
        {"lambd": "2+1j", "lambd_dtype": "complex64"},
    ),
    "three dtypes": (
        Text("float16 with bfloat16 into float16"),
        {"grad_dtype": "float16", "self_dtype": "bfloat16", "out_dtype": "float16"},
    ),
    "past its storage": (
        Text("self strides past its storage"),
        {"self_shape": "2, 3", "self_layout": LAYOUTS[3]},
    ),
    "shifted output": (
        Text("gradInput lies behind its storage"),
        {"out_layout": LAYOUTS[4]},
    ),
    "reversed": (
        Text("self is reversed (on 950)"),
        {"self_shape": "2, 3", "self_layout": LAYOUTS[2], "soc": CHIPS[0]},
    ),
    "bfloat16 on 910": (
        Text("bfloat16 on a 910"),
        {"grad_dtype": "bfloat16", "self_dtype": "bfloat16", "soc": "Ascend910A"},
    ),
    "forward empty": (
        Text("forward: (0,) into (7,)"),
        {"operator": "forward", "self_shape": "0", "out_shape": "7"},
    ),
    "everything": (
        Text("everything wrong, and executor is null"),
        {
            "pointers": POINTERS[2],
            "grad_dtype": "int32",
            "self_dtype": "null",
            "lambd_dtype": "null",
            "out_shape": "1, 1, 1, 1, 1, 1, 1, 1, 1",
        },
    ),
}
"""The telling calls by name: words for the menu, and what differs from the plain call."""
