"""Host programs as lines of C: read, changed, run through the same C interface."""

import numpy as np
import pytest

import labkit
from labkit.course.c_examples import CALLS, backward_program, forward_program
from labkit.course.c_machine import CMachine
from labkit.course.c_program import CProgram, c_line
from labkit.op import TensorDesc, plan_hardshrink_backward
from labkit.sim import SoftwareNpu

PLAIN = backward_program()
PHASE_2 = "aclnnHardshrinkBackward(workspace"


# -- reading ------------------------------------------------------------------------------------


def test_a_line_is_read_into_its_parts():
    line = c_line("  if (workspaceSize > 0)  aclrtFree( workspace ) ; ")
    assert (line.name, line.args, line.condition, line.result) == (
        "aclrtFree",
        ("workspace",),
        "workspaceSize",
        "",
    )
    assert c_line("x = aclCreateScalar(&lambdValue, ACL_FLOAT)").outs == ("lambdValue", "x")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is no line of the lab's C"),
        ("aclInit", "is no line of the lab's C"),
        ("aclInit(nullptr); aclFinalize()", "is no line of the lab's C"),
        ("aclinit(nullptr)", "aclinit is no C function"),
        ("aclrtFree(a, b)", "has 2 arguments; right would be: aclError aclrtFree(void* devPtr)"),
        ("aclrtFree(a + 4)", "neither a name nor a whole number"),
        ("aclrtFree()", "has 0 arguments"),
    ],
)
def test_what_is_no_call_is_refused_with_what_would_be_right(text, told):
    with pytest.raises(labkit.LabValueError) as caught:
        c_line(text)
    assert told in str(caught.value)


def test_the_printed_program_is_the_program():
    text = "\n".join(line.split(maxsplit=1)[1] for line in str(PLAIN).splitlines())
    again = CProgram.of(text, PLAIN.output, **PLAIN.host)
    assert again.lines == PLAIN.lines
    assert again.run().result.tolist() == [[0, 0], [7, 8]]


# -- changing -----------------------------------------------------------------------------------


def test_lines_can_be_left_out_moved_and_inserted_and_the_program_stays():
    before = PLAIN.lines
    assert len(PLAIN.without("aclrtSynchronizeStream", "aclFinalize").lines) == 26
    moved = PLAIN.moved("aclrtFree(gradAddr)", after=PHASE_2)
    assert moved.find("aclrtFree(gradAddr)") == moved.find(PHASE_2) + 1
    assert len(PLAIN.inserted("aclFinalize()\naclFinalize()", after="aclInit").lines) == 30
    assert len(PLAIN.upto(PHASE_2).lines) == 15
    assert PLAIN.lines == before


@pytest.mark.parametrize("words", ["aclrtFree", "nothing like it", ""])
def test_a_line_is_named_by_words_that_no_other_line_has(words):
    with pytest.raises(labkit.LabValueError, match="part of exactly one line"):
        PLAIN.without(words)


# -- running ------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("soc", ["950", "910b", "a3", "910", "310p"])
@pytest.mark.parametrize("strict", [True, False])
def test_the_examples_are_right_and_leave_nothing(call, soc, strict):
    run = backward_program(call).run(soc=soc, strict=strict)
    assert run.failed is None and run.leaks == ()
    grad, x, out = (tensor.array.astype(np.float32) for tensor in CALLS[call])
    want = np.where(np.abs(x) <= 2, np.float32(0), np.broadcast_to(grad, out.shape))
    have = run.result.T if call == "transposed" else run.result
    assert have.tobytes() == want.tobytes() or np.array_equal(have, want)
    assert np.array_equal(have, want)


@pytest.mark.parametrize("transposed", [False, True])
def test_the_forward_program_is_right(transposed):
    run = forward_program(transposed=transposed).run()
    want = [[0, 3], [0, 4]] if transposed else [[0, 0], [3, 4]]
    assert run.failed is None and run.result.tolist() == want


def test_a_run_says_what_phase_1_asked_for():
    plan = plan_hardshrink_backward(
        TensorDesc("float16", (4, 1)),
        TensorDesc("float32", (1, 4)),
        2.0,
        TensorDesc("float32", (4, 4)),
        soc="950",
    )
    run = backward_program("mixed").upto("GetWorkspaceSize").run()
    assert run.numbers["workspaceSize"] == plan.workspace_size == 16779264
    assert run.launched == run.executed == ()
    whole = backward_program("mixed").run()
    assert whole.launched == whole.executed == tuple(each.op_type for each in plan.launches)


def test_a_run_works_on_copies_of_the_host_memory():
    assert PLAIN.run().result.any()
    assert not PLAIN.host["outHost"].any()


def test_on_an_open_device_its_own_lines_are_skipped():
    with labkit.open_device("sim", soc="910b") as device:
        run = PLAIN.run(device)
        assert run.result.tolist() == [[0, 0], [7, 8]]
        skipped = [call.line.name for call in run.calls if call.returned == "skipped"]
    assert skipped == [
        "aclInit",
        "aclrtSetDevice",
        "aclrtCreateStream",
        "aclrtMalloc",  # the 910B wants no workspace
        "aclrtFree",
        "aclrtDestroyStream",
        "aclrtResetDevice",
        "aclFinalize",
    ]


def test_a_code_ends_the_program_unless_codes_are_ignored():
    broken = PLAIN.without("aclrtMalloc(&workspace")
    run = broken.run()
    assert run.calls[-1].status == 161001 and len(run.calls) == 14
    assert run.message.startswith("EZ1001")
    assert str(run).splitlines() == [
        "line 14: aclnnHardshrinkBackward",
        "returned 161001",
        "outHost: 0  0  0  0",
    ]
    assert len(broken.run(check=False).calls) == 27


def test_an_error_names_variables_and_no_addresses():
    run = PLAIN.moved("aclrtFree(gradAddr)", after=PHASE_2).run()
    assert isinstance(run.failed.error, labkit.LifetimeError)
    assert "aclrtFree(gradAddr)" in run.failed.words and "0x" not in str(run)
    small = PLAIN.replaced("aclrtMalloc(&workspace", "aclrtMalloc(&workspace, 32, 0)").run()
    assert "512 bytes at workspace" in small.failed.words


@pytest.mark.parametrize(
    ("words", "line", "told"),
    [
        ("aclrtMemcpy(outHost", "aclrtMemcpy(outHost, 64, outAddr, 64, 2)", "has 16 bytes"),
        ("aclrtMemcpy(gradAddr", "aclrtMemcpy(gradAddr, 64, gradHost, 64, 1)", "has 16 bytes"),
        ("aclrtMemcpy(outHost", "aclrtMemcpy(outHost, 16, lambd, 16, 2)", "is no memory"),
        ("aclrtMemcpy(outHost", "aclrtMemcpy(outHost, 16, nobody, 16, 2)", "is called nobody"),
        (
            "self = aclCreateTensor",
            "self = aclCreateTensor(selfDim, 9, 0, selfStride, 0, 2, selfDim, 9, selfAddr)",
            "has 2 numbers, not 9",
        ),
        ("aclrtSetDevice", "aclrtSetDevice(99999999999)", "a C compiler would not take"),
        ("aclDestroyScalar", "aclDestroyScalar(self)", "a C compiler would not take"),
    ],
)
def test_what_no_c_program_survives_is_refused_before_it_is_called(words, line, told):
    run = PLAIN.replaced(words, line).run()
    assert run.failed.returned == "LabValueError"
    assert told in run.failed.words


def test_any_line_may_be_left_out_without_harm_to_the_lab():
    for number in range(28):
        program = CProgram(
            tuple(line for at, line in enumerate(PLAIN.lines) if at != number),
            PLAIN.host,
            PLAIN.output,
            PLAIN.names,
        )
        for strict in (True, False):
            assert program.run(strict=strict, check=strict).calls


def test_a_variable_starts_as_null_or_zero():
    npu = SoftwareNpu("950")
    machine = CMachine(PLAIN, npu)
    assert machine.call(c_line("aclInit(nullptr)")).status == 0
    assert machine.call(c_line("aclrtFree(gradAddr)")).status == 100000
    skipped = machine.call(c_line("if (workspaceSize > 0) aclrtFree(workspace)"))
    assert skipped.returned == "skipped" and skipped.status is None


def test_an_unknown_call_is_named():
    with pytest.raises(labkit.LabValueError, match="right would be one of plain, mixed"):
        backward_program("nothing")


def test_a_run_speaks_chinese_where_that_is_asked_for(monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    assert str(PLAIN.run()).startswith("28次调用全部正常")
