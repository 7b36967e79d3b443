"""What counts as contiguous, how far a view reaches, and which strides a null pointer means."""

import numpy as np
import pytest

from labkit.errors import LabValueError
from labkit.op import TensorDesc, plan_hardshrink_backward
from labkit.op.describe import contiguous_strides, element_count, shape_text


def view(shape, strides, *, offset=0, storage=None, **options):
    return TensorDesc("float32", shape, strides, offset, storage, **options)


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((2, 3), (3, 1)),
        ((1, 3), (99, 1)),
        ((3, 1), (1, 99)),
        ((2, 1, 3), (3, -7, 1)),
        ((1, 1, 1), (5, 0, -2)),
        ((1,), (2,)),
        ((), ()),
        ((0,), (7,)),
        ((0, 4), (1, 9)),
        ((4, 0), (-3, 2)),
        ((1, 4), (0, 1)),
    ],
    ids=str,
)
def test_contiguous_whatever_the_stride_of_axes_that_never_step(shape, strides):
    assert view(shape, strides).is_contiguous


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((2, 3), (1, 2)),
        ((2, 3), (4, 1)),
        ((3,), (2,)),
        ((3,), (0,)),
        ((3,), (-1,)),
        ((2, 3), (3, 0)),
        ((2, 1, 3), (6, 1, 2)),
        ((2, 2), (1, 1)),
    ],
    ids=str,
)
def test_not_contiguous_when_a_step_misses_the_next_element(shape, strides):
    assert not view(shape, strides).is_contiguous


def test_the_offset_does_not_make_a_view_strided():
    assert view((2, 3), (3, 1), offset=5, storage=(12,)).is_contiguous
    assert view((2, 3), (3, 1), offset=500, storage=(2, 3)).is_contiguous


@pytest.mark.parametrize("private", [3, 29])
def test_a_private_format_counts_as_contiguous(private):
    assert not view((2, 3), (1, 2)).is_contiguous
    assert view((2, 3), (1, 2), format=private).is_contiguous


@pytest.mark.parametrize("plain", [0, 1, 2, 27, 30])
def test_a_format_laid_out_by_strides_does_not(plain):
    assert not view((2, 3), (1, 2), format=plain).is_contiguous


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((), ()),
        ((5,), (1,)),
        ((2, 3, 4), (12, 4, 1)),
        ((2, 1, 4), (4, 4, 1)),
        ((2, 0, 4), (0, 4, 1)),
        ((3, 0), (0, 1)),
    ],
    ids=str,
)
def test_null_strides_mean_row_major_with_every_axis_at_its_true_size(shape, strides):
    assert contiguous_strides(shape) == strides
    assert view(shape, None).strides == strides
    assert view(shape, None) == view(shape, strides)


def test_row_major_strides_are_numpys_where_no_axis_is_empty():
    for shape in [(7,), (2, 3), (4, 1, 5), (2, 3, 4, 5), (1, 1, 6)]:
        dense = np.empty(shape, np.float32)
        assert contiguous_strides(shape) == tuple(stride // 4 for stride in dense.strides)


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "reach"),
    [
        ((2, 3), (3, 1), 0, (0, 5)),
        ((2, 3), (8, 2), 1, (1, 13)),
        ((3,), (-2,), 4, (0, 4)),
        ((3,), (-2,), 3, (-1, 3)),
        ((2, 3), (-3, 1), 3, (0, 5)),
        ((4,), (0,), 6, (6, 6)),
        ((), (), 2, (2, 2)),
        ((1, 4), (100, 1), 0, (0, 3)),
    ],
    ids=str,
)
def test_the_reach_is_the_lowest_and_highest_element_that_is_touched(shape, strides, offset, reach):
    assert view(shape, strides, offset=offset, storage=(99,)).reach == reach


def test_a_view_may_end_at_the_last_element_of_its_storage_but_not_behind_it():
    assert view((2, 2), (4, 2), offset=1, storage=(8,)).fits_storage
    assert not view((2, 2), (4, 2), offset=2, storage=(8,)).fits_storage
    assert view((3,), (-1,), offset=2, storage=(3,)).fits_storage
    assert not view((3,), (-1,), offset=1, storage=(3,)).fits_storage
    assert not view((2,), (1,), offset=-1, storage=(9,)).fits_storage


def test_a_storage_shape_counts_by_its_elements_not_by_its_axes():
    assert view((4, 2), (1, 4), storage=(8,)).storage_size == 8
    assert view((4, 2), (1, 4), storage=(2, 2, 2)).fits_storage
    assert view((2, 3), None).storage_shape == (2, 3)
    assert view((2,), None, storage=()).storage_size == 1


def test_emptiness_is_a_matter_of_the_view_not_of_the_storage():
    assert view((0, 4), None, storage=(8,)).is_empty
    assert not view((2, 4), None, storage=(0,)).is_empty
    assert not view((), None).is_empty
    assert element_count(()) == 1
    assert element_count((3, 0)) == 0


def test_shapes_are_written_as_cann_writes_them():
    assert shape_text((2, 3)) == "[2, 3]"
    assert shape_text(()) == "[]"
    assert shape_text((7,)) == "[7]"


def test_a_descriptor_takes_what_aclcreatetensor_takes():
    odd = TensorDesc("float32", (2, -3), (-9, 0), -4, (1, 1, 1))
    assert (odd.shape, odd.strides, odd.offset) == ((2, -3), (-9, 0), -4)
    assert len(TensorDesc("float32", (1,) * 9).shape) == 9


def test_a_whole_number_stands_for_a_shape_of_one_axis():
    assert TensorDesc("float32", 4) == TensorDesc("float32", (4,))
    assert TensorDesc("float32", np.int64(4)) == TensorDesc("float32", [4])


@pytest.mark.parametrize(
    "arguments",
    [
        {"shape": (2, 3), "strides": (1,)},
        {"shape": (2, 3), "strides": ()},
        {"shape": "wide"},
        {"shape": (2, None)},
        {"shape": None},
        {"shape": (2.5, 2)},
        {"shape": (2**63,)},
        {"shape": (2,), "strides": (-(2**64),)},
        {"shape": (2,), "offset": "first"},
        {"shape": (2,), "offset": 0.5},
        {"shape": (2,), "offset": 2**63},
        {"shape": (2,), "storage_shape": (1j,)},
        {"shape": (2,), "format": "ND"},
    ],
    ids=str,
)
def test_what_the_c_call_could_not_even_be_given_is_refused_with_the_labs_error(arguments):
    with pytest.raises(LabValueError):
        TensorDesc("float32", **arguments)


def test_equal_descriptions_are_equal_and_hash_alike():
    first = TensorDesc("float16", (2, 3))
    second = TensorDesc(np.float16, [2, 3], [3, 1], 0, (2, 3), 2)
    assert first == second
    assert hash(first) == hash(second)
    for other in [
        TensorDesc("bfloat16", (2, 3)),
        TensorDesc("float16", (3, 2)),
        TensorDesc("float16", (2, 3), (1, 2)),
        TensorDesc("float16", (2, 3), offset=1),
        TensorDesc("float16", (2, 3), storage_shape=(6,)),
        TensorDesc("float16", (2, 3), format=0),
    ]:
        assert first != other


def test_the_text_of_a_descriptor_leaves_out_what_is_as_usual():
    assert repr(TensorDesc("float16", (4, 1))) == "TensorDesc(FLOAT16 [4, 1])"
    strided = TensorDesc("bfloat16", (2, 2), (1, 2), 3, (8,), 0)
    assert repr(strided) == (
        "TensorDesc(BF16 [2, 2], strides [1, 2], offset 3, storage [8], format 0)"
    )


def kernel_for_cut(row: int, kept: int, *, rows: int, offset: int, soc: str = "Ascend910B1"):
    """The kernel that picks `kept` numbers out of each row of `row`."""
    cut = view((rows, kept), (row, 1), offset=offset, storage=(rows * row,))
    plan = plan_hardshrink_backward(
        TensorDesc("float32", (rows, kept)), cut, 0.5, TensorDesc("float32", (rows, kept)), soc=soc
    )
    assert plan.ok, plan.message
    return plan.launches[0].op_type


@pytest.mark.parametrize(
    ("changed", "kernel"),
    [
        ({}, "SliceV2"),
        ({"row": 184}, "SliceV2"),
        ({"row": 200}, "Slice"),  # a row of more than 192
        ({"kept": 60}, "Slice"),  # no whole blocks of 32 bytes
        ({"rows": 16384}, "Slice"),  # 2^20 elements, and it takes more
        ({"offset": 16}, "Slice"),  # on a boundary of 64 bytes
        ({"soc": "Ascend950PR_9599"}, "Slice"),
    ],
    ids=str,
)
def test_slice_v2_takes_a_cut_of_the_last_axis_within_its_limits(changed, kernel):
    limits = {"row": 192, "kept": 64, "rows": 16385, "offset": 8} | changed
    assert kernel_for_cut(**limits) == kernel
