"""The pipeline of one core: what the three pipes do when, by the cost model of the schedule.

Every time in this picture is the model's, in cycles, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from matplotlib.figure import Figure

from labkit.draw.numbers import percent
from labkit.draw.sheet import Sheet, grouped, on, plain, text_width, tiling_words
from labkit.draw.theme import DRAWING, Palette, Size
from labkit.op.program import MTE2, MTE3, PIPES, V
from labkit.op.schedule import Schedule, Span
from labkit.op.tiling import Tiling

__all__ = ["Run", "opening", "pipeline_alt_text", "pipeline_figure", "runs"]

_LEFT, _WIDE = 126, 780
_TOP, _LANE, _HIGH = 104, 72, 36
_TILES = 4
_HEIGHT = 406
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
        for row, line in enumerate(_notes(drawn, timed, tiling, core)):
            colour = colours.edge if line.startswith("orange") else colours.muted
            sheet.text(_LEFT, _HEIGHT - 56 + 19 * row, line, colour, size=Size.SMALL, room=_WIDE)
        return sheet.figure


def _draw(sheet: Sheet, run: Run, scale: float) -> None:
    """A run as a box with its tile's number, and the wait before it as a line from its cause."""
    colours = sheet.colours
    top = _TOP + _LANE * PIPES.index(run.pipe)
    left, wide = _LEFT + run.start * scale, max((run.end - run.start) * scale, 2.0)
    face = colours.ground
    if run.tile is not None:
        face = colours.passes_negative if run.tile % 2 else colours.passes
    sheet.box(
        (left, top, wide, _HIGH), face, colours.ground if run.tile is not None else colours.passes
    )
    ink = on(face, colours)
    words = ("constants", "λ, 0") if run.tile is None else (f"tile {run.tile}", str(run.tile))
    for word in words:
        if text_width(word, Size.SMALL) + 6 < wide:
            at = (left + wide / 2, top + _HIGH / 2 + 4)
            sheet.text(*at, word, ink, size=Size.SMALL, align="center")
            break
    if run.blocked:
        cause = PIPES.index(run.blocked[0])
        back = _is_back(run)
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
    rounds = (unit * 10**power for power in range(19) for unit in (1, 2, 5))
    step = next(unit for unit in rounds if end <= 8 * unit)
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


def _notes(drawn: tuple[Run, ...], timed: Schedule, tiling: Tiling, core: int) -> tuple[str, ...]:
    """What is not drawn, which wait is a surprise, what the colours say."""
    whole = _tiles(tiling, core)
    if not drawn:
        return (f"core {core} has no element: its pipes do nothing",)
    shown = 1 + max(run.tile or 0 for run in drawn)
    end = max(run.end for run in drawn)
    told = f"{grouped(end)} cycles (model)"
    first = f"the whole core: {told}"
    if whole > shown:
        more = whole - shown
        first = f"{told} to here; {grouped(more)} more tile{'' if more == 1 else 's'} of this core"
        scheduled = 1 + max(span.step.tile for span in timed.spans)
        first += " not drawn"
        if scheduled == whole:
            first += f", {grouped(timed.cycles)} cycles (model) in all"
    back = next((run for run in drawn if _is_back(run)), None)
    second = "no copy waits for a free piece"
    if back and back.blocked:
        depth = 2 if tiling.double_buffer else 1
        earlier = (back.tile or 0) - depth
        second = f"orange: {back.pipe} holds tile {back.tile} back until {back.blocked[0]} "
        second += f"is through with tile {earlier}, whose piece it needs"
    pieces = "the two blues: ping and pong" if tiling.double_buffer else "one piece per queue"
    last = [run for run in drawn if run.pipe == V and run.tile is not None][-1]
    steps = f"V: {', '.join(last.steps)}"
    return first, second, f"{pieces} · dashed: waits for its data · {steps}"


def _is_back(run: Run) -> bool:
    """Whether a pipe waited for a later one to give a piece back."""
    return run.blocked is not None and PIPES.index(run.blocked[0]) > PIPES.index(run.pipe)


def pipeline_alt_text(
    timed: Schedule, tiling: Tiling, *, core: int = 0, tiles: int = _TILES
) -> str:
    """The pipeline in words."""
    drawn = runs(timed, tiles)
    end = max((run.end for run in drawn), default=0)
    told = [f"What do the three pipes do when? {'; '.join(_state(timed, tiling, core))}."]
    for pipe in PIPES:
        its = [run for run in drawn if run.pipe == pipe]
        if its:
            spans = ", ".join(
                f"{'constants' if run.tile is None else f'tile {run.tile}'} "
                f"from {run.start} to {run.end}"
                for run in its
            )
            busy = percent(_busy(drawn, pipe), end)
            told.append(f"{pipe} {_DOES[pipe]} (model cycles): {spans}; busy {busy}.")
    notes = _notes(drawn, timed, tiling, core)
    steps = notes[-1].split(" · ")[-1]
    told.append(f"In short: {'; '.join((*notes[:2], steps)).replace('orange: ', '')}.")
    return plain(" ".join(told))
