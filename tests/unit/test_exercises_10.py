"""The exercises of notebook 10: wrong answers are told what they get wrong."""

import numpy as np
import pytest

import labkit
from labkit.course import check
from labkit.course.exercises.dead_unit.check import path
from labkit.course.exercises.sparsity.check import UNITS, truth


@pytest.fixture(scope="module")
def device():
    with labkit.open_device("sim") as device:
        yield device


# -- sparsity ---------------------------------------------------------------------------------


def test_the_truth_holds_a_number_that_is_used_and_does_not_learn():
    assert list(truth().values()) == [4, 4, 8, 6, 9, 9, [0, 3]]


@pytest.mark.parametrize("units", [[0, 3], (3, 0), {0, 3}, np.array([3, 0])])
def test_units_may_be_collected_in_anything(device, units):
    assert check("sparsity", {**truth(), UNITS: units}, device)


@pytest.mark.parametrize(
    "units",
    [[0], [0, 3, 3], [0, 2, 3], "03", 3, {0: 3}, [[0, 3]], np.eye(2), iter([0, 3]), [10**400, "x"]],
)
def test_other_units_are_wrong_and_not_told(device, units):
    verdict = check("sparsity", {**truth(), UNITS: units}, device)
    assert not verdict and f"look again at: {UNITS}" in repr(verdict)
    assert "[0, 3]" not in repr(verdict)


@pytest.mark.parametrize("key", [key for key in truth() if key != UNITS])
@pytest.mark.parametrize("wrong", [5, "4", np.ones(2), 0])
def test_one_wrong_count_is_named(device, key, wrong):
    verdict = check("sparsity", {**truth(), key: wrong}, device)
    assert not verdict and "6 of 7" in repr(verdict) and f"look again at: {key}" in repr(verdict)


def test_an_endless_generator_does_not_hang(device):
    def forever():
        while True:
            yield 0

    assert not check("sparsity", {**truth(), UNITS: forever()}, device)


# -- dead unit --------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [-1, -5, -2.5, np.float16(-3), "-2", np.array(-2.0)])
def test_a_weight_that_learns_twice_and_dies_passes(device, start):
    verdict = check("dead unit", start, device)
    assert verdict and "dead after 2 steps" in repr(verdict)


@pytest.mark.parametrize(
    ("start", "told"),
    [
        (0.25, "dead from the start"),
        (0.5, "dead from the start"),
        (-0.5, "dead from the start"),
        (2, "dead after 1;"),
        (4, "dead after 1;"),
        (7, "dead after 3;"),
        (0.75, "it lives"),
        (-0.75, "it lives"),
        (-5.001, "it lives"),
        (1.0, "it lives"),
        (1e30, "still far from the target"),
        (3e38, "still far from the target"),
        (float("nan"), "one number"),
        (float("inf"), "one number"),
        (1e39, "one number"),
        (10**400, "one number"),
        (None, "one number"),
        ([1, 2], "one number"),
    ],
)
def test_other_weights_are_told_what_becomes_of_them(device, start, told):
    verdict = check("dead unit", start, device)
    assert not verdict and told in repr(verdict)


def test_the_way_is_the_one_that_the_operators_give(device):
    assert path(-2.0, device)[:4] == [(-2, True), (2.5, True), (0.25, False), (0.25, False)]
    assert all(not alive for _, alive in path(-2.0, device)[2:])


def test_the_verdict_shows_the_way_and_not_the_answer(device):
    verdict = repr(check("dead unit", 2, device))
    assert "its way: 2 → 0.5" in verdict and "−2" not in verdict


def test_a_wrong_kind_of_answer_names_each_key_apart(device):
    told = check("sparsity", [1, 2], device).text
    assert told.count(" · ") == len(truth()) - 1
    assert "not 0 at λ = 0.5, float32 · get a gradient" in told
