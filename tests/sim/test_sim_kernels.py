"""Every kernel, run for real: a call's result is what its launches made of the bytes."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
import pytest
from sim_rig import (
    A2,
    A3,
    A310B,
    A310P,
    A910,
    A950,
    BACKWARD,
    FORWARD,
    Call,
    Rig,
    same_bits,
)

from labkit.errors import OverlapError
from labkit.op.describe import contiguous_strides

BF16 = np.dtype(ml_dtypes.bfloat16)
GAP = 9.0
OLD = [A2, A3, A310P, A910, A310B]
ALL = [A950, *OLD]


@dataclass
class View:
    """A view over a host array that stands for the storage of a tensor."""

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    offset: int = 0
    storage: int | None = None
    dtype: np.dtype = field(default_factory=lambda: np.dtype(np.float32))
    fill: float | None = None

    def __post_init__(self) -> None:
        self.dtype = np.dtype(self.dtype)
        if self.storage is None:
            self.storage = int(np.prod(self.shape))
        if self.fill is None:
            seed = zlib.crc32(repr((self.shape, self.strides, self.offset)).encode())
            self.base = np.random.default_rng(seed).normal(size=self.storage).astype(self.dtype)
        else:
            self.base = np.full(self.storage, self.fill, self.dtype)

    @property
    def array(self) -> np.ndarray:
        strides = contiguous_strides(self.shape) if self.strides is None else self.strides
        item = self.dtype.itemsize
        return np.lib.stride_tricks.as_strided(
            self.base[self.offset :], self.shape, [stride * item for stride in strides]
        )

    def place(self, rig: Rig):
        self.address = rig.upload(self.base)
        return rig.tensor(
            self.dtype.name,
            self.shape,
            self.address,
            strides=self.strides,
            offset=self.offset,
            storage=(self.storage,),
        )


def out_of(shape, dtype="float32", **layout) -> View:
    return View(shape, dtype=dtype, fill=GAP, **layout)


def again(out: View) -> View:
    """The same output layout with fresh memory."""
    return out_of(out.shape, strides=out.strides, offset=out.offset, storage=out.storage)


def want(grad: np.ndarray, x: np.ndarray, lambd: float) -> np.ndarray:
    """Grad where |x| > λ, else +0; on dense arrays of one dtype, by NumPy's own rules."""
    grad, x = np.broadcast_arrays(grad, x)
    wide = np.float32 if x.dtype == BF16 else x.dtype
    dead = np.abs(x.astype(wide)) <= np.asarray(np.float32(lambd)).astype(wide)
    return np.where(dead, np.zeros((), grad.dtype), grad)


@dataclass
class Run:
    rig: Rig
    launches: list[tuple[str, str]]
    plan: object
    workspace: int

    @property
    def kernels(self) -> list[str]:
        return [op for op, _ in self.launches]


def run(soc: str, grad: View | None, x: View, out: View, lambd: float = 0.5, **options) -> Run:
    """Run a call and check the whole storage of the output, gaps included."""
    rig = Rig(soc, **options)
    op = FORWARD if grad is None else BACKWARD
    tensors = [view.place(rig) for view in (grad, x, out) if view is not None]
    status, size, executor = rig.phase1(*tensors[:-1], rig.scalar(lambd), tensors[-1], op=op)
    assert status == 0, rig.messages()
    plan = rig.npu.executors.live[rig.npu.address(executor)].plan
    workspace = rig.malloc(size) if size else 0
    assert rig.phase2(executor, workspace, size, op=op) == 0
    assert rig.synchronize() == 0
    done = [(task.op_type, task.core) for task in rig.npu.executed]
    assert done == [(launch.op_type, launch.core) for launch in plan.launches]
    return Run(rig, done, plan, workspace)


def check(soc: str, grad: View, x: View, out: View, lambd: float = 0.5, **options) -> Run:
    """Run and compare with the dense reference, bit for bit, and the gaps too."""
    made = run(soc, grad, x, out, lambd, **options)
    dense = want(grad.array, x.array, lambd)
    out.array[...] = dense.astype(out.dtype)
    have = made.rig.download(out.address, (out.storage,), out.dtype)
    assert same_bits(have, out.base)
    for view in (grad, x):  # the inputs are read only
        assert made.rig.read(view.address, view.base.nbytes) == view.base.tobytes()
    return made


# -- layouts of an input -------------------------------------------------------

LAYOUTS = {
    "contiguous": (View((4, 6)), []),
    "contiguous behind an offset": (View((4, 6), offset=8, storage=40), []),
    "rows of a wider matrix": (View((4, 6), (9, 1), 2, 45), ["Slice"]),
    "a block of a cube": (View((2, 3, 4), (40, 8, 1), 11, 120), ["Slice"]),
    "every second element": (View((12,), (2,), 1, 24), ["Slice"]),
    "every second column": (View((4, 3), (8, 2), 1, 32), ["StridedSlice"]),
    "columns by a step that cuts no row evenly": (View((4, 3), (9, 2), 1, 45), ["StridedSlice"]),
    "transposed": (View((4, 6), (1, 4)), ["Transpose"]),
    "three axes turned": (View((2, 3, 4), (1, 8, 2)), ["Transpose"]),
    "a transposed block": (View((4, 6), (1, 7), 2, 56), ["Slice", "Transpose"]),
    "a row seen many times": (View((4, 6), (0, 1), 0, 6), ["BroadcastTo"]),
    "a column seen many times": (View((4, 6), (1, 0), 0, 4), ["BroadcastTo"]),
    "one element seen many times": (View((4, 6), (0, 0), 3, 7), ["BroadcastTo"]),
    "overlapping windows": (View((4, 6), (1, 1), 0, 60), ["AsStrided"]),
    "rows that overlap": (View((4, 6), (5, 1), 0, 60), ["AsStrided"]),
    "size-1 axes with odd strides": (View((1, 6, 1), (77, 1, 5), 0, 6), []),
}


@pytest.mark.parametrize("soc", [A950, A2, A310P])
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_view_as_grad_output_equals_its_dense_copy(name, soc):
    layout, kernels = LAYOUTS[name]
    made = check(soc, layout, View(layout.shape), out_of(layout.shape))
    assert made.kernels == [*kernels, "HardShrinkGrad"]


@pytest.mark.parametrize("soc", [A950, A3])
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_view_as_self_equals_its_dense_copy(name, soc):
    layout, kernels = LAYOUTS[name]
    made = check(soc, View(layout.shape), layout, out_of(layout.shape))
    assert made.kernels == [*kernels, "HardShrinkGrad"]


@pytest.mark.parametrize("soc", OLD)
@pytest.mark.parametrize(
    "layout",
    [
        View((24,), (-1,), 23, 24),
        View((4, 6), (-6, 1), 18, 24),
        View((4, 6), (-12, -2), 47, 48),
        View((3, 2), (1, -3), 3, 6),
    ],
)
def test_reversed_axes_are_read_backwards_where_the_chip_takes_them(layout, soc):
    made = check(soc, layout, View(layout.shape), out_of(layout.shape))
    assert made.kernels == ["AsStrided", "HardShrinkGrad"]


def test_on_950_a_reversed_input_is_refused_in_phase_1():
    rig = Rig(A950)
    call = Call(rig)
    grad = View((4,), (-1,), 3, 4).place(rig)
    status, size, executor = rig.phase1(grad, call.x, call.lambd, call.out)
    assert (status, size, executor) == (561103, -1, rig.npu.null)
    assert rig.messages() == [("EZ9999", ("AsStridedAiCore",))]


@pytest.mark.parametrize("soc", [A2, A3])
def test_a_large_cut_of_the_last_axis_takes_slice_v2_and_is_right(soc):
    grad = View((8200, 136), (192, 1), 8, 8200 * 192)
    made = check(soc, grad, View((8200, 136)), out_of((8200, 136)))
    assert made.kernels == ["SliceV2", "HardShrinkGrad"]


@pytest.mark.parametrize("dtype", [np.float16, BF16])
@pytest.mark.parametrize("name", ["rows of a wider matrix", "a transposed block", "transposed"])
def test_layout_kernels_move_16_bit_elements_too(name, dtype):
    layout, _ = LAYOUTS[name]
    grad = View(layout.shape, layout.strides, layout.offset, layout.storage, dtype)
    x = View(layout.shape, dtype=dtype)
    check(A950, grad, x, out_of(layout.shape, dtype))


def test_both_inputs_may_be_views_at_once():
    made = check(
        A950,
        View((4, 6), (9, 1), 2, 45),
        View((4, 6), (1, 4)),
        out_of((4, 6), strides=(8, 1), storage=32),
    )
    assert made.kernels == ["Transpose", "Slice", "HardShrinkGrad", "ViewCopy"]


# -- broadcasting --------------------------------------------------------------


@pytest.mark.parametrize("soc", [A950, A2, A910])
@pytest.mark.parametrize(
    ("grad", "x"),
    [
        ((4, 1), (1, 6)),
        ((4, 6), (6,)),
        ((6,), (4, 6)),
        ((), (4, 6)),
        ((4, 6), ()),
        ((1,), ()),
        ((), (1,)),
        ((2, 1, 3), (4, 1)),
        ((1, 1, 1, 1, 1, 1, 1, 2), (3, 1)),
    ],
)
def test_shapes_that_differ_broadcast_both_inputs(grad, x, soc):
    shape = np.broadcast_shapes(grad, x)
    made = check(soc, View(grad), View(x), out_of(shape))
    assert made.kernels == ["BroadcastTo", "BroadcastTo", "HardShrinkGrad"]


def test_0_d_with_0_d_is_one_kernel_on_one_element():
    made = check(A950, View(()), View(()), out_of(()))
    assert made.kernels == ["HardShrinkGrad"]


# -- ways into the output ------------------------------------------------------

OUTPUTS = {
    "rows with gaps": (out_of((4, 6), strides=(9, 1), offset=1, storage=40), "ViewCopy"),
    "every third element": (out_of((4, 6), strides=(19, 3), offset=1, storage=100), "ViewCopy"),
    "every second column": (out_of((4, 6), strides=(12, 2), offset=1, storage=48), "ViewCopy"),
    "transposed": (out_of((4, 6), strides=(1, 4)), "Transpose"),
    "transposed behind an offset": (
        out_of((4, 6), strides=(1, 4), offset=8, storage=40),
        "Transpose",
    ),
    "turned and with gaps": (out_of((4, 6), strides=(1, 5), storage=30), "ViewCopy"),
}


@pytest.mark.parametrize("soc", ALL)
@pytest.mark.parametrize("name", OUTPUTS)
def test_a_strided_output_gets_the_dense_result_and_its_gaps_stay(name, soc):
    layout, kernel = OUTPUTS[name]
    fresh = out_of(
        layout.shape, **{k: getattr(layout, k) for k in ("strides", "offset", "storage")}
    )
    made = check(soc, View((4, 6)), View((4, 6)), fresh)
    assert made.kernels == ["HardShrinkGrad", kernel]


def test_view_copy_runs_on_the_ai_core_or_the_ai_cpu_as_the_chip_wants():
    def cores(soc: str, name: str) -> list[str]:
        layout, _ = OUTPUTS[name]
        made = check(soc, View((4, 6)), View((4, 6)), again(layout))
        return [core for _, core in made.launches]

    assert cores(A950, "every third element") == ["AICORE", "AICORE"]
    assert cores(A2, "rows with gaps") == ["AICORE", "AICORE"]
    assert cores(A2, "every third element") == ["AICORE", "AICPU"]
    assert cores(A310P, "every third element") == ["AICORE", "AICPU"]


@pytest.mark.parametrize("soc", OLD)
def test_a_reversed_output_is_written_backwards_where_the_chip_takes_it(soc):
    out = out_of((4, 6), strides=(-6, 1), offset=18, storage=24)
    assert check(soc, View((4, 6)), View((4, 6)), out).kernels == ["HardShrinkGrad", "ViewCopy"]


@pytest.mark.parametrize("soc", [A310P, A910])
def test_a_contiguous_output_in_a_longer_storage_is_a_device_copy_on_first_generation_chips(soc):
    made = check(soc, View((4, 6)), View((4, 6)), out_of((4, 6), offset=8, storage=60))
    assert made.launches == [("HardShrinkGrad", "AICORE"), ("CopyNpuToNpu", "RTS")]


@pytest.mark.parametrize("soc", [A950, A2, A310B])
def test_elsewhere_the_kernel_writes_it_directly(soc):
    made = check(soc, View((4, 6)), View((4, 6)), out_of((4, 6), offset=8, storage=60))
    assert made.launches == [("HardShrinkGrad", "AICORE")]


# -- casts ---------------------------------------------------------------------

F32, F16 = np.dtype(np.float32), np.dtype(np.float16)
PAIRS = [(a, b) for a in (F32, F16, BF16) for b in (F32, F16, BF16) if a is not b]


def interesting(dtype: np.dtype) -> np.ndarray:
    """Every 16-bit pattern, or for float32 the awkward ones and a spread; no NaN."""
    if dtype.itemsize == 2:
        every = np.arange(65536, dtype=np.uint16).view(dtype)
        return every[~np.isnan(every.astype(np.float32))]
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 2**32, 20_000, dtype=np.uint32)
    halves = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    brains = np.arange(65536, dtype=np.uint32) << np.uint32(16)
    ties = np.concatenate([brains + np.uint32(0x8000), halves[::3] + np.uint32(0x1000)])
    close = np.concatenate([ties, ties - np.uint32(1), ties + np.uint32(1), bits])
    values = np.concatenate([close, halves, brains]).astype(np.uint32).view(np.float32)
    return values[~np.isnan(values)]


def converted(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The conversion as NumPy and ml_dtypes do it: one rounding from the exact value."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(dtype)


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda d: d.name)
def test_a_result_is_cast_to_the_dtype_of_the_output_to_nearest_even(source, target):
    values = interesting(source)
    grad = View(values.shape, dtype=source)
    grad.base = values
    x = View(values.shape, dtype=source, fill=1.0)
    out = out_of(values.shape, target)
    made = run(A950, grad, x, out)
    assert made.kernels == ["HardShrinkGrad", "Cast"]
    have = made.rig.download(out.address, values.shape, target)
    assert same_bits(have, converted(values, target))


@pytest.mark.parametrize("soc", [A950, A2])
@pytest.mark.parametrize(("grad_type", "self_type"), PAIRS, ids=lambda d: d.name)
def test_mixed_inputs_meet_in_float32_before_the_kernel(grad_type, self_type, soc):
    grad, x = View((64,), dtype=grad_type), View((64,), dtype=self_type)
    x.base = np.linspace(-1, 1, 64).astype(self_type)
    out = out_of((64,), "float32")
    made = run(soc, grad, x, out, lambd=0.3)
    casts = sum(dtype is not F32 for dtype in (grad_type, self_type))
    assert made.kernels == ["Cast"] * casts + ["HardShrinkGrad"]
    reference = want(grad.array.astype(F32), x.array.astype(F32), 0.3)
    assert same_bits(made.rig.download(out.address, (64,), F32), reference)


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda d: d.name)
def test_a_cast_nan_stays_a_nan_with_its_sign_and_infinity_stays_infinity(source, target):
    patterns = {
        4: [0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FC00000, 0x7F800000, 0xFF800000],
        2: {
            "float16": [0x7C01, 0xFC01, 0x7FFF, 0xFFFF, 0x7E00, 0x7C00, 0xFC00],
            "bfloat16": [0x7F81, 0xFF81, 0x7FFF, 0xFFFF, 0x7FC0, 0x7F80, 0xFF80],
        }.get(source.name),
    }[source.itemsize]
    values = np.array(patterns, f"u{source.itemsize}").view(source)
    grad = View((7,), dtype=source)
    grad.base = values
    out = out_of((7,), target)
    made = run(A950, grad, View((7,), dtype=source, fill=1.0), out)
    have = made.rig.download(out.address, (7,), target).astype(np.float32)
    assert np.isnan(have).tolist() == [True] * 5 + [False] * 2
    assert np.signbit(have).tolist() == [False, True, False, True, False, False, True]
    assert np.isinf(have[5:]).all()


def test_casts_of_bfloat16_run_on_the_ai_cpu_of_chips_that_have_it_forward_only():
    x = View((8,), dtype=F16)
    out = out_of((8,), BF16)
    made = run(A310B, None, x, out)
    assert made.launches == [("HardShrink", "AICORE"), ("Cast", "AICPU")]
    reference = want(x.array, x.array, 0.5).astype(np.float32).astype(BF16)
    assert same_bits(made.rig.download(out.address, (8,), BF16), reference)


# -- the operator itself -------------------------------------------------------


@pytest.mark.parametrize("soc", ALL)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_plain_call_is_one_kernel_on_every_chip(soc, dtype):
    grad, x = View((1000,), dtype=dtype), View((1000,), offset=8, storage=1008, dtype=dtype)
    assert check(soc, grad, x, out_of((1000,), dtype)).kernels == ["HardShrinkGrad"]


@pytest.mark.parametrize("soc", [A950, A2, A310P])
@pytest.mark.parametrize("name", ["rows of a wider matrix", "transposed", "a row seen many times"])
def test_the_forward_operator_takes_views_too(name, soc):
    layout, kernels = LAYOUTS[name]
    out = out_of(layout.shape, strides=(12, 2), storage=48)
    made = run(soc, None, layout, out)
    assert made.kernels == [*kernels, "HardShrink", "ViewCopy"]
    out.array[...] = want(layout.array, layout.array, 0.5)
    assert same_bits(made.rig.download(out.address, (48,), F32), out.base)


def test_a_kernel_copies_every_payload_and_sign_bit_for_bit():
    bits = np.array([0x7F800001, 0xFFC12345, 0x80000000, 0x00000001, 0x80000001], np.uint32)
    grad = View((5,))
    grad.base = bits.view(np.float32)
    x = View((5,), fill=2.0)
    out = out_of((5,), strides=(3,), storage=15)
    made = run(A950, grad, x, out)
    have = made.rig.download(out.address, (15,), np.uint32)[::3]
    assert have.tolist() == bits.tolist()


# -- the workspace -------------------------------------------------------------


def workspace_bytes(made: Run) -> np.ndarray:
    size = made.plan.workspace_size
    return np.frombuffer(made.rig.read(made.workspace, size), np.uint8)


def piece(made: Run, name: str, like: np.ndarray) -> np.ndarray:
    offset = made.plan.workspace_offsets[name]
    return made.rig.download(made.workspace + offset, like.shape, like.dtype)


def buffers(made: Run) -> list[str | None]:
    return [launch.outputs[0].buffer for launch in made.plan.launches]


def test_a_copied_input_lies_in_the_workspace_where_the_plan_put_it():
    grad = View((4, 6), (9, 1), 2, 45)
    made = check(A2, grad, View((4, 6)), out_of((4, 6)))
    assert same_bits(piece(made, buffers(made)[0], grad.array), np.array(grad.array))


def test_broadcast_inputs_lie_in_the_workspace_side_by_side():
    grad, x = View((4, 1)), View((1, 6))
    made = check(A950, grad, x, out_of((4, 6)))
    names = buffers(made)[:2]
    offsets = [made.plan.workspace_offsets[name] for name in names]
    assert abs(offsets[0] - offsets[1]) >= 4 * 24
    for name, view in zip(names, (grad, x)):
        dense = np.ascontiguousarray(np.broadcast_to(view.array, (4, 6)))
        assert same_bits(piece(made, name, dense), dense)


def test_a_result_waits_in_the_workspace_for_the_copy_into_the_output():
    grad, x = View((4, 6)), View((4, 6))
    made = check(A2, grad, x, out_of((4, 6), strides=(9, 1), storage=40))
    dense = want(grad.array, x.array, 0.5)
    assert same_bits(piece(made, buffers(made)[0], dense), dense)


@pytest.mark.parametrize("soc", [A950, A2])
def test_nothing_is_written_outside_the_planned_pieces(soc):
    grad = View((4, 6), (1, 7), 2, 56, np.float16)
    made = run(soc, grad, View((4, 6)), out_of((4, 6), "float16", strides=(9, 1), storage=40))
    assert made.kernels == ["Slice", "Transpose", "Cast", "HardShrinkGrad", "Cast", "ViewCopy"]
    planned = np.zeros(made.plan.workspace_size, bool)
    for launch in made.plan.launches:
        target = launch.outputs[0]
        if target.buffer in made.plan.workspace_offsets:
            start = made.plan.workspace_offsets[target.buffer]
            planned[start : start + target.nbytes] = True
    have = workspace_bytes(made)
    assert (have[~planned] == 0xCD).all()
    assert (have[planned] != 0xCD).any()


def test_every_address_of_a_task_is_the_workspace_plus_the_planned_offset():
    grad = View((4, 6), (1, 7), 2, 56, np.float16)
    made = run(A950, grad, View((4, 6)), out_of((4, 6), "float16", strides=(9, 1), storage=40))
    for number, (launch, task) in enumerate(zip(made.plan.launches, made.rig.npu.executed)):
        offsets = made.plan.workspace_offsets
        operands = [op for op in launch.inputs if op.const is None] + list(launch.outputs)
        want_addresses = [
            made.workspace + offsets[op.buffer] if op.buffer in offsets else None for op in operands
        ]
        want_addresses.append(made.workspace + offsets[f"kernel{number}"])
        assert len(task.addresses) == len(want_addresses)
        for have, planned in zip(task.addresses, want_addresses):
            assert planned is None or have == planned


def test_a_plan_reads_nothing_that_a_later_tensor_of_the_same_bucket_has_overwritten():
    # Three casts and two broadcasts: buckets are used again, the result must not suffer.
    grad, x = View((5, 1), dtype=np.float16), View((1, 7), dtype=BF16)
    out = out_of((5, 7), "float16", strides=(1, 5))
    made = run(A950, grad, x, out)
    assert made.kernels == [
        *("BroadcastTo", "BroadcastTo", "Cast", "Cast", "HardShrinkGrad", "Cast", "Transpose")
    ]
    assert len(made.plan.buckets) < len(made.plan.workspace_offsets)
    dense = want(grad.array.astype(F32), x.array.astype(F32), 0.5).astype(np.float16)
    out.array[...] = dense
    assert same_bits(made.rig.download(out.address, (35,), F16), out.base)


# -- memory that input and output have in common -------------------------------


def aliased(rig: Rig, grad: View, x: View, out: View, base: np.ndarray) -> tuple[int, int]:
    """Run with the given views placed over one storage; status of phase 2, its address."""
    address = rig.upload(base)
    tensors = []
    for view in (grad, x, out):
        tensors.append(
            rig.tensor(
                "float32",
                view.shape,
                address,
                strides=view.strides,
                offset=view.offset,
                storage=(base.size,),
            )
        )
    status, size, executor = rig.phase1(tensors[0], tensors[1], rig.scalar(0.5), tensors[2])
    assert status == 0
    return rig.phase2(executor, rig.malloc(size) if size else 0, size), address


def over(base: np.ndarray, view: View) -> np.ndarray:
    strides = contiguous_strides(view.shape) if view.strides is None else view.strides
    return np.lib.stride_tricks.as_strided(
        base[view.offset :], view.shape, [stride * 4 for stride in strides]
    )


FINE = {
    "the output is grad": (View((8,)), View((8,), offset=8), View((8,))),
    "the output is self": (View((8,), offset=8), View((8,)), View((8,))),
    "grad and self are one": (View((8,)), View((8,)), View((8,), offset=16)),
    "all three are one": (View((8,)), View((8,)), View((8,))),
    "the output is a strided grad": (
        View((8,), (2,)),
        View((8,), offset=16),
        View((8,), (2,)),
    ),
    "odd and even elements": (View((8,), (2,)), View((8,), offset=16), View((8,), (2,), 1)),
    "a strided input is copied before the output is written": (
        View((8,), (2,)),
        View((8,), offset=16),
        View((8,)),
    ),
    "a broadcast input lies in the larger output": (
        View((1, 8)),
        View((2, 1), offset=24),
        View((2, 8)),
    ),
    "transposed in place": (View((4, 4), (1, 4)), View((4, 4), offset=16), View((4, 4))),
}


@pytest.mark.parametrize("soc", [A950, A2])
@pytest.mark.parametrize("name", FINE)
def test_memory_in_common_that_no_kernel_minds_gives_the_right_result(name, soc):
    grad, x, out = FINE[name]
    base = np.random.default_rng(3).normal(size=32).astype(np.float32)
    rig = Rig(soc)
    status, address = aliased(rig, grad, x, out, base)
    assert status == 0
    assert rig.synchronize() == 0
    expected = base.copy()
    over(expected, out)[...] = want(over(base, grad).copy(), over(base, x).copy(), 0.5)
    assert same_bits(rig.download(address, (32,), F32), expected)


REFUSED = {
    "the output lies one element behind grad": (
        View((8,)),
        View((8,), offset=16),
        View((8,), None, 1),
    ),
    "the output lies one element before self": (
        View((8,), offset=16),
        View((8,), None, 1),
        View((8,)),
    ),
    "the output covers the end of grad": (View((8,)), View((8,), offset=16), View((8,), None, 7)),
    "all output elements are one": (View((8,)), View((8,), offset=8), View((8,), (0,), 20)),
    "output rows overlap": (View((2, 4)), View((2, 4), offset=8), View((2, 4), (3, 1), 16)),
}


@pytest.mark.parametrize("soc", [A2, A310B])
@pytest.mark.parametrize("name", REFUSED)
def test_a_shifted_overlap_is_refused_in_strict_mode_and_nothing_is_launched(name, soc):
    grad, x, out = REFUSED[name]
    base = np.arange(32, dtype=np.float32)
    rig = Rig(soc)
    with pytest.raises(OverlapError):
        aliased(rig, grad, x, out, base)
    assert rig.synchronize() == 0
    assert list(rig.npu.executed) == []
    again = Call(rig)
    assert again.phase2(again.executor()) == 0
    rig.synchronize()
    assert again.result().tolist() == [0, 0, 3, 4]


@pytest.mark.parametrize("name", REFUSED)
def test_a_lenient_device_runs_a_shifted_overlap_without_harm_to_anything_else(name):
    grad, x, out = REFUSED[name]
    base = np.arange(32, dtype=np.float32)
    rig = Rig(A2, strict=False)
    status, address = aliased(rig, grad, x, out, base)
    assert status == 0
    assert rig.synchronize() == 0
    untouched = np.ones(32, bool)
    reached = over(np.arange(32, dtype=np.float32), out).astype(int).ravel()
    untouched[reached] = False
    have = rig.download(address, (32,), F32)
    assert (have[untouched] == base[untouched]).all()


def test_touching_end_to_end_is_no_overlap():
    base = np.arange(24, dtype=np.float32)
    rig = Rig(A2)
    status, address = aliased(rig, View((8,)), View((8,), offset=16), View((8,), None, 8), base)
    assert (status, rig.synchronize()) == (0, 0)
    have = rig.download(address, (24,), F32)
    assert have.tolist() == [*range(8), *range(8), *range(16, 24)]
