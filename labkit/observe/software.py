"""The software NPU as a source: the launches that it executed, in order.

They are launches, not measurements: there are no times in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.errors import LabValueError
from labkit.language import Text
from labkit.language import gettext as _
from labkit.observe.kernels import Observation, ObservedKernel, kernel_name

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
            _(
                "the call ran on {device}, which does not tell what it executed; right would be "
                "labkit.observe.observe(call), which makes it again under msprof"
            ).format(device=call.device)
        )
    return Observation(
        source=Text(
            "executed by the software NPU as {chip}: launches, not a measurement", chip=call.soc
        ),
        kernels=tuple(_kernel(call.operator, task) for task in call.executed),
        measured=False,
    )


def _kernel(operator: str, task: Any) -> ObservedKernel:
    launch = task.launch
    inputs = [operand for operand in launch.inputs if operand.const is None]
    return ObservedKernel(
        op_type=task.op_type,
        name=kernel_name(operator, launch),
        core=task.core,
        task_type=task.core,
        input_shapes=tuple(operand.shape for operand in inputs),
        input_dtypes=tuple(operand.dtype.short for operand in inputs),
        output_shapes=tuple(operand.shape for operand in launch.outputs),
        output_dtypes=tuple(operand.dtype.short for operand in launch.outputs),
    )
