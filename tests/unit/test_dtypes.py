"""Names, numbers, promotion and casts of CANN's dtypes.

The small tables here are written from CANN's sources, not read from the lab's
data: c_types.h (numbers), data_type_utils.h (promotion, casts, classes).
"""

import copy
import itertools
import pickle

import ml_dtypes
import numpy as np
import pytest

from labkit.errors import LabValueError
from labkit.op import data_type
from labkit.op.dtypes import (
    BF16,
    FLOAT,
    FLOAT16,
    UNDEFINED,
    can_cast,
    data_types,
    message_list,
    promote_type,
)

NUMBERS = {
    **{"DT_FLOAT": 0, "DT_FLOAT16": 1, "DT_INT8": 2, "DT_INT32": 3, "DT_UINT8": 4},
    **{"DT_INT16": 6, "DT_UINT16": 7, "DT_UINT32": 8, "DT_INT64": 9, "DT_UINT64": 10},
    **{"DT_DOUBLE": 11, "DT_BOOL": 12, "DT_STRING": 13, "DT_COMPLEX64": 16},
    **{"DT_COMPLEX128": 17, "DT_BF16": 27, "DT_UNDEFINED": 28, "DT_INT4": 29, "DT_UINT1": 30},
    **{"DT_COMPLEX32": 33, "DT_HIFLOAT8": 34, "DT_FLOAT8_E5M2": 35, "DT_FLOAT8_E4M3FN": 36},
    **{"DT_FLOAT8_E8M0": 37, "DT_FLOAT6_E3M2": 38, "DT_FLOAT6_E2M3": 39},
    **{"DT_FLOAT4_E2M1": 40, "DT_FLOAT4_E1M2": 41, "DT_HIFLOAT4": 42},
}

NUMPY = {
    **{"float32": "DT_FLOAT", "float16": "DT_FLOAT16", "bfloat16": "DT_BF16"},
    **{"float64": "DT_DOUBLE", "bool": "DT_BOOL", "int8": "DT_INT8", "int16": "DT_INT16"},
    **{"int32": "DT_INT32", "int64": "DT_INT64", "uint8": "DT_UINT8", "uint16": "DT_UINT16"},
    **{"uint32": "DT_UINT32", "uint64": "DT_UINT64", "complex64": "DT_COMPLEX64"},
    **{"complex128": "DT_COMPLEX128", "float8_e5m2": "DT_FLOAT8_E5M2"},
    **{"float8_e4m3fn": "DT_FLOAT8_E4M3FN", "float8_e8m0fnu": "DT_FLOAT8_E8M0"},
    **{"float6_e3m2fn": "DT_FLOAT6_E3M2", "float6_e2m3fn": "DT_FLOAT6_E2M3"},
    "float4_e2m1fn": "DT_FLOAT4_E2M1",
}

# The pairs for which the order of the operands decides: (first, second, first+second, swapped).
ASYMMETRIC = [
    ("DT_COMPLEX64", "DT_UINT16", "DT_UNDEFINED", "DT_COMPLEX64"),
    ("DT_COMPLEX64", "DT_UINT32", "DT_UNDEFINED", "DT_COMPLEX64"),
    ("DT_COMPLEX64", "DT_UINT64", "DT_UNDEFINED", "DT_COMPLEX128"),
    ("DT_COMPLEX128", "DT_UINT16", "DT_UNDEFINED", "DT_COMPLEX128"),
    ("DT_COMPLEX128", "DT_UINT32", "DT_UNDEFINED", "DT_COMPLEX128"),
    ("DT_COMPLEX128", "DT_UINT64", "DT_UNDEFINED", "DT_COMPLEX128"),
]

COMPLEX = {"DT_COMPLEX32", "DT_COMPLEX64", "DT_COMPLEX128"}
INTEGRAL = {f"DT_{sign}INT{width}" for sign in ("", "U") for width in (8, 16, 32, 64)}
FLOATING = {"DT_FLOAT", "DT_FLOAT16", "DT_BF16", "DT_DOUBLE", "DT_HIFLOAT8"} | {
    name for name in NUMBERS if name.startswith(("DT_FLOAT8", "DT_FLOAT6", "DT_FLOAT4"))
}


@pytest.mark.parametrize(("name", "number"), NUMBERS.items(), ids=NUMBERS)
def test_every_dtype_has_canns_number(name, number):
    assert data_type(name).value == number
    assert data_type(number) is data_type(name)


def test_there_are_43_dtypes_in_the_order_of_their_numbers():
    assert [dtype.value for dtype in data_types()] == list(range(43))


def test_undefined_is_28_in_the_framework_and_minus_one_in_the_c_interface():
    assert UNDEFINED.value == 28
    assert UNDEFINED.acl_value == -1
    assert data_type(-1) is UNDEFINED
    assert all(d.acl_value == d.value for d in data_types() if d is not UNDEFINED)


@pytest.mark.parametrize(("numpy_name", "name"), NUMPY.items(), ids=NUMPY)
def test_a_numpy_dtype_and_its_name_mean_the_cann_dtype_with_the_same_bits(numpy_name, name):
    found = data_type(numpy_name)
    assert found.name == name
    assert data_type(found.numpy) is found
    assert found.numpy.name == numpy_name
    assert found.itemsize == found.numpy.itemsize


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("ACL_FLOAT", "DT_FLOAT"),
        ("acl_bf16", "DT_BF16"),
        ("DT_FLOAT16", "DT_FLOAT16"),
        ("BF16", "DT_BF16"),
        ("DT_BFLOAT16", "DT_BF16"),
        ("FLOAT", "DT_FLOAT"),
        ("float", "DT_FLOAT"),
        ("fp16", "DT_FLOAT16"),
        ("half", "DT_FLOAT16"),
        ("double", "DT_DOUBLE"),
        ("ACL_DT_UNDEFINED", "DT_UNDEFINED"),
        (np.float32, "DT_FLOAT"),
        (np.dtype("float64"), "DT_DOUBLE"),
        (ml_dtypes.bfloat16, "DT_BF16"),
        ("<f2", "DT_FLOAT16"),
        (bool, "DT_BOOL"),
    ],
    ids=str,
)
def test_a_dtype_may_be_named_in_canns_words_or_numpys(spelling, name):
    assert data_type(spelling).name == name


@pytest.mark.parametrize(
    "nonsense", ["float33", "", 43, -2, True, None, 1.5, dict, [1], "U8"], ids=repr
)
def test_what_names_no_dtype_is_refused_with_the_labs_error(nonsense):
    with pytest.raises(LabValueError):
        data_type(nonsense)


@pytest.mark.parametrize("name", ["DT_STRING", "DT_HIFLOAT8", "DT_COMPLEX32", "DT_UNDEFINED"])
def test_a_dtype_without_numpy_counterpart_says_so(name):
    with pytest.raises(LabValueError, match=name):
        _ = data_type(name).numpy


def test_there_is_one_object_per_dtype_even_after_copy_and_pickle():
    for dtype in data_types():
        assert pickle.loads(pickle.dumps(dtype)) is dtype
        assert copy.deepcopy(dtype) is dtype


def test_messages_spell_bf16_in_full_and_every_list_element_ends_in_a_comma():
    assert BF16.message_name == "DT_BFLOAT16"
    assert BF16.name == "DT_BF16"
    assert FLOAT.message_name == "DT_FLOAT"
    assert message_list((BF16, FLOAT, FLOAT16)) == "[DT_BFLOAT16,DT_FLOAT,DT_FLOAT16,]"
    assert message_list((FLOAT,)) == "[DT_FLOAT,]"
    assert message_list(()) == "[]"


# -- promotion -----------------------------------------------------------------

THREE = {"F": FLOAT, "H": FLOAT16, "B": BF16}
PAIRS = [a + b for a in THREE for b in THREE]


@pytest.mark.parametrize("pair", PAIRS)
def test_equal_dtypes_stay_and_any_mix_of_the_three_meets_in_float32(pair):
    first, second = (THREE[letter] for letter in pair)
    assert promote_type(first, second) is (first if first is second else FLOAT)


def test_fp16_and_bf16_meet_in_float32_not_in_either():
    assert promote_type(FLOAT16, BF16) is FLOAT
    assert promote_type(BF16, FLOAT16) is FLOAT


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        ("INT8", "UINT8", "INT16"),
        ("INT32", "INT64", "INT64"),
        ("FLOAT", "DOUBLE", "DOUBLE"),
        ("FLOAT16", "INT64", "FLOAT16"),
        ("BOOL", "FLOAT", "FLOAT"),
        ("BOOL", "INT8", "INT8"),
        ("FLOAT", "COMPLEX64", "COMPLEX64"),
        ("DOUBLE", "COMPLEX64", "COMPLEX128"),
        ("COMPLEX64", "COMPLEX128", "COMPLEX128"),
    ],
    ids=str,
)
def test_common_pairs_promote_as_in_the_frameworks_table(first, second, result):
    assert promote_type(data_type(first), data_type(second)) is data_type(result)
    assert promote_type(data_type(second), data_type(first)) is data_type(result)


@pytest.mark.parametrize(("first", "second", "result", "swapped"), ASYMMETRIC, ids=str)
def test_unsigned_with_complex_depends_on_which_comes_first(first, second, result, swapped):
    assert promote_type(data_type(first), data_type(second)).name == result
    assert promote_type(data_type(second), data_type(first)).name == swapped


def test_every_other_pair_is_symmetric():
    odd = {
        frozenset((a.name, b.name))
        for a, b in itertools.combinations(data_types(), 2)
        if promote_type(a, b) is not promote_type(b, a)
    }
    assert odd == {frozenset(row[:2]) for row in ASYMMETRIC}


def test_every_dtype_promotes_with_itself_to_itself():
    assert all(promote_type(dtype, dtype) is dtype for dtype in data_types())


def test_the_tables_unwritten_rows_promote_to_float32():
    # hifloat8 and later have no row in the C++ array; zero there means DT_FLOAT
    for new, any_dtype in itertools.product(data_types()[34:], data_types()):
        if new is not any_dtype:
            assert promote_type(new, any_dtype) is FLOAT
            assert promote_type(any_dtype, new) is FLOAT


# -- casts ---------------------------------------------------------------------


@pytest.mark.parametrize("pair", PAIRS)
def test_the_three_dtypes_cast_into_one_another_narrowing_included(pair):
    assert can_cast(*(THREE[letter] for letter in pair))


def class_rule(source, target):
    """The rule in words: complex stays complex, floats never become integers, only bool is bool."""
    if source in COMPLEX and target not in COMPLEX:
        return False
    if source in FLOATING and target in INTEGRAL:
        return False
    return source == "DT_BOOL" or target != "DT_BOOL"


def test_casts_follow_the_three_class_rules_for_every_pair():
    wrong = [
        (a.name, b.name)
        for a, b in itertools.product(data_types(), repeat=2)
        if can_cast(a, b) != class_rule(a.name, b.name)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "target", "allowed"),
    [
        ("COMPLEX64", "FLOAT", False),
        ("COMPLEX128", "COMPLEX64", True),
        ("FLOAT", "INT32", False),
        ("FLOAT16", "BOOL", False),
        ("INT64", "FLOAT16", True),
        ("INT8", "BOOL", False),
        ("BOOL", "BOOL", True),
        ("BOOL", "FLOAT", True),
        ("FLOAT", "DT_HIFLOAT4", True),
        ("DT_HIFLOAT4", "INT8", True),  # it belongs to none of the classes
    ],
    ids=str,
)
def test_single_casts_are_allowed_or_not(source, target, allowed):
    assert can_cast(data_type(source), data_type(target)) is allowed
