"""The l0 operators: each decides whether a kernel is launched, and with which operands.

Models, in cann/ops-math c4193324: conversion/contiguous (Contiguous, ViewCopy),
conversion/broadcast_to, math/cast; in cann/ops-nn e5c3fa93:
activation/hard_shrink_grad/op_api/hardshrink_grad.cpp and
activation/hard_shrink/op_api/hardshrink.cpp. Kernels are launched in the order
in which they are created here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labkit.language import Text
from labkit.op.broadcast import BroadcastFault, broadcast_shapes
from labkit.op.contiguous import CopyStep, analyse_view, slice_kernel
from labkit.op.contract import Fault, Message
from labkit.op.describe import TensorDesc, element_count, shape_text
from labkit.op.dtypes import BF16, INT64, DataType
from labkit.op.plan import Launch, Operand, Step
from labkit.op.status import ACLNN_ERR_INNER_NULLPTR
from labkit.op.tables import Soc
from labkit.op.viewcopy import AI_CORE, AI_CPU, plan_delivery
from labkit.op.workspace import Bucket, Member, allocate

__all__ = ["KERNEL_WORKSPACES_950", "Builder", "L0Error", "Value"]

_L0_NAMES = {
    "AsStrided": "AsStridedAiCore",
    "Slice": "SliceAiCore",
    "SliceV2": "SliceAiCore",
    "StridedSlice": "StridedSliceAiCore",
    "Transpose": "TransposeAiCore",
    "BroadcastTo": "BroadcastToAiCore",
    "Cast": "Cast",
    "HardShrinkGrad": "HardShrinkGradAiCore",
    "HardShrink": "HardShrinkAiCore",
    "ViewCopy": "ViewCopyAiCore",
}
"""The name under which an l0 operator reports that its kernel could not be prepared."""

KERNEL_WORKSPACES_950: Mapping[str, int] = {
    "HardShrinkGrad": 0,
    "HardShrink": 0,
    "Cast": 16777216,
    "BroadcastTo": 16777216,
    "Transpose": 16777216,
    "Slice": 16777216,
    "StridedSlice": 16777216,
    "AsStrided": 16777216,
    "ViewCopy": 32,
}
"""Bytes that each arch35 tiling asks for its own kernel, whatever the size (950 only).

Source: the arch35 tilings of cann/ops-math c4193324 and cann/ops-nn e5c3fa93.
For other chips the kernels are not public; none is assumed.
"""


class L0Error(Exception):
    """An l0 operator returned a null tensor: phase 1 ends with 561103."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.text)
        self.fault = fault


@dataclass(frozen=True)
class Value:
    """A tensor on its way through the chain: a buffer seen row-major, or as a view.

    `desc` is None once a kernel wrote it (then it is row-major).
    """

    buffer: str
    dtype: DataType
    shape: tuple[int, ...]
    offset: int = 0
    desc: TensorDesc | None = None

    def operand(self) -> Operand:
        """The value as a kernel's input."""
        return Operand(self.buffer, self.dtype, self.shape, self.offset)


class Builder:
    """Collects the steps and launches of one phase 1.

    `kernel_workspaces` maps an op type to its kernel's own workspace in
    bytes, or is None where kernels have no such entry; only with an entry is
    the tiling already run in phase 1.
    """

    def __init__(self, soc: Soc, kernel_workspaces: Mapping[str, int] | None) -> None:
        self.soc = soc
        self.kernel_workspaces = kernel_workspaces
        self.steps: list[Step] = []
        self.launches: list[Launch] = []
        self._allocated = 0

    # -- the l0 operators, in the order in which phase 1 calls them ------------

    def contiguous(self, name: str, desc: TensorDesc) -> Value:
        """l0op::Contiguous: the argument row-major; `L0Error` when the view leaves its storage."""
        value = Value(name, desc.dtype, desc.shape, desc.offset, desc)
        if desc.is_contiguous:
            why = Text("{name} is contiguous (an offset costs nothing)", name=name)
            self._step("Contiguous", value, why)
            return value
        if not desc.fits_storage:
            raise L0Error(_outside_storage(name, desc))
        first = len(self.launches)
        for step in analyse_view(desc):
            value = self._copy_kernel(step, value)
        made, *others = [launch.op_type for launch in self.launches[first:]]
        for other in others:
            made = Text("{kernel} then {other}", kernel=made, other=other)
        value = Value(value.buffer, desc.dtype, desc.shape)
        why = Text("{name} is a strided view: {kernels}", name=name, kernels=made)
        self._step("Contiguous", value, why, first)
        return value

    def broadcast_to(self, value: Value, shape: tuple[int, ...]) -> Value:
        """l0op::BroadcastTo: always a kernel, even when the shape fits already."""
        first = len(self.launches)
        step = CopyStep("BroadcastTo", value.shape, shape, (shape,), at_offset=True)
        needless = value.shape == shape
        value = self._copy_kernel(step, value)
        why = (
            Text(
                "the shapes of the inputs differ, so both are broadcast; "
                "this one had the shape already"
            )
            if needless
            else Text("to the common shape {shape}", shape=shape_text(shape))
        )
        self._step("BroadcastTo", value, why, first)
        return value

    def cast(self, value: Value, dtype: DataType, purpose: str) -> Value:
        """l0op::Cast: nothing for equal dtypes, else one kernel (nearest even)."""
        if value.dtype is dtype:
            why = Text("already {dtype} ({purpose})", dtype=dtype.short, purpose=purpose)
            self._step("Cast", value, why)
            return value
        first = len(self.launches)
        bf16 = BF16 in (value.dtype, dtype)
        core = AI_CPU if bf16 and self.soc.npu_arch not in (2201, 3510) else AI_CORE
        result = self._allocate(value.shape, dtype)
        attrs = {"dst_type": dtype.value}
        self._launch("Cast", core, "Cast", (value.operand(),), result, attrs)
        why = Text(
            "{before} to {after} ({purpose})",
            before=value.dtype.short,
            after=dtype.short,
            purpose=purpose,
        )
        self._step("Cast", result, why, first)
        return result

    def hard_shrink_grad(self, grad: Value, self_value: Value, lambd: np.float32) -> Value:
        """l0op::HardShrinkGrad: always one kernel; the result has self's dtype."""
        first = len(self.launches)
        shape = broadcast_shapes(grad.shape, self_value.shape)
        assert not isinstance(shape, BroadcastFault)
        result = self._allocate(shape, self_value.dtype)
        inputs = (grad.operand(), self_value.operand())
        attrs = {"lambd": lambd}
        self._launch("HardShrinkGrad", AI_CORE, "HardShrinkGrad", inputs, result, attrs)
        self._step("HardShrinkGrad", result, _itself(lambd), first)
        return result

    def hard_shrink(self, value: Value, lambd: np.float32) -> Value:
        """l0op::HardShrink (forward): always one kernel."""
        return self.kernel("HardShrink", value, _itself(lambd), lambd=lambd)

    def kernel(self, op_type: str, value: Value, why: str, **attrs: Any) -> Value:
        """An l0 operator of one input: always one AI Core kernel; shape and dtype stay."""
        first = len(self.launches)
        result = self._allocate(value.shape, value.dtype)
        self._launch(op_type, AI_CORE, op_type, (value.operand(),), result, attrs)
        self._step(op_type, result, why, first)
        return result

    def view_copy(self, value: Value, name: str, desc: TensorDesc) -> None:
        """l0op::ViewCopy: brings the result into the caller's output view."""
        delivery = plan_delivery(desc, self.soc)
        first = len(self.launches)
        out = Value(name, desc.dtype, desc.shape, desc.offset, desc)
        if delivery.kind == "redirect":
            self._redirect(value.buffer, out)
            self._step("ViewCopy", out, delivery.why)
            return
        target = out.operand()
        if delivery.kind == "memcpy":
            inputs: tuple[Operand, ...] = (value.operand(),)
            self._launch_into("CopyNpuToNpu", "RTS", "CopyNpuToNpu", inputs, target)
        elif delivery.step is not None:
            step = delivery.step
            source = replace(value.operand(), shape=step.source)
            target = replace(target, shape=step.result)
            inputs = (source, _constant(step.constants[0]))
            self._launch_into("Transpose", AI_CORE, "Transpose", inputs, target)
        else:
            self._view_copy_kernel(value, desc, replace(target, offset=0), delivery.core)
        self._step("ViewCopy", out, delivery.why, first)

    # -- launches --------------------------------------------------------------

    def _copy_kernel(self, step: CopyStep, value: Value) -> Value:
        op_type = step.op_type
        if op_type == "Slice":
            op_type = slice_kernel(step, value.dtype.itemsize or 4, self.soc)
        fault = ""
        if op_type == "AsStrided" and value.desc is not None:
            fault = _as_strided_fault(value.desc, self.soc)
        source = Operand(
            value.buffer,
            value.dtype,
            step.source,
            value.offset if step.at_offset or value.desc is None else 0,
        )
        inputs = (source, *(_constant(numbers) for numbers in step.constants))
        result = self._allocate(step.result, value.dtype)
        core = self._copy_core(op_type, value.dtype)
        self._launch(op_type, core, _L0_NAMES[op_type], inputs, result, tiling_fault=fault)
        return result

    def _copy_core(self, op_type: str, dtype: DataType) -> str:
        old = self.soc.npu_arch not in (2201, 3510)
        return AI_CPU if old and dtype is BF16 and op_type == "AsStrided" else AI_CORE

    def _view_copy_kernel(self, value: Value, desc: TensorDesc, target: Operand, core: str) -> None:
        source = TensorDesc(value.dtype, value.shape)
        inputs = (
            target,
            _constant(desc.shape),
            _constant(desc.strides),
            _constant((desc.offset,)),
            value.operand(),
            _constant(source.shape),
            _constant(source.strides),
            _constant((0,)),
        )
        fault = _view_copy_fault(desc, self.soc)
        l0 = "ViewCopyAiCore" if core == AI_CORE else "ViewCopyAiCpu"
        self._launch_into("ViewCopy", core, l0, inputs, target, fault)

    def _allocate(self, shape: tuple[int, ...], dtype: DataType) -> Value:
        self._allocated += 1
        return Value(f"tensor{self._allocated}", dtype, shape)

    def _launch(
        self,
        op_type: str,
        core: str,
        l0: str,
        inputs: tuple[Operand, ...],
        result: Value,
        attrs: Mapping[str, Any] | None = None,
        tiling_fault: str = "",
    ) -> None:
        self._launch_into(op_type, core, l0, inputs, result.operand(), tiling_fault, attrs)

    def _launch_into(
        self,
        op_type: str,
        core: str,
        l0: str,
        inputs: tuple[Operand, ...],
        output: Operand,
        tiling_fault: str = "",
        attrs: Mapping[str, Any] | None = None,
    ) -> None:
        own = self.kernel_workspaces.get(op_type) if self.kernel_workspaces is not None else None
        if core != AI_CORE:
            own = None
        if tiling_fault and own is not None:
            raise L0Error(_not_prepared(op_type, l0, tiling_fault))
        self.launches.append(
            Launch(op_type, core, l0, inputs, (output,), attrs or {}, own, tiling_fault)
        )

    def _redirect(self, buffer: str, out: Value) -> None:
        """Point the kernel that wrote `buffer` at the caller's memory instead."""
        for number, launch in enumerate(self.launches):
            if launch.outputs[0].buffer == buffer:
                target = replace(
                    launch.outputs[0], buffer=out.buffer, offset=out.offset, redirected=True
                )
                self.launches[number] = replace(launch, outputs=(target,))

    def _step(self, name: str, value: Value, why: str, first: int | None = None) -> None:
        made = () if first is None else tuple(range(first, len(self.launches)))
        self.steps.append(Step(name, "l0", not made, why, value.dtype, value.shape, made))

    # -- the workspace ---------------------------------------------------------

    def buckets(self, arguments: frozenset[str]) -> tuple[Bucket, ...]:
        """Lay out what is left in the workspace: kernel workspaces, then outputs, per launch."""
        last_read: dict[str, int] = {}
        for number, launch in enumerate(self.launches):
            for operand in launch.inputs:
                if operand.buffer is not None:
                    last_read[operand.buffer] = number
        members = []
        for number, launch in enumerate(self.launches):
            read = frozenset(op.buffer for op in launch.inputs if op.buffer is not None)
            if launch.workspace is not None:
                members.append(Member(f"kernel{number}", launch.workspace, number, number, read))
            for output in launch.outputs:
                if output.buffer is not None and output.buffer not in arguments:
                    end = last_read.get(output.buffer, number)
                    members.append(Member(output.buffer, output.nbytes, number, end, read))
        return allocate(members)


def _constant(numbers: tuple[int, ...]) -> Operand:
    return Operand(None, INT64, (len(numbers),), const=tuple(numbers))


def _itself(lambd: np.float32) -> Text:
    return Text("the operator itself, λ = {lambd}", lambd=f"{float(lambd):.9g}")


def _outside_storage(name: str, desc: TensorDesc) -> Fault:
    low, high = desc.reach
    whole = Message(
        "EZ1001",
        ("aclTensor(... all its fields ...)",),
        Text(
            "{name} (shape {shape}, strides {strides}, offset {offset}) reaches storage elements "
            "{low} to {high} but its storage has {size}",
            name=name,
            shape=shape_text(desc.shape),
            strides=shape_text(desc.strides),
            offset=desc.offset,
            low=low,
            high=high,
            size=desc.storage_size,
        ),
    )
    return Fault(
        "Contiguous",
        ACLNN_ERR_INNER_NULLPTR,
        (Message("EZ1001", (), Text("a strided input view leaves its storage")), whole),
        Text(
            "offset plus strides must stay inside the storage shape (561103, not 161002: "
            "the check sits inside an l0 operator)"
        ),
    )


def _not_prepared(op_type: str, l0: str, why: str) -> Fault:
    said = Text("{name}: {reason}", name=op_type, reason=why)
    message = Message("EZ9999", (_L0_NAMES.get(op_type, l0),), said)
    remedy = Text("make the tensor contiguous first")
    return Fault(op_type, ACLNN_ERR_INNER_NULLPTR, (message,), remedy)


def _as_strided_fault(desc: TensorDesc, soc: Soc) -> str:
    """What the arch35 tiling of AsStrided refuses (as_strided_tiling_arch35.cpp:1230-1256).

    It counts elements in 32 bits, so a storage of exactly 2^32 elements
    behind the offset counts as none.
    """
    if not soc.is_regbase:
        return ""
    if any(t < 0 and s > 1 for t, s in zip(desc.strides, desc.shape)):
        return Text("the AsStrided tiling of this chip refuses a negative stride")
    if desc.storage_size > desc.offset and (desc.storage_size - desc.offset) % 2**32 == 0:
        return Text("the AsStrided tiling counts the storage modulo 2^32 and finds it empty")
    return ""


def _view_copy_fault(desc: TensorDesc, soc: Soc) -> str:
    """What the arch35 tiling of ViewCopy refuses (view_copy_tiling_arch35.cpp:332-425).

    Axis by axis, and off by one: reaching exactly the storage's size passes.
    """
    if not soc.is_regbase:
        return ""
    storage = element_count(desc.storage_shape)
    for size, stride in zip(desc.shape, desc.strides):
        if stride < 0 and size > 1:
            return Text("the ViewCopy tiling of this chip refuses a negative stride")
        if desc.offset + (size - 1) * stride > storage:
            return Text("the ViewCopy tiling finds the output view outside its storage")
    return ""
