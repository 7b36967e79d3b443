"""The aclnn layer of a chain: every check in order, λ, the workspace, phase 2.

Which check stops a call is the plan's business (`labkit.op.contract`); here it
is told, with what the checks before it saw.
"""

from __future__ import annotations

import numpy as np

from labkit.explain.chain import ChainStep, Run
from labkit.explain.maker import NOT_REACHED, Maker
from labkit.explain.words import joined, named_number
from labkit.language import Text
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
        return Text("null")
    given = scalar.to_float()
    text = f"{given} ({scalar.dtype.short})"
    if plan.lambd is None or not given < 0:
        return text
    return Text("{given}, used as {used}", given=text, used=plan.lambd)


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
        why = Text("0 bytes: nothing lives in it")
        if plan.buckets:
            why = Text("{size} in {buckets}", size=size, buckets=buckets)
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
        (Text("returns"), f"{fault.status} {maker.plan.status_name}"),
        (Text("right would be"), fault.remedy),
        (Text("error list"), messages),
    )
    return maker.step("L2", name, "stopped", said, facts=facts)


def _returned(maker: Maker) -> ChainStep:
    out = maker.out_name
    empty = [name for name, tensor in maker.tensors.items() if tensor.is_empty and name != out]
    why = Text(
        "{name} is empty: success at once, workspace 0, no kernel, {out} untouched",
        name=empty[0],
        out=out,
    )
    if len(empty) > 1:
        why = Text(
            "{names} are empty: success at once, workspace 0, no kernel, {out} untouched",
            names=joined(empty),
            out=out,
        )
    return maker.step("L2", "CheckEmpty", "returned", why)


# -- what the checks saw -------------------------------------------------------


def _why_out_pointers(maker: Maker) -> str:
    return Text("both are taken as given")


def _why_cache(maker: Maker) -> str:
    if any(launch.core != "AICORE" for launch in maker.plan.launches):
        return Text("never remembered: not every launch of this chain is an AI Core kernel")
    return Text("taken as a miss: the chain shows a first call")


def _why_executor(maker: Maker) -> str:
    if maker.plan.ok:
        return Text("made")
    return Text("made; the failing step below leaves it unreleased, which logs 561102 besides")


def _why_not_null(maker: Maker) -> str:
    return Text("{names} are there", names=joined(maker.plan.arguments))


def _why_dtype(maker: Maker) -> str:
    soc = maker.plan.soc
    have = joined(tensor.dtype.short for tensor in maker.tensors.values())
    if maker.operator == "backward":
        return Text(
            "{dtypes}: in {listed} (NpuArch {arch})",
            dtypes=have,
            listed=message_list(backward_dtypes(soc)),
            arch=soc.npu_arch,
        )
    return Text(
        "{dtypes}: in {listed} (chip {chip})",
        dtypes=have,
        listed=message_list(forward_dtypes(soc)),
        chip=soc.short,
    )


def _why_rank(maker: Maker) -> str:
    if maker.operator == "forward":
        return Text("self has {rank}", rank=len(maker.tensors["self"].shape))
    ranks = joined(str(len(tensor.shape)) for tensor in maker.tensors.values())
    return Text("{ranks} dimensions", ranks=ranks)


def _why_promote(maker: Maker) -> str:
    grad, x, out = (maker.tensors[name].dtype for name in ("gradOutput", "self", "gradInput"))
    meet = promote_type(grad, x)
    return Text(
        "{first} with {second} gives {common}, which can become {out}",
        first=grad.short,
        second=x.short,
        common=meet.short,
        out=out.short,
    )


def _why_not_empty(maker: Maker) -> str:
    if maker.operator == "forward":
        return Text("self is not empty")
    return Text("neither input is empty")


def _why_broadcast(maker: Maker) -> str:
    grad, x = (maker.tensors[name].shape for name in ("gradOutput", "self"))
    shape = broadcast_shapes(grad, x)
    assert not isinstance(shape, BroadcastFault)
    return Text(
        "{first} with {second} gives {common}",
        first=shape_text(grad),
        second=shape_text(x),
        common=shape_text(shape),
    )


def _why_shape(maker: Maker) -> str:
    shape = maker.tensors[maker.out_name].shape
    return Text("{name} has {shape}", name=maker.out_name, shape=shape_text(shape))


def _lambd_why(plan: Plan) -> str:
    scalar = plan.arguments["lambd"]
    assert isinstance(scalar, Scalar)
    given = scalar.to_float()
    text = Text(
        "{dtype} gives float32 {value} (0x{bits})",
        dtype=scalar.dtype.short,
        value=str(given),
        bits=f"{float32_bits(given):08x}",
    )
    if scalar.dtype.kind == "complex":
        text = Text("{said}, as every complex λ does", said=text)
    if given < 0:
        return Text("{said}; negative, so 0 is used", said=text)
    if np.isnan(given):
        return Text(
            "{said}; NaN is kept, and nothing is below it: every gradient passes", said=text
        )
    return text


def _phase2(maker: Maker, run: Run | None) -> ChainStep:
    plan = maker.plan
    if not plan.ok:
        return _not_reached(maker, "Phase2")
    kernels = named_number(len(plan.launches), "launch")
    if run is None:
        why = Text("a plan only; it would make {launches}", launches=kernels)
        return maker.step("L2", "Phase2", "not run", why)
    if run.status != 0:
        why = Text("the call ended with {status}", status=run.status_name)
        return maker.step("L2", "Phase2", "stopped", why)
    told = Text("the device does not tell which kernels ran")
    if run.launches is not None:
        told = Text("launched: {kernels}", kernels=joined(run.launches) or Text("nothing"))
    why = Text("on {device}; {told}", device=run.device, told=told)
    return maker.step("L2", "Phase2", "ran", why)
