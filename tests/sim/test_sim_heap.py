"""Device memory of the software NPU: sizes, poison, canaries, accounts, stale addresses."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest
from sim_rig import A2, A3, A310B, A310P, A910, A950, D2H, NULL, Call, Rig

from labkit.errors import DeviceMemoryError, LifetimeError
from labkit.sim.heap import DEVICE_BASE, FREED, FRESH, Heap, HeapFault

PAGE = 64 * 1024
LAZY = 1024 * 1024


def heap(*, padding: int = 0, strict: bool = True, capacity: int = 1 << 32) -> Heap:
    return Heap(capacity=capacity, padding=padding, strict=strict)


# -- addresses and sizes -------------------------------------------------------


@pytest.mark.parametrize("soc", [A950, A2, A3, A910, A310P, A310B])
def test_every_address_is_aligned_to_64_bytes(soc):
    rig = Rig(soc)
    for size in (1, 3, 31, 32, 33, 63, 65, 4097, 100_001, LAZY + 1):
        assert rig.malloc(size) % 64 == 0


@pytest.mark.parametrize(
    ("soc", "padding"), [(A950, 0), (A2, 32), (A3, 32), (A910, 32), (A310P, 32), (A310B, 32)]
)
@pytest.mark.parametrize(("size", "rounded"), [(1, 32), (31, 32), (32, 32), (33, 64), (100, 128)])
def test_a_size_is_rounded_up_to_32_bytes_plus_the_padding_of_the_chip(soc, padding, size, rounded):
    rig = Rig(soc)
    (block,) = [rig.npu.heap.find(rig.malloc(size))]
    assert (block.size, block.limit) == (size, rounded + padding)


@pytest.mark.parametrize("soc", [A950, A2])
def test_malloc_align32_leaves_the_padding_out(soc):
    rig = Rig(soc)
    pointer = rig.out("aclrtMallocAlign32", "void *", 33, 0)
    assert rig.npu.heap.find(rig.npu.address(pointer)).limit == 64


def test_an_address_is_never_given_out_twice():
    memory = heap()
    seen = set()
    for round_ in range(300):
        block = memory.malloc(64 + round_)
        assert block.address not in seen
        seen.add(block.address)
        memory.free(block.address)


def test_blocks_never_touch_so_a_small_overrun_lands_in_no_neighbour():
    memory = heap()
    first, second = memory.malloc(100), memory.malloc(100)
    assert second.address - (first.address + first.limit) >= 4096


def test_device_addresses_are_told_from_host_addresses():
    memory = heap()
    block = memory.malloc(8)
    host = np.zeros(4)
    assert memory.is_device(block.address)
    assert memory.is_device(block.address + 7)
    assert not memory.is_device(host.ctypes.data)
    assert not memory.is_device(0)
    assert not memory.is_device(DEVICE_BASE - 1)


def test_a_freed_address_still_counts_as_a_device_address():
    memory = heap()
    block = memory.malloc(8)
    memory.free(block.address)
    assert memory.is_device(block.address)


def test_a_copy_far_behind_the_last_block_is_refused_and_does_not_crash_the_process(root):
    script = f"""
import sys
sys.path[:0] = [{str(root)!r}, {str(root / "tests" / "sim")!r}]
from sim_rig import D2H, Rig
from labkit.errors import DeviceMemoryError
rig = Rig()
address = rig.malloc(64) + (1 << 30)
target = rig.new("char[]", 64)
try:
    rig("aclrtMemcpy", target, 64, rig.pointer(address), 64, D2H)
except DeviceMemoryError as error:
    print("refused:", error)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.returncode
    assert run.stdout.startswith("refused: copy reads")


# -- poison --------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 64, 1000, LAZY - 64, LAZY, LAZY + 5, 3 * LAZY + 77])
def test_fresh_memory_is_poison_to_its_last_byte(size):
    rig = Rig()
    address = rig.malloc(size)
    assert rig.read(address + size - min(size, 300), min(size, 300)) == bytes([FRESH]) * min(
        size, 300
    )
    assert rig.read(address, min(size, 300)) == bytes([FRESH]) * min(size, 300)


def test_memory_is_not_cleared_when_it_is_given_out():
    rig = Rig()
    first = rig.malloc(256)
    rig.write(first, b"\x11" * 256)
    rig.free(first)
    assert rig.read(rig.malloc(256), 256) == bytes([FRESH]) * 256


@pytest.mark.parametrize("size", [100, LAZY, 2 * LAZY + 5])
def test_freed_memory_that_queued_work_still_reads_is_poisoned_as_freed(size):
    memory = heap()
    block = memory.malloc(size)
    memory.view(block.address, 100, "test", write=True)[...] = 7
    memory.free(block.address, keep_ghost=True)
    assert (memory.view(block.address, size, "late read") == FREED).all()
    memory.drop_ghosts()
    with pytest.raises(HeapFault, match="was freed"):
        memory.view(block.address, 100, "later read")


def test_a_freed_block_is_let_go_of():
    memory = heap()
    block = memory.malloc(4 * LAZY)
    data = weakref.ref(block._data)
    memory.free(block.address)
    del block
    gc.collect()
    assert data() is None


# -- lazily poisoned pages -----------------------------------------------------


def pages_seen(block) -> int:
    return int((~block._untouched).sum())


def test_a_large_block_touches_no_page_until_somebody_looks():
    memory = heap()
    block = memory.malloc(256 * LAZY)
    assert pages_seen(block) == 0
    memory.view(block.address + 5 * PAGE, 1, "one byte")
    assert pages_seen(block) == 1


def test_a_view_touches_just_the_pages_that_it_reaches():
    memory = heap()
    block = memory.malloc(LAZY)
    memory.view(block.address + PAGE - 1, 2, "two pages")
    assert pages_seen(block) == 2
    memory.view(block.address + 3 * PAGE, PAGE, "one whole page")
    assert pages_seen(block) == 3
    memory.view(block.address, 0, "nothing")
    assert pages_seen(block) == 3


@pytest.mark.parametrize(
    ("start", "count"),
    [
        (0, 1),
        (0, PAGE),
        (1, PAGE),
        (PAGE - 1, 1),
        (PAGE - 1, 2),
        (PAGE, PAGE),
        (PAGE + 1, PAGE - 1),
        (3, 2 * PAGE),
        (LAZY - 1, 1),
        (LAZY, 5),
        (LAZY + PAGE - 9, PAGE + 100),
    ],
)
def test_a_partial_write_leaves_poison_on_both_sides(start, count):
    memory = heap()
    size = LAZY + 2 * PAGE + 123
    block = memory.malloc(size)
    memory.view(block.address + start, count, "write", write=True)[...] = 0x11
    whole = memory.view(block.address, size, "read")
    want = np.full(size, FRESH, np.uint8)
    want[start : start + count] = 0x11
    assert (whole == want).all()


def test_a_second_write_to_a_page_keeps_the_first():
    memory = heap()
    block = memory.malloc(LAZY)
    memory.view(block.address + 10, 4, "write", write=True)[...] = 1
    memory.view(block.address, PAGE, "write", write=True)[20:24] = 2
    have = memory.view(block.address, 30, "read").tolist()
    assert have == [FRESH] * 10 + [1] * 4 + [FRESH] * 6 + [2] * 4 + [FRESH] * 6


def test_a_strided_write_by_a_kernel_leaves_the_gaps_of_a_large_block_as_poison():
    rig = Rig(A2, strict=True)
    call = Call(rig)
    target = rig.malloc(2 * LAZY)
    far = LAZY // 4 + 3
    out = rig.tensor("float32", (4,), target, strides=(3,), offset=far, storage=(LAZY // 2,))
    status, size, executor = rig.phase1(call.grad, call.x, call.lambd, out)
    assert status == 0
    assert rig.phase2(executor, rig.malloc(size), size) == 0
    assert rig.synchronize() == 0
    have = rig.download(target + 4 * (far - 2), (14,), np.uint32)
    want = np.full(14, 0xCDCDCDCD, np.uint32)
    want[2:14:3] = Call.RESULT.view(np.uint32)
    assert have.tolist() == want.tolist()


# -- canaries ------------------------------------------------------------------


def test_a_write_into_the_padding_is_found_when_the_block_is_freed():
    rig = Rig(A2, strict=False)
    address = rig.malloc(100)  # 28 bytes of rounding and 32 of padding lie behind it
    assert rig.write(address + 96, b"\x00" * 8) == 0  # the device allows it
    assert rig.free(address) == 0
    (note,) = rig.npu.notes
    assert "written outside the block" in note
    assert f"{address:#x} of 100 bytes" in note


def test_a_strict_device_refuses_the_first_byte_past_the_requested_size():
    rig = Rig(A2)
    address = rig.malloc(100)
    assert rig.write(address + 92, b"\x00" * 8) == 0
    with pytest.raises(DeviceMemoryError, match="bytes 96 to 104 of a block of 100"):
        rig.write(address + 96, b"\x00" * 8)
    assert rig.npu.heap.find(address).canaries_intact
    assert rig.free(address) == 0


def test_a_lenient_device_refuses_what_lies_behind_the_padding():
    rig = Rig(A2, strict=False)
    address = rig.malloc(100)
    assert rig.write(address + 152, b"\x00" * 8) == 0  # 128 + 32 bytes are there
    assert rig.write(address + 153, b"\x00" * 8) == 507013
    assert "bytes 153 to 161 of a block of 100" in rig.npu.notes[-1]


def test_on_950_there_is_no_padding_to_write_into():
    rig = Rig(A950, strict=False)
    address = rig.malloc(96)
    assert rig.write(address + 90, b"\x00" * 8) == 507013


def test_writing_the_whole_block_leaves_both_canaries_intact():
    memory = heap(padding=32)
    for size in (1, 31, 32, 33, LAZY, LAZY + 1):
        block = memory.malloc(size)
        memory.view(block.address, size, "write", write=True)[...] = 0
        assert block.canaries_intact


def test_both_canaries_notice_one_wrong_byte():
    memory = heap()
    for place in (0, 63, -1, -64):
        block = memory.malloc(64)
        assert block.canaries_intact
        block._data[place] ^= 1
        assert not block.canaries_intact


# -- accounts ------------------------------------------------------------------


def test_every_byte_asked_for_is_counted_and_given_back():
    memory = heap(padding=32)
    sizes = [1, 100, 4096, LAZY + 1]
    blocks = [memory.malloc(size) for size in sizes]
    assert memory.used == sum(sizes)
    assert len(memory) == len(sizes)
    for block in blocks:
        memory.free(block.address)
    assert (memory.used, len(memory)) == (0, 0)
    assert memory.report() == {
        "used": 0,
        "peak": sum(sizes),
        "blocks": 0,
        "allocations": len(sizes),
    }


def test_the_peak_is_the_most_that_was_in_use_at_once():
    memory = heap()
    first = memory.malloc(1000)
    memory.free(first.address)
    second = memory.malloc(600)
    memory.malloc(500)
    assert (memory.used, memory.peak) == (1100, 1100)
    memory.free(second.address)
    assert (memory.used, memory.peak) == (500, 1100)


def test_mem_info_tells_free_and_total():
    rig = Rig()
    free, total = rig.new("size_t *"), rig.new("size_t *")
    rig.malloc(1000)
    assert rig("aclrtGetMemInfo", 1, free, total) == 0
    assert total[0] == rig.npu.soc.memory_bytes
    assert free[0] == total[0] - 1000


def test_more_than_the_device_has_gives_out_of_memory_and_changes_nothing():
    rig = Rig()
    out = rig.new("void **")
    assert rig("aclrtMalloc", out, rig.npu.soc.memory_bytes + 1, 0) == 207001
    assert rig("aclrtMalloc", out, 2**63, 0) == 207001
    assert out[0] == NULL
    assert rig.npu.heap.report() == {"used": 0, "peak": 0, "blocks": 0, "allocations": 0}


def test_memory_that_others_hold_counts_against_the_device():
    memory = heap(capacity=1000)
    first = memory.malloc(600)
    assert memory.malloc(401) is None
    assert memory.malloc(400) is not None
    memory.free(first.address)
    assert memory.malloc(600) is not None


# -- faults --------------------------------------------------------------------


def test_a_fault_names_the_freed_block_and_what_it_was():
    memory = heap()
    block = memory.malloc(100)
    block.what = "the workspace"
    memory.free(block.address)
    with pytest.raises(HeapFault) as caught:
        memory.view(block.address + 10, 4, "Cast reads")
    assert caught.value.freed
    text = str(caught.value)
    assert text.startswith(f"Cast reads: 4 bytes at {block.address + 10:#x}")
    assert "this memory (the workspace) was freed" in text
    assert f"block {block.address:#x}, 100 bytes" in text


def test_a_fault_past_the_end_tells_offsets_and_size():
    memory = heap()
    block = memory.malloc(100)
    with pytest.raises(HeapFault, match="bytes 98 to 102 of a block of 100") as caught:
        memory.view(block.address + 98, 4, "read")
    assert not caught.value.freed


@pytest.mark.parametrize(
    ("address", "words"),
    [(0, "null device pointer"), (4096, "no device memory"), (DEVICE_BASE - 64, "no device")],
)
def test_a_fault_elsewhere_says_that_nothing_is_there(address, words):
    memory = heap()
    memory.malloc(100)
    with pytest.raises(HeapFault, match=words):
        memory.view(address, 4, "read")


def test_the_last_byte_of_a_block_can_be_read_and_the_next_cannot():
    memory = heap()
    block = memory.malloc(100)
    assert memory.view(block.address + 99, 1, "read").tolist() == [FRESH]
    with pytest.raises(HeapFault):
        memory.view(block.address + 99, 2, "read")
    with pytest.raises(HeapFault):
        memory.view(block.address - 1, 2, "read")


@pytest.mark.parametrize("offset", [1, 32, 64])
def test_only_the_start_of_a_block_can_be_freed(offset):
    rig = Rig()
    address = rig.malloc(100)
    with pytest.raises(LifetimeError, match="no live block"):
        rig.free(address + offset)
    assert rig.npu.heap.used == 100
    assert rig.free(address) == 0


def test_freeing_twice_is_caught_and_told_apart_from_a_wild_address():
    rig = Rig()
    address = rig.malloc(100)
    rig.free(address)
    with pytest.raises(LifetimeError, match="was freed") as caught:
        rig.free(address)
    assert caught.value.seen == 107000
    with pytest.raises(LifetimeError, match="no device memory there"):
        rig.free(0x1000)
    lenient = Rig(strict=False)
    address = lenient.malloc(100)
    assert lenient.free(address) == 0
    assert lenient.free(address) == 107000
    assert lenient.npu.heap.used == 0


def test_a_stale_address_stays_recognised_after_many_later_blocks():
    rig = Rig()
    stale = rig.malloc(64)
    rig.free(stale)
    for _ in range(500):
        rig.free(rig.malloc(64))
    with pytest.raises(LifetimeError, match="was freed"):
        rig.read(stale, 4)


def test_a_copy_from_freed_memory_is_a_lifetime_error_and_from_outside_a_memory_error():
    rig = Rig()
    address = rig.malloc(64)
    with pytest.raises(DeviceMemoryError):
        rig.read(address, 65)
    rig.free(address)
    with pytest.raises(LifetimeError):
        rig.read(address, 4)


def test_a_lenient_copy_from_freed_memory_fails_as_the_dma_would_and_leaves_a_note():
    rig = Rig(strict=False)
    address = rig.malloc(64)
    rig.free(address)
    target = rig.new("char[4]", b"abcd")
    assert rig("aclrtMemcpy", target, 4, rig.pointer(address), 4, D2H) == 507013
    assert rig.ffi.buffer(target)[:] == b"abcd"
    assert "was freed" in rig.npu.notes[-1]


# -- the memory behind freed blocks ----------------------------------------------


KEPT = 32 * LAZY


def written(memory, size, value=7):
    block = memory.malloc(size)
    block.view(block.address, size, write=True)[...] = value
    return block


def test_a_large_block_in_the_memory_of_a_freed_one_is_fresh_all_the_same():
    memory = heap()
    first = written(memory, KEPT + 33)
    kept = first._data
    memory.free(first.address)
    second = memory.malloc(KEPT + 40)  # rounded up to the same size
    assert second._data is kept and second.address != first.address
    assert (second.view(second.address, second.size) == FRESH).all()
    assert second.canaries_intact


@pytest.mark.parametrize("size", [100, 5 * LAZY, KEPT])
def test_two_live_blocks_never_share_memory(size):
    memory = heap()
    memory.free(written(memory, size).address)
    first, second = written(memory, size, 1), written(memory, size, 2)
    assert (first.view(first.address, size) == 1).all()
    assert (second.view(second.address, size) == 2).all()


def test_memory_that_queued_work_still_refers_to_is_not_handed_on():
    memory = heap()
    ghost = written(memory, KEPT)
    memory.free(ghost.address, keep_ghost=True)
    written(memory, KEPT, 9)
    assert (memory.view(ghost.address, KEPT, "late") == FREED).all()


def test_only_so_much_memory_of_freed_blocks_is_kept(monkeypatch):
    monkeypatch.setattr("labkit.sim.heap._KEEP_FROM", LAZY)
    monkeypatch.setattr("labkit.sim.heap._MOST_SPARE", 5 * LAZY)
    memory = heap()
    blocks = [memory.malloc(2 * LAZY - 128) for _ in range(4)]
    gone = [weakref.ref(block._data) for block in blocks]
    for block in blocks:
        memory.free(block.address)
    del block, blocks
    gc.collect()
    assert [ref() is None for ref in gone] == [True, True, False, False]


def test_what_is_kept_is_given_back_when_memory_runs_out(monkeypatch):
    memory = heap()
    first = memory.malloc(KEPT)
    gone = weakref.ref(first._data)
    memory.free(first.address)
    del first
    real, tried = np.empty, []

    def empty(shape, *args, **kwargs):
        if not tried:
            tried.append(shape)
            raise MemoryError
        assert gone() is None
        return real(shape, *args, **kwargs)

    monkeypatch.setattr(np, "empty", empty)
    assert memory.malloc(2 * KEPT) is not None
