"""When a finding concerns a call: conditions by name, each a question to a plan.

`data/findings.json` names one of these for every finding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from labkit.op.contract import MAX_RANK
from labkit.op.describe import TensorDesc
from labkit.op.dtypes import BF16, FLOAT, FLOAT16
from labkit.op.plan import Launch, Plan
from labkit.op.scalar import Scalar
from labkit.op.tiling import GRAD, Tiling, TilingError, tile
from labkit.op.variants import disagreements
from labkit.op.workspace import align

__all__ = ["CONDITIONS", "first_fit_size", "main_launch", "tensors_of", "tiling_of"]


def tensors_of(plan: Plan) -> dict[str, TensorDesc]:
    """The tensors of a call by argument name, null pointers left out."""
    return {n: a for n, a in plan.arguments.items() if isinstance(a, TensorDesc)}


def _output(plan: Plan) -> TensorDesc | None:
    last = list(plan.arguments.values())[-1]
    return last if isinstance(last, TensorDesc) else None


def _inputs(plan: Plan) -> list[TensorDesc]:
    return [a for a in list(plan.arguments.values())[:-1] if isinstance(a, TensorDesc)]


def _lambd(plan: Plan) -> Scalar | None:
    scalar = plan.arguments.get("lambd")
    return scalar if isinstance(scalar, Scalar) else None


def main_launch(plan: Plan) -> Launch | None:
    """The launch of the operator itself, HardShrinkGrad or HardShrink."""
    return next((x for x in plan.launches if x.op_type.startswith("HardShrink")), None)


def tiling_of(plan: Plan) -> Tiling | None:
    """How the operator's own kernel is cut; None without a launch or where the tiling fails."""
    launch = main_launch(plan)
    if launch is None:
        return None
    op = GRAD if launch.op_type == "HardShrinkGrad" else "hardshrink"
    source = launch.inputs[0]
    size = int(np.prod(source.shape, dtype=object)) if source.shape else 1
    try:
        return tile(size, source.dtype, op=op, soc=plan.soc, lambd=launch.attrs["lambd"])
    except TilingError:
        return None


def first_fit_size(plan: Plan) -> int:
    """What the workspace would be if the allocator took the first bucket that fits."""
    members = [m for bucket in plan.buckets for m in bucket.members]
    members.sort(key=lambda m: (m.start, not m.name.startswith("kernel")))
    buckets: list[list[str]] = []
    ends: list[int] = []
    sizes: list[int] = []
    for member in members:
        for place, names in enumerate(buckets):
            if ends[place] < member.start and names[-1] not in member.read_by_producer:
                break
        else:
            place = len(buckets)
            buckets.append([])
            ends.append(0)
            sizes.append(0)
        buckets[place].append(member.name)
        ends[place] = member.end
        sizes[place] = max(sizes[place], align(member.size))
    return sum(sizes)


def _null(plan: Plan) -> bool:
    return any(value is None for value in plan.arguments.values())


def _negative_stride(plan: Plan) -> bool:
    return any(
        stride < 0 and size > 1
        for tensor in tensors_of(plan).values()
        for stride, size in zip(tensor.strides, tensor.shape)
    )


def _lambd_not_float32(plan: Plan) -> bool:
    scalar = _lambd(plan)
    return scalar is not None and scalar.dtype is not FLOAT


def _lambd_not_finite(plan: Plan) -> bool:
    scalar = _lambd(plan)
    return scalar is not None and not np.isfinite(scalar.to_float())


def _negative_lambd(plan: Plan) -> bool:
    scalar = _lambd(plan)
    return scalar is not None and bool(scalar.to_float() < 0)


def _outside(plan: Plan) -> bool:
    return any(not t.is_empty and not t.fits_storage for t in tensors_of(plan).values())


def _fp16_boundary(plan: Plan) -> bool:
    launch = main_launch(plan)
    if launch is None or launch.inputs[0].dtype is not FLOAT16:
        return False
    used = launch.attrs["lambd"]
    return bool(np.isnan(used)) is False and bool(disagreements("float16", used))


def _lane_waste(plan: Plan) -> bool:
    tiling = tiling_of(plan)
    return tiling is not None and tiling.public and tiling.ub_factor > 2 * tiling.block_factor


def _strided_output(plan: Plan) -> bool:
    out = _output(plan)
    return plan.soc.is_regbase and out is not None and not out.is_contiguous


def _huge_storage(plan: Plan) -> bool:
    return any(t.storage_size >= 2**32 and not t.is_contiguous for t in _inputs(plan))


def _bf16_accepted(plan: Plan) -> bool:
    passed = plan.failed_check not in ("CheckNotNull", "CheckDtypeValid")
    return passed and any(t.dtype is BF16 for t in tensors_of(plan).values())


def _chip_between(plan: Plan) -> bool:
    """Chips that take bfloat16 forward and refuse it backward."""
    forward = plan.soc.short not in ("Ascend910", "Ascend310P")
    return forward and plan.soc.npu_arch not in (2201, 3510)


def _empty_output(plan: Plan) -> bool:
    out = _output(plan)
    return out is not None and out.is_empty and not any(t.is_empty for t in _inputs(plan))


CONDITIONS: Mapping[str, Callable[[Plan], bool]] = {
    "runs": lambda plan: bool(plan.launches),
    "mixed dtypes": lambda plan: len({t.dtype for t in tensors_of(plan).values()}) > 1,
    "empty": lambda plan: any(t.is_empty for t in _inputs(plan)),
    "empty output": _empty_output,
    "null pointer": _null,
    "rank above 8": lambda plan: any(len(t.shape) > MAX_RANK for t in tensors_of(plan).values()),
    "view outside storage": _outside,
    "lambd not float32": _lambd_not_float32,
    "lambd not finite": _lambd_not_finite,
    "negative lambd": _negative_lambd,
    "negative stride": _negative_stride,
    "strided output on arch35": _strided_output,
    "huge storage": _huge_storage,
    "bf16 accepted": _bf16_accepted,
    "chip called unsupported": lambda plan: plan.soc.short in ("Ascend310B", "Ascend310P"),
    "chip 310B": lambda plan: plan.soc.short == "Ascend310B",
    "chip between the lists": _chip_between,
    "arch35": lambda plan: plan.soc.is_regbase,
    "not arch35": lambda plan: not plan.soc.is_regbase,
    "fp16 boundary": _fp16_boundary,
    "lane waste": _lane_waste,
    "bucket waste": lambda plan: first_fit_size(plan) < plan.workspace_size,
}
"""Every condition that a finding may name."""
