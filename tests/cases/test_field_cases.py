"""Faults that people met in systems that do the same job, as small inputs for this one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import labkit
from labkit.cann.codes import explain, lookup
from labkit.cann.interface import MissingSymbol, ffi, prototypes
from labkit.errors import AclError, AclnnError, DeviceNotAvailable, LifetimeError, OverlapError
from labkit.host import choose
from labkit.sim import SoftwareNpu

NULL = ffi().NULL
BACKWARD = "aclnnHardshrinkBackward"


@pytest.fixture
def npu() -> SoftwareNpu:
    return SoftwareNpu("950")


@pytest.fixture
def dev(npu):
    with labkit.open_device(npu=npu) as device:
        yield device


def f32(*values) -> np.ndarray:
    return np.array(values, np.float32)


class ByHand:
    """The two phases step by step on the owner thread, where a program can go wrong."""

    def __init__(self, device) -> None:
        self.device, self.api, self.new = device, device.api, ffi().new
        self.grad, self.x = self.tensor(f32(1, 2, 3, 4)), self.tensor(f32(0.2, 0.5, 0.7, -1))
        self.out = self.tensor(f32(7, 7, 7, 7))
        self.lambd = self.call("aclCreateScalar", self.new("float *", 0.5), 0)

    def call(self, name: str, *args):
        return self.device.call(name, *args)

    def malloc(self, size: int):
        cell = self.new("void **")
        assert self.call("aclrtMalloc", cell, size, 0) == 0
        return cell[0]

    def tensor(self, array: np.ndarray):
        data = self.malloc(array.nbytes)
        source = ffi().from_buffer(array)
        assert self.call("aclrtMemcpy", data, array.nbytes, source, array.nbytes, 1) == 0
        dims = self.new("int64_t[]", array.shape)
        self.data = data
        return self.call("aclCreateTensor", dims, array.ndim, 0, NULL, 0, 2, dims, array.ndim, data)

    def phase1(self, *arguments):
        size, executor = self.new("uint64_t *"), self.new("aclOpExecutor **")
        given = arguments or (self.grad, self.x, self.lambd, self.out)
        status = self.call(f"{BACKWARD}GetWorkspaceSize", *given, size, executor)
        return status, size[0], executor[0]

    def phase2(self, executor, workspace=NULL, size: int = 0) -> int:
        return self.call(BACKWARD, workspace, size, executor, self.device.stream)

    def read(self) -> list[float]:
        target = np.zeros(4, np.float32)
        code = self.call("aclrtMemcpy", ffi().from_buffer(target), 16, self.data, 16, 2)
        assert code == 0
        return target.tolist()


@pytest.fixture
def hand():
    with labkit.open_device("sim", soc="910b") as device:
        yield ByHand(device)


def test_an_empty_input_succeeds_whatever_the_output_and_a_wrong_dtype_or_rank_still_fails(dev):
    """R05."""
    out = np.full((1, 1, 1, 4), 7, np.float32)
    empty = np.empty(0, np.float32)
    call = labkit.hardshrink_backward(empty, np.ones((1, 1, 1, 4), np.float32), out=out, device=dev)
    assert (call.status, call.workspace_size, call.launches) == (0, 0, ())
    assert out.tolist() == [[[[7, 7, 7, 7]]]]
    rows = labkit.hardshrink_backward(
        np.empty((0, 3), np.float32), np.ones((1, 3), np.float32), device=dev
    )
    assert (rows.status, rows.grad_input.shape) == (0, (0, 3))
    for grad, x in (
        (np.empty(0), empty),
        (empty, np.empty(0)),
        (np.empty((0,) + (1,) * 8, np.float32), empty),
    ):
        wrong = labkit.hardshrink_backward(grad, x, out=empty, device=dev, check=False)
        assert wrong.status == 161002


@pytest.mark.parametrize("soc", ["950", "910b", "910"])
def test_a_transposed_self_and_every_second_output_column_equal_the_dense_result(soc):
    """R14."""
    buffer = np.arange(8, dtype=np.float32).reshape(4, 2) / 8
    base = np.full((2, 8), 9, np.float32)
    grad = np.arange(1, 9, dtype=np.float32).reshape(2, 4)
    with labkit.open_device("sim", soc=soc) as device:
        labkit.hardshrink_backward(grad, buffer.T, out=base[:, ::2], device=device)
    dense = np.where(np.abs(buffer.T.copy()) <= 0.5, np.float32(0), grad)
    assert base[:, ::2].tobytes() == dense.tobytes()
    assert (base[:, 1::2] == 9).all()


def test_a_workspace_freed_before_the_kernels_ran_is_caught_and_the_lab_itself_never_does_it(npu):
    """R16."""
    with labkit.open_device(npu=npu) as device:
        hand = ByHand(device)
        one = hand.tensor(f32(0.7))  # broadcast, so both inputs go through the workspace
        hand.out = hand.tensor(f32(7, 7, 7, 7))
        status, size, executor = hand.phase1(hand.grad, one, hand.lambd, hand.out)
        assert status == 0
        workspace = hand.malloc(size)
        assert hand.phase2(executor, workspace, size) == 0
        with pytest.raises(LifetimeError, match="BroadcastTo is queued and will use this memory"):
            hand.call("aclrtFree", workspace)
        assert hand.call("aclrtSynchronizeStream", device.stream) == 0
        assert hand.call("aclrtFree", workspace) == 0
        assert hand.read() == [1, 2, 3, 4]
        names = [
            entry.name for entry in labkit.hardshrink_backward(f32(1), f32(1), device=device).record
        ]
        wait = names.index("aclrtSynchronizeStream")
        assert "aclrtFree" not in names[:wait]
        assert "aclDestroyTensor" not in names[:wait]


def test_the_result_has_the_broadcast_shape_of_both_inputs_and_no_other(dev):
    """R21."""
    four, rows = np.ones(4, np.float32), np.ones((2, 4), np.float32)
    for grad, x in ((rows, four), (four, rows)):
        out = np.zeros((2, 4), np.float32)
        labkit.hardshrink_backward(grad, x, out=out, device=dev)
        assert (out == 1).all()
        for shape in ((4,), (1, 2, 4), (2, 1), (8,)):
            wrong = np.zeros(shape, np.float32)
            call = labkit.hardshrink_backward(grad, x, out=wrong, device=dev, check=False)
            assert (call.status, wrong.any()) == (161002, False)


def test_the_gradient_of_a_broadcast_self_keeps_the_broadcast_shape_and_the_caller_sums(dev):
    """R22."""
    x = f32(0.2, 0.7, -1).reshape(1, 3)
    grad = np.arange(6, dtype=np.float32).reshape(2, 3)
    call = labkit.hardshrink_backward(grad, x, device=dev)
    assert call.grad_input.tolist() == [[0, 1, 2], [0, 4, 5]]
    assert call.grad_input.sum(axis=0, keepdims=True).tolist() == [[0, 5, 7]]


@pytest.mark.parametrize(
    ("grad", "x", "shape"), [((), (), ()), ((), (3,), (3,)), ((3,), (), (3,)), ((1,), (), (1,))]
)
def test_a_0_d_input_stays_0_d_and_meets_any_shape(dev, grad, x, shape):
    """R23."""
    call = labkit.hardshrink_backward(
        np.full(grad, 2, np.float32), np.full(x, 3, np.float32), device=dev
    )
    assert call.grad_input.shape == shape
    assert (call.grad_input == 2).all()


@pytest.mark.parametrize("count", [4, 1024, 1025, 4097])
def test_an_output_on_top_of_an_input_is_right_and_one_beside_it_is_refused(dev, count):
    """R30."""
    x = np.linspace(-1, 1, count + 1, dtype=np.float32)
    kept = x.copy()
    want = np.where(np.abs(kept[:-1]) <= 0.5, np.float32(0), kept[:-1])
    with pytest.raises(OverlapError):
        labkit.hardshrink_backward(kept[:-1], x[:-1], out=x[1:], device=dev)
    assert x.tobytes() == kept.tobytes()
    labkit.hardshrink_backward(kept[:-1].copy(), x[:-1], out=x[:-1], device=dev)
    assert x[:-1].tobytes() == want.tobytes()
    grad = kept[:-1].copy()
    labkit.hardshrink_backward(grad, kept[:-1], out=grad, device=dev)
    assert grad.tobytes() == want.tobytes()


def test_a_broadcast_input_that_lies_in_the_larger_output_is_right(dev):
    """R30."""
    base = np.tile(f32(1, 2, 3), (2, 1))
    call = labkit.hardshrink_backward(base[:1], f32(0.2, 0.9).reshape(2, 1), out=base, device=dev)
    assert call.launches == ("BroadcastTo", "BroadcastTo", "HardShrinkGrad")
    assert base.tolist() == [[0, 0, 0], [1, 2, 3]]


def test_an_executor_is_used_once_unless_made_repeatable_and_is_destroyed_once(hand):
    """R33."""
    executor = hand.phase1()[2]
    assert hand.phase2(executor) == 0
    with pytest.raises(LifetimeError, match="use after free"):
        hand.phase2(executor)
    executor = hand.phase1()[2]  # the op cache answers, and its executors cannot be repeated
    assert hand.call("aclSetAclOpExecutorRepeatable", executor) == 561000
    assert hand.call("aclDestroyAclOpExecutor", executor) == 0
    executor = hand.phase1(hand.x, hand.x, hand.lambd, hand.out)[2]  # another call
    assert hand.call("aclSetAclOpExecutorRepeatable", executor) == 0
    assert [hand.phase2(executor) for _ in range(3)] == [0, 0, 0]
    assert hand.call("aclDestroyAclOpExecutor", executor) == 0
    with pytest.raises(LifetimeError):
        hand.call("aclDestroyAclOpExecutor", executor)
    assert hand.phase2(NULL) == 161001
    assert hand.call("aclSetAclOpExecutorRepeatable", NULL) == 561103
    assert hand.call("aclDestroyAclOpExecutor", NULL) == 561103


def test_a_worker_thread_and_a_widget_callback_may_call_the_operator(npu):
    """R34."""
    widgets = pytest.importorskip("ipywidgets")
    results = []
    with labkit.open_device(npu=npu) as device:

        def on_change(change) -> None:
            call = labkit.hardshrink([0.2, 0.7], lambd=change["new"], device=device)
            results.append(call.out.tolist())

        slider = widgets.FloatSlider(value=0.5, min=0, max=1)
        slider.observe(on_change, names="value")
        slider.value = 0.1
        worker = threading.Thread(target=lambda: setattr(slider, "value", 0.9))
        worker.start()
        worker.join(60)
        with ThreadPoolExecutor(2) as pool:
            pooled = pool.submit(lambda: labkit.hardshrink([0.7], device=device).out.tolist())
            assert pooled.result(60) == [np.float32(0.7)]
        slider.close()
    assert results == [[np.float32(0.2), np.float32(0.7)], [0, 0]]


def test_a_bare_thread_that_sets_no_device_gets_context_null(npu):
    """R34."""
    codes = []
    with labkit.open_device(npu=npu):
        function = npu.symbol("aclrtCreateStream")
        cell = ffi().new("aclrtStream *")
        thread = threading.Thread(target=lambda: codes.append(function(cell)))
        thread.start()
        thread.join(60)
    assert codes == [107002]
    assert lookup(107002).name == "ACL_ERROR_RT_CONTEXT_NULL"


def test_a_float_lambd_is_packed_into_four_bytes(dev):
    """R35."""
    call = labkit.hardshrink_backward(f32(1), f32(0.2), lambd=0.5, device=dev)
    assert call.arguments["lambd"].raw == np.float32(0.5).tobytes()
    assert call.arguments["lambd"].data_type == 0
    assert call.grad_input.tolist() == [0]  # 1 would mean that half a double was read


def test_eight_bytes_under_a_float_tag_show_as_a_lambd_of_zero(hand):
    """R35."""
    double = hand.call("aclCreateScalar", hand.new("double *", 0.5), 0)
    status, size, executor = hand.phase1(hand.grad, hand.x, double, hand.out)
    assert (status, size) == (0, 0)
    hand.phase2(executor)
    hand.device.synchronize()
    assert hand.read() == [1, 2, 3, 4]


@pytest.mark.parametrize("which", range(4))
def test_each_null_argument_is_161001(hand, which):
    """R36."""
    arguments = [hand.grad, hand.x, hand.lambd, hand.out]
    arguments[which] = NULL
    assert hand.phase1(*arguments)[0] == 161001


def test_each_null_out_pointer_is_161001_and_null_precedes_a_wrong_dtype(hand):
    """R36."""
    given = (hand.grad, hand.x, hand.lambd, hand.out)
    size, executor = hand.new("uint64_t *"), hand.new("aclOpExecutor **")
    name = f"{BACKWARD}GetWorkspaceSize"
    assert hand.call(name, *given, NULL, executor) == 161001
    assert hand.call(name, *given, size, NULL) == 161001
    dims = hand.new("int64_t[]", [4])
    double = hand.call("aclCreateTensor", dims, 1, 11, NULL, 0, 2, dims, 1, hand.data)
    assert hand.phase1(hand.grad, double, NULL, hand.out)[0] == 161001
    assert hand.phase1(hand.grad, double, hand.lambd, hand.out)[0] == 161002


def test_what_is_missing_in_the_environment_is_told_apart_from_a_wrong_argument(dev):
    """R37."""
    wrong_argument, no_kernel, no_path, no_package = (
        explain(code) for code in (161002, 561003, 561107, 561112)
    )
    assert len({wrong_argument, no_kernel, no_path, no_package}) == 4
    assert "ASCEND_OPP_PATH" in no_path
    assert "ASCEND_OPP_PATH" not in wrong_argument
    for code in (561003, 561107, 561112):
        assert lookup(code).kind != lookup(161002).kind
        assert lookup(code).remedy
    dev.interface.faults.fail_call(f"{BACKWARD}GetWorkspaceSize", 561107)
    with pytest.raises(AclnnError, match="ASCEND_OPP_PATH") as caught:
        labkit.hardshrink_backward([1.0], [1.0], device=dev)
    assert caught.value.status == 561107


def test_a_result_says_what_it_ran_on_and_an_absent_library_is_never_replaced_silently(
    monkeypatch,
):
    """R37."""

    def nothing_here():
        raise DeviceNotAvailable("No usable CANN on this machine. It was looked for in vain.")

    monkeypatch.setattr(choose, "require_npu", nothing_here)
    with pytest.raises(DeviceNotAvailable, match="No usable CANN"):
        labkit.open_device("npu")
    with labkit.open_device("auto") as device:
        assert "no usable CANN" in device.why
        call = labkit.hardshrink([1.0], device=device)
        assert call.device == "software NPU as Ascend950PR_9599"
        assert "software NPU" in repr(call)


@pytest.mark.parametrize(
    ("asked", "there"), [("Ascend910B1", "Ascend950PR_9599"), ("Ascend950PR_9599", "Ascend910B1")]
)
def test_a_chip_of_another_generation_is_refused_before_any_launch(monkeypatch, asked, there):
    """R44."""
    library = SoftwareNpu(there)
    library.simulated = False
    monkeypatch.setattr(choose, "require_npu", lambda: library)
    with pytest.raises(DeviceNotAvailable, match=asked) as caught:
        labkit.open_device("npu", soc=asked)
    assert there in str(caught.value)
    assert (len(library.log), library.live_handles, library.runtime.inits) == (0, 0, 0)


def test_the_count_of_live_handles_is_back_after_good_and_after_failing_calls(npu, dev):
    """R46."""
    before = npu.live_handles
    for _ in range(200):
        labkit.hardshrink_backward([1.0], [1.0], device=dev)
    assert npu.live_handles == before
    for _ in range(100):
        with pytest.raises(AclnnError):
            labkit.hardshrink_backward([1.0, 2.0], [1.0, 2.0, 3.0], device=dev)
    assert (npu.live_handles, npu.heap.used) == (before, 0)


def test_a_list_owns_its_members_and_a_second_destroy_is_caught(dev):
    """R46."""
    dims = ffi().new("int64_t[]", [1])
    member = dev.call("aclCreateTensor", dims, 1, 0, NULL, 0, 2, dims, 1, NULL)
    made = dev.call("aclCreateTensorList", ffi().new("aclTensor *[]", [member]), 1)
    assert dev.call("aclDestroyTensorList", made) == 0
    with pytest.raises(LifetimeError):
        dev.call("aclDestroyTensor", member)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_importing_and_asking_initialises_nothing_and_a_forked_child_is_told_to_spawn(root):
    """R48."""
    script = f"""
import os, sys
sys.path.insert(0, {str(root)!r})
import labkit, labkit.op
labkit.op.socs()
from labkit.host import device, session
print(len(device._OPEN), len(session._SESSIONS))
dev = labkit.open_device("sim")
sys.stdout.flush()
if os.fork() == 0:
    try:
        labkit.hardshrink([1.0], device=dev)
    except labkit.DeviceUseError as error:
        print("spawn" in str(error), flush=True)
    os._exit(0)
os.wait()
print(labkit.hardshrink([1.0], device=dev).out.tolist())
"""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=100
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines() == ["0 0", "True", "[1.0]"]


def test_a_result_read_before_synchronise_is_refused_or_old_and_never_right_by_luck(npu):
    """R49."""
    for strict in (True, False):
        with labkit.open_device("sim", strict=strict) as device:
            hand = ByHand(device)
            _, size, executor = hand.phase1()
            assert hand.phase2(executor, hand.malloc(size), size) == 0
            if strict:
                with pytest.raises(LifetimeError, match="aclrtSynchronizeStream"):
                    hand.read()
            else:
                assert hand.read() == [7, 7, 7, 7]
            device.synchronize()
            assert hand.read() == [0, 0, 3, 4]


def test_a_fault_on_the_device_shows_at_synchronise_under_this_operators_name(npu, dev):
    """R49."""
    hand = ByHand(dev)
    _, size, executor = hand.phase1()
    npu.faults.fail_kernel("HardShrinkGrad", 507015)
    assert hand.phase2(executor, hand.malloc(size), size) == 0
    with pytest.raises(AclError, match=BACKWARD) as caught:
        dev.synchronize()
    assert caught.value.status == 507015
    assert labkit.hardshrink([1.0], device=dev).out.tolist() == [1]


@pytest.mark.parametrize("suffix", ["", "GetWorkspaceSize"])
def test_the_functions_are_spelled_with_a_small_s_and_in_no_other_way(npu, suffix):
    """R50."""
    assert npu.has(BACKWARD + suffix)
    assert BACKWARD + suffix in prototypes()
    for wrong in ("aclnnHardShrinkBackward", "aclnnHardShrinkGrad", "aclnnHardshrinkGrad"):
        assert not npu.has(wrong + suffix)
        with pytest.raises(MissingSymbol):
            npu.symbol(wrong + suffix)
    with pytest.raises(MissingSymbol, match=f"spelling is {BACKWARD}{suffix}: upper and lower"):
        npu.symbol("aclnnHardShrinkBackward" + suffix)
