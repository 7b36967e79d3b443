"""Host calls over device work: when kernels were queued, and during which call they ran."""

from __future__ import annotations

from labkit.draw.sheet import WIDTH, Sheet, on, text_width
from labkit.draw.theme import Size
from labkit.draw.two_phase_view import CallRow, TwoPhaseView, WorkBar

__all__ = ["draw_timeline"]

_LEFT = 84
_TOP, _LANE = 610, 15
_SIGNS = (
    ("GetWorkspaceSize", "phase 1"),
    ("aclnnHardshrinkBackward", "phase 2"),
    ("aclrtSynchronizeStream", "wait"),
    ("aclrtMemcpy(outHost", "copy"),
)
"""Which calls have a name over the row."""


def draw_timeline(sheet: Sheet, view: TwoPhaseView) -> None:
    """Draw the row of the host and, under it, a lane for each kernel of the plan."""
    colours = sheet.colours
    step = (WIDTH - 20 - _LEFT) / view.total
    rows = [row for row in view.rows if row.number]
    sheet.text(20, _TOP + 12, "host", colours.ink, size=Size.HEAD, bold=True)
    sheet.text(20, _TOP + 32, "device", colours.ink, size=Size.HEAD, bold=True)
    for row in rows:
        _cell(sheet, row, _LEFT + step * (row.number - 1), step, last=row is view.current)
    _signs(sheet, rows, step)
    first = view.bars[0].queued if view.bars else 0
    lanes: dict[int, int] = {}
    for bar in view.bars:
        lane = lanes[bar.queued] = lanes.get(bar.queued, -1) + 1
        _bar(sheet, bar, _TOP + 22 + _LANE * lane, step, view.step, named=bar.queued == first)
    if not view.bars:
        sheet.text(_LEFT, _TOP + 32, "no kernel has been queued", colours.muted, size=Size.SMALL)
    note = "model: work runs only when somebody waits"
    sheet.text(WIDTH - 20, _TOP - 19, note, colours.muted, size=Size.NAMES, align="right")


def _cell(sheet: Sheet, row: CallRow, x: float, step: float, *, last: bool) -> None:
    colours = sheet.colours
    face = {
        "done": colours.passes_negative,
        "failed": colours.edge,
        "skipped": colours.dead,
    }.get(row.state, colours.ground)
    face = colours.passes if last and row.state != "failed" else face
    sheet.box((x + 1, _TOP, step - 2, 16), face, colours.dead if face == colours.ground else "none")
    ink = colours.dead_ink if face == colours.ground else on(face, colours)
    at = (x + step / 2, _TOP + 12)
    sheet.text(*at, str(row.number), ink, size=Size.NAMES, align="center")


def _signs(sheet: Sheet, rows: list[CallRow], step: float) -> None:
    """The names of the calls that matter, over their cells, in two heights where they are near."""
    ends = [0.0, 0.0]
    for row in rows:
        sign = next((sign for words, sign in _SIGNS if words in row.text), "")
        middle = _LEFT + step * (row.number - 0.5)
        half = text_width(sign, Size.NAMES) / 2
        height = next((h for h, end in enumerate(ends) if middle - half > end + 2), None)
        if sign and height is not None:
            at = (middle, _TOP - 6 - 13 * height)
            sheet.text(*at, sign, sheet.colours.muted, size=Size.NAMES, align="center")
            ends[height] = middle + half


def _bar(sheet: Sheet, bar: WorkBar, y: float, step: float, now: int, *, named: bool) -> None:
    """From the call that queued a kernel to the one in which it ran, or to the last one made."""
    colours = sheet.colours
    start = _LEFT + step * (bar.queued - 0.5)
    end = _LEFT + step * ((bar.ran or now) - (1 if bar.ran else 0))
    sheet.box((start, y + 3, max(end - start, 4), 6), colours.passes_negative)
    if bar.ran:
        face = colours.edge if bar.lost else colours.passes
        sheet.box((end + 1, y, step - 2, 12), face)
    if named:
        sheet.text(start - 8, y + 10, bar.kernel, colours.ink, size=Size.NAMES, align="right")
