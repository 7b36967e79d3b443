"""Pictures of what was observed, for notebooks: a comparison, and where the time goes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from labkit.draw.html import Shown, show
from labkit.draw.numbers import short_dtype
from labkit.draw.observed import KernelRow, Observed, observed_alt_text, observed_figure
from labkit.draw.time_stack import CallTime, time_alt_text, time_figure
from labkit.errors import LabValueError
from labkit.language import Text
from labkit.language import gettext as _
from labkit.observe.compare import compare, plan_that_ran
from labkit.observe.comparison import EXTRA, MISSING, NOTHING, Line
from labkit.observe.kernels import Observation
from labkit.observe.timing import Timing
from labkit.observe.unseen import unseen
from labkit.op.plan import Plan

if TYPE_CHECKING:
    from labkit.host.twophase import Call

__all__ = ["comparison_picture", "comparison_view", "time_picture"]


def comparison_view(call: Call | Plan, observed: Observation, *, calls: int = 1) -> Observed:
    """What the picture of a comparison shows."""
    plan = plan_that_ran(call)
    compared = compare(plan, observed, calls=calls)
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
        rows=tuple(_row(lines) for lines in compared.by_kernel()),
        unseen=tuple(parts),
    )


def comparison_picture(call: Call | Plan, observed: Observation, *, calls: int = 1) -> Shown:
    """Predicted and observed kernels side by side; takes what `compare` takes."""
    view = comparison_view(call, observed, calls=calls)
    return show(observed_figure(view), observed_alt_text(view))


def _row(lines: tuple[Line, ...]) -> KernelRow:
    number, _space, op_type = lines[0].kernel.partition(" ")
    blank = ("", "", "")
    if lines[0].verdict == MISSING:
        return KernelRow(int(number), op_type, blank, None, "missing")
    if lines[0].verdict == EXTRA:
        return KernelRow(int(number), op_type, None, blank, "extra")
    fields = {line.field: line for line in lines}
    groups = (("core", "block dim"), ("input shapes", "input dtypes"))
    groups += (("output shapes", "output dtypes"),)
    differs = frozenset(
        place
        for place, names in enumerate(groups)
        if any(fields[name].is_difference for name in names)
    )
    verdict = "differs" if differs else "same"
    return KernelRow(
        int(number),
        op_type,
        _side(fields, "predicted"),
        _side(fields, "observed"),
        verdict,
        differs,
    )


def _side(fields: dict[str, Line], side: str) -> tuple[str, str, str]:
    words = {name: getattr(line, side) for name, line in fields.items()}
    core = words["core"]
    if words["block dim"] != NOTHING:
        core += f" · block dim {words['block dim']}"
    return core, _tensors(words, "input"), _tensors(words, "output")


def _tensors(words: dict[str, str], side: str) -> str:
    """Dtypes and shapes of one side, `FLOAT (4, 4), FLOAT (4, 4)`."""
    shapes, dtypes = (words[f"{side} {what}"].split("; ") for what in ("shapes", "dtypes"))
    if len(shapes) != len(dtypes):
        return ", ".join(shapes)
    return ", ".join(
        shape if dtype == shape == NOTHING else f"{dtype} {shape}"
        for dtype, shape in zip(dtypes, shapes)
    )


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
