"""The checks of phase 1 of both operators: what fails, in which order, with which message."""

import itertools

import pytest

from labkit.op import (
    Scalar,
    TensorDesc,
    find_soc,
    plan_hardshrink,
    plan_hardshrink_backward,
    socs,
)
from labkit.op.contract import backward_dtypes, check_out_pointers, forward_dtypes

F32 = TensorDesc("float32", (2, 3))
F16 = TensorDesc("float16", (2, 3))
BF16 = TensorDesc("bfloat16", (2, 3))
DOUBLE = TensorDesc("double", (2, 3))
INT32 = TensorDesc("int32", (2, 3))
RANK9 = TensorDesc("float32", (1,) * 9)
OTHER = TensorDesc("float32", (4,))
EMPTY = TensorDesc("float32", (0, 3))
PAST = TensorDesc("float32", (2, 3), strides=(6, 2), storage_shape=(2, 3))
GAPS = TensorDesc("float32", (2, 3), strides=(6, 2), storage_shape=(12,))

WITH_BF16 = "[DT_BFLOAT16,DT_FLOAT,DT_FLOAT16,]"
WITHOUT_BF16 = "[DT_FLOAT,DT_FLOAT16,]"
FORWARD_WITH_BF16 = "[DT_FLOAT,DT_FLOAT16,DT_BFLOAT16,]"


def backward(grad=F32, self=F32, lambd=0.5, out=F32, **options):
    return plan_hardshrink_backward(grad, self, lambd, out, **options)


def forward(self=F32, lambd=0.5, out=F32, **options):
    return plan_hardshrink(self, lambd, out, **options)


def said(plan):
    """(code, values) of every message, as aclGetRecentErrMsg would have them."""
    return [
        (message.code, *(dict(message.fields).values() if message.fields else message.values))
        for message in plan.messages
    ]


def refused(plan, status, check, *messages):
    """Assert how a call failed, and that a failure decides nothing else."""
    assert plan.status == status
    assert plan.failed_check == check
    assert said(plan) == list(messages)
    assert not plan.ok
    assert plan.message
    assert plan.launches == ()
    assert plan.workspace_size == 0
    assert plan.result_shape is None
    assert plan.steps[-1].name == check


# -- the two out-pointers ------------------------------------------------------


@pytest.mark.parametrize(("size", "executor"), [(True, False), (False, True), (True, True)])
def test_a_null_out_pointer_is_161001_with_a_fixed_message(size, executor):
    fault = check_out_pointers(size, executor)
    assert fault.status == 161001
    assert [(m.code, m.values) for m in fault.messages] == [
        ("EZ1001", ("workspaceSize", "executor"))
    ]


def test_two_good_out_pointers_are_no_fault():
    assert check_out_pointers(False, False) is None


# -- null ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "name"),
    [("grad", "gradOutput"), ("self", "self"), ("lambd", "lambd"), ("out", "gradInput")],
)
def test_each_null_argument_of_backward_is_161001_and_named(argument, name):
    plan = backward(**{argument: None})
    refused(plan, 161001, "CheckNotNull", ("EZ1001", name))
    assert name in plan.message


@pytest.mark.parametrize("argument", ["self", "lambd", "out"])
def test_each_null_argument_of_forward_is_161001_and_named(argument):
    refused(forward(**{argument: None}), 161001, "CheckNotNull", ("EZ1001", argument))


def test_of_several_nulls_the_first_in_the_codes_order_is_reported():
    order = {"grad": "gradOutput", "self": "self", "lambd": "lambd", "out": "gradInput"}
    for first, second in itertools.combinations(order, 2):
        plan = backward(**{first: None, second: None})
        assert said(plan) == [("EZ1001", order[first])]
    for first, second in itertools.combinations(["self", "lambd", "out"], 2):
        assert said(forward(**{first: None, second: None})) == [("EZ1001", first)]


def test_a_null_lambda_beats_an_unsupported_dtype():
    assert backward(self=DOUBLE, lambd=None).status == 161001
    assert forward(self=DOUBLE, lambd=None).status == 161001


def test_a_null_output_beats_an_unsupported_dtype_of_an_earlier_argument():
    assert backward(grad=DOUBLE, out=None).status == 161001
    assert forward(self=DOUBLE, out=None).status == 161001


# -- dtype ---------------------------------------------------------------------


@pytest.mark.parametrize("bad", [DOUBLE, INT32, TensorDesc("complex64", (2, 3))], ids=str)
@pytest.mark.parametrize(
    ("argument", "name"), [("grad", "gradOutput"), ("self", "self"), ("out", "gradInput")]
)
def test_an_unsupported_dtype_of_backward_is_161002_with_name_dtype_and_list(argument, name, bad):
    plan = backward(**{argument: bad})
    expected = ("EZ1001", name, bad.dtype.name, WITH_BF16)
    refused(plan, 161002, "CheckDtypeValid", expected)


@pytest.mark.parametrize("argument", ["self", "out"])
def test_an_unsupported_dtype_of_forward_is_161002_with_its_own_list(argument):
    plan = forward(**{argument: DOUBLE})
    expected = ("EZ1001", argument, "DT_DOUBLE", FORWARD_WITH_BF16)
    refused(plan, 161002, "CheckDtypeValid", expected)


def test_the_first_bad_dtype_in_the_order_grad_self_out_is_reported():
    for grad, self, out in itertools.product([F32, DOUBLE], repeat=3):
        bad = [
            name
            for name, desc in zip(("gradOutput", "self", "gradInput"), (grad, self, out))
            if desc is DOUBLE
        ]
        plan = backward(grad, self, 0.5, out)
        assert [message[1] for message in said(plan)] == bad[:1]


def test_an_undefined_dtype_is_unsupported_too():
    undefined = TensorDesc(-1, (2, 3))
    refused(
        backward(grad=undefined),
        161002,
        "CheckDtypeValid",
        ("EZ1001", "gradOutput", "DT_UNDEFINED", WITH_BF16),
    )


@pytest.mark.parametrize(
    "lambd",
    [
        Scalar(1, "int8"),
        Scalar(True, "bool"),
        Scalar(0.5, "double"),
        Scalar(1 + 1j, "complex64"),
        Scalar(0.5, "hifloat8"),
    ],
    ids=str,
)
def test_the_dtype_of_lambda_is_never_checked(lambd):
    assert backward(lambd=lambd).status == 0
    assert forward(lambd=lambd).status == 0


@pytest.mark.parametrize(
    ("grad", "self", "out"), list(itertools.product([F32, F16, BF16], repeat=3)), ids=str
)
def test_any_mix_of_the_three_dtypes_is_accepted_though_the_document_forbids_it(grad, self, out):
    plan = backward(grad, self, 0.5, out)
    assert plan.status == 0
    assert plan.promoted is (grad.dtype if grad.dtype is self.dtype else F32.dtype)
    assert forward(self, 0.5, out).status == 0
    assert forward(self, 0.5, out).promoted is self.dtype


# -- dtype per chip ------------------------------------------------------------

# chip -> does backward (asked by NpuArch) and forward (asked by SoC version) take bf16
BF16_ON = {
    "Ascend950PR_9599": (True, True),
    "Ascend350_354f": (True, True),
    "Ascend910B1": (True, True),
    "Ascend910_9391": (True, True),
    "Ascend910A": (False, False),
    "Ascend910ProB": (False, False),
    "Ascend910B": (False, False),  # named like an A2, yet a first-generation 910
    "Ascend310P3": (False, False),
    "Ascend310B1": (False, True),
    "Ascend031": (False, True),
    "Ascend035": (False, True),
}


@pytest.mark.parametrize("name", BF16_ON)
def test_bf16_depends_on_the_chip_and_not_alike_for_the_two_operators(name):
    by_backward, by_forward = BF16_ON[name]
    assert backward(BF16, BF16, 0.5, BF16, soc=name).status == (0 if by_backward else 161002)
    assert forward(BF16, 0.5, BF16, soc=name).status == (0 if by_forward else 161002)


@pytest.mark.parametrize("name", BF16_ON)
def test_float32_and_fp16_are_taken_on_every_chip(name):
    for desc in (F32, F16):
        assert backward(desc, desc, 0.5, desc, soc=name).status == 0
        assert forward(desc, 0.5, desc, soc=name).status == 0


def test_the_list_in_the_message_is_the_chips_own():
    for name in ("Ascend910A", "Ascend910B", "Ascend310P3", "Ascend310B1"):
        assert said(backward(grad=BF16, soc=name)) == [
            ("EZ1001", "gradOutput", "DT_BFLOAT16", WITHOUT_BF16)
        ]
    assert said(forward(BF16, soc="Ascend310P3")) == [
        ("EZ1001", "self", "DT_BFLOAT16", WITHOUT_BF16)
    ]
    assert said(forward(DOUBLE, soc="Ascend310B1")) == [
        ("EZ1001", "self", "DT_DOUBLE", FORWARD_WITH_BF16)
    ]


def test_backward_asks_the_arch_and_forward_the_soc_version_for_every_chip_of_the_table():
    for soc in socs().values():
        names = [dtype.name for dtype in backward_dtypes(soc)]
        new = soc.npu_arch in (2201, 3510)
        assert names == (["DT_BF16"] if new else []) + ["DT_FLOAT", "DT_FLOAT16"], soc.name
        names = [dtype.name for dtype in forward_dtypes(soc)]
        old = soc.short in ("Ascend910", "Ascend310P")
        assert names == ["DT_FLOAT", "DT_FLOAT16"] + ([] if old else ["DT_BF16"]), soc.name


def test_310b_takes_bf16_forward_and_refuses_it_backward():
    soc = find_soc("310b")
    assert forward(BF16, 0.5, BF16, soc=soc).status == 0
    assert backward(BF16, BF16, 0.5, BF16, soc=soc).status == 161002


# -- rank ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "name"), [("grad", "gradOutput"), ("self", "self"), ("out", "gradInput")]
)
def test_nine_axes_of_any_tensor_of_backward_are_161002_with_the_limit(argument, name):
    refused(backward(**{argument: RANK9}), 161002, "CheckMaxDim", ("EZ1001", name, "8"))


def test_nine_axes_of_several_tensors_name_the_first():
    plan = backward(F32, RANK9, 0.5, RANK9)
    assert said(plan) == [("EZ1001", "self", "8")]


def test_eight_axes_are_fine():
    eight = TensorDesc("float32", (1, 2) * 4)
    assert backward(eight, eight, 0.5, eight).status == 0
    assert forward(eight, 0.5, eight).status == 0


def test_forward_with_nine_axes_on_both_sides_is_161002_for_self():
    refused(forward(RANK9, 0.5, RANK9), 161002, "CheckMaxDim", ("EZ1001", "self", "8"))


def test_forward_compares_shapes_before_it_counts_axes():
    refused(
        forward(RANK9, 0.5, F32),
        161002,
        "CheckShape",
        ("EZ1001", "out", "[1, 1, 1, 1, 1, 1, 1, 1, 1]", "[2, 3]"),
    )
    assert said(forward(F32, 0.5, RANK9))[0][1] == "out"


def test_backward_counts_axes_before_it_compares_shapes():
    assert backward(OTHER, F32, 0.5, RANK9).failed_check == "CheckMaxDim"


# -- empty ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grad", "self", "out"),
    [
        ((0,), (1, 1, 1, 4), (1, 1, 1, 4)),
        ((0, 3), (1, 3), (1, 3)),
        ((0,), (4,), (7, 7)),
        ((2, 3), (3, 0), ()),
        ((0,), (0,), (0,)),
    ],
    ids=str,
)
def test_an_empty_input_of_backward_succeeds_before_any_shape_is_compared(grad, self, out):
    descs = [TensorDesc("float32", shape) for shape in (grad, self, out)]
    plan = backward(descs[0], descs[1], 0.5, descs[2])
    assert plan.status == 0
    assert plan.workspace_size == 0
    assert plan.launches == ()
    assert [step.name for step in plan.steps] == ["CheckEmpty"]


def test_an_empty_input_of_backward_does_not_excuse_a_bad_dtype_or_nine_axes():
    double = TensorDesc("double", (0,))
    assert backward(grad=double).failed_check == "CheckDtypeValid"
    assert backward(grad=EMPTY, out=DOUBLE).failed_check == "CheckDtypeValid"
    rank9 = TensorDesc("float32", (0,) * 9)
    assert backward(grad=rank9).failed_check == "CheckMaxDim"
    assert backward(grad=EMPTY, self=RANK9).failed_check == "CheckMaxDim"


def test_an_empty_input_of_backward_does_excuse_a_strided_view_past_its_storage():
    assert backward(EMPTY, PAST).status == 0
    assert backward(PAST, EMPTY).status == 0


def test_an_empty_output_of_backward_with_full_inputs_is_a_wrong_shape():
    refused(backward(out=EMPTY), 161002, "CheckShape", ("EZ1001", "gradInput", "[2, 3]", "[0, 3]"))


def test_an_empty_tensor_of_forward_excuses_nothing():
    assert forward(EMPTY, 0.5, F32).failed_check == "CheckShape"
    assert forward(TensorDesc("double", (0,)), 0.5, EMPTY).failed_check == "CheckDtypeValid"
    rank9 = TensorDesc("float32", (0,) * 9)
    assert forward(rank9, 0.5, rank9).failed_check == "CheckMaxDim"
    assert forward(TensorDesc("float32", (0,)), 0.5, TensorDesc("float32", (5,))).status == 161002


def test_an_empty_forward_call_with_equal_shapes_succeeds_and_launches_nothing():
    plan = forward(EMPTY, 0.5, EMPTY)
    assert (plan.status, plan.workspace_size, plan.launches) == (0, 0, ())


# -- broadcast and shape -------------------------------------------------------


@pytest.mark.parametrize(
    ("grad", "self", "larger", "other", "dim"),
    [
        ((5, 4), (4, 4), "[4, 4]", "[5, 4]", "4"),
        ((4, 4), (5, 4), "[5, 4]", "[4, 4]", "5"),
        ((2, 5, 4), (4, 4), "[2, 5, 4]", "[4, 4]", "5"),
        ((4, 4), (2, 5, 4), "[2, 5, 4]", "[4, 4]", "5"),
        ((2, 3), (4,), "[2, 3]", "[4]", "3"),
    ],
    ids=str,
)
def test_shapes_that_do_not_meet_leave_two_messages(grad, self, larger, other, dim):
    descs = [TensorDesc("float32", shape) for shape in (grad, self)]
    plan = backward(*descs, 0.5, F32, op_name="aclnnHardshrinkBackward_7")
    shown = [str(list(shape)) for shape in (grad, self)]
    refused(
        plan,
        161002,
        "CheckBroadcast",
        ("EZ1007", larger, "aclnnHardshrinkBackward_7", dim, f"{larger} {other}"),
        ("EZ1001", "gradOutput", shown[0], "self", shown[1]),
    )
    assert [name for name, _ in plan.messages[0].fields] == [
        "paraName",
        "opName",
        "dim",
        "reason",
    ]


@pytest.mark.parametrize(
    ("grad", "self", "out", "expected"),
    [
        ((4,), (2, 4), (4,), "[2, 4]"),
        ((2, 4), (4,), (1, 2, 4), "[2, 4]"),
        ((2, 4), (2, 4), (4, 2), "[2, 4]"),
        ((), (), (1,), "[]"),
        ((), (1,), (), "[1]"),
        ((1,), (), (), "[1]"),
        ((4, 1), (1, 4), (4, 1), "[4, 4]"),
    ],
    ids=str,
)
def test_the_output_must_have_exactly_the_broadcast_shape(grad, self, out, expected):
    descs = [TensorDesc("float32", shape) for shape in (grad, self, out)]
    plan = backward(descs[0], descs[1], 0.5, descs[2])
    message = ("EZ1001", "gradInput", expected, str(list(out)))
    refused(plan, 161002, "CheckShape", message)


@pytest.mark.parametrize(
    ("grad", "self", "out"),
    [
        ((2, 4), (4,), (2, 4)),
        ((4,), (2, 4), (2, 4)),
        ((2, 3), (1, 3), (2, 3)),
        ((), (), ()),
        ((), (3,), (3,)),
        ((1,), (), (1,)),
        ((), (1,), (1,)),
    ],
    ids=str,
)
def test_the_result_shape_comes_from_both_inputs_and_keeps_rank_zero(grad, self, out):
    descs = [TensorDesc("float32", shape) for shape in (grad, self, out)]
    plan = backward(descs[0], descs[1], 0.5, descs[2])
    assert plan.status == 0
    assert plan.result_shape == out


@pytest.mark.parametrize(
    ("self", "out"),
    [((), (1,)), ((1,), ()), ((2, 3), (6,)), ((2, 3), (3, 2)), ((1, 3), (3,)), ((3,), (2, 3))],
    ids=str,
)
def test_forward_does_not_broadcast_and_rank_counts(self, out):
    plan = forward(TensorDesc("float32", self), 0.5, TensorDesc("float32", out))
    message = ("EZ1001", "out", str(list(self)), str(list(out)))
    refused(plan, 161002, "CheckShape", message)


# -- views past their storage --------------------------------------------------


@pytest.mark.parametrize("argument", ["grad", "self"])
def test_a_strided_input_past_its_storage_is_561103_with_messages_of_class_1(argument):
    plan = backward(**{argument: PAST})
    refused(
        plan, 561103, "Contiguous", ("EZ1001",), ("EZ1001", "aclTensor(... all its fields ...)")
    )
    assert plan.status_name == "ACLNN_ERR_INNER_NULLPTR"


def test_a_strided_forward_input_past_its_storage_is_561103():
    assert forward(PAST).status == 561103
    below = TensorDesc("float32", (3,), strides=(-1,), offset=1)
    assert forward(below, 0.5, TensorDesc("float32", (3,))).status == 561103
    assert forward(GAPS).status == 0


def test_self_is_made_contiguous_before_grad_output():
    both = backward(PAST, TensorDesc("float32", (2, 3), (9, 3), 0, (2, 3)))
    assert "self" in both.message
    assert "gradOutput" not in both.message
    assert "gradOutput" in backward(grad=PAST).message


def test_a_contiguous_input_past_its_storage_is_not_noticed():
    beyond = TensorDesc("float32", (2, 3), offset=100, storage_shape=(2, 3))
    short = TensorDesc("float32", (2, 3), storage_shape=(1,))
    for desc in (beyond, short):
        assert not desc.fits_storage
        assert backward(grad=desc).status == 0
        assert backward(self=desc).status == 0
        assert forward(desc).status == 0


@pytest.mark.parametrize("soc", ["Ascend910B1", "Ascend910A", "Ascend310P3"])
def test_an_output_past_its_storage_passes(soc):
    assert not PAST.fits_storage
    assert backward(out=PAST, soc=soc).status == 0
    assert forward(out=PAST, soc=soc).status == 0
    assert backward(out=PAST, kernel_workspaces="none").status == 0


def test_on_a_950_the_output_view_may_reach_one_element_past_its_storage_per_axis():
    # the ViewCopy tiling looks axis by axis, and equality passes
    def status(strides, storage):
        out = TensorDesc("float32", (2, 3), strides, storage_shape=(storage,))
        return backward(out=out).status

    assert status((6, 2), 6) == 0  # reaches elements 6 and 4 axis by axis, 10 in all
    assert status((7, 2), 6) == 561103
    assert status((7, 2), 7) == 0


def test_the_shape_is_checked_before_the_storage():
    assert backward(grad=PAST, out=OTHER).status == 161002
    assert forward(PAST, 0.5, OTHER).status == 161002


def test_a_kernel_that_a_950_cannot_prepare_is_561103_with_a_message_of_class_5():
    backwards = TensorDesc("float32", (2, 3), (-3, 1), 3)
    plan = backward(grad=backwards)
    assert plan.status == 561103
    assert said(plan) == [("EZ9999", "AsStridedAiCore")]
    assert backward(out=backwards).status == 561103
    assert backward(grad=backwards, soc="Ascend910B1").status == 0


# -- the order of the checks ---------------------------------------------------

# Faults of backward in the order in which the code looks for them. Each changes other arguments,
# so that any two can be made together; the later one must never be seen.
BACKWARD_FAULTS = [
    ("gradOutput null", {"grad": None}, 161001, "CheckNotNull"),
    ("self null", {"self": None}, 161001, "CheckNotNull"),
    ("lambd null", {"lambd": None}, 161001, "CheckNotNull"),
    ("gradInput null", {"out": None}, 161001, "CheckNotNull"),
    ("gradOutput dtype", {"grad": DOUBLE}, 161002, "CheckDtypeValid"),
    ("self dtype", {"self": DOUBLE}, 161002, "CheckDtypeValid"),
    ("gradInput dtype", {"out": DOUBLE}, 161002, "CheckDtypeValid"),
    ("gradOutput rank", {"grad": RANK9}, 161002, "CheckMaxDim"),
    ("self rank", {"self": RANK9}, 161002, "CheckMaxDim"),
    ("gradInput rank", {"out": RANK9}, 161002, "CheckMaxDim"),
    ("empty", {"grad": EMPTY}, 0, None),
    ("broadcast", {"self": OTHER}, 161002, "CheckBroadcast"),
    ("shape", {"out": OTHER}, 161002, "CheckShape"),
    ("storage", {"self": PAST}, 561103, "Contiguous"),
]

FORWARD_FAULTS = [
    ("self null", {"self": None}, 161001, "CheckNotNull"),
    ("lambd null", {"lambd": None}, 161001, "CheckNotNull"),
    ("out null", {"out": None}, 161001, "CheckNotNull"),
    ("self dtype", {"self": DOUBLE}, 161002, "CheckDtypeValid"),
    ("out dtype", {"out": DOUBLE}, 161002, "CheckDtypeValid"),
    ("shape", {"out": OTHER}, 161002, "CheckShape"),
    ("storage", {"self": PAST}, 561103, "Contiguous"),
]


def pairs(faults):
    """Pairs of faults in different arguments, the earlier one first."""
    found = [
        (first, second)
        for first, second in itertools.combinations(faults, 2)
        if not first[1].keys() & second[1].keys()
    ]
    return found, [f"{first[0]} beats {second[0]}" for first, second in found]


def check_pair(call, first, second):
    for fault in (first, second):  # alone, each fault is seen
        plan = call(**fault[1])
        assert (plan.status, plan.failed_check) == fault[2:]
    alone = call(**first[1])
    plan = call(**second[1], **first[1])
    assert (plan.status, plan.failed_check, said(plan)) == (*first[2:], said(alone))


@pytest.mark.parametrize(
    ("first", "second"), pairs(BACKWARD_FAULTS)[0], ids=pairs(BACKWARD_FAULTS)[1]
)
def test_of_two_faults_in_backward_the_earlier_check_wins(first, second):
    check_pair(backward, first, second)


@pytest.mark.parametrize(
    ("first", "second"), pairs(FORWARD_FAULTS)[0], ids=pairs(FORWARD_FAULTS)[1]
)
def test_of_two_faults_in_forward_the_earlier_check_wins(first, second):
    check_pair(forward, first, second)


def test_every_fault_says_what_would_be_right():
    for call, faults in ((backward, BACKWARD_FAULTS), (forward, FORWARD_FAULTS)):
        for name, change, status, _ in faults:
            if status:
                plan = call(**change)
                assert plan.fault.remedy, name
                assert plan.message.endswith(plan.fault.remedy), name


def test_the_status_has_its_macro_name():
    assert backward().status_name == "ACLNN_SUCCESS"
    assert backward(grad=None).status_name == "ACLNN_ERR_PARAM_NULLPTR"
    assert backward(grad=DOUBLE).status_name == "ACLNN_ERR_PARAM_INVALID"
    assert backward(grad=PAST).status_name == "ACLNN_ERR_INNER_NULLPTR"


def test_neither_format_nor_aliasing_is_checked():
    nchw = TensorDesc("float32", (2, 3), format=0)
    for desc in (nchw, TensorDesc("float32", (2, 3), format=29)):
        assert backward(grad=desc).status == 0
        assert backward(desc, desc, 0.5, desc).status == 0
        assert forward(desc, 0.5, desc).status == 0
