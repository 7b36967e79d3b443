"""Host programs of the two operators, call by call, as the documentation orders them.

The sequence is that of the example programs beside the operators (cann/ops-nn
e5c3fa93 activation/hard_shrink_grad/examples): device and stream, memory, copies in,
descriptions, phase 1, workspace, phase 2, synchronise, copy out, give back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.course.c_program import CProgram
from labkit.errors import LabValueError
from labkit.op.dtypes import data_type

__all__ = ["CALLS", "backward_program", "forward_program"]


@dataclass(frozen=True)
class _Tensor:
    """One tensor of a program: the variable, its values, and how the view lies over them."""

    name: str
    prefix: str
    array: npt.NDArray[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _dense(name: str, prefix: str, values: Any, dtype: str) -> _Tensor:
    array = np.array(values, data_type(dtype).numpy)
    steps = tuple(step // array.itemsize for step in array.strides)
    return _Tensor(name, prefix, array, array.shape, steps)


def _out(shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> _Tensor:
    whole = _dense("gradInput", "out", np.zeros(shape), "float32")
    return _Tensor("gradInput", "out", whole.array, shape, strides or whole.strides)


CALLS: dict[str, tuple[_Tensor, ...]] = {
    "plain": (
        _dense("gradOutput", "grad", [[5, 6], [7, 8]], "float32"),
        _dense("self", "self", [[1, 2], [3, 4]], "float32"),
        _out((2, 2)),
    ),
    "mixed": (
        _dense("gradOutput", "grad", [[5], [6], [7], [8]], "float16"),
        _dense("self", "self", [[1, 2, 3, 4]], "float32"),
        _out((4, 4)),
    ),
    "transposed": (
        _dense("gradOutput", "grad", [[5, 6], [7, 8]], "float32"),
        _dense("self", "self", [[1, 2], [3, 4]], "float32"),
        _out((2, 2), (1, 2)),
    ),
}
"""The calls of the course's host programs. λ is 2 in all of them: 3 and 4 live, 1 and 2 are dead.

plain is 2x2 in float32; mixed a float16 column with a float32 row, which must
be broadcast and cast; transposed writes its result into a transposed view.
"""

_SUFFIX = {"float32": "ACL_FLOAT", "float16": "ACL_FLOAT16"}


def backward_program(call: str = "plain") -> CProgram:
    """The host program of aclnnHardshrinkBackward for one of `CALLS`.

    >>> backward_program().run().result.tolist()
    [[0.0, 0.0], [7.0, 8.0]]
    """
    if call not in CALLS:
        raise LabValueError(f"call is {call!r}; right would be one of {', '.join(CALLS)}")
    return _program("aclnnHardshrinkBackward", CALLS[call])


def forward_program(*, transposed: bool = False) -> CProgram:
    """The host program of aclnnHardshrink, on the numbers 1, 2, 3, 4 (2x2) with λ = 2.

    `transposed` writes the result into a transposed view: the same lines, other
    strides, and a kernel more that needs the workspace.
    """
    x = _dense("self", "self", [[1, 2], [3, 4]], "float32")
    whole = _dense("out", "out", np.zeros((2, 2)), "float32")
    strides = (1, 2) if transposed else whole.strides
    return _program("aclnnHardshrink", (x, replace(whole, strides=strides)))


def _program(operator: str, tensors: tuple[_Tensor, ...]) -> CProgram:
    *inputs, out = tensors
    first = [tensor.name for tensor in inputs]
    lines = ["aclInit(nullptr)", "aclrtSetDevice(0)", "aclrtCreateStream(&stream)"]
    lines += [
        f"aclrtMalloc(&{t.prefix}Addr, {t.array.nbytes}, ACL_MEM_MALLOC_HUGE_FIRST)"
        for t in tensors
    ]
    lines += [
        f"aclrtMemcpy({t.prefix}Addr, {t.array.nbytes}, {t.prefix}Host, {t.array.nbytes},"
        " ACL_MEMCPY_HOST_TO_DEVICE)"
        for t in inputs
    ]
    lines += [_create(tensor) for tensor in tensors]
    lines += [
        "lambd = aclCreateScalar(&lambdValue, ACL_FLOAT)",
        f"{operator}GetWorkspaceSize({', '.join([*first, 'lambd', out.name])},"
        " &workspaceSize, &executor)",
        "if (workspaceSize > 0) aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST)",
        f"{operator}(workspace, workspaceSize, executor, stream)",
        "aclrtSynchronizeStream(stream)",
        f"aclrtMemcpy({out.prefix}Host, {out.array.nbytes}, {out.prefix}Addr, {out.array.nbytes},"
        " ACL_MEMCPY_DEVICE_TO_HOST)",
    ]
    lines += [f"aclDestroyTensor({tensor.name})" for tensor in tensors]
    lines += ["aclDestroyScalar(lambd)"]
    lines += [f"aclrtFree({tensor.prefix}Addr)" for tensor in tensors]
    lines += [
        "if (workspaceSize > 0) aclrtFree(workspace)",
        "aclrtDestroyStream(stream)",
        "aclrtResetDevice(0)",
        "aclFinalize()",
    ]
    host: dict[str, npt.ArrayLike] = {"lambdValue": np.float32(2)}
    for tensor in tensors:
        host[f"{tensor.prefix}Host"] = tensor.array
        host[f"{tensor.prefix}Dim"] = np.array(tensor.shape, np.int64)
        host[f"{tensor.prefix}Stride"] = np.array(tensor.strides, np.int64)
    return CProgram.of("\n".join(lines), f"{out.prefix}Host", **host)


def _create(tensor: _Tensor) -> str:
    rank, kind, p = len(tensor.shape), _SUFFIX[tensor.array.dtype.name], tensor.prefix
    return (
        f"{tensor.name} = aclCreateTensor({p}Dim, {rank}, {kind}, {p}Stride, 0,"
        f" ACL_FORMAT_ND, {p}Dim, {rank}, {p}Addr)"
    )
