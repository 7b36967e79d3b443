"""The operator as pure functions: descriptors in, facts out; no memory, no device.

Read it in the order in which a call travels: describe, dtypes, scalar (the
arguments) · contract (the checks) · broadcast · contiguous, viewcopy, l0 (which
kernels) · workspace · aclnn (phase 1 as a whole) · plan (what it decided) ·
numerics (what the kernels compute, at memory speed) · tiling, program, kernel
(how a core computes it, instruction by instruction).
"""

from __future__ import annotations

from labkit.op.aclnn import plan_hardshrink, plan_hardshrink_backward
from labkit.op.describe import TensorDesc
from labkit.op.dtypes import DataType, data_type
from labkit.op.kernel import HazardError, KernelRun, run_kernel
from labkit.op.numerics import hardshrink, hardshrink_grad, lambd_as_compared
from labkit.op.plan import Launch, Operand, Plan, Step
from labkit.op.scalar import Scalar
from labkit.op.tables import Soc, find_soc, socs
from labkit.op.tiling import Tiling, TilingError, tile

__all__ = [
    "DataType",
    "HazardError",
    "KernelRun",
    "Launch",
    "Operand",
    "Plan",
    "Scalar",
    "Soc",
    "Step",
    "TensorDesc",
    "Tiling",
    "TilingError",
    "data_type",
    "find_soc",
    "hardshrink",
    "hardshrink_grad",
    "lambd_as_compared",
    "plan_hardshrink",
    "plan_hardshrink_backward",
    "run_kernel",
    "socs",
    "tile",
]
