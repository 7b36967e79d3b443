"""The two operators read literally, one element at a time, in Python floats.

Bit patterns in, bit patterns out; nothing of NumPy and nothing of labkit, so
that it can serve as a second opinion.
"""

from __future__ import annotations

import math
import struct

WIDTH = {"float32": 32, "float16": 16, "bfloat16": 16}


def number(pattern: int, dtype: str) -> float:
    """The number that a bit pattern stands for."""
    if dtype == "float16":
        return struct.unpack("<e", struct.pack("<H", pattern))[0]
    if dtype == "bfloat16":
        pattern <<= 16
    return struct.unpack("<f", struct.pack("<I", pattern))[0]


def numbers(patterns: list[int], dtype: str) -> list[float]:
    """The numbers of many patterns at once."""
    if dtype == "float16":
        return list(
            struct.unpack(f"<{len(patterns)}e", struct.pack(f"<{len(patterns)}H", *patterns))
        )
    wide = patterns if dtype == "float32" else [pattern << 16 for pattern in patterns]
    return list(struct.unpack(f"<{len(wide)}f", struct.pack(f"<{len(wide)}I", *wide)))


def float32_pattern(value: float) -> int:
    """The pattern of a number rounded to float32 (beyond its range: infinity)."""
    try:
        return struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        return 0x7F800000 if value > 0 else 0xFF800000


def half(value: float) -> float:
    """A number rounded to float16, nearest even; from 65520 on that is infinity."""
    try:
        return struct.unpack("<e", struct.pack("<e", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def threshold(lambd_pattern: int, dtype: str, op: str) -> float:
    """What |x| is compared with, from the float32 pattern of λ that the kernel is given."""
    lambd = number(lambd_pattern, "float32")
    if op == "hardshrink":
        return lambd
    if lambd < 0:
        lambd = 0.0
    return half(lambd) if dtype == "float16" else lambd


def hardshrink_grad(grad: list[int], x: list[int], lambd_pattern: int, dtype: str) -> list[int]:
    """grad where |x| <= λ does not hold, +0 where it does."""
    limit = threshold(lambd_pattern, dtype, "hardshrink_grad")
    return [0 if abs(v) <= limit else g for g, v in zip(grad, numbers(x, dtype), strict=True)]


def hardshrink(x: list[int], lambd_pattern: int, dtype: str) -> list[int]:
    """x where |x| <= λ does not hold, +0 where it does."""
    limit = threshold(lambd_pattern, dtype, "hardshrink")
    return [0 if abs(v) <= limit else p for p, v in zip(x, numbers(x, dtype), strict=True)]
