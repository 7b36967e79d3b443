"""Every C call of an operator call fails in turn: the right error, nothing left, all well after."""

from __future__ import annotations

import numpy as np
import pytest

import labkit
from labkit.errors import AclError, AclnnError, LabError
from labkit.sim import SoftwareNpu

HALF = np.array([1, 2, 3, 4], np.float16)
SELF = np.array([0.25, 0.5, 0.75, -1], np.float32)
RESULT = [0, 0, 3, 4]

PHASE1 = "aclnnHardshrinkBackwardGetWorkspaceSize"
PHASE2 = "aclnnHardshrinkBackward"

# Which calls a run makes (mixed dtypes and a strided out, so that there is a workspace), how
# often, and the code that each is made to return.
FAILING = [
    *(("aclrtMalloc", nth, 207001) for nth in (1, 2, 3, 4)),
    *(("aclrtMemcpy", nth, 507013) for nth in (1, 2, 3, 4)),
    (PHASE1, 1, 561103),
    (PHASE2, 1, 361001),
    ("aclrtSynchronizeStream", 1, 507035),
]
GIVING_BACK = [
    *(("aclDestroyTensor", nth, 561000) for nth in (1, 2, 3)),
    ("aclDestroyScalar", 1, 561000),
    *(("aclrtFree", nth, 207002) for nth in (1, 2, 3, 4)),
]


@pytest.fixture
def npu() -> SoftwareNpu:
    return SoftwareNpu("950")


def out() -> np.ndarray:
    return np.full(8, 9, np.float32)[::2]


def run(device, *, check: bool = True):
    return labkit.hardshrink_backward(HALF, SELF, out=out(), device=device, check=check)


def state(npu: SoftwareNpu) -> tuple[int, int]:
    return npu.live_handles, npu.heap.used


def test_the_list_of_failing_calls_is_the_list_of_calls(npu):
    with labkit.open_device(npu=npu) as device:
        names = [entry.name for entry in run(device).record]
    have: dict[str, int] = {}
    for name in names:
        have[name] = have.get(name, 0) + 1
    listed: dict[str, int] = {}
    for name, nth, _ in FAILING + GIVING_BACK:
        listed[name] = max(nth, listed.get(name, 0))
    assert have == {**listed, "aclCreateTensor": 3, "aclCreateScalar": 1}


@pytest.mark.parametrize(("name", "nth", "code"), FAILING)
def test_a_failing_call_gives_its_code_and_name_and_the_next_call_works(npu, name, nth, code):
    with labkit.open_device(npu=npu) as device:
        before = state(npu)
        npu.faults.fail_call(name, code, nth)
        with pytest.raises(AclError) as caught:
            run(device)
        error = caught.value
        assert (error.status, error.call) == (code, name)
        assert error.name.startswith("ACL")
        assert isinstance(error, AclnnError) == name.startswith("aclnn")
        assert f"{name} returned {code}" in str(error)
        handles, nbytes = state(npu)
        assert nbytes == before[1]
        # A phase 2 that did nothing has not released its executor; the real one always does.
        assert handles - before[0] in ((0, 1) if name == PHASE2 else (0,))
        assert run(device).grad_input.tolist() == RESULT


@pytest.mark.parametrize(
    ("name", "nth"), [("aclCreateScalar", 1), *(("aclCreateTensor", nth) for nth in (1, 2, 3))]
)
def test_an_object_that_cannot_be_made_is_an_error_that_names_the_call(npu, name, nth):
    with labkit.open_device(npu=npu) as device:
        before = state(npu)
        npu.faults.fail_call(name, 561000, nth)
        with pytest.raises(AclError) as caught:
            run(device)
        assert caught.value.call == name
        assert state(npu) == before
        assert run(device).grad_input.tolist() == RESULT


@pytest.mark.parametrize(("name", "nth", "code"), GIVING_BACK)
def test_a_failure_while_giving_back_is_raised_and_all_the_rest_is_given_back(npu, name, nth, code):
    with labkit.open_device(npu=npu) as device:
        handles, _ = state(npu)
        blocks = len(npu.heap)
        target = out()
        npu.faults.fail_call(name, code, nth)
        with pytest.raises(AclError) as caught:
            labkit.hardshrink_backward(HALF, SELF, out=target, device=device)
        assert (caught.value.status, caught.value.call) == (code, name)
        assert target.tolist() == RESULT  # the result had come before
        left = (npu.live_handles - handles, len(npu.heap) - blocks)
        assert left == ((0, 1) if name == "aclrtFree" else (1, 0))
        assert run(device).grad_input.tolist() == RESULT


@pytest.mark.parametrize("name", [PHASE1, PHASE2])
def test_check_false_hands_back_a_failing_phase_and_gives_everything_back(npu, name):
    with labkit.open_device(npu=npu) as device:
        _, nbytes = state(npu)
        npu.faults.fail_call(name, 561002)
        call = run(device, check=False)
        assert (call.status, call.grad_input) == (561002, None)
        assert call.error.call == name
        assert state(npu)[1] == nbytes


@pytest.mark.parametrize("name", ["aclrtMalloc", "aclrtMemcpy", "aclrtSynchronizeStream"])
def test_check_false_does_not_hide_a_failure_of_the_runtime(npu, name):
    with labkit.open_device(npu=npu) as device:
        npu.faults.fail_call(name, 507899)
        with pytest.raises(AclError, match=f"{name} returned 507899"):
            run(device, check=False)


def test_a_failure_while_giving_back_does_not_hide_the_first_one(npu):
    with labkit.open_device(npu=npu) as device:
        npu.faults.fail_call("aclrtSynchronizeStream", 507035)
        npu.faults.fail_call("aclDestroyTensor", 561000)
        with pytest.raises(AclError, match="aclrtSynchronizeStream returned 507035"):
            run(device)


@pytest.mark.parametrize("op", ["HardShrinkGrad", "Cast", "ViewCopy"])
def test_a_kernel_that_fails_on_the_device_names_the_operator(npu, op):
    with labkit.open_device(npu=npu) as device:
        before = state(npu)
        target = out()
        npu.faults.fail_kernel(op)
        with pytest.raises(AclError, match="507035") as caught:
            labkit.hardshrink_backward(HALF, SELF, out=target, device=device)
        assert "aclnnHardshrinkBackward" in str(caught.value)
        assert caught.value.call == "aclrtSynchronizeStream"
        assert target.tolist() == [9, 9, 9, 9]
        assert state(npu) == before
        assert run(device).grad_input.tolist() == RESULT


@pytest.mark.parametrize(
    ("arm", "status", "word"),
    [
        (lambda f: f.fail_prepare("Cast", 561003), 561103, "Cast"),
        (lambda f: f.fail_launcher("HardShrinkGrad", 561003), 561003, "HardShrinkGrad"),
        (lambda f: f.fail_launcher("ViewCopy", 561002), 561002, "ViewCopy"),
        (lambda f: f.fail_runtime_launch(0), 361001, "Cast"),
        (lambda f: f.fail_runtime_launch(2), 361001, "ViewCopy"),
    ],
)
def test_what_goes_wrong_inside_the_operator_reaches_the_caller_with_its_words(
    npu, arm, status, word
):
    with labkit.open_device(npu=npu) as device:
        before = state(npu)
        arm(npu.faults)
        with pytest.raises(AclnnError) as caught:
            run(device)
        assert caught.value.status == status
        assert word in caught.value.message
        npu.faults.clear()
        assert state(npu) == before
        assert run(device).grad_input.tolist() == RESULT


def test_the_message_of_one_failure_is_not_told_again_with_the_next(npu):
    with labkit.open_device(npu=npu) as device:
        first = labkit.hardshrink_backward(np.ones(4), SELF, device=device, check=False)
        second = labkit.hardshrink_backward(HALF, None, device=device, check=False)
        assert "DT_DOUBLE" in first.message
        assert "DT_DOUBLE" not in second.message
        assert "self" in second.message


def test_an_error_inside_the_device_is_a_lab_error_and_the_device_goes_on(npu, monkeypatch):
    with labkit.open_device(npu=npu) as device:
        before = state(npu)
        from labkit.sim.kernels import Task

        def broken(task, heap):
            raise RuntimeError("a kernel with a bug")

        monkeypatch.setattr(Task, "run", broken)
        with pytest.raises(LabError, match="a kernel with a bug"):
            run(device)
        monkeypatch.undo()
        assert state(npu) == before
        assert run(device).grad_input.tolist() == RESULT
