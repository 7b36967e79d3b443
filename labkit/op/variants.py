"""One operator, five readings: where the kernels and the document part.

Each variant computes the gradient mask its own way, slowly and plainly, so
that they can be set side by side. `compare` runs them on the same values;
`disagreements` says where forward and backward do not belong together.

None of this is used by the software NPU: it follows the arch35 kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.errors import LabValueError, shown
from labkit.op.arrays import as_array
from labkit.op.asked import instance, number
from labkit.op.dtypes import BF16, FLOAT, FLOAT16, DataType, data_type
from labkit.op.numerics import dead_limit, hardshrink_grad
from labkit.op.scalar import as_scalar

__all__ = [
    "VARIANTS",
    "Disagreement",
    "Variant",
    "compare",
    "difference_table",
    "disagreements",
    "edge_values",
    "run_variant",
]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Variant:
    """A reading of the operator.

    `source` says where it can be read, `sureness` how sure we are that it is
    what that source does.
    """

    name: str
    title: str
    source: str
    sureness: str
    function: Callable[[Array, Array, np.float32], Array]


def _numbers(array: Array) -> Array:
    """The values as float32, exact for all three dtypes."""
    with np.errstate(invalid="ignore"):
        wide: Array = array.astype(np.float32)
    return wide


def _in(dtype: np.dtype[Any], value: np.float32) -> np.float32:
    """A float32 rounded to a dtype and widened again."""
    with np.errstate(over="ignore", invalid="ignore"):
        rounded: np.float32 = value.astype(dtype).astype(np.float32)
    return rounded


def _chosen(keep: Array, grad: Array) -> Array:
    """The gradient's bits where `keep`, else +0: selection, not multiplication."""
    unsigned = np.dtype(f"u{grad.dtype.itemsize}")
    bits = np.where(keep, grad.view(unsigned), unsigned.type(0)).astype(unsigned)
    return bits.view(grad.dtype)


def _arch35(grad: Array, x: Array, lambd: np.float32) -> Array:
    return hardshrink_grad(grad, x, lambd)


def _arch22(grad: Array, x: Array, lambd: np.float32) -> Array:
    with np.errstate(invalid="ignore"):
        return _chosen(np.abs(_numbers(x)) > lambd, grad)


def _tbe(grad: Array, x: Array, lambd: np.float32) -> Array:
    limit = _in(x.dtype, lambd)
    with np.errstate(invalid="ignore", over="ignore"):
        ratio = np.where(np.abs(_numbers(x)) <= limit, np.float32(0), np.float32(1))
        product: Array = (_numbers(grad) * ratio).astype(grad.dtype)
    return product


def _document(grad: Array, x: Array, lambd: np.float32) -> Array:
    limit = np.float32(0) if lambd < 0 else lambd
    values = _numbers(x)
    with np.errstate(invalid="ignore"):
        return _chosen((values > limit) | (values < -limit), grad)


def _pytorch(grad: Array, x: Array, lambd: np.float32) -> Array:
    limit = _in(x.dtype, lambd)
    values = _numbers(x)
    with np.errstate(invalid="ignore"):
        return _chosen(~((values >= -limit) & (values <= limit)), grad)


VARIANTS: tuple[Variant, ...] = (
    Variant(
        "arch35",
        "the public kernel (Ascend 950)",
        "cann/ops-nn e5c3fa93 activation/hard_shrink_grad/op_kernel/arch35/hard_shrink_grad.h",
        "sure: every measured vector agrees",
        _arch35,
    ),
    Variant(
        "arch22",
        "the experimental kernel (A2)",
        "hicann/ops-nn 41926c8a experimental/activation/hard_shrink_grad/op_kernel/"
        "hard_shrink_grad.h",
        "read, not run: it asks |x| > λ in float32, so NaN gets 0; λ is not clamped in it",
        _arch22,
    ),
    Variant(
        "tbe",
        "the older kernel (multiplies by a mask)",
        "Ascend canndev ops/built-in/tbe/impl/hard_shrink_grad.py (as published in 2021)",
        "read, not run: 0 or 1 times the gradient; newer releases may differ",
        _tbe,
    ),
    Variant(
        "document",
        "the formula, read literally",
        "cann/ops-nn e5c3fa93 activation/hard_shrink_grad/docs/aclnnHardshrinkBackward.md",
        "sure of the text; no code does exactly this",
        _document,
    ),
    Variant(
        "pytorch",
        "PyTorch's CPU kernel",
        "pytorch/pytorch aten/src/ATen/native/cpu/Activation.cpp (shrink_backward_kernel)",
        "sure where it is installed: a test runs both",
        _pytorch,
    ),
)


def run_variant(name: str, grad: npt.ArrayLike, self: npt.ArrayLike, lambd: Any) -> Array:
    """The gradient by one variant; arguments as `hardshrink_grad`, float32/float16/bfloat16."""
    by_name = {variant.name: variant for variant in VARIANTS}
    if not isinstance(name, str) or name not in by_name:
        raise LabValueError(f"unknown variant {shown(name)}; known: {', '.join(by_name)}")
    found = by_name[name]
    gradient, x = as_array("grad", grad), as_array("self", self)
    if gradient.dtype != x.dtype or gradient.shape != x.shape:
        raise LabValueError("variants take two arrays of one dtype and shape")
    _kernel_dtype(x.dtype)
    return found.function(gradient, x, as_scalar(lambd).to_float())


def _kernel_dtype(dtype: Any) -> DataType:
    kind = data_type(dtype)
    if kind not in (FLOAT, FLOAT16, BF16):
        raise LabValueError(f"the variants take float32, float16 and bfloat16, not {kind.short}")
    return kind


def edge_values(dtype: Any, lambd: Any) -> Array:
    """Values where kernels like to part: around ±λ, zeros, NaN, infinities, extremes."""
    kind = _kernel_dtype(dtype)
    unsigned = np.dtype(f"u{kind.itemsize}")
    top = 1 << (8 * unsigned.itemsize - 1)
    limit = dead_limit(kind, as_scalar(lambd).to_float()) or 0
    infinity = {FLOAT: 0x7F800000, FLOAT16: 0x7C00}.get(kind, 0x7F80)
    quiet = infinity | (infinity >> 1)
    plain = [0, 1, infinity - 1, infinity, quiet]
    around = [limit + step for step in range(-2, 3) if 0 <= limit + step <= infinity]
    positive = sorted({*plain, *around})
    patterns = [sign | pattern for pattern in positive for sign in (0, top)]
    return np.array(patterns, dtype=unsigned).view(kind.numpy)


def compare(
    grad: npt.ArrayLike, self: npt.ArrayLike, lambd: Any, names: Sequence[str] | None = None
) -> dict[str, Array]:
    """Every variant's result on the same arrays, by name."""
    if names is None:
        names = [variant.name for variant in VARIANTS]
    wanted = instance("names", names, (list, tuple), "a list of variants")
    return {name: run_variant(name, grad, self, lambd) for name in wanted}


def difference_table(dtype: Any, lambd: Any, grad: float = 1.0) -> str:
    """Where the variants part, as text: a row per edge value on which they do not all agree.

    Made by running all of them on `edge_values(dtype, lambd)` with one
    gradient. `=` marks the same bits as arch35.
    """
    x = edge_values(dtype, lambd)
    with np.errstate(over="ignore"):
        ones = np.full(x.shape, number("grad", grad), x.dtype)
    results = compare(ones, x, lambd)
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    bits = {name: result.view(unsigned) for name, result in results.items()}
    rows = [["x", "bits", *results]]
    for place, value in enumerate(x):
        if len({int(column[place]) for column in bits.values()}) == 1:
            continue
        reference = bits["arch35"][place]
        rows.append(
            [
                f"{float(value):.9g}",
                f"{int(x.view(unsigned)[place]):0{2 * x.dtype.itemsize}x}",
                *(
                    f"{float(result[place]):g}"
                    if name == "arch35"
                    else "="
                    if bits[name][place] == reference
                    else f"{float(result[place]):g}"
                    for name, result in results.items()
                ),
            ]
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


@dataclass(frozen=True)
class Disagreement:
    """A value that the forward kernel keeps and the backward kernel gives no gradient.

    `pattern` is its bit pattern without the sign.
    """

    dtype: DataType
    lambd: np.float32
    pattern: int
    value: float


def disagreements(dtype: Any, lambd: Any) -> tuple[Disagreement, ...]:
    """Magnitudes where forward and backward kernels part, for λ ≥ 0, both arch35.

    On float16 the backward compares with λ rounded to float16, the forward in
    float32: they part at exactly ±half(λ) when that is above λ. Elsewhere
    they agree, so the tuple is empty. A negative λ reaching the kernels
    unclamped parts at 0, which the host's clamp prevents.
    """
    kind = _kernel_dtype(dtype)
    value = as_scalar(lambd).to_float()
    backward, forward = (dead_limit(kind, value, op=op) for op in ("hardshrink_grad", "hardshrink"))
    if backward is None or forward is None:
        return ()
    unsigned = np.dtype(f"u{kind.itemsize}")
    return tuple(
        Disagreement(
            kind,
            value,
            pattern,
            float(np.array([pattern], unsigned).view(kind.numpy).astype(np.float64)[0]),
        )
        for pattern in range(forward + 1, backward + 1)
    )
