"""What the two kernels compute, bit for bit, on both roads.

The single numbers come from the public arch35 kernels; whole sweeps are
compared with a reading of the formula in Python floats (`formula.py`).
"""

import math

import formula
import numpy as np
import pytest
from exact import BFLOAT16, BITS, FLOATS, assert_same_bits, bits_of, from_bits
from roads import ROADS, taking

from labkit.errors import LabError, LabValueError
from labkit.op import Scalar, hardshrink, hardshrink_grad, lambd_as_compared, numerics
from labkit.op.dtypes import data_type
from labkit.op.numerics import dead_limit
from labkit.op.scalar import float32_from_bits

NAN, INF = math.nan, math.inf
DTYPES = list(FLOATS)


@pytest.fixture(params=ROADS)
def road(request):
    with taking(request.param):
        yield request.param


pytestmark = pytest.mark.usefixtures("road")


def array(values, dtype="float32"):
    return np.array(values, FLOATS[dtype])


def grad_of(values, *, lambd, dtype="float32", grad=None):
    """grad_input as Python numbers; the gradient is 1 unless given."""
    x = array(values, dtype)
    upstream = np.ones_like(x) if grad is None else array(grad, dtype)
    return hardshrink_grad(upstream, x, lambd)


# -- the edge table of the backward kernel -------------------------------------

G = 7.0  # the upstream gradient in the rows where it passes

EDGES = [
    ("NaN x passes the gradient", NAN, 0.5, G),
    ("inf passes at a finite lambda", INF, 0.5, G),
    ("-inf passes at a finite lambda", -INF, 0.5, G),
    ("inf is zeroed by lambda inf", INF, INF, 0.0),
    ("-inf is zeroed by lambda inf", -INF, INF, 0.0),
    ("a number is zeroed by lambda inf", 3.0, INF, 0.0),
    ("NaN x passes even at lambda inf", NAN, INF, G),
    ("lambda NaN passes a number", 0.1, NAN, G),
    ("lambda NaN passes zero", 0.0, NAN, G),
    ("lambda NaN passes NaN", NAN, NAN, G),
    ("a negative lambda zeroes +0", 0.0, -0.5, 0.0),
    ("a negative lambda zeroes -0", -0.0, -0.5, 0.0),
    ("a negative lambda passes the rest", 1e-6, -0.5, G),
    ("lambda -inf behaves as 0 for zero", 0.0, -INF, 0.0),
    ("lambda -inf behaves as 0 for the rest", -1.0, -INF, G),
    ("lambda -0 behaves as 0 for zero", -0.0, -0.0, 0.0),
    ("lambda -0 behaves as 0 for the rest", 1.0, -0.0, G),
    ("x at lambda is zeroed", 0.5, 0.5, 0.0),
    ("x at -lambda is zeroed", -0.5, 0.5, 0.0),
]


@pytest.mark.parametrize(
    ("x", "lambd", "result"), [e[1:] for e in EDGES], ids=[e[0] for e in EDGES]
)
def test_backward_edges(x, lambd, result):
    for dtype in DTYPES:
        assert_same_bits(array([result], dtype), grad_of([x], lambd=lambd, dtype=dtype, grad=[G]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_gradient_outside_passes_with_every_bit(dtype):
    width = FLOATS[dtype].itemsize * 2
    patterns = [int(p[:width], 16) for p in ("80000000", "7f800001", "ffc01234", "00010001")]
    grad = from_bits(patterns, dtype)
    assert_same_bits(grad, hardshrink_grad(grad, np.ones_like(grad), 0.5))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_gradient_in_the_dead_zone_becomes_plus_zero_by_selection_not_by_multiplication(dtype):
    grad = [INF, NAN, -2, 3, -INF, -0.0]
    assert_same_bits(array([0.0] * 6, dtype), grad_of([0.1] * 6, lambd=0.5, dtype=dtype, grad=grad))


def test_fp16_compares_with_lambda_rounded_to_fp16():
    # 0.3 becomes 0.30004883: that x is above lambda, and yet zeroed
    assert_same_bits(array([0], "float16"), grad_of([0.300048828125], lambd=0.3, dtype="float16"))
    next_one = np.nextafter(np.float16(0.300048828125), np.float16(1))
    assert_same_bits(array([1], "float16"), grad_of([next_one], lambd=0.3, dtype="float16"))


def test_float32_and_bf16_compare_with_lambda_unrounded():
    assert_same_bits(array([1]), grad_of([0.300048828125], lambd=0.3))
    assert_same_bits(array([1], "bfloat16"), grad_of([0.10009765625], lambd=0.1, dtype="bfloat16"))
    assert_same_bits(array([0], "bfloat16"), grad_of([0.69921875], lambd=0.7, dtype="bfloat16"))


@pytest.mark.parametrize("lambd", [65520.0, 70000.0, 3e38])
def test_fp16_with_lambda_beyond_its_range_zeroes_infinity_too(lambd):
    x = [INF, -INF, 65504.0, NAN]
    assert_same_bits(array([0, 0, 0, 1], "float16"), grad_of(x, lambd=lambd, dtype="float16"))
    assert_same_bits(array([1, 1, 0, 1], "float16"), grad_of(x, lambd=65519.996, dtype="float16"))


# -- the edge table of the forward kernel --------------------------------------

FORWARD_EDGES = [
    ("+0 stays", 0.0, 0.5, 0.0),
    ("-0 loses its sign", -0.0, 0.5, 0.0),
    ("-0 loses its sign at lambda 0", -0.0, 0.0, 0.0),
    ("-0 loses its sign at lambda -0", -0.0, -0.0, 0.0),
    ("a negative in the dead zone becomes +0", -0.25, 0.5, 0.0),
    ("x at lambda is zeroed", 0.5, 0.5, 0.0),
    ("x at -lambda is zeroed", -0.5, 0.5, 0.0),
    ("x outside stays", -0.75, 0.5, -0.75),
    ("inf stays at a finite lambda", INF, 0.5, INF),
    ("-inf stays at a finite lambda", -INF, 0.5, -INF),
    ("inf is zeroed by lambda inf", INF, INF, 0.0),
    ("-inf is zeroed by lambda inf", -INF, INF, 0.0),
    ("a negative lambda is not clamped: -0 stays", -0.0, -0.5, -0.0),
    ("lambda -inf: -0 stays", -0.0, -INF, -0.0),
    ("a negative lambda leaves x", 0.25, -0.5, 0.25),
    ("lambda NaN leaves x", 0.25, NAN, 0.25),
    ("lambda NaN leaves -0", -0.0, NAN, -0.0),
]


@pytest.mark.parametrize(
    ("x", "lambd", "result"), [e[1:] for e in FORWARD_EDGES], ids=[e[0] for e in FORWARD_EDGES]
)
def test_forward_edges(x, lambd, result):
    for dtype in DTYPES:
        assert_same_bits(array([result], dtype), hardshrink(array([x], dtype), lambd))


@pytest.mark.parametrize("lambd", [0.5, 0.0, -1.0, INF, NAN])
def test_forward_keeps_nan_with_its_payload(lambd):
    nans = from_bits([0x7FC00000, 0xFFC00001, 0x7F800001], "float32")
    assert_same_bits(nans, hardshrink(nans, lambd))
    for dtype in ("float16", "bfloat16"):
        x = array([NAN], dtype)
        assert np.isnan(hardshrink(x, lambd).astype(np.float32)).all()


# λ and the one fp16 magnitude that forward keeps and backward gives no gradient, if any.
PARTING = [
    (0.3, 0x34CD),
    (0.7, 0x399A),
    (0.001, 0x1419),
    (1 + 3 * 2.0**-11, 0x3C02),
    (1.5 * 2.0**-25, 0x0001),
    (65520.0, 0x7C00),
    (70000.0, 0x7C00),
    *((lambd, None) for lambd in (0.5, 0.1, 0.2, 0.25, 0.9, 1.1, 2.2, 1 / 3, 1e-8)),
    *((lambd, None) for lambd in (2.0**-24, 2.0**-25, 1 + 2.0**-11, 65504.0)),
]


def every(dtype):
    return from_bits(np.arange(0x10000), dtype)


@pytest.mark.parametrize(("lambd", "pattern"), PARTING, ids=[str(row[0]) for row in PARTING])
def test_forward_and_backward_part_on_fp16_only_where_half_of_lambda_is_above_lambda(
    lambd, pattern
):
    x = every("float16")
    kept = bits_of(hardshrink(x, lambd)) != 0
    passed = bits_of(hardshrink_grad(np.ones_like(x), x, lambd)) != 0
    expected = [] if pattern is None else [pattern, pattern | 0x8000]
    assert np.flatnonzero(kept != passed).tolist() == expected
    assert kept[expected].all()


@pytest.mark.parametrize("lambd", [0.0, 0.1, 0.3, 0.5, 0.7, 0.001, 1 / 3, 70000.0, INF])
def test_forward_and_backward_have_the_same_dead_zone_on_bf16(lambd):
    x = every("bfloat16")
    kept = bits_of(hardshrink(x, lambd)) != 0
    assert np.array_equal(kept, bits_of(hardshrink_grad(np.ones_like(x), x, lambd)) != 0)


@pytest.mark.parametrize(
    ("dtype", "lambd", "forward", "backward"),
    [
        ("float16", 0.5, 36862, 36862),
        ("float16", 0.3, 38502, 38500),
        ("float16", 0.1, 41778, 41778),
        ("bfloat16", 0.5, 33278, 33278),
        ("bfloat16", 0.3, 33484, 33484),
        ("bfloat16", 0.1, 33894, 33894),
    ],
)
def test_so_many_of_the_65536_patterns_survive(dtype, lambd, forward, backward):
    x = every(dtype)
    assert np.count_nonzero(bits_of(hardshrink(x, lambd))) == forward
    assert np.count_nonzero(bits_of(hardshrink_grad(np.ones_like(x), x, lambd))) == backward


# -- every 16-bit pattern against the formula read in Python floats ------------

SWEEP = [
    *(0.0, -0.0, 0.1, 0.3, 0.5, 0.7, 1.0, 1 / 3, 2.0**-24, 1.5 * 2.0**-25, 2.0**-26),
    *(1e-40, 65504.0, 65519.996, 65520.0, 3e38, INF, -0.3, -INF, NAN),
]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("lambd", SWEEP)
def test_all_65536_patterns_follow_the_formula(dtype, lambd):
    patterns = list(range(0x10000))
    gradient = [(pattern * 40503 + 1) & 0xFFFF for pattern in patterns]
    bits = formula.float32_pattern(lambd)
    x, grad = from_bits(patterns, dtype), from_bits(gradient, dtype)
    want = from_bits(formula.hardshrink_grad(gradient, patterns, bits, dtype), dtype)
    assert_same_bits(want, hardshrink_grad(grad, x, lambd))
    want = from_bits(formula.hardshrink(patterns, bits, dtype), dtype)
    assert_same_bits(want, hardshrink(x, lambd))


# -- reports from the field ----------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_dead_zone_is_closed_and_one_step_outside_passes(dtype):
    half = array([0.5], dtype)
    bits = BITS[dtype].type
    up = (half.view(bits) + bits(1)).view(half.dtype)
    down = (half.view(bits) - bits(1)).view(half.dtype)
    x = np.concatenate([half, -half, up, -up, down, -down])
    assert_same_bits(array([0, 0, 1, 1, 0, 0], dtype), hardshrink_grad(np.ones_like(x), x, 0.5))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_negative_lambda_is_used_as_zero(dtype):
    x = [-1, -0.0, 0.0, 1e-7, 0.2]
    assert_same_bits(array([1, 0, 0, 1, 1], dtype), grad_of(x, lambd=-0.3, dtype=dtype))
    assert_same_bits(array([1, 0, 0, 1, 1], dtype), grad_of(x, lambd=-0.0, dtype=dtype))
    assert lambd_as_compared(dtype, -0.3) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_lambda_zero_gives_no_gradient_at_zero_though_finite_differences_say_one(dtype):
    assert_same_bits(array([0, 0], dtype), grad_of([0.0, -0.0], lambd=0, dtype=dtype))


TAILS = [1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 100, 127, 129]


@pytest.mark.parametrize("dtype", DTYPES)
def test_tails_of_any_length_are_exact_and_write_nothing_behind_the_output(dtype):
    random = np.random.default_rng(17)
    canary = np.arange(64, dtype=np.uint8) ^ np.uint8(0xA5)
    item = FLOATS[dtype].itemsize
    for size in TAILS:
        memory = np.concatenate([canary, np.zeros(size * item, np.uint8), canary])
        out = memory[64 : 64 + size * item].view(FLOATS[dtype])
        patterns = random.integers(0, 1 << 8 * item, size).tolist()
        gradient = random.integers(0, 1 << 8 * item, size).tolist()
        x, grad = from_bits(patterns, dtype), from_bits(gradient, dtype)
        half = formula.float32_pattern(0.5)
        for want, run in [
            (formula.hardshrink_grad(gradient, patterns, half, dtype), hardshrink_grad),
            (formula.hardshrink(patterns, half, dtype), hardshrink),
        ]:
            out[...] = 9
            arguments = (grad, x) if run is hardshrink_grad else (x,)
            assert run(*arguments, 0.5, out=out) is out
            assert_same_bits(from_bits(want, dtype), out)
            assert np.array_equal(memory[:64], canary), size
            assert np.array_equal(memory[-64:], canary), size


@pytest.mark.parametrize("size", [64 * 1024, 64 * 1024 + 1, 256 * 1024, 300_001])
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_longer_than_a_tile_or_a_threads_share_are_exact(dtype, size):
    random = np.random.default_rng(size)
    x = (random.integers(-8, 9, size) / 8).astype(FLOATS[dtype])
    grad = random.integers(1, 100, size).astype(FLOATS[dtype])
    want = np.where(np.abs(x.astype(np.float64)) <= 0.5, 0, grad).astype(FLOATS[dtype])
    assert_same_bits(want, hardshrink_grad(grad, x, 0.5))
    kept = np.where(np.abs(x.astype(np.float64)) <= 0.5, 0, x).astype(FLOATS[dtype])
    assert_same_bits(kept, hardshrink(x, 0.5))


def test_the_upstream_gradient_is_a_factor_not_just_a_mask():
    assert_same_bits(array([2, -3, 0]), grad_of([1, 1, 0.1], lambd=0.5, grad=[2, -3, 0.5]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lambd", [0.0, 0.5, 6.0, INF, NAN, -1.0])
def test_nan_x_gives_the_gradient_or_zero_and_never_another_constant(lambd, dtype):
    grad = array([2, 0, INF, NAN], dtype)
    assert_same_bits(grad, hardshrink_grad(grad, array([NAN] * 4, dtype), lambd))


def test_subnormals_are_not_flushed():
    assert_same_bits(array([1, 1]), grad_of([1e-40, -1e-40], lambd=0))
    assert_same_bits(array([1], "float16"), grad_of([5.96e-8], lambd=0, dtype="float16"))
    assert_same_bits(array([1], "bfloat16"), grad_of([1e-40], lambd=0, dtype="bfloat16"))
    assert_same_bits(array([1e-40]), grad_of([1], lambd=0.5, grad=[1e-40]))
    smallest = from_bits([1, 0x80000001], "float32")
    assert_same_bits(array([0, 0]), hardshrink_grad(array([1, 1]), smallest, float32_from_bits(1)))
    assert_same_bits(smallest, hardshrink(smallest, 0.0))


def test_the_mask_is_not_inverted_and_the_inputs_are_not_exchanged():
    assert_same_bits(array([0, 5]), grad_of([0.1, 0.9], lambd=0.5, grad=[3, 5]))
    assert_same_bits(array([0.1, 0.9]), grad_of([3, 5], lambd=0.5, grad=[0.1, 0.9]))


# -- memory: in place, aliased, strided ----------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [5, 64 * 1024 + 1, 300_001])
def test_the_output_may_be_the_gradient_or_x_itself(dtype, size):
    random = np.random.default_rng(30)
    x = (random.integers(-8, 9, size) / 8).astype(FLOATS[dtype])
    grad = random.integers(-99, 100, size).astype(FLOATS[dtype])
    want = hardshrink_grad(grad, x, 0.5)
    in_grad, in_x = grad.copy(), x.copy()
    assert hardshrink_grad(in_grad, x, 0.5, out=in_grad) is in_grad
    assert_same_bits(want, in_grad)
    hardshrink_grad(grad, in_x, 0.5, out=in_x)
    assert_same_bits(want, in_x)
    kept, in_place = hardshrink(x, 0.5), x.copy()
    hardshrink(in_place, 0.5, out=in_place)
    assert_same_bits(kept, in_place)


@pytest.mark.parametrize("lambd", [0.5, NAN])
def test_grad_self_and_output_may_all_be_one_array(lambd):
    x = array([0.25, -0.75, NAN, -0.0])
    want = hardshrink(x.copy(), lambd)
    hardshrink_grad(x, x, lambd, out=x)
    assert_same_bits(want, x)


@pytest.mark.parametrize("lambd", [0.5, NAN])
@pytest.mark.parametrize("shift", [1, -1, 70_000])
@pytest.mark.parametrize("over", ["grad", "self"])
def test_a_partly_overlapping_output_is_right_or_refused_but_never_silently_wrong(
    over, shift, lambd
):
    size = 150_000
    random = np.random.default_rng(31)
    memory = random.choice(np.float32([-1, -0.25, 0.25, 1]), size + abs(shift))
    first, second = (
        (memory[:size], memory[shift:]) if shift > 0 else (memory[-shift:], memory[:size])
    )
    apart = random.choice(np.float32([-1, 0.25, 3]), size)
    arguments = (first, apart) if over == "grad" else (apart, first)
    want = hardshrink_grad(*(a.copy() for a in arguments), lambd)
    try:
        hardshrink_grad(*arguments, lambd, out=second)
    except LabError:
        return
    assert_same_bits(want, second)


@pytest.mark.parametrize("dtype", DTYPES)
def test_strided_inputs_and_outputs_equal_dense_ones_and_gaps_stay(dtype):
    random = np.random.default_rng(14)
    memory = (random.integers(-8, 9, (8, 9)) / 8).astype(FLOATS[dtype])
    views = [
        memory[::2, 1:7],
        memory[:4, 2:8:1],
        memory.T[2:6, 1:7],
        memory[3::-1, 7:1:-1],
        np.broadcast_to(memory[:1, :6], (4, 6)),
    ]
    for x in views:
        for grad in views:
            want = hardshrink_grad(grad.copy(), x.copy(), 0.5)
            assert_same_bits(want, hardshrink_grad(grad, x, 0.5))
            for cut in [np.s_[::2, 1:13:2], np.s_[:4, 3:9], np.s_[7:3:-1, 6:0:-1]]:
                target = np.full((8, 13), 9, FLOATS[dtype])
                expected = target.copy()
                expected[cut] = want
                hardshrink_grad(grad, x, 0.5, out=target[cut])
                assert_same_bits(expected, target)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (0, 3), (2, 0, 4), (1, 1, 5)], ids=str)
def test_any_rank_and_empty_arrays_keep_their_shape(dtype, shape):
    x = np.full(shape, 0.75, FLOATS[dtype])
    assert_same_bits(np.full(shape, 3, x.dtype), hardshrink_grad(np.full_like(x, 3), x, 0.5))
    assert_same_bits(np.full(shape, 0, x.dtype), hardshrink_grad(np.full_like(x, 3), x, 0.75))
    assert_same_bits(x, hardshrink(x, 0.5))


def test_inputs_are_left_as_they_were():
    x, grad = array([0.25, -0.75, NAN]), array([1, 2, 3])
    before = x.copy(), grad.copy()
    hardshrink_grad(grad, x, 0.5)
    hardshrink(x, 0.5)
    assert_same_bits(before[0], x)
    assert_same_bits(before[1], grad)


def test_read_only_inputs_will_do():
    x = array([0.25, -0.75])
    x.flags.writeable = False
    assert_same_bits(array([0, 1]), hardshrink_grad(np.ones_like(x), x, 0.5))
    assert_same_bits(array([0, -0.75]), hardshrink(x, 0.5))


# -- lambda --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "lambd", "op", "number"),
    [
        ("float32", 0.3, "hardshrink_grad", 0.30000001192092896),
        ("float16", 0.3, "hardshrink_grad", 0.300048828125),
        ("bfloat16", 0.3, "hardshrink_grad", 0.30000001192092896),
        ("float16", 0.3, "hardshrink", 0.30000001192092896),
        ("float16", 70000.0, "hardshrink_grad", INF),
        ("float16", 70000.0, "hardshrink", 70000.0),
        ("float32", -0.3, "hardshrink_grad", 0.0),
        ("float32", -0.5, "hardshrink", -0.5),
    ],
)
def test_the_number_that_x_is_compared_with_can_be_shown(dtype, lambd, op, number):
    assert lambd_as_compared(dtype, lambd, op=op) == number
    assert lambd_as_compared(FLOATS[dtype], Scalar(lambd, "double"), op=op) == number


@pytest.mark.parametrize("op", ["hardshrink_grad", "hardshrink"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_lambda_nan_is_shown_as_nan_and_nothing_is_dead(dtype, op):
    assert math.isnan(lambd_as_compared(dtype, NAN, op=op))
    assert dead_limit(data_type(dtype), np.float32(NAN), op=op) is None


@pytest.mark.parametrize(
    ("dtype", "lambd", "backward", "forward"),
    [
        ("float32", 0.5, 0x3F000000, 0x3F000000),
        ("float16", 0.3, 0x34CD, 0x34CC),
        ("float16", 0.5, 0x3800, 0x3800),
        ("bfloat16", 0.1, 0x3DCC, 0x3DCC),
        ("float16", 70000.0, 0x7C00, 0x7BFF),
        ("float32", -0.0, 0, 0),
        ("float16", -0.0, 0, 0),
        ("bfloat16", -1.0, 0, None),
        ("float32", INF, 0x7F800000, 0x7F800000),
        ("float16", INF, 0x7C00, 0x7C00),
        ("float16", 1e-8, 0, 0),
    ],
)
def test_the_dead_limit_is_the_highest_magnitude_pattern_that_gets_zero(
    dtype, lambd, backward, forward
):
    value = np.float32(lambd)
    assert dead_limit(data_type(dtype), value) == backward
    assert dead_limit(data_type(dtype), value, op="hardshrink") == forward


@pytest.mark.parametrize("lambd", [0.5, np.float64(0.5), Scalar(0.5), Scalar(0.5, "float16")])
def test_lambda_may_be_a_number_or_a_scalar(lambd):
    assert_same_bits(array([0, 1]), grad_of([0.5, 0.6], lambd=lambd))


# -- errors --------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "int32", "complex64", "uint16", "U3", "bool"])
def test_other_dtypes_are_refused(dtype):
    x = np.zeros(2, dtype)
    for call in (lambda: hardshrink_grad(x, x, 0.5), lambda: hardshrink(x, 0.5)):
        with pytest.raises(LabValueError, match="float32, float16 and bfloat16"):
            call()


def test_byte_swapped_arrays_are_right_or_refused_but_never_read_as_other_numbers():
    for order in "<>":
        x = np.array([0.25, -0.75, 3.0], f"{order}f4")
        grad = np.array([1, 2, 4], f"{order}f4")
        try:
            got = hardshrink_grad(grad, x, 0.5)
        except LabValueError:
            continue
        assert got.tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    ("grad", "self"),
    [
        (np.zeros(2, np.float32), np.zeros(3, np.float32)),
        (np.zeros((1, 2), np.float32), np.zeros(2, np.float32)),
        (np.zeros((), np.float32), np.zeros(1, np.float32)),
        (np.zeros(2, np.float16), np.zeros(2, np.float32)),
        (np.zeros(2, BFLOAT16), np.zeros(2, np.float16)),
    ],
    ids=["sizes", "ranks", "0-d and (1,)", "dtypes", "16-bit dtypes"],
)
def test_inputs_of_unequal_shape_or_dtype_are_the_work_of_other_operators(grad, self):
    with pytest.raises(LabValueError, match="other l0 operators"):
        hardshrink_grad(grad, self, 0.5)


@pytest.mark.parametrize(
    "out",
    [np.zeros(3, np.float32), np.zeros((2, 1), np.float32), np.zeros(2, np.float16)],
    ids=["size", "rank", "dtype"],
)
def test_an_output_of_another_shape_or_dtype_is_refused(out):
    x = np.zeros(2, np.float32)
    for call in (
        lambda: hardshrink_grad(x, x, 0.5, out=out),
        lambda: hardshrink(x, 0.5, out=out),
    ):
        with pytest.raises(LabValueError, match=r"out must be float32\[2\]"):
            call()
    assert not out.any()


def test_an_output_that_cannot_be_written_is_refused_alike_on_both_roads():
    x, read_only = np.zeros(2, np.float32), np.zeros(2, np.float32)
    read_only.flags.writeable = False
    for out in (read_only, [0.0, 0.0]):
        with pytest.raises(LabValueError):
            hardshrink_grad(x, x, 0.5, out=out)
        with pytest.raises(LabValueError):
            hardshrink(x, 0.5, out=out)


def test_an_unknown_variant_is_refused_by_name():
    x = np.zeros(2, np.float32)
    with pytest.raises(LabValueError, match="warp"):
        hardshrink_grad(x, x, 0.5, variant="warp")


@pytest.mark.parametrize("lambd", [None, "wide", [0.1, 0.2], 1j], ids=str)
def test_what_is_no_number_is_no_lambda(lambd):
    x = np.zeros(2, np.float32)
    with pytest.raises(LabValueError):
        hardshrink_grad(x, x, lambd)


def test_a_misspelt_operator_is_refused():
    with pytest.raises(LabValueError, match="hardshrnk"):
        lambd_as_compared("float16", 0.3, op="hardshrnk")


@pytest.mark.parametrize("size", [1, 64 * 1024, 200_001])
def test_on_several_threads_the_bits_are_those_of_one(monkeypatch, size):
    monkeypatch.setattr(numerics, "_PARALLEL_FROM", 1)
    monkeypatch.setattr(numerics, "_NUMPY_PARALLEL_FROM", 1)
    monkeypatch.setattr(numerics, "core_count", lambda: 3)
    x = np.linspace(-1, 1, size, dtype=np.float32)
    assert_same_bits(hardshrink_grad(x, x, 0.5), np.where(abs(x) > 0.5, x, np.float32(0)))
