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
from labkit.language import Text
from labkit.language import gettext as _
from labkit.op.program import MTE2, MTE3, PIPES, V
from labkit.op.schedule import Schedule, Span
from labkit.op.tiling import Tiling

__all__ = ["Run", "opening", "pipeline_alt_text", "pipeline_figure", "runs"]

_LEFT, _WIDE = 126, 780
_TOP, _LANE, _HIGH = 104, 72, 36
_TILES = 4
_HEIGHT = 406
QUESTION = Text("What do the three pipes do when?")
_DOES = {MTE2: Text("copies in"), V: Text("computes"), MTE3: Text("copies out")}


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
        sheet.head(QUESTION, *_state(timed, tiling, core))
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


def _state(timed: Schedule, tiling: Tiling, core: int) -> tuple[Text, Text]:
    tiles = _tiles(tiling, core)
    told = {
        "work": tiling_words(tiling),
        "core": core,
        "n": grouped(tiling.core_length(core)),
        "tiles": grouped(tiles),
        "tile": grouped(tiling.ub_factor),
    }
    share = Text("{work} · core {core}: {n} in {tiles} tiles of {tile}", **told)
    if tiles == 1:
        share = Text("{work} · core {core}: {n} in {tiles} tile of {tile}", **told)
    costs = timed.model
    model = Text(
        "model, cycles: a copy {start} + bytes / {rate_in} in, / {rate_out} out; "
        "a vector instruction {start_vector} + bytes / {rate}",
        start=costs.start_copy,
        rate_in=costs.copy_in_rate,
        rate_out=costs.copy_out_rate,
        start_vector=costs.start_vector,
        rate=costs.vector_rate,
    )
    return share, model


def _notes(drawn: tuple[Run, ...], timed: Schedule, tiling: Tiling, core: int) -> tuple[Text, ...]:
    """What is not drawn, which wait is a surprise, what the colours say.

    What is to be told without colours, too, is the value `short` of a note.
    """
    if not drawn:
        return (Text("core {core} has no element: its pipes do nothing", core=core),)
    second = Text("no copy waits for a free piece")
    back = next((run for run in drawn if _is_back(run)), None)
    if back and back.blocked:
        wait = Text(
            "{pipe} holds tile {tile} back until {later} is through with tile {earlier}, "
            "whose piece it needs",
            pipe=back.pipe,
            tile=back.tile,
            later=back.blocked[0],
            earlier=(back.tile or 0) - (2 if tiling.double_buffer else 1),
        )
        second = Text("orange: {short}", short=wait)
    pieces = Text("one piece per queue")
    if tiling.double_buffer:
        pieces = Text("the two blues: ping and pong")
    last = [run for run in drawn if run.pipe == V and run.tile is not None][-1]
    steps = f"V: {', '.join(last.steps)}"
    third = Text("{pieces} · dashed: waits for its data · {short}", pieces=pieces, short=steps)
    return _extent(drawn, timed, tiling, core), second, third


def _extent(drawn: tuple[Run, ...], timed: Schedule, tiling: Tiling, core: int) -> Text:
    """How long it takes, and what of it is not drawn."""
    cycles = grouped(max(run.end for run in drawn))
    whole = _tiles(tiling, core)
    more = whole - 1 - max(run.tile or 0 for run in drawn)
    if more <= 0:
        return Text("the whole core: {cycles} cycles (model)", cycles=cycles)
    told = Text(
        "{cycles} cycles (model) to here; {n} more tiles of this core not drawn",
        cycles=cycles,
        n=grouped(more),
    )
    if more == 1:
        told = Text(
            "{cycles} cycles (model) to here; 1 more tile of this core not drawn", cycles=cycles
        )
    if 1 + max(span.step.tile for span in timed.spans) < whole:
        return told
    return Text("{told}, {cycles} cycles (model) in all", told=told, cycles=grouped(timed.cycles))


def _is_back(run: Run) -> bool:
    """Whether a pipe waited for a later one to give a piece back."""
    return run.blocked is not None and PIPES.index(run.blocked[0]) > PIPES.index(run.pipe)


def pipeline_alt_text(
    timed: Schedule, tiling: Tiling, *, core: int = 0, tiles: int = _TILES
) -> str:
    """The pipeline in words."""
    drawn = runs(timed, tiles)
    end = max((run.end for run in drawn), default=0)
    share, model = _state(timed, tiling, core)
    told = [_(QUESTION), _("{share}; {model}.").format(share=_(share), model=_(model))]
    for pipe in PIPES:
        spans = _(", ").join(_span_told(run) for run in drawn if run.pipe == pipe)
        if spans:
            words = _("{pipe} {does} (model cycles): {spans}; busy {share}.")
            busy = percent(_busy(drawn, pipe), end)
            told.append(words.format(pipe=pipe, does=_(_DOES[pipe]), spans=spans, share=busy))
    notes = _notes(drawn, timed, tiling, core)
    short = [_(note.values.get("short", note)) for note in (*notes[:2], notes[-1])]
    told.append(_("In short: {told}.").format(told=_("; ").join(short)))
    return plain(" ".join(told))


def _span_told(run: Run) -> str:
    words = _("tile {tile} from {start} to {end}")
    if run.tile is None:
        words = _("constants from {start} to {end}")
    return words.format(tile=run.tile, start=run.start, end=run.end)
