"""The aclnn objects of the software NPU: tensors, scalars, arrays, lists and their handles."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from sim_rig import A950, NULL, Call, Rig, in_thread

from labkit.errors import LifetimeError
from labkit.op.dtypes import data_type
from labkit.op.scalar import SCALAR_DTYPES

GETTERS = {
    "aclGetViewShape": ("int64_t **", "uint64_t *"),
    "aclGetStorageShape": ("int64_t **", "uint64_t *"),
    "aclGetViewStrides": ("int64_t **", "uint64_t *"),
    "aclGetViewOffset": ("int64_t *",),
    "aclGetFormat": ("aclFormat *",),
    "aclGetDataType": ("aclDataType *",),
    "aclGetRawTensorAddr": ("void **",),
}


@pytest.fixture
def rig() -> Rig:
    return Rig()


def numbers(rig: Rig, name: str, tensor) -> list[int]:
    values, count = rig.new("int64_t **"), rig.new("uint64_t *")
    assert rig(name, tensor, values, count) == 0
    return [values[0][k] for k in range(count[0])]


def got(rig: Rig, name: str, tensor):
    cell = rig.new(GETTERS[name][0])
    assert rig(name, tensor, cell) == 0
    return cell[0]


# -- creating and reading back -------------------------------------------------


def test_a_tensor_gives_back_what_it_was_made_of(rig):
    tensor = rig.tensor("float16", (2, 3), 0x1000, strides=(1, 2), offset=5, storage=(4, 7))
    assert numbers(rig, "aclGetViewShape", tensor) == [2, 3]
    assert numbers(rig, "aclGetViewStrides", tensor) == [1, 2]
    assert numbers(rig, "aclGetStorageShape", tensor) == [4, 7]
    assert got(rig, "aclGetViewOffset", tensor) == 5
    assert got(rig, "aclGetDataType", tensor) == 1
    assert got(rig, "aclGetFormat", tensor) == 2
    assert rig.npu.address(got(rig, "aclGetRawTensorAddr", tensor)) == 0x1000


def test_null_strides_become_those_of_a_row_major_view(rig):
    tensor = rig.tensor("float32", (2, 3, 4), storage=(100,))
    assert numbers(rig, "aclGetViewStrides", tensor) == [12, 4, 1]


def test_a_null_shape_without_dimensions_is_a_0_d_tensor(rig):
    tensor = rig("aclCreateTensor", NULL, 0, 0, NULL, 0, 2, NULL, 0, NULL)
    assert tensor != NULL
    for name in ("aclGetViewShape", "aclGetViewStrides", "aclGetStorageShape"):
        assert numbers(rig, name, tensor) == []


@pytest.mark.parametrize("which", ["view", "storage"])
def test_null_dimensions_with_a_count_give_null_and_say_nothing(rig, which):
    shape = rig.new("int64_t[]", (2, 3))
    view, storage = ((NULL, 2), (shape, 2)) if which == "view" else ((shape, 2), (NULL, 2))
    made = rig("aclCreateTensor", *view, 0, NULL, 0, 2, *storage, NULL)
    assert made == NULL
    assert rig.messages() == []
    assert rig.npu.leaks() == []


@pytest.mark.parametrize(
    "options",
    [
        {"strides": (-3, -1)},
        {"strides": (0, 0)},
        {"offset": -7},
        {"offset": 10**9},
        {"storage": ()},
        {"storage": (0,)},
    ],
)
def test_creating_a_tensor_checks_nothing_of_its_layout(rig, options):
    assert rig.tensor("float32", (2, 3), **options) != NULL
    assert rig.messages() == []


def test_a_negative_dimension_is_taken_as_it_comes(rig):
    assert numbers(rig, "aclGetViewShape", rig.tensor("float32", (-2, 3))) == [-2, 3]


@pytest.mark.parametrize("dtype", [-1, 999])
def test_an_undefined_dtype_makes_a_tensor_and_leaves_an_entry_in_the_error_list(rig, dtype):
    tensor = rig.tensor(dtype, (2,))
    assert tensor != NULL
    assert rig.codes() == ["E18888"]
    assert got(rig, "aclGetDataType", tensor) == -1


def test_the_text_for_an_undefined_dtype_begins_as_an_internal_error(rig):
    rig.tensor(-1, (2,))
    text = rig.ffi.string(rig("aclGetRecentErrMsg")).decode()
    assert text.startswith("E18888: ")
    assert rig("aclGetRecentErrMsg") == NULL


@pytest.mark.parametrize("rank", [9, 25, 26, 64])
def test_any_rank_can_be_created_and_phase_1_refuses_more_than_8(rig, rank):
    call = Call(rig)
    deep = rig.tensor("float32", (1,) * rank)
    assert deep != NULL
    count = rig.new("uint64_t *")
    assert rig("aclGetViewShape", deep, rig.new("int64_t **"), count) == 0
    assert count[0] == rank
    assert rig.phase1(deep, call.x, call.lambd, call.out) == (161002, -1, NULL)
    assert rig.messages() == [("EZ1001", ("gradOutput", "8"))]


def test_the_address_of_a_tensor_can_be_changed_and_may_be_null(rig):
    tensor = rig.tensor("float32", (2,), 0x1000)
    for address in (0x2000, 0):
        assert rig("aclSetRawTensorAddr", tensor, rig.pointer(address)) == 0
        assert rig.npu.address(got(rig, "aclGetRawTensorAddr", tensor)) == address


def test_every_setter_of_an_address_names_the_tensor_that_is_null(rig):
    assert rig("aclSetRawTensorAddr", NULL, rig.pointer(1)) == 161001
    setters = ("aclSetInputTensorAddr", "aclSetOutputTensorAddr", "aclSetTensorAddr")
    for name in setters:
        assert rig(name, NULL, 0, NULL, rig.pointer(1)) == 561103
    want = [
        ("EZ1011", (("functionName", name), ("paraName", "tensor")))
        for name in ("aclSetRawTensorAddr", *setters)
    ]
    assert [(entry.code, entry.fields) for entry in rig.npu.messages.take()] == want
    rig("aclSetRawTensorAddr", NULL, rig.pointer(1))
    text = rig.ffi.string(rig("aclGetRecentErrMsg")).decode()
    assert text.startswith("EZ1011: ")
    assert "aclSetRawTensorAddr: tensor" in text


# -- null rules ----------------------------------------------------------------


@pytest.mark.parametrize("name", GETTERS)
def test_a_getter_refuses_a_null_tensor_and_every_null_out_pointer(rig, name):
    outs = [rig.new(ctype) for ctype in GETTERS[name]]
    assert rig(name, NULL, *outs) == 161001
    tensor = rig.tensor("float32", (2, 3))
    for place in range(len(outs)):
        with_null = [NULL if k == place else out for k, out in enumerate(outs)]
        assert rig(name, tensor, *with_null) == 161001
    assert rig(name, tensor, *outs) == 0


DESTROYERS = (
    "aclDestroyTensor",
    "aclDestroyScalar",
    "aclDestroyIntArray",
    "aclDestroyFloatArray",
    "aclDestroyBoolArray",
    "aclDestroyTensorList",
    "aclDestroyScalarList",
)


@pytest.mark.parametrize("name", DESTROYERS)
def test_destroying_null_is_fine(rig, name):
    assert rig(name, NULL) == 0


# -- destroyed and foreign handles ---------------------------------------------


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", [*GETTERS, "aclDestroyTensor", "aclSetRawTensorAddr"])
def test_a_destroyed_tensor_is_caught_in_every_call(strict, name):
    rig = Rig(strict=strict)
    tensor = rig.tensor("float32", (2,))
    assert rig("aclDestroyTensor", tensor) == 0
    extra = [rig.new(ctype) for ctype in GETTERS.get(name, ())]
    if name == "aclSetRawTensorAddr":
        extra = [NULL]
    with pytest.raises(LifetimeError, match="no live aclTensor"):
        rig(name, tensor, *extra)


def test_destroying_a_tensor_never_frees_its_memory(rig):
    address = rig.malloc(64)
    rig.write(address, b"\x05" * 64)
    rig("aclDestroyTensor", rig.tensor("float32", (16,), address))
    assert rig.read(address, 64) == b"\x05" * 64


def test_one_kind_of_handle_is_not_taken_for_another(rig):
    tensor, scalar = rig.tensor("float32", (2,)), rig.scalar()
    with pytest.raises(LifetimeError, match="no live aclScalar"):
        rig("aclDestroyScalar", rig.ffi.cast("aclScalar *", tensor))
    with pytest.raises(LifetimeError, match="no live aclTensor"):
        rig("aclDestroyTensor", rig.ffi.cast("aclTensor *", scalar))
    assert rig("aclDestroyTensor", tensor) == 0
    assert rig("aclDestroyScalar", scalar) == 0


def test_one_kind_of_array_is_not_taken_for_another(rig):
    members = [rig.tensor("float32", (2,))]
    made = rig("aclCreateTensorList", rig.new("aclTensor *[]", members), 1)
    with pytest.raises(LifetimeError):
        rig("aclDestroyIntArray", rig.ffi.cast("aclIntArray *", made))
    with pytest.raises(LifetimeError):
        rig("aclGetScalarListSize", rig.ffi.cast("aclScalarList *", made), rig.new("uint64_t *"))
    assert rig("aclDestroyTensorList", made) == 0
    assert rig.npu.leaks() == []


def test_a_handle_that_was_never_given_out_is_caught(rig):
    wild = rig.ffi.cast("aclTensor *", 0x123456)
    with pytest.raises(LifetimeError, match="0x123456"):
        rig("aclDestroyTensor", wild)


def test_handles_work_in_every_thread(rig):
    tensor = rig.tensor("float32", (2, 3))
    assert in_thread(lambda: numbers(rig, "aclGetViewShape", tensor)) == [2, 3]
    assert in_thread(lambda: rig("aclDestroyTensor", tensor)) == 0


# -- scalars -------------------------------------------------------------------


@pytest.mark.parametrize("name", SCALAR_DTYPES)
def test_every_scalar_dtype_of_the_list_is_accepted(rig, name):
    value = rig.new("char[16]", b"\x01")
    made = rig("aclCreateScalar", rig.ffi.cast("void *", value), data_type(name).acl_value)
    assert made != NULL
    assert rig.messages() == []
    assert rig("aclDestroyScalar", made) == 0


@pytest.mark.parametrize(
    ("dtype", "shown"), [(13, "DT_STRING(13)"), (33, "DT_COMPLEX32(33)"), (29, "DT_INT4(29)")]
)
def test_another_scalar_dtype_gives_null_and_two_messages(rig, dtype, shown):
    assert rig("aclCreateScalar", rig.new("char[16]"), dtype) == NULL
    refused, inner = rig.npu.messages.take()
    assert (refused.code, inner.code) == ("EZ1006", "EZ9999")
    fields = dict(refused.fields)
    assert fields["dataType"] == shown
    assert fields["opName"] == ""
    allowed = fields["dtypeRange"].strip("[]").split(", ")
    assert len(allowed) == 23
    assert allowed[0] == "DT_FLOAT(0)"
    assert rig.npu.leaks() == []


def test_a_scalar_that_could_not_be_made_counts_as_a_null_lambd(rig):
    call = Call(rig)
    made = rig("aclCreateScalar", rig.new("char[16]"), 13)
    rig.messages()
    assert rig.phase1(call.grad, call.x, made, call.out)[0] == 161001
    assert rig.messages() == [("EZ1001", ("lambd",))]


def test_a_null_value_makes_no_scalar_and_says_nothing(rig):
    assert rig("aclCreateScalar", NULL, 0) == NULL
    assert rig.messages() == []


def test_the_value_of_a_scalar_is_copied_when_it_is_made(rig):
    call = Call(rig)
    value = rig.new("float *", 0.5)
    lambd = rig("aclCreateScalar", value, 0)
    value[0] = 100.0
    status, size, executor = rig.phase1(call.grad, call.x, lambd, call.out)
    value[0] = -5.0
    assert status == 0
    assert rig.phase2(executor, rig.malloc(size), size) == 0
    rig.synchronize()
    assert call.result().tolist() == [0, 0, 3, 4]


def test_a_scalar_reads_just_the_bytes_of_its_dtype(rig):
    # 0.5 as eight bytes of a double, declared as a float: the low half is zero.
    call = Call(rig)
    raw = rig.new("char[]", struct.pack("<d", 0.5))
    lambd = rig("aclCreateScalar", rig.ffi.cast("void *", raw), 0)
    status, size, executor = rig.phase1(call.grad, call.x, lambd, call.out)
    assert status == 0
    rig.phase2(executor, rig.malloc(size), size)
    rig.synchronize()
    assert call.result().tolist() == [1, 2, 3, 4]


# -- arrays and lists ----------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "ctype", "values"),
    [
        ("Int", "int64_t[]", (1, -2, 2**62)),
        ("Float", "float[]", (0.5, -1.0)),
        ("Bool", "bool[]", (True, False, True, True)),
    ],
)
def test_an_array_knows_its_size(rig, kind, ctype, values):
    made = rig(f"aclCreate{kind}Array", rig.new(ctype, values), len(values))
    size = rig.new("uint64_t *")
    assert rig(f"aclGet{kind}ArraySize", made, size) == 0
    assert size[0] == len(values)
    assert rig(f"aclGet{kind}ArraySize", NULL, size) == 161001
    assert rig(f"aclGet{kind}ArraySize", made, NULL) == 161001
    assert rig(f"aclDestroy{kind}Array", made) == 0
    with pytest.raises(LifetimeError):
        rig(f"aclGet{kind}ArraySize", made, size)


@pytest.mark.parametrize("kind", ["IntArray", "FloatArray", "BoolArray", "TensorList"])
def test_null_values_with_a_count_make_no_array(rig, kind):
    assert rig(f"aclCreate{kind}", NULL, 3) == NULL
    empty = rig(f"aclCreate{kind}", NULL, 0)
    assert empty != NULL
    assert rig(f"aclDestroy{kind}", empty) == 0
    assert rig.npu.leaks() == []


def test_destroying_a_tensor_list_destroys_its_members(rig):
    members = [rig.tensor("float32", (k,)) for k in range(3)]
    made = rig("aclCreateTensorList", rig.new("aclTensor *[]", members), 3)
    size = rig.new("uint64_t *")
    assert rig("aclGetTensorListSize", made, size) == 0
    assert size[0] == 3
    assert rig("aclDestroyTensorList", made) == 0
    assert rig.npu.leaks() == []
    for member in members:
        with pytest.raises(LifetimeError, match="no live aclTensor"):
            rig("aclDestroyTensor", member)


def test_destroying_a_scalar_list_destroys_its_members(rig):
    members = [rig.scalar(k) for k in range(3)]
    made = rig("aclCreateScalarList", rig.new("aclScalar *[]", members), 3)
    size = rig.new("uint64_t *")
    assert rig("aclGetScalarListSize", made, size) == 0
    assert size[0] == 3
    assert rig("aclDestroyScalarList", made) == 0
    assert rig.npu.leaks() == []
    with pytest.raises(LifetimeError, match="no live aclScalar"):
        rig("aclDestroyScalar", members[0])


def test_a_list_may_hold_null_members(rig):
    members = [NULL, rig.tensor("float32", (1,)), NULL]
    made = rig("aclCreateTensorList", rig.new("aclTensor *[]", members), 3)
    assert rig("aclDestroyTensorList", made) == 0
    assert rig.npu.leaks() == []


def test_a_member_destroyed_before_its_list_is_caught_with_the_list(rig):
    members = [rig.tensor("float32", (k,)) for k in range(2)]
    made = rig("aclCreateTensorList", rig.new("aclTensor *[]", members), 2)
    rig("aclDestroyTensor", members[1])
    with pytest.raises(LifetimeError, match="no live aclTensor"):
        rig("aclDestroyTensorList", made)


# -- accounts ------------------------------------------------------------------


def test_the_leak_report_names_each_handle_and_each_block_that_is_left():
    rig = Rig(A950)
    assert rig.npu.leaks() == []
    address = rig.malloc(123)
    pinned = rig.out("aclrtMallocHost", "void *", 8)
    left = {
        "aclTensor": rig.tensor("float32", (2,)),
        "aclScalar": rig.scalar(),
        "aclrtStream": rig.stream(),
        "aclrtEvent": rig.event(),
        "aclIntArray": rig("aclCreateIntArray", rig.new("int64_t[]", [1]), 1),
        "aclOpExecutor": Call(rig).executor(),
        "aclrtContext": rig.out("aclrtCreateContext", "aclrtContext", 0),
        "pinned host memory": pinned,
    }
    lines = rig.npu.leaks()
    for kind, handle in left.items():
        assert f"{kind} {rig.npu.address(handle):#x} was not destroyed" in lines
    assert f"123 bytes at {address:#x} were not freed" in lines
    # the call's own three tensors, its scalar and its three blocks, and nothing else
    assert len(lines) == len(left) + 1 + 4 + 3


def test_nothing_is_reported_after_everything_was_given_back():
    rig = Rig(A950)
    call = Call(rig)
    assert call.phase2(call.executor()) == 0
    rig.synchronize()
    for tensor in (call.grad, call.x, call.out):
        rig("aclDestroyTensor", tensor)
    rig("aclDestroyScalar", call.lambd)
    for address in (*call.addresses.values(), call.workspace):
        rig.free(address)
    assert rig.npu.leaks() == []
    rig("aclrtResetDevice", 0)
    assert rig.npu.live_handles == 0


def test_getters_leave_nothing_behind_when_the_tensor_is_destroyed():
    rig = Rig(A950)
    tensor = rig.tensor("float32", (2, 3))
    for _ in range(5):
        numbers(rig, "aclGetViewShape", tensor)
    rig("aclDestroyTensor", tensor)
    assert rig.npu.leaks() == []
    assert rig.npu.tensors._given == {}


def test_extreme_numbers_in_a_description_are_taken_as_they_come():
    rig = Rig(A950)
    lowest = -(2**63)
    tensor = rig.tensor("float32", (2,), strides=(lowest,), offset=2**63 - 1)
    assert tensor != NULL
    assert numbers(rig, "aclGetViewStrides", tensor) == [lowest]


def test_a_tensor_with_a_wild_layout_is_refused_in_phase_1_by_a_code_and_not_by_a_crash():
    rig = Rig(A950)
    call = Call(rig)
    for options in (
        {"strides": (2**62,), "storage": (4,)},
        {"strides": (-(2**62),), "storage": (4,)},
        {"strides": (2,), "offset": 2**62, "storage": (4,)},
    ):
        wild = rig.tensor("float32", (4,), call.addresses["grad"], **options)
        assert rig.phase1(wild, call.x, call.lambd, call.out) == (561103, -1, NULL)


def test_float_bits_of_lambd_reach_the_kernel_unchanged():
    rig = Rig(A950)
    call = Call(rig)
    exact = np.float32(0.75)  # equals the third element of self: still in the dead zone
    for lambd, want in ((exact, [0, 0, 0, 4]), (np.nextafter(exact, np.float32(0)), [0, 0, 3, 4])):
        scalar = rig("aclCreateScalar", rig.new("float *", float(lambd)), 0)
        status, size, executor = rig.phase1(call.grad, call.x, scalar, call.out)
        assert status == 0
        rig.phase2(executor, rig.malloc(size), size)
        rig.synchronize()
        assert call.result().tolist() == want
