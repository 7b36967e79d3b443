"""The exercises about watching the machine: telling wrong answers, truths that are not stored."""

import re

import numpy as np
import pytest

from labkit.course import check
from labkit.course.exercise import exercise
from labkit.course.exercises.plog_reading.check import inputs
from labkit.course.exercises.profile_reading.check import (
    CALLS,
    PROFILES,
    WRONG,
    _compared,
    truth,
)

# -- profile reading ------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_calls_and_profiles_of_the_task_are_those_that_are_judged(language):
    text = exercise("profile reading").text(language)
    rows = re.findall(r"^\| ([a-z0-9 ]+) \| `(.*?)` \| `(.*?)` \| `(.*?)` \|$", text, re.M)
    assert {name: (grad, x, out) for name, grad, x, out in rows} == CALLS
    blocks = re.findall(r"^([A-D])\W*\n\n```\n(.*?)\n```", text, re.M | re.S)
    stored = {name: exercise("profile reading").file(f"{name}.csv") for name in PROFILES}
    assert dict(blocks) == {name: csv.replace("\t", "").strip() for name, csv in stored.items()}


def test_each_profile_fits_one_call_and_d_differs_in_one_line():
    for name in "ABC":
        fitting = [call for call in CALLS if _compared(name, call).agrees]
        assert fitting == [truth()[name]]
    ranked = sorted(len(_compared("D", call).differences) for call in CALLS)
    assert ranked[0] == 1 < ranked[1] and truth()[WRONG] == 4
    assert len({truth()[name] for name in PROFILES}) == 4


def test_a_wrong_reading_is_named_and_not_given_away():
    verdict = check("profile reading", dict(truth()) | {"C": "fp16 gradient"})
    assert not verdict and "4 of 5" in repr(verdict) and "look again at: C" in repr(verdict)
    assert "two halves" not in repr(verdict)


@pytest.mark.parametrize("value", [7, object(), np.ones(3), [None], {"a": 1}, b"plain"])
def test_a_reading_of_any_kind_gets_a_verdict(value):
    assert not check("profile reading", dict.fromkeys(truth(), value))


# -- plog reading ---------------------------------------------------------------------------


def right(lines, call):
    found = []
    for line in lines:
        if re.search(rf"\[{call}(_\w+)?\]", line):
            found += re.findall(r"start to Launch (\w+)", line)
    return found


def naive(lines, call):
    return [re.findall(r"Launch (\w+)", line)[0] for line in lines if " to Launch " in line]


@pytest.mark.parametrize("made", [list, tuple, iter])
def test_a_right_reader_passes_whatever_it_returns_its_list_as(made):
    verdict = check("plog reading", lambda lines, call: made(right(lines, call)))
    assert verdict and f"all {len(inputs())} logs" in repr(verdict)


@pytest.mark.parametrize(
    ("answer", "betrayed_by"),
    [
        (lambda lines, call: [], "6 lines"),
        (naive, r"asked for aclnnHardshrink\w*_\d+"),
        (lambda lines, call: naive([x for x in lines if call in x], call), r"_1\d"),
        (lambda lines, call: naive([x for x in lines if f"{call}_" in x], call)[::-1], "Cast"),
        (lambda lines, call: right([x for x in lines if "[DEBUG]" in x], call), "6 lines"),
        (lambda lines, call: sorted(right(lines, call)), "asked for"),
        (lambda lines, call: set(right(lines, call)), "asked for"),
        (lambda lines, call: ", ".join(right(lines, call)), "your answer says"),
        (lambda lines, call: iter(int, 1), "your answer says"),
        (lambda lines, call: 7, "TypeError"),
        (lambda lines, call: [np.ones(3)] * len(right(lines, call)), "your answer says"),
    ],
)
def test_a_wrong_reader_is_betrayed_by_a_short_log(answer, betrayed_by):
    text = repr(check("plog reading", answer))
    assert text.startswith("plog reading: not yet") and re.search(betrayed_by, text), text
    assert len(text.splitlines()) <= 12


def test_an_answer_may_use_up_the_lines_it_is_given():
    def greedy(lines, call):
        found = right(lines, call)
        lines.clear()
        return found

    assert check("plog reading", greedy) and check("plog reading", greedy)


def test_some_logs_hold_a_call_whose_number_begins_alike():
    found = [
        call
        for lines, call in inputs()
        if any(re.search(rf"\[{call}\d", line) for line in lines) and right(lines, call)
    ]
    assert len(found) > 5
