"""What a comparison found: lines, a short table of kernels, a long one of fields, and reasons."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from labkit.errors import LabError
from labkit.language import Text
from labkit.language import gettext as _

__all__ = [
    "DIFFERS",
    "EXTRA",
    "MISSING",
    "NOT_PREDICTED",
    "NOT_TAKEN",
    "SAME",
    "Comparison",
    "Line",
    "ObservedDifference",
]

SAME, DIFFERS = Text("same"), Text("differs")
NOT_TAKEN, NOT_PREDICTED = Text("not taken"), Text("not predicted")
MISSING, EXTRA = Text("missing"), Text("extra")
NOTHING = "-"


class ObservedDifference(LabError, AssertionError):  # noqa: N818 - a finding, not a fault
    """A machine did something else than was predicted; the message holds the lines."""


@dataclass(frozen=True)
class Line:
    """One thing compared. `verdict` is same, differs, not taken, not predicted, missing or extra.

    `kernel` is its number and op type, "3 Cast". `why` says what would explain
    a difference, where that is known.
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

    def __str__(self) -> str:
        told = _("{kernel}, {field}: predicted {predicted}, observed {observed}").format(
            kernel=self.kernel,
            field=_(self.field),
            predicted=_(self.predicted),
            observed=_(self.observed),
        )
        return f"{told}\n    {_(self.why)}" if self.why else told


@dataclass(frozen=True)
class Comparison:
    """All lines, and what was compared; its text is the table of fields.

    `kernels()` is the table to look at first: a row for each kernel. `told()`
    has the differences only, each with what would explain it.
    """

    source: str
    measured: bool
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether nothing differs. What was not taken or not predicted counts neither way."""
        return not any(line.is_difference for line in self.lines)

    @property
    def differences(self) -> tuple[Line, ...]:
        """The lines that differ."""
        return tuple(line for line in self.lines if line.is_difference)

    def by_kernel(self) -> tuple[tuple[Line, ...], ...]:
        """The lines of each kernel, in order."""
        return tuple(tuple(lines) for _kernel, lines in groupby(self.lines, lambda x: x.kernel))

    def require(self) -> Comparison:
        """Raise `ObservedDifference` when something differs; for tests on a device."""
        if not self.agrees:
            raise ObservedDifference(f"{_(self.source)}\n{self.told()}")
        return self

    def kernels(self) -> str:
        """A table with a row for each kernel: predicted, observed, verdict."""
        from labkit.course.show import table

        rows = []
        for lines in self.by_kernel():
            number, _space, op_type = lines[0].kernel.partition(" ")
            verdicts = {line.verdict for line in lines}
            seen = NOTHING if MISSING in verdicts else op_type
            foreseen = NOTHING if EXTRA in verdicts else op_type
            rows.append([number, foreseen, seen, _kernel_verdict(lines)])
        return table(["", _("predicted"), _("observed"), _("verdict")], rows)

    def told(self) -> str:
        """The differences, one after the other, each with what would explain it, then the notes."""
        found = [str(line) for line in self.differences] or [_("nothing differs")]
        return "\n".join([*found, *(_(note) for note in self.notes)])

    def __str__(self) -> str:
        from labkit.course.show import table

        head = [_("kernel"), _("field"), _("predicted"), _("observed"), _("verdict")]
        rows = [
            [
                line.kernel,
                _(line.field),
                _(line.predicted),
                _(line.observed),
                _(line.verdict),
            ]
            for line in self.lines
        ]
        return table(head, rows)

    def __repr__(self) -> str:
        return str(self)


def _kernel_verdict(lines: tuple[Line, ...]) -> str:
    """One verdict for a kernel: same is one of which nothing that was taken differs."""
    for verdict in (MISSING, EXTRA):
        if lines[0].verdict == verdict:
            return _(verdict)
    differing = [_(line.field) for line in lines if line.is_difference]
    if differing:
        return _("differs: {fields}").format(fields=_(", ").join(differing))
    return _("same")
