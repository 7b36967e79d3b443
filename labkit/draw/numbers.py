"""Numbers as the lab writes them: nine digits, a true minus, bits in their three fields."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["FIELDS", "bits_text", "magnitude_pattern", "number_text", "percent", "short_dtype"]

FIELDS = {"float32": (8, 23), "float16": (5, 10), "bfloat16": (8, 7)}
"""Exponent and fraction bits of each dtype."""


def number_text(value: float) -> str:
    """A number with up to nine significant digits: enough to tell any two float32 apart.

    >>> number_text(0.300048828125), number_text(-0.0), number_text(float("-inf"))
    ('0.300048828', '−0', '−inf')
    """
    if math.isnan(value):
        return "nan"
    sign = "−" if math.copysign(1.0, value) < 0 else ""
    return sign + f"{abs(float(value)):.9g}".replace("-", "−")


def percent(part: int, whole: int) -> str:
    """A share in percent with one decimal; never 0.0 or 100.0 when it is not.

    >>> percent(1, 100_000), percent(1, 3), percent(0, 0)
    ('< 0.1 %', '33.3 %', '0.0 %')
    """
    if whole and 0 < part < whole:
        share = 100 * part / whole
        if share < 0.05:
            return "< 0.1 %"
        if share > 99.95:
            return "> 99.9 %"
        return f"{share:.1f} %"
    return "100.0 %" if whole and part else "0.0 %"


def bits_text(value: Any) -> str:
    """The bits of one NumPy number: sign, exponent, fraction.

    Takes float32, float16 and bfloat16 scalars or 0-d arrays.

    >>> import numpy as np
    >>> bits_text(np.float16(0.3))
    '0 01101 0011001101'
    """
    array = np.asarray(value)
    exponent, fraction = FIELDS[array.dtype.name]
    width = 1 + exponent + fraction
    word = f"{int(array.view(f'u{width // 8}')):0{width}b}"
    return f"{word[0]} {word[1 : 1 + exponent]} {word[1 + exponent :]}"


def magnitude_pattern(value: Any) -> int:
    """The bits of a NumPy number without the sign, as an integer that orders magnitudes."""
    array = np.asarray(value)
    size = array.dtype.itemsize
    return int(array.view(f"u{size}")) & ((1 << (8 * size - 1)) - 1)


def short_dtype(dtype: str) -> str:
    """The dtype as a picture has room for it: fp32, fp16, bf16."""
    return {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}.get(dtype, dtype)
