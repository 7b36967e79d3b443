"""What phase 1 decides: which kernels, with which operands, and where the workspace lies."""

import dataclasses
import itertools

import pytest

from labkit.errors import LabValueError
from labkit.op import Scalar, TensorDesc, aclnn, plan_hardshrink, plan_hardshrink_backward
from labkit.op.dtypes import data_types
from labkit.op.workspace import Member, align, allocate


def desc(shape, strides=None, *, offset=0, storage=None, dtype="float32"):
    return TensorDesc(dtype, shape, strides, offset, storage)


def dense(like):
    return TensorDesc(like.dtype, like.shape)


def of_self(view, **options):
    """The plan of a backward call in which only self is a view."""
    return plan_hardshrink_backward(dense(view), view, 0.5, dense(view), **options)


def into(out, **options):
    """The plan of a backward call in which only gradInput is a view."""
    return plan_hardshrink_backward(dense(out), dense(out), 0.5, out, **options)


def kernels(plan):
    assert plan.ok, plan.message
    return [launch.op_type for launch in plan.launches]


def constants(launch):
    return [operand.const for operand in launch.inputs if operand.const is not None]


def copies(view, soc="Ascend950PR_9599"):
    """The kernels that make self contiguous: (op type, source shape, result shape, constants)."""
    plan = of_self(view, soc=soc, kernel_workspaces="none")
    found = kernels(plan)
    assert found[-1] == "HardShrinkGrad"
    return [
        (step.op_type, step.inputs[0].shape, step.outputs[0].shape, *constants(step))
        for step in plan.launches[:-1]
    ]


# -- the plain call ------------------------------------------------------------


def test_equal_contiguous_tensors_of_one_dtype_need_one_kernel_and_no_copy():
    plan = into(desc((2, 3)))
    assert kernels(plan) == ["HardShrinkGrad"]
    (launch,) = plan.launches
    assert [operand.buffer for operand in launch.inputs] == ["gradOutput", "self"]
    assert launch.outputs[0].buffer == "gradInput"
    assert launch.outputs[0].redirected
    assert (launch.core, launch.attrs["lambd"]) == ("AICORE", 0.5)
    assert plan.result_shape == (2, 3)


def test_the_steps_tell_the_whole_chain_also_what_was_skipped():
    steps = [(step.name, step.skipped) for step in into(desc((2, 3))).steps if step.layer == "l0"]
    assert steps == [
        ("Contiguous", True),
        ("Contiguous", True),
        ("Cast", True),
        ("Cast", True),
        ("HardShrinkGrad", False),
        ("Cast", True),
        ("ViewCopy", True),
    ]


def test_the_forward_chain_is_shorter_and_never_broadcasts():
    plan = plan_hardshrink(desc((2, 3)), 0.5, desc((2, 3)))
    assert [step.name for step in plan.steps if step.layer == "l0"] == [
        "Contiguous",
        "HardShrink",
        "Cast",
        "ViewCopy",
    ]
    assert kernels(plan) == ["HardShrink"]
    assert [operand.buffer for operand in plan.launches[0].inputs] == ["self"]


def test_every_step_says_why_and_names_its_launches_in_launch_order():
    plan = plan_hardshrink_backward(
        desc((4, 1), dtype="float16"), desc((4, 6), (1, 4)), 0.5, desc((4, 6), (12, 1), storage=48)
    )
    assert all(step.why for step in plan.steps)
    assert [n for step in plan.steps for n in step.launches] == list(range(len(plan.launches)))
    assert all(step.skipped == (not step.launches) for step in plan.steps)


def test_the_longest_chain_launches_in_the_order_of_creation():
    plan = plan_hardshrink_backward(
        desc((1, 4), dtype="float16"),
        desc((2, 4), (1, 2)),
        0.5,
        desc((2, 4), (1, 2), dtype="float16"),
    )
    assert kernels(plan) == [
        "Transpose",
        "BroadcastTo",
        "BroadcastTo",
        "Cast",
        "HardShrinkGrad",
        "Cast",
        "Transpose",
    ]
    # self is made contiguous first, but gradOutput is broadcast first
    assert plan.launches[0].inputs[0].buffer == "self"
    assert plan.launches[1].inputs[0].buffer == "gradOutput"


def test_of_two_strided_inputs_self_is_copied_first():
    turned = desc((2, 4), (1, 2))
    plan = plan_hardshrink_backward(turned, turned, 0.5, desc((2, 4)))
    first = [launch.inputs[0].buffer for launch in plan.launches]
    assert first == ["self", "gradOutput", "tensor2"]


# -- broadcasting and casting --------------------------------------------------


def test_when_shapes_differ_both_inputs_are_broadcast_even_the_one_that_fits():
    plan = plan_hardshrink_backward(desc((4,)), desc((2, 4)), 0.5, desc((2, 4)))
    assert kernels(plan) == ["BroadcastTo", "BroadcastTo", "HardShrinkGrad"]
    sources = [launch.inputs[0].shape for launch in plan.launches[:2]]
    assert sources == [(4,), (2, 4)]
    assert [launch.outputs[0].shape for launch in plan.launches[:2]] == [(2, 4), (2, 4)]


@pytest.mark.parametrize(
    ("grad", "self", "out"), [((), (1,), (1,)), ((1, 3), (3,), (1, 3)), ((1,), (), (1,))], ids=str
)
def test_a_difference_in_rank_alone_launches_both_broadcasts(grad, self, out):
    plan = plan_hardshrink_backward(desc(grad), desc(self), 0.5, desc(out))
    assert kernels(plan) == ["BroadcastTo", "BroadcastTo", "HardShrinkGrad"]


def test_equal_shapes_are_never_broadcast_whatever_their_strides():
    plan = plan_hardshrink_backward(desc((2, 4), (1, 2)), desc((2, 4)), 0.5, desc((2, 4)))
    assert kernels(plan) == ["Transpose", "HardShrinkGrad"]


CASTS = {  # dtypes of gradOutput, self, gradInput -> (casts before, casts after)
    ("float32", "float32", "float32"): (0, 0),
    ("float16", "float32", "float32"): (1, 0),
    ("float32", "bfloat16", "float32"): (1, 0),
    ("float16", "bfloat16", "float16"): (2, 1),
    ("float16", "float16", "bfloat16"): (0, 1),
    ("float16", "float16", "float16"): (0, 0),
    ("bfloat16", "float32", "bfloat16"): (1, 1),
}


@pytest.mark.parametrize("dtypes", CASTS, ids="-".join)
def test_a_cast_is_launched_exactly_when_the_dtype_changes(dtypes):
    grad, self, out = (desc((2, 3), dtype=dtype) for dtype in dtypes)
    before, after = CASTS[dtypes]
    plan = plan_hardshrink_backward(grad, self, 0.5, out)
    assert kernels(plan) == ["Cast"] * before + ["HardShrinkGrad"] + ["Cast"] * after
    casts = [launch for launch in plan.launches if launch.op_type == "Cast"]
    assert all(c.inputs[0].dtype is not c.outputs[0].dtype for c in casts)
    grads = [launch for launch in plan.launches if launch.op_type == "HardShrinkGrad"]
    assert {operand.dtype for operand in grads[0].inputs} == {plan.promoted}


def test_forward_computes_in_the_dtype_of_self_and_casts_afterwards():
    plan = plan_hardshrink(desc((2, 3), dtype="float16"), 0.5, desc((2, 3)))
    assert kernels(plan) == ["HardShrink", "Cast"]
    assert plan.launches[0].inputs[0].dtype.short == "FLOAT16"


@pytest.mark.parametrize("soc", ["Ascend310B1", "Ascend031", "Ascend035"])
def test_a_bf16_cast_runs_on_the_ai_cpu_of_old_chips(soc):
    plan = plan_hardshrink(desc((2, 3), dtype="bfloat16"), 0.5, desc((2, 3)), soc=soc)
    assert [(launch.op_type, launch.core) for launch in plan.launches] == [
        ("HardShrink", "AICORE"),
        ("Cast", "AICPU"),
    ]
    half = plan_hardshrink(desc((2, 3), dtype="float16"), 0.5, desc((2, 3)), soc=soc)
    assert [launch.core for launch in half.launches] == ["AICORE", "AICORE"]


# -- Contiguous: what a strided input becomes ----------------------------------


def test_an_offset_costs_nothing():
    plan = of_self(desc((2, 3), offset=5, storage=(20,)))
    assert kernels(plan) == ["HardShrinkGrad"]
    assert plan.launches[0].inputs[1].offset == 5


def test_a_transposed_view_becomes_one_transpose():
    assert copies(desc((2, 4), (1, 2))) == [("Transpose", (4, 2), (2, 4), (1, 0))]


def test_a_permutation_of_three_axes_becomes_one_transpose():
    # shape (2, 3, 4) over a row-major (4, 2, 3): axis 2 is the slowest
    assert copies(desc((2, 3, 4), (3, 1, 6))) == [("Transpose", (4, 2, 3), (2, 3, 4), (1, 2, 0))]


def test_size_one_axes_take_no_part_in_a_transpose():
    assert copies(desc((2, 1, 4), (1, 77, 2))) == [("Transpose", (4, 2), (2, 4), (1, 0))]


def test_rows_cut_short_become_one_slice():
    view = desc((4, 4), (8, 1), offset=2, storage=(4, 8))
    assert copies(view) == [("Slice", (4, 8), (4, 4), (0, 2), (4, 4))]


def test_every_second_element_of_a_row_is_a_slice_of_pairs():
    view = desc((4,), (2,), offset=1, storage=(8,))
    assert copies(view) == [("Slice", (4, 2), (4, 1), (0, 1), (4, 1))]


def test_every_second_column_becomes_one_strided_slice():
    view = desc((4, 3), (8, 2), offset=1, storage=(4, 8))
    begin, end, step = (0, 1), (4, 7), (1, 2)
    assert copies(view) == [("StridedSlice", (4, 8), (4, 3), begin, end, step)]


def test_a_stepped_axis_need_not_have_room_for_its_last_step():
    view = desc((2, 2, 2), (12, 8, 2), storage=(24,))
    begin, end, step = (0, 0, 0), (2, 4, 4), (1, 2, 2)
    assert copies(view) == [("StridedSlice", (2, 3, 4), (2, 2, 2), begin, end, step)]
    # and the offset is taken apart axis by axis
    further = desc((2, 1, 2), (12, 8, 2), offset=5, storage=(24,))
    assert copies(further) == [("StridedSlice", (2, 12), (2, 2), (0, 5), (2, 9), (1, 2))]


def test_a_broadcast_view_becomes_one_broadcast():
    assert copies(desc((3, 4), (0, 1), storage=(4,))) == [("BroadcastTo", (1, 4), (3, 4), (3, 4))]
    assert copies(desc((3, 4), (1, 0), storage=(3,))) == [("BroadcastTo", (3, 1), (3, 4), (3, 4))]
    assert copies(desc((3, 4), (0, 0), storage=())) == [("BroadcastTo", (1, 1), (3, 4), (3, 4))]


def test_a_size_one_axis_of_stride_zero_costs_a_broadcast_of_equal_shapes():
    view = desc((1, 4), (0, 2), storage=(8,))
    assert copies(view) == [
        ("Slice", (4, 2), (4, 1), (0, 0), (4, 1)),
        ("BroadcastTo", (1, 4), (1, 4), (1, 4)),
    ]
    assert [step[0] for step in copies(desc((1, 4), (9, 2), storage=(8,)))] == ["Slice"]


def test_slice_transpose_and_broadcast_follow_in_this_order():
    view = desc((4, 3, 2), (1, 0, 8), storage=(2, 8))
    assert [step[0] for step in copies(view)] == ["Slice", "Transpose", "BroadcastTo"]
    cut_and_turned = desc((4, 2), (1, 8), storage=(2, 8))
    assert copies(cut_and_turned) == [
        ("Slice", (2, 8), (2, 4), (0, 0), (2, 4)),
        ("Transpose", (2, 4), (4, 2), (1, 0)),
    ]
    every_second_turned = desc((3, 4), (2, 8), storage=(4, 8))
    assert [step[0] for step in copies(every_second_turned)] == ["StridedSlice", "Transpose"]


@pytest.mark.parametrize(
    "view",
    [
        desc((2, 3), (-3, 1), offset=3),
        desc((3,), (-1,), offset=2),
        desc((3, 4), (2, 1), storage=(8,)),  # rows overlap
        desc((3, 3), (5, 2), storage=(20,)),  # the pace leaves no room for a whole row
        desc((2, 4), (9, 1), storage=(13,)),  # the storage holds no second whole row
    ],
    ids=str,
)
def test_what_fits_no_pattern_becomes_one_as_strided(view):
    assert copies(view) == [("AsStrided", view.shape, view.shape, view.shape, view.strides, (0,))]


def test_a_cut_and_turned_view_whose_last_axis_is_whole_blocks_becomes_as_strided():
    # last stride 1 and a multiple of 64 long, as the caller gave it
    turned = desc((2, 3, 64), (256, 512, 1), storage=(3, 2, 256))
    assert [step[0] for step in copies(turned)] == ["AsStrided"]
    shorter = desc((2, 3, 63), (256, 512, 1), storage=(3, 2, 256))
    assert [step[0] for step in copies(shorter)] == ["Slice", "Transpose"]
    for stride in (1, 7):  # a last axis of size 1 hides it
        hidden = desc((2, 3, 64, 1), (256, 512, 1, stride), storage=(3, 2, 256))
        assert [step[0] for step in copies(hidden)] == ["Slice", "Transpose"]


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((4, 288, 2, 2, 240, 240), (67046400, 230400, 480, 1, 960, 2)),
        ((4, 512, 2, 2, 120, 120), (33177600, 57600, 240, 1, 480, 2)),
        ((4, 10, 32, 128), (122880, 128, 3840, 1)),
    ],
    ids=str,
)
def test_three_fixed_views_go_to_as_strided_though_another_pattern_fits(shape, strides):
    view = desc(shape, strides, storage=(4 * strides[0],))
    assert [step[0] for step in copies(view)] == ["AsStrided"]
    near = desc((*shape[:-1], shape[-1] - 1), strides, storage=(4 * strides[0],))
    assert "AsStrided" not in [step[0] for step in copies(near)]


def test_kernels_read_at_the_views_offset_or_get_it_among_their_operands():
    def source_offset(view, soc="Ascend910B1"):
        return of_self(view, soc=soc).launches[0].inputs[0].offset

    assert source_offset(desc((2, 4), (1, 2), offset=3, storage=(20,))) == 3  # Transpose
    assert source_offset(desc((3, 4), (0, 1), offset=3, storage=(20,))) == 3  # BroadcastTo
    assert source_offset(desc((3,), (-1,), offset=5, storage=(20,))) == 5  # AsStrided
    assert source_offset(desc((2, 4), (8, 1), offset=3, storage=(2, 8))) == 0  # Slice


def test_a_950_cannot_prepare_as_strided_for_a_negative_stride_on_a_longer_axis():
    backwards = desc((2, 3), (-3, 1), offset=3)
    assert of_self(backwards).status == 561103
    assert of_self(backwards, soc="Ascend910B1").status == 0
    assert of_self(backwards, kernel_workspaces="none").status == 0
    (launch, _) = of_self(backwards, kernel_workspaces="none").launches
    assert launch.tiling_fault  # it will fail in phase 2 instead
    never_steps = desc((1, 3), (-4, 2), storage=(9,))
    assert kernels(of_self(never_steps)) == ["AsStrided", "HardShrinkGrad"]


def test_a_950_cannot_prepare_view_copy_for_a_negative_stride_on_a_longer_axis():
    assert into(desc((2, 3), (-3, 1), offset=3)).status == 561103
    never_steps = desc((1, 3), (-4, 2), storage=(9,))
    assert kernels(into(never_steps)) == ["HardShrinkGrad", "ViewCopy"]


def test_the_950s_as_strided_counts_a_storage_of_2_to_the_32_as_empty():
    def status(elements, offset=0):
        return of_self(desc((3, 4), (2, 1), offset=offset, storage=(elements,))).status

    assert status(2**32) == 561103
    assert status(2**32 - 1) == 0
    assert status(2**32 + 1) == 0
    assert status(2**33) == 561103
    assert status(2**32 + 5, offset=5) == 561103
    assert status(2**32, offset=5) == 0


# -- SliceV2 on A2 and A3 ------------------------------------------------------


def rows_cut(rows, width, cut, offset, dtype="float32"):
    return desc((rows, cut), (width, 1), offset=offset, storage=(rows, width), dtype=dtype)


@pytest.mark.parametrize(
    ("view", "kernel"),
    [
        (rows_cut(65536, 64, 24, 8), "SliceV2"),
        (rows_cut(65536, 64, 24, 16), "Slice"),  # starts on a 64-byte boundary
        (rows_cut(65536, 64, 25, 8), "Slice"),  # not whole blocks of 32 bytes
        (rows_cut(65536, 66, 24, 8), "Slice"),
        (rows_cut(131072, 64, 8, 8), "Slice"),  # exactly 1 Mi elements is not more than that
        (rows_cut(131073, 64, 8, 8), "SliceV2"),
        (rows_cut(65536, 192, 24, 8), "SliceV2"),
        (rows_cut(65536, 200, 24, 8), "Slice"),  # rows too long
        (rows_cut(65536, 64, 24, 8, "float16"), "Slice"),  # a block is 16 of these
        (rows_cut(65536, 64, 32, 16, "float16"), "SliceV2"),
        (rows_cut(65536, 64, 32, 32, "float16"), "Slice"),
        (rows_cut(65536, 64, 16, 8, "float16"), "Slice"),  # 1 Mi exactly
        (rows_cut(65537, 64, 16, 8, "float16"), "SliceV2"),
    ],
    ids=str,
)
def test_slice_v2_takes_over_when_the_last_axis_is_cut_under_size_rules(view, kernel):
    for soc in ("Ascend910B1", "Ascend910_9391"):
        assert [step[0] for step in copies(view, soc)] == [kernel]
    for soc in ("Ascend950PR_9599", "Ascend910A", "Ascend910B", "Ascend310P3"):
        assert [step[0] for step in copies(view, soc)] == ["Slice"]


def middle_cut(first, have, cut, tail):
    return desc((first, cut, tail), (have * tail, tail, 1), storage=(first, have, tail))


@pytest.mark.parametrize(
    ("view", "kernel"),
    [
        (middle_cut(2, 100, 72, 32768), "SliceV2"),
        (middle_cut(2, 100, 47, 65536), "Slice"),  # fewer than 48 rows
        (middle_cut(2, 100, 48, 49152), "SliceV2"),  # exactly 196608 * 48 bytes
        (middle_cut(2, 100, 48, 49144), "Slice"),
        (middle_cut(12, 100, 72, 32768), "SliceV2"),
        (middle_cut(13, 100, 72, 32768), "Slice"),
        (middle_cut(2, 100, 72, 32772), "Slice"),  # not whole blocks
    ],
    ids=str,
)
def test_slice_v2_takes_over_when_a_middle_axis_is_cut_under_size_rules(view, kernel):
    assert [step[0] for step in copies(view, "Ascend910B1")] == [kernel]
    assert [step[0] for step in copies(view, "Ascend950PR_9599")] == ["Slice"]


# -- ViewCopy: how the result reaches the output -------------------------------


def test_a_contiguous_output_is_written_by_the_last_kernel_itself():
    plan = into(desc((2, 3), offset=4, storage=(50,)))
    assert kernels(plan) == ["HardShrinkGrad"]
    output = plan.launches[0].outputs[0]
    assert (output.buffer, output.offset, output.redirected) == ("gradInput", 4, True)


def test_after_a_cast_it_is_the_cast_that_is_redirected():
    out = desc((2, 3), dtype="float16")
    plan = plan_hardshrink_backward(desc((2, 3)), desc((2, 3)), 0.5, out)
    assert [launch.outputs[0].redirected for launch in plan.launches] == [False, True]
    assert plan.launches[1].outputs[0].buffer == "gradInput"


def test_a_permuted_output_is_written_by_a_transpose():
    plan = into(desc((2, 4), (1, 2), offset=3, storage=(20,)))
    assert kernels(plan) == ["HardShrinkGrad", "Transpose"]
    last = plan.launches[1]
    assert last.outputs[0].buffer == "gradInput"
    assert (last.outputs[0].shape, last.outputs[0].offset) == ((4, 2), 3)
    assert not last.outputs[0].redirected
    assert constants(last) == [(1, 0)]


def test_an_output_with_gaps_is_written_by_view_copy():
    plan = into(desc((4, 4), (8, 1), offset=2, storage=(4, 8)))
    assert kernels(plan) == ["HardShrinkGrad", "ViewCopy"]
    assert constants(plan.launches[1]) == [(4, 4), (8, 1), (2,), (4, 4), (4, 1), (0,)]
    assert [op.buffer for op in plan.launches[1].inputs if op.const is None] == [
        "gradInput",
        "tensor1",
    ]


@pytest.mark.parametrize(
    "out",
    [
        desc((2, 4), (1, 3), storage=(20,)),  # permuted with gaps
        desc((2, 3), (0, 1), storage=(3,)),
        desc((2, 1, 4), (1, 0, 2), storage=(8,)),  # a stride of 0 on a size-1 axis
    ],
    ids=str,
)
def test_a_permutation_with_gaps_or_a_zero_stride_is_no_transpose(out):
    assert kernels(into(out)) == ["HardShrinkGrad", "ViewCopy"]


KNOWN_TO_THE_CORE = [
    desc((4, 4), (8, 1), storage=(4, 8)),  # one padded axis
    desc((4, 3, 5), (30, 10, 1), storage=(4, 3, 10)),  # padded in the last axis
    desc((2, 8, 2), (16, 1, 8), storage=(2, 16)),  # a turned permutation goes to Transpose
    desc((4, 3, 64), (1000, 200, 1), storage=(4000,)),  # long runs
    desc((4,), (3,), storage=(12,)),
]
UNKNOWN_TO_THE_CORE = [
    desc((4, 4), (16, 2), storage=(4, 16)),
    desc((4, 3, 5), (1000, 200, 1), storage=(4000,)),  # short runs
]


@pytest.mark.parametrize("out", UNKNOWN_TO_THE_CORE, ids=str)
def test_strides_that_the_kernel_does_not_know_go_to_the_ai_cpu_before_the_950(out):
    for soc in ("Ascend910B1", "Ascend910_9391", "Ascend910A", "Ascend310P3"):
        launch = into(out, soc=soc).launches[-1]
        assert (launch.op_type, launch.core) == ("ViewCopy", "AICPU"), soc
    launch = into(out, soc="Ascend950PR_9599").launches[-1]
    assert (launch.op_type, launch.core) == ("ViewCopy", "AICORE")


@pytest.mark.parametrize("out", KNOWN_TO_THE_CORE, ids=str)
def test_strides_that_the_kernel_knows_stay_on_the_ai_core(out):
    for soc in ("Ascend910B1", "Ascend910A", "Ascend950PR_9599"):
        launch = into(out, soc=soc).launches[-1]
        assert launch.op_type in ("ViewCopy", "Transpose")
        assert launch.core == "AICORE", soc


@pytest.mark.parametrize("soc", ["Ascend910A", "Ascend910B", "Ascend310P3"])
def test_on_first_generation_chips_a_contiguous_output_with_more_storage_behind_is_a_device_copy(
    soc,
):
    plan = into(desc((2, 3), offset=1, storage=(10,)), soc=soc)
    assert [(launch.op_type, launch.core) for launch in plan.launches] == [
        ("HardShrinkGrad", "AICORE"),
        ("CopyNpuToNpu", "RTS"),
    ]
    assert (plan.launches[1].outputs[0].buffer, plan.launches[1].outputs[0].offset) == (
        "gradInput",
        1,
    )
    ending = into(desc((2, 3), offset=4, storage=(10,)), soc=soc)
    assert kernels(ending) == ["HardShrinkGrad"]


@pytest.mark.parametrize("soc", ["Ascend910B1", "Ascend910_9391", "Ascend950PR_9599", "310b"])
def test_on_later_chips_it_is_redirected_all_the_same(soc):
    assert kernels(into(desc((2, 3), offset=1, storage=(10,)), soc=soc)) == ["HardShrinkGrad"]


# -- the workspace -------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "takes"), [(0, 512), (1, 512), (480, 512), (481, 1024), (992, 1024), (993, 1536)]
)
def test_a_tensor_takes_32_bytes_more_rounded_up_to_512(size, takes):
    assert align(size) == takes


def member(name, start, end, *, size=100, reads=()):
    return Member(name, size, start, end, frozenset(reads))


def names(buckets):
    return [[entry.name for entry in bucket.members] for bucket in buckets]


def test_a_bucket_is_used_again_once_its_last_tensor_is_dead():
    assert names(allocate([member("a", 0, 1), member("b", 2, 3)])) == [["a", "b"]]
    assert names(allocate([member("a", 0, 1), member("b", 1, 2)])) == [["a"], ["b"]]
    assert names(allocate([member("a", 0, 0), member("b", 0, 0)])) == [["a"], ["b"]]


def test_of_several_free_buckets_the_last_one_is_taken():
    three = [member("a", 0, 0), member("b", 0, 0), member("c", 1, 1)]
    assert names(allocate(three)) == [["a"], ["b", "c"]]


def test_a_tensor_never_shares_with_one_that_its_own_kernel_reads():
    shared = [member("a", 0, 0), member("b", 1, 1, reads=["a"])]
    assert names(allocate(shared)) == [["a"], ["b"]]


def test_a_bucket_is_as_large_as_its_largest_member_and_they_lie_one_after_another():
    first, second = allocate(
        [member("a", 0, 0, size=100), member("b", 0, 0, size=10), member("c", 1, 1, size=5000)]
    )
    assert (first.offset, first.size) == (0, 512)
    assert (second.offset, second.size) == (512, 5120)


def test_the_output_that_the_caller_owns_takes_no_workspace():
    assert into(desc((64, 64)), kernel_workspaces="none").workspace_size == 0
    bigger = into(desc((64, 64), (128, 1), storage=(64, 128)), kernel_workspaces="none")
    assert bigger.workspace_size == align(64 * 64 * 4)


def test_kernel_workspaces_are_those_of_the_950_and_none_elsewhere():
    turned = desc((2, 4), (1, 2))
    assert [launch.workspace for launch in of_self(turned).launches] == [16777216, 0]
    for soc in ("Ascend910B1", "Ascend910A", "Ascend310P3"):
        assert [launch.workspace for launch in of_self(turned, soc=soc).launches] == [None, None]
    given = of_self(turned, kernel_workspaces={"Transpose": 100})
    assert [launch.workspace for launch in given.launches] == [100, None]


def test_every_950_kernel_has_its_own_workspace_whatever_the_size():
    sizes = {
        "HardShrinkGrad": 0,
        "ViewCopy": 32,
        **dict.fromkeys(
            ("Cast", "BroadcastTo", "Transpose", "Slice", "StridedSlice", "AsStrided"), 16777216
        ),
    }
    views = [
        desc((2, 4), (1, 2)),
        desc((4, 4), (8, 1), storage=(4, 8)),
        desc((4, 3), (8, 2), storage=(4, 8)),
        desc((3, 4), (2, 1), storage=(8,)),
        desc((3, 4), (0, 1), storage=(4,)),
    ]
    seen = set()
    for view, dtype in itertools.product(views, ["float16", "float32"]):
        gaps = desc(view.shape, (view.shape[1] * 2, 1), storage=(99,), dtype=dtype)
        plan = plan_hardshrink_backward(dense(view), view, 0.5, gaps)
        for launch in plan.launches:
            assert launch.workspace == sizes[launch.op_type]
            seen.add(launch.op_type)
    assert seen == set(sizes)


def lifetimes(plan):
    """(name, bytes, first launch, last launch) of all that lies in the workspace."""
    found = {}
    for number, launch in enumerate(plan.launches):
        if launch.workspace is not None:
            found[f"kernel{number}"] = [launch.workspace, number, number]
        for operand in launch.outputs:
            if operand.buffer in plan.workspace_offsets:
                found[operand.buffer] = [operand.nbytes, number, number]
        for operand in launch.inputs:
            if operand.buffer in plan.workspace_offsets:
                found[operand.buffer][2] = number
    assert set(found) == set(plan.workspace_offsets)
    return [(name, *rest) for name, rest in found.items()]


def some_plans():
    views = [
        lambda dtype: desc((4, 6), dtype=dtype),
        lambda dtype: desc((4, 6), (1, 4), dtype=dtype),
        lambda dtype: desc((4, 6), (12, 1), storage=(4, 12), dtype=dtype),
        lambda dtype: desc((4, 6), (1, 8), storage=(6, 8), dtype=dtype),
        lambda dtype: desc((4, 6), (0, 1), storage=(6,), dtype=dtype),
        lambda dtype: desc((1, 6), dtype=dtype),
    ]
    dtypes = ["float16", "float32"]
    for grad, self, out in itertools.product(views, views, views[:4]):
        for first, second, third in itertools.product(dtypes, repeat=3):
            yield grad(first), self(second), 0.5, out(third)


@pytest.mark.parametrize("kernel_workspaces", ["auto", "none", "odd"])
def test_tensors_alive_at_the_same_time_never_share_a_byte(kernel_workspaces):
    option = (
        {"Cast": 700, "HardShrinkGrad": 33} if kernel_workspaces == "odd" else kernel_workspaces
    )
    checked = 0
    for arguments in some_plans():
        plan = plan_hardshrink_backward(*arguments, kernel_workspaces=option)
        assert plan.status in (0, 161002)
        placed = [(plan.workspace_offsets[name], *rest) for name, *rest in lifetimes(plan)]
        for (a, n, first, last), (b, m, start, end) in itertools.combinations(placed, 2):
            if first <= end and start <= last:
                checked += 1
                assert a + n <= b or b + m <= a, arguments
        for offset, size, *_ in placed:
            assert 0 <= offset
            assert offset + size <= plan.workspace_size
            assert offset % 512 == 0
    assert checked > 1000


# -- plans as values -----------------------------------------------------------

BAD = [
    desc((2, 3), (-9, -9), offset=-5),
    desc((2, 3), (2**62, 2**62), offset=2**62),
    desc((2**40, 2**40)),
    desc((-1, 3)),
    desc((2, 3), storage=(-4, 2)),
    desc((2, 3), storage=()),
    desc((2, 3), (0, 0), storage=(0,)),
    desc((1,) * 25),
    desc((0,) * 9),
    desc((), offset=-1),
    desc((3, 2), (7, 3), offset=1, storage=(1, 1, 1)),
    desc((2, 3), dtype=-1),
    None,
]


@pytest.mark.parametrize("soc", ["Ascend950PR_9599", "Ascend910B1", "Ascend910A", "Ascend310B1"])
def test_no_descriptor_is_so_bad_that_planning_raises(soc):
    good = desc((2, 3))
    every_dtype = [desc((2, 3), dtype=dtype) for dtype in data_types()]
    for bad in (*BAD, *every_dtype):
        for arguments in [
            (bad, good, 0.5, good),
            (good, bad, 0.5, good),
            (good, good, 0.5, bad),
            (bad, bad, 0.5, bad),
            (bad, good, None, bad),
        ]:
            plan = plan_hardshrink_backward(*arguments, soc=soc)
            assert plan.status in (0, 161001, 161002, 561103)
            assert (plan.status == 0) == (plan.message == "")
        for arguments in [(bad, 0.5, good), (good, 0.5, bad), (bad, 0.5, bad), (bad, None, bad)]:
            plan = plan_hardshrink(*arguments, soc=soc)
            assert plan.status in (0, 161001, 161002, 561103)
            assert (plan.status == 0) == (plan.message == "")


def test_a_plan_is_the_same_every_time():
    for arguments in itertools.islice(some_plans(), 0, None, 37):
        plan = plan_hardshrink_backward(*arguments)
        aclnn._plan_backward.cache_clear()
        again = plan_hardshrink_backward(*arguments)
        assert again is not plan
        assert again == plan


def test_a_plan_cannot_be_changed():
    plan = into(desc((2, 3)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.status = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.launches[0].core = "AICPU"


def test_lambda_may_be_a_number_or_a_scalar_and_both_arrive_as_float32():
    for lambd in (0.3, Scalar(0.3), Scalar(0.3, "double")):
        plan = plan_hardshrink_backward(desc((2,)), desc((2,)), lambd, desc((2,)))
        assert plan.lambd.dtype.name == "float32"
        assert float(plan.lambd) == 0.30000001192092896


@pytest.mark.parametrize("option", ["950", "", None, 5], ids=repr)
def test_an_unknown_choice_of_kernel_workspaces_is_an_error_of_the_lab(option):
    square = desc((2, 2))
    with pytest.raises(LabValueError):
        plan_hardshrink_backward(square, square, 0.5, square, kernel_workspaces=option)
    with pytest.raises(LabValueError):
        plan_hardshrink(square, 0.5, square, kernel_workspaces=option)


def test_what_is_no_lambda_and_an_unknown_chip_are_errors_of_the_lab():
    square = desc((2, 2))
    with pytest.raises(LabValueError):
        plan_hardshrink_backward(square, square, "wide", square)
    with pytest.raises(LabValueError):
        plan_hardshrink_backward(square, square, 0.5, square, soc="H100")
    with pytest.raises(LabValueError):
        plan_hardshrink(square, 1j, square)
