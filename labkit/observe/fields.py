"""A launch against the kernel that was seen for it, field by field."""

from __future__ import annotations

from typing import Any

from labkit.language import Text
from labkit.observe.comparison import DIFFERS, NOT_PREDICTED, NOT_TAKEN, NOTHING, SAME
from labkit.observe.kernels import ObservedKernel
from labkit.observe.reasons import block_dim_why, core_why, own_tiling, shape_text
from labkit.op.plan import Launch, Plan

__all__ = ["Told", "alike", "fields_of", "seen_key"]

_SIDES = {
    "input": (Text("input shapes"), Text("input dtypes")),
    "output": (Text("output shapes"), Text("output dtypes")),
}

Told = tuple[str, str, str, str, str]
"""A line without its kernel: field, predicted, observed, verdict, why."""


def fields_of(launch: Launch, kernel: ObservedKernel, plan: Plan) -> list[Told]:
    """The lines of a launch and a kernel, without the kernel's name."""
    tensors = [operand for operand in launch.inputs if operand.const is None]
    core = kernel.core or kernel.task_type or None  # another word than those known is another core
    lines = [_line(Text("core"), launch.core, core, core_why(kernel), _core_words(kernel))]
    tiling = own_tiling(launch, plan)
    why = block_dim_why(kernel.block_dim, tiling) if tiling and kernel.block_dim else ""
    blocks = tiling.block_dim if tiling else None
    lines.append(_line(Text("block dim"), blocks, kernel.block_dim, why))
    for side, operands in (("input", tensors), ("output", list(launch.outputs))):
        shapes = tuple(operand.shape for operand in operands)
        dtypes = tuple(operand.dtype.short for operand in operands)
        seen_shapes = _of_tensors(getattr(kernel, f"{side}_shapes"), len(shapes))
        seen_dtypes = _of_tensors(getattr(kernel, f"{side}_dtypes"), len(dtypes))
        lines.append(_line(_SIDES[side][0], shapes, seen_shapes))
        lines.append(_line(_SIDES[side][1], dtypes, seen_dtypes))
    return lines


def _of_tensors(seen: tuple[Any, ...] | None, count: int) -> tuple[Any, ...] | None:
    """What was seen of the tensors; operands on the host stand behind them."""
    return None if seen is None else seen[:count]


def _line(field: str, predicted: Any, seen: Any, why: str = "", seen_words: str = "") -> Told:
    told, found = _words(predicted), seen_words or _words(seen)
    if predicted is None:
        return field, NOTHING, found, NOT_PREDICTED, ""
    if seen is None:
        return field, told, found, NOT_TAKEN, ""
    if predicted == seen:
        return field, told, found, SAME, ""
    return field, told, found, DIFFERS, why


def _core_words(kernel: ObservedKernel) -> str:
    """The core as a plan names it, with the source's own word where that is another."""
    if kernel.core is None:
        return kernel.task_type or NOTHING
    if kernel.task_type in ("", kernel.core):
        return kernel.core
    return f"{kernel.core} ({kernel.task_type})"


def _words(value: Any) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, tuple):
        parts = (shape_text(part) if isinstance(part, tuple) else str(part) for part in value)
        return "; ".join(parts)
    return str(value)


def alike(launch: Launch, kernel: ObservedKernel, plan: Plan) -> bool:
    """Whether nothing that was taken of a kernel differs from a launch."""
    return launch.op_type == kernel.op_type and not any(
        verdict == DIFFERS
        for _field, _left, _right, verdict, _why in fields_of(launch, kernel, plan)
    )


def seen_key(kernel: ObservedKernel) -> tuple[Any, ...]:
    """What decides the lines of a kernel: everything but its name, place and times."""
    return (
        *(kernel.op_type, kernel.core, kernel.task_type, kernel.block_dim),
        *(kernel.input_shapes, kernel.input_dtypes, kernel.output_shapes, kernel.output_dtypes),
    )
