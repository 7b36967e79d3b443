"""The aclnn layer of a chain: every check in order, λ, the workspace, phase 2.

Which check stops a call is the plan's business (`labkit.op.contract`); here it
is told, with what the checks before it saw.
"""

from __future__ import annotations

import numpy as np

from labkit.explain.chain import ChainStep, Run
from labkit.explain.maker import NOT_REACHED, Maker, joined, named_number
from labkit.op.broadcast import BroadcastFault, broadcast_shapes
from labkit.op.contract import backward_dtypes, forward_dtypes
from labkit.op.describe import shape_text
from labkit.op.dtypes import message_list, promote_type
from labkit.op.plan import Plan
from labkit.op.scalar import Scalar, float32_bits

__all__ = ["CHECKS", "aclnn_steps", "lambd_text", "stops_in_check"]

CHECKS = {
    "backward": (
        "CheckCommInput",
        "OpCache",
        "CreateExecutor",
        "CheckNotNull",
        "CheckDtypeValid",
        "CheckMaxDim",
        "CheckPromoteType",
        "CheckEmpty",
        "CheckBroadcast",
        "CheckShape",
    ),
    "forward": (
        "CheckCommInput",
        "OpCache",
        "CheckNotNull",
        "CheckDtypeValid",
        "CheckShape",
        "CheckMaxDim",
        "CreateExecutor",
        "CheckEmpty",
    ),
}
"""The checks of each operator, in the order in which the code makes them."""


def stops_in_check(plan: Plan) -> bool:
    """Whether a check of the aclnn layer ends the call, or an empty input does."""
    names = CHECKS["backward"]
    return plan.failed_check in names if plan.fault else not plan.launches


def lambd_text(plan: Plan) -> str:
    """λ as it was given and as it is used, in one line."""
    scalar = plan.arguments.get("lambd")
    if not isinstance(scalar, Scalar):
        return "null"
    given = scalar.to_float()
    text = f"{given} ({scalar.dtype.short})"
    return text if plan.lambd is None or not given < 0 else f"{text}, used as {plan.lambd}"


def aclnn_steps(maker: Maker, lambd_reached: bool, run: Run | None) -> tuple[ChainStep, ...]:
    """The steps of the aclnn layer. `lambd_reached`: the l0 operators got as far as λ."""
    plan = maker.plan
    names = CHECKS[maker.operator]
    ends = "CheckEmpty" if plan.ok and not plan.launches else plan.failed_check
    last = names.index(ends) if ends in names else len(names)
    steps = [
        _check(maker, name, place, last) if place <= last else _not_reached(maker, name)
        for place, name in enumerate(names)
    ]
    if lambd_reached:
        steps.append(maker.step("L2", "Lambda", "passed", _lambd_why(plan)))
    else:
        steps.append(_not_reached(maker, "Lambda"))
    if plan.launches:
        size = named_number(plan.workspace_size, "byte")
        buckets = named_number(len(plan.buckets), "bucket")
        why = f"{size} in {buckets}" if plan.buckets else "0 bytes: nothing lives in it"
        steps.append(maker.step("L2", "WorkspaceSize", "passed", why))
    else:
        steps.append(_not_reached(maker, "WorkspaceSize"))
    steps.append(_phase2(maker, run))
    return tuple(steps)


def _not_reached(maker: Maker, name: str) -> ChainStep:
    return maker.step("L2", name, NOT_REACHED)


def _check(maker: Maker, name: str, place: int, last: int) -> ChainStep:
    if place == last:
        return _returned(maker) if maker.plan.ok else _stopped(maker, name)
    why = {
        "CheckCommInput": _why_out_pointers,
        "OpCache": _why_cache,
        "CreateExecutor": _why_executor,
        "CheckNotNull": _why_not_null,
        "CheckDtypeValid": _why_dtype,
        "CheckMaxDim": _why_rank,
        "CheckPromoteType": _why_promote,
        "CheckEmpty": _why_not_empty,
        "CheckBroadcast": _why_broadcast,
        "CheckShape": _why_shape,
    }[name](maker)
    return maker.step("L2", name, "assumed" if name == "OpCache" else "passed", why)


def _stopped(maker: Maker, name: str) -> ChainStep:
    fault = maker.plan.fault
    assert fault is not None
    said = fault.messages[-1].text if fault.messages else ""
    messages = joined(
        f"{m.code} ({', '.join(m.values or tuple(v for _, v in m.fields))})" for m in fault.messages
    )
    facts = (
        ("returns", f"{fault.status} {maker.plan.status_name}"),
        ("right would be", fault.remedy),
        ("error list", messages),
    )
    return maker.step("L2", name, "stopped", said, facts=facts)


def _returned(maker: Maker) -> ChainStep:
    empty = joined(
        name for name, tensor in maker.tensors.items() if tensor.is_empty and name != maker.out_name
    )
    verb = "are" if " and " in empty else "is"
    why = (
        f"{empty} {verb} empty: success at once, workspace 0, no kernel, {maker.out_name} untouched"
    )
    return maker.step("L2", "CheckEmpty", "returned", why)


# -- what the checks saw -------------------------------------------------------


def _why_out_pointers(maker: Maker) -> str:
    return "both are taken as given"


def _why_cache(maker: Maker) -> str:
    if any(launch.core != "AICORE" for launch in maker.plan.launches):
        return "never remembered: not every launch of this chain is an AI Core kernel"
    return "taken as a miss: the chain shows a first call"


def _why_executor(maker: Maker) -> str:
    if maker.plan.ok:
        return "made"
    return "made; the failing step below leaves it unreleased, which logs 561102 besides"


def _why_not_null(maker: Maker) -> str:
    return f"{joined(maker.plan.arguments)} are there"


def _why_dtype(maker: Maker) -> str:
    soc = maker.plan.soc
    have = joined(tensor.dtype.short for tensor in maker.tensors.values())
    if maker.operator == "backward":
        return f"{have}: in {message_list(backward_dtypes(soc))} (NpuArch {soc.npu_arch})"
    return f"{have}: in {message_list(forward_dtypes(soc))} (chip {soc.short})"


def _why_rank(maker: Maker) -> str:
    if maker.operator == "forward":
        return f"self has {len(maker.tensors['self'].shape)}"
    return f"{joined(str(len(tensor.shape)) for tensor in maker.tensors.values())} dimensions"


def _why_promote(maker: Maker) -> str:
    grad, x, out = (maker.tensors[name].dtype for name in ("gradOutput", "self", "gradInput"))
    meet = promote_type(grad, x)
    return f"{grad.short} with {x.short} gives {meet.short}, which can become {out.short}"


def _why_not_empty(maker: Maker) -> str:
    return "self is not empty" if maker.operator == "forward" else "neither input is empty"


def _why_broadcast(maker: Maker) -> str:
    grad, x = (maker.tensors[name].shape for name in ("gradOutput", "self"))
    shape = broadcast_shapes(grad, x)
    assert not isinstance(shape, BroadcastFault)
    return f"{shape_text(grad)} with {shape_text(x)} gives {shape_text(shape)}"


def _why_shape(maker: Maker) -> str:
    return f"{maker.out_name} has {shape_text(maker.tensors[maker.out_name].shape)}"


def _lambd_why(plan: Plan) -> str:
    scalar = plan.arguments["lambd"]
    assert isinstance(scalar, Scalar)
    given = scalar.to_float()
    text = f"{scalar.dtype.short} gives float32 {given!s} (0x{float32_bits(given):08x})"
    if scalar.dtype.kind == "complex":
        text += ", as every complex λ does"
    if given < 0:
        return f"{text}; negative, so 0 is used"
    if np.isnan(given):
        return f"{text}; NaN is kept, and nothing is below it: every gradient passes"
    return text


def _phase2(maker: Maker, run: Run | None) -> ChainStep:
    plan = maker.plan
    if not plan.ok:
        return _not_reached(maker, "Phase2")
    kernels = named_number(len(plan.launches), "launch")
    if run is None:
        return maker.step("L2", "Phase2", "not run", f"a plan only; it would make {kernels}")
    if run.status != 0:
        return maker.step("L2", "Phase2", "stopped", f"the call ended with {run.status_name}")
    told = "the device does not tell which kernels ran"
    if run.launches is not None:
        told = f"launched: {joined(run.launches) or 'nothing'}"
    return maker.step("L2", "Phase2", "ran", f"on {run.device}; {told}")
