"""The exercises of notebook 04: telling wrong answers, and what betrays them."""

import numpy as np
import pytest

from labkit.course import check
from labkit.course.exercises.broadcast_shape.check import pairs
from labkit.course.exercises.broadcast_shape.check import truth as shape_truth
from labkit.course.exercises.contiguity.check import inputs
from labkit.course.exercises.contiguity.check import truth as contiguity_truth
from labkit.course.exercises.view_launches.check import truth as launches_truth


def right_shape(grad, own, limit=8):
    if max(len(grad), len(own)) > limit:
        return None
    if 0 in grad or 0 in own:
        return "any"
    try:
        return np.broadcast_shapes(grad, own)
    except ValueError:
        return None


def empties_first(grad, own):
    return "any" if 0 in (*grad, *own) else right_shape(grad, own)


def no_limit(grad, own):
    return right_shape(grad, own, 99)


def numpys_rule(grad, own):
    try:
        return np.broadcast_shapes(grad, own)
    except ValueError:
        return None


def aligned_left(grad, own):
    rank = max(len(grad), len(own))
    pad = [shape + (1,) * (rank - len(shape)) for shape in (grad, own)]
    return right_shape(*pad)


@pytest.mark.parametrize(
    ("answer", "betrayed_by"),
    [
        (numpys_rule, "gradOutput [] with self [0]"),
        (no_limit, "gradOutput [1, 1, 1, 1, 1, 1, 1, 1, 1] with self [1]"),
        (empties_first, "gradOutput [0] with self [1, 1, 1, 1, 1, 1, 1, 1, 1]"),
        (aligned_left, "gradOutput [2] with self [1, 1]"),
        (lambda grad, own: right_shape(grad, own) or (1,), "gradOutput [] with self []"),
        (lambda grad, own: None, "gradOutput [] with self []"),
        (lambda grad, own: (s for s in ()), "gradOutput [] with self []"),
    ],
)
def test_a_wrong_shape_rule_is_betrayed_by_the_smallest_pair(answer, betrayed_by):
    verdict = check("broadcast shape", answer)
    assert not verdict and f"betrays it: {betrayed_by}\n" in repr(verdict), verdict


def test_a_right_shape_rule_passes_in_whatever_kind_of_sequence():
    assert check("broadcast shape", right_shape)
    listed = lambda grad, own: (  # noqa: E731 - an answer of a learner
        lambda shape: list(shape) if isinstance(shape, tuple) else shape
    )(right_shape(grad, own))
    assert check("broadcast shape", listed)


def test_the_pairs_hold_every_kind_of_verdict_and_begin_with_the_simplest():
    truths = [shape_truth(*pair) for pair in pairs()]
    assert pairs()[0] == ((), ()) and truths[0] == ()
    assert None in truths and "any" in truths and (2, 3, 4) in truths
    assert shape_truth((0,), (1,) * 9) is None and shape_truth((0,), (5,)) == "any"


def strict(shape, strides):
    dense = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    return list(strides) == dense


def forgets_empties(shape, strides):
    kept = [(size, stride) for size, stride in zip(shape, strides) if size != 1]
    return strict([size for size, _ in kept], [stride for _, stride in kept])


def sorted_strides(shape, strides):
    return np.prod(shape) <= 1 or forgets_empties(*zip(*sorted(zip(shape, strides), key=second)))


def second(pair):
    return -pair[1]


def numpys_flag(shape, strides):
    base = np.zeros(1, np.int8)
    made = np.lib.stride_tricks.as_strided(base, shape, strides)
    return bool(made.flags.c_contiguous)


@pytest.mark.parametrize(
    ("answer", "betrayed_by"),
    [
        (strict, "shape [1], strides [2]"),
        (forgets_empties, "shape [0], strides [2]"),
        (sorted_strides, "shape [2, 2], strides [1, 2]"),
        (lambda shape, strides: True, "shape [2], strides [2]"),
        (lambda shape, strides: not strides or strides[-1] == 1, "shape [1], strides [2]"),
    ],
)
def test_a_wrong_contiguity_test_is_betrayed_by_the_smallest_view(answer, betrayed_by):
    verdict = check("contiguity", answer)
    assert not verdict and f"betrays it: {betrayed_by}\n" in repr(verdict), verdict


def test_numpy_asks_the_same_question_as_the_operator():
    assert check("contiguity", numpys_flag)


def test_a_contiguity_answer_must_be_yes_or_no():
    verdict = check("contiguity", lambda shape, strides: 1)
    assert not verdict and "True or False was asked for" in repr(verdict)
    assert check("contiguity", lambda *view: np.bool_(contiguity_truth(*view)))
    assert {contiguity_truth(*view) for view in inputs()} == {True, False}


def test_the_launch_lists_may_be_lists_or_text_and_the_wrong_one_is_named():
    right = launches_truth()
    assert check("view launches", {key: list(value) for key, value in right.items()})
    assert check("view launches", {key: ", ".join(value) for key, value in right.items()})
    wrong = {**right, "x[::2]": ["StridedSlice", "HardShrinkGrad"]}
    verdict = check("view launches", wrong)
    assert not verdict and "5 of 6" in repr(verdict) and "look again at: x[::2]" in repr(verdict)
    assert "Slice" not in repr(verdict).replace("x[::2]", "")
    turned = {**right, "x[:, 3:].T": list(right["x[:, 3:].T"])[::-1]}
    assert not check("view launches", turned)


def test_the_six_views_teach_five_kernels():
    kernels = {kernel for launches in launches_truth().values() for kernel in launches}
    assert kernels == {
        *("Slice", "StridedSlice", "Transpose", "BroadcastTo", "AsStrided", "HardShrinkGrad"),
    }


@pytest.mark.parametrize("name", ["broadcast shape", "contiguity", "view launches"])
@pytest.mark.parametrize("answer", [None, 7, "x", {}, [], {"x[3:]": 3}, lambda *_: {}[1], object()])
def test_an_answer_of_any_kind_gets_a_verdict(name, answer):
    assert not check(name, answer)
