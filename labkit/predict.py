"""What the model says about a call that was made: its plan."""

from __future__ import annotations

from typing import Any

from labkit.errors import LabValueError
from labkit.host.arrays import TensorView
from labkit.host.twophase import Call, RawScalar
from labkit.op.aclnn import plan_hardshrink, plan_hardshrink_backward
from labkit.op.describe import TensorDesc
from labkit.op.dtypes import data_type
from labkit.op.plan import Plan
from labkit.op.scalar import Scalar

__all__ = ["plan_of", "predicted_launches"]


def plan_of(call: Call, *, soc: str | None = None) -> Plan:
    """The plan for the descriptors of a call, on its chip or another.

    Raises `LabValueError` for an operator that the model does not know.
    """
    plans: dict[str, Any] = {
        "aclnnHardshrinkBackward": plan_hardshrink_backward,
        "aclnnHardshrink": plan_hardshrink,
    }
    plan = plans.get(call.operator)
    if plan is None:
        raise LabValueError(f"the model knows {', '.join(plans)}, not {call.operator}")
    described = [_described(argument) for argument in call.arguments.values()]
    result: Plan = plan(*described, soc=soc or call.soc)
    return result


def _described(argument: TensorView | RawScalar | None) -> TensorDesc | Scalar | None:
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


def predicted_launches(call: Call) -> tuple[str, ...]:
    """The kernels that the model expects for a call, in launch order."""
    return tuple(launch.op_type for launch in plan_of(call).launches)
