"""The software NPU as a source: the launches that it executed, in order.

They are launches, not measurements: there are no times in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.errors import LabValueError
from labkit.observe.kernels import Observation, ObservedKernel

if TYPE_CHECKING:
    from labkit.host.twophase import Call

__all__ = ["observe_software"]


def observe_software(call: Call) -> Observation:
    """What the software NPU executed for a call.

    Raises `LabValueError` for a call that ran on an NPU, where only a profile
    tells.
    """
    if call.executed is None:
        raise LabValueError(
            f"the call ran on {call.device}, which does not tell what it executed; right would be "
            "a profile: labkit.observe.profile(script)"
        )
    return Observation(
        source=f"executed by the {call.device}; launches, not a measurement",
        kernels=tuple(_kernel(call.operator, task) for task in call.executed),
        measured=False,
    )


def _kernel(operator: str, task: Any) -> ObservedKernel:
    launch = task.launch
    inputs = [operand for operand in launch.inputs if operand.const is None]
    return ObservedKernel(
        op_type=task.op_type,
        name=f"{operator}_{launch.l0}_{task.op_type}",
        core=task.core,
        task_type=task.core,
        input_shapes=tuple(operand.shape for operand in inputs),
        input_dtypes=tuple(operand.dtype.short for operand in inputs),
        output_shapes=tuple(operand.shape for operand in launch.outputs),
        output_dtypes=tuple(operand.dtype.short for operand in launch.outputs),
    )
