"""Predicted against observed: kernel by kernel, field by field, with what explains a difference.

The prediction is a plan's launches; the block dim of the operator's own kernel
comes from its tiling (of the other kernels it is not public, so it is not
predicted). What a source did not take is no difference. What cannot be seen in
any profile, such as a skipped step, is no line here.

>>> import labkit
>>> from labkit.observe import compare, observe_software
>>> with labkit.open_device("sim") as dev:
...     call = labkit.hardshrink_backward([1.0], [0.8], device=dev)
>>> print(compare(call, observe_software(call)))
kernel            field          predicted   observed    verdict
----------------  -------------  ----------  ----------  ---------
1 HardShrinkGrad  core           AICORE      AICORE      same
1 HardShrinkGrad  block dim      1           -           not taken
1 HardShrinkGrad  input shapes   (1,); (1,)  (1,); (1,)  same
1 HardShrinkGrad  input dtypes   FLOAT; FLOAT  FLOAT; FLOAT  same
1 HardShrinkGrad  output shapes  (1,)        (1,)        same
1 HardShrinkGrad  output dtypes  FLOAT       FLOAT       same
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.errors import LabError, LabValueError
from labkit.explain.calls import plan_of_call
from labkit.language import gettext as _
from labkit.observe.kernels import Observation, ObservedKernel
from labkit.op.plan import Launch, Plan
from labkit.op.tiling import TilingError, tile

if TYPE_CHECKING:
    from labkit.host.twophase import Call

__all__ = ["Comparison", "Line", "ObservedDifference", "compare"]

SAME, DIFFERS = "same", "differs"
NOT_TAKEN, NOT_PREDICTED = "not taken", "not predicted"
MISSING, EXTRA = "missing", "extra"
_OWN = {"HardShrinkGrad": "hardshrink_grad", "HardShrink": "hardshrink"}


class ObservedDifference(LabError, AssertionError):  # noqa: N818 - a finding, not a fault
    """A machine did something else than was predicted; the message holds the lines."""


@dataclass(frozen=True)
class Line:
    """One thing compared. `verdict` is same, differs, not taken, not predicted, missing or extra.

    `why` explains what is not the same, where that is known.
    """

    kernel: str
    field: str
    predicted: str
    observed: str
    verdict: str
    why: str = ""

    @property
    def is_difference(self) -> bool:
        """Whether the machine did something else than predicted."""
        return self.verdict in (DIFFERS, MISSING, EXTRA)


@dataclass(frozen=True)
class Comparison:
    """All lines, and what was compared; its text is a table."""

    source: str
    measured: bool
    lines: tuple[Line, ...]

    @property
    def agrees(self) -> bool:
        """Whether nothing differs. What was not taken or not predicted counts neither way."""
        return not any(line.is_difference for line in self.lines)

    @property
    def differences(self) -> tuple[Line, ...]:
        """The lines that differ."""
        return tuple(line for line in self.lines if line.is_difference)

    def require(self) -> Comparison:
        """Raise `ObservedDifference` when something differs; for tests on a device."""
        if not self.agrees:
            told = "\n".join(f"  {_told(line)}" for line in self.differences)
            raise ObservedDifference(f"{self.source}\n{told}")
        return self

    def __str__(self) -> str:
        from labkit.course.show import table

        head = [_("kernel"), _("field"), _("predicted"), _("observed"), _("verdict")]
        rows = [
            [line.kernel, _(line.field), line.predicted, line.observed, _verdict(line)]
            for line in self.lines
        ]
        return table(head, rows)

    def __repr__(self) -> str:
        return str(self)


def _told(line: Line) -> str:
    why = f" ({line.why})" if line.why else ""
    return (
        f"{line.kernel}, {line.field}: predicted {line.predicted}, observed {line.observed}, "
        f"{line.verdict}{why}"
    )


def _verdict(line: Line) -> str:
    words = {
        SAME: _("same"),
        DIFFERS: _("differs"),
        NOT_TAKEN: _("not taken"),
        NOT_PREDICTED: _("not predicted"),
        MISSING: _("missing"),
        EXTRA: _("extra"),
    }[line.verdict]
    return f"{words}: {_(line.why)}" if line.why else words


def compare(call: Call | Plan, observed: Observation, *, calls: int = 1) -> Comparison:
    """Lay the kernels that a call should launch beside those that a source reports.

    `call` is a call that was made or a plan, `calls` how often it ran while the
    source was looking. Kernels of other operators are left out by their names.
    Raises `LabValueError` for a call that failed, since nothing ran then.
    """
    plan = call if isinstance(call, Plan) else plan_of_call(call)
    if not plan.ok:
        raise LabValueError(f"the call ends with {plan.status} in phase 1, so nothing runs")
    # A copy task of the runtime is no kernel, and no op_summary lists it.
    launches = [launch for launch in plan.launches if launch.core != "RTS"] * calls
    kept = [kernel for kernel in observed.of(plan.operator).kernels if kernel.core != "RTS"]
    lines: list[Line] = []
    matcher = difflib.SequenceMatcher(
        None, [x.op_type for x in launches], [k.op_type for k in kept], autojunk=False
    )
    number = 0
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            for launch, kernel in zip(launches[a:b], kept[c:d]):
                number += 1
                lines += _fields(f"{number} {launch.op_type}", launch, kernel, plan)
            continue
        for launch in launches[a:b]:
            number += 1
            lines.append(_missing(f"{number} {launch.op_type}", observed))
        for kernel in kept[c:d]:
            number += 1
            lines.append(_extra(f"{number} {kernel.op_type}", kernel))
    return Comparison(observed.source, observed.measured, tuple(lines))


def _missing(name: str, observed: Observation) -> Line:
    why = "the source took no kernels at all" if not observed.kernels else ""
    return Line(name, "kernel", "runs", "-", MISSING, why)


def _extra(name: str, kernel: ObservedKernel) -> Line:
    why = ""
    if kernel.op_type == "ViewCopy":
        why = "was the output strided on the machine?"
    elif kernel.op_type == "Cast":
        why = "was a dtype another on the machine?"
    return Line(name, "kernel", "-", "runs", EXTRA, why)


def _fields(name: str, launch: Launch, kernel: ObservedKernel, plan: Plan) -> list[Line]:
    tensors = [operand for operand in launch.inputs if operand.const is None]
    sides = (("input", tensors), ("output", list(launch.outputs)))
    lines = [_line(name, "core", launch.core, kernel.core, _core_words(launch.core, kernel))]
    blocks = block_dim(launch, plan)
    lines.append(_line(name, "block dim", blocks, kernel.block_dim))
    for side, operands in sides:
        shapes = tuple(operand.shape for operand in operands)
        dtypes = tuple(operand.dtype.short for operand in operands)
        seen_shapes = getattr(kernel, f"{side}_shapes")
        seen_dtypes = getattr(kernel, f"{side}_dtypes")
        if seen_shapes is not None and len(seen_shapes) > len(shapes):
            seen_shapes = seen_shapes[: len(shapes)]  # host-side operands stand behind the tensors
            seen_dtypes = None if seen_dtypes is None else seen_dtypes[: len(shapes)]
        lines.append(_line(name, f"{side} shapes", shapes, seen_shapes))
        lines.append(_line(name, f"{side} dtypes", dtypes, seen_dtypes))
    return lines


def _line(name: str, field: str, predicted: Any, seen: Any, seen_words: str = "") -> Line:
    told, found = _words(predicted), seen_words or _words(seen)
    if predicted is None:
        return Line(name, field, "-", found, NOT_PREDICTED if seen is not None else NOT_TAKEN)
    if seen is None:
        return Line(name, field, told, found, NOT_TAKEN)
    if predicted == seen:
        return Line(name, field, told, found, SAME)
    why = {
        "block dim": "fewer or more vector cores than the table has for this chip?",
        "core": "another kernel of the operator was chosen",
    }.get(field, "")
    return Line(name, field, told, found, DIFFERS, why)


def _core_words(predicted: str, kernel: ObservedKernel) -> str:
    """The core as the source names it, beside the plan's word."""
    if kernel.core is None:
        return kernel.task_type or "-"
    return (
        kernel.core
        if kernel.task_type in ("", kernel.core)
        else f"{kernel.core} ({kernel.task_type})"
    )


def _words(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, tuple):
        return "; ".join(_shape(part) if isinstance(part, tuple) else str(part) for part in value)
    return str(value)


def _shape(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def block_dim(launch: Launch, plan: Plan) -> int | None:
    """The cores that the operator's own kernel takes, where its tiling is public."""
    kind = _OWN.get(launch.op_type)
    if kind is None:
        return None
    total = 1
    for size in launch.outputs[0].shape:
        total *= size
    try:
        made = tile(total, launch.outputs[0].dtype.numpy_name or "", op=kind, soc=plan.soc.name)
    except (TilingError, LabValueError):
        return None
    return made.block_dim if made.public else None
