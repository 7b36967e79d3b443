"""The life of an executor, the error list, and the faults that can be injected."""

from __future__ import annotations

import numpy as np
import pytest
from sim_rig import A2, A310B, A310P, A950, FORWARD, NULL, Call, Rig, in_thread

from labkit.errors import DeviceMemoryError, LabError, LifetimeError

TYPES = "[DT_BFLOAT16,DT_FLOAT,DT_FLOAT16,]"


@pytest.fixture
def rig() -> Rig:
    return Rig()


@pytest.fixture
def call(rig) -> Call:
    return Call(rig)


class MixedCall(Call):
    """grad is float16 and so is the output: Cast, HardShrinkGrad, Cast."""

    def __init__(self, rig: Rig) -> None:
        super().__init__(rig)
        self.addresses["grad"] = rig.upload(self.GRAD.astype(np.float16))
        self.grad = rig.tensor("float16", (4,), self.addresses["grad"])
        self.out = rig.tensor("float16", (4,), self.addresses["out"])

    def result(self) -> np.ndarray:
        return self.rig.download(self.addresses["out"], (4,), np.float16)


def launched(rig: Rig, since: int = 0) -> list[tuple[str, str]]:
    return [(entry.op_type, entry.state) for entry in list(rig.npu.log)[since:]]


# -- what each failing check says ----------------------------------------------


def refused(rig: Rig, call: Call, **changed) -> tuple[int, list]:
    names = ("grad", "x", "lambd", "out")
    arguments = [changed.get(name, getattr(call, name)) for name in names]
    status, size, executor = rig.phase1(*arguments)
    assert (size, executor) == (-1, NULL), "a failing phase 1 writes neither out pointer"
    return status, rig.messages()


@pytest.mark.parametrize(
    ("name", "said"),
    [("grad", "gradOutput"), ("x", "self"), ("lambd", "lambd"), ("out", "gradInput")],
)
def test_a_null_argument_is_161001_and_named(rig, call, name, said):
    assert refused(rig, call, **{name: NULL}) == (161001, [("EZ1001", (said,))])


def test_of_several_null_arguments_only_the_first_is_named(rig, call):
    everything = {"grad": NULL, "x": NULL, "lambd": NULL, "out": NULL}
    assert refused(rig, call, **everything) == (161001, [("EZ1001", ("gradOutput",))])
    del everything["grad"]
    assert refused(rig, call, **everything) == (161001, [("EZ1001", ("self",))])


@pytest.mark.parametrize("which", [0, 1])
def test_a_null_out_pointer_is_161001_before_anything_else(rig, call, which):
    outs = [rig.new("uint64_t *", 5), rig.new("aclOpExecutor **")]
    outs[which] = NULL
    name = "aclnnHardshrinkBackwardGetWorkspaceSize"
    assert rig(name, NULL, NULL, NULL, NULL, *outs) == 161001
    assert rig.codes() == ["EZ1001"]
    assert outs[1 - which][0] == (NULL if which == 0 else 5)


@pytest.mark.parametrize(
    ("name", "said"), [("grad", "gradOutput"), ("x", "self"), ("out", "gradInput")]
)
@pytest.mark.parametrize(("dtype", "shown"), [("float64", "DT_DOUBLE"), ("int32", "DT_INT32")])
def test_an_unsupported_dtype_is_161002_with_the_list_of_the_chip(
    rig, call, name, said, dtype, shown
):
    wrong = rig.tensor(dtype, (4,))
    want = [("EZ1001", (said, shown, TYPES))]
    assert refused(rig, call, **{name: wrong}) == (161002, want)


@pytest.mark.parametrize("soc", [A310P, A310B])
def test_a_chip_without_bfloat16_leaves_it_out_of_the_list(soc):
    rig = Rig(soc)
    call = Call(rig)
    wrong = rig.tensor("bfloat16", (4,))
    want = [("EZ1001", ("self", "DT_BFLOAT16", "[DT_FLOAT,DT_FLOAT16,]"))]
    assert refused(rig, call, x=wrong) == (161002, want)


@pytest.mark.parametrize(
    ("name", "said"), [("grad", "gradOutput"), ("x", "self"), ("out", "gradInput")]
)
def test_a_rank_above_8_is_161002(rig, call, name, said):
    wrong = rig.tensor("float32", (1,) * 9)
    assert refused(rig, call, **{name: wrong}) == (161002, [("EZ1001", (said, "8"))])


@pytest.mark.parametrize(
    ("grad", "x", "larger", "other", "dim"),
    [
        ((5, 4), (4, 4), (4, 4), (5, 4), "4"),
        ((2, 5, 4), (4, 4), (2, 5, 4), (4, 4), "5"),
        ((4, 4), (2, 5, 4), (2, 5, 4), (4, 4), "5"),
        ((3,), (4,), (4,), (3,), "4"),
    ],
)
def test_shapes_that_do_not_meet_leave_two_messages(rig, call, grad, x, larger, other, dim):
    text = {shape: "[" + ", ".join(map(str, shape)) + "]" for shape in (grad, x, larger, other)}
    names = {"grad": rig.tensor("float32", grad), "x": rig.tensor("float32", x)}
    assert rig.phase1(names["grad"], names["x"], call.lambd, call.out)[0] == 161002
    inner, outer = rig.npu.messages.take()
    fields = dict(inner.fields)
    assert inner.code == "EZ1007"
    assert (fields["paraName"], fields["dim"]) == (text[larger], dim)
    assert text[larger] in fields["reason"]
    assert text[other] in fields["reason"]
    assert (outer.code, outer.values) == (
        "EZ1001",
        ("gradOutput", text[grad], "self", text[x]),
    )


def test_a_wrong_output_shape_tells_both_shapes(rig, call):
    wrong = rig.tensor("float32", (1, 4))
    assert refused(rig, call, out=wrong) == (
        161002,
        [("EZ1001", ("gradInput", "[4]", "[1, 4]"))],
    )


@pytest.mark.parametrize("name", ["grad", "x"])
def test_an_input_view_beyond_its_storage_is_an_inner_code_with_user_messages(rig, call, name):
    wrong = rig.tensor("float32", (4,), strides=(2,), storage=(6,))
    status, messages = refused(rig, call, **{name: wrong})
    assert status == 561103
    assert [code for code, _ in messages] == ["EZ1001", "EZ1001"]


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"lambd": None, "x": "float64"}, 161001),
        ({"x": "float64", "grad": "rank 9"}, 161002),
        ({"grad": "rank 9", "x": "shape 3"}, 161002),
    ],
)
def test_of_two_faults_the_earlier_check_speaks(rig, call, changed, status):
    made = {
        None: NULL,
        "float64": rig.tensor("float64", (4,)),
        "rank 9": rig.tensor("float32", (1,) * 9),
        "shape 3": rig.tensor("float32", (3,)),
    }
    said = {"lambd": "lambd", "x": "self", "grad": "gradOutput"}[next(iter(changed))]
    have, messages = refused(rig, call, **{key: made[value] for key, value in changed.items()})
    assert (have, len(messages), messages[0][1][0]) == (status, 1, said)


def test_the_forward_operator_says_its_own_argument_names(rig, call):
    assert rig.phase1(NULL, call.lambd, call.out, op=FORWARD)[0] == 161001
    assert rig.phase1(call.x, call.lambd, NULL, op=FORWARD)[0] == 161001
    wide = rig.tensor("float32", (4, 4))
    assert rig.phase1(call.x, call.lambd, wide, op=FORWARD)[0] == 161002
    assert rig.messages() == [
        ("EZ1001", ("self",)),
        ("EZ1001", ("out",)),
        ("EZ1001", ("out", "[4]", "[4, 4]")),
    ]


# -- the error list ------------------------------------------------------------


def test_the_same_failure_twice_is_stored_once(rig, call):
    for _ in range(3):
        rig.phase1(NULL, call.x, call.lambd, call.out)
    assert rig.messages() == [("EZ1001", ("gradOutput",))]


def test_different_failures_pile_up_and_success_clears_nothing(rig, call):
    rig.phase1(NULL, call.x, call.lambd, call.out)
    rig.phase1(call.grad, NULL, call.lambd, call.out)
    assert call.phase1()[0] == 0
    assert rig.messages() == [("EZ1001", ("gradOutput",)), ("EZ1001", ("self",))]


def test_reading_the_text_empties_the_list(rig, call):
    rig.phase1(NULL, call.x, call.lambd, call.out)
    text = rig.ffi.string(rig("aclGetRecentErrMsg")).decode()
    assert text.startswith("EZ1001: ")
    assert rig("aclGetRecentErrMsg") == NULL
    assert rig.messages() == []


def test_a_fresh_thread_has_nothing_to_say(rig):
    assert rig("aclGetRecentErrMsg") == NULL


def test_each_thread_has_a_list_of_its_own(rig, call):
    rig.phase1(NULL, call.x, call.lambd, call.out)

    def other():
        before = rig.messages()
        rig.phase1(call.grad, NULL, call.lambd, call.out)
        return before, rig.messages()

    assert in_thread(other) == ([], [("EZ1001", ("self",))])
    assert rig.messages() == [("EZ1001", ("gradOutput",))]


def test_only_the_first_plain_code_is_shown_in_the_text(rig, call):
    rig.phase1(rig.tensor("float32", (3,)), call.x, call.lambd, call.out)
    text = rig.ffi.string(rig("aclGetRecentErrMsg")).decode()
    assert text.startswith("EZ1007: ")
    assert "EZ1001" not in text
    assert "gradOutput [3] and self [4] do not broadcast" in text
    assert "Trace back" in text


def test_internal_codes_alone_get_an_internal_error_line_first(rig, call):
    rig.npu.faults.fail_prepare("HardShrinkGrad", 561002)
    assert call.phase1()[0] == 561103
    first, second = rig.ffi.string(rig("aclGetRecentErrMsg")).decode().splitlines()
    assert "internal error" in first
    assert "EZ9999" in second


def test_an_internal_code_does_not_become_the_head_when_a_plain_one_follows(rig, call):
    rig.npu.faults.fail_prepare("HardShrinkGrad", 561002)
    call.phase1()
    rig.phase1(NULL, call.x, call.lambd, call.out)
    text = rig.ffi.string(rig("aclGetRecentErrMsg")).decode()
    assert text.startswith("EZ1001: ")
    assert "EZ9999" not in text


def test_the_number_in_a_message_counts_every_phase_1_that_got_past_the_out_pointers(rig, call):
    def number() -> int:
        rig.phase1(rig.tensor("float32", (3,)), call.x, call.lambd, call.out)
        (inner, _) = rig.npu.messages.take()
        name, _, count = dict(inner.fields)["opName"].rpartition("_")
        assert name == "aclnnHardshrinkBackward"
        return int(count)

    first = number()
    call.phase1()  # counts
    rig.phase1(NULL, call.x, call.lambd, call.out)  # counts
    name = "aclnnHardshrinkBackwardGetWorkspaceSize"
    rig(name, call.grad, call.x, call.lambd, call.out, NULL, NULL)  # does not
    rig.messages()
    assert number() == first + 3


def test_the_text_of_a_message_carries_the_same_number_as_its_field(rig, call):
    for _ in range(3):
        call.phase1()
    rig.phase1(rig.tensor("float32", (3,)), call.x, call.lambd, call.out)
    (inner, _) = rig.npu.messages.entries
    name = dict(inner.fields)["opName"]
    assert name != "aclnnHardshrinkBackward_0"
    text = rig.ffi.string(rig("aclGetRecentErrMsg")).decode()
    assert name in text
    assert "aclnnHardshrinkBackward_0" not in text


# -- phase 2, once -------------------------------------------------------------


def test_phase_2_without_an_executor_is_161001_and_looks_at_nothing_else(rig):
    assert rig.phase2(NULL, 0, 512) == 161001
    assert rig.codes() == ["EZ1001"]


def test_a_null_workspace_with_a_size_deletes_even_a_repeatable_executor(rig, call):
    executor = call.executor()
    assert rig("aclSetAclOpExecutorRepeatable", executor) == 0
    assert rig.phase2(executor, 0, 512) == 161001
    assert rig.codes() == ["EZ1001"]
    with pytest.raises(LifetimeError, match="null workspace"):
        call.phase2(executor)


def test_an_executor_dies_with_its_phase_2_and_its_handle_is_given_back(rig, call):
    before = rig.npu.live_handles
    executor = call.executor()
    assert rig.npu.live_handles == before + 1
    assert call.phase2(executor) == 0
    assert rig.npu.live_handles == before


def test_a_failing_phase_2_kills_the_executor_too(rig, call):
    executor = call.executor()
    rig.npu.faults.fail_launcher("HardShrinkGrad", 561002)
    assert call.phase2(executor) == 561002
    rig.npu.faults.clear()
    with pytest.raises(LifetimeError):
        call.phase2(executor)


def test_an_empty_call_launches_nothing_and_still_wants_its_phase_2(rig, call):
    empty = rig.tensor("float32", (0,))
    status, size, executor = rig.phase1(empty, call.x, call.lambd, call.out)
    assert (status, size) == (0, 0)
    assert any("aclOpExecutor" in line for line in rig.npu.leaks())
    assert rig.phase2(executor) == 0
    assert launched(rig) == []
    assert not any("aclOpExecutor" in line for line in rig.npu.leaks())
    rig.synchronize()
    assert call.result().tolist() == [9, 9, 9, 9]


def test_phase_2_may_run_in_another_thread_than_phase_1(rig, call):
    executor = call.executor()
    workspace = rig.malloc(call.size)

    def run():
        rig("aclrtSetDevice", 0)
        return rig.phase2(executor, workspace, call.size)

    assert in_thread(run) == 0
    rig.synchronize()
    assert call.result().tolist() == [0, 0, 3, 4]


def test_a_workspace_too_small_is_refused_in_strict_mode_only():
    strict, lenient = Rig(), Rig(strict=False)
    for rig in (strict, lenient):
        rig.call = MixedCall(rig)
        rig.made = rig.call.executor()
        assert rig.call.size > 16 << 20
        rig.small = rig.malloc(512)
    with pytest.raises(DeviceMemoryError, match="phase 2 was given 512"):
        strict.phase2(strict.made, strict.small, 512)
    assert launched(strict) == []
    assert lenient.phase2(lenient.made, lenient.small, 512) == 0
    assert lenient.synchronize() == 507035
    again = Call(lenient)
    again.phase2(again.executor())
    assert lenient.synchronize() == 0
    assert again.result().tolist() == [0, 0, 3, 4]


def test_a_workspace_that_lies_about_its_size_is_found_too(rig):
    call = MixedCall(rig)
    executor = call.executor()
    with pytest.raises(DeviceMemoryError, match="the workspace"):
        rig.phase2(executor, rig.malloc(512), call.size)


def test_a_misaligned_workspace_or_tensor_is_refused_in_strict_mode(rig, call):
    executor = call.executor()
    with pytest.raises(DeviceMemoryError, match=r"workspace address \w+ is not aligned to 32"):
        rig.phase2(executor, rig.malloc(2048) + 4, call.size)
    executor = call.executor()
    rig("aclSetRawTensorAddr", call.grad, rig.pointer(call.addresses["grad"] + 4))
    with pytest.raises(DeviceMemoryError, match="gradOutput is not aligned to 32"):
        call.phase2(executor)


def test_a_tensor_larger_than_its_memory_is_refused_in_strict_mode(rig, call):
    long = rig.tensor("float32", (8,), call.addresses["grad"])  # the block has 16 bytes
    out = rig.tensor("float32", (8,), call.addresses["out"])
    status, size, executor = rig.phase1(long, long, call.lambd, out)
    assert status == 0
    with pytest.raises(DeviceMemoryError, match="HardShrinkGrad reads"):
        rig.phase2(executor, rig.malloc(size), size)
    assert rig.synchronize() == 0


def test_a_null_data_address_is_refused_in_strict_mode_and_faults_in_lenient():
    strict, lenient = Rig(), Rig(strict=False)
    for rig in (strict, lenient):
        rig.call = Call(rig)
        rig.call.grad = rig.tensor("float32", (4,), 0)
    with pytest.raises(DeviceMemoryError, match="null device pointer"):
        strict.call.phase2(strict.call.executor())
    assert lenient.call.phase2(lenient.call.executor()) == 0
    assert lenient.synchronize() == 507035


def test_after_a_refusal_in_strict_mode_the_device_goes_on(rig, call):
    with pytest.raises(DeviceMemoryError):
        rig.phase2(call.executor(), rig.malloc(64), 64)
    assert call.phase2(call.executor()) == 0
    assert rig.synchronize() == 0
    assert call.result().tolist() == [0, 0, 3, 4]


@pytest.mark.parametrize("strict", [True, False])
def test_a_negative_dimension_ends_in_an_answer_of_the_lab_and_not_in_one_of_numpy(strict):
    rig = Rig(A2, strict=strict)
    address = rig.malloc(1024)
    for shape in ((-1,), (-2, 3), (2, -3), (-2, -3)):
        tensor = rig.tensor("float32", shape, address, storage=(64,))
        try:
            status, size, executor = rig.phase1(tensor, tensor, rig.scalar(), tensor)
            if status == 0:
                rig.phase2(executor, rig.malloc(size) if size else 0, size)
                rig.synchronize()
        except LabError as error:
            assert "failed inside" not in str(error)
    again = Call(rig)
    assert again.phase2(again.executor()) == 0
    assert rig.synchronize() == 0
    assert again.result().tolist() == [0, 0, 3, 4]


# -- repeatable executors ------------------------------------------------------


def test_a_repeatable_executor_runs_as_often_as_wanted_and_is_destroyed_once(rig, call):
    executor = call.executor()
    assert rig("aclSetAclOpExecutorRepeatable", executor) == 0
    for round_ in range(4):
        rig.write(call.addresses["grad"], np.full(4, round_, np.float32).tobytes())
        assert call.phase2(executor) == 0
        assert rig.synchronize() == 0
        assert call.result().tolist() == [0, 0, round_, round_]
    assert rig("aclDestroyAclOpExecutor", executor) == 0
    with pytest.raises(LifetimeError):
        call.phase2(executor)
    with pytest.raises(LifetimeError):
        rig("aclDestroyAclOpExecutor", executor)


def test_workspace_and_stream_may_change_between_the_runs(rig):
    call = MixedCall(rig)
    executor = call.executor()
    rig("aclSetAclOpExecutorRepeatable", executor)
    for _ in range(3):
        stream, workspace = rig.stream(), rig.malloc(call.size)
        assert rig.phase2(executor, workspace, call.size, stream) == 0
        assert rig.synchronize(stream) == 0
        assert call.result().tolist() == [0, 0, 3, 4]
        assert rig.free(workspace) == 0  # nothing of it is needed any more


def test_repeatable_can_be_set_again_even_after_runs(rig, call):
    executor = call.executor()
    assert rig("aclSetAclOpExecutorRepeatable", executor) == 0
    assert rig("aclSetAclOpExecutorRepeatable", executor) == 0
    call.phase2(executor)
    assert rig("aclSetAclOpExecutorRepeatable", executor) == 0
    assert call.phase2(executor) == 0


def test_a_repeatable_executor_may_run_in_other_threads(rig, call):
    executor = call.executor()
    rig("aclSetAclOpExecutorRepeatable", executor)
    call.phase2(executor)
    rig.synchronize()

    def run():
        rig("aclrtSetDevice", 0)
        return call.phase2(executor), rig.synchronize()

    assert in_thread(run) == (0, 0)


def test_a_null_executor_cannot_be_made_repeatable(rig):
    assert rig("aclSetAclOpExecutorRepeatable", NULL) == 561103
    (entry,) = rig.npu.messages.take()
    assert (entry.code, dict(entry.fields)) == (
        "EZ1011",
        {"functionName": "aclSetAclOpExecutorRepeatable", "paraName": "executor"},
    )


def test_another_phase_1_with_other_tensors_in_between_spoils_repeatable(rig, call):
    executor = call.executor()
    assert Call(rig).phase1()[0] == 0
    assert rig("aclSetAclOpExecutorRepeatable", executor) == 561000
    assert rig.messages() == []
    assert call.phase2(executor) == 0  # usable, and still single-use
    with pytest.raises(LifetimeError):
        call.phase2(executor)


def test_a_phase_1_of_the_same_tensors_in_between_does_no_harm(rig, call):
    executor = call.executor()
    assert call.phase1()[0] == 0
    assert rig("aclSetAclOpExecutorRepeatable", executor) == 0


def test_a_phase_1_that_failed_late_spoils_repeatable_and_one_that_failed_early_does_not(rig, call):
    name = "aclnnHardshrinkBackwardGetWorkspaceSize"
    executor = call.executor()
    assert rig(name, call.grad, call.x, call.lambd, call.out, NULL, NULL) == 161001
    assert rig("aclSetAclOpExecutorRepeatable", executor) == 0
    executor = call.executor()
    assert rig.phase1(call.grad, NULL, call.lambd, call.out)[0] == 161001
    assert rig("aclSetAclOpExecutorRepeatable", executor) == 561000


def test_another_thread_cannot_make_an_executor_repeatable(rig, call):
    executor = call.executor()
    assert in_thread(lambda: rig("aclSetAclOpExecutorRepeatable", executor)) == 561000
    assert rig("aclSetAclOpExecutorRepeatable", executor) == 0


def test_a_chain_with_a_device_copy_cannot_be_repeatable():
    rig = Rig(A310P)
    call = Call(rig, storage=(16,))  # contiguous output, storage goes on behind it
    executor = call.executor()
    assert rig("aclSetAclOpExecutorRepeatable", executor) == 561000
    assert call.phase2(executor) == 0
    assert [op for op, _ in launched(rig)] == ["HardShrinkGrad", "CopyNpuToNpu"]
    assert rig.synchronize() == 0
    assert call.result().tolist() == [0, 0, 3, 4]


def test_an_empty_executor_can_be_repeatable(rig, call):
    empty = rig.tensor("float32", (0,))
    _, _, executor = rig.phase1(empty, call.x, call.lambd, call.out)
    assert rig("aclSetAclOpExecutorRepeatable", executor) == 0
    assert [rig.phase2(executor) for _ in range(3)] == [0, 0, 0]
    assert rig("aclDestroyAclOpExecutor", executor) == 0


def test_a_failing_run_leaves_a_repeatable_executor_usable(rig):
    call = MixedCall(rig)
    executor = call.executor()
    rig("aclSetAclOpExecutorRepeatable", executor)
    rig.npu.faults.fail_runtime_launch(1)
    assert call.phase2(executor) == 361001
    assert call.phase2(executor) == 0
    assert rig.synchronize() == 0
    assert call.result().tolist() == [0, 0, 3, 4]
    assert rig("aclDestroyAclOpExecutor", executor) == 0


# -- address setters -----------------------------------------------------------

SETTERS = ("aclSetInputTensorAddr", "aclSetOutputTensorAddr", "aclSetTensorAddr")


@pytest.mark.parametrize("name", SETTERS)
def test_a_setter_refuses_null_and_moves_the_tensor_before_it_looks_at_the_executor(
    rig, call, name
):
    executor, target = call.executor(), rig.pointer(0x3000)
    assert rig(name, executor, 0, NULL, target) == 561103
    assert rig(name, NULL, 0, call.grad, target) == 561103
    entries = [(entry.code, dict(entry.fields)["paraName"]) for entry in rig.npu.messages.take()]
    assert entries == [("EZ1011", "tensor"), ("EZ1011", "executor")]
    cell = rig.new("void **")
    assert rig("aclGetRawTensorAddr", call.grad, cell) == 0
    assert rig.npu.address(cell[0]) == 0x3000


@pytest.mark.parametrize("name", SETTERS)
@pytest.mark.parametrize("index", [0, 1, 7])
def test_the_tensor_decides_and_the_index_does_not(rig, call, name, index):
    executor = call.executor()
    rig("aclSetAclOpExecutorRepeatable", executor)
    other = rig.upload(np.array([5, 6, 7, 8], np.float32))
    assert rig(name, executor, index, call.grad, rig.pointer(other)) == 0
    call.phase2(executor)
    rig.synchronize()
    assert call.result().tolist() == [0, 0, 7, 8]


def test_a_repeatable_executor_follows_its_output_tensor(rig, call):
    executor = call.executor()
    rig("aclSetAclOpExecutorRepeatable", executor)
    call.phase2(executor)
    rig.synchronize()
    other = rig.upload(np.zeros(4, np.float32))
    rig("aclSetOutputTensorAddr", executor, 0, call.out, rig.pointer(other))
    rig.write(call.addresses["out"], b"\x09" * 16)
    call.phase2(executor)
    rig.synchronize()
    assert rig.download(other, (4,), np.float32).tolist() == [0, 0, 3, 4]
    assert rig.read(call.addresses["out"], 16) == b"\x09" * 16


def test_a_single_use_executor_takes_a_new_input_but_keeps_the_old_contiguous_output(rig, call):
    executor = call.executor()
    grad = rig.upload(np.array([5, 6, 7, 8], np.float32))
    out = rig.upload(np.zeros(4, np.float32))
    rig("aclSetInputTensorAddr", executor, 0, call.grad, rig.pointer(grad))
    rig("aclSetOutputTensorAddr", executor, 0, call.out, rig.pointer(out))
    call.phase2(executor)
    rig.synchronize()
    assert call.result().tolist() == [0, 0, 7, 8]
    assert rig.download(out, (4,), np.float32).tolist() == [0, 0, 0, 0]


def test_a_single_use_executor_with_a_copy_kernel_takes_a_new_output(rig):
    call = Call(rig, strides=(2,), storage=(16,))
    executor = call.executor()
    out = rig.upload(np.zeros(16, np.float32))
    rig("aclSetOutputTensorAddr", executor, 0, call.out, rig.pointer(out))
    call.phase2(executor)
    rig.synchronize()
    assert rig.download(out, (8,), np.float32).tolist() == [0, 0, 0, 0, 3, 0, 4, 0]
    assert rig.download(call.addresses["out"], (8,), np.float32).tolist() == [9] * 8


def test_one_tensor_used_twice_moves_in_both_places(rig, call):
    status, size, executor = rig.phase1(call.grad, call.x, call.lambd, call.grad)
    assert status == 0
    rig("aclSetAclOpExecutorRepeatable", executor)
    other = rig.upload(np.array([5, 6, 7, 8], np.float32))
    rig("aclSetTensorAddr", executor, 0, call.grad, rig.pointer(other))
    rig.phase2(executor, rig.malloc(size), size)
    rig.synchronize()
    assert rig.download(other, (4,), np.float32).tolist() == [0, 0, 7, 8]
    assert rig.download(call.addresses["grad"], (4,), np.float32).tolist() == [1, 2, 3, 4]


def test_the_offset_of_a_view_is_kept_when_its_address_moves(rig, call):
    storage = rig.upload(np.zeros(16, np.float32))
    out = rig.tensor("float32", (4,), storage, offset=8, storage=(16,))
    status, size, executor = rig.phase1(call.grad, call.x, call.lambd, out)
    assert status == 0
    rig("aclSetAclOpExecutorRepeatable", executor)
    other = rig.upload(np.zeros(16, np.float32))
    rig("aclSetTensorAddr", executor, 0, out, rig.pointer(other))
    rig.phase2(executor, rig.malloc(size), size)
    rig.synchronize()
    assert rig.download(other, (16,), np.float32).tolist() == [0] * 10 + [3, 4] + [0] * 4


# -- destroying ----------------------------------------------------------------


def test_destroying_null_is_561103_with_a_message(rig):
    assert rig("aclDestroyAclOpExecutor", NULL) == 561103
    (entry,) = rig.npu.messages.take()
    assert dict(entry.fields)["functionName"] == "aclDestroyAclOpExecutor"


def test_an_executor_that_never_ran_can_be_destroyed(rig, call):
    executor = call.executor()
    assert rig("aclDestroyAclOpExecutor", executor) == 0
    assert not any("aclOpExecutor" in line for line in rig.npu.leaks())


def test_the_call_after_a_destroyed_executor_is_right(rig, call):
    rig("aclDestroyAclOpExecutor", call.executor())
    assert call.phase2(call.executor()) == 0
    rig.synchronize()
    assert call.result().tolist() == [0, 0, 3, 4]


# -- use after free: strict raises, lenient returns what was seen --------------


def after_phase2(rig, call):
    executor = call.executor()
    call.phase2(executor)
    return executor


def after_destroy(rig, call):
    executor = call.executor()
    rig("aclDestroyAclOpExecutor", executor)
    return executor


def after_null_workspace(rig, call):
    executor = call.executor()
    assert rig.phase2(executor, 0, 512) == 161001
    rig.messages()
    return executor


def phase2(rig, call, executor):
    return call.phase2(executor)


def repeatable(rig, call, executor):
    return rig("aclSetAclOpExecutorRepeatable", executor)


def destroy(rig, call, executor):
    return rig("aclDestroyAclOpExecutor", executor)


def move(rig, call, executor):
    same = rig.pointer(call.addresses["grad"])
    return rig("aclSetInputTensorAddr", executor, 0, call.grad, same)


MISUSES = [
    (after_phase2, phase2, 161001),
    (after_destroy, phase2, 161001),
    (after_null_workspace, phase2, 161001),
    (after_phase2, repeatable, 0),
    (after_phase2, destroy, 0),
    (after_phase2, move, 0),
]


@pytest.mark.parametrize(("before", "misuse", "seen"), MISUSES)
def test_a_dead_executor_raises_in_strict_mode_and_tells_what_the_real_code_returned(
    rig, call, before, misuse, seen
):
    executor = before(rig, call)
    with pytest.raises(LifetimeError, match="use after free") as caught:
        misuse(rig, call, executor)
    assert caught.value.seen == seen
    rig.synchronize()
    assert call.phase2(call.executor()) == 0  # and the device is usable


@pytest.mark.parametrize(("before", "misuse", "seen"), MISUSES)
def test_a_dead_executor_returns_what_was_seen_in_lenient_mode(before, misuse, seen):
    rig = Rig(strict=False)
    call = Call(rig)
    executor = before(rig, call)
    logged = len(rig.npu.log)
    assert misuse(rig, call, executor) == seen
    assert rig.messages() == []
    assert launched(rig, logged) == []


@pytest.mark.parametrize("strict", [True, False])
def test_destroying_an_executor_twice_raises_in_both_modes_since_the_real_code_aborts(strict):
    rig = Rig(strict=strict)
    executor = after_destroy(rig, Call(rig))
    with pytest.raises(LifetimeError, match="it was destroyed"):
        rig("aclDestroyAclOpExecutor", executor)


@pytest.mark.parametrize("strict", [True, False])
def test_an_executor_that_phase_1_never_gave_out_raises_in_both_modes(strict):
    rig = Rig(strict=strict)
    wild = rig.ffi.cast("aclOpExecutor *", 0x4444)
    with pytest.raises(LifetimeError, match="no executor that phase 1 gave out"):
        rig.phase2(wild)


@pytest.mark.parametrize("name", ["grad", "x", "out"])
def test_a_tensor_destroyed_before_phase_2_is_caught_or_runs_as_seen(name):
    strict, lenient = Rig(), Rig(strict=False)
    for rig in (strict, lenient):
        rig.call = Call(rig)
        rig.made = rig.call.executor()
        rig("aclDestroyTensor", getattr(rig.call, name))
    with pytest.raises(LifetimeError, match="destroyed before phase 2") as caught:
        strict.call.phase2(strict.made)
    assert caught.value.seen == 0
    assert lenient.call.phase2(lenient.made) == 0
    lenient.synchronize()
    assert lenient.call.result().tolist() == [0, 0, 3, 4]


def test_the_scalar_may_be_destroyed_right_after_phase_1(rig, call):
    executor = call.executor()
    rig("aclDestroyScalar", call.lambd)
    assert call.phase2(executor) == 0
    rig.synchronize()
    assert call.result().tolist() == [0, 0, 3, 4]


def test_tensors_may_be_destroyed_between_phase_2_and_synchronise(rig, call):
    call.phase2(call.executor())
    for tensor in (call.grad, call.x, call.out):
        assert rig("aclDestroyTensor", tensor) == 0
    assert rig.synchronize() == 0
    assert call.result().tolist() == [0, 0, 3, 4]


def test_tensors_destroyed_between_repeat_runs_are_caught_or_run_as_seen():
    strict, lenient = Rig(), Rig(strict=False)
    for rig in (strict, lenient):
        rig.call = Call(rig)
        rig.made = rig.call.executor()
        rig("aclSetAclOpExecutorRepeatable", rig.made)
        assert rig.call.phase2(rig.made) == 0
        rig("aclDestroyTensor", rig.call.x)
    with pytest.raises(LifetimeError, match="self was destroyed"):
        strict.call.phase2(strict.made)
    assert lenient.call.phase2(lenient.made) == 0


def test_tensors_destroyed_before_a_repeatable_executor_are_caught_or_pass_as_seen():
    strict, lenient = Rig(), Rig(strict=False)
    for rig in (strict, lenient):
        rig.call = Call(rig)
        rig.made = rig.call.executor()
        rig("aclSetAclOpExecutorRepeatable", rig.made)
        rig.call.phase2(rig.made)
        rig("aclDestroyTensor", rig.call.out)
    with pytest.raises(LifetimeError, match="gradInput destroyed before") as caught:
        strict("aclDestroyAclOpExecutor", strict.made)
    assert caught.value.seen == 0
    assert not any("aclOpExecutor" in line for line in strict.npu.leaks())
    assert lenient("aclDestroyAclOpExecutor", lenient.made) == 0


# -- faults --------------------------------------------------------------------


def test_the_nth_malloc_fails_once(rig):
    rig.npu.faults.fail_malloc(3)
    codes = [rig("aclrtMalloc", rig.new("void **"), 64, 0) for _ in range(5)]
    assert codes == [0, 0, 207001, 0, 0]
    assert len(rig.npu.heap) == 4


def test_a_kernel_that_cannot_be_prepared_fails_phase_1(rig):
    call = MixedCall(rig)
    rig.npu.faults.fail_prepare("Cast", 561003)
    assert call.phase1() == (561103, -1, NULL)
    assert rig.messages() == [("EZ9999", ("Cast",))]
    rig.npu.faults.fail_prepare("Cast", None)
    assert call.phase2(call.executor()) == 0


def test_a_launcher_that_fails_gives_its_own_code_after_the_kernels_before_it(rig):
    call = MixedCall(rig)
    executor = call.executor()
    rig.npu.faults.fail_launcher("HardShrinkGrad", 561002)
    assert call.phase2(executor) == 561002
    assert launched(rig) == [("Cast", "queued"), ("HardShrinkGrad", "launch-failed")]
    assert rig.messages() == [("EZ9999", ("HardShrinkGrad", "561002"))]
    rig.npu.faults.fail_launcher("HardShrinkGrad", None)
    assert rig.synchronize() == 0
    assert call.phase2(call.executor()) == 0


@pytest.mark.parametrize("after", [0, 1, 2])
def test_the_runtime_refuses_the_kth_launch(rig, after):
    call = MixedCall(rig)
    executor = call.executor()
    rig.npu.faults.fail_runtime_launch(after, 507899)
    assert call.phase2(executor) == 361001
    chain = ["Cast", "HardShrinkGrad", "Cast"]
    want = [(op, "queued") for op in chain[:after]] + [(chain[after], "runtime-failed")]
    assert launched(rig) == want
    assert rig.messages() == [("EZ9903", ("507899",)), ("EZ9903", (chain[after], "361001"))]
    rig.synchronize()
    assert call.phase2(call.executor()) == 0
    assert rig.synchronize() == 0
    assert call.result().tolist() == [0, 0, 3, 4]


def test_a_device_copy_that_fails_is_a_runtime_error():
    rig = Rig(A310P)
    call = Call(rig, storage=(16,))
    executor = call.executor()
    rig.npu.faults.fail_launcher("CopyNpuToNpu", 507899)
    assert call.phase2(executor) == 361001
    assert rig.codes() == ["EZ9999", "EZ9903"]


@pytest.mark.parametrize("code", [507035, 507015, 507034])
def test_a_kernel_that_fails_on_the_device_shows_at_synchronise_under_the_operators_name(
    rig, call, code
):
    rig.npu.faults.fail_kernel("HardShrinkGrad", code)
    assert call.phase2(call.executor()) == 0
    assert rig.messages() == []
    assert rig.synchronize() == code
    text = rig.ffi.string(rig("aclGetRecentErrMsg")).decode()
    assert "aclnnHardshrinkBackward" in text
    assert str(code) in text
    assert call.result().tolist() == [9, 9, 9, 9]
    assert call.phase2(call.executor()) == 0
    assert rig.synchronize() == 0
    assert call.result().tolist() == [0, 0, 3, 4]


def test_a_kernel_that_fails_shows_under_the_operators_name_at_device_synchronise_too(rig, call):
    rig.npu.faults.fail_kernel("HardShrinkGrad")
    call.phase2(call.executor())
    assert rig("aclrtSynchronizeDevice") == 507035
    text = rig("aclGetRecentErrMsg")
    assert text != NULL
    assert "aclnnHardshrinkBackward" in rig.ffi.string(text).decode()


def test_after_a_failed_kernel_the_kernels_behind_it_do_not_run(rig):
    call = MixedCall(rig)
    rig.npu.faults.fail_kernel("Cast")
    call.phase2(call.executor())
    assert rig.synchronize() == 507035
    assert list(rig.npu.executed) == []
    assert call.phase2(call.executor()) == 0
    assert rig.synchronize() == 0
    assert [task.op_type for task in rig.npu.executed] == ["Cast", "HardShrinkGrad", "Cast"]


STATUS_CALLS = {
    "aclInit": lambda r: (NULL,),
    "aclFinalize": lambda r: (),
    "aclrtSetDevice": lambda r: (0,),
    "aclrtMalloc": lambda r: (r.new("void **"), 64, 0),
    "aclrtFree": lambda r: (r.pointer(r.malloc(64)),),
    "aclrtCreateStream": lambda r: (r.new("aclrtStream *"),),
    "aclrtSynchronizeStream": lambda r: (NULL,),
    "aclDestroyTensor": lambda r: (r.tensor("float32", (1,)),),
    "aclDestroyScalar": lambda r: (r.scalar(),),
    "aclrtGetDeviceCount": lambda r: (r.new("uint32_t *"),),
}


@pytest.mark.parametrize("name", STATUS_CALLS)
def test_any_call_can_be_made_to_fail_once(rig, name):
    rig.npu.faults.fail_call(name, 507899)
    arguments = STATUS_CALLS[name](rig)
    assert rig(name, *arguments) == 507899
    assert rig(name, *arguments) == 0


def test_the_nth_call_from_now_fails_and_no_other(rig):
    rig.npu.faults.fail_call("aclrtGetDeviceCount", 500001, nth=3)
    count = rig.new("uint32_t *")
    assert [rig("aclrtGetDeviceCount", count) for _ in range(5)] == [0, 0, 500001, 0, 0]


@pytest.mark.parametrize("name", ["aclCreateTensor", "aclCreateScalar", "aclrtGetSocName"])
def test_a_call_that_returns_a_pointer_returns_null_when_it_is_made_to_fail(rig, name):
    calls = {
        "aclCreateTensor": lambda: rig.tensor("float32", (2,)),
        "aclCreateScalar": lambda: rig.scalar(),
        "aclrtGetSocName": lambda: rig("aclrtGetSocName"),
    }
    rig.npu.faults.fail_call(name, 1)
    assert calls[name]() == NULL
    assert calls[name]() != NULL


def test_a_call_that_is_made_to_fail_does_nothing_else(rig):
    address = rig.malloc(64)
    rig.npu.faults.fail_call("aclrtFree", 107000)
    assert rig.free(address) == 107000
    assert rig.npu.heap.used == 64
    assert rig.free(address) == 0


def test_clearing_takes_every_fault_back(rig, call):
    faults = rig.npu.faults
    faults.fail_malloc(1)
    faults.fail_call("aclrtMemcpy", 1)
    faults.fail_runtime_launch()
    faults.fail_launcher("HardShrinkGrad", 1)
    faults.fail_prepare("HardShrinkGrad", 1)
    faults.fail_kernel("HardShrinkGrad")
    faults.clear()
    assert call.phase2(call.executor()) == 0
    assert rig.synchronize() == 0
    assert call.result().tolist() == [0, 0, 3, 4]


def test_phase_1_gives_the_size_of_the_chip_and_of_the_option():
    assert Call(Rig(A950)).phase1()[1] == 512
    assert Call(Rig(A2)).phase1()[1] == 0
    assert Call(Rig(A950, kernel_workspaces="none")).phase1()[1] == 0
    assert Call(Rig(A2, kernel_workspaces={"HardShrinkGrad": 1000})).phase1()[1] == 1536
