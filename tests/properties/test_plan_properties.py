"""Plans carried out by hand: the right numbers in the right places, and no byte used twice."""

import itertools

import numpy as np
from descriptors import GOOD_DTYPES, chips, maybe_null, shapes, touched, views
from exact import FLOATS, assert_same_bits
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from replay import play

from labkit.op import aclnn, plan_hardshrink, plan_hardshrink_backward

# Numbers that every one of the three dtypes holds exactly, on both sides of λ = 0.5.
NUMBERS = [-3.0, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 2.0, 96.0]
UNTOUCHED = 7.0

workspaces = st.sampled_from(
    ["auto", "none", {"HardShrinkGrad": 0, "Cast": 700, "Slice": 1}, {"Transpose": 481}]
)


@st.composite
def shapes_that_meet(draw):
    """Shapes of gradOutput and self, and the one in which they meet."""
    target = draw(shapes(empty=False))
    pair = []
    for _ in range(2):
        kept = list(target[draw(st.sampled_from([0, 0, 0, 1])) :])
        for axis in range(len(kept)):
            if draw(st.integers(0, 3)) == 0:
                kept[axis] = 1
        pair.append(tuple(kept))
    return *pair, np.broadcast_shapes(*pair)


@st.composite
def output_views(draw, shape, dtype):
    """An output view in its storage, in which no two elements share a place."""
    desc = draw(views(shape, dtype, inside=True))
    places = touched(desc)
    assume(len(set(places)) == len(places))
    return desc


@st.composite
def backward_calls(draw):
    """Descriptors of a backward call that succeeds."""
    grad, self, out = draw(shapes_that_meet())
    kinds = [draw(st.sampled_from(GOOD_DTYPES)) for _ in range(3)]
    return (
        draw(views(grad, kinds[0], inside=True)),
        draw(views(self, kinds[1], inside=True)),
        draw(output_views(out, kinds[2])),
    )


def filled(desc, data):
    """A storage full of numbers, as a flat array."""
    seed = data.draw(st.integers(0, 2**32 - 1))
    numbers = np.random.default_rng(seed).choice(NUMBERS, desc.storage_size)
    return numbers.astype(FLOATS[desc.dtype.numpy_name])


def shown(desc, storage):
    """The elements that a view shows, as a dense array of doubles."""
    return storage[touched(desc)].astype(np.float64).reshape(desc.shape)


@settings(max_examples=150)
@given(backward_calls(), chips, workspaces, st.data())
def test_the_planned_backward_kernels_write_the_gradient_into_the_view_and_nothing_else(
    descs, chip, kernel_workspaces, data
):
    grad, self, out = descs
    plan = plan_hardshrink_backward(
        grad, self, 0.5, out, soc=chip, kernel_workspaces=kernel_workspaces
    )
    assume(plan.ok)  # bf16 on old chips, negative strides on a 950
    storages = {"gradOutput": filled(grad, data), "self": filled(self, data)}
    dtype = FLOATS[out.dtype.numpy_name]
    storages["gradInput"] = np.full(out.storage_size, UNTOUCHED, dtype)
    before = {name: storage.copy() for name, storage in storages.items()}
    x, upstream = shown(self, storages["self"]), shown(grad, storages["gradOutput"])
    want = before["gradInput"].copy()
    result = np.where(np.abs(x) <= 0.5, 0.0, upstream)
    want[touched(out)] = result.astype(dtype).reshape(-1)
    play(plan, storages)
    assert_same_bits(want, storages["gradInput"])
    for name in ("gradOutput", "self"):
        assert_same_bits(before[name], storages[name])


@settings(max_examples=150)
@given(shapes(empty=False), chips, workspaces, st.data())
def test_the_planned_forward_kernels_write_the_result_into_the_view_and_nothing_else(
    shape, chip, kernel_workspaces, data
):
    kinds = [data.draw(st.sampled_from(GOOD_DTYPES)) for _ in range(2)]
    self = data.draw(views(shape, kinds[0], inside=True))
    out = data.draw(output_views(shape, kinds[1]))
    plan = plan_hardshrink(self, 0.5, out, soc=chip, kernel_workspaces=kernel_workspaces)
    assume(plan.ok)
    dtype = FLOATS[out.dtype.numpy_name]
    storages = {"self": filled(self, data), "out": np.full(out.storage_size, UNTOUCHED, dtype)}
    x = shown(self, storages["self"])
    want = storages["out"].copy()
    want[touched(out)] = np.where(np.abs(x) <= 0.5, 0.0, x).astype(dtype).reshape(-1)
    play(plan, storages)
    assert_same_bits(want, storages["out"])


@settings(max_examples=100)
@given(backward_calls(), chips, workspaces)
def test_tensors_alive_at_the_same_time_never_share_a_byte(descs, chip, kernel_workspaces):
    grad, self, out = descs
    plan = plan_hardshrink_backward(
        grad, self, 0.5, out, soc=chip, kernel_workspaces=kernel_workspaces
    )
    alive = {}  # name -> (first byte, end, first launch, last launch)
    for number, launch in enumerate(plan.launches):
        if launch.workspace is not None:
            start = plan.workspace_offsets[f"kernel{number}"]
            alive[f"kernel{number}"] = (start, start + launch.workspace, number, number)
        for operand in launch.outputs:
            if operand.buffer in plan.workspace_offsets:
                start = plan.workspace_offsets[operand.buffer]
                alive[operand.buffer] = (start, start + operand.nbytes, number, number)
        for operand in launch.inputs:
            if operand.buffer in plan.workspace_offsets:
                alive[operand.buffer] = (*alive[operand.buffer][:3], number)
    assert set(alive) == set(plan.workspace_offsets)
    for (a, a_end, born, dead), (b, b_end, start, end) in itertools.combinations(alive.values(), 2):
        if born <= end and start <= dead:
            assert a_end <= b or b_end <= a
    assert all(0 <= start <= end <= plan.workspace_size for start, end, *_ in alive.values())


@given(backward_calls(), chips, workspaces)
def test_planning_the_same_call_again_decides_the_same(descs, chip, kernel_workspaces):
    grad, self, out = descs

    def decide():
        aclnn._plan_backward.cache_clear()
        return plan_hardshrink_backward(
            grad, self, 0.5, out, soc=chip, kernel_workspaces=kernel_workspaces
        )

    first, second = decide(), decide()
    assert first is not second
    assert first == second


@given(shapes(), chips, st.data())
def test_planning_forward_the_same_call_again_decides_the_same(shape, chip, data):
    self, out = (
        data.draw(maybe_null(views(shape, data.draw(st.sampled_from(GOOD_DTYPES)))))
        for _ in range(2)
    )

    def decide():
        aclnn._plan_forward.cache_clear()
        return plan_hardshrink(self, 0.5, out, soc=chip)

    first, second = decide(), decide()
    assert first is not second
    assert first == second
