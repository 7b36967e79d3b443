"""The same bits as a reading of the formula in Python floats, for any patterns and any λ."""

import math

import formula
import numpy as np
import pytest
from exact import BITS, FLOATS, assert_same_bits, bits_of, from_bits
from hypothesis import example, given
from hypothesis import strategies as st
from roads import ROADS, taking

from labkit.op import Scalar, hardshrink, hardshrink_grad, lambd_as_compared
from labkit.op.dtypes import data_type
from labkit.op.numerics import dead_limit
from labkit.op.scalar import clamp_lambd, float32_bits, float32_from_bits

DTYPES = list(FLOATS)
any_float32 = st.integers(0, 0xFFFFFFFF)
# Patterns that mean something: zeros, ones, subnormals, the largest, infinities, NaNs.
telling_float32 = st.sampled_from(
    [
        *(0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F000000, 0xBF000000),
        *(0x3E99999A, 0x3DCCCCCD, 0x477FEFFF, 0x477FF000, 0x33000000, 0x33000001, 0x7F7FFFFF),
        *(0x7F800000, 0xFF800000, 0x7F800001, 0x7FC00000, 0xFFC00001, 0xFFFFFFFF),
    ]
)
lambdas = st.one_of(telling_float32, any_float32)


def near(pattern, dtype, steps):
    """A pattern of the dtype a few steps from λ, where open and closed differ."""
    value = formula.number(pattern, "float32")
    if dtype == "float16":
        value = formula.half(value)
        base = int(np.float16(value).view(np.uint16))
    else:
        base = pattern if dtype == "float32" else pattern >> 16
    return (base + steps) % (1 << formula.WIDTH[dtype])


@st.composite
def calls(draw, dtype):
    """(λ's pattern, x, grad): many x near λ, any others."""
    lambd = draw(lambdas)
    top = 1 << (formula.WIDTH[dtype] - 1)
    anything = st.integers(0, 2 * top - 1)
    close = st.builds(
        lambda steps, negative: near(lambd, dtype, steps) ^ (top if negative else 0),
        st.integers(-3, 3),
        st.booleans(),
    )
    x = draw(st.lists(st.one_of(close, anything), max_size=40))
    grad = draw(st.lists(anything, min_size=len(x), max_size=len(x)))
    return lambd, x, grad


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("dtype", DTYPES)
@given(st.data())
def test_backward_gives_the_bits_of_the_formula(dtype, road, data):
    lambd, x, grad = data.draw(calls(dtype))
    want = from_bits(formula.hardshrink_grad(grad, x, lambd, dtype), dtype)
    with taking(road):
        got = hardshrink_grad(from_bits(grad, dtype), from_bits(x, dtype), float32_from_bits(lambd))
    assert_same_bits(want, got)


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("dtype", DTYPES)
@given(st.data())
def test_forward_gives_the_bits_of_the_formula(dtype, road, data):
    lambd, x, _ = data.draw(calls(dtype))
    want = from_bits(formula.hardshrink(x, lambd, dtype), dtype)
    with taking(road):
        assert_same_bits(want, hardshrink(from_bits(x, dtype), float32_from_bits(lambd)))


@pytest.mark.parametrize("op", ["hardshrink_grad", "hardshrink"])
@pytest.mark.parametrize("dtype", DTYPES)
@given(lambd=lambdas, data=st.data())
def test_the_number_shown_beside_lambda_explains_the_mask(dtype, op, lambd, data):
    _, x, _ = data.draw(calls(dtype))
    value = float32_from_bits(lambd)
    shown = lambd_as_compared(dtype, value, op=op)
    values = formula.numbers(x, dtype)
    dead = [not math.isnan(v) and abs(v) <= shown for v in values]
    if op == "hardshrink":
        kept = hardshrink(from_bits(x, dtype), value)
        want = [0 if gone else pattern for gone, pattern in zip(dead, x, strict=True)]
    else:
        kept = hardshrink_grad(from_bits([1] * len(x), dtype), from_bits(x, dtype), value)
        want = [0 if gone else 1 for gone in dead]
    assert bits_of(kept).tolist() == want


@pytest.mark.parametrize("op", ["hardshrink_grad", "hardshrink"])
@pytest.mark.parametrize("dtype", DTYPES)
@given(lambd=lambdas, x=st.integers(0, 0xFFFFFFFF))
@example(lambd=0x80000000, x=0)
@example(lambd=0x477FF000, x=0x7C00)
def test_an_element_is_dead_exactly_up_to_the_dead_limit(dtype, op, lambd, x):
    magnitude = x & ((1 << (formula.WIDTH[dtype] - 1)) - 1)
    limit = dead_limit(data_type(dtype), float32_from_bits(lambd), op=op)
    number = formula.number(magnitude, dtype)
    dead = number <= formula.threshold(lambd, dtype, op)
    assert dead == (limit is not None and magnitude <= limit)


@given(any_float32)
def test_the_clamp_changes_negative_numbers_only(pattern):
    number = formula.number(pattern, "float32")
    used = float32_bits(clamp_lambd(float32_from_bits(pattern)))
    assert used == (0 if number < 0 else pattern)
    again = float32_bits(clamp_lambd(float32_from_bits(used)))
    assert again == used


@given(st.floats(allow_nan=False))
def test_a_double_is_rounded_to_float32_once(value):
    want = formula.float32_pattern(value)
    assert float32_bits(Scalar(value, "double").to_float()) == want
    assert float32_bits(Scalar(value).to_float()) == want
    assert float32_bits(Scalar(np.float64(value)).to_float()) == want


@given(st.integers(-(2**63), 2**64 - 1))
def test_a_whole_number_is_rounded_to_float32_once(value):
    # The exact neighbours in float32: 24 significant bits below and above.
    shift = max(abs(value).bit_length() - 24, 0)
    low = abs(value) >> shift << shift
    high = low + (1 << shift)
    rest, half = abs(value) - low, 1 << shift >> 1
    up = rest > half or (rest == half and shift and low >> shift & 1)
    want = math.copysign(high if up else low, value)
    dtype = "int64" if value < 2**63 else "uint64"
    assert float(Scalar(value, dtype).to_float()) == want


@pytest.mark.parametrize("dtype", DTYPES)
@given(st.data())
def test_twice_the_forward_kernel_is_once(dtype, data):
    lambd, x, _ = data.draw(calls(dtype))
    once = hardshrink(from_bits(x, dtype), float32_from_bits(lambd))
    assert_same_bits(once, hardshrink(once, float32_from_bits(lambd)))


@pytest.mark.parametrize("dtype", DTYPES)
@given(st.data())
def test_the_sign_of_x_does_not_matter_to_the_gradient(dtype, data):
    lambd, x, grad = data.draw(calls(dtype))
    top = BITS[dtype].type(1 << (formula.WIDTH[dtype] - 1))
    positive = from_bits(x, dtype)
    negative = (bits_of(positive) ^ top).view(FLOATS[dtype])
    upstream, value = from_bits(grad, dtype), float32_from_bits(lambd)
    assert_same_bits(
        hardshrink_grad(upstream, positive, value), hardshrink_grad(upstream, negative, value)
    )
