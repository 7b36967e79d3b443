"""One thread owns the device; calls from any thread come out right."""

from __future__ import annotations

import asyncio
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import labkit
from labkit.errors import AclnnError, DeviceUseError
from labkit.sim import SoftwareNpu

X = np.linspace(-1, 1, 41, dtype=np.float32)


@pytest.fixture
def dev():
    with labkit.open_device("sim") as device:
        yield device


def right(device, scale: float) -> bool:
    grad = np.full(41, scale, np.float32)
    call = labkit.hardshrink_backward(grad, X, lambd=0.5, device=device)
    want = np.where(np.abs(X) <= np.float32(0.5), np.float32(0), grad)
    return call.grad_input.tobytes() == want.tobytes()


def test_a_thread_pool_gets_right_results(dev):
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda scale: right(dev, scale), range(1, 21)))


def test_bare_threads_get_right_results(dev):
    results = []
    threads = [
        threading.Thread(target=lambda k=k: results.append(right(dev, k))) for k in range(1, 9)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [True] * 8


def test_eight_threads_with_fifty_calls_each_are_all_right_and_leave_nothing():
    npu = SoftwareNpu("950")
    wrong = []
    with labkit.open_device(npu=npu) as device:

        def work(number: int) -> None:
            for turn in range(50):
                if not right(device, number * 100 + turn):
                    wrong.append((number, turn))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert wrong == []
        assert npu.heap.used == 0
        assert npu.live_handles == 2  # the context and the stream
    assert npu.leaks() == []


def test_each_call_keeps_its_own_record_though_many_threads_call(dev):
    with ThreadPoolExecutor(8) as pool:
        calls = list(
            pool.map(
                lambda k: labkit.hardshrink_backward(X, X, lambd=k / 10, device=dev), range(16)
            )
        )
    steps = [entry.name for entry in calls[0].record]
    assert all([entry.name for entry in call.record] == steps for call in calls)
    assert all(call.launches == ("HardShrinkGrad",) for call in calls)
    assert sum(len(call.record) for call in calls) == len(dev.record) - 4


def test_a_failing_call_in_one_thread_does_not_touch_the_others(dev):
    def one(number: int) -> bool:
        if number % 3 == 0:
            with pytest.raises(AclnnError) as caught:
                labkit.hardshrink_backward(X.astype(np.float64), X, device=dev)
            return caught.value.status == 161002 and "DT_DOUBLE" in caught.value.message
        return right(dev, number)

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(one, range(1, 31)))


def test_functions_run_on_the_owner_thread_one_after_another(dev):
    def where() -> int:
        return threading.get_ident()

    owner = dev.run(where)
    assert owner != threading.get_ident()
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: dev.run(where), range(20))) == {owner}


def test_a_call_from_the_owner_thread_itself_runs_at_once(dev):
    assert dev.run(lambda: dev.run(lambda: right(dev, 3))) is True


def test_a_program_that_nests_calls_gets_each_record_right(dev):
    def program():
        outer = dev.api.call("aclrtSynchronizeDevice")
        call = labkit.hardshrink_backward(X, X, device=dev)
        return outer, call.record[0].name, call.record[-1].name

    assert dev.run(program) == (0, "aclrtMalloc", "aclrtFree")


def test_a_coroutine_may_hand_the_call_to_a_thread(dev):
    async def main() -> list[bool]:
        calls = [asyncio.to_thread(right, dev, k) for k in (1, 2, 3)]
        return await asyncio.gather(*calls)

    assert asyncio.run(main()) == [True, True, True]


def test_two_devices_work_side_by_side():
    npu = SoftwareNpu("950", devices=2)
    with labkit.open_device(npu=npu) as one, labkit.open_device(npu=npu, index=1) as two:
        with ThreadPoolExecutor(4) as pool:
            jobs = [(device, k) for k in range(1, 21) for device in (one, two)]
            assert all(pool.map(lambda job: right(*job), jobs))
        assert npu.heap.used == 0


def test_the_launches_of_a_call_are_its_own_though_another_device_launches_meanwhile():
    npu = SoftwareNpu("950", devices=2)
    half = X.astype(np.float16)
    with labkit.open_device(npu=npu) as one, labkit.open_device(npu=npu, index=1) as two:
        # The second device runs while the first is between its phase 2 and its end.
        synchronize = one.api.check

        def slowly(name, *args, **options):
            status = synchronize(name, *args, **options)
            if name == "aclrtSynchronizeStream":
                labkit.hardshrink_backward(half, half, device=two, out_dtype="float32")
            return status

        one.api.check = slowly
        call = labkit.hardshrink_backward(X, X, device=one)
        one.api.check = synchronize
        assert call.launches == ("HardShrinkGrad",)


def test_the_leak_report_can_be_read_while_calls_are_running():
    npu = SoftwareNpu("950")
    troubles = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            try:
                npu.leaks()
            except Exception as error:
                troubles.append(error)
                return

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    watcher = threading.Thread(target=look)
    try:
        with labkit.open_device(npu=npu) as device:
            watcher.start()
            for _ in range(400):
                labkit.hardshrink([1.0], device=device)
            done.set()
            watcher.join(60)
    finally:
        done.set()
        sys.setswitchinterval(interval)
    assert troubles == []


def test_the_default_device_is_one_for_all_threads(monkeypatch):
    monkeypatch.setenv("LABKIT_DEVICE", "sim")
    with ThreadPoolExecutor(8) as pool:
        devices = set(pool.map(lambda _: labkit.default_device(), range(16)))
    (device,) = devices
    assert labkit.hardshrink([2.0]).out.tolist() == [2.0]
    device.close()
    again = labkit.default_device()  # a closed one is replaced
    assert again is not device
    again.close()


def test_calls_waiting_when_the_device_is_closed_end_with_an_error_and_do_not_hang():
    device = labkit.open_device("sim")
    started, release = threading.Event(), threading.Event()

    def block():
        started.set()
        release.wait(60)

    blocker = threading.Thread(target=lambda: device.run(block))
    blocker.start()
    started.wait(60)
    outcomes = []

    def call():
        try:
            outcomes.append(device.run(lambda: "ran"))
        except DeviceUseError:
            outcomes.append("refused")

    waiting = [threading.Thread(target=call) for _ in range(3)]
    closer = threading.Thread(target=device.close)
    for thread in (*waiting, closer):
        thread.start()
    release.set()
    for thread in (blocker, *waiting, closer):
        thread.join(60)
        assert not thread.is_alive()
    assert len(outcomes) == 3
    assert set(outcomes) <= {"ran", "refused"}
