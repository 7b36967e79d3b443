"""What would explain a difference between a prediction and a machine.

Each reason is a question to ask next, made from the plan: which tensor a
missing Cast was for, for how many vector cores the public tiling gives the
block dim that was seen.
"""

from __future__ import annotations

from labkit.explain.conditions import main_launch, tiling_of
from labkit.language import Text
from labkit.observe.kernels import ObservedKernel
from labkit.op.plan import Launch, Operand, Plan
from labkit.op.tables import Soc, socs
from labkit.op.tiling import Tiling, TilingError, tile

__all__ = ["block_dim_why", "core_why", "extra_why", "missing_why", "own_tiling"]

_STRIDED = ("Transpose", "Slice", "SliceV2", "StridedSlice", "AsStrided", "ViewCopy", "TensorMove")


def own_tiling(launch: Launch, plan: Plan) -> Tiling | None:
    """How the operator's own kernel is cut; None for other kernels and where it is not public."""
    if launch is not main_launch(plan):
        return None
    tiling = tiling_of(plan)
    return tiling if tiling is not None and tiling.public else None


def missing_why(launch: Launch, plan: Plan) -> str:
    """Why a predicted kernel may not have run: what it was there for."""
    tensors = [operand for operand in launch.inputs if operand.const is None]
    source, target = tensors[0] if tensors else None, launch.outputs[0]
    if launch.op_type == "Cast" and source is not None:
        return Text(
            "it was to make {target} out of {source}: was that tensor {target} on the machine?",
            source=source.dtype.short,
            target=target.dtype.short,
        )
    if launch.op_type == "BroadcastTo" and source is not None:
        return Text(
            "it was to bring {source} to {target}: had both inputs one shape on the machine?",
            source=shape_text(source.shape),
            target=shape_text(target.shape),
        )
    if launch.op_type in _STRIDED:
        if _is_output(target, plan):
            return Text("it was to fill a strided output: was that contiguous on the machine?")
        return Text("it was to make an input contiguous: was that contiguous on the machine?")
    if launch is main_launch(plan):
        return Text("this is the operator's own kernel: did the call reach phase 2?")
    return ""


def extra_why(kernel: ObservedKernel) -> str:
    """Why a kernel ran that was not predicted."""
    if kernel.op_type in _STRIDED:
        return Text("was a tensor strided on the machine?")
    if kernel.op_type == "Cast":
        return Text("was a dtype another on the machine?")
    if kernel.op_type == "BroadcastTo":
        return Text("did the shapes differ on the machine?")
    return ""


def core_why(kernel: ObservedKernel) -> str:
    """Why a kernel ran on another core than was predicted."""
    if kernel.core == "AICPU":
        return Text("the AI CPU took it: no AI Core kernel accepted these strides or dtypes")
    return Text("another kernel of the op type was chosen")


def block_dim_why(seen: int, tiling: Tiling) -> str:
    """For how many vector cores the public tiling gives the block dim that was seen."""
    cores = sorted(soc.tiling_cores for soc in _public_chips() if _blocks(tiling, soc) == seen)
    if not cores:
        return Text("no chip of the table gives {n} by the public tiling", n=seen)
    if len(cores) > 1:
        words = {"n": seen, "least": cores[0], "most": cores[-1]}
        return Text(
            "the public tiling gives {n} on chips of {least} to {most} vector cores: was it one "
            "of these?",
            **words,
        )
    return Text(
        "the public tiling gives {n} on a chip of {cores} vector cores: was it such a chip?",
        n=seen,
        cores=cores[0],
    )


def _public_chips() -> list[Soc]:
    """The chips whose tiling is public, one for each number of vector cores."""
    public = [soc for soc in socs().values() if soc.is_regbase]
    return list({soc.tiling_cores: soc for soc in reversed(public)}.values())


def _blocks(tiling: Tiling, soc: Soc) -> int | None:
    try:
        return tile(tiling.total_num, tiling.dtype, op=tiling.op, soc=soc).block_dim
    except TilingError:
        return None


def _is_output(operand: Operand, plan: Plan) -> bool:
    return operand.buffer == list(plan.arguments)[-1]


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as Python writes a tuple."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
