"""The checks of phase 1 as a sieve: from top to bottom, in the order in which the code makes them.

A row is a check, a column an argument. A green mark passed, an orange one ends
the call, grey was never reached. A hollow orange one is a fault that nobody
will tell, since an earlier check ended the call.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from labkit.draw.chain import wrapped
from labkit.draw.png import drawn
from labkit.draw.sheet import WIDTH, Sheet, on
from labkit.draw.sieve_view import QUESTION, Sieve, SieveCell, SieveRow, Verdict
from labkit.draw.theme import DRAWING, Palette, Size

__all__ = ["HEIGHT", "sieve_figure", "sieve_pixels"]

Pixels = npt.NDArray[np.uint8]

HEIGHT = 690
"""Pixels of the picture, whatever the call."""

_NAME, _GRID, _RIGHT = 46, 262, 920
_TOP, _ROW, _ABOVE = 142, 34, 8
_SHARES = {"lambd": 0.7}
_VERDICT, _HALF = 538, 474
_MARKS = {"passed": "✓", "stopped": "✗", "returned": "✓", "hidden": "✗"}


def sieve_figure(sieve: Sieve, theme: str | Palette = "light") -> Figure:
    """Draw the checks of one call."""
    with DRAWING:
        sheet = Sheet(HEIGHT, theme)
        sheet.head(QUESTION, f"{sieve.operator} on {sieve.chip}")
        _draw_heads(sheet, sieve.columns, sieve.described, sieve.file)
        for number, row in enumerate(sieve.rows):
            _draw_row(sheet, row, _TOP + _ROW * number, _edges(sieve.columns))
        _draw_verdict(sheet, sieve.verdict, sieve.hidden, _VERDICT)
        return sheet.figure


def sieve_pixels(sieve: Sieve, theme: str | Palette = "light") -> Pixels:
    """The same picture as pixels (RGBA), quickly: only the bands that were never drawn are drawn.

    From one call to the next most checks see the same, and letters are what
    takes time.
    """
    with DRAWING:
        rows = [_row_band(row, sieve.columns, theme) for row in sieve.rows]
        head = _head_band(
            sieve.operator, sieve.chip, sieve.columns, sieve.described, sieve.file, theme
        )
        foot = _verdict_band(sieve.verdict, sieve.hidden, theme)
        gap = HEIGHT - sum(len(band) for band in (head, *rows, foot))
        blank = np.broadcast_to(foot[-1:, :1], (gap, WIDTH, 4))
        return np.concatenate([head, *rows, blank, foot])


@lru_cache(maxsize=32)
def _head_band(
    operator: str,
    chip: str,
    columns: tuple[str, ...],
    described: tuple[str, ...],
    file: str,
    theme: str | Palette,
) -> Pixels:
    sheet = Sheet(_TOP - _ABOVE, theme)
    sheet.head(QUESTION, f"{operator} on {chip}")
    _draw_heads(sheet, columns, described, file)
    return drawn(sheet.figure)


@lru_cache(maxsize=128)
def _row_band(row: SieveRow, columns: tuple[str, ...], theme: str | Palette) -> Pixels:
    sheet = Sheet(_ROW, theme)
    _draw_row(sheet, row, _ABOVE, _edges(columns))
    return drawn(sheet.figure)


@lru_cache(maxsize=32)
def _verdict_band(verdict: Verdict, hidden: int, theme: str | Palette) -> Pixels:
    above = 22
    sheet = Sheet(HEIGHT - _VERDICT + above, theme)
    _draw_verdict(sheet, verdict, hidden, above)
    return drawn(sheet.figure)


def _draw_heads(
    sheet: Sheet, columns: tuple[str, ...], described: tuple[str, ...], file: str
) -> None:
    colours = sheet.colours
    sheet.text(_NAME, 96, "check", colours.ink, size=Size.HEAD, bold=True)
    sheet.text(_NAME, 114, file, colours.muted, size=Size.SMALL, room=_GRID - _NAME - 10)
    edges = _edges(columns)
    for place, (name, told) in enumerate(zip(columns, described)):
        x, room = edges[place], edges[place + 1] - edges[place] - 10
        shown = "λ" if name == "lambd" else name
        sheet.text(x + 4, 96, shown, colours.ink, size=Size.HEAD, bold=True, room=room)
        sheet.text(x + 4, 114, told, colours.muted, size=Size.SMALL, room=room)


def _edges(columns: tuple[str, ...]) -> list[float]:
    """Where each column begins, and the last one ends."""
    shares = [_SHARES.get(name, 1.0) for name in columns]
    edges = [float(_GRID)]
    for share in shares:
        edges.append(edges[-1] + (_RIGHT - _GRID) * share / sum(shares))
    return edges


def _draw_row(sheet: Sheet, row: SieveRow, y: float, edges: list[float]) -> None:
    colours = sheet.colours
    state = row.state
    inks = {"passed": colours.check, "stopped": colours.edge, "returned": colours.check}
    ink = inks.get(state, colours.dead_ink)
    sheet.text(28, y + 12, _MARKS.get(state, "·"), ink, bold=True, align="center")
    name = colours.dead_ink if state == "not reached" else colours.ink
    strong = state in ("stopped", "returned")
    sheet.text(_NAME, y + 9, row.name, ink if strong else name, bold=True)
    room = _GRID - _NAME - 12
    sheet.text(_NAME, y + 22, row.source, colours.muted, size=Size.NAMES, room=room)
    for cell in row.cells:
        left, right = edges[cell.column], edges[cell.column + cell.span]
        _draw_cell(sheet, cell, (left, y - 5, right - left - 6, _ROW - 6))


def _draw_cell(sheet: Sheet, cell: SieveCell, box: tuple[float, float, float, float]) -> None:
    colours = sheet.colours
    x, y, wide, _ = box
    face, edge, ink = {
        "passed": (colours.ground, colours.check, colours.ink),
        "stopped": (colours.edge, colours.edge, on(colours.edge, colours)),
        "returned": (colours.check, colours.check, on(colours.check, colours)),
        "hidden": (colours.ground, colours.edge, colours.edge),
        "not reached": (colours.ground, colours.dead, colours.dead_ink),
        "not asked": (colours.ground, "none", colours.dead_ink),
    }[cell.state]
    sheet.box(box, face, edge, dashed=cell.state == "hidden")
    mark = _MARKS.get(cell.state, "")
    paint = colours.check if cell.state == "passed" else ink
    at, base = x + 8, y + 18
    if mark:
        at += sheet.text(at, base, mark, paint, size=Size.SMALL, bold=True) + 6
    strong = cell.state in ("stopped", "returned")
    sheet.text(at, base, cell.text, ink, size=Size.SMALL, bold=strong, room=x + wide - at - 6)


def _draw_verdict(sheet: Sheet, verdict: Verdict, hidden: int, y: float) -> None:
    colours = sheet.colours
    good = verdict.status == 0
    sheet.line([(20, y - 14), (WIDTH - 20, y - 14)], colours.dead)
    head = f"{'✓' if good else '✗'} {verdict.status} {verdict.name}"
    paint = colours.check if good else colours.edge
    sheet.text(28, y + 12, head, paint, size=Size.HEAD, bold=True, room=_HALF - 40)
    lines = [(line, colours.ink) for line in verdict.lines]
    if hidden:
        faults = "fault" if hidden == 1 else "faults"
        lines.append((f"dashed: {hidden} more {faults}, which this call will not tell", paint))
    _paragraphs(sheet, lines, (28, y + 34), _HALF - 48)
    title, paint = "the document says nothing else", colours.muted
    if verdict.document:
        title, paint = "where the document differs", colours.edge
    sheet.text(_HALF + 10, y + 12, title, paint, size=Size.HEAD, bold=True)
    lines = [
        (line, colours.muted if number % 2 else colours.ink)
        for number, line in enumerate(verdict.document)
    ]
    _paragraphs(sheet, lines, (_HALF + 10, y + 34), WIDTH - _HALF - 30)


def _paragraphs(
    sheet: Sheet, lines: list[tuple[str, str]], corner: tuple[float, float], room: float
) -> None:
    """Lines of text with their colours, as many as there is room for."""
    x, y = corner
    for line, colour in lines:
        rows = int((sheet.height - 12 - y) // 16) + 1
        for part in wrapped(line, room, Size.SMALL, min(rows, 3)) if rows > 0 else ():
            sheet.text(x, y, part, colour, size=Size.SMALL)
            y += 16
        y += 3
