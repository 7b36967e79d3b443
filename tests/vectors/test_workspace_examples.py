"""The worked examples of the workspace rules: what the 950 asks for, and without kernel workspaces.

The last column is what the real framework answered with kernels that have no
workspace of their own; the 950 column adds the workspaces of the arch35 tilings.
"""

import pytest

from labkit.op import TensorDesc, plan_hardshrink_backward


def dense(dtype, *shape):
    return TensorDesc(dtype, shape)


SQUARE = (4, 4)
MEGA = (1024, 1024)
TURNED = TensorDesc("float32", (2, 4), strides=(1, 2), storage_shape=(4, 2))
ROWS_APART = TensorDesc("float32", (4, 4), strides=(8, 1), storage_shape=(4, 8))
KERNEL = 16777728  # 16 MiB of a kernel's own, as the allocator rounds it

EXAMPLES = {
    "a: all fp32, one shape, contiguous": (
        dense("float32", *SQUARE),
        dense("float32", *SQUARE),
        dense("float32", *SQUARE),
        ["HardShrinkGrad"],
        512,
        0,
    ),
    "b: grad fp16, self and out fp32": (
        dense("float16", *SQUARE),
        dense("float32", *SQUARE),
        dense("float32", *SQUARE),
        ["Cast", "HardShrinkGrad"],
        16778240,
        512,
    ),
    "b2: grad fp16, self fp32, out fp16": (
        dense("float16", *SQUARE),
        dense("float32", *SQUARE),
        dense("float16", *SQUARE),
        ["Cast", "HardShrinkGrad", "Cast"],
        33555968,
        1024,
    ),
    "b3: grad fp16, self bf16, out fp16": (
        dense("float16", *SQUARE),
        dense("bfloat16", *SQUARE),
        dense("float16", *SQUARE),
        ["Cast", "Cast", "HardShrinkGrad", "Cast"],
        33556480,
        1536,
    ),
    "c: (4, 1) with (1, 4)": (
        dense("float32", 4, 1),
        dense("float32", 1, 4),
        dense("float32", *SQUARE),
        ["BroadcastTo", "BroadcastTo", "HardShrinkGrad"],
        16778752,
        1024,
    ),
    "c2: grad fp16 (4, 1), self fp32 (1, 4)": (
        dense("float16", 4, 1),
        dense("float32", 1, 4),
        dense("float32", *SQUARE),
        ["BroadcastTo", "BroadcastTo", "Cast", "HardShrinkGrad"],
        16779264,
        1536,
    ),
    "d: transposed output": (
        dense("float32", 2, 4),
        dense("float32", 2, 4),
        TURNED,
        ["HardShrinkGrad", "Transpose"],
        16778240,
        512,
    ),
    "d2: output with gaps": (
        dense("float32", *SQUARE),
        dense("float32", *SQUARE),
        ROWS_APART,
        ["HardShrinkGrad", "ViewCopy"],
        1024,
        512,
    ),
    "e: all three transposed": (
        TURNED,
        TURNED,
        TURNED,
        ["Transpose", "Transpose", "HardShrinkGrad", "Transpose"],
        33556480,
        1536,
    ),
    "g: 1 Mi elements, grad fp16, self fp32, out fp16": (
        dense("float16", *MEGA),
        dense("float32", *MEGA),
        dense("float16", *MEGA),
        ["Cast", "HardShrinkGrad", "Cast"],
        37750272,
        8389632,
    ),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_950_asks_for_this_workspace(example):
    grad, self, out, launches, on_950, _ = EXAMPLES[example]
    plan = plan_hardshrink_backward(grad, self, 0.5, out, soc="Ascend950PR_9599")
    assert [launch.op_type for launch in plan.launches] == launches
    assert plan.workspace_size == on_950


@pytest.mark.parametrize("example", EXAMPLES)
def test_without_kernel_workspaces_this_is_the_workspace(example):
    grad, self, out, launches, _, without = EXAMPLES[example]
    plan = plan_hardshrink_backward(grad, self, 0.5, out, kernel_workspaces="none")
    assert [launch.op_type for launch in plan.launches] == launches
    assert plan.workspace_size == without


def places(example):
    grad, self, out, *_ = EXAMPLES[example]
    return plan_hardshrink_backward(grad, self, 0.5, out, soc="Ascend950PR_9599").buckets


def test_a_later_kernels_workspace_goes_into_the_last_bucket_that_is_free():
    first, second, third = places("b2: grad fp16, self fp32, out fp16")
    assert [member.name for member in first.members] == ["kernel0", "kernel1"]
    assert [member.name for member in second.members] == ["tensor1", "kernel2"]
    assert [member.name for member in third.members] == ["tensor2"]
    assert [first.offset, second.offset, third.offset] == [0, KERNEL, 2 * KERNEL]
    assert [first.size, second.size, third.size] == [KERNEL, KERNEL, 512]


def test_an_aliased_output_needs_no_other_workspace():
    grad = dense("float32", *SQUARE)
    apart = plan_hardshrink_backward(grad, dense("float32", *SQUARE), 0.5, dense("float32", 4, 4))
    assert plan_hardshrink_backward(grad, grad, 0.5, grad).workspace_size == 512
    assert apart.workspace_size == 512
