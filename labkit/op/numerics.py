"""The kernels' arithmetic, at memory speed, bit for bit.

Models cann/ops-nn e5c3fa93 activation/hard_shrink_grad/op_kernel/arch35 and
activation/hard_shrink/op_kernel/arch35. The operator copies or zeroes, so all
of it comes down to one unsigned comparison of bit patterns: without the sign
bit, the patterns of finite numbers and ∞ are ordered as the numbers are, and
every NaN lies above ∞. An element is dead when that pattern is at most a
limit computed once from λ. `dead_limit` is where the kernels differ.

Leaves out: flush of subnormals (none is documented) and the saturating mode of
older chips. The kernels of A2, A3 and 910 are not public; the same mathematics
is assumed there.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.errors import LabValueError
from labkit.op.arrays import as_array, refuse_masked
from labkit.op.asked import word
from labkit.op.dtypes import BF16, FLOAT, FLOAT16, DataType, data_type
from labkit.op.scalar import as_scalar, float32_bits

__all__ = ["dead_limit", "hardshrink", "hardshrink_grad", "lambd_as_compared"]

Array = npt.NDArray[Any]

_TILE = 64 * 1024
"""Elements per step of the NumPy road: small enough for the caches."""

_PARALLEL_FROM = 64 * 1024
"""Elements from which the compiled loop runs on all cores (its threads wait spinning)."""

_NUMPY_PARALLEL_FROM = 8 * 1024 * 1024
"""Elements from which the NumPy road does: below, two threads took longer than one, measured."""

_FLOAT_INF = 0x7F800000


def _half_bits(lambd: np.float32) -> int:
    """λ rounded to float16, nearest even; from 65520 on that is ∞."""
    with np.errstate(over="ignore"):
        return int(lambd.astype(np.float16).view(np.uint16))


def _half_bits_below(lambd: np.float32) -> int:
    """The largest float16 that is at most λ (λ ≥ 0, not NaN)."""
    bits = _half_bits(lambd)
    while bits and np.uint16(bits).view(np.float16).astype(np.float32) > lambd:
        bits -= 1
    return bits


def dead_limit(dtype: DataType, lambd: np.float32, *, op: str = "hardshrink_grad") -> int | None:
    """Highest magnitude pattern that gets zero, or None when nothing does.

    Backward ("hardshrink_grad"): float32 and bfloat16 compare in float32,
    float16 compares with λ rounded to float16. A negative λ counts as 0.
    Forward ("hardshrink"): every dtype compares in float32, and a negative λ
    is not clamped by the kernel, so nothing is dead. λ = NaN: nothing is dead.
    """
    word("op", op, ("hardshrink_grad", "hardshrink"))
    if np.isnan(lambd):
        return None
    if lambd < 0:
        if op == "hardshrink":
            return None
        lambd = np.float32(0.0)
    bits = float32_bits(lambd) & 0x7FFFFFFF
    if dtype is FLOAT:
        return bits
    if dtype is BF16:
        return bits >> 16
    magnitude = np.uint32(bits).view(np.float32)
    return _half_bits_below(magnitude) if op == "hardshrink" else _half_bits(magnitude)


def lambd_as_compared(dtype: Any, lambd: Any, *, op: str = "hardshrink_grad") -> float:
    """The number that |x| is really compared with, for showing beside λ.

    >>> lambd_as_compared("float16", 0.3)
    0.300048828125
    """
    value = as_scalar(lambd).to_float()
    dead_limit(data_type(dtype), value, op=op)  # refuses what no kernel takes
    clamped = np.float32(0.0) if value < 0 and op == "hardshrink_grad" else value
    if data_type(dtype) is FLOAT16 and op == "hardshrink_grad" and not np.isnan(clamped):
        with np.errstate(over="ignore"):
            return float(clamped.astype(np.float16))
    return float(clamped)


def hardshrink_grad(
    grad: npt.ArrayLike,
    self: npt.ArrayLike,
    lambd: Any,
    *,
    variant: str = "arch35",
    out: Array | None = None,
) -> Array:
    """The HardShrinkGrad kernel: grad where |self| > λ, else +0.

    `grad` and `self` have one shape and one dtype (float32, float16 or
    bfloat16); any strides. λ is a number or a `Scalar` and becomes float32
    once. NaN in `self` passes the gradient; a gradient in the dead zone is
    replaced, never multiplied, so NaN and ∞ become +0 there. `out` may be
    `grad` or `self` itself. `variant` is another reading of the operator
    (`labkit.op.variants`), computed plainly. Returns `out` or a new array.

    Raises `LabValueError` for other dtypes, unequal shapes or dtypes, an
    unknown variant.
    """
    gradient = grad if type(grad) is np.ndarray else as_array("grad", grad)
    x = self if type(self) is np.ndarray else as_array("self", self)
    if not isinstance(variant, str) or variant != "arch35":
        from labkit.op.variants import run_variant

        result = run_variant(variant, gradient, x, lambd)
        if out is None:
            return result
        _check_out(out, x)
        out[...] = result
        return out
    return _run(gradient, x, lambd, out, "hardshrink_grad")


def hardshrink(self: npt.ArrayLike, lambd: Any, *, out: Array | None = None) -> Array:
    """The HardShrink kernel (forward): self where |self| > λ, else +0.

    Compares in float32 for every dtype. The kernel does not clamp a negative
    λ (the host does before it); then everything passes, −0 included.
    Arguments, result and errors as `hardshrink_grad`.
    """
    x = as_array("self", self)
    return _run(x, x, lambd, out, "hardshrink")


def _run(values: Array, x: Array, lambd: Any, out: Array | None, op: str) -> Array:
    kind, shape = x.dtype, x.shape  # read once: at 4 Ki elements half the time is this function
    dtype = _kernel_dtype(kind)
    if dtype is None:
        raise LabValueError(f"the kernel takes float32, float16 and bfloat16, not {x.dtype}")
    if values is not x and (values.dtype != kind or values.shape != shape):
        raise LabValueError(
            "the kernel takes inputs of one dtype and shape, not "
            f"{values.dtype}{list(values.shape)} and {x.dtype}{list(x.shape)}; "
            "casting and broadcasting are the work of other l0 operators"
        )
    if out is None:
        out = np.empty(shape, kind)
    elif type(out) is not np.ndarray or out.dtype != kind or out.shape != shape:
        _check_out(out, x)
    first, second, third = values.flags, x.flags, out.flags
    if not third.writeable:
        raise LabValueError(_NOT_WRITTEN)
    if not (first.owndata and second.owndata and third.owndata) and (
        _overlaps_shifted(values, out) or _overlaps_shifted(x, out)
    ):
        # Written behind the reader's back in part: the result must not depend on the order.
        np.asarray(out)[...] = _run(values, x, lambd, None, op)
        return out
    dense = first.c_contiguous and second.c_contiguous and third.c_contiguous
    plain = out if type(out) is np.ndarray else np.asarray(out)
    _select(values, x, _limit(dtype, lambd, op), plain, dense)
    return out


_NOT_WRITTEN = "out must be a NumPy array that can be written"


def _check_out(out: Any, x: Array) -> None:
    """Refuse what would not be written completely; raises `LabValueError`."""
    if type(out) is not np.ndarray:
        refuse_masked("out", out)
    if not isinstance(out, np.ndarray) or not out.flags.writeable:
        raise LabValueError(_NOT_WRITTEN)
    if out.dtype != x.dtype or out.shape != x.shape:
        raise LabValueError(f"out must be {x.dtype}{list(x.shape)}")


@cache
def _kernel_dtype(dtype: np.dtype[Any]) -> DataType | None:
    try:
        found = data_type(dtype)
    except LabValueError:
        return None
    return found if found in (FLOAT, FLOAT16, BF16) and dtype.isnative else None


def _overlaps_shifted(first: Array, second: Array) -> bool:
    """Whether two arrays share memory without being the same view of it."""
    if first is second or not np.may_share_memory(first, second):
        return False
    return first.ctypes.data != second.ctypes.data or first.strides != second.strides


def _limit(dtype: DataType, lambd: Any, op: str) -> int | None:
    if type(lambd) in _NUMBERS:
        return _limit_of_number(dtype, lambd, op)
    return dead_limit(dtype, as_scalar(lambd).to_float(), op=op)


_NUMBERS = (float, int, np.float32)


@lru_cache(maxsize=256)
def _limit_of_number(dtype: DataType, lambd: float, op: str) -> int | None:
    return dead_limit(dtype, as_scalar(lambd).to_float(), op=op)


def _select(values: Array, x: Array, limit: int | None, out: Array, dense: bool) -> None:
    """Write `values` where x's magnitude pattern is above `limit`, else zero bits.

    `dense`: all three are C-contiguous.
    """
    if limit is None or not x.size:
        if out is not values:
            out[...] = values
        return
    if not dense:
        whole = np.empty(x.shape, x.dtype)
        _select(np.ascontiguousarray(values), np.ascontiguousarray(x), limit, whole, True)
        out[...] = whole
        return
    fast = _fast_kernels()
    if x.ndim != 1:
        values, x, out = values.reshape(-1), x.reshape(-1), out.reshape(-1)
    if fast is None or x.itemsize == 2:  # the compiled loops take a float32 as it is
        bits = _BITS[x.itemsize]
        values, x, out = values.view(bits), x.view(bits), out.view(bits)
    if fast is None:
        _numpy_road(values, x, limit, out)
    elif x.size < _PARALLEL_FROM or not fast.parallel(values, x, limit, out):
        fast.serial(values, x, limit, out)


_BITS = {size: np.dtype(f"u{size}") for size in (2, 4)}


def _numpy_road(values: Array, x: Array, limit: int, out: Array) -> None:
    """`_tiles` on as many threads as pay."""
    workers = core_count() if x.size >= _NUMPY_PARALLEL_FROM else 1
    share = -(-x.size // workers)
    share += -share % _TILE if share > _TILE else 0
    cuts = [slice(a, a + share) for a in range(0, x.size, share)]

    def part(cut: slice) -> None:
        _tiles(values[cut], x[cut], limit, out[cut])

    if len(cuts) == 1:
        part(cuts[0])
        return
    try:
        parts = _pool().map(part, cuts)
    except RuntimeError:  # the interpreter is ending: no more threads, but an exit function runs
        parts = map(part, cuts)
    list(parts)


def _tiles(values: Array, x: Array, limit: int, out: Array) -> None:
    """The NumPy road: three passes over one tile at a time, temporaries no larger than it."""
    mask, top = x.dtype.type((1 << (8 * x.itemsize - 1)) - 1), x.dtype.type(limit)
    size = min(_TILE, x.size)
    magnitude = np.empty(size, x.dtype)
    alive = np.empty(size, np.bool_)
    for start in range(0, x.size, _TILE):
        stop = min(start + _TILE, x.size)
        part = magnitude[: stop - start]
        np.bitwise_and(x[start:stop], mask, out=part)
        live = np.greater(part, top, out=alive[: stop - start])
        np.multiply(values[start:stop], live, out=out[start:stop])


@cache
def _fast_kernels() -> ModuleType | None:
    """The fused loops compiled by numba, when it is installed (`pip install .[fast]`)."""
    if os.environ.get("LABKIT_FAST", "1") == "0":
        return None
    try:
        from labkit.op import fused
    except (ImportError, OSError):  # numba's import needs a working folder that is there
        return None
    return fused


def road() -> str:
    """What computes here: "numba" (compiled loops) or "NumPy"; the bits are the same."""
    return "NumPy" if _fast_kernels() is None else "numba"


def core_count() -> int:
    """Processors that this process may use: the threads of the fast path."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on every system
        return max(1, os.cpu_count() or 1)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(core_count(), thread_name_prefix="labkit-core")


if hasattr(os, "register_at_fork"):  # a forked child has the pool but none of its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
