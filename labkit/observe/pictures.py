"""Pictures of what was observed, for notebooks: a comparison, and where the time goes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from labkit.draw.html import Shown, show
from labkit.draw.numbers import short_dtype
from labkit.draw.observed import KernelRow, Observed, Side, observed_alt_text, observed_figure
from labkit.draw.time_stack import CallTime, time_alt_text, time_figure
from labkit.errors import LabValueError
from labkit.language import Text
from labkit.language import gettext as _
from labkit.observe.compare import compare, plan_that_ran
from labkit.observe.comparison import DIFFERS, EXTRA, MISSING, SAME, Comparison
from labkit.observe.kernels import Observation, ObservedKernel
from labkit.observe.matching import Side as Place
from labkit.observe.matching import both_sides
from labkit.observe.reasons import own_tiling, shape_text
from labkit.observe.timing import Timing
from labkit.observe.unseen import unseen
from labkit.op.plan import Launch, Plan

if TYPE_CHECKING:
    from labkit.host.twophase import Call

__all__ = ["comparison_picture", "comparison_view", "time_picture"]

_FIELDS = (
    ("block dim",),
    ("core",),
    ("input shapes", "input dtypes"),
    ("output shapes", "output dtypes"),
)
"""The fields of a comparison that each text of a row stands for."""


def comparison_view(
    call: Call | Plan,
    observed: Observation,
    *,
    calls: int = 1,
    device: int | None = None,
    stream: int | None = None,
) -> Observed:
    """What the picture of a comparison shows; takes what `compare` takes."""
    plan = plan_that_ran(call)
    compared = compare(plan, observed, calls=calls, device=device, stream=stream)
    places = both_sides(plan, observed.on(device, stream), calls)
    hidden = unseen(plan)
    parts: list[str] = [Text("{n} steps of L2", n=len(hidden.checks))]
    if hidden.skipped:
        parts.append(Text("l0 operators with nothing to do: {n}", n=len(hidden.skipped)))
    if hidden.redirected:
        parts.append(Text("outputs redirected: {n}", n=len(hidden.redirected)))
    if hidden.copies:
        parts.append(Text("copy tasks of the runtime: {n}", n=len(hidden.copies)))
    return Observed(
        operator=plan.operator,
        chip=plan.soc.name,
        source=compared.source,
        measured=compared.measured,
        rows=tuple(_rows(compared, places, plan)),
        unseen=tuple(parts),
    )


def comparison_picture(call: Call | Plan, observed: Observation, **how: int | None) -> Shown:
    """Predicted and observed kernels side by side; takes what `compare` takes."""
    view = comparison_view(call, observed, **how)  # type: ignore[arg-type]
    return show(observed_figure(view), observed_alt_text(view))


def _rows(compared: Comparison, places: Sequence[Place], plan: Plan) -> Iterator[KernelRow]:
    """A row for each kernel, in the order of the comparison's lines."""
    matches = ((place.where, match) for place in places for match in place.matches)
    for (where, match), lines in zip(matches, compared.by_kernel()):
        left = _foreseen(match.launch, plan) if match.launch else None
        right = _seen(match.kernel, match.launch) if match.kernel else None
        differing = {line.field for line in lines if line.is_difference}
        differs = frozenset(
            place for place, fields in enumerate(_FIELDS) if differing.intersection(fields)
        )
        verdict = lines[0].verdict
        if verdict not in (MISSING, EXTRA):
            verdict = DIFFERS if differs else SAME
        op_type = match.op_type
        yield KernelRow(match.number, op_type, left, right, str(verdict), differs, where)


def _foreseen(launch: Launch, plan: Plan) -> Side:
    tiling = own_tiling(launch, plan)
    tensors = [operand for operand in launch.inputs if operand.const is None]
    inputs, outputs = (
        _tensors([x.shape for x in operands], [x.dtype.short for x in operands])
        for operands in (tensors, launch.outputs)
    )
    return str(tiling.block_dim) if tiling else "", launch.core, inputs, outputs


def _seen(kernel: ObservedKernel, launch: Launch | None) -> Side:
    """The host-side operands, which stand behind the tensors, are left out."""
    most = None if launch is None else sum(x.const is None for x in launch.inputs)
    blocks = "" if kernel.block_dim is None else str(kernel.block_dim)
    core = kernel.task_type or kernel.core or ""
    inputs = _tensors(_first(kernel.input_shapes, most), _first(kernel.input_dtypes, most))
    return blocks, core, inputs, _tensors(kernel.output_shapes, kernel.output_dtypes)


def _first(values: Sequence[Any] | None, most: int | None) -> Sequence[Any] | None:
    return None if values is None else values[:most]


def _tensors(shapes: Sequence[tuple[int, ...]] | None, dtypes: Sequence[str] | None) -> str:
    """Dtypes and shapes of one side, `FLOAT (4, 4), FLOAT (4, 4)`; empty where not taken."""
    if shapes is None:
        return ", ".join(dtypes or ())
    told = [""] * len(shapes) if dtypes is None else dtypes
    return ", ".join(f"{dtype} {shape_text(shape)}".strip() for dtype, shape in zip(told, shapes))


def time_picture(timings: Iterable[Timing]) -> Shown:
    """The host's and the device's share of calls that `time_operator` timed on one device."""
    timed = tuple(timings)
    if not timed or len({timing.device for timing in timed}) != 1:
        raise LabValueError(_("right would be timings of one device, at least one"))
    calls = tuple(
        CallTime(
            timing.elements,
            short_dtype(timing.dtype),
            timing.phase1,
            timing.phase2,
            timing.wait,
            timing.kernel,
        )
        for timing in timed
    )
    device = timed[0].device
    return show(time_figure(calls, device), time_alt_text(calls, device))
