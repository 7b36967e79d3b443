"""The cut over cores: how many elements each core gets, and how many lanes it computes for them."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure

from labkit.draw.numbers import percent
from labkit.draw.sheet import WIDTH, Sheet, chip_words, grouped, plain, text_width, tiling_words
from labkit.draw.theme import DRAWING, Palette, Size
from labkit.language import Text
from labkit.language import gettext as _
from labkit.op.tiling import FORWARD, Tiling

__all__ = ["Lanes", "Share", "all_lanes", "cores_alt_text", "cores_figure", "lanes_of", "shares"]

_LEFT, _WIDE = 20, WIDTH - 40
_BAR_TOP, _BAR = 128, 110
_LANES_TOP = 312
_MOST_BARS = 200
"""With more cores than this, a block stands for a run of them."""
QUESTION = Text("Who gets how much?")
_ALL = Text("all cores")


@dataclass(frozen=True)
class Share:
    """Neighbouring cores with the same number of elements; 0 for cores without work."""

    first: int
    count: int
    elements: int

    @property
    def name(self) -> Text:
        """Which cores these are, e.g. "cores 0 to 70"."""
        first, last = grouped(self.first), grouped(self.first + self.count - 1)
        if self.count == 1:
            return Text("core {number}", number=first)
        return Text("cores {first} to {last}", first=first, last=last)


@dataclass(frozen=True)
class Lanes:
    """Lanes of the comparison on one core: those of real elements, and all; `tiles` is how often.

    `computed` is None when the tile is no real one.
    """

    valid: int
    computed: int | None
    tiles: int


def shares(tiling: Tiling) -> tuple[Share, ...]:
    """The cores in runs: full shares, the last one if it is shorter, those without work."""
    used = tiling.block_dim if tiling.total_num else 0
    last = tiling.core_length(used - 1) if used else 0
    shorter = 1 if last < tiling.block_factor and used else 0
    runs = (
        Share(0, used - shorter, tiling.block_factor),
        Share(used - shorter, shorter, last),
        Share(used, tiling.cores - used, 0),
    )
    return tuple(run for run in runs if run.count > 0)


def lanes_of(tiling: Tiling, core: int) -> Lanes:
    """What a core compares, without walking its tiles.

    The backward kernel computes whole tiles; the forward kernel rounds what is
    left in the last tile up to 64 lanes.
    """
    valid, tile = tiling.core_length(core), tiling.ub_factor
    if tile <= 0:
        return Lanes(valid, None if valid else 0, 0)
    full, rest = divmod(valid, tile)
    last = min(-(-rest // 64) * 64, tile) if tiling.op == FORWARD else tile
    return Lanes(valid, full * tile + (last if rest else 0), full + bool(rest))


def all_lanes(tiling: Tiling) -> Lanes:
    """What all cores together compare."""
    every = [(run.count, lanes_of(tiling, run.first)) for run in shares(tiling)]
    known = all(lanes.computed is not None for count, lanes in every)
    return Lanes(
        tiling.total_num,
        sum(count * (lanes.computed or 0) for count, lanes in every) if known else None,
        sum(count * lanes.tiles for count, lanes in every),
    )


def cores_figure(tiling: Tiling, theme: str | Palette = "light") -> Figure:
    """Draw a bar per core, and under it the lanes that a core and all of them compute."""
    with DRAWING:
        rows = _lane_rows(tiling)
        sheet = Sheet(_LANES_TOP + 52 * len(rows) + 48, theme)
        colours = sheet.colours
        sheet.head(QUESTION, tiling_words(tiling), chip_words(tiling))
        _bars(sheet, tiling)
        what = "lanes computed, and those of them that are real elements" if rows else ""
        sheet.text(_LEFT, _LANES_TOP - 8, what, colours.ink, size=Size.HEAD, bold=True)
        most = max([lanes.computed or 1 for name, lanes in rows if name != _ALL], default=1)
        for number, (name, lanes) in enumerate(rows):
            scale = (lanes.computed or 1) if name == _ALL else most
            _lane_row(sheet, _LANES_TOP + 14 + 52 * number, name, lanes, scale)
        told = _waste_words(tiling)
        y = sheet.height - 22
        fine = colours.check if told.startswith("✓") else colours.muted
        colour = colours.edge if _wastes(tiling) else fine
        sheet.text(_LEFT, y, told, colour, room=WIDTH - 40)
        return sheet.figure


def _bars(sheet: Sheet, tiling: Tiling) -> None:
    """A bar per core (or a block per run), with the run's words under it."""
    colours = sheet.colours
    floor = _BAR_TOP + _BAR
    single = tiling.cores <= _MOST_BARS
    runs = shares(tiling)
    head = "elements per core" if single else "elements per core (a block is a run of cores)"
    sheet.text(_LEFT, _BAR_TOP - 16, head, colours.ink, size=Size.HEAD, bold=True)
    step = min(_WIDE / tiling.cores, 60.0)
    spare = _WIDE - 60 * len(runs)
    x = float(_LEFT)
    for run in runs:
        wide = step * run.count if single else 60 + spare * run.count / tiling.cores
        high = _BAR * run.elements / tiling.block_factor if run.elements else 10.0
        face = _face(tiling, run, colours)
        for number in range(run.count if single else 1):
            bar = step if single else wide
            gap = 2.0 if bar > 6 else 1.0
            box = (x + bar * number, floor - high, max(bar - gap, 1.0), high)
            sheet.box(box, colours.dead if not run.elements else face)
        x += wide
    x_end, x, y = x, float(_LEFT), floor + 22
    for run in runs:
        told = _share_words(run)
        ink = colours.dead_ink if not run.elements else _face(tiling, run, colours)
        sheet.text(x, y, told, ink, bold=True)
        x += text_width(told, Size.TEXT, bold=True) + 28
    sheet.line([(_LEFT, floor), (x_end, floor)], colours.line)


def _face(tiling: Tiling, run: Share, colours: Palette) -> str:
    shorter = run.elements < tiling.block_factor
    return colours.edge if shorter else colours.passes


def _share_words(run: Share) -> Text:
    if not run.elements:
        return Text("{cores}: no work", cores=run.name)
    if run.count > 1:
        return Text("{cores}: {n} each", cores=run.name, n=grouped(run.elements))
    return Text("{cores}: {n}", cores=run.name, n=grouped(run.elements))


def _lane_rows(tiling: Tiling) -> list[tuple[Text, Lanes]]:
    """A row per kind of core, and one for all of them."""
    rows = [(_each(run), lanes_of(tiling, run.first)) for run in shares(tiling) if run.elements]
    if tiling.block_dim > 1 and rows:
        rows.append((_ALL, all_lanes(tiling)))
    return rows


def _each(run: Share) -> Text:
    return Text("each of {cores}", cores=run.name) if run.count > 1 else run.name


def _lane_row(sheet: Sheet, y: float, name: str, lanes: Lanes, scale: int) -> None:
    """One bar: blue for real elements, orange for the lanes computed beside them."""
    colours = sheet.colours
    left, wide = _LEFT, 560
    sheet.text(left, y + 6, name, colours.muted, size=Size.SMALL, room=wide)
    top, high = y + 14, 16
    if lanes.computed is None:
        sheet.box((left, top, wide, high), colours.ground, colours.edge, dashed=True)
    else:
        blue = max(wide * lanes.valid / scale, 1.5)
        all_of_it = max(wide * lanes.computed / scale, blue)
        sheet.box((left, top, all_of_it, high), colours.ground, colours.edge)
        sheet.box((left, top, blue, high), colours.passes)
    x = left + wide + 16
    told, how = _lane_words(lanes)
    sheet.text(x, top + 13, told, colours.ink, bold=True, room=WIDTH - 20 - x)
    sheet.text(x, top - 5, how, colours.muted, size=Size.SMALL, room=WIDTH - 20 - x)


def _lane_words(lanes: Lanes) -> tuple[Text, Text]:
    valid = grouped(lanes.valid)
    if lanes.computed is None:
        return Text("{n} elements, no tile", n=valid), Text("the tile does not fit in UB")
    share, tiles = percent(lanes.valid, lanes.computed), grouped(lanes.tiles)
    how = Text("{share} real, in {tiles} tiles", share=share, tiles=tiles)
    if lanes.tiles == 1:
        how = Text("{share} real, in {tiles} tile", share=share, tiles=tiles)
    return Text("{valid} of {all}", valid=valid, all=grouped(lanes.computed)), how


def _wastes(tiling: Tiling) -> bool:
    lanes = all_lanes(tiling)
    return lanes.computed is None or lanes.computed >= 2 * max(1, lanes.valid)


def _waste_words(tiling: Tiling) -> Text:
    """What the lanes come to, in one line."""
    lanes = all_lanes(tiling)
    if not tiling.total_num:
        return Text("no element, no core, no lane")
    tile, share = grouped(tiling.ub_factor), grouped(tiling.block_factor)
    if lanes.computed is None or not tiling.fits:
        return Text("a tile of {n} elements does not fit: the kernel cannot run", n=tile)
    if lanes.computed == lanes.valid:
        return Text("✓ every lane computes a real element")
    if lanes.computed < 1.005 * lanes.valid:
        idle = grouped(lanes.computed - lanes.valid)
        return Text("✓ only {n} lanes compute nothing real", n=idle)
    told = Text(
        "{times} lanes are computed for each real element",
        times=f"{lanes.computed / lanes.valid:.3g}",
    )
    if tiling.op != FORWARD and tiling.ub_factor >= max(2 * tiling.block_factor, 256):
        return Text(
            "{told}: the tile is cut by the total ({tile}), not by the core's share ({share})",
            told=told,
            tile=tile,
            share=share,
        )
    return told


def cores_alt_text(tiling: Tiling) -> str:
    """The cut in words."""
    state = _("{work}; {chip}.").format(work=_(tiling_words(tiling)), chip=_(chip_words(tiling)))
    told = [_(QUESTION), state]
    for run in shares(tiling):
        words = _("{told}.").format(told=_(_share_words(run)))
        told.append(words[0].upper() + words[1:])
    for name, lanes in _lane_rows(tiling):
        much, how = _lane_words(lanes)
        words = _("Lanes of {cores}: {much}, {how}.")
        told.append(words.format(cores=_(name), much=_(much), how=_(how)))
    told.append(_("In all: {told}.").format(told=_(_waste_words(tiling)).lstrip("✓ ")))
    return plain(" ".join(told))
