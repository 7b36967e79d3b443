"""Predicted and observed kernels side by side, and below them what no profile shows.

A row is a kernel. Blue on both sides ran as predicted; orange is what differs,
and an empty dashed place is a kernel that is on the other side only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from labkit.draw.sheet import WIDTH, Sheet, on, plain, text_width
from labkit.draw.theme import DRAWING, Palette, Size
from labkit.language import Text
from labkit.language import gettext as _

__all__ = ["MOST", "KernelRow", "Observed", "observed_alt_text", "observed_figure"]

MOST = 12
"""Kernels that are drawn; of more, the first ones and those that differ."""
QUESTION = Text("Did the machine do what was predicted?")
_LEFT, _WIDE, _HIGH, _STEP = 20, 396, 52, 64
_RIGHT = WIDTH - _LEFT - _WIDE
_TOP = 140
_HEAD = 22
_VERDICTS = {"same": "=", "differs": "≠", "missing": "?", "extra": "?"}


Side = tuple[str, str, str, str]
_PARTS = (Text("block dim"), Text("core"), Text("inputs"), Text("outputs"))


@dataclass(frozen=True)
class KernelRow:
    """One kernel on both sides.

    A side is four texts (block dim, core, inputs, outputs; empty where not
    told), or None where the kernel is not. `differs` are the places of the
    texts that are not the same; `verdict` is same, differs, missing or extra.
    `where` names device and stream where there are several.
    """

    number: int
    op_type: str
    predicted: Side | None
    observed: Side | None
    verdict: str
    differs: frozenset[int] = frozenset()
    where: str = ""


@dataclass(frozen=True)
class Observed:
    """What is drawn: the kernels, what was looked at, and what it cannot show.

    `source` says where the right side comes from, `measured` whether a machine
    made it. `unseen` are parts of a sentence, such as "5 steps with nothing to
    do".
    """

    operator: str
    chip: str
    source: str
    measured: bool
    rows: tuple[KernelRow, ...]
    unseen: tuple[str, ...] = ()

    @property
    def differing(self) -> int:
        """Kernels that are not the same on both sides."""
        return sum(row.verdict != "same" for row in self.rows)


def drawn_rows(view: Observed) -> tuple[KernelRow, ...]:
    """The kernels that have room: all, or the differing ones and the first of the others."""
    if len(view.rows) <= MOST:
        return view.rows
    places = range(len(view.rows))
    ranked = sorted(places, key=lambda place: view.rows[place].verdict == "same")
    return tuple(view.rows[place] for place in sorted(ranked[:MOST]))


def observed_figure(view: Observed, theme: str | Palette = "light") -> Figure:
    """Draw a comparison."""
    with DRAWING:
        rows = drawn_rows(view)
        left_out = len(view.rows) - len(rows)
        heads = sum(_begins(rows, place) for place in range(len(rows)))
        end = _TOP + _STEP * max(1, len(rows)) + _HEAD * heads + (18 if left_out else 0)
        sheet = Sheet(end + 60, theme)
        colours = sheet.colours
        sheet.head(QUESTION, _state(view), Text("observed: {source}", source=view.source))
        sheet.text(_LEFT, 120, "predicted from the source", colours.ink, size=Size.HEAD, bold=True)
        told = sheet.text(_RIGHT, 120, "observed", colours.ink, size=Size.HEAD, bold=True)
        if not view.measured:
            words = "not a measurement"
            sheet.text(_RIGHT + told + 10, 120, words, colours.edge, size=Size.SMALL, bold=True)
        top = _TOP
        tab = max([30.0, *(text_width(str(row.number), Size.HEAD, True) + 10 for row in rows)])
        for place, row in enumerate(rows):
            if _begins(rows, place):
                sheet.text(_LEFT, top + 14, row.where, colours.ink, size=Size.SMALL, bold=True)
                top += _HEAD
            _row(sheet, row, top, tab)
            top += _STEP
        if not rows:
            words = "no kernel: the call launches nothing, and nothing was seen"
            sheet.text(_LEFT, _TOP + 26, words, colours.muted)
        if left_out:
            words = f"{left_out} more kernels, not drawn"
            sheet.text(_LEFT, end - 8, words, colours.muted, size=Size.SMALL)
        _unseen(sheet, view, end + 8)
        return sheet.figure


def _begins(rows: Sequence[KernelRow], place: int) -> bool:
    """Whether the kernels of another device or stream begin here, and are named."""
    where = rows[place].where
    return bool(where) and (place == 0 or rows[place - 1].where != where)


def _state(view: Observed) -> Text:
    counts = {
        "operator": view.operator,
        "chip": view.chip,
        "n": sum(row.predicted is not None for row in view.rows),
        "seen": sum(row.observed is not None for row in view.rows),
    }
    if view.differing == 1:
        return Text(
            "{operator} on {chip} · kernels: {n} predicted, {seen} observed · 1 differs", **counts
        )
    if view.differing:
        counts["differing"] = view.differing
        return Text(
            "{operator} on {chip} · kernels: {n} predicted, {seen} observed · {differing} differ",
            **counts,
        )
    return Text(
        "{operator} on {chip} · kernels: {n} predicted, {seen} observed · none differs", **counts
    )


def _row(sheet: Sheet, row: KernelRow, top: float, tab: float) -> None:
    colours = sheet.colours
    _side(sheet, row, row.predicted, (_LEFT, top), tab)
    _side(sheet, row, row.observed, (_RIGHT, top), tab)
    same = row.verdict == "same"
    middle = (_LEFT + _WIDE + _RIGHT) / 2
    ink = colours.check if same else colours.edge
    sign = _VERDICTS[row.verdict]
    sheet.text(middle, top + 26, sign, ink, size=Size.TITLE, bold=True, align="center")
    sheet.text(middle, top + 43, row.verdict, ink, size=Size.SMALL, align="center")


def _side(
    sheet: Sheet, row: KernelRow, side: Side | None, at: tuple[float, float], tab: float
) -> None:
    """A kernel as a box: number, op type, core; below, what goes in and comes out.

    `tab` is the width of the place for the number.
    """
    left, top = at
    colours = sheet.colours
    if side is None:
        sheet.box((left, top, _WIDE, _HIGH), colours.ground, colours.edge, dashed=True)
        words = "not observed" if left == _RIGHT else "not predicted"
        middle = (left + _WIDE / 2, top + _HIGH / 2 + 5)
        sheet.text(*middle, words, colours.edge, align="center")
        return
    sheet.box((left, top, _WIDE, _HIGH), colours.ground, colours.passes)
    sheet.box((left, top, tab, _HIGH), colours.passes)
    number = str(row.number)
    ink = on(colours.passes, colours)
    sheet.text(left + tab / 2, top + 31, number, ink, size=Size.HEAD, bold=True, align="center")
    right, begin = left + _WIDE - 8, left + tab + 10.0
    x = begin + sheet.text(begin, top + 21, row.op_type, colours.ink, bold=True, room=200) + 10
    if side[0]:
        x = _part(sheet, row, 0, f"block dim {side[0]}", (x, top + 21), right) + 10
    if side[1]:
        _part(sheet, row, 1, side[1], (x, top + 21), right)
    if not side[2] and not side[3]:
        words = "shapes and dtypes not taken"
        sheet.text(begin, top + 41, words, colours.muted, size=Size.SMALL)
        return
    x = _part(sheet, row, 2, side[2], (begin, top + 41), right - _least(side[3])) + 8
    x += sheet.text(x, top + 41, "→", colours.muted, size=Size.SMALL) + 6
    _part(sheet, row, 3, side[3], (x, top + 41), right)


def _least(text: str) -> float:
    """Room that is kept for the outputs, behind the inputs."""
    return min(text_width(text, Size.SMALL, True), 150) + 26


def _part(
    sheet: Sheet, row: KernelRow, place: int, text: str, at: tuple[float, float], right: float
) -> float:
    """One of the four texts, orange where it differs; returns where it ends."""
    wrong = place in row.differs
    ink = sheet.colours.edge if wrong else sheet.colours.muted
    room = right - at[0]
    return at[0] + sheet.text(*at, text or "-", ink, size=Size.SMALL, bold=wrong, room=room)


def _unseen(sheet: Sheet, view: Observed, top: float) -> None:
    """What is in no profile, as a dashed strip."""
    if not view.unseen:
        return
    colours = sheet.colours
    sheet.box((_LEFT, top, WIDTH - 2 * _LEFT, 34), colours.ground, colours.line, dashed=True)
    x = _LEFT + 12.0
    x += sheet.text(x, top + 22, "in no profile", colours.ink, size=Size.SMALL, bold=True) + 12
    words = " · ".join(view.unseen)
    sheet.text(x, top + 22, words, colours.muted, size=Size.SMALL, room=WIDTH - _LEFT - 12 - x)


def observed_alt_text(view: Observed) -> str:
    """The comparison in words."""
    told = [
        _(QUESTION),
        _("{state}; observed is: {source}.").format(state=_(_state(view)), source=_(view.source)),
    ]
    rows = drawn_rows(view)
    for place, row in enumerate(rows):
        if _begins(rows, place):
            told.append(_("On {where}:").format(where=_(row.where)))
        told.append(_row_told(row))
    if len(rows) < len(view.rows):
        left = len(view.rows) - len(rows)
        told.append(_("{n} more kernels, not told here.").format(n=left))
    if view.unseen:
        told.append(_("In no profile: {parts}.").format(parts=_joined(view.unseen)))
    return plain(" ".join(told))


def _row_told(row: KernelRow) -> str:
    name = f"{row.number} {row.op_type}"
    if row.observed is None:
        return _("{kernel}: predicted, not observed.").format(kernel=name)
    if row.predicted is None:
        return _("{kernel}: observed, not predicted.").format(kernel=name)
    if row.verdict == "same":
        if row.predicted[0]:
            return _("{kernel}: same, block dim {n}.").format(kernel=name, n=row.predicted[0])
        return _("{kernel}: same.").format(kernel=name)
    pairs = [
        _("{part} predicted {predicted}, observed {observed}").format(
            part=_(_PARTS[place]),
            predicted=row.predicted[place] or "-",
            observed=row.observed[place] or "-",
        )
        for place in sorted(row.differs)
    ]
    return _("{kernel}: differs, {pairs}.").format(kernel=name, pairs=_joined(pairs))


def _joined(parts: Sequence[str]) -> str:
    return _(", ").join(_(part) for part in parts)
