"""The exercises on the contract: telling wrong answers, betrayed at the simplest call."""

import sys

import numpy as np
import pytest

import labkit
from labkit.course import check
from labkit.course.exercise import exercise


@pytest.fixture(scope="module")
def device():
    with labkit.open_device("sim") as device:
        yield device


def of(name, function):
    """A function of the module that judges an exercise."""
    return getattr(sys.modules[exercise(name).judge.__module__], function)


def plans():
    return of("status", "plans")()


def cases():
    return of("check order", "cases")()


def right(call, *, late=False, rank=True, lambd=True, null_last=False):
    """The right checks, with one of them changed."""
    grad, x, out = call["gradOutput"], call["self"], call["gradInput"]
    there = [tensor for tensor in (grad, x, out) if tensor is not None]
    null = len(there) < 3 or (lambd and call["lambd"] is None)
    if null and not null_last:
        return 161001
    if any(tensor["dtype"] not in call["supported"] for tensor in there):
        return 161002
    if null:
        return 161001
    if rank and any(len(tensor["shape"]) > 8 for tensor in there):
        return 161002
    empty = 0 in grad["shape"] or 0 in x["shape"]
    if empty and not late:
        return 0
    try:
        common = np.broadcast_shapes(grad["shape"], x["shape"])
    except ValueError:
        return 161002
    return 0 if empty or out["shape"] == common else 161002


def test_the_right_checks_pass(device):
    assert check("check order", right, device)


@pytest.mark.parametrize(
    ("wrong", "betrayed_by"),
    [
        (lambda call: right(call, late=True), "gradOutput float32 (0,), self float32 (5,)"),
        (lambda call: right(call, rank=False), "(1, 1, 1, 1, 1, 1, 1, 1, 1)"),
        (lambda call: right(call, lambd=False), "lambd null"),
        (lambda call: right(call, null_last=True), "null"),
        (lambda call: right({**call, "supported": ("float32", "float16")}), "bfloat16"),
        (lambda call: None, "gradOutput float32 (3,), self float32 (3,)"),
        (lambda call: [1], "your function says [1]"),
        (lambda call: np.zeros(3), "ValueError"),
        (lambda call: call["gradOutput"]["dtype"] and right(call), "TypeError"),
        (lambda call: call.clear() or 0, "phase 1 returns 161002"),
    ],
)
def test_wrong_checks_are_betrayed_by_a_simple_call(device, wrong, betrayed_by):
    verdict = check("check order", wrong, device)
    assert not verdict and betrayed_by in repr(verdict), verdict


def test_no_simpler_call_betrays_than_the_one_that_is_shown(device):
    calls = cases()
    first = next(n for n, (call, code) in enumerate(calls) if right(call, late=True) != code)
    assert all(right(call) == code for call, code in calls)
    shown = repr(check("check order", lambda call: right(call, late=True), device))
    assert f"self {calls[first][0]['self']['dtype']} {calls[first][0]['self']['shape']}" in shown


def test_the_calls_tried_meet_every_code_that_row_major_tensors_can_get():
    assert {code for _, code in cases()} == {0, 161001, 161002}


def test_the_ten_calls_meet_four_codes_and_every_check():
    found = plans()
    assert {plan.status for plan in found.values()} == {0, 161001, 161002, 561103}
    assert {plan.failed_check for plan in found.values()} == {
        *(None, "CheckNotNull", "CheckDtypeValid", "CheckMaxDim", "CheckShape", "Contiguous"),
    }


@pytest.mark.parametrize("chosen", ["en", "zh"])
def test_the_task_has_a_line_for_each_of_the_ten_calls(chosen):
    text = exercise("status").text(chosen)
    assert [f"| {key} |" in text for key in plans()] == [True] * 10


def test_a_wrong_code_is_named_but_not_given_away(device):
    answer = {key: plan.status for key, plan in plans().items()} | {"g": 161002}
    verdict = repr(check("status", answer, device))
    assert "9 of 10" in verdict and "look again at: g" in verdict


@pytest.mark.parametrize(
    "shapes",
    [
        *(((0,), (5,), (7,)), ((2, 0), (3, 1, 4), ()), ((4,), (3, 0), (1,)), ([0], [2], [0])),
        *(((0,), (1,), (1,) * 8), ((5, 0), (4, 0), (2,))),
    ],
)
def test_device_and_twin_are_asked_for_the_shapes_that_are_given(device, shapes):
    grad, x, out = (np.zeros(shape, np.float32) for shape in shapes)
    call = labkit.hardshrink_backward(grad, x, out=out, device=device, check=False)
    differ = call.status != of("late empties", "twin")(*map(tuple, shapes))
    assert bool(check("late empties", shapes, device)) == differ


@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 3), (3,), (2, 3)),
        ((0,), (0,), (5,)),
        ((0,), (1,), (7,)),
        ((4,), (4,), (0,)),
        ((0,), (2,) + (1,) * 8, (7,)),
    ],
)
def test_shapes_for_which_both_say_the_same_do_not_pass(device, shapes):
    assert "do not tell them apart" in repr(check("late empties", shapes, device))


@pytest.mark.parametrize(
    "answer",
    [((10**6,), (0,), (0,)), ((-1,), (0,), (1,)), ((0.5,), (1,), (1,)), ((0,), (5,)), "0570"],
)
def test_what_is_no_triple_of_shapes_is_told(device, answer):
    assert "three shapes of modest size" in repr(check("late empties", answer, device))
