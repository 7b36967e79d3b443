"""A call that was made, read: the plan of its arguments, and what it tells of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.errors import LabValueError
from labkit.explain.chain import Run
from labkit.explain.words import listed
from labkit.language import Text
from labkit.op.aclnn import plan_hardshrink, plan_hardshrink_backward
from labkit.op.describe import TensorDesc
from labkit.op.dtypes import data_type
from labkit.op.plan import Plan
from labkit.op.scalar import Scalar

if TYPE_CHECKING:
    from labkit.host.twophase import Call

__all__ = ["plan_of_call", "run_of_call"]

_PLANS: dict[str, Any] = {
    "aclnnHardshrinkBackward": plan_hardshrink_backward,
    "aclnnHardshrink": plan_hardshrink,
}


def plan_of_call(call: Call) -> Plan:
    """The plan for a call's arguments on its chip; `LabValueError` for an unknown operator."""
    plan = _PLANS.get(call.operator)
    if plan is None:
        raise LabValueError(f"the model knows {', '.join(_PLANS)}, not {call.operator}")
    described = [_described(argument) for argument in call.arguments.values()]
    result: Plan = plan(*described, soc=call.soc)
    return result


def _described(argument: Any) -> TensorDesc | Scalar | None:
    from labkit.host.arrays import TensorView
    from labkit.host.twophase import RawScalar

    if isinstance(argument, TensorView):
        return TensorDesc(
            argument.dtype,
            argument.shape,
            argument.strides,
            argument.offset,
            argument.storage_shape,
        )
    if isinstance(argument, RawScalar):
        return Scalar(raw=argument.raw, dtype=data_type(argument.data_type))
    return None


def run_of_call(call: Call, plan: Plan) -> Run:
    """What the call tells of its run, and where that differs from the plan."""
    differs = []
    if call.status != plan.status:
        differs.append(
            Text(
                "the call returned {status}, the model says {modelled}",
                status=call.status,
                modelled=plan.status,
            )
        )
    elif call.ok and call.workspace_size != plan.workspace_size:
        differs.append(
            Text(
                "phase 1 asked for {size} bytes, the model says {modelled}",
                size=call.workspace_size,
                modelled=plan.workspace_size,
            )
        )
    launches = None if call.launches is None else tuple(call.launches)
    expected = tuple(launch.op_type for launch in plan.launches)
    if launches is not None and launches != expected and call.ok:
        differs.append(
            Text(
                "launched were {launches}; the model says {modelled}",
                launches=listed(launches),
                modelled=listed(expected),
            )
        )
    device = call.device
    if device == f"software NPU as {plan.soc.name}":
        device = Text("software NPU as {chip}", chip=plan.soc.name)
    return Run(
        device,
        call.status,
        call.status_name,
        call.workspace_size,
        len(call.record),
        launches,
        call.message,
        tuple(differs),
    )
