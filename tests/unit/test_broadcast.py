"""How gradOutput and self meet."""

import pytest

from labkit.op.broadcast import BroadcastFault, broadcast_shapes


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        ((2, 3), (2, 3), (2, 3)),
        ((4, 1), (1, 4), (4, 4)),
        ((4,), (2, 4), (2, 4)),
        ((2, 3), (1, 3), (2, 3)),
        ((), (2, 3), (2, 3)),
        ((), (), ()),
        ((), (1,), (1,)),
        ((1,), (), (1,)),
        ((1, 1, 1), (5,), (1, 1, 5)),
        ((8, 1, 6, 1), (7, 1, 5), (8, 7, 6, 5)),
    ],
    ids=str,
)
def test_shapes_meet_aligned_at_the_last_axis(first, second, result):
    assert broadcast_shapes(first, second) == result
    assert broadcast_shapes(second, first) == result


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [((0,), (1,), (0,)), ((0,), (0,), (0,)), ((0, 4), (1, 1), (0, 4)), ((3, 0), (), (3, 0))],
    ids=str,
)
def test_zero_meets_zero_and_one(first, second, result):
    assert broadcast_shapes(first, second) == result
    assert broadcast_shapes(second, first) == result


def test_zero_does_not_meet_four():
    assert isinstance(broadcast_shapes((0,), (4,)), BroadcastFault)
    assert isinstance(broadcast_shapes((4,), (0,)), BroadcastFault)


@pytest.mark.parametrize(
    ("first", "second", "larger", "dim"),
    [
        # The first shape is called the larger one only if its rank is strictly larger.
        ((5, 4), (4, 4), (4, 4), 4),
        ((4, 4), (5, 4), (5, 4), 5),
        ((2, 5, 4), (4, 4), (2, 5, 4), 5),
        ((4, 4), (2, 5, 4), (2, 5, 4), 5),
        # The axis that is found first from the back is the one that is reported.
        ((2, 3), (5, 7), (5, 7), 7),
        ((3,), (2, 3, 4), (2, 3, 4), 4),
        ((2,), (3,), (3,), 3),
    ],
    ids=str,
)
def test_a_fault_names_the_larger_shape_and_the_size_without_a_partner(first, second, larger, dim):
    fault = broadcast_shapes(first, second)
    assert isinstance(fault, BroadcastFault)
    assert fault.larger == larger
    assert fault.other == (first if larger == second else second)
    assert fault.dim == dim


def test_the_reason_shows_both_shapes_the_larger_first():
    fault = broadcast_shapes((4, 4), (2, 5, 4))
    assert fault.reason.index("[2, 5, 4]") < fault.reason.index("[4, 4]")
    assert "5" in fault.reason.rpartition("broadcast")[2]


def test_the_rule_itself_has_no_limit_of_eight_axes():
    assert broadcast_shapes((1,) * 12, (3,) * 12) == (3,) * 12
