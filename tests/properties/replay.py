"""Plays the launches of a plan on plain byte arrays, kernel by kernel, with a real workspace.

A second reading of what each kernel does with its operands: no part of the
software NPU is used. The workspace starts as poison, and a kernel's own
workspace is overwritten before it reads and after it writes, so that a tensor
placed over it is noticed.
"""

from __future__ import annotations

import itertools

import numpy as np

POISON = 0xC5
SCRIBBLE = 0x3A


def play(plan, storages):
    """Run a plan; `storages` maps argument names to flat arrays, written in place."""
    workspace = np.full(plan.workspace_size, POISON, np.uint8)

    def memory(operand, elements):
        """The first `elements` elements of an operand, flat."""
        dtype = operand.dtype.numpy
        if operand.buffer in storages:
            return storages[operand.buffer][operand.offset : operand.offset + elements]
        start = plan.workspace_offsets[operand.buffer]
        return workspace[start : start + elements * dtype.itemsize].view(dtype)

    def rest(operand):
        """All of an argument's storage from the operand's first element on."""
        return storages[operand.buffer][operand.offset :]

    def dense(operand):
        count = int(np.prod(operand.shape, dtype=np.int64))
        return memory(operand, count).reshape(operand.shape)

    for number, launch in enumerate(plan.launches):
        own = slice(0, 0)
        if launch.workspace is not None:
            start = plan.workspace_offsets[f"kernel{number}"]
            own = slice(start, start + launch.workspace)
        workspace[own][:4096] = SCRIBBLE  # 16 MiB each time would only take time
        constants = [operand.const for operand in launch.inputs if operand.const is not None]
        tensors = [operand for operand in launch.inputs if operand.const is None]
        (output,) = launch.outputs
        op = launch.op_type
        if op == "ViewCopy":
            shape, strides, (offset,), *_ = constants
            values = dense(tensors[1]).reshape(-1)
            target = storages[output.buffer]
            for place, value in zip(places(shape, strides, offset), values, strict=True):
                target[place] = value
        elif op == "AsStrided":
            shape, strides, _ = constants
            source = storages[tensors[0].buffer]
            found = [source[place] for place in places(shape, strides, tensors[0].offset)]
            dense(output).reshape(-1)[...] = found
        else:
            dense(output)[...] = compute(op, launch, [dense(t) for t in tensors], constants)
        workspace[own][:4096] = SCRIBBLE


def places(shape, strides, offset):
    """Storage indices of a view in row-major order."""
    for index in itertools.product(*map(range, shape)):
        yield offset + sum(i * stride for i, stride in zip(index, strides, strict=True))


def compute(op, launch, inputs, constants):
    """The result of a kernel whose operands are dense."""
    first = inputs[0]
    if op in ("Slice", "SliceV2"):
        begin, size = constants
        return first[tuple(slice(b, b + n) for b, n in zip(begin, size, strict=True))]
    if op == "StridedSlice":
        return first[tuple(itertools.starmap(slice, zip(*constants, strict=True)))]
    if op == "Transpose":
        return first.transpose(constants[0])
    if op == "BroadcastTo":
        return np.broadcast_to(first, constants[0])
    if op == "Cast":
        return first.astype(launch.outputs[0].dtype.numpy)
    if op == "CopyNpuToNpu":
        return first
    lambd = float(launch.attrs["lambd"])
    dead = np.abs(inputs[-1].astype(np.float64)) <= lambd
    assert op in ("HardShrinkGrad", "HardShrink")
    return np.where(dead, np.zeros_like(first), first)
