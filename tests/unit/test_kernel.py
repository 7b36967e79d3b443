"""The kernel instruction by instruction: lanes, offsets, waits, and the same bits always."""

from itertools import pairwise

import numpy as np
import pytest
from exact import assert_same_bits

from labkit.errors import LabValueError
from labkit.op import (
    HazardError,
    TilingError,
    data_type,
    hardshrink,
    hardshrink_grad,
    run_kernel,
    tile,
)
from labkit.op.kernel import check_local_start
from labkit.op.program import MTE2, MTE3, V, program
from labkit.op.schedule import CostModel, schedule

DTYPES = ("float32", "float16", "bfloat16")
OPS = ("hardshrink_grad", "hardshrink")
ORDERS = ("program", "early", "late", 1, 2, 3)


def values(count, dtype, seed=0):
    random = np.random.default_rng(seed)
    return random.standard_normal(count).astype(np.float32).astype(data_type(dtype).numpy)


def run(op, count, dtype, order="program", cores=2, **more):
    x, grad = values(count, dtype), values(count, dtype, 1)
    cut = tile(count, dtype, op=op, cores=cores, **more)
    got = run_kernel(None if op == "hardshrink" else grad, x, 0.5, cut, order=order)
    want = hardshrink(x, 0.5) if op == "hardshrink" else hardshrink_grad(grad, x, 0.5)
    return got, want


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("count", [1, 31, 1023, 1024, 1025, 40_000])
def test_every_legal_order_gives_the_bits_of_the_fast_path(op, dtype, order, count):
    got, want = run(op, count, dtype, order)
    assert_same_bits(want, got.out)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_16_bit_pattern_comes_out_alike_as_gradient_and_as_x(dtype):
    every = np.arange(1 << 16, dtype=np.uint16).view(data_type(dtype).numpy)
    ones = np.ones_like(every)
    cut = tile(1 << 16, dtype)
    for grad, x in ((every, ones), (ones, every), (every, every)):
        fast = hardshrink_grad(grad, x, 0.3).view(np.uint16)
        slow = run_kernel(grad, x, 0.3, cut).out.view(np.uint16)
        assert np.array_equal(fast, slow)
    forward = run_kernel(None, every, 0.3, tile(1 << 16, dtype, op="hardshrink"))
    assert np.array_equal(hardshrink(every, 0.3).view(np.uint16), forward.out.view(np.uint16))


@pytest.mark.parametrize("tiles", [1, 2, 3])
@pytest.mark.parametrize("order", ORDERS)
def test_one_two_and_three_tiles_give_the_same_bits(tiles, order):
    count = 9856 * tiles
    got, want = run("hardshrink_grad", count, "float32", order, cores=1)
    assert_same_bits(want, got.out)
    assert len({step.tile for step in got.trace}) == tiles


MISSING = {  # the wait that is left out -> the order in which it is missed
    "V does not wait for the copy in": (lambda a, b: a.pipe == MTE2, "late"),
    "the copy out does not wait for V": (lambda a, b: a.pipe == V and b.pipe == MTE3, "late"),
    "the copy in does not wait for V": (lambda a, b: a.pipe == V and b.pipe == MTE2, "early"),
    "V does not wait for the copy out": (lambda a, b: a.pipe == MTE3, "early"),
}


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", OPS)
def test_a_missing_wait_is_caught(op, dtype, missing):
    drop, order = MISSING[missing]
    x = values(70_000, dtype)
    cut = tile(70_000, dtype, op=op, cores=1)
    with pytest.raises(HazardError, match="a wait is missing"):
        run_kernel(None if op == "hardshrink" else x, x, 0.5, cut, order=order, drop_waits=drop)


def test_backward_computes_the_whole_tile_however_little_of_it_is_valid():
    got, _ = run("hardshrink_grad", 4096, "float32", cores=72)
    assert (got.lanes_valid, got.lanes_computed) == (4096, 72 * 4096)
    first = next(step for step in got.trace if step.name == "Abs")
    assert (first.valid, first.lanes) == (57, 4096)


def test_forward_computes_whole_groups_of_64_lanes():
    got, _ = run("hardshrink", 4096, "float32", cores=72)
    compares = [step for step in got.trace if step.name == "Compare"]
    assert {(step.valid, step.lanes) for step in compares} == {(57, 64), (49, 64)}


@pytest.mark.parametrize(
    ("op", "dtype", "count"),
    [
        ("hardshrink_grad", "float32", 4),
        ("hardshrink_grad", "float16", 4),
        ("hardshrink_grad", "bfloat16", 7),
        ("hardshrink", "float32", 3),
        ("hardshrink", "float16", 5),
        ("hardshrink", "bfloat16", 5),
    ],
)
def test_the_number_of_vector_instructions_per_tile(op, dtype, count):
    steps = program(tile(8, dtype, op=op, cores=1), 0)
    setup = 2 if op == "hardshrink" else 0
    assert sum(step.pipe == V for step in steps) == count + setup


def test_the_offsets_of_the_cores_need_no_alignment():
    steps = program(tile(4096, "float32", cores=72), 1)
    assert steps[0].gm_offset == 57 * 4 and not steps[0].aligned


def test_a_copy_of_more_than_65535_bytes_would_wrap():
    cut = tile(1000, "float32", cores=1).with_tile(17_000)
    assert not any(step.wrapped for step in program(cut, 0))
    long = tile(17_000, "float32", cores=1, ub_bytes=10**7).with_tile(17_000)
    copy = program(long, 0)[0]
    assert copy.wrapped and copy.nbytes == 17_000 * 4 - 65536


def test_a_tile_that_does_not_fit_is_refused_before_anything_runs():
    x = values(5000, "float32")
    with pytest.raises(TilingError, match="this core has 16384"):
        run_kernel(x, x, 0.5, tile(5000, "float32", ub_bytes=16384))


@pytest.mark.parametrize("start", [0, 8, 16])
def test_an_aligned_local_start_is_accepted(start):
    check_local_start(start, "float32")


def test_a_misaligned_local_start_is_refused_by_name_offset_and_alignment():
    with pytest.raises(TilingError, match=r"Abs at local offset 4 bytes.*32 bytes"):
        check_local_start(1, "float32", "Abs")


def test_arrays_that_are_not_the_tilings_are_refused():
    x = values(10, "float32")
    with pytest.raises(LabValueError, match="11 of float32"):
        run_kernel(x, x, 0.5, tile(11, "float32"))
    with pytest.raises(LabValueError, match="needs a gradient"):
        run_kernel(None, x, 0.5, tile(10, "float32"))
    with pytest.raises(LabValueError, match="order"):
        run_kernel(x, x, 0.5, tile(10, "float32"), order="backwards")


# -- the schedule ----------------------------------------------------------------


def test_no_pipe_does_two_things_at_once_and_every_wait_is_kept():
    plan = schedule(tile(200_000, "bfloat16", cores=2))
    for pipe in (MTE2, V, MTE3):
        spans = [span for span in plan.spans if span.step.pipe == pipe]
        assert all(a.end <= b.start for a, b in pairwise(spans))
    for span in plan.spans:
        assert all(plan.spans[place].end <= span.start for place in span.step.waits)


def test_double_buffering_is_quicker_than_none_in_the_model():
    cut = tile(100_000, "float32", cores=1)
    from dataclasses import replace

    single = replace(cut, double_buffer=False)
    assert schedule(cut).cycles < schedule(single).cycles


def test_the_cost_model_is_the_callers_to_change():
    cut = tile(100_000, "float32", cores=1)
    slow = schedule(cut, model=CostModel(copy_in_rate=1))
    assert slow.cycles > schedule(cut).cycles and slow.model.copy_in_rate == 1
