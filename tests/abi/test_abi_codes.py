"""Codes and enumerators by name, with what to do about them."""

from __future__ import annotations

import pytest

from labkit.cann import header
from labkit.cann.codes import (
    code_of,
    codes,
    enum_name,
    enum_value,
    enums,
    explain,
    lookup,
    name_of,
)
from labkit.errors import LabValueError

# What a user of the operator can meet; each has to come with advice.
MET = [
    *(100000, 100001, 100002, 100037, 100039, 107000, 107001, 107002, 107003, 107017, 107019),
    *(200000, 207000, 207001, 207002, 207003, 207004, 207005, 207006, 207018, 361001),
    *(500000, 500003, 507000, 507008, 507010, 507013, 507014, 507015, 507016, 507017, 507018),
    *(507033, 507034, 507035, 507046, 507899, 161001, 161002, 561000, 561001, 561002, 561003),
    *range(561101, 561120),
]


@pytest.mark.parametrize(
    ("code", "name", "layer"),
    [
        (0, "ACL_SUCCESS", "acl"),
        (100002, "ACL_ERROR_REPEAT_INITIALIZE", "acl"),
        (100039, "ACL_ERROR_COMPILING_STUB_MODE", "acl"),
        (107002, "ACL_ERROR_RT_CONTEXT_NULL", "runtime"),
        (507035, "ACL_ERROR_RT_VECTOR_CORE_EXCEPTION", "runtime"),
        (161002, "ACLNN_ERR_PARAM_INVALID", "aclnn"),
        (561103, "ACLNN_ERR_INNER_NULLPTR", "aclnn"),
        (145000, "ACL_ERROR_GE_PARAM_INVALID", "graph engine"),
    ],
)
def test_a_code_has_its_name_and_layer(code, name, layer):
    assert (name_of(code), lookup(code).layer) == (name, layer)
    assert code_of(name) == code


def test_all_codes_of_the_headers_are_there_once():
    names = [info.name for info in codes()]
    assert len(names) == len(set(names)) == 282
    assert all(info.meaning for info in codes())
    assert {info.layer for info in codes()} == {"acl", "runtime", "aclnn", "graph engine"}


def test_of_two_spellings_the_right_one_is_shown():
    assert name_of(561105) == "ACLNN_ERR_INNER_KEY_CONFLICT"
    assert code_of("ACLNN_ERR_INNER_KEY_CONFILICT") == 561105


def test_a_layer_chooses_among_the_names_of_one_number():
    assert name_of(0, "aclnn") == "ACLNN_SUCCESS"
    assert name_of(0, "runtime") == "ACL_RT_SUCCESS"
    assert name_of(161002, "runtime") == "ACLNN_ERR_PARAM_INVALID"


@pytest.mark.parametrize("code", MET)
def test_a_code_that_a_user_can_meet_says_what_to_do(code):
    info = lookup(code)
    assert len(info.remedy) > 20 and info.remedy.rstrip().endswith("."), info
    assert f"What to do: {info.remedy}" in explain(code)


def test_an_explanation_is_one_line_with_number_name_and_meaning():
    text = explain(161002)
    assert text.startswith("161002 ACLNN_ERR_PARAM_INVALID: ") and "\n" not in text
    assert explain(0) == "0 ACL_SUCCESS: success."


def test_faults_of_the_environment_are_explained_otherwise_than_those_of_arguments():
    assert "ops package" in lookup(561003).remedy
    assert "set_env.sh" in lookup(561107).remedy
    assert "dtype" in lookup(161002).remedy and "package" not in lookup(161002).remedy


@pytest.mark.parametrize(
    ("code", "layer", "word"),
    [
        (107999, "runtime", "caller"),
        (207999, "runtime", "resources"),
        (369999, "unknown", "service"),
        (561201, "aclnn", "internal"),
        (599999, "unknown", "internal"),
    ],
)
def test_an_unknown_code_is_placed_by_its_digits(code, layer, word):
    info = lookup(code)
    assert (info.code, info.name, info.layer) == (code, "UNKNOWN", layer)
    assert word in info.kind and word in info.meaning
    assert str(code) in explain(code)


@pytest.mark.parametrize("code", [7, -1, 1234567, 961002])
def test_a_number_that_is_no_code_of_cann_is_unknown_too(code):
    assert (lookup(code).name, lookup(code).layer, lookup(code).kind) == ("UNKNOWN", "unknown", "")


def test_the_status_codes_of_the_header_are_those_of_the_table():
    table = {info.name: info.code for info in codes()}
    named = {
        name: value
        for name, value in header.constants().items()
        if name.startswith(("ACLNN_", "ACL_ERROR_")) or name == "ACL_SUCCESS"
    }
    assert len(named) > 40
    assert {name: table.get(name) for name in named} == named


@pytest.mark.parametrize(
    ("enum", "value", "name"),
    [
        ("aclrtMemcpyKind", 1, "ACL_MEMCPY_HOST_TO_DEVICE"),
        ("aclDataType", 0, "ACL_FLOAT"),
        ("aclDataType", 27, "ACL_BF16"),
        ("aclDataType", -1, "ACL_DT_UNDEFINED"),
        ("aclFormat", 2, "ACL_FORMAT_ND"),
        ("aclrtDevAttr", 204, "ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE"),
        ("aclrtDevAttr", 403, "ACL_DEV_ATTR_SUPER_POD_DEVICE_ID"),
        ("aclDataType", 5, "5"),
    ],
)
def test_a_value_of_an_enumeration_has_a_name(enum, value, name):
    assert enum_name(enum, value) == name
    if not name.isdigit():
        assert enum_value(enum, name) == value


def test_strange_names_are_refused():
    for wrong in (
        lambda: enum_name("aclNoSuchEnum", 0),
        lambda: enum_value("aclDataType", "ACL_FLOAT8"),
        lambda: code_of("ACL_ERROR_NO_SUCH"),
    ):
        with pytest.raises(LabValueError):
            wrong()


def test_every_enumeration_of_the_prototypes_can_be_named():
    used = {
        ctype.removeprefix("const ").rstrip("*")
        for prototype in header.prototypes().values()
        for ctype in prototype.types
    }
    assert set(enums()) == used & set(enums())
    assert {"aclDataType", "aclFormat", "aclrtMemcpyKind", "aclrtDevAttr"} <= set(enums())
