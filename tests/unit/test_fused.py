"""The compiled loops: one thread, all cores and past the caches give the same bits."""

import multiprocessing
import threading

import numpy as np
import pytest

pytest.importorskip("numba")

from labkit.op import fused, hardshrink_grad

SIZES = (1, 63, 64 * 1024, 64 * 1024 + 1, 300_007, (4 << 20) // 2 + 33)


def case(size, width, seed=3):
    random = np.random.default_rng(seed)
    values, x = (random.integers(0, 1 << (8 * width), size, dtype=f"u{width}") for _ in range(2))
    mask = x.dtype.type((1 << (8 * width - 1)) - 1)
    limit = int(mask) // 2
    return values, x, limit, np.where((x & mask) > limit, values, x.dtype.type(0))


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("loop", [fused.serial, fused.parallel])
@pytest.mark.parametrize("start", [0, 1])
def test_every_loop_writes_every_element(loop, size, width, start):
    values, x, limit, right = case(size, width)
    whole = np.full(size + start + 1, 0xABCD, x.dtype)
    out = whole[start : start + size]
    done = loop(values, x, limit, out)
    assert loop is fused.serial or done in (True, False)
    if done is False:
        pytest.skip("one core: no parallel loop")
    assert np.array_equal(out, right)
    assert (whole[:start] == 0xABCD).all() and whole[-1] == 0xABCD


def test_while_another_call_has_the_threads_the_result_comes_from_one_thread():
    x = np.linspace(-1, 1, 1 << 18, dtype=np.float32)
    right = np.where(abs(x) > 0.5, x, np.float32(0))
    bits = x.view(np.uint32)
    with fused._turn:
        assert fused.parallel(bits, bits, 5, np.empty_like(bits)) is False
        assert np.array_equal(hardshrink_grad(x, x, 0.5), right)


def test_many_threads_at_once_get_their_own_results():
    x = np.linspace(-1, 1, 1 << 18, dtype=np.float32)
    wrong = []

    def work(lambd):
        right = np.where(abs(x) > np.float32(lambd), x, np.float32(0))
        for _ in range(20):
            if not np.array_equal(hardshrink_grad(x, x, lambd), right):
                wrong.append(lambd)

    threads = [threading.Thread(target=work, args=(k / 8,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def _child(queue):
    x = np.linspace(-1, 1, 1 << 18, dtype=np.float32)
    queue.put(bool(np.array_equal(hardshrink_grad(x, x, 0.5), np.where(abs(x) > 0.5, x, 0))))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_computes_on_one_thread_instead_of_ending():
    x = np.ones(1 << 18, np.float32)
    hardshrink_grad(x, x, 0.5)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) is True
    child.join(60)
    assert child.exitcode == 0
