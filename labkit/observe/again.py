"""Making a call again where it can be watched: as a script of its own, under msprof on an NPU.

msprof watches a whole process. So the call is written as a script, with the
same dtypes, shapes, strides, offsets and storage and with zeros as numbers:
what is launched does not depend on the numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.errors import DeviceNotAvailable, LabValueError
from labkit.language import gettext as _
from labkit.observe.compare import plan_that_ran
from labkit.observe.kernels import Observation
from labkit.observe.msprof import profile
from labkit.observe.software import observe_software
from labkit.op.describe import TensorDesc
from labkit.op.plan import Plan
from labkit.op.scalar import Scalar

if TYPE_CHECKING:
    from labkit.host.twophase import Call

__all__ = ["call_script", "observe", "unwatched"]

_HEAD = """\
import numpy as np

import labkit
from labkit.op.dtypes import data_type


def view(dtype, shape, strides, offset, storage):
    number = data_type(dtype).numpy
    root = np.zeros(storage, number)
    step = number.itemsize
    return np.ndarray(shape, number, root, offset * step, [stride * step for stride in strides])


"""


def call_script(call: Call | Plan, *, calls: int = 1) -> str:
    """Python source that makes a call, or so many, with the same descriptors on any device.

    Raises `LabValueError` for a call that fails, and for a dtype that NumPy
    does not have.
    """
    plan = plan_that_ran(call)
    lines = []
    for name, argument in plan.arguments.items():
        if isinstance(argument, TensorDesc):
            lines.append(f"{name} = view({_described(name, argument)})\n")
        elif isinstance(argument, Scalar):
            made = f"raw={argument.raw!r}, dtype={argument.dtype.name!r}"
            lines.append(f"{name} = labkit.Scalar({made})\n")
    made = "hardshrink_backward(gradOutput, self, lambd=lambd, out=gradInput)"
    if plan.operator == "aclnnHardshrink":
        made = "hardshrink(self, lambd=lambd, out=out)"
    lines.append(f"for _repeat in range({calls}):\n    labkit.{made}\n")
    return _HEAD + "".join(lines)


def _described(name: str, desc: TensorDesc) -> str:
    if desc.dtype.numpy_name is None:
        raise LabValueError(
            _("{name} is {dtype}, which NumPy does not have").format(
                name=name, dtype=desc.dtype.short
            )
        )
    parts = (desc.shape, desc.strides, desc.offset, desc.storage_shape)
    return ", ".join([repr(desc.dtype.name), *map(repr, parts)])


def unwatched(device: str) -> DeviceNotAvailable:
    """What to raise where msprof would watch no NPU."""
    return DeviceNotAvailable(
        _(
            "msprof watches an NPU, and this is the {device}. On a device opened as 'sim', "
            "labkit.observe.observe_software(call) tells what was executed"
        ).format(device=device)
    )


def observe(call: Call) -> Observation:
    """What ran for a call, wherever it ran.

    The software NPU tells what it executed. On an NPU the call is made again,
    with zeros, in a child process under msprof; raises what `profile` raises, and
    `DeviceNotAvailable` for the software NPU behind CANN's library names.
    """
    if call.executed is not None:
        return observe_software(call)
    if not call.on_npu:
        raise unwatched(call.device)
    return profile(call_script(call))
