"""The runtime half of the software NPU: aclInit, devices, contexts.

Every method is one C function of `cann.h` and has its name; return codes follow
cann/runtime 681ef761 as far as its sources show them. Streams and events are in
queues.py, memory in memory.py, the aclnn half in tensors.py, phases.py and
executors.py.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.sim.config import ConfigError, differs, read_config
from labkit.sim.streams import Stream

if TYPE_CHECKING:
    from labkit.sim.npu import SoftwareNpu

__all__ = ["Context", "Runtime"]

SUCCESS = 0
INVALID_PARAM = 100000
REPEAT_INITIALIZE = 100002
REPEAT_FINALIZE = 100037
RT_PARAM_INVALID = 107000
RT_INVALID_DEVICE = 107001
RT_CONTEXT_NULL = 107002
RT_STREAM_CONTEXT = 107003
RT_INVALID_HANDLE = 107017

_ATTRIBUTES = {
    101: "ai_cores",
    201: "vector_cores",
    204: "ub_bytes",
    301: "memory_bytes",
    302: "l2_bytes",
    601: "npu_arch",
}


@dataclass(eq=False)
class Context:
    """An aclrtContext of a device; the primary one is shared by all threads that set the device."""

    handle: int
    device: int
    default_stream: Stream
    primary: bool = False
    references: int = 0
    alive: bool = True


class _Current(threading.local):
    """What a thread has: its context, None once that was destroyed, and its last error."""

    bound: Context | None = None
    last_error: int = 0

    @property
    def context(self) -> Context | None:
        if self.bound is not None and not self.bound.alive:
            self.bound = None
        return self.bound

    @context.setter
    def context(self, context: Context | None) -> None:
        self.bound = context


class Runtime:
    """Devices and contexts of one software NPU, and the streams that live in them."""

    def __init__(self, npu: SoftwareNpu) -> None:
        self.npu = npu
        self.inits = 0
        self.finalised = False
        self.config: tuple[bytes, str] | None = None  # the first one's content and path
        self.contexts: dict[int, Context] = {}
        self.primary: dict[int, Context] = {}
        self.streams: dict[int, Stream] = {}
        self.current = _Current()

    # -- helpers ---------------------------------------------------------------

    def stream_of(self, pointer: Any) -> Stream | int:
        """The stream that a handle means (null: the default one), or a code."""
        context = self.current.context
        if context is None:
            return RT_CONTEXT_NULL
        handle = self.npu.address(pointer)
        if handle == 0:
            return context.default_stream
        stream = self.streams.get(handle)
        if stream is None:
            return self.npu.stale("aclrtStream", handle, RT_INVALID_HANDLE)
        return stream if stream.context == context.handle else RT_STREAM_CONTEXT

    def all_streams(self) -> list[Stream]:
        """Every live stream, the default ones included."""
        return [*self.streams.values(), *(c.default_stream for c in self.contexts.values())]

    def _new_context(self, device: int, primary: bool) -> Context:
        handle = self.npu.new_handle("aclrtContext")
        stream = Stream(self.npu.new_handle("default stream", owned=False), handle)
        context = Context(handle, device, stream, primary)
        self.contexts[handle] = context
        return context

    def _drop_context(self, context: Context) -> None:
        streams = [context.default_stream]
        streams += [s for s in self.streams.values() if s.context == context.handle]
        try:
            for stream in streams:
                stream.drain()
        finally:
            self.streams.pop(context.default_stream.handle, None)
            self.contexts.pop(context.handle, None)
            self.npu.drop_handle(context.handle)
            if self.primary.get(context.device) is context:
                del self.primary[context.device]
            context.alive = False

    # -- init and versions -----------------------------------------------------

    def aclInit(self, config: Any) -> int:
        if self.inits:  # then nobody looks at the file
            self.inits += 1
            return REPEAT_INITIALIZE
        path = b"" if config == self.npu.null else self.npu.ffi.string(config)
        try:
            content = read_config(path)
            if self.config is not None and content != self.config[0]:
                raise differs(path, self.config[1])
        except ConfigError as refused:
            self.npu.messages.add(refused.message)
            return refused.code
        self.config = self.config or (content, os.fsdecode(path))
        self.inits, self.finalised = 1, False
        return SUCCESS

    def aclFinalize(self) -> int:
        if self.finalised:
            return REPEAT_FINALIZE
        self.inits, self.finalised = 0, True
        self._tell_finalised()
        return SUCCESS

    def aclFinalizeReference(self, count: Any) -> int:
        if self.inits == 0:
            return REPEAT_FINALIZE
        self.inits -= 1
        self.finalised = self.inits == 0
        if count != self.npu.null:
            count[0] = self.inits
        if self.finalised:
            self._tell_finalised()
        return SUCCESS

    def _tell_finalised(self) -> None:
        if self.npu.on_finalize is not None:
            self.npu.on_finalize()

    def aclnnInit(self, config: Any) -> int:
        return SUCCESS

    def aclnnFinalize(self) -> int:
        return SUCCESS

    def aclGetRecentErrMsg(self) -> Any:
        text = self.npu.messages.take_text()
        if text is None:
            return self.npu.null
        # Valid until this thread's next call, as the real one says of its pointer.
        kept = self.npu.ffi.new("char[]", text.encode())
        self.npu.messages.last = kept
        return kept

    def aclrtGetVersion(self, major: Any, minor: Any, patch: Any) -> int:
        if self.npu.null in (major, minor, patch):
            return INVALID_PARAM
        major[0], minor[0], patch[0] = 1, 17, 0
        return SUCCESS

    def aclsysGetVersionStr(self, package: Any, version: Any) -> int:
        if self.npu.null in (package, version):
            return INVALID_PARAM
        text = b"software NPU"
        self.npu.ffi.memmove(version, text + b"\0", len(text) + 1)
        return SUCCESS

    def aclsysGetVersionNum(self, package: Any, version: Any) -> int:
        if self.npu.null in (package, version):
            return INVALID_PARAM
        version[0] = 0
        return SUCCESS

    def aclrtPeekAtLastError(self, level: int) -> int:
        return self.current.last_error

    def aclrtGetLastError(self, level: int) -> int:
        code, self.current.last_error = self.current.last_error, SUCCESS
        return code

    # -- devices ---------------------------------------------------------------

    def aclrtSetDevice(self, device: int) -> int:
        if not 0 <= device < self.npu.devices:
            return RT_INVALID_DEVICE
        context = self.primary.get(device)
        if context is None:
            context = self.primary[device] = self._new_context(device, True)
        context.references += 1
        self.current.context = context
        return SUCCESS

    def aclrtResetDevice(self, device: int) -> int:
        return self._reset(device, force=False)

    def aclrtResetDeviceForce(self, device: int) -> int:
        return self._reset(device, force=True)

    def _reset(self, device: int, *, force: bool) -> int:
        if not 0 <= device < self.npu.devices:
            return RT_INVALID_DEVICE
        context = self.primary.get(device)
        if context is None:
            return RT_CONTEXT_NULL
        context.references = 0 if force else context.references - 1
        if context.references <= 0:
            self._drop_context(context)
        return SUCCESS

    def aclrtGetDevice(self, device: Any) -> int:
        if device == self.npu.null:
            return INVALID_PARAM
        if self.current.context is None:
            return RT_CONTEXT_NULL
        device[0] = self.current.context.device
        return SUCCESS

    def aclrtGetDeviceCount(self, count: Any) -> int:
        if count == self.npu.null:
            return INVALID_PARAM
        count[0] = self.npu.devices
        return SUCCESS

    def aclrtGetSocName(self) -> Any:
        return self.npu.soc_name

    def aclrtGetRunMode(self, mode: Any) -> int:
        if mode == self.npu.null:
            return INVALID_PARAM
        mode[0] = 1  # ACL_HOST: the program runs beside the device, not on it
        return SUCCESS

    def aclrtGetDeviceInfo(self, device: int, attribute: int, value: Any) -> int:
        if value == self.npu.null:
            return INVALID_PARAM
        if not 0 <= device < self.npu.devices:
            return RT_INVALID_DEVICE
        if attribute == 102:
            value[0] = self.npu.soc.ai_cores if self.npu.soc.split else 0
            return SUCCESS
        field = _ATTRIBUTES.get(attribute)
        if field is None:
            return RT_PARAM_INVALID
        regbase_only = attribute == 204 and not self.npu.soc.is_regbase
        value[0] = 0 if regbase_only else getattr(self.npu.soc, field) or 0
        return SUCCESS

    def aclGetDeviceCapability(self, device: int, info: int, value: Any) -> int:
        attribute = {0: 101, 1: 201, 2: 302}.get(info)
        if attribute is None:
            return INVALID_PARAM
        return self.aclrtGetDeviceInfo(device, attribute, value)

    def aclrtSynchronizeDevice(self) -> int:
        return self.aclrtSynchronizeDeviceWithTimeout(-1)

    def aclrtSynchronizeDeviceWithTimeout(self, timeout: int) -> int:
        if timeout < -1 or timeout == 0:
            return RT_PARAM_INVALID
        context = self.current.context
        if context is None:
            return RT_CONTEXT_NULL
        alive = {c.handle for c in self.contexts.values() if c.device == context.device}
        codes = [self.drain(s) for s in self.all_streams() if s.context in alive]
        self.npu.after_synchronise()
        return next((code for code in codes if code), SUCCESS)

    def drain(self, stream: Stream) -> int:
        """Run a stream's work; the first failure is reported under its name."""
        return self.tell(stream, stream.drain())

    def tell(self, stream: Stream, code: int) -> int:
        """Report a failure of a stream's work, if it is one, to this thread; the code."""
        if code:
            self.current.last_error = code
            self.npu.messages.report(
                "EZ9903", f"{stream.failed_work} failed on the device with {code}", str(code)
            )
        return code

    # -- contexts --------------------------------------------------------------

    def aclrtCreateContext(self, context: Any, device: int) -> int:
        if context == self.npu.null:
            return INVALID_PARAM
        if not 0 <= device < self.npu.devices:
            return RT_INVALID_DEVICE
        made = self._new_context(device, False)
        self.current.context = made
        context[0] = self.npu.pointer("void *", made.handle)
        return SUCCESS

    def aclrtDestroyContext(self, context: Any) -> int:
        handle = self.npu.address(context)
        found = self.contexts.get(handle)
        if handle == 0:
            return INVALID_PARAM
        if found is None:
            return self.npu.stale("aclrtContext", handle, RT_INVALID_HANDLE)
        if found.primary:
            return RT_PARAM_INVALID
        self._drop_context(found)
        return SUCCESS

    def aclrtSetCurrentContext(self, context: Any) -> int:
        handle = self.npu.address(context)
        if handle == 0:
            return INVALID_PARAM
        found = self.contexts.get(handle)
        if found is None:
            return self.npu.stale("aclrtContext", handle, RT_INVALID_HANDLE)
        self.current.context = found
        return SUCCESS

    def aclrtGetCurrentContext(self, context: Any) -> int:
        if context == self.npu.null:
            return INVALID_PARAM
        if self.current.context is None:
            return RT_CONTEXT_NULL
        context[0] = self.npu.pointer("void *", self.current.context.handle)
        return SUCCESS
