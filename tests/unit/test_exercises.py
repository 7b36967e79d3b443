"""Exercises: every solution passes, every stub runs and fails, every folder is complete."""

import ast
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import labkit
from labkit.course import check, exercise_names, hint, show, solution
from labkit.course import check as _check
from labkit.course.exercise import KINDS, exercise

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def device():
    with labkit.open_device("sim") as device:
        yield device


def run_cell(source, device):
    """Run a cell as the notebook would, on a device; returns the value of its last expression."""
    names = {
        "np": np,
        "labkit": labkit,
        "show": show,
        "check": lambda name, answer: _check(name, answer, device),
    }
    tree = ast.parse(source)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr), "a cell ends with the call of check"
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_there_are_exercises_of_every_kind():
    assert {exercise(name).kind for name in exercise_names()} == set(KINDS)


@pytest.mark.parametrize("name", exercise_names())
def test_each_solution_passes(device, name, skip_or_fail):
    if name.startswith("cpp") and shutil.which("g++") is None and shutil.which("c++") is None:
        skip_or_fail("no C++ compiler on this machine")
    verdict = run_cell(exercise(name).solution, device)
    assert verdict, verdict


@pytest.mark.parametrize("name", exercise_names())
def test_each_stub_runs_and_does_not_pass(device, name):
    verdict = run_cell(exercise(name).stub, device)
    assert not verdict and repr(verdict).startswith(f"{name}: not yet")
    assert "raised" not in repr(verdict), verdict


@pytest.mark.parametrize("name", exercise_names())
@pytest.mark.parametrize("chosen", ["en", "zh"])
def test_each_has_a_task_three_hints_and_an_explanation_in_both_languages(name, chosen):
    asked = exercise(name)
    assert re.match(r"### \S", asked.text(chosen)) and "\n\n" in asked.text(chosen)
    assert len(asked.hints(chosen)) == 3 and all(asked.hints(chosen))
    assert asked.explained(chosen)
    chinese = re.compile("[\u4e00-\u9fff]")
    texts = [asked.text(chosen), asked.explained(chosen), *asked.hints(chosen)]
    assert [bool(chinese.search(text)) for text in texts] == [chosen == "zh"] * 5


@pytest.mark.parametrize("name", exercise_names())
def test_each_stands_in_its_notebook(name):
    asked = exercise(name)
    (path,) = (ROOT / "notebooks").glob(f"{asked.notebook:02}_*.ipynb")
    cells = {cell["id"]: cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]}
    assert "".join(cells[asked.cell]["source"]) == asked.stub
    assert "".join(cells[f"{asked.cell}-text"]["source"]) == asked.text("en")


@pytest.mark.parametrize("name", exercise_names())
@pytest.mark.parametrize("answer", [None, "two words", 7, (), {}, lambda *_: 1 / 0, print])
def test_an_answer_of_any_kind_gets_a_verdict(device, name, answer):
    assert not check(name, answer, device)


@pytest.mark.parametrize(
    ("answer", "betrayed_by"),
    [
        (lambda x, lambd: np.abs(x) >= lambd, "x = 0.5, λ = 0.5"),
        (lambda x, lambd: np.abs(x) > lambd, "x = nan, λ = 0.5"),
        (lambda x, lambd: ~(np.abs(x) <= lambd), "x = +0, λ = −0.3"),
        (lambda x, lambd: x > lambd, "x = −1, λ = 0.5"),
        (lambda x, lambd: ~(np.abs(x) <= np.float16(max(lambd, 0.0))), "x = 0.300000042, λ = 0.3"),
    ],
)
def test_a_wrong_mask_is_betrayed_by_the_smallest_input(device, answer, betrayed_by):
    verdict = check("mask", answer, device)
    assert not verdict
    text = repr(verdict).replace("0.300000012", "0.3")
    assert betrayed_by in text, text


def right_backward(grad, x, lambd):
    return np.where(np.abs(x) <= np.float32(0 if lambd < 0 else lambd), np.float32(0), grad)


@pytest.mark.parametrize(
    ("answer", "betrayed_by"),
    [
        (lambda grad, x, lambd: grad * ~(np.abs(x) <= lambd), "grad = −2, x = +0, λ = 0.5"),
        (
            lambda grad, x, lambd: np.where(np.abs(x) < lambd, np.float32(0), grad),
            "grad = 1, x = 0.5, λ = 0.5",
        ),
        (lambda grad, x, lambd: right_backward(grad, x, lambd) + 0, "grad = −0, x = 1"),
    ],
)
def test_a_wrong_operator_is_betrayed_in_its_bits(device, answer, betrayed_by):
    assert betrayed_by in repr(check("backward", answer, device))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda x, lambd: 1 / 0, "ZeroDivisionError"),
        (lambda x, lambd: x, "float32"),
        (lambda x, lambd: x[1:] > 0, "was asked for"),
        ("no function", "TypeError"),
    ],
)
def test_an_answer_of_the_wrong_kind_is_told_kindly(device, answer, told):
    verdict = check("mask", answer, device)
    assert not verdict and told in repr(verdict)


@pytest.mark.parametrize("answer", [(1.0, 0.75), "two words", (1,), None, (np.nan, 0.7)])
def test_an_input_that_does_not_betray_the_twin_does_not_pass(device, answer):
    assert not check("twin of mask", answer, device)
    assert not check("twin of select", answer, device)


def test_an_exercise_that_is_not_there_is_named(device):
    with pytest.raises(labkit.LabValueError, match=r"no exercise 'x'; there are .*mask"):
        check("x", None, device)
    with pytest.raises(labkit.LabValueError, match="no exercise"):
        check("../mask", None, device)


def test_hints_come_one_after_the_other_and_the_last_stays(monkeypatch):
    import importlib

    monkeypatch.setattr(importlib.import_module("labkit.course.check"), "_HINTS", _fresh())
    told = [repr(hint("mask")) for _ in range(4)]
    assert len(set(told)) == 3 and told[2] == told[3]
    assert told[0].startswith("**Hint 1 of 3.**") and repr(hint("mask", 1)) == told[0]


def _fresh():
    from collections import Counter

    return Counter()


def test_a_solution_is_shown_once_it_was_tried(device, monkeypatch):
    import importlib

    monkeypatch.setattr(importlib.import_module("labkit.course.progress"), "_SEEN", {})
    monkeypatch.delenv("LABKIT_SOLUTIONS", raising=False)
    assert "try your own" in repr(solution("mask"))
    check("mask", lambda x, lambd: x > 0, device)
    assert "def my_mask" in repr(solution("mask"))
    assert "try your own" in repr(solution("backward"))
    monkeypatch.setenv("LABKIT_SOLUTIONS", "1")
    assert "np.where" in repr(solution("backward"))


def test_a_verdict_speaks_the_language_of_the_process(device, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    assert repr(check("mask", lambda x, lambd: x > lambd, device)).startswith("mask: 还差一点")


def test_an_answer_that_changes_its_arguments_is_judged_by_what_it_was_given():
    from labkit.course.judge import compared

    x, g = np.array([0.25, 2.0], np.float32), np.array([7.0, 8.0], np.float32)

    def erases(grad, own):
        grad[...] = own[...] = 0
        return grad

    def spoils(grad, own):
        right = np.where(abs(own) > 0.5, grad, np.float32(0))
        own[...], grad[...] = 99, 99
        return right

    def right(grad, own):
        return np.where(abs(own) > 0.5, grad, np.float32(0))

    inputs = [((g, x), "grad {}, self {}"), ((g[::-1], x[::-1]), "grad {}, self {}")]
    told = compared(erases, right, inputs)
    assert not told
    assert "grad 8, self 2" in str(told)
    assert compared(spoils, right, inputs)  # what it returns is right, and that is all
    assert compared(lambda grad, own: grad, lambda grad, own: grad, inputs)
    assert not compared(erases, lambda grad, own: grad, inputs)
    assert (x.tolist(), g.tolist()) == ([0.25, 2.0], [7.0, 8.0])
