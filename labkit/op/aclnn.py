"""Phase 1 of the two operators and of your own: checks, then l0 operators, then the workspace.

Models cann/ops-nn e5c3fa93
activation/hard_shrink_grad/op_api/aclnn_hardshrink_backward.cpp:157-233 and
activation/hard_shrink/op_api/aclnn_hardshrink.cpp:85-129. Pure: descriptors
in, a `Plan` out; no memory and no device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from labkit.errors import LabValueError, shown
from labkit.language import Text
from labkit.op.asked import count, instance
from labkit.op.contract import Fault, check_backward, check_forward
from labkit.op.describe import TensorDesc
from labkit.op.dtypes import DataType, promote_type
from labkit.op.l0 import KERNEL_WORKSPACES_950, Builder, L0Error
from labkit.op.plan import Plan, Step
from labkit.op.scalar import Scalar, as_scalar, clamp_lambd
from labkit.op.tables import Soc, find_soc

__all__ = ["plan_hardshrink", "plan_hardshrink_backward", "plan_operator"]

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
    _descriptors(gradOutput=grad_output, self=self, gradInput=grad_input)
    scalar = None if lambd is None else as_scalar(lambd)
    chip = soc if isinstance(soc, Soc) else find_soc(soc)
    instance("op_name", op_name, str, f"a name such as {BACKWARD}_0")
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
    _descriptors(self=self, out=out)
    scalar = None if lambd is None else as_scalar(lambd)
    chip = soc if isinstance(soc, Soc) else find_soc(soc)
    return _plan_forward(self, scalar, out, chip, _freeze(kernel_workspaces))


def plan_operator(
    operator: str,
    arguments: Mapping[str, TensorDesc | Scalar | None],
    found: Fault | tuple[int, ...] | None,
    chain: Callable[[Builder], None],
    *,
    soc: str | Soc = "Ascend950PR_9599",
    kernel_workspaces: str | Mapping[str, int] = "auto",
) -> Plan:
    """Phase 1 of an operator of your own: its checks are done, its chain is yet to be built.

    `arguments` are the descriptors by parameter name, the output last. `found`
    is what the checks found: the first `Fault`, or the shape of the result, or
    None for an empty call, which succeeds and launches nothing. `chain` calls
    the l0 operators on a `Builder`, in order; a fault inside one of them ends
    phase 1 as it does for the two operators above. Used in notebook 10,
    "Phase 1 as a function".
    """
    chip = soc if isinstance(soc, Soc) else find_soc(soc)
    if isinstance(found, Fault):
        return _failed(operator, chip, arguments, found)
    first = next(value for value in arguments.values() if isinstance(value, TensorDesc))
    why = Text("an input is empty: success, nothing is launched")
    option = _freeze(kernel_workspaces)
    return _planned(operator, chip, arguments, found, chain, option, first.dtype, None, why)


def _freeze(option: str | Mapping[str, int]) -> str | tuple[tuple[str, int], ...]:
    if isinstance(option, Mapping):
        named = ((instance("an op type", key, str, "a text"), key) for key in option)
        return tuple(sorted((name, count(name, option[key], "bytes")) for name, key in named))
    if not isinstance(option, str) or option not in ("auto", "none"):
        raise LabValueError(
            "kernel_workspaces is 'auto', 'none' or a mapping of op types to bytes, not "
            f"{shown(option)}"
        )
    return option


def _descriptors(**named: Any) -> None:
    for name, value in named.items():
        if value is not None:
            instance(name, value, TensorDesc, "a TensorDesc, or None for a null pointer")


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
    found = check_backward(grad_output, self, lambd, grad_input, soc, op_name)
    if isinstance(found, Fault):
        return _failed(BACKWARD, soc, arguments, found)
    assert grad_output is not None and self is not None
    assert lambd is not None and grad_input is not None
    promoted = promote_type(grad_output.dtype, self.dtype)
    used = clamp_lambd(lambd.to_float())

    def chain(builder: Builder) -> None:
        x = builder.contiguous("self", self)
        grad = builder.contiguous("gradOutput", grad_output)
        if grad_output.shape != self.shape:
            assert found is not None  # an empty call never gets here
            grad = builder.broadcast_to(grad, found)
            x = builder.broadcast_to(x, found)
        grad = builder.cast(grad, promoted, _PROMOTED)
        x = builder.cast(x, promoted, _PROMOTED)
        result = builder.hard_shrink_grad(grad, x, used)
        result = builder.cast(result, grad_input.dtype, _DTYPE_OF[BACKWARD])
        builder.view_copy(result, "gradInput", grad_input)

    why = Text("an input is empty: success, nothing is launched, gradInput is not touched")
    return _planned(BACKWARD, soc, arguments, found, chain, option, promoted, used, why)


@lru_cache(maxsize=1024)
def _plan_forward(
    self: TensorDesc | None,
    lambd: Scalar | None,
    out: TensorDesc | None,
    soc: Soc,
    option: str | tuple[tuple[str, int], ...],
) -> Plan:
    arguments = {"self": self, "lambd": lambd, "out": out}
    found = check_forward(self, lambd, out, soc)
    if isinstance(found, Fault):
        return _failed(FORWARD, soc, arguments, found)
    assert self is not None and lambd is not None and out is not None
    used = clamp_lambd(lambd.to_float())

    def chain(builder: Builder) -> None:
        x = builder.contiguous("self", self)
        result = builder.hard_shrink(x, used)
        result = builder.cast(result, out.dtype, _DTYPE_OF[FORWARD])
        builder.view_copy(result, "out", out)

    why = Text("self is empty: success, nothing is launched")
    return _planned(FORWARD, soc, arguments, found, chain, option, self.dtype, used, why)


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


def _planned(
    operator: str,
    soc: Soc,
    arguments: Mapping[str, TensorDesc | Scalar | None],
    shape: tuple[int, ...] | None,
    chain: Callable[[Builder], None],
    option: str | tuple[tuple[str, int], ...],
    promoted: DataType,
    used: np.float32 | None,
    empty: Text,
) -> Plan:
    """The plan of a call that passed its checks; `shape` None: an empty one."""
    if shape is None:
        steps = (Step("CheckEmpty", "L2", True, empty),)
        *_, out = (value for value in arguments.values() if isinstance(value, TensorDesc))
        return Plan(operator, soc, arguments, 0, None, steps, (), (), out.shape, promoted, used)
    builder = _builder(soc, option)
    try:
        chain(builder)
    except L0Error as error:
        return _failed(operator, soc, arguments, error.fault, tuple(builder.steps))
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
