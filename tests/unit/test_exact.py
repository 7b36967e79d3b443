"""The comparison itself must be able to fail."""

import math

import numpy as np
import pytest
from exact import BFLOAT16, FLOATS, assert_same_bits, bits_of, from_bits

ALL = pytest.mark.parametrize("dtype", FLOATS.values(), ids=FLOATS)


def fails(want, got):
    with pytest.raises(AssertionError) as caught:
        assert_same_bits(want, got)
    return str(caught.value)


@ALL
def test_equal_arrays_pass_whatever_they_hold(dtype):
    everything = np.array([0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, math.nan], dtype)
    assert_same_bits(everything, everything.copy())
    assert_same_bits(everything.reshape(7, 1)[::2], everything[::2].copy().reshape(4, 1))


@ALL
def test_nan_is_not_one(dtype):
    want, got = np.array([2, math.nan], dtype), np.array([2, 1], dtype)
    assert "at [1]" in fails(want, got)
    assert "NaN against a number" in fails(want, got)
    assert "NaN against a number" in fails(got, want)


def test_zero_is_not_a_tiny_number():
    assert "value" in fails(np.array([0.0], np.float32), np.array([1e-9], np.float32))
    assert "value" in fails(np.array([0.0], np.float16), np.array([6e-8], np.float16))
    assert "value" in fails(np.array([0.0], BFLOAT16), np.array([1e-9], BFLOAT16))


@ALL
def test_plus_zero_is_not_minus_zero_and_the_report_says_so(dtype):
    assert "sign of zero" in fails(np.array([0.0], dtype), np.array([-0.0], dtype))


def test_another_nan_payload_is_another_nan():
    want, got = from_bits([0x7FC00000], "float32"), from_bits([0x7FC00001], "float32")
    assert "NaN payload" in fails(want, got)
    assert "7fc00001" in fails(want, got)
    fails(from_bits([0x7FC0], "bfloat16"), from_bits([0xFFC0], "bfloat16"))
    fails(from_bits([0x7E00], "float16"), from_bits([0x7E01], "float16"))


def test_another_dtype_fails_even_with_equal_values_or_equal_bits():
    assert "dtype" in fails(np.zeros(2, np.float32), np.zeros(2, np.float16))
    assert "dtype" in fails(from_bits([0, 0], "bfloat16"), from_bits([0, 0], "float16"))


def test_another_shape_fails_even_where_it_would_broadcast():
    assert "shape" in fails(np.zeros((), np.float32), np.zeros(1, np.float32))
    assert "shape" in fails(np.zeros((2, 1), np.float32), np.zeros((2, 3), np.float32))
    assert "shape" in fails(np.zeros((0, 2), np.float32), np.zeros((0, 3), np.float32))


def test_one_wrong_element_among_many_is_found_and_placed():
    want = np.arange(24, dtype=np.float32).reshape(4, 6)
    got = want.copy()
    got[2, 5] = np.nextafter(got[2, 5], np.float32(99))
    report = fails(want, got)
    assert "1 of 24 elements differ" in report
    assert "at [2, 5]" in report


@pytest.mark.parametrize("value", [1.0, [1.0], np.array([1.0]), np.array([1]), None], ids=repr)
def test_what_is_no_float_array_of_the_operator_is_refused_not_converted(value):
    good = np.ones(1, np.float32)
    with pytest.raises(TypeError):
        assert_same_bits(value, good)
    with pytest.raises(TypeError):
        assert_same_bits(good, value)


def test_patterns_come_back_as_they_went_in():
    patterns = [0, 1, 0x7C00, 0x7E01, 0x8000, 0xFFFF]
    for dtype in ("float16", "bfloat16"):
        assert bits_of(from_bits(patterns, dtype)).tolist() == patterns
