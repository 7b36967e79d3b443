"""Thousands of calls, good and bad: no handle and no byte is left, and none takes longer."""

from __future__ import annotations

import gc
import time
import tracemalloc

import numpy as np
import pytest

import labkit
from labkit.errors import AclnnError, LifetimeError, OverlapError
from labkit.sim import SoftwareNpu

X = np.array([0.2, 0.7, -3.0, 0.5], np.float32)
WRONG = X.astype(np.float64)


@pytest.fixture
def npu() -> SoftwareNpu:
    return SoftwareNpu("950")


def state(npu: SoftwareNpu) -> tuple[int, int, int]:
    return npu.live_handles, npu.heap.used, len(npu.heap)


def one(device) -> None:
    labkit.hardshrink_backward(X, X, device=device)


def failing(device) -> None:
    assert labkit.hardshrink_backward(WRONG, X, device=device, check=False).status == 161002


def quick(spent: list[float]) -> float:
    """The time that one call in twenty stays under: what a busy machine changes least."""
    return sorted(spent)[len(spent) // 20]


def test_ten_thousand_calls_and_a_thousand_failing_ones_leave_nothing_and_get_no_slower(npu):
    def timed(function, count: int) -> list[float]:
        spent = []
        for _ in range(count):
            start = time.perf_counter()
            function(device)
            spent.append(time.perf_counter() - start)
        return spent

    with labkit.open_device(npu=npu) as device:
        timed(one, 50)  # first calls fill caches
        before = state(npu)
        spent = timed(one, 10_000)
        assert state(npu) == before
        assert quick(spent[-1000:]) < 3 * quick(spent[:1000])
        timed(failing, 1000)
        assert state(npu) == before
        assert device.run(npu.messages.take) == []  # the error list is read each time
        late = timed(one, 100)
        assert state(npu) == before
        assert quick(late) < 3 * quick(spent[:1000])
    assert npu.leaks() == []


def test_a_call_keeps_no_memory_of_the_host_either(npu):
    values = np.ones(100_000, np.float32)
    with labkit.open_device(npu=npu) as device:
        for _ in range(30):
            labkit.hardshrink(values, device=device)
        gc.collect()
        tracemalloc.start()
        for _ in range(50):
            labkit.hardshrink(values, device=device)
        gc.collect()
        left, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert left < 2_000_000  # fifty results would be twenty million


def test_failing_calls_that_raise_leave_nothing_behind(npu):
    with labkit.open_device(npu=npu) as device:
        before = state(npu)
        for _ in range(20):
            for bad in (
                lambda: labkit.hardshrink_backward(WRONG, X, device=device),
                lambda: labkit.hardshrink_backward(X, None, device=device),
                lambda: labkit.hardshrink_backward(X, X[:3], device=device),
                lambda: labkit.hardshrink_backward(X[::-1], X, device=device),
            ):
                with pytest.raises(AclnnError):
                    bad()
                assert state(npu) == before


def test_a_call_refused_by_the_strict_device_leaves_nothing_behind(npu):
    base = np.ones(9, np.float32)
    with labkit.open_device(npu=npu) as device:
        before = state(npu)
        for _ in range(20):
            with pytest.raises(OverlapError):
                labkit.hardshrink_backward(base[:-1], base[:-1], out=base[1:], device=device)
            assert state(npu) == before


def test_every_executor_of_phase_1_is_released_even_when_the_workspace_cannot_be_had(npu):
    with labkit.open_device(npu=npu) as device:
        before = state(npu)
        npu.faults.fail_malloc(3)  # two blocks for data, then the workspace
        with pytest.raises(labkit.AclError, match="207001"):
            labkit.hardshrink(X, device=device)
        assert state(npu) == before


def test_a_phase_2_that_fails_half_way_leaves_nothing_behind(npu):
    half = X.astype(np.float16)
    with labkit.open_device(npu=npu) as device:
        before = state(npu)
        for after in (0, 1, 2):  # Cast, HardShrinkGrad, Cast: some are queued already
            npu.faults.fail_runtime_launch(after)
            with pytest.raises(AclnnError) as caught:
                labkit.hardshrink_backward(half, X, out_dtype="float16", device=device)
            assert caught.value.status == 361001
            assert state(npu) == before
        npu.faults.fail_launcher("HardShrinkGrad", 561002)
        with pytest.raises(AclnnError):
            labkit.hardshrink_backward(half, X, device=device)
        assert state(npu) == before


def test_the_program_frees_nothing_before_the_stream_is_synchronised(npu):
    with labkit.open_device(npu=npu) as device:
        call = labkit.hardshrink_backward(X, X, device=device)
    names = [entry.name for entry in call.record]
    wait = names.index("aclrtSynchronizeStream")
    assert names.index("aclnnHardshrinkBackward") < wait
    for name in ("aclrtFree", "aclDestroyTensor", "aclDestroyScalar"):
        assert name not in names[:wait]


def test_a_program_that_frees_the_workspace_too_early_is_caught(npu):
    # What the wrapper guards against, done by hand on the same device.
    from labkit.cann.interface import ffi

    new, null = ffi().new, ffi().NULL
    with labkit.open_device(npu=npu) as device:
        api = device.api

        def program() -> None:
            data, space = new("void **"), new("void **")
            api.check("aclrtMalloc", data, 16, 0)
            dims = new("int64_t[]", [4])
            tensor = api.call("aclCreateTensor", dims, 1, 0, null, 0, 2, dims, 1, data[0])
            narrow = api.call("aclCreateTensor", dims, 1, 1, null, 0, 2, dims, 1, data[0])
            scalar = api.call("aclCreateScalar", new("float *", 0.5), 0)
            size, executor = new("uint64_t *"), new("aclOpExecutor **")
            name = "aclnnHardshrinkBackward"
            arguments = (tensor, tensor, scalar, narrow, size, executor)
            api.check(f"{name}GetWorkspaceSize", *arguments)
            api.check("aclrtMalloc", space, size[0], 0)
            api.check(name, space[0], size[0], executor[0], device.stream)
            api.check("aclrtFree", space[0])

        with pytest.raises(LifetimeError, match=r"aclrtFree\(\w+\) while .* is queued"):
            device.run(program)
