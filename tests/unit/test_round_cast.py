"""The Cast kernel's rounding: float32 to 16 bits goes to nearest even, and NaN stays NaN."""

import math

import formula
import numpy as np
import pytest
from exact import FLOATS, assert_same_bits, bits_of, from_bits

from labkit.sim.kernels import round_cast

INF = math.inf


def array(values, dtype):
    return np.array(values, FLOATS[dtype])


def cast(source, dtype):
    out = np.empty(source.shape, FLOATS[dtype])
    round_cast(source, out)
    return out


@pytest.mark.parametrize(
    ("pattern", "rounded"),
    [
        (0x3F808000, 0x3F80),  # ties go to even, down
        (0x3F818000, 0x3F82),  # and up
        (0xBF808000, 0xBF80),
        (0x3F808001, 0x3F81),
        (0x3F807FFF, 0x3F80),
        (0x7F7FFFFF, 0x7F80),  # the largest float32 overflows
        (0xFF7FFFFF, 0xFF80),
        (0x7F7F7FFF, 0x7F7F),
        (0x7F800000, 0x7F80),
        (0x00000001, 0x0000),
        (0x80000001, 0x8000),
        (0x00008001, 0x0001),
    ],
)
def test_float32_to_bf16_rounds_to_nearest_even(pattern, rounded):
    assert bits_of(cast(from_bits([pattern], "float32"), "bfloat16")).tolist() == [rounded]


def test_float32_to_bf16_rounds_instead_of_cutting_off():
    assert float(cast(np.float32([0.2691408770292272]), "bfloat16")[0]) == 0.26953125


@pytest.mark.parametrize("pattern", [0x7F800001, 0x7FFFFFFF, 0xFF800001, 0xFFFFFFFF, 0x7FC00000])
def test_a_narrowed_nan_stays_a_nan_of_its_sign(pattern):
    for dtype in ("bfloat16", "float16"):
        out = cast(from_bits([pattern], "float32"), dtype)
        assert np.isnan(out.astype(np.float32)).all()
        assert bits_of(out)[0] >> 15 == pattern >> 31


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        (0.3, 0x34CD),
        (1 + 2.0**-11, 0x3C00),
        (1 + 3 * 2.0**-11, 0x3C02),
        (65519.996, 0x7BFF),
        (65520.0, 0x7C00),
        (-65520.0, 0xFC00),
        (2.0**-25, 0x0000),
        (1.5 * 2.0**-25, 0x0001),
        (-(2.0**-25), 0x8000),
    ],
)
def test_float32_to_fp16_rounds_to_nearest_even_and_overflows_to_infinity(value, pattern):
    assert bits_of(cast(np.float32([value]), "float16")).tolist() == [pattern]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_widening_every_16_bit_number_and_rounding_it_back_changes_nothing(dtype):
    x = from_bits(np.arange(0x10000), dtype)
    wide = cast(x, "float32")
    values = formula.numbers(list(range(0x10000)), dtype)
    numbers = np.array([not math.isnan(value) for value in values])
    assert np.array_equal(numbers, ~np.isnan(wide))
    assert wide[numbers].astype(float).tolist() == [v for v in values if not math.isnan(v)]
    assert_same_bits(x[numbers], cast(wide, dtype)[numbers])


def test_fp16_to_bf16_and_back_goes_through_the_value():
    x = array([1.5, -0.0, 65504.0, 2.0**-24, 1 + 2.0**-10, INF], "float16")
    want = array([1.5, -0.0, 65536.0, 2.0**-24, 1.0, INF], "bfloat16")
    assert_same_bits(want, cast(x, "bfloat16"))
    back = array([1.5, -0.0, INF, 2.0**-24, 1.0, INF], "float16")
    assert_same_bits(back, cast(want, "float16"))


def test_float32_to_bf16_agrees_with_the_rounding_rule_on_any_pattern():
    random = np.random.default_rng(25)
    patterns = random.integers(0, 1 << 32, 20_000, dtype=np.uint32)
    got = bits_of(cast(patterns.view(np.float32), "bfloat16"))
    for pattern, rounded in zip(patterns.tolist(), got.tolist()):
        if pattern & 0x7FFFFFFF > 0x7F800000:
            assert rounded & 0x7FFF > 0x7F80
            continue
        low, high = pattern >> 16, (pattern >> 16) + 1
        rest = pattern & 0xFFFF
        nearest = low if rest < 0x8000 or (rest == 0x8000 and not low & 1) else high
        assert rounded == nearest, hex(pattern)


@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32"])
def test_many_tiles_are_converted_as_one_would_be(source, target):
    from labkit.op import data_type

    random = np.random.default_rng(5)
    kind, wanted = data_type(source).numpy, data_type(target).numpy
    x = random.standard_normal(200_003, dtype=np.float32).astype(kind)
    out, strided = np.empty(x.shape, wanted), np.empty(2 * x.size, wanted)[::2]
    round_cast(x, out)
    round_cast(x, strided)
    assert out.tobytes() == strided.tobytes()
