"""The memory calls of the software NPU: aclrtMalloc to aclrtMemset.

Return codes follow cann/runtime 681ef761. As on the device, a synchronous copy
does not wait for the streams: reading a result before synchronise shows poison
(or, in strict mode, raises), and freeing what queued work needs is caught.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.errors import DeviceMemoryError, LifetimeError
from labkit.op.describe import contiguous_strides
from labkit.op.dtypes import data_type
from labkit.sim.heap import HeapFault
from labkit.sim.kernels import Access, overlaps
from labkit.sim.runtime import INVALID_PARAM, RT_CONTEXT_NULL, RT_PARAM_INVALID, SUCCESS
from labkit.sim.streams import Stream, Work

if TYPE_CHECKING:
    from labkit.sim.npu import SoftwareNpu

__all__ = ["Memory"]

OUT_OF_MEMORY = 207001
DMA_ERROR = 507013
_POLICIES = range(0, 8)
_KINDS = range(0, 6)
_BYTE = data_type("uint8")


def _range(address: int, nbytes: int) -> Access:
    return Access(address, _BYTE, (nbytes,), contiguous_strides((nbytes,)))


class Memory:
    """Device and pinned host memory of one software NPU."""

    def __init__(self, npu: SoftwareNpu) -> None:
        self.npu = npu
        self.pinned: dict[int, Any] = {}
        self.ghosts: list[Any] = []  # freed pinned memory that queued copies still refer to

    # -- allocation ------------------------------------------------------------

    def aclrtMalloc(self, pointer: Any, size: int, policy: int) -> int:
        return self._malloc(pointer, size, policy, None)

    def aclrtMallocAlign32(self, pointer: Any, size: int, policy: int) -> int:
        return self._malloc(pointer, size, policy, 0)

    def aclrtMallocCached(self, pointer: Any, size: int, policy: int) -> int:
        return self._malloc(pointer, size, policy, None)

    def _malloc(self, pointer: Any, size: int, policy: int, padding: int | None) -> int:
        npu = self.npu
        if pointer == npu.null or size == 0:
            return INVALID_PARAM
        if npu.runtime.current.context is None:
            return RT_CONTEXT_NULL
        code = npu.faults.malloc_code()
        if code:
            return code
        block = npu.heap.malloc(size, padding=padding)
        if block is None:
            return OUT_OF_MEMORY
        pointer[0] = npu.pointer("void *", block.address)
        return SUCCESS

    def aclrtFree(self, pointer: Any) -> int:
        npu = self.npu
        address = npu.address(pointer)
        if address == 0:
            return INVALID_PARAM
        if npu.runtime.current.context is None:
            return RT_CONTEXT_NULL
        block = npu.heap.find(address)
        user = self._user_of(address, block.size) if block is not None else None
        if user is not None and npu.strict:
            raise LifetimeError(
                f"aclrtFree({address:#x}) while {user} is queued and will use this memory; "
                "synchronise the stream first, then free"
            )
        try:
            freed = npu.heap.free(address, keep_ghost=user is not None)
        except HeapFault as fault:
            if npu.strict:
                raise LifetimeError(
                    f"aclrtFree of an address that is no live block: {fault}", seen=RT_PARAM_INVALID
                ) from None
            return RT_PARAM_INVALID
        if not freed.canaries_intact and user is None:
            text = (
                f"something was written outside the block {address:#x} of {freed.size} bytes; "
                "found when it was freed"
            )
            if npu.strict:
                raise DeviceMemoryError(text)
            npu.notes.append(text)
        return SUCCESS

    def _user_of(self, address: int, nbytes: int) -> str | None:
        """The queued work that reads or writes a range, by name."""
        wanted = _range(address, nbytes)
        for stream in self.npu.runtime.all_streams():
            for work in stream.queue:
                if any(overlaps(access, wanted) for access in (*work.reads, *work.writes)):
                    return work.what
        return None

    def aclrtMallocHost(self, pointer: Any, size: int) -> int:
        npu = self.npu
        if pointer == npu.null or size == 0:
            return INVALID_PARAM
        if npu.runtime.current.context is None:
            return RT_CONTEXT_NULL
        memory = npu.ffi.new("char[]", size)
        address = npu.address(memory)
        self.pinned[address] = memory
        npu.adopt_handle(address, "pinned host memory")
        pointer[0] = npu.pointer("void *", address)
        return SUCCESS

    def aclrtFreeHost(self, pointer: Any) -> int:
        address = self.npu.address(pointer)
        if address == 0:
            return INVALID_PARAM
        memory = self.pinned.get(address)
        if memory is None:
            return self.npu.stale("pinned host memory", address, RT_PARAM_INVALID)
        user = self._user_of(address, self.npu.ffi.sizeof(memory))
        if user is not None:
            if self.npu.strict:
                raise LifetimeError(
                    f"aclrtFreeHost({address:#x}) while {user} is queued and will use this "
                    "memory; synchronise the stream first, then free"
                )
            self.ghosts.append(memory)
        del self.pinned[address]
        self.npu.drop_handle(address)
        return SUCCESS

    def aclrtGetMemInfo(self, attribute: int, free: Any, total: Any) -> int:
        npu = self.npu
        if npu.null in (free, total):
            return INVALID_PARAM
        if npu.runtime.current.context is None:
            return RT_CONTEXT_NULL
        total[0] = npu.heap.capacity
        free[0] = npu.heap.capacity - npu.heap.used
        return SUCCESS

    # -- copies ----------------------------------------------------------------

    def aclrtMemcpy(self, dst: Any, dst_max: int, src: Any, count: int, kind: int) -> int:
        code = self._check_copy(dst, dst_max, src, count, kind)
        if code or count == 0:
            return code
        target, source = self.npu.address(dst), self.npu.address(src)
        if target == source:
            return SUCCESS
        if self.npu.strict:
            self._refuse_unsynchronised(target, source, count)
        return self._copy(target, source, count)

    def aclrtMemcpyAsync(
        self, dst: Any, dst_max: int, src: Any, count: int, kind: int, stream: Any
    ) -> int:
        code = self._check_copy(dst, dst_max, src, count, kind)
        if code or count == 0:
            return code
        queue = self.npu.runtime.stream_of(stream)
        if isinstance(queue, int):
            return queue
        target, source = self.npu.address(dst), self.npu.address(src)
        if not (self._waits(target, count) and self._waits(source, count)):
            # Pageable host memory: the copy is done when the call returns.
            failed = self.npu.runtime.drain(queue)
            return failed or self._copy(target, source, count)
        work = Work(
            "aclrtMemcpyAsync",
            lambda: self._copy(target, source, count),
            (_range(source, count),),
            (_range(target, count),),
        )
        queue.push(work)
        return SUCCESS

    def _waits(self, address: int, nbytes: int) -> bool:
        """Whether a copy with this end can be queued: device memory or pinned host memory."""
        if self.npu.heap.is_device(address):
            return True
        return any(
            start <= address and address + nbytes <= start + self.npu.ffi.sizeof(memory)
            for start, memory in self.pinned.items()
        )

    def _check_copy(self, dst: Any, dst_max: int, src: Any, count: int, kind: int) -> int:
        if count == 0:
            return SUCCESS
        if self.npu.null in (dst, src) or kind not in _KINDS:
            return INVALID_PARAM
        if self.npu.runtime.current.context is None:
            return RT_CONTEXT_NULL
        return RT_PARAM_INVALID if count > dst_max else SUCCESS

    def _refuse_unsynchronised(self, target: int, source: int, count: int) -> None:
        for stream in self.npu.runtime.all_streams():
            for work in stream.queue:
                early = any(overlaps(_range(source, count), access) for access in work.writes)
                late = any(
                    overlaps(_range(target, count), access)
                    for access in (*work.reads, *work.writes)
                )
                if early or late:
                    verb = "reads what" if early else "writes what"
                    raise LifetimeError(
                        f"aclrtMemcpy {verb} queued work ({work.what}) has not finished with; "
                        "call aclrtSynchronizeStream first (aclrtMemcpy does not wait for streams)"
                    )

    def _copy(self, target: int, source: int, count: int) -> int:
        """Move bytes; the direction is told by the addresses, not by the kind."""
        npu = self.npu
        try:
            data = self._bytes(source, count, "copy reads", write=False)
            room = self._bytes(target, count, "copy writes", write=True)
        except HeapFault as fault:
            return npu.device_fault(fault, DMA_ERROR)
        npu.ffi.memmove(room, data, count)
        return SUCCESS

    def _bytes(self, address: int, count: int, what: str, *, write: bool) -> Any:
        npu = self.npu
        if npu.heap.is_device(address):
            view = npu.heap.view(address, count, what, write=write)
            return npu.ffi.from_buffer("char[]", view, require_writable=write)
        return npu.ffi.buffer(npu.ffi.cast("char *", address), count)

    def aclrtMemset(self, pointer: Any, maximum: int, value: int, count: int) -> int:
        code = self._check_set(pointer, maximum, count)
        return code if code or count == 0 else self._set(self.npu.address(pointer), value, count)

    def aclrtMemsetAsync(
        self, pointer: Any, maximum: int, value: int, count: int, stream: Any
    ) -> int:
        code = self._check_set(pointer, maximum, count)
        if code or count == 0:
            return code
        queue = self.npu.runtime.stream_of(stream)
        if isinstance(queue, int):
            return queue
        address = self.npu.address(pointer)
        self._queue_set(queue, address, value, count)
        return SUCCESS

    def _queue_set(self, queue: Stream, address: int, value: int, count: int) -> None:
        work = Work(
            "aclrtMemsetAsync",
            lambda: self._set(address, value, count),
            (),
            (_range(address, count),),
        )
        queue.push(work)

    def _check_set(self, pointer: Any, maximum: int, count: int) -> int:
        if count == 0:
            return SUCCESS
        if pointer == self.npu.null:
            return INVALID_PARAM
        if self.npu.runtime.current.context is None:
            return RT_CONTEXT_NULL
        return RT_PARAM_INVALID if count > maximum else SUCCESS

    def _set(self, address: int, value: int, count: int) -> int:
        if not self.npu.heap.is_device(address) and self._waits(address, count):
            self.npu.ffi.buffer(self.npu.ffi.cast("char *", address), count)[:] = (
                bytes([value & 0xFF]) * count
            )
            return SUCCESS
        try:
            self.npu.heap.view(address, count, "memset writes", write=True)[...] = value & 0xFF
        except HeapFault as fault:
            return self.npu.device_fault(fault, DMA_ERROR)
        return SUCCESS
