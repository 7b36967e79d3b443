"""How the work reaches the cores, in one picture: cores, lanes, pipes, UB, and lanes over size.

Made for a panel: texts are kept as pixels, and a bar per core is one shape.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from labkit.draw.cores import Lanes, lanes_of, shares
from labkit.draw.lanes import describe_mark, draw_lanes
from labkit.draw.numbers import percent
from labkit.draw.pipeline import Run, runs
from labkit.draw.sheet import WIDTH, Sheet, grouped, on, shortened, text_width
from labkit.draw.stamp import Lettering
from labkit.draw.theme import DPI, DRAWING, Palette, Size
from labkit.draw.tiling_view import TilingView
from labkit.op.program import PIPES
from labkit.op.tiling import Buffer, Tiling

__all__ = ["HEIGHT", "QUESTION", "tiling_figure"]

HEIGHT = 710
QUESTION = "How does the work reach the cores?"
_LEFT, _MIDDLE, _RIGHT = 20, 500, WIDTH - 20
_WIDE = 450
_ROW_1, _ROW_2, _ROW_3 = 112, 290, 530
Box = tuple[float, float, float, float]


def tiling_figure(
    view: TilingView, theme: str | Palette = "light", *, quick: bool = False
) -> Figure:
    """Draw a tiling; `quick` sets texts from kept letters, for a panel that moves."""
    with DRAWING:
        sheet = (_Letters if quick else Sheet)(HEIGHT, theme)
        sheet.head(QUESTION, *view.state_lines())
        _cores(sheet, view)
        _lanes(sheet, view)
        _pipes(sheet, view)
        _ub(sheet, view.tiling)
        _curve(sheet, view)
        return sheet.figure


class _Letters(Sheet):
    """A sheet for numbers that change all the time: lines are put together from kept letters."""

    def text(
        self,
        x: float,
        y: float,
        text: str,
        colour: str,
        *,
        size: float = Size.TEXT,
        bold: bool = False,
        align: str = "left",
        room: float = 0.0,
    ) -> float:
        """Write one line, shortened to `room` pixels if that is given; returns its width."""
        line = Lettering(x, y, text, colour, size=size, bold=bold, align=align)
        if room and _wide(line, size) > room:
            line.write(shortened(text, room, size, bold))
        self.figure.add_artist(line)
        return _wide(line, size)


def _wide(line: Lettering, size: float) -> float:
    """Pixels that a line takes, without the margin for letters that lean out."""
    return 0.0 if line.pixels is None else line.pixels.shape[1] - 0.6 * size * DPI / 72


def _heading(sheet: Sheet, x: float, y: float, told: str, room: float) -> None:
    sheet.text(x, y, told, sheet.colours.ink, size=Size.HEAD, bold=True, room=room)


def _shape(sheet: Sheet, boxes: Sequence[Box], face: str, edge: str = "none") -> None:
    """Many rectangles as one shape: an artist each would be slow."""
    corners, codes = [], []
    for x, y, wide, high in boxes:
        x1, y1 = (x + wide) / WIDTH, 1 - (y + high) / HEIGHT
        x0, y0 = x / WIDTH, 1 - y / HEIGHT
        corners += [(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)]
        codes += [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    shape = PathPatch(
        Path(corners, codes),
        transform=sheet.figure.transFigure,
        facecolor=face,
        edgecolor=edge,
        linewidth=0.0 if edge == "none" else 1.2,
        antialiased=True,
        zorder=1.5,
    )
    sheet.figure.add_artist(shape)


# -- cores -------------------------------------------------------------------------


def _cores(sheet: Sheet, view: TilingView) -> None:
    """A bar per core; the one looked at stands on an orange foot."""
    tiling, colours = view.tiling, sheet.colours
    _heading(sheet, _LEFT, _ROW_1, f"cores: {view.cores_words()}", _WIDE)
    top, high = _ROW_1 + 14, 84
    floor = top + high
    step = min(_WIDE / tiling.cores, 60.0)
    gap = 2.0 if step > 5 else 0.8
    most = max(1, tiling.block_factor)
    for run in shares(tiling):
        tall = high * run.elements / most if run.elements else 8.0
        face = colours.passes if run.elements else colours.dead
        if 0 < run.elements < tiling.block_factor:
            face = colours.passes_negative
        boxes = [
            (_LEFT + step * core, floor - tall, step - gap, tall)
            for core in range(run.first, run.first + run.count)
        ]
        _shape(sheet, boxes, face)
    sheet.line([(_LEFT, floor), (_LEFT + step * tiling.cores, floor)], colours.line)
    foot = max(step - gap, 4.0)
    x = _LEFT + step * view.core + (step - gap) / 2 - foot / 2
    sheet.box((x, floor + 2, foot, 6), colours.edge)
    x = float(_LEFT)
    for run in shares(tiling):
        told = f"{run.name}: {grouped(run.elements) if run.elements else 'no work'}"
        told += " each" if run.elements and run.count > 1 else ""
        ink = colours.passes if run.elements else colours.dead_ink
        x += 18 + sheet.text(x, floor + 26, told, ink, bold=True, size=Size.SMALL)
    colour = colours.muted if view.aligned or not view.run.elements else colours.edge
    sheet.text(_LEFT, floor + 46, view.place_words(), colour, size=Size.SMALL, room=_WIDE)


# -- lanes -------------------------------------------------------------------------


def _lanes(sheet: Sheet, view: TilingView) -> None:
    """Two bars: what this core computes by the public cut, and by the cut by share."""
    colours, room = sheet.colours, _RIGHT - _MIDDLE
    cuts = [(name, cut, lanes_of(cut, view.core)) for name, cut in view.cuts]
    valid = cuts[0][2].valid
    told = f"lanes of core {view.core}: {grouped(valid)} wanted"
    _heading(sheet, _MIDDLE, _ROW_1, told, room)
    most = max([1, *(lanes.computed or 0 for _, _, lanes in cuts)])
    for row, (name, cut, lanes) in enumerate(cuts):
        y = _ROW_1 + 24 + 46 * row
        tile = f"{name}, ub factor {grouped(cut.ub_factor)}"
        tile += f": {percent(valid, lanes.computed)} real" if lanes.computed else ""
        sheet.text(_MIDDLE, y, tile, colours.muted, size=Size.SMALL, room=room)
        _lane_bar(sheet, (_MIDDLE, y + 7, 260, 18), lanes, most)
    lines = view.lanes_words()
    for row, told in enumerate(lines):
        y = _ROW_1 + 144 - 18 * (len(lines) - 1 - row)
        sheet.text(_MIDDLE, y, told, colours.muted, size=Size.SMALL, room=room)


def _lane_bar(sheet: Sheet, box: Box, lanes: Lanes, most: int) -> None:
    """Blue for real elements, orange around the lanes computed beside them."""
    colours = sheet.colours
    left, top, wide, high = box
    computed, whole = lanes.computed or 0, 0.0
    if computed:
        blue = max(wide * lanes.valid / most, 1.5)
        whole = max(wide * computed / most, blue + 1.5 if computed > lanes.valid else blue)
        if computed > lanes.valid:
            sheet.box((left, top, whole, high), colours.ground, colours.edge)
        sheet.box((left, top, blue, high), colours.passes)
    told = f"{grouped(computed)} lane" + ("" if computed == 1 else "s")
    sheet.text(left + whole + 8, top + 13, told, colours.ink, size=Size.SMALL, bold=True)


# -- pipes -------------------------------------------------------------------------


def _pipes(sheet: Sheet, view: TilingView) -> None:
    """The first tiles over the three pipes."""
    colours = sheet.colours
    drawn = runs(view.timed)
    end = max((run.end for run in drawn), default=0)
    _heading(sheet, _LEFT, _ROW_2, f"pipes of core {view.core}, first tiles (model)", _WIDE)
    left, wide = _LEFT + 52, _WIDE - 60
    scale = wide / max(1, end)
    for row, pipe in enumerate(PIPES):
        top = _ROW_2 + 18 + 36 * row
        sheet.text(_LEFT, top + 18, pipe, colours.ink, size=Size.SMALL, bold=True)
        sheet.line([(left, top + 13), (left + wide, top + 13)], colours.dead, 2.0)
        for run in drawn:
            if run.pipe == pipe:
                _run(sheet, run, left + run.start * scale, top, (run.end - run.start) * scale)
    y = _ROW_2 + 128
    sheet.line([(left, y), (left + wide, y)], colours.line)
    for cycle in _ticks(end):
        x = left + cycle * scale
        sheet.line([(x, y), (x, y + 4)], colours.line)
        sheet.text(x, y + 18, grouped(cycle), colours.muted, size=Size.SMALL, align="center")
    label = sheet.text(_LEFT, y + 36, "model cycles", colours.edge, size=Size.SMALL, bold=True)
    for row, told in enumerate(view.cycles_words()):
        x = _LEFT + (0 if row else label + 10)
        room = _WIDE - (0 if row else label + 10)
        sheet.text(x, y + 36 + 18 * row, told, colours.muted, size=Size.SMALL, room=room)


def _run(sheet: Sheet, run: Run, x: float, top: float, wide: float) -> None:
    colours = sheet.colours
    face, edge = colours.ground, colours.passes
    if run.tile is not None:
        face = colours.passes_negative if run.tile % 2 else colours.passes
        edge = colours.ground
    sheet.box((x, top, max(wide, 2.0), 26), face, edge)
    words = ("λ, 0",) if run.tile is None else (f"tile {run.tile}", str(run.tile))
    for word in words:
        if text_width(word, Size.SMALL) + 4 < wide:
            at = (x + wide / 2, top + 17)
            sheet.text(*at, word, on(face, colours), size=Size.SMALL, align="center")
            break


def _ticks(end: int) -> range:
    """Round numbers of cycles, at most six."""
    rounds = (unit * 10**power for power in range(19) for unit in (1, 2, 5))
    step = next(unit for unit in rounds if end <= 5 * unit)
    return range(0, end + 1, step)


# -- UB ----------------------------------------------------------------------------


def _ub(sheet: Sheet, tiling: Tiling) -> None:
    """The UB of one core, buffer by buffer, to scale."""
    colours = sheet.colours
    used, whole = tiling.ub_used, tiling.ub_bytes
    told = f"UB of one core: {grouped(used)} of {grouped(whole)} B used"
    _heading(sheet, _MIDDLE, _ROW_2, told, _RIGHT - _MIDDLE)
    left, wide = _MIDDLE + 84, _RIGHT - _MIDDLE - 84
    scale = wide / max(whole, used)
    top = _ROW_2 + 18
    limit = left + max(0, whole - tiling.reserved) * scale
    sheet.text(left - 8, top + 18, "UB", colours.ink, size=Size.SMALL, bold=True, align="right")
    sheet.box((left, top, limit - left, 26), colours.dead)
    sheet.box((limit, top, left + wide - limit, 26), colours.ground, colours.line, dashed=True)
    end = left + used * scale
    if limit - end > 40:
        at = ((end + limit) / 2, top + 17)
        sheet.text(*at, "free", colours.dead_ink, size=Size.SMALL, align="center")
    offset = 0
    for row, buffer in enumerate(tiling.buffers):
        y = top + 34 + 16 * row
        sheet.text(left - 8, y + 10, buffer.name, colours.ink, size=Size.SMALL, align="right")
        start = left + offset * scale
        for piece in range(buffer.count):
            x = left + offset * scale
            box = max(buffer.size * scale - 1, 2.0)
            face, edge = colours.ground, colours.passes
            if buffer.name.endswith("Queue"):
                face, edge = (colours.passes, colours.passes_negative)[piece % 2], "none"
            sheet.box((x, top, box, 26), face, edge)
            sheet.box((x, y + 1, box, 10), face, edge)
            offset += buffer.size
        _bytes(sheet, buffer, start, left + offset * scale, y + 10)
    pieces = "blue: a queue's piece"
    if tiling.double_buffer:
        pieces = "two blues: a queue's two pieces, ping and pong"
    kept = f"outlined: scratch · dashed: {grouped(tiling.reserved)} B that the tiling keeps back"
    for row, told in enumerate((pieces, kept)):
        y = _ROW_2 + 182 + 18 * row
        sheet.text(_MIDDLE, y, told, colours.muted, size=Size.SMALL, room=_RIGHT - _MIDDLE)


def _bytes(sheet: Sheet, buffer: Buffer, start: float, end: float, y: float) -> None:
    """A buffer's bytes beside its box: behind it where there is room, else before it."""
    pieces = f"{buffer.count} × " if buffer.count > 1 else ""
    told = f"{pieces}{grouped(buffer.size)}"
    behind = end + 8 + 6.5 * len(told) < _RIGHT
    at, align = (end + 8, "left") if behind else (start - 6, "right")
    sheet.text(at, y, told, sheet.colours.muted, size=Size.SMALL, align=align)


# -- lanes over the total ------------------------------------------------------------


def _curve(sheet: Sheet, view: TilingView) -> None:
    colours = sheet.colours
    _heading(sheet, _LEFT, _ROW_3, "share of real lanes, over the total (log)", 400)
    told = describe_mark(view.mark)
    sheet.text(
        _RIGHT, _ROW_3, told, colours.edge, bold=True, size=Size.SMALL, align="right", room=480
    )
    draw_lanes(sheet, (66, _ROW_3 + 14, WIDTH - 96, 126), view.curves, view.mark)
