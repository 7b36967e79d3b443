"""The pipeline of one core: what the three pipes do when, by the cost model of the schedule.

Every time in this picture is the model's, in cycles, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from matplotlib.figure import Figure

from labkit.draw.numbers import percent
from labkit.draw.theme import DRAWING, Palette, Size
from labkit.draw.ub import WIDTH, Sheet, chip_words, grouped, on, plain, text_width, tiling_words
from labkit.op.program import MTE2, MTE3, PIPES, V
from labkit.op.schedule import Schedule, Span
from labkit.op.tiling import Tiling

__all__ = ["Run", "opening", "pipeline_alt_text", "pipeline_figure", "runs"]

_LEFT, _WIDE = 150, 770
_TOP, _LANE, _HIGH = 132, 72, 36
_TILES = 4
_HEIGHT = 434
_DOES = {MTE2: "copies in", V: "computes", MTE3: "copies out"}


@dataclass(frozen=True)
class Run:
    """What a pipe does for one tile without a pause; `tile` is None for the constants of a core.

    `steps` are the instructions by name, `blocked` the end of the work that
    the pipe waited for before it could start, as (pipe, cycle), else None.
    """

    pipe: str
    tile: int | None
    start: int
    end: int
    steps: tuple[str, ...]
    blocked: tuple[str, int] | None


def opening(tiling: Tiling, core: int = 0, tiles: int = _TILES) -> Tiling:
    """The tiling with the core's share cut down to its first tiles.

    The schedule of this is the beginning of the core's schedule, and is made
    in no time however large the share.
    """
    reach = tiling.block_factor * core + tiles * max(0, tiling.ub_factor)
    return replace(tiling, total_num=min(tiling.total_num, reach))


def runs(timed: Schedule, tiles: int = _TILES) -> tuple[Run, ...]:
    """The first tiles of a schedule, with the instructions of a tile joined per pipe."""
    joined: list[Run] = []
    ends = {span.step.place: span for span in timed.spans}
    latest: dict[str, Run] = {}
    for span in timed.spans:
        if span.step.tile >= tiles:
            continue
        tile = None if span.step.writes and _constant(span) else span.step.tile
        before = latest.get(span.step.pipe)
        if before and before.tile == tile and before.end == span.start:
            run = replace(before, end=span.end, steps=(*before.steps, span.step.name))
            joined[joined.index(before)] = run
        else:
            free = before.end if before else 0
            waited = [ends[place] for place in span.step.waits if ends[place].end == span.start]
            blocked = (waited[0].step.pipe, span.start) if waited and span.start > free else None
            run = Run(span.step.pipe, tile, span.start, span.end, (span.step.name,), blocked)
            joined.append(run)
        latest[span.step.pipe] = run
    return tuple(joined)


def _constant(span: Span) -> bool:
    return span.step.writes[0].buffer in ("lambdBuf", "zeroBuf")


def pipeline_figure(
    timed: Schedule,
    tiling: Tiling,
    theme: str | Palette = "light",
    *,
    core: int = 0,
    tiles: int = _TILES,
) -> Figure:
    """Draw the first tiles of a core's schedule over the three pipes.

    `timed` is the schedule of that core of `tiling`, or of its `opening`.
    """
    with DRAWING:
        sheet = Sheet(_HEIGHT, theme)
        colours = sheet.colours
        sheet.head("What do the three pipes do when?", *_state(timed, tiling, core))
        drawn = runs(timed, tiles)
        end = max((run.end for run in drawn), default=0)
        scale = _WIDE / max(1, end)
        for row, pipe in enumerate(PIPES):
            middle = _TOP + _LANE * row + _HIGH / 2
            sheet.text(20, middle - 2, pipe, colours.ink, size=Size.HEAD, bold=True)
            sheet.text(20, middle + 14, _DOES[pipe], colours.muted, size=Size.SMALL)
            if end:
                told = f"busy {percent(_busy(drawn, pipe), end)}"
                sheet.text(20, middle + 29, told, colours.muted, size=Size.SMALL)
            sheet.line([(_LEFT, middle), (_LEFT + _WIDE, middle)], colours.dead, 2.0)
        for run in drawn:
            _draw(sheet, run, scale)
        _axis(sheet, end, scale)
        for row, (line, colour) in enumerate(_notes(drawn, timed, tiling, core, colours)):
            sheet.text(_LEFT, 378 + 19 * row, line, colour, size=Size.SMALL, room=_WIDE)
        return sheet.figure


def _draw(sheet: Sheet, run: Run, scale: float) -> None:
    """A run as a box with its tile's number, and the wait before it as a line from its cause."""
    colours = sheet.colours
    top = _TOP + _LANE * PIPES.index(run.pipe)
    left, wide = _LEFT + run.start * scale, max((run.end - run.start) * scale, 2.0)
    face = colours.ground
    if run.tile is not None:
        face = colours.passes_negative if run.tile % 2 else colours.passes
    sheet.box((left, top, wide, _HIGH), face, colours.ground if run.tile is not None else colours.passes)
    ink = on(face, colours)
    words = ("constants", "λ, 0") if run.tile is None else (f"tile {run.tile}", str(run.tile))
    for word in words:
        if text_width(word, Size.SMALL) + 6 < wide:
            at = (left + wide / 2, top + _HIGH / 2 + 4)
            sheet.text(*at, word, ink, size=Size.SMALL, align="center")
            break
    if run.blocked:
        cause = PIPES.index(run.blocked[0])
        back = cause > PIPES.index(run.pipe)
        colour = colours.edge if back else colours.line
        near = top + _HIGH if back else top
        far = _TOP + _LANE * cause + (0 if back else _HIGH)
        sheet.line([(left, far), (left, near)], colour, 2.0 if back else 1.2, dashed=not back)


def _busy(drawn: Iterable[Run], pipe: str) -> int:
    return sum(run.end - run.start for run in drawn if run.pipe == pipe)


def _axis(sheet: Sheet, end: int, scale: float) -> None:
    """Cycles under the lanes, at round numbers."""
    colours = sheet.colours
    y = _TOP + 3 * _LANE - 14
    sheet.line([(_LEFT, y), (_LEFT + _WIDE, y)], colours.line)
    step = 1
    while end > 8 * step:
        step *= 2 if str(step)[0] in "15" else 5
        step = {10: 10}.get(step, step)
    for cycle in range(0, end + 1, step):
        x = _LEFT + cycle * scale
        sheet.line([(x, y), (x, y + 4)], colours.line)
        sheet.text(x, y + 18, grouped(cycle), colours.muted, size=Size.SMALL, align="center")
    sheet.text(20, y + 18, "model cycles", colours.edge, size=Size.SMALL, bold=True)


def _tiles(tiling: Tiling, core: int) -> int:
    return -(-tiling.core_length(core) // tiling.ub_factor) if tiling.ub_factor > 0 else 0


def _state(timed: Schedule, tiling: Tiling, core: int) -> tuple[str, str]:
    tiles = _tiles(tiling, core)
    share = f"core {core}: {grouped(tiling.core_length(core))} in {grouped(tiles)} tile"
    share += ("" if tiles == 1 else "s") + f" of {grouped(tiling.ub_factor)}"
    costs = timed.model
    model = (
        f"model, cycles: a copy {costs.start_copy} + bytes / {costs.copy_in_rate} in, "
        f"/ {costs.copy_out_rate} out; a vector instruction {costs.start_vector} + "
        f"bytes / {costs.vector_rate}"
    )
    return f"{tiling_words(tiling)} · {share}", model
