"""The exercises of notebook 02: wrong answers that tell, and orders of which many are right."""

import itertools
import random

import pytest

from labkit.course import check
from labkit.course.c_examples import backward_program
from labkit.course.exercises.host_order.check import given
from labkit.course.exercises.missing_step.check import LEFT_OUT, symptom, symptoms
from labkit.course.exercises.workspace.check import truth
from labkit.op import TensorDesc, plan_hardshrink_backward

LINES = [line.text for line in given()]


def place(words):
    (found,) = [at for at, line in enumerate(LINES) if words in line]
    return found


def moved(words, before):
    lines = LINES.copy()
    line = lines.pop(place(words))
    at = next(n for n, text in enumerate(lines) if before in text)
    return [*lines[:at], line, *lines[at:]]


# -- workspace ----------------------------------------------------------------------------------


def test_the_workspaces_are_those_of_the_worked_examples():
    assert truth() == {
        "all fp32": 512,
        "a million": 512,
        "empty": 0,
        "fp16 grad": 16778240,
        "column grad": 16778752,
        "gaps in out": 1024,
    }


def test_a_wrong_size_is_named_and_not_given_away():
    answer = {**truth(), "gaps in out": 512}
    verdict = check("workspace", answer)
    assert not verdict
    assert "5 of 6" in repr(verdict) and "look again at: gaps in out" in repr(verdict)
    assert "1024" not in repr(verdict)


# -- host order ---------------------------------------------------------------------------------


def test_many_orders_are_right():
    assert check("host order", LINES)
    for words, before in [
        ("aclCreateScalar", "aclrtMalloc(&selfAddr"),
        ("aclrtMalloc(&outAddr", "aclrtMalloc(&selfAddr"),
        ("aclrtMemcpy(selfAddr", "if (workspaceSize > 0) aclrtMalloc"),
        ("aclDestroyTensor(self)", "aclrtSynchronizeStream"),
        ("aclrtFree(selfAddr)", "aclrtMemcpy(outHost"),
    ]:
        assert check("host order", moved(words, before)), words


@pytest.mark.parametrize(
    ("words", "before", "told"),
    [
        ("aclrtMemcpy(outHost", "aclrtSynchronizeStream", "call aclrtSynchronizeStream first"),
        ("aclrtFree(selfAddr)", "aclrtSynchronizeStream", "synchronise the stream first"),
        ("aclDestroyTensor(self)", "aclnnHardshrink(work", "self was destroyed before phase 2"),
        ("aclnnHardshrinkGet", "out = aclCreateTensor", "161001 ACLNN_ERR_PARAM_NULLPTR"),
        ("aclnnHardshrink(work", "aclnnHardshrinkGet", "161001"),
        ("aclrtSynchronizeStream", "aclnnHardshrink(work", "call aclrtSynchronizeStream first"),
        ("self = aclCreateTensor", "aclrtMalloc(&selfAddr", "null device pointer"),
    ],
)
def test_a_wrong_order_is_betrayed_by_the_first_line_that_fails(words, before, told):
    verdict = check("host order", moved(words, before))
    assert not verdict and "the first line that fails" in repr(verdict)
    assert told in repr(verdict), verdict


def test_a_workspace_freed_early_is_noticed_although_a_dense_output_does_not_need_it():
    order = moved("aclrtFree(workspace)", "aclrtSynchronizeStream")
    verdict = check("host order", order)
    assert not verdict and "with a transposed out" in repr(verdict)
    assert "aclrtFree(workspace)" in repr(verdict)


def test_an_input_copied_in_after_the_wait_gives_wrong_numbers_and_no_code():
    lines = LINES.copy()
    line = lines.pop(place("aclrtMemcpy(selfAddr"))
    at = lines.index("aclrtSynchronizeStream(stream)") + 1
    verdict = check("host order", [*lines[:at], line, *lines[at:]])
    assert not verdict and "every call returned 0, but outHost is" in repr(verdict)


def test_lines_that_are_missing_doubled_or_no_c_are_named():
    assert "missing: aclrtFree(selfAddr)" in repr(
        check("host order", [line for line in LINES if line != "aclrtFree(selfAddr)"])
    )
    assert "once too often" in repr(check("host order", [*LINES, LINES[0]]))
    assert "no line of the lab's C" in repr(check("host order", ["hello", *LINES]))
    assert "no C function" in repr(check("host order", ["rm()", *LINES]))


def test_an_endless_answer_ends():
    assert not check("host order", (LINES[0] for _ in itertools.count()))
    assert not check("host order", itertools.repeat(7))


def test_random_orders_always_get_a_verdict():
    chance = random.Random(2)
    passed = 0
    for _ in range(40):
        lines = LINES.copy()
        chance.shuffle(lines)
        passed += bool(check("host order", lines))
    assert passed == 0


# -- missing step -------------------------------------------------------------------------------


def test_the_six_symptoms_are_six():
    program = backward_program()
    shown = [symptom(program.find(words)) for words in LEFT_OUT.values()]
    assert len(set(shown)) == 6
    assert all(line in symptoms() for symptom in shown for line in symptom)


def test_no_address_is_in_a_symptom():
    assert "0x" not in symptoms()


def test_a_line_with_the_same_symptom_is_right_as_well():
    right = {"A": 17, "B": 16, "C": 8, "D": 2, "E": 15, "F": 14}
    assert check("missing step", right)
    assert check("missing step", {**right, "F": 13})
    alone = [n for n in range(28) if symptom(n) == symptom(13)]
    assert alone == [12, 13]


def test_a_wrong_line_is_told_by_what_one_would_see_without_it():
    verdict = check("missing step", {"A": 16})
    assert not verdict and "A is not line 16: without that one" in repr(verdict)
    assert "431602080" in repr(verdict) and "still open: B, C, D, E, F" in repr(verdict)


@pytest.mark.parametrize("number", [0, 29, -1, "17", 17.0, True, [17]])
def test_what_is_no_line_number_is_told(number):
    verdict = check("missing step", {"A": number})
    assert not verdict and "A must be the number of a line, 1 to 28" in repr(verdict)


def test_the_program_that_is_printed_has_the_lines_that_are_asked_for():
    numbers = {words: backward_program().find(words) + 1 for words in LEFT_OUT.values()}
    assert list(numbers.values()) == [17, 16, 8, 2, 15, 14]


def test_the_workspace_of_the_mixed_call_is_16_mib_more():
    t = TensorDesc
    plan = plan_hardshrink_backward(
        t("float16", (4, 1)), t("float32", (1, 4)), 2.0, t("float32", (4, 4)), soc="950"
    )
    run = backward_program("mixed").upto("GetWorkspaceSize").run()
    assert plan.workspace_size == 16779264 and run.launched == ()
