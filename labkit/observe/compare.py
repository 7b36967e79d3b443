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

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from labkit.errors import LabValueError
from labkit.explain.calls import plan_of_call
from labkit.language import Text
from labkit.language import gettext as _
from labkit.observe.comparison import (
    EXTRA,
    MISSING,
    NOTHING,
    Comparison,
    Line,
    ObservedDifference,
)
from labkit.observe.fields import Told, fields_of, seen_key
from labkit.observe.kernels import Observation
from labkit.observe.matching import Match, Side, both_sides
from labkit.observe.reasons import (
    extra_why,
    missing_why,
)
from labkit.op.plan import Plan

if TYPE_CHECKING:
    from labkit.host.twophase import Call

__all__ = [
    "Comparison",
    "Line",
    "ObservedDifference",
    "compare",
    "plan_that_ran",
]

_KERNEL, _RUNS = Text("kernel"), Text("runs")


def plan_that_ran(call: Call | Plan) -> Plan:
    """The plan of a call; raises `LabValueError` for one that failed, since nothing ran then."""
    plan = call if isinstance(call, Plan) else plan_of_call(call)
    if not plan.ok:
        raise LabValueError(
            _("the call ends with {status} in phase 1, so nothing runs").format(status=plan.status)
        )
    return plan


def compare(
    call: Call | Plan,
    observed: Observation,
    *,
    calls: int = 1,
    device: int | None = None,
    stream: int | None = None,
) -> Comparison:
    """Lay the kernels that a call should launch beside those that a source reports.

    `call` is a call that was made or a plan, `calls` how often it ran while the
    source was looking. Kernels of other operators are left out by their names,
    and with `device` and `stream` those of other devices and streams; without,
    each pair of device and stream is compared on its own, and `calls` is counted
    for each pair (or for all, where together they hold so many whole calls).
    Raises `LabValueError` for a call that failed, since nothing ran then, for
    fewer calls than one, and for a device or stream that is not there.
    """
    plan = plan_that_ran(call)
    chosen = observed.on(device, stream)
    sides = both_sides(plan, chosen, calls)
    made = _Lines(plan)
    lines = tuple(line for side in sides for line in made.of(side))
    notes = (*chosen.notes, *_notes(sides, calls))
    return Comparison(chosen.source, chosen.measured, lines, notes)


def _notes(sides: Sequence[Side], calls: int) -> Iterator[str]:
    """The notes of the sides, each once where it is the same for all."""
    if len(sides) == 1:
        yield from sides[0].notes
        return
    if any(side.calls != calls for side in sides):
        yield Text(
            "the {n} calls are counted over {pairs} pairs of device and stream together",
            n=calls,
            pairs=len(sides),
        )
    else:
        yield Text(
            "each of {pairs} pairs of device and stream is compared on its own", pairs=len(sides)
        )
    if len({side.notes for side in sides}) == 1:
        yield from sides[0].notes
        return
    for side in sides:
        for note in side.notes:
            yield Text("{where}: {note}", where=side.where, note=note)


class _Lines:
    """Makes the lines of kernels; those of the same launch and kernel are compared once."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.known: dict[Any, list[Told]] = {}

    def of(self, side: Side) -> Iterator[Line]:
        """The lines of one device and stream."""
        for match in side.matches:
            name = f"{match.number} {match.op_type}"
            key = _alike(match)
            if key not in self.known:
                self.known[key] = self._compared(match)
            for told in self.known[key]:
                yield Line(name, *told, side.where)

    def _compared(self, match: Match) -> list[Told]:
        launch, kernel = match.launch, match.kernel
        if launch is not None and kernel is not None:
            return fields_of(launch, kernel, self.plan)
        if launch is not None:
            return [(_KERNEL, _RUNS, NOTHING, MISSING, missing_why(launch, self.plan))]
        assert kernel is not None
        return [(_KERNEL, NOTHING, _RUNS, EXTRA, extra_why(kernel))]


def _alike(match: Match) -> Any:
    """What decides the lines of a match."""
    told = match.kernel and seen_key(match.kernel)
    return id(match.launch), told
