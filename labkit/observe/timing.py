"""Timing the operator on a device: warm-up, events on one stream, medians; host apart from kernel.

On an NPU the kernel time is what lies between two events on the stream, and the
host time what the two phases take on the host, measured apart from it. On the
software NPU only the host side is real, so only that is given, and it says so.

The operator reads gradOutput and self and writes gradInput, each once: three
times the tensor's bytes, which is what the bandwidth is computed from.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labkit.cann.interface import ffi
from labkit.errors import LabValueError
from labkit.host.device import Device
from labkit.op.dtypes import data_type
from labkit.operators import default_device

__all__ = ["Timing", "time_operator"]

_OPERATOR = "aclnnHardshrinkBackward"


@dataclass(frozen=True)
class Timing:
    """Medians of one measurement, in seconds.

    `host` is what both phases take on the host, `kernel` the time on the
    device, None on the software NPU, where nothing runs on a device.
    `bytes_moved` is what the kernel reads and writes.
    """

    device: str
    dtype: str
    elements: int
    repeats: int
    host: float
    kernel: float | None
    bytes_moved: int

    @property
    def bandwidth(self) -> float | None:
        """Bytes per second that the kernel moved; None where no kernel was timed."""
        return None if not self.kernel else self.bytes_moved / self.kernel

    def __str__(self) -> str:
        told = [
            f"{self.elements} {self.dtype} elements on the {self.device}, median of {self.repeats}",
            f"host, both phases: {self.host * 1e6:.1f} µs",
        ]
        if self.kernel is None:
            told.append("kernel: not measured, this is the software NPU")
        else:
            assert self.bandwidth is not None
            told.append(
                f"kernel: {self.kernel * 1e6:.1f} µs, {self.bandwidth / 1e9:.1f} GB/s "
                f"for {self.bytes_moved} bytes read and written"
            )
        return "\n".join(told)


def time_operator(
    elements: int,
    dtype: Any = "float32",
    *,
    device: Device | None = None,
    repeats: int = 30,
    warmup: int = 5,
    lambd: float = 0.5,
) -> Timing:
    """Time aclnnHardshrinkBackward on `elements` elements of a dtype.

    Everything but the two phases is prepared beforehand and given back
    afterwards. Raises what the device raises; `LabValueError` for numbers that
    measure nothing.
    """
    if elements < 1 or repeats < 1 or warmup < 0:
        raise LabValueError("right would be at least one element and one repeat")
    target = device or default_device()
    kind = data_type(dtype)
    if not kind.itemsize:
        raise LabValueError(f"{kind.name} has no whole bytes; right would be float32, float16, ...")
    real = target.kind == "npu" and not getattr(target.interface, "simulated", False)
    run = _Run(target, elements, kind.acl_value, kind.itemsize, lambd)
    host, kernel = target.run(lambda: run.measure(warmup, repeats, events=real))
    return Timing(
        device=target.name,
        dtype=kind.numpy_name or kind.short,
        elements=elements,
        repeats=repeats,
        host=statistics.median(host),
        kernel=statistics.median(kernel) if kernel else None,
        bytes_moved=3 * elements * kind.itemsize,
    )


class _Run:
    """One prepared call, on the thread that owns the device."""

    def __init__(
        self, device: Device, elements: int, dtype: int, itemsize: int, lambd: float
    ) -> None:
        self.device, self.api, self.ffi = device, device.api, ffi()
        self.elements, self.dtype, self.bytes = elements, dtype, elements * itemsize
        self.lambd = lambd
        self.undo: list[tuple[str, Any]] = []

    def measure(
        self, warmup: int, repeats: int, *, events: bool
    ) -> tuple[Sequence[float], Sequence[float]]:
        """Host seconds and device seconds of each repeat; the latter empty without events."""
        try:
            tensors = [self._tensor() for _ in range(3)]
            scalar = self._scalar()
            marks = [self._event() for _ in range(2)] if events else []
            host: list[float] = []
            kernel: list[float] = []
            for repeat in range(warmup + repeats):
                spent, ran = self._once(tensors, scalar, marks)
                if repeat >= warmup:
                    host.append(spent)
                    kernel += ran
            return host, kernel
        finally:
            for name, handle in reversed(self.undo):
                self.api.call(name, handle)

    def _once(self, tensors: list[Any], scalar: Any, marks: list[Any]) -> tuple[float, list[float]]:
        check, stream = self.api.check, self.device.stream
        size, executor = self.ffi.new("uint64_t *"), self.ffi.new("aclOpExecutor **")
        grad, self_, out = tensors
        start = time.perf_counter()
        check(f"{_OPERATOR}GetWorkspaceSize", grad, self_, scalar, out, size, executor)
        planned = time.perf_counter()
        workspace = self._malloc(int(size[0])) if size[0] else self.ffi.NULL
        if marks:
            check("aclrtRecordEvent", marks[0], stream)
        queued = time.perf_counter()
        check(_OPERATOR, workspace, size[0], executor[0], stream)
        launched = time.perf_counter()
        if marks:
            check("aclrtRecordEvent", marks[1], stream)
        check("aclrtSynchronizeStream", stream)
        ran = []
        if marks:
            spent = self.ffi.new("float *")
            check("aclrtEventElapsedTime", spent, *marks)
            ran.append(spent[0] / 1000)
        if size[0]:
            self.undo.pop()
            check("aclrtFree", workspace)
        return planned - start + launched - queued, ran

    def _malloc(self, size: int) -> Any:
        out = self.ffi.new("void **")
        self.api.check("aclrtMalloc", out, size, 0)
        self.undo.append(("aclrtFree", out[0]))
        return out[0]

    def _tensor(self) -> Any:
        memory = self._malloc(self.bytes)
        self.api.check("aclrtMemset", memory, self.bytes, 0, self.bytes)
        dims, strides = self.ffi.new("int64_t[]", [self.elements]), self.ffi.new("int64_t[]", [1])
        made = self.api.call("aclCreateTensor", dims, 1, self.dtype, strides, 0, 2, dims, 1, memory)
        self.undo.append(("aclDestroyTensor", made))
        return made

    def _scalar(self) -> Any:
        value = self.ffi.new("float *", self.lambd)
        made = self.api.call("aclCreateScalar", self.ffi.cast("void *", value), 0)
        self.undo.append(("aclDestroyScalar", made))
        return made

    def _event(self) -> Any:
        out = self.ffi.new("aclrtEvent *")
        self.api.check("aclrtCreateEvent", out)
        self.undo.append(("aclrtDestroyEvent", out[0]))
        return out[0]
