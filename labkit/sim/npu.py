"""The software NPU as a library: Python functions behind the prototypes of cann.h.

`SoftwareNpu` is what `dlopen` of the real libraries is: it answers with a C
function pointer for a name. One object is one machine with its own devices,
memory and init count.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from labkit.cann.interface import MissingSymbol, Prototype, ffi, prototypes
from labkit.errors import DeviceMemoryError, LabError, LifetimeError, StaysHere
from labkit.op.tables import Soc, find_soc
from labkit.sim.executors import Executors
from labkit.sim.faults import Faults
from labkit.sim.heap import Heap, HeapFault
from labkit.sim.kernels import Task
from labkit.sim.launches import OPERATORS, LaunchRecord, Log
from labkit.sim.memory import Memory
from labkit.sim.messages import MessageStore
from labkit.sim.phases import Phases
from labkit.sim.queues import Queues
from labkit.sim.runtime import Runtime
from labkit.sim.tensors import Tensors

__all__ = ["SoftwareNpu"]

_HANDLE_BASE = 0x7AB0_0000_0000
_DEFAULT_MEMORY = 32 * 1024**3


class SoftwareNpu(StaysHere):
    """An Ascend NPU in software, behind CANN's C interface.

    `soc` is a chip of the table; `devices` how many of it there are.
    `strict` raises `LifetimeError`, `DeviceMemoryError` or `OverlapError`
    where the real library does something undefined; without it the codes that
    were observed come back. `kernel_workspaces` as in
    `labkit.op.plan_hardshrink_backward`. `environ` (default: the process's)
    holds the switches of the op cache. `faults` injects faults, `log` keeps
    the launches that phase 2 made, `executed` the tasks that have run (both
    the last ten thousand), `notes` what lenient mode let pass. `on_error` and
    `on_finalize` are for hosts that cannot take an error from `take_error`: the
    first gets each error, the second is called when the last aclInit is undone.
    """

    def __init__(
        self,
        soc: str | Soc | None = None,
        *,
        devices: int = 1,
        strict: bool = True,
        kernel_workspaces: str | Mapping[str, int] = "auto",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.soc = soc if isinstance(soc, Soc) else find_soc(soc)
        self.devices = devices
        self.strict = strict
        self.kernel_workspaces = kernel_workspaces
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self.ffi = ffi()
        self.null = self.ffi.NULL
        self.soc_name = self.ffi.new("char[]", self.soc.name.encode())
        self.faults = Faults()
        self.messages = MessageStore()
        self.heap = Heap(
            capacity=self.soc.memory_bytes or _DEFAULT_MEMORY,
            padding=self.soc.malloc_padding,
            strict=strict,
        )
        self.log: Log[LaunchRecord] = Log()
        self.executed: Log[Task] = Log()
        self.notes: deque[str] = deque(maxlen=1000)
        self.on_error: Callable[[LabError], None] | None = None
        self.on_finalize: Callable[[], None] | None = None
        self.runtime = Runtime(self)
        self.memory = Memory(self)
        self.tensors = Tensors(self)
        self.queues = Queues(self)
        self.executors = Executors(self)
        self.phases = Phases(self)
        self._handles: dict[int, str] = {}
        self._next_handle = _HANDLE_BASE
        self._lock = threading.RLock()
        self._errors = threading.local()
        self._symbols: dict[str, Any] = {}
        self._uintptr = self.ffi.typeof("uintptr_t")
        self._types: dict[str, Any] = {}

    # -- the C interface -------------------------------------------------------

    @property
    def source(self) -> str:
        """One line saying what this is."""
        return f"software NPU as {self.soc.name}"

    def has(self, name: str) -> bool:
        """Whether the software NPU answers for a C function."""
        return name in prototypes() and self._function(name) is not None

    def symbol(self, name: str) -> Any:
        """The C function of that name; raises `MissingSymbol`."""
        found = self._symbols.get(name)
        if found is None:
            prototype = prototypes().get(name)
            function = self._function(name) if prototype is not None else None
            if prototype is None or function is None:
                raise self._missing(name)
            found = self._symbols[name] = self._callback(prototype, function)
        return found

    def take_error(self) -> LabError | None:
        """The error that the last C call of this thread wants raised, once."""
        error: LabError | None = getattr(self._errors, "error", None)
        if error is not None:
            self._errors.error = None
        return error

    def _function(self, name: str) -> Callable[..., Any] | None:
        for part in (self.runtime, self.queues, self.memory, self.tensors, self.executors):
            found: Callable[..., Any] | None = getattr(part, name, None)
            if found is not None:
                return found
        known = name.removesuffix("GetWorkspaceSize") in OPERATORS
        return partial(self._operator, name) if known else None

    def _operator(self, name: str, *args: Any) -> int:
        """One phase of an operator; looked up at every call, since one may be added anew."""
        stem = name.removesuffix("GetWorkspaceSize")
        model = OPERATORS.get(stem)
        if model is None:
            raise self._missing(name)
        phase = self.phases.phase2 if name == stem else self.phases.phase1
        return phase(model, *args)

    def _missing(self, name: str) -> MissingSymbol:
        cause = f"It knows the operators {', '.join(OPERATORS)}."
        return MissingSymbol(name, [self.source], cause=cause)

    def _callback(self, prototype: Prototype, function: Callable[..., Any]) -> Any:
        """A C function pointer; an exception becomes a code and waits in `take_error`."""
        status = prototype.returns in ("aclError", "aclnnStatus")
        failed: Any = 0
        if status:
            failed = 561000 if prototype.returns == "aclnnStatus" else 500000
        elif "*" in prototype.returns:
            failed = self.null
        name = prototype.name

        def entry(*args: Any) -> Any:
            with self._lock:
                self._errors.error = None
                if self.faults.armed_calls:
                    code = self.faults.call_code(name)
                    if code:
                        return code if status else failed
                try:
                    return function(*args)
                except LabError as error:
                    raised = error
                except Exception as error:
                    raised = LabError(f"the software NPU failed inside {name}: {error!r}")
                    raised.__cause__ = error
                self._errors.error = raised
                if self.on_error is not None:
                    self.on_error(raised)
                return failed

        return self.ffi.callback(prototype.signature, entry, error=failed)

    # -- what the parts share --------------------------------------------------

    def address(self, pointer: Any) -> int:
        """A C pointer as a number."""
        return int(self.ffi.cast(self._uintptr, pointer))

    def pointer(self, ctype: str, address: int) -> Any:
        """A number as a C pointer."""
        kind = self._types.get(ctype)
        if kind is None:
            kind = self._types[ctype] = self.ffi.typeof(ctype)
        return self.ffi.cast(kind, address)

    def new_handle(self, kind: str, *, owned: bool = True) -> int:
        """A number that was never used before; `owned` ones count as leaks until dropped."""
        self._next_handle += 64
        if owned:
            self._handles[self._next_handle] = kind
        return self._next_handle

    def adopt_handle(self, handle: int, kind: str) -> None:
        """Count something that has an address of its own."""
        self._handles[handle] = kind

    def drop_handle(self, handle: int) -> None:
        """A handle's object is gone."""
        self._handles.pop(handle, None)

    def stale(self, kind: str, handle: int, code: int) -> int:
        """A handle that means nothing (any more): raises in strict mode, else the code."""
        if self.strict:
            raise LifetimeError(
                f"{handle:#x} is no live {kind}: it was destroyed, or was never created here",
                seen=code,
            )
        return code

    def device_fault(self, fault: HeapFault, code: int, what: str = "") -> int:
        """Device memory that is not there: raises in strict mode, else the code."""
        text = f"{what}{fault}"
        if self.strict:
            raise (LifetimeError if fault.freed else DeviceMemoryError)(text)
        self.notes.append(text)
        return code

    def after_synchronise(self) -> None:
        """Nothing queued refers to freed blocks any more, once all queues are empty."""
        if not any(stream.queue for stream in self.runtime.all_streams()):
            self.heap.drop_ghosts()
            self.memory.ghosts.clear()

    # -- accounts --------------------------------------------------------------

    @property
    def users(self) -> int:
        """How many inits are not yet given back: somebody still works with this machine."""
        return self.runtime.inits

    def leaks(self) -> list[str]:
        """Everything that was created or allocated and is not destroyed or freed, a line each."""
        with self._lock:
            lines = [
                f"{kind} {handle:#x} was not destroyed"
                for handle, kind in self._handles.items()
                if not (kind == "aclrtContext" and self.runtime.contexts[handle].primary)
            ]
            lines += [
                f"{block.size} bytes at {block.address:#x} were not freed"
                for block in self.heap.blocks
            ]
        return lines

    @property
    def live_handles(self) -> int:
        """How many handles are alive, contexts included."""
        return len(self._handles)
