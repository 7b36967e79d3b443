"""Phase 1 of the two operators: checks, then l0 operators, then the workspace.

Models cann/ops-nn e5c3fa93
activation/hard_shrink_grad/op_api/aclnn_hardshrink_backward.cpp:157-233 and
activation/hard_shrink/op_api/aclnn_hardshrink.cpp:85-129. Pure: descriptors
in, a `Plan` out; no memory and no device.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from labkit.errors import LabValueError
from labkit.language import Text
from labkit.op.contract import Fault, check_backward, check_forward
from labkit.op.describe import TensorDesc
from labkit.op.dtypes import promote_type
from labkit.op.l0 import KERNEL_WORKSPACES_950, Builder, L0Error
from labkit.op.plan import Plan, Step
from labkit.op.scalar import Scalar, as_scalar, clamp_lambd
from labkit.op.tables import Soc, find_soc

__all__ = ["plan_hardshrink", "plan_hardshrink_backward"]

BACKWARD = "aclnnHardshrinkBackward"
FORWARD = "aclnnHardshrink"

_PROMOTED = Text("promoted dtype of the inputs")
_DTYPE_OF = {
    BACKWARD: Text("dtype of {name}", name="gradInput"),
    FORWARD: Text("dtype of {name}", name="out"),
}
"""What a Cast is for."""


def plan_hardshrink_backward(
    grad_output: TensorDesc | None,
    self: TensorDesc | None,
    lambd: Any,
    grad_input: TensorDesc | None,
    *,
    soc: str | Soc = "Ascend950PR_9599",
    kernel_workspaces: str | Mapping[str, int] = "auto",
    op_name: str = "aclnnHardshrinkBackward_0",
) -> Plan:
    """What aclnnHardshrinkBackwardGetWorkspaceSize decides for these descriptors.

    None stands for a null pointer; λ is a number, a `Scalar` or None.
    `kernel_workspaces`: "auto" (known for 950, none elsewhere), "none", or a
    mapping from op type to bytes. `op_name` is the name with sequence number
    that one message carries. Never raises for bad descriptors: the plan's
    status tells.
    """
    scalar = None if lambd is None else as_scalar(lambd)
    chip = soc if isinstance(soc, Soc) else find_soc(soc)
    return _plan_backward(
        grad_output, self, scalar, grad_input, chip, _freeze(kernel_workspaces), op_name
    )


def plan_hardshrink(
    self: TensorDesc | None,
    lambd: Any,
    out: TensorDesc | None,
    *,
    soc: str | Soc = "Ascend950PR_9599",
    kernel_workspaces: str | Mapping[str, int] = "auto",
) -> Plan:
    """What aclnnHardshrinkGetWorkspaceSize decides; arguments as for backward."""
    scalar = None if lambd is None else as_scalar(lambd)
    chip = soc if isinstance(soc, Soc) else find_soc(soc)
    return _plan_forward(self, scalar, out, chip, _freeze(kernel_workspaces))


def _freeze(option: str | Mapping[str, int]) -> str | tuple[tuple[str, int], ...]:
    if isinstance(option, Mapping):
        return tuple(sorted(option.items()))
    if option not in ("auto", "none"):
        raise LabValueError(
            f"kernel_workspaces is 'auto', 'none' or a mapping of op types to bytes, not {option!r}"
        )
    return option


def _builder(soc: Soc, option: str | tuple[tuple[str, int], ...]) -> Builder:
    if option == "auto":
        return Builder(soc, KERNEL_WORKSPACES_950 if soc.is_regbase else None)
    return Builder(soc, None if isinstance(option, str) else dict(option))


@lru_cache(maxsize=1024)
def _plan_backward(
    grad_output: TensorDesc | None,
    self: TensorDesc | None,
    lambd: Scalar | None,
    grad_input: TensorDesc | None,
    soc: Soc,
    option: str | tuple[tuple[str, int], ...],
    op_name: str,
) -> Plan:
    arguments = {
        "gradOutput": grad_output,
        "self": self,
        "lambd": lambd,
        "gradInput": grad_input,
    }
    shape = check_backward(grad_output, self, lambd, grad_input, soc, op_name)
    if isinstance(shape, Fault):
        return _failed(BACKWARD, soc, arguments, shape)
    assert grad_output is not None and self is not None
    assert lambd is not None and grad_input is not None
    promoted = promote_type(grad_output.dtype, self.dtype)
    used = clamp_lambd(lambd.to_float())
    if shape is None:
        why = Text("an input is empty: success, nothing is launched, gradInput is not touched")
        steps = (Step("CheckEmpty", "L2", True, why),)
        return Plan(
            BACKWARD, soc, arguments, 0, None, steps, (), (), grad_input.shape, promoted, used
        )
    builder = _builder(soc, option)
    try:
        x = builder.contiguous("self", self)
        grad = builder.contiguous("gradOutput", grad_output)
        if grad_output.shape != self.shape:
            grad = builder.broadcast_to(grad, shape)
            x = builder.broadcast_to(x, shape)
        grad = builder.cast(grad, promoted, _PROMOTED)
        x = builder.cast(x, promoted, _PROMOTED)
        result = builder.hard_shrink_grad(grad, x, used)
        result = builder.cast(result, grad_input.dtype, _DTYPE_OF[BACKWARD])
        builder.view_copy(result, "gradInput", grad_input)
    except L0Error as error:
        return _failed(BACKWARD, soc, arguments, error.fault, tuple(builder.steps))
    return _finish(BACKWARD, builder, arguments, shape, promoted, used)


@lru_cache(maxsize=1024)
def _plan_forward(
    self: TensorDesc | None,
    lambd: Scalar | None,
    out: TensorDesc | None,
    soc: Soc,
    option: str | tuple[tuple[str, int], ...],
) -> Plan:
    arguments = {"self": self, "lambd": lambd, "out": out}
    shape = check_forward(self, lambd, out, soc)
    if isinstance(shape, Fault):
        return _failed(FORWARD, soc, arguments, shape)
    assert self is not None and lambd is not None and out is not None
    used = clamp_lambd(lambd.to_float())
    if shape is None:
        why = Text("self is empty: success, nothing is launched")
        steps = (Step("CheckEmpty", "L2", True, why),)
        return Plan(FORWARD, soc, arguments, 0, None, steps, (), (), out.shape, self.dtype, used)
    builder = _builder(soc, option)
    try:
        x = builder.contiguous("self", self)
        result = builder.hard_shrink(x, used)
        result = builder.cast(result, out.dtype, _DTYPE_OF[FORWARD])
        builder.view_copy(result, "out", out)
    except L0Error as error:
        return _failed(FORWARD, soc, arguments, error.fault, tuple(builder.steps))
    return _finish(FORWARD, builder, arguments, shape, self.dtype, used)


def _failed(
    operator: str,
    soc: Soc,
    arguments: Mapping[str, TensorDesc | Scalar | None],
    fault: Fault,
    steps: tuple[Step, ...] | None = None,
) -> Plan:
    """A plan that was stopped; `steps` are the l0 steps before, None when a check of L2 did it."""
    stop = Step(fault.check, "L2" if steps is None else "l0", True, fault.text)
    steps = steps or ()
    return Plan(
        operator,
        soc,
        arguments,
        fault.status,
        fault,
        (*steps, stop),
        (),
        (),
        None,
        None,
        None,
    )


def _finish(
    operator: str,
    builder: Builder,
    arguments: Mapping[str, TensorDesc | Scalar | None],
    shape: tuple[int, ...],
    promoted: Any,
    used: Any,
) -> Plan:
    return Plan(
        operator,
        builder.soc,
        arguments,
        0,
        None,
        tuple(builder.steps),
        tuple(builder.launches),
        builder.buckets(frozenset(arguments)),
        shape,
        promoted,
        used,
    )
