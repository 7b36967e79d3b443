"""Timing the operator on a device: warm-up, events on one stream, medians; host apart from kernel.

On an NPU the kernel time is what lies between two events on the stream: for a
kernel shorter than its launch that is the launch, so it is an upper bound. The
host's time is taken apart from it: phase 1, phase 2, and the wait of the
synchronise. On the software NPU there is no kernel to time: the wait is then
the time that this machine's CPU takes to compute, and it says so.

All calls are alike, so phase 1 is that of a call which the op cache knows.

The operator reads gradOutput and self and writes gradInput, each once: three
times the tensor's bytes, which is what the bandwidth is computed from.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labkit.cann.interface import ffi
from labkit.errors import LabValueError
from labkit.host.device import Device
from labkit.language import Text
from labkit.language import gettext as _
from labkit.op.dtypes import data_type
from labkit.operators import device_or_default

__all__ = ["Timing", "time_operator"]

_OPERATOR = "aclnnHardshrinkBackward"


@dataclass(frozen=True)
class Timing:
    """Medians of one measurement, in seconds, each part by itself.

    `phase1` and `phase2` are what the two calls take on the host, `wait` the
    synchronise behind them. `kernel` is the time between two events on the
    device, None on the software NPU, where nothing runs on a device.
    `bytes_moved` is what the kernel reads and writes, `peak` the bytes per
    second of the chip's memory where the caller gave them.
    """

    device: str
    dtype: str
    elements: int
    repeats: int
    phase1: float
    phase2: float
    wait: float
    kernel: float | None
    bytes_moved: int
    peak: float | None = None

    @property
    def host(self) -> float:
        """Both phases."""
        return self.phase1 + self.phase2

    @property
    def total(self) -> float:
        """From the beginning of phase 1 to the end of the synchronise, allocation left out."""
        return self.host + self.wait

    @property
    def bandwidth(self) -> float | None:
        """Bytes per second that the kernel moved; None where no kernel was timed."""
        return None if not self.kernel else self.bytes_moved / self.kernel

    @property
    def share(self) -> float | None:
        """The bandwidth as a part of the chip's; None where either is not known."""
        return self.bandwidth / self.peak if self.bandwidth and self.peak else None

    def __str__(self) -> str:
        told = [
            _("{n} {dtype} elements on the {device}, medians of {repeats}").format(
                n=self.elements, dtype=self.dtype, device=_(self.device), repeats=self.repeats
            ),
            _("host: phase 1 {phase1}, phase 2 {phase2}").format(
                phase1=_micro(self.phase1), phase2=_micro(self.phase2)
            ),
        ]
        if self.kernel is None:
            told += [
                _("wait: {wait}, the software NPU computing on this CPU").format(
                    wait=_micro(self.wait)
                ),
                _("kernel: not measured, this is the software NPU"),
            ]
        elif self.bandwidth is None:
            told += [
                _("wait: {wait}").format(wait=_micro(self.wait)),
                _("kernel: too short for the device's events"),
            ]
        else:
            told += [
                _("wait: {wait}").format(wait=_micro(self.wait)),
                _("kernel: {kernel}, {rate} GB/s for {n} bytes read and written").format(
                    kernel=_micro(self.kernel),
                    rate=f"{self.bandwidth / 1e9:.1f}",
                    n=self.bytes_moved,
                ),
            ]
        if self.share is not None and self.peak is not None:
            told.append(
                _("that is {share} of the {peak} GB/s given for this chip").format(
                    share=f"{self.share:.0%}", peak=f"{self.peak / 1e9:.1f}"
                )
            )
        return "\n".join(told)


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} µs"


def time_operator(
    elements: int,
    dtype: Any = "float32",
    *,
    device: Device | None = None,
    repeats: int = 30,
    warmup: int = 5,
    lambd: float = 0.5,
    peak: float | None = None,
) -> Timing:
    """Time aclnnHardshrinkBackward on `elements` elements of a dtype.

    Everything but the two phases is prepared beforehand and given back
    afterwards. `peak` is the bandwidth of the chip's memory in bytes per second,
    from its data sheet; the lab has no figure of its own. Raises what the device
    raises; `LabValueError` for numbers that measure nothing.
    """
    if peak is not None and not 0 < peak < math.inf:
        raise LabValueError(
            _("peak is {peak}; right would be bytes per second, above 0").format(peak=peak)
        )
    if elements < 1 or repeats < 1 or warmup < 0:
        raise LabValueError(_("right would be at least one element and one repeat"))
    target = device_or_default(device)
    kind = data_type(dtype)
    if not kind.itemsize:
        raise LabValueError(
            _("{dtype} has no whole bytes; right would be float32, float16, ...").format(
                dtype=kind.name
            )
        )
    run = _Run(target, elements, kind.acl_value, kind.itemsize, lambd)
    taken = target.run(lambda: run.measure(warmup, repeats, events=target.is_npu))
    kernel = [times.kernel for times in taken if times.kernel is not None]
    return Timing(
        device=_device_words(target),
        dtype=kind.numpy_name or kind.short,
        elements=elements,
        repeats=repeats,
        phase1=statistics.median(times.phase1 for times in taken),
        phase2=statistics.median(times.phase2 for times in taken),
        wait=statistics.median(times.wait for times in taken),
        kernel=statistics.median(kernel) if kernel else None,
        bytes_moved=3 * elements * kind.itemsize,
        peak=peak,
    )


def _device_words(device: Device) -> str:
    """The device's name, so that it can be translated."""
    named = Text("software NPU as {chip}", chip=device.soc)
    return named if device.name == named else device.name


@dataclass(frozen=True)
class _Times:
    """Seconds of one call; `kernel` is None without events."""

    phase1: float
    phase2: float
    wait: float
    kernel: float | None


class _Run:
    """One prepared call, on the thread that owns the device."""

    def __init__(
        self, device: Device, elements: int, dtype: int, itemsize: int, lambd: float
    ) -> None:
        self.device, self.api, self.ffi = device, device.api, ffi()
        self.elements, self.dtype, self.bytes = elements, dtype, elements * itemsize
        self.lambd = lambd
        self.undo: list[tuple[str, Any]] = []

    def measure(self, warmup: int, repeats: int, *, events: bool) -> Sequence[_Times]:
        """The times of each repeat; a kernel's only with events."""
        try:
            tensors = [self._tensor() for _tensor in range(3)]
            scalar = self._scalar()
            marks = [self._event() for _event in range(2)] if events else []
            taken = [self._once(tensors, scalar, marks) for _repeat in range(warmup + repeats)]
            return taken[warmup:]
        finally:
            for name, handle in reversed(self.undo):
                self.api.call(name, handle)

    def _once(self, tensors: list[Any], scalar: Any, marks: list[Any]) -> _Times:
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
        waiting = time.perf_counter()
        check("aclrtSynchronizeStream", stream)
        ended = time.perf_counter()
        kernel = None
        if marks:
            spent = self.ffi.new("float *")
            check("aclrtEventElapsedTime", spent, *marks)
            kernel = spent[0] / 1000
        if size[0]:
            self.undo.pop()
            check("aclrtFree", workspace)
        return _Times(planned - start, launched - queued, ended - waiting, kernel)

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
