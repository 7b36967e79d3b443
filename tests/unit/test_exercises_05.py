"""The exercises about the call chain: telling wrong answers, and truths that are not stored."""

import re

import numpy as np
import pytest

import labkit
from labkit.course import check
from labkit.course.exercise import exercise
from labkit.course.exercises.buckets.check import inputs
from labkit.course.exercises.launches.check import CALLS, truth
from labkit.course.lifetimes import first_fit_bytes, pieces_of, read_pieces, workspace_bytes
from labkit.explain.conditions import first_fit_size
from labkit.op import TensorDesc, plan_hardshrink_backward


def rounded(size):
    return (size + 32 + 511) // 512 * 512


def by_rule(choose):
    """An allocator that takes the bucket `choose` picks from those that are free."""

    def total(pieces):
        buckets = []
        for size, first, last in pieces:
            free = [bucket for bucket in buckets if bucket[1] < first]
            if free:
                home = choose(free)
                home[:] = max(home[0], rounded(size)), last
            else:
                buckets.append([rounded(size), last])
        return sum(bucket[0] for bucket in buckets)

    return total


def sharing_too_early(pieces):
    buckets = []
    for size, first, last in pieces:
        free = [bucket for bucket in buckets if bucket[1] <= first]
        if free:
            free[-1][:] = max(free[-1][0], rounded(size)), last
        else:
            buckets.append([rounded(size), last])
    return sum(bucket[0] for bucket in buckets)


RIGHT = by_rule(lambda free: free[-1])


# -- launches ---------------------------------------------------------------------------


def test_the_calls_of_the_task_are_those_that_are_judged():
    for language in ("en", "zh"):
        rows = re.findall(r"^\| ([a-z0-9 ]+) \| `(.*?)` \| `(.*?)` \| `(.*?)` \|$",
                          exercise("launches").text(language), re.M)  # fmt: skip
        assert {name: (grad, x, out) for name, grad, x, out in rows} == CALLS


@pytest.mark.parametrize("written", [str.split, lambda text: tuple(text.split(", ")), str])
def test_launches_may_be_written_as_a_text_or_a_list(written):
    answer = {name: written(text) for name, text in truth().items()}
    if written is str.split:
        answer = {name: [part.strip(",") for part in value] for name, value in answer.items()}
    assert check("launches", answer)


def test_a_wrong_launch_is_named_and_not_given_away():
    answer = dict(truth()) | {"one fits": "BroadcastTo, HardShrinkGrad"}
    verdict = check("launches", answer)
    assert not verdict and "9 of 10" in repr(verdict) and "look again at: one fits" in repr(verdict)
    assert "BroadcastTo" not in repr(verdict)
    order = dict(truth()) | {"fp16 output": "Cast, HardShrinkGrad"}
    assert "look again at: fp16 output" in repr(check("launches", order))


@pytest.mark.parametrize("value", [7, object(), np.ones(3), [None], {"a": 1}, b"Cast"])
def test_a_launch_list_of_any_kind_gets_a_verdict(value):
    assert not check("launches", dict.fromkeys(CALLS, value))


# -- buckets ----------------------------------------------------------------------------


def test_the_rule_itself_passes():
    assert "412 lists" in repr(check("buckets", RIGHT))


@pytest.mark.parametrize(
    ("answer", "betrayed_by"),
    [
        (lambda pieces: sum(size for size, *_ in pieces), "[(0, 0, 0)]"),
        (lambda pieces: sum(-(-size // 512) * 512 for size, *_ in pieces), "[(0, 0, 0)]"),
        (
            lambda pieces: sum(-(-max(size, 1) // 512) * 512 for size, *_ in pieces),
            "[(481, 0, 0)]",
        ),
        (lambda pieces: sum(rounded(size) for size, *_ in pieces), r"\(\d+, 0, 0\), \(\d+, 1, 1\)"),
        (sharing_too_early, "betrays"),
        (by_rule(lambda free: free[0]), r"\(\d+, 1, 1\), \(\d+, 1, 1\), \(\d+, 2, 2\)"),
        (by_rule(max), "betrays"),
        (lambda pieces: None, "your answer says None"),
        (lambda pieces: np.zeros(3), "your answer says array"),
        (lambda pieces: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_a_wrong_allocator_is_betrayed_by_few_pieces(answer, betrayed_by):
    text = repr(check("buckets", answer))
    assert text.startswith("buckets: not yet")
    assert betrayed_by in text or re.search(betrayed_by, text), text
    assert text.count("(") <= 8


def test_an_answer_may_use_up_the_list_it_is_given():
    def greedy(pieces):
        total = RIGHT(pieces)
        pieces.clear()
        return total

    assert check("buckets", greedy) and check("buckets", greedy)


def test_the_lists_are_the_same_on_each_run_and_hold_real_calls():
    assert inputs() is inputs() and len({len(pieces) for pieces in inputs()}) > 6
    half, full = TensorDesc("float16", (4, 4)), TensorDesc("float32", (4, 4))
    plan = plan_hardshrink_backward(half, full, 0.5, half)
    assert pieces_of(plan) in inputs()
    assert workspace_bytes(pieces_of(plan)) == plan.workspace_size == 33555968
    for pieces in inputs():
        assert read_pieces(pieces) == pieces


def test_the_twin_is_the_first_fit_that_an_explanation_computes():
    for grad, x, out in (
        ("float16", "float32", "float16"),
        ("float16", "bfloat16", "float16"),
        ("float32", "float32", "float32"),
    ):
        tensors = [TensorDesc(dtype, (4, 4)) for dtype in (grad, x, out)]
        plan = plan_hardshrink_backward(tensors[0], tensors[1], 0.5, tensors[2])
        assert first_fit_bytes(pieces_of(plan)) == first_fit_size(plan)


# -- first fit --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        [(16777216, 0, 0), (64, 0, 0), (16777216, 1, 1)],
        [(64, 0, 0), (16777216, 0, 0), (16777216, 1, 1)],
        ((1000, 0, 0), (1, 0, 0), (1000, 5, 5)),
        np.array([[1000, 0, 0], [1, 0, 0], [1000, 5, 5]]),
    ],
)
def test_pieces_that_betray_the_twin_pass(answer):
    verdict = check("first fit", answer)
    assert verdict and "the twin takes" in repr(verdict)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ([(64, 0, 0)], "does not tell them apart"),
        ([(1000, 0, 1), (1, 0, 1), (1000, 1, 1)], "does not tell them apart"),
        ([], "at least one piece"),
        ([(1, 0, 0)] * 65, "at most 64"),
        ([(1, 2, 1)], "cannot be"),
        ([(1, 1, 1), (1, 0, 0)], "cannot be"),
        ([(-1, 0, 0)], "cannot be"),
        ([(1.5, 0, 0)], "list of triples"),
        ([(1, 0)], "list of triples"),
        (iter(lambda: (1, 0, 0), None), "at most 64"),
    ],
)
def test_other_pieces_are_told_what_is_missing(answer, told):
    verdict = check("first fit", answer)
    assert not verdict and told in repr(verdict), verdict


def test_verdicts_speak_chinese(monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    assert "分配器占用512字节" in repr(check("buckets", lambda pieces: 0))
    with pytest.raises(labkit.LabValueError, match="三元组"):
        read_pieces("ab")
