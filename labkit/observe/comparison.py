"""What a comparison found: lines, a short table of kernels, a long one of fields, and reasons."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from labkit.errors import LabError
from labkit.language import Text
from labkit.language import gettext as _

__all__ = [
    "DIFFERS",
    "EXTRA",
    "MISSING",
    "MOST",
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
MOST = 20
"""So many kernels, or differences, are told where there are many; the rest is counted."""


class ObservedDifference(LabError, AssertionError):  # noqa: N818 - a finding, not a fault
    """A machine did something else than was predicted; the message holds the lines."""


@dataclass(frozen=True)
class Line:
    """One thing compared. `verdict` is same, differs, not taken, not predicted, missing or extra.

    `kernel` is its number and op type, "3 Cast". `why` says what would explain
    a difference, where that is known. `where` names the device and the stream
    where there are several, empty where there is one.
    """

    kernel: str
    field: str
    predicted: str
    observed: str
    verdict: str
    why: str = ""
    where: str = ""

    @property
    def is_difference(self) -> bool:
        """Whether the machine did something else than predicted."""
        return self.verdict in (DIFFERS, MISSING, EXTRA)

    def __str__(self) -> str:
        kernel = _at(self.where, self.kernel) if self.where else self.kernel
        told = _("{kernel}, {field}: predicted {predicted}, observed {observed}").format(
            kernel=kernel,
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
        return self._differing

    @cached_property
    def _differing(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.is_difference)

    def by_kernel(self) -> tuple[tuple[Line, ...], ...]:
        """The lines of each kernel, in order."""
        return self._grouped

    @cached_property
    def _grouped(self) -> tuple[tuple[Line, ...], ...]:
        grouped = groupby(self.lines, lambda line: (line.where, line.kernel))
        return tuple(tuple(lines) for _kernel, lines in grouped)

    def require(self) -> Comparison:
        """Raise `ObservedDifference` when something differs; for tests on a device."""
        if not self.agrees:
            raise ObservedDifference(f"{_(self.source)}\n{self.told(MOST)}")
        return self

    def kernels(self, most: int | None = None) -> str:
        """A table with a row for each kernel: predicted, observed, verdict.

        With more kernels than `most`, so many of those that differ, or of all
        where none does, and how many there are in all.
        """
        from labkit.course.show import table

        shown, left = self._chosen(most)
        told = "\n" + _more(left, _("kernels")) if left else ""
        several = any(line.where for line in self.lines)
        rows = []
        for lines in shown:
            number, _space, op_type = lines[0].kernel.partition(" ")
            verdicts = {line.verdict for line in lines}
            seen = NOTHING if MISSING in verdicts else op_type
            foreseen = NOTHING if EXTRA in verdicts else op_type
            place = [_(lines[0].where)] if several else []
            rows.append([*place, number, foreseen, seen, _kernel_verdict(lines)])
        head = [*([""] if several else []), "", _("predicted"), _("observed"), _("verdict")]
        return table(head, rows) + told

    def counts(self) -> str:
        """How many kernels are the same, differ, are missing or extra: for each place, then all."""
        places: dict[str, Counter[str]] = {}
        for lines in self.by_kernel():
            verdict = str(lines[0].verdict)
            if verdict not in (MISSING, EXTRA):
                verdict = str(DIFFERS if any(line.is_difference for line in lines) else SAME)
            places.setdefault(lines[0].where, Counter())[verdict] += 1
        told = [_counted(sum(places.values(), Counter()))]
        if len(places) > 1:
            odd = [where for where, found in places.items() if set(found) != {str(SAME)}]
            shown = (list(places) if len(places) <= MOST else odd)[:MOST]
            told += [_at(where, _counted(places[where])) for where in shown]
            if len(shown) < len(places):
                told.append(_more(len(places) - len(shown), _("places")))
        return "\n".join(told)

    def told(self, most: int | None = None) -> str:
        """The differences, one after the other, each with what would explain it, then the notes.

        Only the first `most` of them, if that is given, and how many more there are.
        """
        found = [str(line) for line in self.differences[:most]] or [_("nothing differs")]
        left = 0 if most is None else len(self.differences) - most
        if left > 0:
            found.append(_more(left, _("differences")))
        notes = [_(note) for note in self.notes]
        if most is not None and len(notes) > most:
            notes = [*notes[:most], _more(len(notes) - most, _("notes"))]
        return "\n".join([*found, *notes])

    def fields(self, most: int | None = None) -> str:
        """The table of fields; of more kernels than `most`, as `kernels` chooses them."""
        shown, left = self._chosen(most)
        if not left:
            return str(self)
        lines = tuple(line for group in shown for line in group)
        return f"{replace(self, lines=lines)}\n{_more(left, _('kernels'))}"

    def _chosen(self, most: int | None) -> tuple[tuple[tuple[Line, ...], ...], int]:
        """The kernels to show, and how many are left out."""
        groups = self.by_kernel()
        if most is None or len(groups) <= most:
            return groups, 0
        differing = tuple(lines for lines in groups if any(line.is_difference for line in lines))
        shown = (differing or groups)[:most]
        return shown, len(groups) - len(shown)

    def __str__(self) -> str:
        from labkit.course.show import table

        several = any(line.where for line in self.lines)
        head = [_("kernel"), _("field"), _("predicted"), _("observed"), _("verdict")]
        rows = [
            [
                *([_(line.where)] if several else []),
                line.kernel,
                _(line.field),
                _(line.predicted),
                _(line.observed),
                _(line.verdict),
            ]
            for line in self.lines
        ]
        return table([*([""] if several else []), *head], rows)

    def __repr__(self) -> str:
        return self.fields(MOST)


def _counted(found: Counter[str]) -> str:
    return _(
        "{n} kernels: {same} the same, {differ} differ, {missing} missing, {extra} extra"
    ).format(
        n=sum(found.values()),
        same=found[str(SAME)],
        differ=found[str(DIFFERS)],
        missing=found[str(MISSING)],
        extra=found[str(EXTRA)],
    )


def _at(where: str, what: str) -> str:
    return _("{where}: {note}").format(where=_(where), note=what)


def _more(n: int, what: str) -> str:
    return _("... {n} more {what}").format(n=n, what=what)


def _kernel_verdict(lines: tuple[Line, ...]) -> str:
    """One verdict for a kernel: same is one of which nothing that was taken differs."""
    for verdict in (MISSING, EXTRA):
        if lines[0].verdict == verdict:
            return _(verdict)
    differing = [_(line.field) for line in lines if line.is_difference]
    if differing:
        return _("differs: {fields}").format(fields=_(", ").join(differing))
    return _("same")
