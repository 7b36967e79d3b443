"""The exercise of notebook 00: what a wrong count is told, and that the truth is counted."""

import numpy as np
import pytest

import labkit
from labkit.course import check
from labkit.course.exercise import exercise
from labkit.course.exercises.call_count.check import ASKED, CALLS, SOC, truth


def verdict(**changes):
    """The verdict on the right counts with some of them changed; _ stands for ': '."""
    answer = {**truth(), **{key.replace("_", ": ", 1): value for key, value in changes.items()}}
    return repr(check("call count", answer))


def test_the_truth_is_what_the_host_program_does():
    counts = truth()
    with labkit.open_device("sim", soc=SOC) as device:
        for name, (grad_shape, x_shape) in CALLS.items():
            before = len(device.record)
            labkit.hardshrink_backward(
                np.ones(grad_shape, np.float32),
                np.ones(x_shape, np.float32),
                device=device,
                check=False,
            )
            names = [entry.name for entry in device.record[before:]]
            for function in ASKED[name]:
                assert counts[f"{name}: {function}"] == names.count(function)
    assert counts["all three: aclInit"] == [e.name for e in device.record].count("aclInit") == 1


def test_the_counts_are_worth_predicting():
    counts = truth()
    assert counts["million: aclrtMalloc"] == 4  # the workspace is one of them
    assert counts["refused: aclnnHardshrinkBackward"] == 0
    assert counts["empty: aclrtMalloc"] == 0 < counts["empty: aclnnHardshrinkBackward"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"million_aclrtMalloc": 3}, "look again at: million: aclrtMalloc"),
        ({"empty_aclnnHardshrinkBackward": 0}, "look again at: empty: aclnnHardshrinkBackward"),
        ({"refused_aclDestroyTensor": None}, "refused: aclDestroyTensor"),
        ({"million_aclrtMemcpy": np.array([3, 3])}, "look again at: million: aclrtMemcpy"),
        ({"million_aclrtMemcpy": "3"}, "look again at: million: aclrtMemcpy"),
    ],
)
def test_a_wrong_count_is_named_and_the_right_one_not_given_away(changes, told):
    text = verdict(**changes)
    assert text.startswith("call count: not yet") and "9 of 10 predictions are right" in text
    assert text.splitlines()[-1].strip() == told


def test_numpys_whole_numbers_are_numbers():
    assert check("call count", {key: np.int64(value) for key, value in truth().items()})


def test_the_stub_asks_for_every_count():
    names = {}
    exec(exercise("call count").stub.rpartition("check(")[0], names)
    assert list(names["my_counts"]) == list(truth())
