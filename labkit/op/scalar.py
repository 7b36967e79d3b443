"""λ on its way to the kernel: the aclScalar, its float32 value, the clamp.

Models aclCreateScalar and aclScalar::ToFloat (cann/opbase aa3cd74b
common/utils/common_types.cpp:936-1024,1148-1233) and the clamp in
aclnn_hardshrink_backward.cpp:214-217 (cann/ops-nn e5c3fa93). λ becomes float32
exactly once, here; nothing later looks at the number that was typed.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from labkit.errors import LabValueError, shown
from labkit.op.arrays import refuse_masked
from labkit.op.dtypes import DataType, data_type

__all__ = ["Scalar", "as_scalar", "clamp_lambd", "float32_bits", "float32_from_bits"]

_STRUCT = {
    "DT_FLOAT": "<f",
    "DT_FLOAT16": "<e",
    "DT_INT8": "<b",
    "DT_INT16": "<h",
    "DT_INT32": "<i",
    "DT_INT64": "<q",
    "DT_UINT8": "<B",
    "DT_UINT16": "<H",
    "DT_UINT32": "<I",
    "DT_UINT64": "<Q",
    "DT_DOUBLE": "<d",
}

_SMALL_FLOATS = {
    "DT_BF16": "bfloat16",
    "DT_FLOAT8_E5M2": "float8_e5m2",
    "DT_FLOAT8_E4M3FN": "float8_e4m3fn",
    "DT_FLOAT8_E8M0": "float8_e8m0fnu",
    "DT_FLOAT6_E3M2": "float6_e3m2fn",
    "DT_FLOAT6_E2M3": "float6_e2m3fn",
    "DT_FLOAT4_E2M1": "float4_e2m1fn",
}

_WITHOUT_NAN = ("DT_FLOAT6_E3M2", "DT_FLOAT6_E2M3", "DT_FLOAT4_E2M1", "DT_FLOAT4_E1M2")

SCALAR_DTYPES = (
    *("DT_FLOAT", "DT_FLOAT16", "DT_INT8", "DT_INT32", "DT_UINT8", "DT_INT16", "DT_UINT16"),
    *("DT_UINT32", "DT_INT64", "DT_UINT64", "DT_DOUBLE", "DT_BOOL", "DT_COMPLEX64"),
    *("DT_COMPLEX128", "DT_BF16", "DT_HIFLOAT8", "DT_FLOAT8_E5M2", "DT_FLOAT8_E4M3FN"),
    *("DT_FLOAT8_E8M0", "DT_FLOAT6_E3M2", "DT_FLOAT6_E2M3", "DT_FLOAT4_E2M1", "DT_FLOAT4_E1M2"),
)
"""The 23 dtypes that aclCreateScalar accepts, in the order its message lists them."""


def float32_bits(value: float | np.floating[Any]) -> int:
    """The bit pattern of a number rounded once to float32 (nearest even; overflow is ∞)."""
    if type(value) is np.float32:
        return int(value.view(np.uint32))
    with np.errstate(over="ignore", invalid="ignore"):
        return int(np.asarray(value, dtype=np.float32).view(np.uint32))


def float32_from_bits(bits: int) -> np.float32:
    """The float32 with that bit pattern."""
    found: np.float32 = np.uint32(bits).view(np.float32)
    return found


@dataclass(frozen=True)
class Scalar:
    """An aclScalar: the bytes of one value and its dtype.

    `Scalar(0.3)` is float32. `raw` gives the bytes themselves where the bits
    matter (a NaN payload, a bool byte of 0xFF).

    >>> Scalar(0.3).to_float() == np.float32(0.3)
    True
    >>> Scalar(2 + 1j, "complex64").to_float()
    np.float32(0.0)
    """

    dtype: DataType
    raw: bytes

    def __init__(self, value: Any = None, dtype: Any = "float32", *, raw: bytes | None = None):
        kind = data_type(dtype)
        object.__setattr__(self, "dtype", kind)
        if kind.name not in SCALAR_DTYPES:
            raise LabValueError(
                f"aclCreateScalar takes no {kind.name}; it takes "
                + ", ".join(name.removeprefix("DT_") for name in SCALAR_DTYPES)
            )
        if raw is not None and not isinstance(raw, (bytes, bytearray, memoryview)):
            raise LabValueError(f"raw is the scalar's bytes, not {shown(raw)}")
        object.__setattr__(self, "raw", bytes(raw) if raw is not None else _encode(value, kind))
        if kind.itemsize != len(self.raw):
            raise LabValueError(
                f"a {kind.name} scalar has {kind.itemsize} bytes, not {len(self.raw)}"
            )

    def to_float(self) -> np.float32:
        """The value as the operator sees it (aclScalar::ToFloat). Complex gives 0."""
        return float32_from_bits(_to_float_bits(self.raw, self.dtype.name))

    def __repr__(self) -> str:
        return f"Scalar({self.to_float()}, {self.dtype.short})"


def as_scalar(value: Any) -> Scalar:
    """A plain number becomes a float32 `Scalar`; a `Scalar` stays what it is.

    The Python type of the number does not matter: 0.1, np.float64(0.1) and
    np.float32(0.1) give the same λ.
    """
    if isinstance(value, Scalar):
        return value
    if type(value) is np.float32:
        return Scalar(raw=value.tobytes())
    if isinstance(value, (complex, np.complexfloating)):
        raise LabValueError('a complex λ needs its dtype named: Scalar(value, "complex64")')
    refuse_masked("λ", value)
    if isinstance(value, np.floating):  # rounded once, a longdouble too
        return Scalar(value)
    try:
        number = float(value)
    except Exception as error:  # of anybody's __float__
        raise LabValueError(
            f"λ must be a number that a float holds or a labkit.Scalar, not {shown(value)}"
        ) from error
    return Scalar(number)


def clamp_lambd(value: np.float32) -> np.float32:
    """λ as the l0 operator gets it: negative becomes +0; NaN and −0 pass."""
    return np.float32(0.0) if value < 0 else value


def _encode(value: Any, dtype: DataType) -> bytes:
    name = dtype.name
    if value is None:
        raise LabValueError("a scalar needs a value (or its bytes as raw=...)")
    refuse_masked("the value of a scalar", value)
    try:
        if name == "DT_FLOAT":
            return float32_bits(value).to_bytes(4, "little")
        if name == "DT_FLOAT16":
            with np.errstate(over="ignore"):
                return np.asarray(value, dtype=np.float16).astype("<f2").tobytes()
        if name == "DT_BOOL":
            return bytes([bool(value)])
        if name == "DT_COMPLEX64":
            return struct.pack("<ff", complex(value).real, complex(value).imag)
        if name == "DT_COMPLEX128":
            return struct.pack("<dd", complex(value).real, complex(value).imag)
        if name in _STRUCT:
            whole = dtype.kind == "integral"
            return struct.pack(_STRUCT[name], int(value) if whole else float(value))
        if name in _SMALL_FLOATS:
            import ml_dtypes

            if name in _WITHOUT_NAN and np.isnan(float(value)):
                raise ValueError
            return np.asarray(value, dtype=getattr(ml_dtypes, _SMALL_FLOATS[name])).tobytes()
        return bytes([_nearest_code(float(value), name)])
    except LabValueError:
        raise
    except Exception as error:  # of anybody's __float__, __int__, __complex__, __array__
        raise LabValueError(f"{shown(value)} does not fit a {name} scalar") from error


def _to_float_bits(raw: bytes, name: str) -> int:
    if name == "DT_FLOAT":
        return int.from_bytes(raw, "little")
    if name == "DT_BF16":
        return int.from_bytes(raw, "little") << 16
    if name == "DT_BOOL":  # the byte is read as a signed int8
        return float32_bits(struct.unpack("<b", raw)[0])
    if name.startswith("DT_COMPLEX"):
        return 0
    if name in _SMALL_FLOATS:
        import ml_dtypes

        small = np.frombuffer(raw, dtype=getattr(ml_dtypes, _SMALL_FLOATS[name]))
        return float32_bits(small.astype(np.float32)[0])
    if name in _STRUCT:
        number = np.frombuffer(raw, dtype=_NUMPY_CODE[name])[0]
        with np.errstate(over="ignore", invalid="ignore"):
            return int(number.astype(np.float32).view(np.uint32))
    return float32_bits(_code_value(raw[0], name))


_NUMPY_CODE = {
    "DT_FLOAT16": "<f2",
    "DT_INT8": "<i1",
    "DT_INT16": "<i2",
    "DT_INT32": "<i4",
    "DT_INT64": "<i8",
    "DT_UINT8": "<u1",
    "DT_UINT16": "<u2",
    "DT_UINT32": "<u4",
    "DT_UINT64": "<u8",
    "DT_DOUBLE": "<f8",
}


def _code_value(code: int, name: str) -> float:
    """The value of one byte of the two formats that ml_dtypes does not have."""
    sign = -1.0 if code & (0x80 if name == "DT_HIFLOAT8" else 0x08) else 1.0
    if name == "DT_FLOAT4_E1M2":
        mantissa = (code & 3) / 4
        return sign * (mantissa if not code & 4 else 1 + mantissa)
    return sign * _hifloat8_magnitude(code)


def _hifloat8_magnitude(code: int) -> float:
    """HiFloat8: a prefix-coded field tells how many exponent bits follow.

    0000 denormal, 0001 no exponent bit, 001 one, 01 two, 10 three, 11 four;
    the exponent is sign and magnitude with a hidden leading one.
    """
    body = code & 0x7F
    if code == 0x80:
        return float("nan")
    if body == 0x6F:
        return float("inf")
    if body < 8:
        return 2.0 ** (body - 23) if body else 0.0
    if body < 16:
        return 1 + (body & 7) / 8
    width, mantissa_bits = next(
        (bits, size)
        for prefix, shift, bits, size in ((3, 5, 4, 1), (2, 5, 3, 2), (1, 5, 2, 3), (1, 4, 1, 3))
        if body >> shift == prefix
    )
    field = body >> mantissa_bits & ((1 << width) - 1)
    magnitude = (1 << (width - 1)) | (field & ((1 << (width - 1)) - 1))
    exponent = -magnitude if field >> (width - 1) else magnitude
    return float(2.0**exponent * (1 + (body & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)))


def _nearest_code(value: float, name: str) -> int:
    codes = range(256) if name == "DT_HIFLOAT8" else range(16)
    if np.isnan(value):
        if name == "DT_HIFLOAT8":
            return 0x80
        raise LabValueError(f"{name} has no NaN")
    top = 1.75 if name == "DT_FLOAT4_E1M2" else _HIFLOAT8_OVERFLOW
    held = min(max(value, -top), top)
    return min(codes, key=lambda code: (_distance(_code_value(code, name), held), code & 1))


_HIFLOAT8_OVERFLOW = 49152.0
"""The number that HiFloat8 would hold next after its largest, 32768, if that code were not ∞."""


def _distance(have: float, want: float) -> float:
    if np.isinf(have):
        have = float(np.copysign(_HIFLOAT8_OVERFLOW, have))
    if have == want:
        return 0.0 if np.signbit(have) == np.signbit(want) else 1e-300
    return abs(have - want) if not np.isnan(have) else float("inf")
