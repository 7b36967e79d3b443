"""The software NPU's device memory.

Addresses come from a range that no host pointer has and are never given out
twice, so a stale pointer is always recognised. Every block has a canary at
both ends; fresh memory holds 0xCD, freed memory 0xDD, so that reading too
early or too late shows. Large blocks are poisoned page by page on first touch:
a 16 MiB workspace that no kernel looks at costs nothing. The memory behind the
largest blocks is kept for a while when they are freed: what the host's system
hands out it clears first, which took as long as the copies of a whole call.

Sizes follow aclrtMalloc: rounded up to 32 bytes plus the chip's padding,
64-byte aligned, never cleared (cann/runtime 681ef761, platform files for the
padding).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["DEVICE_BASE", "FREED", "FRESH", "Block", "Heap", "HeapFault"]

Bytes = npt.NDArray[np.uint8]

DEVICE_BASE = 0x12C0_0000_0000
_DEVICE_END = DEVICE_BASE + (1 << 44)
FRESH, FREED = 0xCD, 0xDD
_GUARD = 64
_CANARY = 0xA5
_PAGE = 64 * 1024
_LAZY_FROM = 1024 * 1024
_KEEP_FROM = 32 * 1024 * 1024
"""Bytes from which the memory of a freed block is kept; smaller ones the C library keeps itself."""

_MOST_SPARE = 256 * 1024 * 1024
"""Bytes of freed blocks that are kept, for the next ones of the same size."""


class HeapFault(Exception):  # noqa: N818 - internal signal, translated by its callers
    """An access that device memory cannot serve; `freed` tells a stale address."""

    def __init__(self, text: str, *, freed: bool = False) -> None:
        super().__init__(text)
        self.freed = freed


class _Spares:
    """Memory of freed blocks, the oldest first; never more than `_MOST_SPARE` bytes."""

    def __init__(self) -> None:
        self._kept: list[Bytes] = []

    def take(self, nbytes: int) -> Bytes:
        """Memory of that size with any content."""
        for place, data in enumerate(self._kept):
            if data.nbytes == nbytes:
                return self._kept.pop(place)
        return np.empty(nbytes, np.uint8)

    def keep(self, data: Bytes) -> None:
        """Take memory that nobody uses any more."""
        self._kept.append(data)
        while sum(kept.nbytes for kept in self._kept) > _MOST_SPARE:
            del self._kept[0]

    def drop(self) -> None:
        """Give all of it back to the system."""
        self._kept.clear()


class Block:
    """One allocation: `address`, requested `size` in bytes, its bytes between two canaries."""

    __slots__ = ("_data", "_untouched", "address", "limit", "size", "what")

    def __init__(self, address: int, size: int, padding: int, spares: _Spares) -> None:
        self.address, self.size = address, size
        self.limit = (size + 31) // 32 * 32 + padding
        self.what = ""
        data = spares.take(self.limit + 2 * _GUARD)
        self._untouched: npt.NDArray[np.bool_] | None = None
        if self.limit < _LAZY_FROM:
            data.fill(FRESH)
        else:
            self._untouched = np.ones(-(-self.limit // _PAGE), np.bool_)
        data[:_GUARD] = _CANARY
        data[_GUARD + size :] = _CANARY
        self._data = data

    def view(self, address: int, nbytes: int, *, write: bool = False) -> Bytes:
        """Bytes [address, address + nbytes); the caller has checked the bounds."""
        start = address - self.address
        if self._untouched is not None and nbytes:
            self._touch(start, start + nbytes, write)
        return self._data[_GUARD + start : _GUARD + start + nbytes]

    def _touch(self, start: int, stop: int, write: bool) -> None:
        """Poison the pages of a range that nobody has seen yet.

        A page that is about to be overwritten as a whole needs none.
        """
        assert self._untouched is not None
        first, last = start // _PAGE, (stop - 1) // _PAGE
        pages = np.flatnonzero(self._untouched[first : last + 1]) + first
        for page in pages.tolist():
            low, high = page * _PAGE, min((page + 1) * _PAGE, self.size)
            if not (write and start <= low and high <= stop):
                self._data[_GUARD + low : _GUARD + high] = FRESH
            self._untouched[page] = False

    @property
    def canaries_intact(self) -> bool:
        """Whether nothing was written in front of or behind the block."""
        front = self._data[:_GUARD].tobytes()
        behind = self._data[_GUARD + self.size :].tobytes()
        return front.count(_CANARY) == len(front) and behind.count(_CANARY) == len(behind)

    def hand_on(self, spares: _Spares) -> None:
        """Keep the memory of a freed block for another one, if it is large."""
        if self.limit >= _KEEP_FROM:
            spares.keep(self._data)

    def poison(self) -> None:
        """Overwrite the block as freed memory."""
        self._untouched = None
        self._data[_GUARD : _GUARD + self.size] = FREED


class Heap:
    """All blocks of one device; counts every byte.

    `strict` refuses an access past the requested size; without it the padding
    may be touched, as on the real device, and the canaries tell.
    """

    def __init__(self, *, capacity: int, padding: int, strict: bool) -> None:
        self.capacity, self.padding, self.strict = capacity, padding, strict
        self.used = 0
        self.peak = 0
        self.allocations = 0
        self._blocks: dict[int, Block] = {}
        self._order: list[int] = []
        self._next = DEVICE_BASE
        self._freed: deque[tuple[int, int, str]] = deque(maxlen=4096)
        self._ghosts: list[Block] = []
        self._spares = _Spares()

    def __len__(self) -> int:
        return len(self._blocks)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Live blocks, oldest first."""
        return tuple(self._blocks.values())

    def malloc(self, size: int, *, padding: int | None = None) -> Block | None:
        """A new block, or None when the device (or the host behind it) is out of memory."""
        if self.used + size > self.capacity:
            return None
        try:
            block = self._block(size, self.padding if padding is None else padding)
        except MemoryError:
            return None
        # The gap keeps a small overrun from landing in the neighbour.
        self._next += (block.limit + 4096 + 511) // 512 * 512
        self._blocks[block.address] = block
        self._order.append(block.address)
        self.used += size
        self.peak = max(self.peak, self.used)
        self.allocations += 1
        return block

    def _block(self, size: int, padding: int) -> Block:
        try:
            return Block(self._next, size, padding, self._spares)
        except MemoryError:
            self._spares.drop()  # what is kept of other sizes may be what is missing
        return Block(self._next, size, padding, self._spares)

    def free(self, address: int, *, keep_ghost: bool = False) -> Block:
        """Take a block back. `keep_ghost`: queued work still refers to it and finds poison."""
        block = self._blocks.pop(address, None)
        if block is None:
            raise self._fault(address, 1, "freed")
        del self._order[bisect_right(self._order, address) - 1]
        self.used -= block.size
        self._freed.append((block.address, block.size, block.what))
        if keep_ghost:
            block.poison()
            self._ghosts.append(block)
        else:
            block.hand_on(self._spares)
        return block

    def drop_ghosts(self) -> None:
        """Forget freed blocks: the work that referred to them has run."""
        self._ghosts.clear()

    def find(self, address: int) -> Block | None:
        """The live block that contains an address."""
        place = bisect_right(self._order, address) - 1
        if place < 0:
            return None
        block = self._blocks[self._order[place]]
        return block if address < block.address + max(block.limit, 1) else None

    def is_device(self, address: int) -> bool:
        """Whether an address lies in the device's range, live or not, given out or not."""
        return DEVICE_BASE <= address < _DEVICE_END

    def check(self, address: int, nbytes: int, what: str) -> Block:
        """The block behind a range; raises `HeapFault` saying what is wrong with it."""
        block = self.find(address)
        limit = 0 if block is None else (block.size if self.strict else block.limit)
        if block is not None and address + nbytes <= block.address + limit:
            return block
        for ghost in self._ghosts:
            if ghost.address <= address and address + nbytes <= ghost.address + ghost.limit:
                return ghost
        raise self._fault(address, nbytes, what)

    def view(self, address: int, nbytes: int, what: str, *, write: bool = False) -> Bytes:
        """Bytes of a device range for reading or writing; raises `HeapFault`."""
        return self.check(address, nbytes, what).view(address, nbytes, write=write)

    def _fault(self, address: int, nbytes: int, what: str) -> HeapFault:
        span = f"{what}: {nbytes} bytes at {address:#x}"
        for start, size, name in reversed(self._freed):
            if start <= address < start + size:
                named = f" ({name})" if name else ""
                text = f"{span}: this memory{named} was freed (block {start:#x}, {size} bytes)"
                return HeapFault(text, freed=True)
        block = self.find(address)
        if block is not None:
            offset = address - block.address
            text = f"{span}: bytes {offset} to {offset + nbytes} of a block of {block.size}"
            return HeapFault(text)
        if address == 0:
            return HeapFault(f"{span}: a null device pointer")
        return HeapFault(f"{span}: no device memory there")

    def report(self) -> dict[str, Any]:
        """Bytes and blocks in use now, at most, and how many allocations there were."""
        return {
            "used": self.used,
            "peak": self.peak,
            "blocks": len(self),
            "allocations": self.allocations,
        }
