"""Opening and closing: who initialises, what is given back, in which order, whatever fails."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import types
import warnings
import weakref

import numpy as np
import pytest

import labkit
from labkit.cann.interface import ffi
from labkit.errors import AclError, DeviceUseError, LabError, LifetimeError
from labkit.host import choose, session
from labkit.sim import SoftwareNpu

X = np.array([0.2, 0.7], np.float32)


@pytest.fixture
def npu() -> SoftwareNpu:
    return SoftwareNpu("950")


def names(device, since: int = 0) -> list[str]:
    return [entry.name for entry in device.record[since:]]


def foreign(npu: SoftwareNpu, name: str, *args):
    """A C call by a program that knows nothing of the lab."""
    return npu.symbol(name)(*args)


def works(device) -> bool:
    return labkit.hardshrink_backward(X, X, device=device).grad_input.tolist() == [0, X[1]]


# -- closing -------------------------------------------------------------------


def test_closing_gives_back_stream_device_and_library_in_that_order(npu):
    device = labkit.open_device(npu=npu)
    opened = len(device.record)
    device.close()
    assert names(device, opened) == [
        "aclrtSynchronizeStream",
        "aclrtDestroyStream",
        "aclrtResetDevice",
        "aclFinalize",
    ]
    assert [entry.status for entry in device.record] == [0, 0, 0, None, 0, 0, 0, 0]
    assert npu.leaks() == []
    assert npu.live_handles == 0
    assert npu.runtime.inits == 0


def test_closing_twice_is_closing_once(npu):
    device = labkit.open_device(npu=npu)
    device.close()
    calls = len(device.record)
    device.close()
    device.close()
    assert len(device.record) == calls
    assert device.closed


def test_a_with_block_closes_the_device(npu):
    with labkit.open_device(npu=npu) as device:
        assert works(device)
        assert not device.closed
    assert device.closed
    assert npu.runtime.inits == 0


def test_a_device_closed_inside_its_with_block_is_fine(npu):
    with labkit.open_device(npu=npu) as device:
        device.close()
    assert npu.live_handles == 0


def test_an_error_in_the_body_comes_through_and_the_device_is_closed(npu):
    with pytest.raises(ZeroDivisionError), labkit.open_device(npu=npu) as device:
        raise ZeroDivisionError
    assert device.closed
    assert npu.runtime.inits == 0


def test_an_error_in_the_body_is_not_hidden_by_one_of_the_close(npu):
    with pytest.raises(ZeroDivisionError), labkit.open_device(npu=npu) as device:
        npu.faults.fail_call("aclrtDestroyStream", 107017)
        raise ZeroDivisionError
    assert device.closed


def test_using_a_closed_device_says_so(npu):
    device = labkit.open_device(npu=npu)
    device.close()
    for use in (
        lambda: labkit.hardshrink_backward(X, X, device=device),
        lambda: device.call("aclrtSynchronizeDevice"),
        lambda: device.run(lambda: 1),
        device.synchronize,
    ):
        with pytest.raises(DeviceUseError, match="closed; open it again"):
            use()
    assert "(closed)" in repr(device)


def test_work_that_is_still_queued_is_done_before_the_stream_goes(npu):
    device = labkit.open_device(npu=npu)
    cell = ffi().new("void **")
    device.call("aclrtMalloc", cell, 64, 0)
    device.call("aclrtMemsetAsync", cell[0], 64, 7, 64, device.stream)
    device.close()
    (block,) = npu.heap.blocks
    assert (block.view(block.address, 64) == 7).all()


def test_the_thread_of_a_device_ends_with_it(npu):
    before = threading.active_count()
    device = labkit.open_device(npu=npu)
    assert threading.active_count() == before + 1
    device.close()
    assert threading.active_count() == before


def test_a_device_can_be_closed_from_any_thread_and_from_its_own(npu):
    device = labkit.open_device(npu=npu)
    thread = threading.Thread(target=device.close)
    thread.start()
    thread.join(20)
    assert device.closed
    assert npu.live_handles == 0
    own = labkit.open_device(npu=npu)
    own.run(own.close)
    assert own.closed
    assert npu.live_handles == 0


def test_closing_from_many_threads_at_once_closes_once(npu):
    device = labkit.open_device(npu=npu)
    gate = threading.Barrier(8)
    errors = []

    def close():
        gate.wait(20)
        try:
            device.close()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=close) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert errors == []
    assert names(device).count("aclFinalize") == 1


def test_the_device_can_be_opened_again_after_it_was_closed(npu):
    for _ in range(3):
        with labkit.open_device(npu=npu) as device:
            assert works(device)
    assert npu.leaks() == []


# -- who initialised -----------------------------------------------------------


def test_two_devices_on_one_machine_initialise_once_and_the_last_one_finalises():
    npu = SoftwareNpu("950", devices=2)
    first, second = labkit.open_device(npu=npu), labkit.open_device(npu=npu, index=1)
    assert names(first).count("aclInit") == 1
    assert names(second).count("aclInit") == 0
    first.close()
    assert names(first).count("aclFinalize") == 0
    assert npu.runtime.inits == 1
    assert works(second)
    second.close()
    assert names(second).count("aclFinalize") == 1
    assert npu.runtime.inits == 0


def test_two_devices_on_one_chip_keep_its_context_until_both_are_closed(npu):
    first, second = labkit.open_device(npu=npu), labkit.open_device(npu=npu)
    second.close()
    assert works(first)
    first.close()
    assert npu.live_handles == 0


def test_who_finds_the_library_initialised_never_finalises_it(npu):
    assert foreign(npu, "aclInit", ffi().NULL) == 0
    with labkit.open_device(npu=npu) as device:
        assert device.record[0].status == 100002
        assert works(device)
    assert "aclFinalize" not in names(device)
    assert npu.runtime.inits > 0
    assert foreign(npu, "aclFinalize") == 0


def test_closing_the_lab_leaves_the_foreign_user_working(npu):
    types_ = ffi()
    assert foreign(npu, "aclInit", types_.NULL) == 0
    assert foreign(npu, "aclrtSetDevice", 0) == 0
    cell, stream = types_.new("void **"), types_.new("aclrtStream *")
    assert foreign(npu, "aclrtMalloc", cell, 64, 0) == 0
    assert foreign(npu, "aclrtCreateStream", stream) == 0
    for _ in range(2):
        with labkit.open_device(npu=npu) as device:
            assert works(device)
    assert foreign(npu, "aclrtMemsetAsync", cell[0], 64, 1, 64, stream[0]) == 0
    assert foreign(npu, "aclrtSynchronizeStream", stream[0]) == 0
    assert foreign(npu, "aclrtFree", cell[0]) == 0
    assert foreign(npu, "aclrtDestroyStream", stream[0]) == 0
    assert foreign(npu, "aclrtResetDevice", 0) == 0
    assert foreign(npu, "aclFinalize") == 0
    assert npu.take_error() is None
    assert npu.leaks() == []


def test_a_library_that_others_initialised_and_finalised_is_ours_the_next_time(npu):
    foreign(npu, "aclInit", ffi().NULL)
    labkit.open_device(npu=npu).close()
    foreign(npu, "aclFinalize")
    with labkit.open_device(npu=npu) as device:
        assert device.record[0].status == 0
    assert names(device)[-1] == "aclFinalize"


def test_beside_torch_npu_only_the_own_reference_is_given_back(npu, monkeypatch):
    device = labkit.open_device(npu=npu)
    monkeypatch.setitem(sys.modules, "torch_npu", types.ModuleType("torch_npu"))
    assert foreign(npu, "aclInit", ffi().NULL) == 100002  # torch_npu came later
    device.close()
    assert names(device)[-1] == "aclFinalizeReference"
    assert "aclFinalize" not in names(device)
    assert npu.runtime.inits == 1


def test_beside_torch_npu_a_library_without_references_is_left_alone(npu, monkeypatch):
    device = labkit.open_device(npu=npu)
    monkeypatch.setitem(sys.modules, "torch_npu", types.ModuleType("torch_npu"))
    has = npu.has
    monkeypatch.setattr(npu, "has", lambda name: name != "aclFinalizeReference" and has(name))
    device.close()
    assert names(device)[-1] == "aclrtResetDevice"
    assert npu.runtime.inits == 1


class OpenedAgain:
    """The same library behind another object, as opening an installed CANN twice gives."""

    def __init__(self, npu: SoftwareNpu) -> None:
        self.npu = npu
        self.source = "CANN 9.1.0 in /opt/cann"
        self.simulated = False
        self.has, self.symbol, self.take_error = npu.has, npu.symbol, npu.take_error


def test_closing_one_npu_does_not_finalise_the_library_under_another(monkeypatch):
    npu = SoftwareNpu("910b", devices=2)
    monkeypatch.setattr(choose, "require_npu", lambda: OpenedAgain(npu))
    first, second = labkit.open_device("npu"), labkit.open_device("npu", index=1)
    first.close()
    assert npu.runtime.inits > 0
    assert works(second)
    second.close()
    assert npu.runtime.inits == 0


def test_no_session_outlives_its_last_device(npu):
    with labkit.open_device(npu=npu):
        assert any(s.interface is npu for s in session._SESSIONS.values())
    assert not any(s.interface is npu for s in session._SESSIONS.values())


# -- closing when something fails ----------------------------------------------

CLOSING = {
    "aclrtSynchronizeStream": 507035,
    "aclrtDestroyStream": 107017,
    "aclrtResetDevice": 507007,
    "aclFinalize": 100037,
}


@pytest.mark.parametrize("name", CLOSING)
def test_a_failure_while_closing_is_raised_once_and_the_rest_is_given_back(npu, name):
    device = labkit.open_device(npu=npu)
    npu.faults.fail_call(name, CLOSING[name])
    with pytest.raises(AclError, match=f"{name} returned {CLOSING[name]}") as caught:
        device.close()
    assert caught.value.status == CLOSING[name]
    assert names(device)[-4:] == list(CLOSING)
    device.close()  # closed already: nothing more happens
    assert device.closed
    assert names(device)[-4:] == list(CLOSING)


@pytest.mark.parametrize("name", CLOSING)
def test_the_error_of_a_failing_close_names_the_call_and_the_code(npu, name):
    device = labkit.open_device(npu=npu)
    npu.faults.fail_call(name, CLOSING[name])
    with pytest.raises(AclError) as caught:
        device.close()
    assert caught.value.call == name
    assert caught.value.name.startswith("ACL_ERROR_")


def test_of_several_failures_the_first_is_raised_and_the_others_are_told(npu):
    device = labkit.open_device(npu=npu)
    npu.faults.fail_call("aclrtDestroyStream", 107017)
    npu.faults.fail_call("aclFinalize", 100037)
    with pytest.raises(AclError) as caught:
        device.close()
    text = str(caught.value)
    assert text.index("aclrtDestroyStream returned 107017") < text.index("aclFinalize returned")
    assert caught.value.status == 107017


def test_a_kernel_that_fails_at_the_last_synchronise_does_not_keep_the_device(npu):
    device = labkit.open_device(npu=npu)
    npu.faults.fail_kernel("HardShrinkGrad")

    def leave_work_behind():
        api, new, null = device.api, ffi().new, ffi().NULL
        cell, size, executor = new("void **"), new("uint64_t *"), new("aclOpExecutor **")
        api.check("aclrtMalloc", cell, 1024, 0)
        dims = new("int64_t[]", [4])
        tensor = api.call("aclCreateTensor", dims, 1, 0, null, 0, 2, dims, 1, cell[0])
        scalar = api.call("aclCreateScalar", new("float *", 0.5), 0)
        args = (tensor, tensor, scalar, tensor, size, executor)
        api.check("aclnnHardshrinkBackwardGetWorkspaceSize", *args)
        space = ffi().cast("char *", cell[0]) + 512
        api.check("aclnnHardshrinkBackward", space, size[0], executor[0], device.stream)

    device.run(leave_work_behind)
    with pytest.raises(AclError, match="507035"):
        device.close()
    assert npu.runtime.inits == 0
    assert not any("Stream" in line or "Context" in line for line in npu.leaks())


# -- opening when something fails ----------------------------------------------

OPENING = {"aclInit": 500000, "aclrtSetDevice": 507033, "aclrtCreateStream": 207008}


@pytest.mark.parametrize("name", OPENING)
def test_a_failure_while_opening_leaves_nothing_behind(npu, name):
    threads = threading.active_count()
    npu.faults.fail_call(name, OPENING[name])
    with pytest.raises(AclError, match=f"{name} returned {OPENING[name]}") as caught:
        labkit.open_device(npu=npu)
    assert (caught.value.status, caught.value.call) == (OPENING[name], name)
    assert npu.live_handles == 0
    assert npu.runtime.inits == 0
    assert threading.active_count() == threads
    with labkit.open_device(npu=npu) as device:
        assert works(device)


def test_a_failing_open_beside_an_open_device_leaves_that_one_alone(npu):
    with labkit.open_device(npu=npu) as device:
        npu.faults.fail_call("aclrtCreateStream", 207008)
        with pytest.raises(AclError):
            labkit.open_device(npu=npu)
        assert works(device)
        assert npu.runtime.inits == 1
    assert npu.live_handles == 0


def test_a_failing_give_back_does_not_hide_why_opening_failed(npu):
    npu.faults.fail_call("aclrtCreateStream", 207008)
    npu.faults.fail_call("aclrtResetDevice", 507007)
    with pytest.raises(AclError, match="aclrtCreateStream returned 207008"):
        labkit.open_device(npu=npu)


def test_a_library_that_others_initialised_stays_so_when_opening_fails(npu):
    foreign(npu, "aclInit", ffi().NULL)
    npu.faults.fail_call("aclrtSetDevice", 507033)
    with pytest.raises(AclError):
        labkit.open_device(npu=npu)
    assert npu.runtime.inits > 0


@pytest.mark.parametrize("index", [1, 7, 2**31 - 1])
def test_a_device_number_that_is_not_there_gives_107001(npu, index):
    with pytest.raises(AclError) as caught:
        labkit.open_device(npu=npu, index=index)
    assert (caught.value.status, caught.value.call) == (107001, "aclrtSetDevice")
    assert npu.live_handles == 0
    assert npu.runtime.inits == 0


@pytest.mark.parametrize("index", [-1, 1.0, "0", None, 2**31, 2**70])
def test_a_device_number_that_is_none_is_refused_with_words(npu, index):
    with pytest.raises(LabError, match=r"index|107001"):
        labkit.open_device(npu=npu, index=index)
    assert npu.runtime.inits == 0


@pytest.mark.parametrize("asked", [("sim", "910b"), ("sim", "Ascend910A"), ("npu", None)])
def test_the_machine_that_is_handed_in_must_be_what_was_asked_for(npu, asked):
    kind, soc = asked
    device = None
    try:
        with pytest.raises(LabError):
            device = labkit.open_device(kind, soc=soc, npu=npu)
    finally:
        if device is not None:
            device.close()
    with labkit.open_device("sim", soc="950", npu=npu) as device:  # this is what it is
        assert device.soc == "Ascend950PR_9599"


# -- the end of the interpreter ------------------------------------------------

WATCHED = """
import atexit, sys
sys.path.insert(0, {root!r})
import labkit
from labkit.sim import SoftwareNpu
npu = SoftwareNpu("950")
# Registered before the device is opened, so it runs after the lab's own exit function.
atexit.register(lambda: print("inits", npu.runtime.inits, "handles", npu.live_handles))
import labkit.host.device
{body}
"""


def at_exit(root, body: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", WATCHED.format(root=str(root), body=body)],
        capture_output=True,
        text=True,
        timeout=100,
    )


@pytest.mark.parametrize(
    "body",
    [
        "device = labkit.open_device(npu=npu)",
        "device = labkit.open_device(npu=npu)\n"
        "print(labkit.hardshrink([1.0], device=device).out.tolist())",
        "keep = [labkit.open_device(npu=npu) for _ in range(3)]",
        "device = labkit.open_device(npu=npu); cycle = [device]; cycle.append(cycle)",
    ],
    ids=["opened", "used", "three", "in a cycle"],
)
def test_an_open_device_is_closed_when_the_interpreter_ends(root, body):
    done = at_exit(root, body)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "inits 0 handles 0"


def test_a_device_that_was_dropped_without_closing_is_closed_at_the_end_too(root):
    done = at_exit(root, "def use():\n    labkit.open_device(npu=npu)\nuse()")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "inits 0 handles 0\n"


def test_a_script_that_ends_with_an_error_still_gives_the_device_back(root):
    done = at_exit(root, "device = labkit.open_device(npu=npu)\nraise SystemExit(3)")
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout == "inits 0 handles 0\n"


def test_a_device_closed_by_hand_says_nothing_at_the_end(root):
    done = at_exit(root, "labkit.open_device(npu=npu).close()")
    assert (done.returncode, done.stdout, done.stderr) == (0, "inits 0 handles 0\n", "")


def test_a_close_that_fails_at_the_end_is_told_and_the_exit_code_stays_0(root):
    done = at_exit(
        root,
        "device = labkit.open_device(npu=npu)\nnpu.faults.fail_call('aclrtDestroyStream', 107017)",
    )
    assert done.returncode == 0
    assert "aclrtDestroyStream returned 107017" in done.stdout + done.stderr
    assert "inits 0" in done.stdout


@pytest.mark.parametrize("count", [1000, 1 << 20])
def test_an_exit_function_may_still_run_the_operator_on_small_and_large_arrays(root, count):
    done = at_exit(
        root,
        f"""
import numpy as np
from labkit.op import numerics
numerics.core_count = lambda: 2  # as on a machine with more than one core
values = np.ones({count}, np.float32)
device = labkit.open_device(npu=npu)
labkit.hardshrink(values, device=device)
atexit.register(lambda: print(int(labkit.hardshrink(values, device=device).out.sum())))
""",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{count}\ninits 0 handles 0\n"


def test_a_closed_device_can_be_collected(npu):
    device = labkit.open_device(npu=npu)
    works(device)
    device.close()
    kept = weakref.ref(device)
    del device
    gc.collect()
    assert kept() is None


# -- errors of misuse come out as what they are --------------------------------


def test_an_error_of_the_device_reaches_the_calling_thread_with_its_type(npu):
    with labkit.open_device(npu=npu) as device:
        with pytest.raises(LifetimeError):
            device.call("aclrtFree", ffi().cast("void *", 0x1000))
        with pytest.raises(KeyError, match="mine"):
            device.run(lambda: {}["mine"])
        with pytest.raises(SystemExit):
            device.run(sys.exit)
        assert works(device)


def test_closing_names_what_was_never_given_back():
    device = labkit.open_device("sim")
    out = ffi().new("void **")
    assert device.call("aclrtMalloc", out, 100, 0) == 0
    with pytest.warns(labkit.LeakWarning, match=r"100 bytes at 0x[0-9a-f]+ were not freed"):
        device.close()


def test_closing_says_nothing_when_all_was_given_back_or_another_user_is_left():
    npu = SoftwareNpu()
    out = ffi().new("void **")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with labkit.open_device(npu=npu):
            with labkit.open_device(npu=npu) as device:
                assert device.call("aclrtMalloc", out, 100, 0) == 0
            with labkit.open_device(npu=npu) as device:
                assert device.call("aclrtFree", out[0]) == 0
