"""λ from the bytes of an aclScalar to the float32 that the kernel gets."""

import inspect
import math
import struct

import numpy as np
import pytest
from exact import assert_same_bits
from formula import number

import labkit
from labkit.errors import LabValueError
from labkit.op import Scalar, TensorDesc, hardshrink_grad, plan_hardshrink_backward
from labkit.op.dtypes import data_types
from labkit.op.scalar import as_scalar, clamp_lambd, float32_bits, float32_from_bits

ACCEPTED = [
    *("FLOAT", "FLOAT16", "INT8", "INT32", "UINT8", "INT16", "UINT16", "UINT32", "INT64"),
    *("UINT64", "DOUBLE", "BOOL", "COMPLEX64", "COMPLEX128", "BF16", "HIFLOAT8"),
    *("FLOAT8_E5M2", "FLOAT8_E4M3FN", "FLOAT8_E8M0", "FLOAT6_E3M2", "FLOAT6_E2M3"),
    *("FLOAT4_E2M1", "FLOAT4_E1M2"),
]


def bits(scalar):
    return f"{float32_bits(scalar.to_float()):08x}"


def raw(dtype, pattern, width):
    return Scalar(raw=pattern.to_bytes(width, "little"), dtype=dtype)


# -- every dtype to float32 ----------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("FLOAT", 0.5, "3f000000"),
        ("FLOAT", 0.1, "3dcccccd"),
        ("FLOAT", -0.0, "80000000"),
        ("FLOAT", 1e40, "7f800000"),
        ("FLOAT", 1e-45, "00000001"),
        ("DOUBLE", 0.1, "3dcccccd"),
        ("DOUBLE", 1e300, "7f800000"),
        ("DOUBLE", -1e300, "ff800000"),
        ("DOUBLE", 1e-300, "00000000"),
        ("DOUBLE", -1e-300, "80000000"),
        ("DOUBLE", 1 + 2**-24, "3f800000"),  # a tie goes to the even neighbour
        ("DOUBLE", 1 + 3 * 2**-24, "3f800002"),
        ("DOUBLE", 1 + 2**-24 + 2**-50, "3f800001"),
        ("DOUBLE", 3.4028235677973366e38, "7f800000"),  # half a step above the largest float32
        ("DOUBLE", 3.4028235677973362e38, "7f7fffff"),
        ("DOUBLE", 2**-149, "00000001"),
        ("DOUBLE", 2**-150, "00000000"),
        ("DOUBLE", 1.5 * 2**-150, "00000001"),
        ("FLOAT16", 0.3, "3e99a000"),
        ("FLOAT16", 2**-24, "33800000"),
        ("FLOAT16", 65520.0, "7f800000"),
        ("BF16", 0.1, "3dcd0000"),
        ("BF16", 0.7, "3f330000"),
        ("INT8", -128, "c3000000"),
        ("INT16", 32767, "46fffe00"),
        ("INT32", 16777217, "4b800000"),
        ("INT32", 16777219, "4b800002"),
        ("INT32", -2147483648, "cf000000"),
        ("INT64", 2**62 + 2**38, "5e800000"),
        ("INT64", 2**62 + 2**38 + 1, "5e800001"),
        ("INT64", 2**63 - 1, "5f000000"),
        ("UINT8", 255, "437f0000"),
        ("UINT16", 65535, "477fff00"),
        ("UINT32", 4294967295, "4f800000"),
        ("UINT64", 2**63 + 2**39, "5f000000"),
        ("UINT64", 2**63 + 2**39 + 1, "5f000001"),
        ("UINT64", 2**64 - 1, "5f800000"),
        ("BOOL", True, "3f800000"),
        ("BOOL", False, "00000000"),
        ("COMPLEX64", 2 + 1j, "00000000"),
        ("COMPLEX64", 0.5, "00000000"),
        ("COMPLEX128", -3.0, "00000000"),
        ("HIFLOAT8", 0.5, "3f000000"),
        ("HIFLOAT8", 3.0, "40400000"),
        ("FLOAT8_E5M2", 0.5, "3f000000"),
        ("FLOAT8_E4M3FN", 448.0, "43e00000"),
        ("FLOAT8_E8M0", 0.25, "3e800000"),
        ("FLOAT6_E3M2", 28.0, "41e00000"),
        ("FLOAT6_E2M3", 7.5, "40f00000"),
        ("FLOAT4_E2M1", 6.0, "40c00000"),
        ("FLOAT4_E1M2", 1.75, "3fe00000"),
    ],
    ids=str,
)
def test_a_value_of_every_dtype_becomes_float32_once(dtype, value, expected):
    assert bits(Scalar(value, dtype)) == expected


@pytest.mark.parametrize(
    "pattern", [0x7FC00000, 0xFFC00000, 0x7FC00001, 0x7F800001, 0xFFFFFFFF, 1, 0x80000000]
)
def test_a_float32_scalar_keeps_its_bits_nan_payload_included(pattern):
    assert bits(raw("FLOAT", pattern, 4)) == f"{pattern:08x}"


@pytest.mark.parametrize(("byte", "value"), [(0, 0), (1, 1), (2, 2), (0x7F, 127), (0xFF, -1)])
def test_a_bool_is_its_byte_read_as_a_signed_number(byte, value):
    assert raw("BOOL", byte, 1).to_float() == value


def test_a_bool_byte_of_ff_is_minus_one_and_so_clamped_to_zero():
    square = TensorDesc("float32", (2, 2))
    plan = plan_hardshrink_backward(square, square, raw("BOOL", 0xFF, 1), square)
    assert float32_bits(plan.lambd) == 0


def test_every_fp16_pattern_becomes_the_same_number_in_float32():
    for pattern in range(0x10000):
        want = number(pattern, "float16")
        got = float(raw("FLOAT16", pattern, 2).to_float())
        assert (math.isnan(want) and math.isnan(got)) or (
            want == got and math.copysign(1, want) == math.copysign(1, got)
        ), hex(pattern)


@pytest.mark.parametrize("pattern", [0, 1, 0x8000, 0x007F, 0x3DCD, 0x7F80, 0x7F81, 0xFFC1])
def test_a_bf16_scalar_is_the_upper_half_of_a_float32_bit_for_bit(pattern):
    assert bits(raw("BF16", pattern, 2)) == f"{pattern << 16:08x}"


def small_float(code, exponent_bits, mantissa_bits, bias):
    """A small float by its definition: sign, exponent, mantissa; subnormals below."""
    mantissa = code & ((1 << mantissa_bits) - 1)
    exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1)
    sign = -1.0 if code >> (mantissa_bits + exponent_bits) & 1 else 1.0
    if exponent == 0:
        return sign * mantissa * 2.0 ** (1 - bias - mantissa_bits)
    return sign * (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)


@pytest.mark.parametrize(
    ("dtype", "layout", "codes"),
    [
        ("FLOAT8_E5M2", (5, 2, 15), [c for c in range(256) if c & 0x7C != 0x7C]),
        ("FLOAT8_E4M3FN", (4, 3, 7), [c for c in range(256) if c & 0x7F != 0x7F]),
        ("FLOAT6_E3M2", (3, 2, 3), range(64)),
        ("FLOAT6_E2M3", (2, 3, 1), range(64)),
        ("FLOAT4_E2M1", (2, 1, 1), range(16)),
        ("FLOAT4_E1M2", (1, 2, 1), range(16)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_finite_code_of_a_small_float_becomes_its_exact_value(dtype, layout, codes):
    wrong = {}
    for code in codes:
        want, got = small_float(code, *layout), float(raw(dtype, code, 1).to_float())
        if want != got or math.copysign(1, want) != math.copysign(1, got):
            wrong[hex(code)] = (want, got)
    assert wrong == {}


def test_the_special_codes_of_the_small_floats():
    assert math.isinf(raw("FLOAT8_E5M2", 0x7C, 1).to_float())
    assert math.isnan(raw("FLOAT8_E5M2", 0x7E, 1).to_float())
    assert math.isnan(raw("FLOAT8_E4M3FN", 0x7F, 1).to_float())
    assert math.isnan(raw("FLOAT8_E8M0", 0xFF, 1).to_float())
    assert math.isnan(raw("HIFLOAT8", 0x80, 1).to_float())
    assert raw("HIFLOAT8", 0x6F, 1).to_float() == math.inf
    assert raw("HIFLOAT8", 0xEF, 1).to_float() == -math.inf


def test_float8_e8m0_is_a_bare_exponent_down_to_a_float32_subnormal():
    for code in range(255):
        assert raw("FLOAT8_E8M0", code, 1).to_float() == 2.0 ** (code - 127)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        (0x00, 0.0),
        (0x01, 2.0**-22),
        (0x07, 2.0**-16),
        (0x08, 1.0),
        (0x0F, 1.875),
        (0x10, 2.0),
        (0x18, 0.5),
        (0x20, 4.0),
        (0x30, 0.25),
        (0x40, 16.0),
        (0x60, 256.0),
        (0x6E, 32768.0),
        (0x7E, 2.0**-15),
        (0x88, -1.0),
    ],
)
def test_hifloat8_codes_have_their_tapered_values(code, value):
    assert raw("HIFLOAT8", code, 1).to_float() == value


@pytest.mark.parametrize("dtype", ["HIFLOAT8", "FLOAT4_E1M2", "FLOAT4_E2M1", "FLOAT6_E2M3"])
@pytest.mark.parametrize("value", [1e4, 1e6, 1e30, math.inf])
def test_a_number_beyond_a_small_floats_range_never_turns_into_a_small_one(dtype, value):
    for signed in (value, -value):
        try:
            got = float(Scalar(signed, dtype).to_float())
        except LabValueError:
            continue
        assert abs(got) >= 1.75
        assert math.copysign(1, got) == math.copysign(1, signed)


@pytest.mark.parametrize("dtype", ["FLOAT4_E1M2", "FLOAT4_E2M1", "FLOAT6_E2M3", "FLOAT6_E3M2"])
def test_nan_does_not_fit_a_format_without_nan(dtype):
    with pytest.raises(LabValueError):
        Scalar(math.nan, dtype)


# -- which dtypes, which bytes -------------------------------------------------


@pytest.mark.parametrize("dtype", ACCEPTED)
def test_these_23_dtypes_make_a_scalar(dtype):
    assert len(ACCEPTED) == 23
    scalar = Scalar(1, dtype)
    assert scalar.dtype.short == dtype
    assert scalar.to_float() == (0 if dtype.startswith("COMPLEX") else 1)


def test_no_other_dtype_makes_a_scalar():
    others = [dtype for dtype in data_types() if dtype.short not in ACCEPTED]
    assert len(others) == 20
    for dtype in others:
        with pytest.raises(LabValueError, match="FLOAT4_E1M2"):
            Scalar(raw=b"\0" * (dtype.itemsize or 1), dtype=dtype)


def test_eight_bytes_of_a_double_do_not_pass_as_a_float():
    with pytest.raises(LabValueError, match=r"4 bytes, not 8"):
        Scalar(raw=struct.pack("<d", 0.5), dtype="float32")
    assert Scalar(0.5).raw == struct.pack("<f", 0.5)


def test_the_low_half_of_a_double_read_as_float_would_let_everything_pass():
    # What a wrapper that packs 8 bytes under a float tag would cause.
    low_half = Scalar(raw=struct.pack("<d", 0.5)[:4], dtype="float32")
    assert low_half.to_float() == 0
    x, grad = np.float32([0.2]), np.float32([1])
    assert_same_bits(np.float32([1]), hardshrink_grad(grad, x, low_half))
    assert_same_bits(np.float32([0]), hardshrink_grad(grad, x, 0.5))
    assert_same_bits(np.float32([0]), hardshrink_grad(grad, x, Scalar(0.5, "double")))


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (300, "int8"),
        (-1, "uint8"),
        (2**63, "int64"),
        (2**64, "uint64"),
        (math.nan, "int32"),
        (math.inf, "int64"),
        ("wide", "float32"),
        ([1, 2], "float32"),
        (1j, "float32"),
        (None, "float32"),
        (None, "double"),
        (10**400, "float32"),
    ],
    ids=str,
)
def test_a_value_that_does_not_fit_is_refused_with_the_labs_error(value, dtype):
    with pytest.raises(LabValueError):
        Scalar(value, dtype)


def test_a_scalar_without_a_value_is_refused():
    with pytest.raises(LabValueError):
        Scalar()


# -- plain numbers -------------------------------------------------------------

POINT_ONE = {
    "a Python float": 0.1,
    "np.float64": np.float64(0.1),
    "np.float32": np.float32(0.1),
    "what a widget gives": float("0.1"),
}


@pytest.mark.parametrize("kind", POINT_ONE)
def test_lambda_is_the_same_whatever_python_type_brings_it(kind):
    lambd = POINT_ONE[kind]
    assert as_scalar(lambd).raw == bytes.fromhex("cdcccc3d")
    x, grad = np.float32([0.1]), np.float32([1])
    assert_same_bits(np.float32([0]), hardshrink_grad(grad, x, lambd))


@pytest.mark.parametrize("value", [1, True, np.int8(1), np.float16(1), np.array(1.0)], ids=repr)
def test_any_real_number_is_a_lambda(value):
    assert as_scalar(value).raw == struct.pack("<f", 1.0)


def test_a_scalar_stays_what_it_is():
    scalar = Scalar(7, "int64")
    assert as_scalar(scalar) is scalar


def test_a_float32_nan_keeps_its_payload_on_the_way_in():
    for pattern in (0x7FC00001, 0xFFC12345):
        assert bits(as_scalar(float32_from_bits(pattern))) == f"{pattern:08x}"


@pytest.mark.parametrize("value", ["wide", None, [0.1, 0.2], dict, 1j, np.complex64(1)], ids=str)
def test_what_is_no_real_number_is_no_lambda(value):
    with pytest.raises(LabValueError):
        as_scalar(value)


def test_a_complex_lambda_needs_its_dtype_named():
    with pytest.raises(LabValueError, match="complex64"):
        as_scalar(0.5j)
    assert bits(Scalar(0.5j, "complex64")) == "00000000"


def test_scalars_are_equal_when_their_bytes_and_dtype_are():
    assert Scalar(0.5) == Scalar(raw=struct.pack("<f", 0.5))
    assert hash(Scalar(0.5)) == hash(Scalar(0.5))
    assert Scalar(0.5) != Scalar(0.5, "double")
    assert Scalar(0.0) != Scalar(-0.0)
    assert Scalar(math.nan) == Scalar(math.nan)


def test_lambda_is_keyword_only_in_the_labs_own_calls():
    x, grad = np.float32([0.7]), np.float32([1])
    with pytest.raises(TypeError):
        labkit.hardshrink_backward(grad, x, 1.0)
    for call in (labkit.hardshrink_backward, labkit.hardshrink):
        lambd = inspect.signature(call).parameters["lambd"]
        assert (lambd.kind, lambd.default) == (lambd.KEYWORD_ONLY, 0.5)


def test_lambda_one_zeroes_what_the_default_would_pass():
    x, grad = np.float32([0.7]), np.float32([1])
    assert_same_bits(np.float32([0]), hardshrink_grad(grad, x, 1.0))
    assert_same_bits(np.float32([1]), hardshrink_grad(grad, x, 0.5))


# -- the clamp -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("bf000000", "00000000"),  # -0.5
        ("ff800000", "00000000"),  # -inf
        ("80000001", "00000000"),  # the smallest negative
        ("80000000", "80000000"),  # -0 is not less than 0
        ("00000000", "00000000"),
        ("00000001", "00000001"),
        ("3f000000", "3f000000"),
        ("7f800000", "7f800000"),
        ("7fc00000", "7fc00000"),  # a NaN keeps its bits
        ("ffc00000", "ffc00000"),
        ("7fc00001", "7fc00001"),
        ("7f800001", "7f800001"),
    ],
)
def test_a_negative_lambda_becomes_plus_zero_and_nothing_else_changes(given, used):
    lambd = float32_from_bits(int(given, 16))
    assert f"{float32_bits(clamp_lambd(lambd)):08x}" == used
    square = TensorDesc("float32", (2, 2))
    scalar = Scalar(raw=bytes.fromhex(given)[::-1], dtype="float32")
    plan = plan_hardshrink_backward(square, square, scalar, square)
    assert f"{float32_bits(plan.lambd):08x}" == used
    assert f"{float32_bits(plan.launches[0].attrs['lambd']):08x}" == used


@pytest.mark.parametrize(("value", "dtype"), [(-1, "int8"), (-(2**40), "int64"), (-2.5, "double")])
def test_a_negative_lambda_of_any_dtype_is_clamped_after_conversion(value, dtype):
    square = TensorDesc("float32", (2, 2))
    plan = plan_hardshrink_backward(square, square, Scalar(value, dtype), square)
    assert float32_bits(plan.lambd) == 0


@pytest.mark.parametrize("raw", [4, "abcd", [0, 0, 0, 0]])
def test_raw_takes_bytes_only(raw):
    with pytest.raises(LabValueError, match="bytes"):
        Scalar(raw=raw)
