"""Arrays of other libraries keep their dtype, bit for bit, or are refused in words."""

from __future__ import annotations

import array
import ctypes
import sys
import types

import ml_dtypes
import numpy as np
import pytest
from exact import assert_same_bits
from odd import nested

import labkit
from labkit.errors import AclnnError, LabValueError
from labkit.host.twophase import Output, RawScalar, call_operator
from labkit.op import arrays
from labkit.op import hardshrink as kernel_forward
from labkit.op import hardshrink_grad as kernel_backward
from labkit.op.arrays import as_array


@pytest.fixture(scope="module")
def dev():
    with labkit.open_device("sim", soc="910b") as device:
        yield device


def code(dev, grad, x, **how) -> int:
    return labkit.hardshrink_backward(grad, x, device=dev, check=False, **how).status


# -- tensors ---------------------------------------------------------------------------


class _Dtype:
    """A dtype of a library like PyTorch: it has a name, and NumPy knows nothing of it."""

    def __init__(self, name: str) -> None:
        self.word = name

    def __str__(self) -> str:
        return f"likewise.{self.word}"


likewise = types.ModuleType("likewise")
_Dtype.__module__ = "likewise"
_Dtype.__name__ = _Dtype.__qualname__ = "dtype"
for word in ("float16", "float32", "float64", "bfloat16", "int16", "uint8", "int64"):
    setattr(likewise, word, _Dtype(word))


class Tensor:
    """Stands for a tensor of PyTorch where it is not installed, with the same refusals."""

    def __init__(self, values: np.ndarray, requires_grad: bool = False) -> None:
        self.values, self.requires_grad = values, requires_grad
        self.dtype = getattr(likewise, values.dtype.name)
        self.shape = values.shape

    def detach(self) -> Tensor:
        return Tensor(self.values)

    def view(self, dtype: _Dtype) -> Tensor:
        return Tensor(self.values.view(dtype.word))

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad")
        if self.dtype is likewise.bfloat16:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.values


def _torch(values: np.ndarray, requires_grad: bool = False):
    torch = pytest.importorskip("torch")
    bits = torch.from_numpy(values.view(f"i{values.itemsize}").copy())
    made = bits if values.dtype.kind == "i" else bits.view(getattr(torch, values.dtype.name))
    return made.requires_grad_(requires_grad)


@pytest.fixture(params=["stand-in", "torch"])
def tensor(request, monkeypatch):
    monkeypatch.setitem(sys.modules, "likewise", likewise)
    return Tensor if request.param == "stand-in" else _torch


def patterns(dtype: str) -> np.ndarray:
    """Bit patterns of a dtype: NaN payloads, both zeros, subnormals, ∞ among them."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    bits = np.random.default_rng(7).integers(0, 2**16, 4096, np.uint16)
    wide = bits.astype(f"u{kind.itemsize}")
    wide <<= wide.dtype.type(8 * (kind.itemsize - 2))
    return wide.view(kind)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_a_tensor_goes_in_with_its_own_dtype_bit_for_bit(dev, tensor, dtype, requires_grad):
    x, grad = patterns(dtype), patterns(dtype)[::-1].copy()
    want = labkit.hardshrink_backward(grad, x, lambd=0.3, device=dev).grad_input
    made = tensor(grad, requires_grad), tensor(x, requires_grad)
    got = labkit.hardshrink_backward(*made, lambd=0.3, device=dev).grad_input
    assert got.dtype.name == dtype
    assert_same_bits(got, want)
    assert_same_bits(labkit.hardshrink(made[1], device=dev).out, kernel_forward(x, 0.5))
    assert_same_bits(kernel_backward(*made, 0.3), want)


def test_a_half_at_lambda_gets_no_gradient_and_stays_half(dev, tensor):
    """Taken as float32 it would: 0.300048828125 is above 0.3 there, and equal to it in float16."""
    x, grad = (np.array([value], np.float16) for value in (0.300048828125, 1))
    call = labkit.hardshrink_backward(tensor(grad), tensor(x), lambd=0.3, device=dev)
    assert (call.grad_input.dtype, call.grad_input.tolist()) == (np.float16, [0.0])


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_a_tensor_of_another_dtype_is_refused_by_cann_as_an_array_of_numpy_is(dev, tensor, dtype):
    values = np.ones(2, dtype)
    assert code(dev, values, values) == 161002
    assert code(dev, tensor(values), tensor(values)) == 161002
    with pytest.raises(AclnnError) as caught:
        labkit.hardshrink(tensor(values), device=dev)
    assert caught.value.status == 161002


def test_tensors_of_torch_over_strides_and_of_no_axes():
    torch = pytest.importorskip("torch")
    base = torch.arange(12, dtype=torch.bfloat16).view(3, 4)
    for x in (base.t(), base[:, ::2], base[1], base[2, 3], base.expand(2, 3, 4)):
        want = x.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
        assert_same_bits(as_array("x", x), want)
    wide = torch.ones(3, dtype=torch.float8_e4m3fn)
    assert as_array("x", wide).dtype == ml_dtypes.float8_e4m3fn


def test_tensors_of_torch_that_numpy_cannot_have_are_refused_in_words(dev):
    torch = pytest.importorskip("torch")
    hidden = [
        torch.ones(2, device="meta"),
        torch.eye(2).to_sparse(),
        torch.ones(2, dtype=torch.complex64).conj(),
    ]
    for x in hidden:
        with pytest.raises(LabValueError, match="right would be"):
            labkit.hardshrink(x, device=dev)


def test_a_dtype_of_another_library_may_be_named(dev, tensor):
    dtype = tensor(np.ones(1, np.float16)).dtype
    call = labkit.hardshrink_backward([1.0], [1.0], out_dtype=dtype, device=dev)
    assert call.grad_input.dtype == np.float16


# -- buffers, frames and others --------------------------------------------------------


def test_buffers_keep_their_dtype(dev):
    single, double = array.array("f", [0.25, 1]), array.array("d", [0.25, 1])
    for x in (single, memoryview(single), (ctypes.c_float * 2)(0.25, 1)):
        assert labkit.hardshrink(x, device=dev).out.tolist() == [0, 1]
    for x in (double, memoryview(double), memoryview(np.ones(2)), bytearray(b"ab")):
        assert code(dev, x, x) == 161002
    half = memoryview(np.array([0.25, 1], np.float16))
    assert labkit.hardshrink(half, device=dev).out.dtype == np.float16
    assert_same_bits(as_array("x", memoryview(single)), np.array([0.25, 1], np.float32))


class Converts:
    """What has `__array__` alone."""

    def __init__(self, values) -> None:
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values


class Exports:
    """What has DLPack alone, like a tensor of a library that knows nothing of NumPy."""

    def __init__(self, values, device: int = 1) -> None:
        self.values, self.device = values, device

    def __dlpack__(self, **how):
        return self.values.__dlpack__(**how)

    def __dlpack_device__(self):
        return (self.device, 0)


@pytest.mark.parametrize("kind", [Converts, Exports])
def test_what_converts_itself_keeps_its_dtype(dev, kind):
    half, double = np.array([0.3, 1], np.float16), np.ones(2)
    call = labkit.hardshrink(kind(half), device=dev)
    assert_same_bits(call.out, kernel_forward(half, 0.5))
    assert code(dev, kind(double), kind(double)) == 161002


def test_what_says_one_dtype_and_gives_another_is_refused(dev):
    class Says(Converts):
        dtype = np.dtype(np.float16)

    with pytest.raises(LabValueError, match=r"says that it holds float16, but NumPy gets float64"):
        labkit.hardshrink(Says(np.ones(2)), device=dev)


def test_what_lies_in_a_devices_memory_is_refused_with_what_to_write(dev):
    class OnCuda:
        __cuda_array_interface__ = types.MappingProxyType({"typestr": "<f4"})
        shape = (2,)

        def __array__(self, *_):
            raise AssertionError("asked for, though it lies elsewhere")

    for x in (OnCuda(), Exports(np.ones(2, np.float32), device=2), [OnCuda()]):
        with pytest.raises(LabValueError, match=r"memory of a device.*x\.cpu\(\), x\.get\(\)"):
            labkit.hardshrink(x, device=dev)


def test_frames_of_pandas_and_xarray(dev):
    pandas = pytest.importorskip("pandas")
    half = pandas.Series([0.3, 1], dtype="float16")
    assert labkit.hardshrink(half, lambd=0.3, device=dev).out.dtype == np.float16
    assert code(dev, pandas.DataFrame({"a": [1.0]}), [[1.0]]) == 161002
    assert code(dev, pandas.Series([1, 2]), [1.0, 2.0]) == 161002
    for values in ([1.0, 2.0], [1.0, None]):
        frames = [pandas.Series(values, dtype="Float32"), pandas.array(values, dtype="Float32")]
        for x in (*frames, frames[0].to_frame()):
            with pytest.raises(LabValueError, match=r"dtype Float32, which may hold NA.*to_numpy"):
                labkit.hardshrink(x, device=dev)
    xarray = pytest.importorskip("xarray")
    call = labkit.hardshrink(xarray.DataArray(np.float16([0.3, 1])), device=dev)
    assert call.out.tolist() == [0, 1] and call.out.dtype == np.float16


def test_a_nullable_dtype_is_refused_without_pandas_too(dev):
    class Nullable(Converts):
        dtype = type("Float32Dtype", (), {"na_value": None, "__str__": lambda self: "Float32"})()

    class Nulls(Converts):
        def null_count(self):
            return 1

    class Masked(Converts):
        mask = property(lambda self: [False, True])

    for x in (Nullable(np.ones(2, np.float32)), Nulls(np.ones(2)), Masked(np.ones(2))):
        with pytest.raises(LabValueError, match="no place for what is missing"):
            labkit.hardshrink(x, device=dev)


# -- lists -----------------------------------------------------------------------------


def test_plain_numbers_alone_become_float32(dev):
    for x in (1, True, 0.75, [1, 2.5], [[1], [2]], (1, 2), range(3), [], [[], []]):
        assert as_array("x", x).dtype == np.float32
        assert as_array("x", x).shape == np.shape(x)
    assert as_array("x", [1e39, -1e39]).tolist() == [np.inf, -np.inf]


def test_lists_of_typed_numbers_keep_their_common_dtype(tensor):
    half, wide = np.float16(0.3), np.float64(0.3)
    for items, dtype in (
        ([half, half], "float16"),
        ([half, 1, 2.5], "float16"),
        ([wide], "float64"),
        ([half, np.float32(1)], "float32"),
        ([np.int64(1), 0.5], "float64"),
        ([ml_dtypes.bfloat16(1), 1.0], "bfloat16"),
        ([ml_dtypes.bfloat16(1), half], "float32"),
        ([tensor(np.array(0.3, np.float16)), 1.0], "float16"),
        ([np.array([0.5, 0.3], np.float16)] * 2, "float16"),
    ):
        for nest in (items, [items, items]):
            made = as_array("x", nest)
            assert made.dtype.name == dtype
            want = np.array([np.asarray(as_array("x", item), made.dtype) for item in items])
            assert (made if nest is items else made[1]).tobytes() == want.tobytes()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([[1.0], [1.0, 2.0]], "ragged"),
        ([1.0, [2.0]], "ragged"),
        (["a"], "an item of self must be an array of numbers"),
        ("0.5", "must be an array of numbers"),
        ([None], "must be an array of numbers"),
        (1j, "must be an array of numbers"),
        ([10**400], "no float holds"),
        ({"a": 1.0}, "must be an array of numbers"),
        (np.longdouble(1), "has no counterpart in CANN"),
        (nested(2000), "nested 1001 deep"),
    ],
)
def test_what_is_no_array_of_numbers_is_named(dev, given, said):
    with pytest.raises(LabValueError, match=said):
        labkit.hardshrink(given, device=dev)


# -- more axes than NumPy holds --------------------------------------------------------


@pytest.mark.parametrize("rank", [9, 32, 33, 64, 65, 70])
def test_a_rank_over_eight_is_refused_with_canns_code_whatever_numpy_holds(dev, rank):
    deep = nested(rank)
    made = [deep]
    if rank <= arrays._MOST_AXES:
        made.append(np.ones((1,) * rank, np.float32))
    for x in made:
        for pair in ((x, x), (x, [1.0]), ([1.0], x)):
            with pytest.raises(AclnnError) as caught:
                labkit.hardshrink_backward(*pair, device=dev)
            assert caught.value.status == 161002
            assert caught.value.call == "aclnnHardshrinkBackwardGetWorkspaceSize"
            call = labkit.hardshrink_backward(*pair, device=dev, check=False)
            assert (call.status, call.ok, call.grad_input) == (161002, False, None)
            assert call.message and call.error.status == 161002 and call.launches == ()
        with pytest.raises(AclnnError) as caught:
            labkit.hardshrink(x, device=dev)
        assert caught.value.status == 161002


def test_the_other_faults_of_such_a_call_win_in_canns_order(dev):
    deep = nested(70)
    assert code(dev, deep, None) == code(dev, deep, deep, lambd=None) == 161001
    double = labkit.hardshrink_backward(deep, np.ones(2), device=dev, check=False)
    assert double.status == 161002 and "dtype" in double.message
    out = np.zeros(1, np.float32)
    assert code(dev, deep, [1.0], out=out) == 161002 and out.tolist() == [0]


def test_a_tensor_of_65_axes(dev):
    torch = pytest.importorskip("torch")
    x = torch.ones((1,) * 65, dtype=torch.bfloat16)
    assert code(dev, x, x) == 161002
    with pytest.raises(LabValueError, match="65 axes"):
        kernel_forward(x, 0.5)


# -- masks -----------------------------------------------------------------------------

MASKED = np.ma.array([0.2, 0.8], mask=[0, 1], dtype=np.float32)


@pytest.mark.parametrize("masked", [MASKED, np.ma.array(MASKED.data), [MASKED], Converts(MASKED)])
def test_a_masked_array_is_refused_with_the_reason(dev, masked):
    plain = np.array([1, 1], np.float32)
    for run in (
        lambda: labkit.hardshrink_backward(masked, plain, device=dev),
        lambda: labkit.hardshrink_backward(plain, masked, device=dev),
        lambda: labkit.hardshrink(masked, device=dev),
        lambda: kernel_forward(masked, 0.5),
        lambda: kernel_backward(masked, plain, 0.5),
    ):
        with pytest.raises(LabValueError, match=r"masked array.*what the mask hides.*filled"):
            run()


def test_a_masked_lambda_is_refused(dev):
    for lambd in (np.ma.masked, np.ma.array(0.5), np.ma.array(0.5, mask=True)):
        with pytest.raises(LabValueError, match="masked"):
            labkit.hardshrink([1.0], lambd=lambd, device=dev)
        with pytest.raises(LabValueError, match="masked"):
            labkit.Scalar(lambd)


def test_a_masked_array_is_refused_where_the_host_program_is_used_alone(dev):
    arguments = {"self": MASKED, "lambd": RawScalar(b"\0\0\0\x3f", 0)}
    with pytest.raises(LabValueError, match="masked"):
        call_operator(
            dev, "aclnnHardshrink", {**arguments, "out": Output(np.zeros(2, np.float32), True)}
        )


# -- out -------------------------------------------------------------------------------


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("step", [1, 2])
def test_a_masked_out_is_refused_before_anything_runs(dev, hard, step):
    store = np.full(4, 7, np.float32)
    out = np.ma.array(store, mask=[0, 1, 1, 0], copy=False, hard_mask=hard)[::step]
    x = np.ones(4 // step, np.float32)
    before = len(dev.record)
    for run in (
        lambda: labkit.hardshrink_backward(x, x, out=out, device=dev),
        lambda: labkit.hardshrink(x, out=out, device=dev),
        lambda: kernel_forward(x, 0.5, out=out),
        lambda: kernel_backward(x, x, 0.5, out=out, variant="tbe"),
    ):
        with pytest.raises(LabValueError, match="masked array"):
            run()
    assert store.tolist() == [7, 7, 7, 7] and len(dev.record) == before


class Keeps(np.ndarray):
    """A subclass that writes nothing where one assigns to it."""

    def __setitem__(self, place, value) -> None:
        pass


@pytest.mark.parametrize("view", ["dense", "columns", "transposed"])
def test_an_out_of_a_subclass_is_written_completely(dev, view):
    cut = {
        "dense": lambda a: a[:, :4],
        "columns": lambda a: a[:, ::2],
        "transposed": lambda a: a[:, :4].T,
    }[view]
    store = np.full((4, 8), 7, np.float32)
    expected = store.copy()
    x = (np.arange(16, dtype=np.float32) - 8).reshape(4, 4)
    chip = labkit.open_device("sim", soc="950")
    with chip:
        call = labkit.hardshrink(x, out=cut(store).view(Keeps), device=chip)
    cut(expected)[...] = kernel_forward(x, 0.5)
    assert_same_bits(store, expected)
    assert_same_bits(call.out, cut(expected))
    again = np.full((4, 8), 7, np.float32)
    kernel_forward(x, 0.5, out=cut(again).view(Keeps))
    assert_same_bits(again, expected)


def test_an_input_of_a_subclass_goes_in_as_it_lies(dev, tmp_path):
    x = np.array([[0.25, 1], [2, 0.5]], np.float16)
    kept = np.memmap(tmp_path / "x", np.float16, "w+", shape=(2, 2))
    kept[...] = x
    want = kernel_forward(x, 0.5)
    for given in (x.view(Keeps), kept, x.view(np.recarray)):
        got = labkit.hardshrink(given, device=dev).out
        assert type(got) is np.ndarray
        assert_same_bits(got, want)


def test_an_out_that_is_no_array_of_numpy_is_refused_with_what_is_over_the_same_memory(dev, tensor):
    for out in (tensor(np.zeros(1, np.float32)), memoryview(bytearray(4)), [0.0]):
        with pytest.raises(LabValueError, match=r"out must be a NumPy array.*x\.numpy\(\)"):
            labkit.hardshrink([1.0], out=out, device=dev)
