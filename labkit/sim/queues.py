"""Streams and events of the software NPU, as C functions.

Every method is one C function of `cann.h` and has its name; return codes follow
cann/runtime 681ef761 as far as its sources show them. What a stream is, and when
its work runs, is in streams.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.errors import LifetimeError
from labkit.sim.runtime import (
    INVALID_PARAM,
    RT_CONTEXT_NULL,
    RT_INVALID_HANDLE,
    RT_PARAM_INVALID,
    SUCCESS,
)
from labkit.sim.streams import Event, Stream, Work, record

if TYPE_CHECKING:
    from labkit.sim.npu import SoftwareNpu

__all__ = ["Queues"]

RT_EVENT_TIMESTAMP_INVALID = 107006


class Queues:
    """The calls on streams and events of one software NPU."""

    def __init__(self, npu: SoftwareNpu) -> None:
        self.npu = npu
        self.runtime = npu.runtime
        self.events: dict[int, Event] = {}

    # -- streams ---------------------------------------------------------------

    def aclrtCreateStream(self, stream: Any) -> int:
        if stream == self.npu.null:
            return INVALID_PARAM
        if self.runtime.current.context is None:
            return RT_CONTEXT_NULL
        made = Stream(self.npu.new_handle("aclrtStream"), self.runtime.current.context.handle)
        self.runtime.streams[made.handle] = made
        stream[0] = self.npu.pointer("void *", made.handle)
        return SUCCESS

    def aclrtCreateStreamWithConfig(self, stream: Any, priority: int, flag: int) -> int:
        return self.aclrtCreateStream(stream)

    def aclrtDestroyStream(self, stream: Any) -> int:
        handle = self.npu.address(stream)
        if handle == 0:
            return INVALID_PARAM
        found = self.runtime.stream_of(stream)
        if isinstance(found, int):
            return found
        try:
            found.drain()  # destroying waits for the stream's work
        finally:
            del self.runtime.streams[handle]
            self.npu.drop_handle(handle)
            self.npu.after_synchronise()
        return SUCCESS

    def aclrtDestroyStreamForce(self, stream: Any) -> int:
        found = self.runtime.streams.get(self.npu.address(stream))
        if found is not None:
            found.drop()
        return self.aclrtDestroyStream(stream)

    def aclrtSynchronizeStream(self, stream: Any) -> int:
        return self.aclrtSynchronizeStreamWithTimeout(stream, -1)

    def aclrtSynchronizeStreamWithTimeout(self, stream: Any, timeout: int) -> int:
        if timeout < -1 or timeout == 0:
            return RT_PARAM_INVALID
        found = self.runtime.stream_of(stream)
        if isinstance(found, int):
            return found
        code = self.runtime.drain(found)
        self.npu.after_synchronise()
        return code

    def aclrtStreamQuery(self, stream: Any, status: Any) -> int:
        if status == self.npu.null:
            return INVALID_PARAM
        found = self.runtime.stream_of(stream)
        if isinstance(found, int):
            return found
        status[0] = 1 if found.queue else 0
        found.step()
        return SUCCESS

    def aclrtCtxGetCurrentDefaultStream(self, stream: Any) -> int:
        if stream == self.npu.null:
            return INVALID_PARAM
        if self.runtime.current.context is None:
            return RT_CONTEXT_NULL
        default = self.runtime.current.context.default_stream
        self.runtime.streams.setdefault(default.handle, default)
        stream[0] = self.npu.pointer("void *", default.handle)
        return SUCCESS

    # -- events ----------------------------------------------------------------

    def aclrtCreateEvent(self, event: Any) -> int:
        if event == self.npu.null:
            return INVALID_PARAM
        if self.runtime.current.context is None:
            return RT_CONTEXT_NULL
        made = Event(self.npu.new_handle("aclrtEvent"))
        self.events[made.handle] = made
        event[0] = self.npu.pointer("void *", made.handle)
        return SUCCESS

    def aclrtCreateEventWithFlag(self, event: Any, flag: int) -> int:
        return self.aclrtCreateEvent(event)

    def aclrtCreateEventExWithFlag(self, event: Any, flag: int) -> int:
        code = self.aclrtCreateEvent(event)
        if code == SUCCESS:  # this kind counts as recorded before its first record
            self.events[self.npu.address(event[0])].ready_unrecorded = True
        return code

    def _event(self, pointer: Any) -> Event | int:
        handle = self.npu.address(pointer)
        if handle == 0:
            return INVALID_PARAM
        found = self.events.get(handle)
        return self.npu.stale("aclrtEvent", handle, RT_INVALID_HANDLE) if found is None else found

    def aclrtDestroyEvent(self, event: Any) -> int:
        found = self._event(event)
        if isinstance(found, int):
            return found
        del self.events[found.handle]
        self.npu.drop_handle(found.handle)
        return SUCCESS

    def _event_and_stream(self, event: Any, stream: Any) -> tuple[Event, Stream] | int:
        found = self._event(event)
        if isinstance(found, int):
            return found
        target = self.runtime.stream_of(stream)
        return target if isinstance(target, int) else (found, target)

    def aclrtRecordEvent(self, event: Any, stream: Any) -> int:
        both = self._event_and_stream(event, stream)
        if isinstance(both, int):
            return both
        found, target = both
        found.done_ns, found.stream, found.recorded = None, target, True
        found.records += 1
        number = found.records
        target.push(Work("aclrtRecordEvent", lambda: record(found, number), ends=True))
        return SUCCESS

    def aclrtResetEvent(self, event: Any, stream: Any) -> int:
        both = self._event_and_stream(event, stream)
        if isinstance(both, int):
            return both
        found, _ = both
        found.done_ns, found.recorded = None, False
        return SUCCESS

    def aclrtQueryEventStatus(self, event: Any, status: Any) -> int:
        if status == self.npu.null:
            return INVALID_PARAM
        found = self._event(event)
        if isinstance(found, int):
            return found
        if found.recorded:
            status[0] = 0 if found.done_ns is None else 1
        else:
            status[0] = 1 if found.ready_unrecorded else 0
        if found.stream is not None:
            found.stream.step()
        return SUCCESS

    def aclrtSynchronizeEvent(self, event: Any) -> int:
        found = self._event(event)
        if isinstance(found, int):
            return found
        if found.stream is not None:
            found.stream.run_until(found)
            self.npu.after_synchronise()
            return self.runtime.tell(found.stream, found.stream.take_failure())
        return SUCCESS

    def aclrtSynchronizeEventWithTimeout(self, event: Any, timeout: int) -> int:
        if timeout < -1 or timeout == 0:
            return RT_PARAM_INVALID
        return self.aclrtSynchronizeEvent(event)

    def aclrtStreamWaitEvent(self, stream: Any, event: Any) -> int:
        both = self._event_and_stream(event, stream)
        if isinstance(both, int):
            return both
        found, target = both
        source = found.stream

        def wait() -> int:
            if source is not None and source is not target:
                source.run_until(found)
            return SUCCESS

        target.push(Work("aclrtStreamWaitEvent", wait))
        return SUCCESS

    def aclrtEventElapsedTime(self, milliseconds: Any, start: Any, end: Any) -> int:
        if self.npu.null in (milliseconds, start, end):
            return INVALID_PARAM
        first, second = self._event(start), self._event(end)
        if isinstance(first, int) or isinstance(second, int):
            return RT_INVALID_HANDLE
        if first.done_ns is None or second.done_ns is None:
            if self.npu.strict and (first.recorded or second.recorded):
                raise LifetimeError(
                    "aclrtEventElapsedTime before both events have run; synchronise the stream "
                    "(or the events) first",
                    seen=RT_EVENT_TIMESTAMP_INVALID,
                )
            return RT_EVENT_TIMESTAMP_INVALID
        milliseconds[0] = (second.done_ns - first.done_ns) / 1e6
        return SUCCESS

    def aclrtEventGetTimestamp(self, event: Any, timestamp: Any) -> int:
        if timestamp == self.npu.null:
            return INVALID_PARAM
        found = self._event(event)
        if isinstance(found, int):
            return found
        if found.done_ns is None:
            return RT_EVENT_TIMESTAMP_INVALID
        timestamp[0] = found.done_ns // 1000
        return SUCCESS
