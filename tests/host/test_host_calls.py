"""The host program's calls: what is recorded, how arrays become views, what comes back."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import labkit
from labkit.errors import AclnnError, DeviceMemoryError, LabValueError, OverlapError
from labkit.sim import SoftwareNpu

GRAD = np.array([[1, 1], [1, 1]], np.float32)
SELF = np.array([[0, 1], [2, 3]], np.float32)
BF16 = np.dtype(ml_dtypes.bfloat16)


@pytest.fixture
def dev():
    with labkit.open_device("sim") as device:
        yield device
        assert device.interface.leaks() == [
            line for line in device.interface.leaks() if "aclrtStream" in line
        ]


@pytest.fixture
def a2():
    with labkit.open_device("sim", soc="Ascend910B1") as device:
        yield device


def same_bits(have: np.ndarray, want: np.ndarray) -> bool:
    return (
        have.dtype == want.dtype and have.shape == want.shape and have.tobytes() == want.tobytes()
    )


def dense(grad, x, lambd=0.5):
    """Grad where |x| > λ, else +0, by NumPy's rules on dense float32 copies."""
    grad, x = np.broadcast_arrays(np.array(grad), np.array(x))
    return np.where(np.abs(x) <= np.float32(lambd), np.zeros((), grad.dtype), grad)


def ramp(*shape: int) -> np.ndarray:
    count = int(np.prod(shape))
    return np.linspace(-1.2, 1.3, count, dtype=np.float32).reshape(shape).copy()


# -- the documentation's example and its record --------------------------------


def test_the_documentations_example_gives_0_0_1_1(dev):
    call = labkit.hardshrink_backward([[1, 1], [1, 1]], [[0, 0.5], [0.6, 1]], device=dev)
    assert call.grad_input.tolist() == [[0, 0], [1, 1]]
    assert (call.status, call.status_name, call.ok) == (0, "ACLNN_SUCCESS", True)
    assert call.workspace_size == 512
    assert call.launches == ("HardShrinkGrad",)
    assert call.device == "software NPU as Ascend950PR_9599"
    assert call.soc == "Ascend950PR_9599"


STEPS = [
    "aclrtMalloc",
    "aclrtMemcpy",
    "aclrtMalloc",
    "aclrtMemcpy",
    "aclrtMalloc",
    "aclCreateTensor",
    "aclCreateTensor",
    "aclCreateScalar",
    "aclCreateTensor",
    "aclnnHardshrinkBackwardGetWorkspaceSize",
    "aclrtMalloc",
    "aclnnHardshrinkBackward",
    "aclrtSynchronizeStream",
    "aclrtMemcpy",
    "aclDestroyTensor",
    "aclDestroyTensor",
    "aclDestroyScalar",
    "aclDestroyTensor",
    "aclrtFree",
    "aclrtFree",
    "aclrtFree",
    "aclrtFree",
]


def test_the_steps_are_those_of_the_documentation_in_its_order(dev):
    call = labkit.hardshrink_backward(GRAD, SELF, device=dev)
    names = [entry.name for entry in call.record]
    assert sorted(names) == sorted(STEPS)
    without_memory = [n for n in names if n not in ("aclrtMalloc", "aclrtMemcpy")]
    assert without_memory == [n for n in STEPS if n not in ("aclrtMalloc", "aclrtMemcpy")]
    first_tensor, phase1 = names.index("aclCreateTensor"), names.index(STEPS[9])
    phase2, wait = names.index(STEPS[11]), names.index("aclrtSynchronizeStream")
    assert names[:first_tensor].count("aclrtMalloc") == 3
    assert names[:first_tensor].count("aclrtMemcpy") == 2  # inputs only: out is fresh
    assert names[phase1 + 1 : phase2] == ["aclrtMalloc"]  # the workspace
    assert names[wait + 1] == "aclrtMemcpy"  # and only now the result is read
    assert names.count("aclrtMemcpy") == 3


def test_the_device_opens_with_the_documented_steps_and_keeps_its_own_record(dev):
    before = [entry.name for entry in dev.record]
    assert before == ["aclInit", "aclrtSetDevice", "aclrtCreateStream", "aclrtGetSocName"]
    call = labkit.hardshrink_backward(GRAD, SELF, device=dev)
    assert dev.record[len(before) :] == tuple(call.record)


def test_the_next_calls_record_holds_its_own_steps_only(dev):
    first = labkit.hardshrink_backward(GRAD, SELF, device=dev)
    count = len(first.record)
    second = labkit.hardshrink_backward(GRAD, SELF, device=dev)
    dev.call("aclrtGetDevice", _cell("int32_t *"))
    assert len(first.record) == len(second.record) == count


def test_every_entry_has_a_status_or_a_result_and_a_time(dev):
    for entry in labkit.hardshrink_backward(GRAD, SELF, device=dev).record:
        if entry.name.startswith("aclCreate"):
            assert entry.status is None
            assert entry.result is not None
        else:
            assert entry.status == 0
        assert isinstance(entry.nanoseconds, int)
        assert 0 < entry.nanoseconds < 10**10


def _cell(ctype: str, *init):
    from labkit.cann.interface import ffi

    return ffi().new(ctype, *init)


def arguments(call, name: str, which: int = 0) -> dict[str, str]:
    entries = [entry for entry in call.record if entry.name == name]
    return dict(argument.split("=", 1) for argument in entries[which].args)


def test_a_tensors_arguments_read_as_numbers_and_names(dev):
    wide = np.zeros((2, 5), np.float16)[:, 1:4]
    call = labkit.hardshrink_backward(wide, np.zeros((2, 3), np.float16), device=dev)
    have = arguments(call, "aclCreateTensor")
    assert have.pop("tensorData").startswith("0x")
    assert have == {
        "viewDims": "[2, 3]",
        "viewDimsNum": "2",
        "dataType": "ACL_FLOAT16",
        "stride": "[5, 1]",
        "offset": "1",
        "format": "ACL_FORMAT_ND",
        "storageDims": "[2, 5]",
        "storageDimsNum": "2",
    }


def test_memory_calls_read_with_sizes_policies_and_directions(dev):
    call = labkit.hardshrink_backward(GRAD, SELF, device=dev)
    have = arguments(call, "aclrtMalloc")
    assert have["size"] == "16"
    assert have["policy"] == "ACL_MEM_MALLOC_HUGE_FIRST"
    assert have["devPtr"].startswith("&0x")
    address = have["devPtr"].removeprefix("&")
    have = arguments(call, "aclrtMemcpy")
    assert have["dst"] == address
    assert (have["destMax"], have["count"]) == ("16", "16")
    assert have["kind"] == "ACL_MEMCPY_HOST_TO_DEVICE"
    assert arguments(call, "aclrtMemcpy", -1)["kind"] == "ACL_MEMCPY_DEVICE_TO_HOST"


def test_phase_1_shows_the_workspace_size_that_it_gave(dev):
    call = labkit.hardshrink_backward(GRAD, SELF, device=dev)
    have = arguments(call, "aclnnHardshrinkBackwardGetWorkspaceSize")
    assert have["workspaceSize"] == "&512"
    executor = have["executor"].removeprefix("&")
    second = arguments(call, "aclnnHardshrinkBackward")
    assert second["executor"] == executor
    assert second["workspaceSize"] == "512"


def test_null_pointers_read_as_null(a2):
    call = labkit.hardshrink_backward(None, SELF, device=a2, check=False)
    have = arguments(call, "aclnnHardshrinkBackwardGetWorkspaceSize")
    assert have["gradOutput"] == "null"
    assert have["self"].startswith("0x")
    plain = labkit.hardshrink_backward(GRAD, SELF, device=a2)
    assert plain.workspace_size == 0
    assert arguments(plain, "aclnnHardshrinkBackward")["workspace"] == "null"


def test_an_entry_reads_as_one_line_of_c(dev):
    call = labkit.hardshrink_backward(GRAD, SELF, device=dev)
    (entry,) = [e for e in call.record if e.name == "aclrtSynchronizeStream"]
    assert str(entry).startswith("aclrtSynchronizeStream(stream=0x")
    assert str(entry).endswith(") = 0")
    create = next(e for e in call.record if e.name == "aclCreateScalar")
    assert ") = 0x" in str(create)
    assert "dataType=ACL_FLOAT" in str(create)


def test_a_record_keeps_what_an_out_pointer_received_though_the_program_uses_it_again(dev):
    cell = _cell("int32_t *", -1)
    count = _cell("uint32_t *", 77)
    dev.call("aclrtGetDevice", cell)
    dev.call("aclrtGetDeviceCount", count)
    cell[0], count[0] = 55, 66
    assert [entry.args for entry in dev.record[-2:]] == [("deviceId=&0",), ("count=&1",)]


def test_the_record_of_a_device_stays_bounded(dev):
    cell = _cell("int32_t *")
    dev.run(lambda: [dev.api.call("aclrtGetDevice", cell) for _ in range(10_050)])
    assert len(dev.record) == 10_000


def test_the_launches_of_a_call_are_its_own_however_many_came_before(dev):
    labkit.hardshrink_backward(GRAD, SELF, device=dev)
    log = dev.interface.log
    (entry,) = log
    for _ in range(10_000):  # what ten thousand earlier launches leave behind
        log.append(entry)
    call = labkit.hardshrink_backward(GRAD, SELF, device=dev)
    assert call.launches == ("HardShrinkGrad",)


# -- arrays as views -----------------------------------------------------------

BASE = ramp(6, 8)
DEEP = ramp(2, 3, 4)

VIEWS = {
    "transposed": lambda: BASE.T,
    "sliced rows and columns": lambda: BASE[1:5, 2:7],
    "every second column": lambda: BASE[:, ::2],
    "every third row": lambda: BASE[::3],
    "one column": lambda: BASE[:, 3],
    "one element": lambda: BASE[2, 3],
    "one element as an array": lambda: BASE[2:3, 3:4],
    "axes turned": lambda: DEEP.transpose(2, 0, 1),
    "reshaped": lambda: BASE.reshape(4, 12)[1:3],
    "a new axis": lambda: BASE[:, None, :],
    "Fortran order": lambda: np.asfortranarray(BASE),
    "broadcast": lambda: np.broadcast_to(BASE[0], (5, 8)),
    "broadcast from one element": lambda: np.broadcast_to(BASE[3, 3], (4, 2)),
    "overlapping windows": lambda: np.lib.stride_tricks.sliding_window_view(BASE[0], 3),
    "the diagonal": lambda: BASE.diagonal(),
    "the real parts": lambda: (BASE + 1j).astype(np.complex64).real,
    "a small piece of a large base": lambda: ramp(100_000)[50_000:50_007],
    "the tail of its base": lambda: ramp(1001)[-5:],
    "read-only": lambda: np.frombuffer(BASE.tobytes(), np.float32),
    "memory at an odd address": lambda: np.frombuffer(bytes(1) + BASE.tobytes(), "f4", -1, 1),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_gives_the_bits_of_its_dense_copy(dev, name):
    view = VIEWS[name]()
    other = np.full(view.shape, 0.75, np.float32)
    as_grad = labkit.hardshrink_backward(view, other, device=dev)
    assert same_bits(as_grad.grad_input, np.array(dense(view, other)))
    as_self = labkit.hardshrink_backward(other, view, lambd=0.3, device=dev)
    assert same_bits(as_self.grad_input, np.array(dense(other, view, 0.3)))


@pytest.mark.parametrize("name", ["transposed", "every second column", "broadcast", "the diagonal"])
def test_the_forward_operator_takes_views_too(dev, name):
    view = VIEWS[name]()
    call = labkit.hardshrink(view, device=dev)
    assert same_bits(call.out, np.array(dense(view, view)))


REVERSED = {
    "reversed": lambda: BASE[0][::-1],
    "rows reversed": lambda: BASE[::-1],
    "everything reversed": lambda: BASE[::-1, ::-1],
    "every second from the end": lambda: BASE[:, ::-2],
    "reversed and turned": lambda: BASE[::-1].T,
}


@pytest.mark.parametrize("name", REVERSED)
def test_a_reversed_view_works_where_the_chip_takes_it(a2, name):
    view = REVERSED[name]()
    call = labkit.hardshrink_backward(view, view, device=a2)
    assert same_bits(call.grad_input, np.array(dense(view, view)))
    assert min(call.arguments["gradOutput"].strides) < 0


@pytest.mark.parametrize("name", REVERSED)
def test_on_950_a_reversed_view_is_refused_with_561103_and_the_reason(dev, name):
    view = REVERSED[name]()
    with pytest.raises(AclnnError, match="negative stride") as caught:
        labkit.hardshrink_backward(view, np.ones(view.shape, np.float32), device=dev)
    assert caught.value.status == 561103


def test_a_view_is_described_over_its_base_and_not_copied(dev):
    view = BASE[1:5, 2:7]
    call = labkit.hardshrink_backward(view, np.ones((4, 5), np.float32), device=dev)
    have = call.arguments["gradOutput"]
    assert (have.dtype, have.data_type) == ("float32", 0)
    assert (have.shape, have.strides, have.offset) == ((4, 5), (8, 1), 10)
    assert have.storage_shape == (6, 8)
    first = arguments(call, "aclrtMalloc")
    sizes = {arguments(call, "aclrtMalloc", k)["size"] for k in range(3)}
    assert first
    assert str(BASE.nbytes) in sizes  # the whole base goes over


def test_a_view_of_another_dtype_is_described_in_its_own_elements(dev):
    raw = np.arange(64, dtype=np.uint8)
    view = raw[16:48].view(np.float32)[::2]
    call = labkit.hardshrink_backward(view, np.ones(4, np.float32), device=dev)
    have = call.arguments["gradOutput"]
    assert (have.strides, have.offset, have.storage_shape) == ((2,), 4, (16,))
    assert same_bits(call.grad_input, np.array(view))


def test_arrays_of_one_base_share_one_piece_of_device_memory(dev):
    base = ramp(40)
    call = labkit.hardshrink_backward(base[:20], base[20:], device=dev)
    sizes = sorted(
        int(arguments(call, "aclrtMalloc", k)["size"])
        for k in range(sum(entry.name == "aclrtMalloc" for entry in call.record))
    )
    assert sizes == [80, 160, 512]  # the result, the base once, the workspace
    assert same_bits(call.grad_input, dense(base[:20], base[20:]))


def test_the_same_array_may_be_both_inputs(dev):
    x = ramp(10)
    call = labkit.hardshrink_backward(x, x, device=dev)
    assert same_bits(call.grad_input, dense(x, x))


def test_a_view_at_a_byte_that_starts_no_element_is_refused_with_words(dev):
    raw = np.zeros(41, np.uint8)
    view = raw[1:].view(np.float32)
    with pytest.raises(LabValueError, match=r"gradOutput: .* 1 bytes .* copy it first"):
        labkit.hardshrink_backward(view, np.ones(10, np.float32), device=dev)


def test_a_field_of_records_whose_stride_is_no_whole_element_is_refused(dev):
    records = np.zeros(4, np.dtype([("tag", "u1"), ("x", "f4")]))
    with pytest.raises(LabValueError, match="whole elements"):
        labkit.hardshrink_backward(np.ones(4, np.float32), records["x"], device=dev)


@pytest.mark.parametrize(
    ("grad", "x"),
    [
        ((), ()),
        ((), (3,)),
        ((3,), ()),
        ((1,), ()),
        ((4, 1), (1, 3)),
        ((2, 1, 3), (5, 1)),
        ((1,) * 8, (2,)),
    ],
)
def test_shapes_broadcast_as_numpys_do_and_0_d_stays_0_d(dev, grad, x):
    grad, x = ramp(*grad), ramp(*x)
    call = labkit.hardshrink_backward(grad, x, device=dev)
    assert same_bits(call.grad_input, np.array(dense(grad, x)))


@pytest.mark.parametrize(
    ("grad", "x", "result"),
    [((0,), (0,), (0,)), ((0,), (1,), (0,)), ((0, 3), (1, 3), (0, 3)), ((2, 0), (0,), (2, 0))],
)
def test_empty_arrays_succeed_and_launch_nothing(dev, grad, x, result):
    call = labkit.hardshrink_backward(
        np.empty(grad, np.float32), np.empty(x, np.float32), device=dev
    )
    assert (call.status, call.workspace_size, call.launches) == (0, 0, ())
    assert call.grad_input.shape == result
    assert call.record[-1].status == 0


def test_an_empty_view_of_a_full_base_succeeds(dev):
    for view in (BASE[6:], BASE[:0], BASE[0][::-1][8:], BASE[3:3, ::2]):
        call = labkit.hardshrink_backward(view, view, device=dev)
        assert call.grad_input.shape == view.shape


def test_phase_2_is_called_for_an_empty_input_too_since_it_releases_the_executor(dev):
    empty = np.empty(0, np.float32)
    call = labkit.hardshrink_backward(empty, empty, device=dev)
    assert "aclnnHardshrinkBackward" in [entry.name for entry in call.record]
    assert not any("aclOpExecutor" in line for line in dev.interface.leaks())


# -- what may come in ----------------------------------------------------------


def test_lists_and_plain_numbers_become_float32(dev):
    call = labkit.hardshrink_backward([1, 2.5], 3, device=dev)
    assert same_bits(call.grad_input, np.array([1, 2.5], np.float32))
    assert call.arguments["self"].dtype == "float32"
    assert call.arguments["self"].shape == ()


def test_a_numpy_scalar_keeps_its_dtype(dev):
    call = labkit.hardshrink_backward(np.float16(2), np.float16(1), device=dev)
    assert same_bits(call.grad_input, np.array(2, np.float16))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, BF16])
def test_each_supported_dtype_comes_back_in_itself(dev, dtype):
    x = ramp(33).astype(dtype)
    call = labkit.hardshrink_backward(x, x, lambd=0.5, device=dev)
    want = np.where(np.abs(x.astype(np.float32)) <= 0.5, np.zeros((), dtype), x)
    assert same_bits(call.grad_input, want)


def test_bfloat16_views_work_as_others_do(dev):
    x = ramp(6, 8).astype(BF16)[:, ::2]
    call = labkit.hardshrink(x, device=dev)
    want = np.where(np.abs(x.astype(np.float32)) <= 0.5, np.zeros((), BF16), x)
    assert same_bits(call.out, np.array(want))


def test_mixed_inputs_give_the_promoted_dtype_unless_another_is_asked_for(dev):
    grad, x = ramp(9).astype(np.float16), ramp(9)
    assert labkit.hardshrink_backward(grad, x, device=dev).grad_input.dtype == np.float32
    call = labkit.hardshrink_backward(grad, x, out_dtype="bfloat16", device=dev)
    assert call.grad_input.dtype == BF16


def test_float64_is_refused_by_the_operator_and_not_converted(dev):
    with pytest.raises(AclnnError, match="DT_DOUBLE") as caught:
        labkit.hardshrink_backward(np.ones(4), np.ones(4, np.float32), device=dev)
    assert caught.value.status == 161002
    assert caught.value.name == "ACLNN_ERR_PARAM_INVALID"
    assert caught.value.call == "aclnnHardshrinkBackwardGetWorkspaceSize"
    assert "gradOutput" in caught.value.message


@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.bool_, np.complex64, np.uint64])
def test_other_dtypes_that_cann_knows_are_161002(dev, dtype):
    call = labkit.hardshrink_backward(
        np.ones(4, np.float32), np.ones(4, dtype), device=dev, check=False
    )
    assert (call.status, call.grad_input) == (161002, None)


@pytest.mark.parametrize(
    "array",
    [
        np.array(["a", "b"]),
        np.array([object(), None]),
        np.ones(4, ">f4"),
        np.zeros(3, "datetime64[s]"),
        np.zeros(2, [("x", "f4")]),
        np.ones(2, np.longdouble),
    ],
    ids=lambda array: str(array.dtype),
)
def test_dtypes_that_cann_does_not_know_are_refused_with_words(dev, array):
    with pytest.raises(LabValueError):
        labkit.hardshrink_backward(array, np.ones(array.shape, np.float32), device=dev)


@pytest.mark.parametrize("value", ["text", object(), [[1, 2], [3]], {"a": 1}])
def test_what_is_no_array_of_numbers_is_refused_with_its_name(dev, value):
    with pytest.raises(LabValueError, match="grad_output"):
        labkit.hardshrink_backward(value, [1.0], device=dev)


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"grad_output": None}, 161001),
        ({"self": None}, 161001),
        ({"lambd": None}, 161001),
        ({"lambd": None, "self": np.ones((2, 2))}, 161001),
    ],
)
def test_none_is_a_null_pointer(dev, changed, status):
    given = {"grad_output": GRAD, "self": SELF, **changed}
    lambd = {"lambd": given.pop("lambd")} if "lambd" in given else {}
    with pytest.raises(AclnnError, match="null pointer") as caught:
        labkit.hardshrink_backward(given["grad_output"], given["self"], device=dev, **lambd)
    assert caught.value.status == status


def test_all_none_is_a_null_pointer_too(dev):
    assert labkit.hardshrink_backward(None, None, device=dev, check=False).status == 161001
    assert labkit.hardshrink(None, device=dev, check=False).status == 161001


def test_shapes_that_do_not_meet_are_161002_and_not_a_numpy_error(dev):
    with pytest.raises(AclnnError, match="do not broadcast") as caught:
        labkit.hardshrink_backward(ramp(2, 3), ramp(4), device=dev)
    assert caught.value.status == 161002


def test_rank_9_is_161002(dev):
    deep = np.ones((1,) * 9, np.float32)
    call = labkit.hardshrink_backward(deep, deep, device=dev, check=False)
    assert call.status == 161002


@pytest.mark.parametrize("lambd", ["0.5x", object(), [1, 2], 1j])
def test_a_lambd_that_is_no_number_is_refused_with_words(dev, lambd):
    with pytest.raises(LabValueError, match="λ"):
        labkit.hardshrink_backward(GRAD, SELF, lambd=lambd, device=dev)


@pytest.mark.parametrize("lambd", [0.1, np.float64(0.1), np.float32(0.1), labkit.Scalar(0.1)])
def test_lambd_becomes_float32_once_whatever_its_python_type(dev, lambd):
    x = np.array([0.1], np.float32)
    call = labkit.hardshrink_backward(np.ones(1, np.float32), x, lambd=lambd, device=dev)
    assert call.grad_input.tolist() == [0]


def test_check_false_hands_back_the_call_with_the_code_and_the_words(dev):
    call = labkit.hardshrink_backward(np.ones(4), np.ones(4), device=dev, check=False)
    assert (call.status, call.status_name, call.ok) == (161002, "ACLNN_ERR_PARAM_INVALID", False)
    assert call.grad_input is None
    assert call.error.call == "aclnnHardshrinkBackwardGetWorkspaceSize"
    assert "DT_DOUBLE" in call.message
    assert call.launches == ()
    again = labkit.hardshrink_backward(GRAD, SELF, device=dev)
    assert (again.status, again.message, again.error) == (0, "", None)


def test_what_check_false_lets_pass_is_codes_and_not_misuse(dev):
    with pytest.raises(LabValueError):
        labkit.hardshrink_backward("text", SELF, device=dev, check=False)
    x = ramp(9)
    with pytest.raises(OverlapError):
        labkit.hardshrink_backward(x[:-1], ramp(8), out=x[1:], device=dev, check=False)


# -- out= ----------------------------------------------------------------------


def test_out_is_written_in_place_and_handed_back(dev):
    out = np.full((2, 2), 7, np.float32)
    call = labkit.hardshrink_backward(GRAD, SELF, out=out, device=dev)
    assert call.grad_input is out
    assert out.tolist() == [[0, 1], [1, 1]]


OUTS = {
    "every second column": (lambda b: b[:, ::2], (3, 4)),
    "a block": (lambda b: b[1:3, 2:6], (2, 4)),
    "one column": (lambda b: b[:, 5], (3,)),
    "transposed": (lambda b: b.T, (8, 3)),
    "a transposed block": (lambda b: b[:2, 1:4].T, (3, 2)),
    "one element": (lambda b: b[1, 1:2].reshape(()), ()),
    "a row": (lambda b: b[1], (8,)),
}


@pytest.mark.parametrize("soc", ["950", "910b", "910"])
@pytest.mark.parametrize("name", OUTS)
def test_a_strided_out_gets_the_result_and_its_gaps_stay(name, soc):
    take, shape = OUTS[name]
    base = np.full((3, 8), 9, np.float32)
    want = base.copy()
    grad, x = ramp(*shape), ramp(*shape)[::-1].copy() if shape else ramp()
    with labkit.open_device("sim", soc=soc) as device:
        call = labkit.hardshrink_backward(grad, x, out=take(base), device=device)
    take(want)[...] = dense(grad, x)
    assert same_bits(base, want)
    assert np.shares_memory(call.grad_input, base)


def test_a_reversed_out_is_written_backwards_where_the_chip_takes_it(a2):
    base = np.full(8, 9, np.float32)
    labkit.hardshrink_backward(ramp(4), np.ones(4, np.float32), out=base[6::-2], device=a2)
    want = np.full(8, 9, np.float32)
    want[6::-2] = ramp(4)
    assert same_bits(base, want)


@pytest.mark.parametrize("which", ["grad", "self"])
def test_out_may_be_an_input_itself(dev, which):
    grad, x = ramp(17), ramp(17)[::-1].copy()
    want = dense(grad, x)
    out = grad if which == "grad" else x
    call = labkit.hardshrink_backward(grad, x, out=out, device=dev)
    assert same_bits(call.grad_input, want)
    assert same_bits(out, want)


def test_out_may_be_a_strided_input_itself(dev):
    base = ramp(20)
    kept = base.copy()
    view = base[::2]
    labkit.hardshrink_backward(view, np.full(10, 0.1, np.float32), out=view, device=dev)
    kept[::2] = 0
    assert same_bits(base, kept)


def test_out_and_input_side_by_side_in_one_base(dev):
    base = ramp(20)
    want = base.copy()
    want[1::2] = dense(base[::2], base[::2])
    labkit.hardshrink_backward(base[::2], base[::2], out=base[1::2], device=dev)
    assert same_bits(base, want)


def test_an_out_shifted_against_an_input_is_refused_and_nothing_is_written(dev):
    base = ramp(9)
    kept = base.copy()
    with pytest.raises(OverlapError):
        labkit.hardshrink_backward(base[:-1], ramp(8), out=base[1:], device=dev)
    assert same_bits(base, kept)


def test_a_read_only_out_is_refused(dev):
    out = np.zeros((2, 2), np.float32)
    out.flags.writeable = False
    with pytest.raises(LabValueError, match="read-only"):
        labkit.hardshrink_backward(GRAD, SELF, out=out, device=dev)


@pytest.mark.parametrize("out", [[0, 0], 5, "x"])
def test_an_out_that_is_no_array_is_refused(dev, out):
    with pytest.raises(LabValueError, match="NumPy array to write into"):
        labkit.hardshrink_backward(GRAD, SELF, out=out, device=dev)


def test_out_and_out_dtype_together_are_refused(dev):
    with pytest.raises(LabValueError, match="not both"):
        labkit.hardshrink_backward(
            GRAD, SELF, out=np.zeros((2, 2), np.float32), out_dtype="float16", device=dev
        )


@pytest.mark.parametrize(
    "out",
    [
        np.zeros((2, 2)),
        np.zeros((2, 2), np.int32),
        np.zeros((4,), np.float32),
        np.zeros((1, 2, 2), np.float32),
        np.zeros((2, 1), np.float32),
        np.zeros((0,), np.float32),
    ],
    ids=lambda out: f"{out.dtype}{list(out.shape)}",
)
def test_an_out_of_another_dtype_or_shape_is_161002_and_stays_as_it_is(dev, out):
    kept = out.copy()
    with pytest.raises(AclnnError, match="gradInput") as caught:
        labkit.hardshrink_backward(GRAD, SELF, out=out, device=dev)
    assert caught.value.status == 161002
    assert same_bits(out, kept)


def test_an_out_for_an_empty_input_keeps_what_it_held(dev):
    out = np.full((1, 1, 1, 4), 7, np.float32)
    empty = np.empty(0, np.float32)
    call = labkit.hardshrink_backward(empty, np.ones((1, 1, 1, 4), np.float32), out=out, device=dev)
    assert call.grad_input is out
    assert out.tolist() == [[[[7, 7, 7, 7]]]]


def test_out_of_another_float_dtype_is_rounded_into(dev):
    out = np.full(6, 9, np.float16)[::2]
    x = np.array([1.0001, 0.3, 65519.0], np.float32)
    labkit.hardshrink_backward(x, x, out=out, device=dev)
    assert same_bits(np.array(out), np.array([1.0, 0.0, 65504.0], np.float16))


# -- strictness reaches the caller ---------------------------------------------


def test_an_output_view_with_two_elements_in_one_place_is_refused(a2):
    base = np.zeros(8, np.float32)
    twice = np.lib.stride_tricks.as_strided(base, (4,), (0,))
    with pytest.raises(OverlapError):
        labkit.hardshrink_backward(ramp(4), ramp(4), out=twice, device=a2)


def test_the_results_of_many_calls_do_not_depend_on_each_other(dev):
    first = labkit.hardshrink_backward(ramp(50), ramp(50), device=dev).grad_input
    kept = first.copy()
    for _ in range(5):
        labkit.hardshrink_backward(np.ones(50, np.float32), np.ones(50, np.float32), device=dev)
    assert same_bits(first, kept)


def test_any_c_function_can_be_called_through_the_device(dev):
    cell = _cell("void **")
    assert dev.call("aclrtMalloc", cell, 64, 0) == 0
    with pytest.raises(DeviceMemoryError):
        dev.call("aclrtMemset", cell[0], 65, 0, 65)
    assert dev.call("aclrtMemset", cell[0], 64, 0, 64) == 0
    assert dev.call("aclrtFree", cell[0]) == 0


def test_several_machines_do_not_know_of_each_other():
    npus = [SoftwareNpu("950"), SoftwareNpu("910b")]
    with labkit.open_device(npu=npus[0]) as one, labkit.open_device(npu=npus[1]) as two:
        assert labkit.hardshrink_backward(GRAD, SELF, device=one).workspace_size == 512
        assert labkit.hardshrink_backward(GRAD, SELF, device=two).workspace_size == 0
    assert [npu.leaks() for npu in npus] == [[], []]
