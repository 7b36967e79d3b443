"""The two-phase call of any aclnn operator, from its declared prototype.

The steps are those of the documentation: device memory, copies in, tensors and
scalars, phase 1, workspace, phase 2, synchronise, copy out, destroy. Everything
stays alive until the stream is synchronised, and everything is given back
whatever fails.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.cann.codes import name_of
from labkit.cann.interface import ffi, phases, prototypes
from labkit.errors import AclnnError, LabError, LabValueError
from labkit.host.arrays import Storage, TensorView, describe_all
from labkit.host.capi import CApi
from labkit.host.device import Device
from labkit.host.record import HostCall

__all__ = ["Call", "Output", "RawScalar", "call_operator", "operator_parameters"]

Array = npt.NDArray[Any]

_H2D, _D2H = 1, 2
_HUGE_FIRST = 0
_ND = 2


@dataclass(frozen=True)
class RawScalar:
    """A scalar argument: its bytes and its aclDataType number."""

    raw: bytes
    data_type: int


@dataclass(frozen=True)
class Output:
    """An output argument: the array to write, and whether its old content counts.

    With `keep` the array's memory is copied to the device first, so gaps and
    untouched results keep what they held.
    """

    array: Array
    keep: bool


@dataclass(frozen=True)
class Parameter:
    """One argument of phase 1: "tensor", "out", "scalar" or "number"."""

    name: str
    kind: str
    ctype: str


@dataclass
class Call:
    """What one call of an operator did.

    `status` is the code of the phase that ended it (0: all went well),
    `workspace_size` the bytes phase 1 asked for, `record` every C call in
    order, `device` what it ran on, `outputs` the result arrays by argument
    name, `arguments` what each tensor was described as, `message` the
    library's words on a failure and `error` the exception for it, `launches`
    the kernels that were launched and `executed` the tasks that ran, where the
    device tells (the software NPU does), else None. `on_npu` tells whether an NPU
    computed, and not the software NPU behind CANN's library names.
    """

    operator: str
    device: str
    soc: str
    arguments: dict[str, TensorView | RawScalar | None]
    outputs: dict[str, Array] = field(default_factory=dict)
    status: int = 0
    workspace_size: int = 0
    message: str = ""
    error: AclnnError | None = None
    record: list[HostCall] = field(default_factory=list)
    launches: tuple[str, ...] | None = None
    executed: tuple[Any, ...] | None = None
    on_npu: bool = False

    @property
    def status_name(self) -> str:
        """The status by name."""
        return "ACLNN_SUCCESS" if self.status == 0 else name_of(self.status)

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self.status == 0

    @property
    def grad_input(self) -> Array | None:
        """The gradient (backward operator); None when the call failed."""
        return self.outputs.get("gradInput")

    @property
    def out(self) -> Array | None:
        """The result (forward operator); None when the call failed."""
        return self.outputs.get("out")

    def __repr__(self) -> str:
        return (
            f"<Call {self.operator}: {self.status} {self.status_name}, "
            f"workspace {self.workspace_size} bytes, {len(self.record)} C calls, {self.device}>"
        )


@cache
def operator_parameters(name: str) -> tuple[Parameter, ...]:
    """The arguments of an operator's phase 1, from its prototype, without the two out pointers."""
    declared = prototypes().get(phases(name)[0])
    if declared is None:
        raise LabValueError(
            f"{name} is not declared; labkit.cann.declare(...) takes its two C prototypes"
        )
    result = []
    for ctype, parameter in declared.params[:-2]:
        spelled = ctype.replace(" ", "")
        if spelled == "constaclTensor*":
            kind = "tensor"
        elif spelled == "aclTensor*":
            kind = "out"
        elif spelled == "constaclScalar*":
            kind = "scalar"
        elif "*" not in spelled:
            kind = "number"
        else:
            raise LabValueError(f"{name}: the lab passes no {ctype} ({parameter}) yet")
        result.append(Parameter(parameter, kind, ctype))
    return tuple(result)


def call_operator(
    device: Device, name: str, arguments: Mapping[str, Any], *, check: bool = True
) -> Call:
    """Run an operator on a device.

    `arguments` maps the prototype's parameter names to NumPy arrays, an
    `Output`, a `RawScalar`, a number, or None for a null pointer. Raises
    `AclnnError` for a code from either phase unless `check` is false, and
    `AclError` for one from the runtime.
    """
    parameters = operator_parameters(name)
    unknown = set(arguments) - {parameter.name for parameter in parameters}
    missing = [p.name for p in parameters if p.name not in arguments]
    if unknown or missing:
        wants = ", ".join(p.name for p in parameters)
        raise LabValueError(f"{name} takes {wants}; not {sorted(unknown)}, missing {missing}")
    program = _Program(device, name, parameters, arguments)
    return device.run(lambda: program.run(check))


class _Program:
    """One run of the host program, on the owner thread."""

    def __init__(
        self,
        device: Device,
        name: str,
        parameters: tuple[Parameter, ...],
        arguments: Mapping[str, Any],
    ) -> None:
        self.api: CApi = device.api
        self.device = device
        self.name = name
        self.parameters = parameters
        self.arguments = arguments
        self.ffi = ffi()
        self.call = Call(name, device.name, device.soc, {}, on_npu=device.is_npu)
        self.arrays: dict[str, Array] = {}
        self.keep: set[str] = set()
        self.outputs: list[str] = []
        for parameter in parameters:
            value = arguments[parameter.name]
            if isinstance(value, Output):
                self.arrays[parameter.name] = value.array
                self.outputs.append(parameter.name)
                if value.keep:
                    self.keep.add(parameter.name)
            elif isinstance(value, np.ndarray):
                self.arrays[parameter.name] = value
                self.keep.add(parameter.name)
        self.pieces, self.views = describe_all(self.arrays)
        self.memory: dict[int, Any] = {}
        self.handles: list[tuple[str, Any]] = []
        self.workspace: Any = self.ffi.NULL
        self.executor: Any = self.ffi.NULL  # phase 1 gave it, phase 2 has not had it yet
        self.queued = False  # phase 2 may have queued work that nobody waited for

    def run(self, check: bool) -> Call:
        api, call = self.api, self.call
        api.listener = call.record
        log = getattr(self.device.interface, "log", None)
        done = getattr(self.device.interface, "executed", None)
        before, done_before = (0 if kept is None else kept.total for kept in (log, done))
        try:
            self._upload()
            handles = [self._argument(parameter) for parameter in self.parameters]
            ok = self._phases(handles, check)
            if ok:
                self._download()
        except BaseException:
            self._give_back(quiet=True)
            raise
        else:
            self._give_back(quiet=not ok)
        finally:
            api.listener = None
            if log is not None:
                mine = int(self.ffi.cast("uintptr_t", self.device.stream))
                call.launches = tuple(e.op_type for e in log.since(before) if e.stream == mine)
            if done is not None:
                call.executed = tuple(done.since(done_before))
        return call

    # -- memory and descriptions -----------------------------------------------

    def _malloc(self, size: int) -> Any:
        out = self.ffi.new("void **")
        self.api.check("aclrtMalloc", out, size, _HUGE_FIRST)
        return out[0]

    def _upload(self) -> None:
        for piece in self.pieces:
            pointer = self.memory[piece.address] = self._malloc(piece.nbytes)
            if any(self.views[key][1] is piece for key in self.keep):
                source = self.ffi.cast("void *", piece.address)
                self.api.check("aclrtMemcpy", pointer, piece.nbytes, source, piece.nbytes, _H2D)

    def _argument(self, parameter: Parameter) -> Any:
        value = self.arguments[parameter.name]
        if parameter.kind == "number":
            return value
        if value is None:
            self.call.arguments[parameter.name] = None
            return self.ffi.NULL
        if parameter.name in self.arrays:
            return self._tensor(parameter.name)
        if isinstance(value, RawScalar):
            return self._scalar(parameter.name, value)
        raise LabValueError(
            f"{parameter.name} must be a NumPy array (or None), not {type(value).__name__}"
        )

    def _tensor(self, name: str) -> Any:
        view, piece = self.views[name]
        new = self.ffi.new
        data = self.ffi.NULL if piece is None else self.memory[piece.address]
        handle = self.api.call(
            "aclCreateTensor",
            new("int64_t[]", view.shape),
            len(view.shape),
            view.data_type,
            new("int64_t[]", view.strides),
            view.offset,
            _ND,
            new("int64_t[]", view.storage_shape),
            len(view.storage_shape),
            data,
        )
        self.call.arguments[name] = view
        self._created("aclCreateTensor", "aclDestroyTensor", handle)
        return handle

    def _scalar(self, name: str, value: RawScalar) -> Any:
        raw = self.ffi.new("char[]", value.raw)
        handle = self.api.call("aclCreateScalar", self.ffi.cast("void *", raw), value.data_type)
        self.call.arguments[name] = value
        self._created("aclCreateScalar", "aclDestroyScalar", handle)
        return handle

    def _created(self, create: str, destroy: str, handle: Any) -> None:
        if handle == self.ffi.NULL:
            message = self.api.recent_message()
            raise AclnnError(
                f"{create} returned null. {message}", status=161001, call=create, message=message
            )
        self.handles.append((destroy, handle))

    # -- the two phases --------------------------------------------------------

    def _phases(self, handles: list[Any], check: bool) -> bool:
        api, call, new = self.api, self.call, self.ffi.new
        size, executor = new("uint64_t *"), new("aclOpExecutor **")
        first, second = phases(self.name)
        status = api.call(first, *handles, size, executor)
        if status:
            return self._failed(first, status, check)
        self.executor = executor[0]
        call.workspace_size = size[0]
        if size[0]:
            self.workspace = self._malloc(size[0])
        self.queued = True
        status = api.call(second, self.workspace, size[0], executor[0], self.device.stream)
        self.executor = self.ffi.NULL  # released by phase 2, good or bad
        if status:
            return self._failed(second, status, check)
        api.check("aclrtSynchronizeStream", self.device.stream)
        self.queued = False
        return True

    def _failed(self, name: str, status: int, check: bool) -> bool:
        error = self.api.error(name, status)
        self.call.status, self.call.message = status, error.message
        self.call.error = error if isinstance(error, AclnnError) else None
        if check:
            raise error
        return False

    def _download(self) -> None:
        for name in self.outputs:
            array = self.arrays[name]
            view, piece = self.views[name]
            self.call.outputs[name] = array
            if array.size == 0 or piece is None:
                continue
            self._read(array, view, piece)

    def _read(self, array: Array, view: TensorView, piece: Storage) -> None:
        """Copy the output's own stretch of storage back; gaps in it stay as they are."""
        item = array.itemsize
        steps = [stride * (n - 1) for stride, n in zip(view.strides, view.shape)]
        low = view.offset + sum(min(0, step) for step in steps)
        count = sum(abs(step) for step in steps) + 1
        source = self.ffi.cast("char *", self.memory[piece.address]) + low * item
        dense = array.flags.c_contiguous
        target = array if dense else np.empty(count, array.dtype)
        self.api.check(
            "aclrtMemcpy",
            self.ffi.cast("void *", target.ctypes.data),
            count * item,
            source,
            count * item,
            _D2H,
        )
        if not dense:
            array[...] = np.lib.stride_tricks.as_strided(
                target[view.offset - low :], array.shape, array.strides
            )

    # -- giving back -----------------------------------------------------------

    def _give_back(self, *, quiet: bool) -> None:
        """Destroy and free everything; with `quiet` a failure does not hide the first error."""
        if self.queued:  # nothing may be freed under work that is still queued
            self.queued = False
            with contextlib.suppress(LabError):
                self.api.call("aclrtSynchronizeStream", self.device.stream)
        steps = [*self.handles]
        self.handles = []
        if self.executor != self.ffi.NULL:
            steps.insert(0, ("aclDestroyAclOpExecutor", self.executor))
            self.executor = self.ffi.NULL
        steps += [("aclrtFree", pointer) for pointer in self.memory.values()]
        self.memory = {}
        if self.workspace != self.ffi.NULL:
            steps.append(("aclrtFree", self.workspace))
            self.workspace = self.ffi.NULL
        failure: LabError | None = None
        for name, pointer in steps:
            try:
                self.api.check(name, pointer)
            except LabError as error:
                failure = failure or error
        if failure is not None and not quiet:
            raise failure
