"""The two-phase picture: the calls of a host program, device memory beside them, time below.

At the left the program with what each call returned; at the right what there
is after the last call: memory, descriptions, executor, stream, the host's
array; below, host calls over device work.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from labkit.draw.sheet import WIDTH, Sheet, grouped, on, text_width
from labkit.draw.stamp import Lettering
from labkit.draw.theme import DRAWING, Palette, Size, write
from labkit.draw.two_phase_time import draw_timeline
from labkit.draw.two_phase_view import (
    BLOCK_WORDS,
    OUTPUT_WORDS,
    QUESTION,
    BlockView,
    CallRow,
    TwoPhaseView,
    state_line,
)

__all__ = ["HEIGHT", "WIDTH", "two_phase_figure"]

HEIGHT = 704
_TOP, _PITCH = 112, 14
_LIST = 424
"""Right end of the list of calls."""
_X, _END = 450, WIDTH - 20
_BOX, _WIDE = 538, 282
"""Left end and width of the blocks of device memory."""
_LINES = 5


def two_phase_figure(
    view: TwoPhaseView, theme: str | Palette = "light", *, quick: bool = False
) -> Figure:
    """Draw a host program after some of its calls; `quick` as for a sheet."""
    with DRAWING:
        sheet = Sheet(HEIGHT, theme, quick=quick)
        sheet.head(QUESTION, *state_line(view))
        for place, row in enumerate(view.rows):
            _call(sheet, _TOP + _PITCH * place, row, last=row is view.current)
        _memory(sheet, view)
        _objects(sheet, view)
        _executor(sheet, view)
        _stream(sheet, view)
        _output(sheet, view)
        _verdict(sheet, view)
        draw_timeline(sheet, view)
        return sheet.figure


def _call(sheet: Sheet, y: float, row: CallRow, *, last: bool) -> None:
    """One line of the program: number, call, what it returned."""
    colours = sheet.colours
    absent = row.state in ("out", "moved")
    colour = colours.ink
    if absent or row.state in ("ahead", "never"):
        colour = colours.dead_ink
    number = colours.edge if row.odd else colour
    if last or row.state == "failed":
        face = colours.edge if row.state == "failed" else colours.passes
        sheet.box((16, y - 10.5, _LIST - 12, 13.5), face)
        colour = number = on(face, colours)
    mark = f"+{row.number}" if row.odd else f"{row.number}" if row.number else ""
    sheet.text(44, y, mark, number, size=Size.NAMES, align="right")
    code(sheet, 52, y, row.text, colour)
    told = {"out": "left out", "moved": "moved"}.get(row.state, row.returned)
    sheet.text(_LIST, y, told, colours.edge if absent else colour, size=Size.NAMES, align="right")
    if absent:
        sheet.line([(52, y - 3.5), (52 + 7.1 * len(row.text), y - 3.5)], colours.edge)


def code(sheet: Sheet, x: float, y: float, text: str, colour: str) -> None:
    """A piece of C."""
    if sheet.quick:
        sheet.figure.add_artist(Lettering(x, y, text, colour, size=Size.NAMES, mono=True))
    else:
        write(sheet.figure, x, y, text, colour, size=Size.NAMES, mono=True)


def _head(sheet: Sheet, y: float, text: str) -> None:
    sheet.text(_X, y, text, sheet.colours.ink, size=Size.HEAD, bold=True)


def _memory(sheet: Sheet, view: TwoPhaseView) -> None:
    _head(sheet, _TOP, "Device memory")
    words = "canaries at both ends of each block (model)"
    sheet.text(_END, _TOP, words, sheet.colours.muted, size=Size.NAMES, align="right")
    for place, block in enumerate(view.blocks):
        _block(sheet, _TOP + 10 + 41 * place, block)
    if not view.blocks:
        sheet.text(_X, _TOP + 30, "nothing allocated", sheet.colours.muted)


def _block(sheet: Sheet, y: float, block: BlockView) -> None:
    colours = sheet.colours
    freed = block.state == "freed"
    face = {
        "poison": colours.dead,
        "unused": colours.dead,
        "data": colours.passes_negative,
        "scratch": colours.passes_negative,
        "result": colours.passes,
        "freed": colours.ground,
    }[block.state]
    name = colours.dead_ink if freed else colours.ink
    sheet.text(_X, y + 22, block.name, name, size=Size.SMALL, bold=not freed)
    sheet.box((_BOX, y, _WIDE, 35), face, colours.line, dashed=freed)
    ink = colours.dead_ink if freed else on(face, colours)
    words = str(BLOCK_WORDS[block.state])
    holds = block.holds or ("" if freed else "0xCD CD CD CD …")
    middle, room = _BOX + _WIDE / 2, _WIDE - 24
    if holds:
        at = (middle, y + 14.5)
        sheet.text(*at, holds, ink, size=Size.SMALL, bold=True, align="center", room=room)
    at = (middle, y + (28.5 if holds else 21.5))
    sheet.text(*at, words, ink, size=Size.NAMES, align="center", room=room)
    if not freed:
        guard = colours.check if block.canaries else colours.edge
        sheet.box((_BOX, y, 6, 35), guard)
        sheet.box((_BOX + _WIDE - 6, y, 6, 35), guard)
    size = f"{grouped(block.size)} B"
    sheet.text(_END, y + 22, size, name, size=Size.SMALL, align="right")


def _pill(sheet: Sheet, x: float, y: float, text: str, face: str, *, dashed: bool = False) -> float:
    """A word in a box; returns where the next one may begin."""
    colours = sheet.colours
    wide = text_width(text, Size.SMALL) + 18
    sheet.box((x, y, wide, 20), face, colours.line, dashed=dashed)
    ink = colours.dead_ink if dashed else on(face, colours)
    sheet.text(x + wide / 2, y + 14, text, ink, size=Size.SMALL, align="center")
    return x + wide + 8


def _objects(sheet: Sheet, view: TwoPhaseView) -> None:
    y, colours = _TOP + 198, sheet.colours
    _head(sheet, y, "Descriptions")
    shown = [each for each in view.objects if each.state != "none"]
    if not shown:
        sheet.text(_BOX + 30, y, "none yet", colours.muted)
    x = float(_X)
    for each in shown:
        gone = each.state == "gone"
        face = colours.ground if gone else colours.passes_negative
        x = _pill(sheet, x, y + 8, each.name, face, dashed=gone)
    if any(each.state == "gone" for each in shown):
        sheet.text(_END, y, "dashed: destroyed", colours.muted, size=Size.NAMES, align="right")


def _executor(sheet: Sheet, view: TwoPhaseView) -> None:
    y, colours = _TOP + 248, sheet.colours
    _head(sheet, y, "Executor")
    colour = colours.ink if view.executor_state == "live" else colours.muted
    sheet.text(_X, y + 18, view.executor, colour, size=Size.SMALL, room=_END - _X)


def _stream(sheet: Sheet, view: TwoPhaseView) -> None:
    y, colours = _TOP + 296, sheet.colours
    _head(sheet, y, "Stream")
    waiting = view.queue
    if not waiting:
        sheet.text(_X, y + 18, "nothing is waiting", colours.muted, size=Size.SMALL)
        return
    words = "waiting, in this order; nothing has run"
    sheet.text(_END, y, words, colours.muted, size=Size.NAMES, align="right")
    x = float(_X)
    for kernel in waiting:
        x = _pill(sheet, x, y + 8, kernel, colours.ground)


def _output(sheet: Sheet, view: TwoPhaseView) -> None:
    y, colours = _TOP + 348, sheet.colours
    _head(sheet, y, f"Host: {view.output}")
    colour = {"before": colours.muted, "right": colours.passes}.get(view.output_state, colours.edge)
    sheet.text(_X, y + 18, view.output_text, colour, size=Size.SMALL, bold=True)
    words = str(OUTPUT_WORDS[view.output_state])
    told = colour if colour == colours.edge else colours.muted
    sheet.text(_END, y, words, told, size=Size.NAMES, align="right")


def _verdict(sheet: Sheet, view: TwoPhaseView) -> None:
    """The box at the lower right: what is wrong, or that all is well."""
    if view.verdict is None:
        return
    y, colours = _TOP + 382, sheet.colours
    colour = colours.edge if view.trouble else colours.check
    lines = _wrapped(str(view.verdict), _END - _X - 20)[:_LINES]
    sheet.box((_X, y, _END - _X, 14 * len(lines) + 12), colours.ground, colour)
    for place, line in enumerate(lines):
        sheet.text(_X + 10, y + 17 + 14 * place, line, colour, size=Size.SMALL)


def _wrapped(text: str, room: float) -> list[str]:
    """A text in lines that fit; cut between words, a very long word anywhere."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, Size.SMALL) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
