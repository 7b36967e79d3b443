"""What is typed and chosen in the panels, read as people write it."""

import numpy as np
import pytest

import labkit
from labkit.explore.typed import (
    CHIPS,
    SAME,
    chosen,
    read_chip,
    read_complex,
    read_count,
    read_drawn_shape,
    read_dtype,
    read_number,
    read_shape,
    shape_words,
)
from labkit.op import socs


@pytest.mark.parametrize(
    ("typed", "shape"),
    [
        *((text, (4, 1)) for text in ("4, 1", "(4, 1)", "[4,1]", "4x1", "4 × 1", "4 1", "4，1")),
        *((text, ()) for text in ("", "()", "[]", " ", (), [])),
        *(("(3,)", (3,)), (" 3 ", (3,)), (3, (3,)), (np.int64(3), (3,)), ([2, 0], (2, 0))),
    ],
)
def test_a_shape_is_read_as_people_write_it(typed, shape):
    assert read_shape("self", typed) == shape
    assert read_shape("self", shape_words(shape)) == shape


@pytest.mark.parametrize(
    "typed", ["two", "-1", "2.5", "2,,x", "(2", (2, "a"), None, 2.5, "٣", (1,) * 26]
)
def test_what_is_no_shape_is_refused_by_name(typed):
    with pytest.raises(
        labkit.LabValueError, match=r"self is .*, which is no shape; right would be"
    ):
        read_shape("self", typed)


def test_a_shape_has_as_many_axes_as_there_is_room_for_also_where_a_size_is_0():
    assert read_drawn_shape("self", (1,) * 12) == (1,) * 12
    assert read_shape("self", (1,) * 25) == (1,) * 25
    for typed in ((1,) * 13, (0, 2**21, 2**20), "9" * 13):
        with pytest.raises(labkit.LabValueError, match="self is too large; right would be"):
            read_drawn_shape("self", typed)


@pytest.mark.parametrize(
    ("typed", "count"),
    [
        ("4096", 4096),
        (" 4 096 ", 4096),
        ("1_000", 1000),
        ("10,000", 10_000),
        ("2^20", 2**20),
        ("2**10", 1024),
        ("1e6", 10**6),
        ("0", 0),
        (np.int32(7), 7),
        ("4\u202f096", 4096),
    ],
)
def test_counts_are_read_as_people_type_them(typed, count):
    assert read_count("total", typed) == count


@pytest.mark.parametrize("typed", ["", "many", "-1", "1.5", "2^", None, 1.0, True, -1, "1e6e6"])
def test_what_is_no_count_is_refused_with_an_example(typed):
    with pytest.raises(labkit.LabValueError, match=r"total is .*; .* a whole number such as 2\^20"):
        read_count("total", typed, "2^20")


@pytest.mark.parametrize(
    ("typed", "number", "written"),
    [
        ("−0.5", -0.5, "−0.5"),
        (" 1e-8 ", 1e-8, "1e-8"),
        ("−∞", -np.inf, "−∞"),
        (0.25, 0.25, "0.25"),
        ("٣", 3.0, "3.0"),
        ("0.1000000000000000000000000", 0.1, "0.1"),
    ],
)
def test_a_real_lambda_reads_the_same_where_complex_ones_may_stand(typed, number, written):
    assert read_number(typed) == (number, written)
    assert read_complex(typed) == (number, written)


def test_a_complex_lambda_is_read_with_i_and_j():
    for typed in ("2+1i", "2+1j", "(2+1j)", 2 + 1j):
        assert read_complex(typed)[0] == 2 + 1j
    assert read_complex("2+1i")[1] == "2+1i"
    with pytest.raises(labkit.LabValueError, match="no number"):
        read_number("2+1j")


@pytest.mark.parametrize("read", [read_number, read_complex])
@pytest.mark.parametrize("typed", ["", "much", "x" * 99, "1,5"])
def test_what_is_no_number_is_refused_in_one_way(read, typed):
    with pytest.raises(
        labkit.LabValueError, match=r"which is no number; right would be 0.3"
    ) as told:
        read(typed)
    assert len(str(told.value)) < 130


def test_a_dtype_is_read_by_every_name_it_has_and_by_the_words_of_the_menu():
    known = (SAME, "float16", "bfloat16", "float8_e5m2")
    for value in ("float16", np.float16, np.dtype("float16"), "FP16", "ACL_FLOAT16", 1):
        assert read_dtype("grad_dtype", value, known) == "float16"
    assert read_dtype("grad_dtype", SAME, known) == SAME
    for value in ("float64", "nonsense", None, ["float16"], object()):
        with pytest.raises(labkit.LabValueError, match=r"grad_dtype is .*; right would be one of"):
            read_dtype("grad_dtype", value, known)


def test_a_chip_is_read_by_name_or_family():
    assert [read_chip(chip) for chip in CHIPS] == list(CHIPS)
    assert read_chip("910b") == "Ascend910B1" and read_chip("a3") == "Ascend910_9391"
    assert len({socs()[chip].family for chip in CHIPS}) == len(CHIPS)
    with pytest.raises(labkit.LabValueError, match="no chip named"):
        read_chip("Ascend777")


def test_a_choice_is_one_of_those_known():
    assert chosen("view", "checks", {"checks": 1, "dtypes": 2}) == "checks"
    for value in ("x", None, ["checks"]):
        with pytest.raises(
            labkit.LabValueError, match=r"view is .*; right would be one of: checks"
        ):
            chosen("view", value, ["checks"])
