"""Predicted against observed: kernel by kernel, field by field, with what explains a difference.

The prediction is a plan's launches; the block dim of the operator's own kernel
comes from its tiling (of the other kernels it is not public, so it is not
predicted). What a source did not take is no difference. What cannot be seen in
any profile, such as a skipped step, is no line here: `labkit.observe.unseen`
lists that.

>>> import labkit
>>> from labkit.observe import compare, observe_software
>>> with labkit.open_device("sim") as dev:
...     call = labkit.hardshrink_backward([1.0], [0.8], device=dev)
>>> compared = compare(call, observe_software(call))
>>> print(compared.kernels())
   predicted       observed        verdict
-  --------------  --------------  -------
1  HardShrinkGrad  HardShrinkGrad  same
>>> print(compared)
kernel            field          predicted     observed      verdict
----------------  -------------  ------------  ------------  ---------
1 HardShrinkGrad  core           AICORE        AICORE        same
1 HardShrinkGrad  block dim      1             -             not taken
1 HardShrinkGrad  input shapes   (1,); (1,)    (1,); (1,)    same
1 HardShrinkGrad  input dtypes   FLOAT; FLOAT  FLOAT; FLOAT  same
1 HardShrinkGrad  output shapes  (1,)          (1,)          same
1 HardShrinkGrad  output dtypes  FLOAT         FLOAT         same
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from labkit.errors import LabValueError
from labkit.explain.calls import plan_of_call
from labkit.language import Text
from labkit.language import gettext as _
from labkit.observe.comparison import (
    DIFFERS,
    EXTRA,
    MISSING,
    NOT_PREDICTED,
    NOT_TAKEN,
    NOTHING,
    SAME,
    Comparison,
    Line,
    ObservedDifference,
)
from labkit.observe.kernels import Observation, ObservedKernel
from labkit.observe.reasons import (
    block_dim_why,
    core_why,
    extra_why,
    missing_why,
    own_tiling,
    shape_text,
)
from labkit.op.plan import Launch, Plan

if TYPE_CHECKING:
    from labkit.host.twophase import Call

__all__ = [
    "Comparison",
    "Line",
    "ObservedDifference",
    "both_sides",
    "compare",
    "plan_that_ran",
]

_KERNEL, _RUNS = Text("kernel"), Text("runs")
_SIDES = {
    "input": (Text("input shapes"), Text("input dtypes")),
    "output": (Text("output shapes"), Text("output dtypes")),
}


def plan_that_ran(call: Call | Plan) -> Plan:
    """The plan of a call; raises `LabValueError` for one that failed, since nothing ran then."""
    plan = call if isinstance(call, Plan) else plan_of_call(call)
    if not plan.ok:
        raise LabValueError(
            _("the call ends with {status} in phase 1, so nothing runs").format(status=plan.status)
        )
    return plan


def compare(call: Call | Plan, observed: Observation, *, calls: int = 1) -> Comparison:
    """Lay the kernels that a call should launch beside those that a source reports.

    `call` is a call that was made or a plan, `calls` how often it ran while the
    source was looking. Kernels of other operators are left out by their names.
    Raises `LabValueError` for a call that failed, since nothing ran then, and for
    fewer calls than one.
    """
    if calls < 1:
        raise LabValueError(_("calls is {n}; right would be at least 1").format(n=calls))
    plan = plan_that_ran(call)
    launches, kept = both_sides(plan, observed, calls)
    matcher = difflib.SequenceMatcher(
        None, [x.op_type for x in launches], [k.op_type for k in kept], autojunk=False
    )
    lines: list[Line] = []
    number = 0
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            for launch, kernel in zip(launches[a:b], kept[c:d]):
                number += 1
                lines += _fields(f"{number} {launch.op_type}", launch, kernel, plan)
            continue
        for launch in launches[a:b]:
            number += 1
            why = missing_why(launch, plan)
            lines.append(Line(f"{number} {launch.op_type}", _KERNEL, _RUNS, NOTHING, MISSING, why))
        for kernel in kept[c:d]:
            number += 1
            why = extra_why(kernel)
            lines.append(Line(f"{number} {kernel.op_type}", _KERNEL, NOTHING, _RUNS, EXTRA, why))
    notes = (*observed.notes, *_notes(launches[: len(launches) // calls], kept, calls))
    return Comparison(observed.source, observed.measured, tuple(lines), notes)


def both_sides(
    plan: Plan, observed: Observation, calls: int = 1
) -> tuple[list[Launch], list[ObservedKernel]]:
    """The launches of so many calls, and the kernels seen that belong to the operator.

    A copy task of the runtime is no kernel, and no op_summary lists it.
    """
    launches = [launch for launch in plan.launches if launch.core != "RTS"]
    kept = [kernel for kernel in observed.of(plan.operator).kernels if kernel.core != "RTS"]
    return launches * calls, kept


def _notes(once: Sequence[Launch], kept: Sequence[ObservedKernel], calls: int) -> list[str]:
    """What is wrong with the whole rather than with a kernel."""
    if once and not kept:
        return [Text("the source has no kernel of this operator at all")]
    times = len(kept) // len(once) if once else 0
    names = [kernel.op_type for kernel in kept]
    if times > 1 and times != calls and names == [x.op_type for x in once] * times:
        return [Text("these are the kernels of {n} calls: compare with calls={n}", n=times)]
    return []


def _fields(name: str, launch: Launch, kernel: ObservedKernel, plan: Plan) -> list[Line]:
    tensors = [operand for operand in launch.inputs if operand.const is None]
    lines = [
        _line(name, Text("core"), launch.core, kernel.core, core_why(kernel), _core_words(kernel))
    ]
    tiling = own_tiling(launch, plan)
    why = block_dim_why(kernel.block_dim, tiling) if tiling and kernel.block_dim else ""
    blocks = tiling.block_dim if tiling else None
    lines.append(_line(name, Text("block dim"), blocks, kernel.block_dim, why))
    for side, operands in (("input", tensors), ("output", list(launch.outputs))):
        shapes = tuple(operand.shape for operand in operands)
        dtypes = tuple(operand.dtype.short for operand in operands)
        seen_shapes = _of_tensors(getattr(kernel, f"{side}_shapes"), len(shapes))
        seen_dtypes = _of_tensors(getattr(kernel, f"{side}_dtypes"), len(dtypes))
        lines.append(_line(name, _SIDES[side][0], shapes, seen_shapes))
        lines.append(_line(name, _SIDES[side][1], dtypes, seen_dtypes))
    return lines


def _of_tensors(seen: tuple[Any, ...] | None, count: int) -> tuple[Any, ...] | None:
    """What was seen of the tensors; operands on the host stand behind them."""
    return None if seen is None else seen[:count]


def _line(
    name: str, field: str, predicted: Any, seen: Any, why: str = "", seen_words: str = ""
) -> Line:
    told, found = _words(predicted), seen_words or _words(seen)
    if predicted is None:
        return Line(name, field, NOTHING, found, NOT_PREDICTED)
    if seen is None:
        return Line(name, field, told, found, NOT_TAKEN)
    if predicted == seen:
        return Line(name, field, told, found, SAME)
    return Line(name, field, told, found, DIFFERS, why)


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
