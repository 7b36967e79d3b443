"""What the picture of the checks shows, as data and in words."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.language import gettext as _

__all__ = ["QUESTION", "STATES", "Sieve", "SieveCell", "SieveRow", "Verdict", "sieve_alt_text"]

QUESTION = "Which check stops this call?"

STATES = ("passed", "stopped", "returned", "hidden", "not reached", "not asked")
"""What becomes of a question: it lets the call through, refuses it, ends it with success; it
is never reached, though the argument is wrong there (hidden) or is right; or there is none."""


@dataclass(frozen=True)
class SieveCell:
    """One question: to the argument in column `column`, or to `span` arguments at once.

    `state` is one of `STATES`; `text` is what the check sees there.
    """

    column: int
    state: str
    text: str
    span: int = 1


@dataclass(frozen=True)
class SieveRow:
    """One check with its questions, and the source lines where it stands."""

    name: str
    source: str
    cells: tuple[SieveCell, ...]

    @property
    def hidden(self) -> int:
        """How many faults stand here that the call will not tell."""
        return sum(cell.state == "hidden" for cell in self.cells)

    @property
    def state(self) -> str:
        """What becomes of the call here: passed, stopped, returned, not reached."""
        states = [cell.state for cell in self.cells]
        for decides in ("stopped", "returned"):
            if decides in states:
                return decides
        return "passed" if "passed" in states else "not reached"


@dataclass(frozen=True)
class Verdict:
    """What phase 1 returns, in words: the code, its name, and lines that say why.

    `document` are pairs of lines: where document and code part, and what the document says.
    """

    status: int
    name: str
    lines: tuple[str, ...]
    document: tuple[str, ...]


@dataclass(frozen=True)
class Sieve:
    """A call and the checks that it goes through.

    `columns` are the arguments, `described` what each of them is; `file` is
    the source file of the rows that name lines only.
    """

    operator: str
    chip: str
    file: str
    columns: tuple[str, ...]
    described: tuple[str, ...]
    rows: tuple[SieveRow, ...]
    verdict: Verdict

    @property
    def hidden(self) -> int:
        """How many faults the call has besides the one that it tells."""
        return sum(row.hidden for row in self.rows)


def sieve_alt_text(sieve: Sieve) -> str:
    """The sieve in words."""
    described = zip(sieve.columns, sieve.described)
    told = [
        _("Which check stops this call? {operator} on {chip}.").format(
            operator=sieve.operator, chip=sieve.chip
        ),
        _sentence(_("; ").join(f"{name} {_(words)}" for name, words in described)),
    ]
    for row in sieve.rows:
        asked = _("; ").join(_cell_text(sieve, cell) for cell in row.cells)
        told.append(
            _("{name} ({source}): {asked}.").format(name=row.name, source=row.source, asked=asked)
        )
    verdict = sieve.verdict
    why = _("; ").join(_(line) for line in verdict.lines)
    told.append(
        _("Phase 1 returns {status} {name}: {why}.").format(
            status=verdict.status, name=verdict.name, why=why
        )
    )
    if sieve.hidden:
        told.append(_("Wrong too, but not told by this call: {count}.").format(count=sieve.hidden))
    if verdict.document:
        said = " ".join(map(_sentence, verdict.document))
        told.append(_("Where document and code part: {said}").format(said=said))
    return " ".join(told).replace("\u202f", "")


def _sentence(text: str) -> str:
    """`text` in the learner's language, with one full stop."""
    return _("{sentence}.").format(sentence=_(text).rstrip(".。"))


def _cell_text(sieve: Sieve, cell: SieveCell) -> str:
    state = {
        "passed": _("passed"),
        "stopped": _("stops the call"),
        "returned": _("ends the call with success"),
        "hidden": _("wrong too, but not reached"),
        "not reached": _("not reached"),
        "not asked": _("not asked"),
    }[cell.state]
    names = ", ".join(sieve.columns[cell.column : cell.column + cell.span])
    seen = _(cell.text) if cell.span == len(sieve.columns) else f"{names} {_(cell.text)}"
    return seen if cell.state == "not asked" and seen.endswith(state) else f"{seen}, {state}"
