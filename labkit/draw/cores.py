"""The cut over cores: how many elements each core gets, and how many lanes it computes for them."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure

from labkit.draw.numbers import percent
from labkit.draw.sheet import WIDTH, Sheet, chip_words, grouped, plain, text_width, tiling_words
from labkit.draw.theme import DRAWING, Palette, Size
from labkit.op.tiling import FORWARD, Tiling

__all__ = ["Lanes", "Share", "cores_alt_text", "cores_figure", "lanes_of", "shares"]

_LEFT, _WIDE = 20, WIDTH - 40
_BAR_TOP, _BAR = 128, 110
_LANES_TOP = 312
_MOST_BARS = 200
"""With more cores than this, a block stands for a run of them."""
_ALL = "all cores"


@dataclass(frozen=True)
class Share:
    """Neighbouring cores with the same number of elements; 0 for cores without work."""

    first: int
    count: int
    elements: int

    @property
    def name(self) -> str:
        """Which cores these are, e.g. "cores 0 to 70"."""
        if self.count == 1:
            return f"core {grouped(self.first)}"
        return f"cores {grouped(self.first)} to {grouped(self.first + self.count - 1)}"


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


def _all_lanes(tiling: Tiling) -> Lanes:
    every = [(run.count, lanes_of(tiling, run.first)) for run in shares(tiling)]
    known = all(lanes.computed is not None for _, lanes in every)
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
        sheet.head("Who gets how much?", tiling_words(tiling), chip_words(tiling))
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


def _share_words(run: Share) -> str:
    if not run.elements:
        return f"{run.name}: no work"
    each = " each" if run.count > 1 else ""
    return f"{run.name}: {grouped(run.elements)}{each}"


def _lane_rows(tiling: Tiling) -> list[tuple[str, Lanes]]:
    """A row per kind of core, and one for all of them."""
    rows = [
        (f"each of {run.name}" if run.count > 1 else run.name, lanes_of(tiling, run.first))
        for run in shares(tiling)
        if run.elements
    ]
    if tiling.block_dim > 1 and rows:
        rows.append((_ALL, _all_lanes(tiling)))
    return rows


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


def _lane_words(lanes: Lanes) -> tuple[str, str]:
    if lanes.computed is None:
        return f"{grouped(lanes.valid)} elements, no tile", "the tile does not fit in UB"
    share = percent(lanes.valid, lanes.computed)
    tiles = f"{grouped(lanes.tiles)} tile" + ("" if lanes.tiles == 1 else "s")
    return f"{grouped(lanes.valid)} of {grouped(lanes.computed)}", f"{share} real, in {tiles}"


def _wastes(tiling: Tiling) -> bool:
    lanes = _all_lanes(tiling)
    return lanes.computed is None or lanes.computed >= 2 * max(1, lanes.valid)


def _waste_words(tiling: Tiling) -> str:
    """What the lanes come to, in one line."""
    lanes = _all_lanes(tiling)
    if not tiling.total_num:
        return "no element, no core, no lane"
    if lanes.computed is None or not tiling.fits:
        return f"a tile of {grouped(tiling.ub_factor)} elements does not fit: the kernel cannot run"
    if lanes.computed == lanes.valid:
        return "✓ every lane computes a real element"
    if lanes.computed < 1.005 * lanes.valid:
        return f"✓ only {grouped(lanes.computed - lanes.valid)} lanes compute nothing real"
    times = lanes.computed / lanes.valid
    why = ""
    if tiling.op != FORWARD and tiling.ub_factor >= max(2 * tiling.block_factor, 256):
        tile, share = grouped(tiling.ub_factor), grouped(tiling.block_factor)
        why = f": the tile is cut by the total ({tile}), not by the core's share ({share})"
    return f"{times:.3g} lanes are computed for each real element{why}"


def cores_alt_text(tiling: Tiling) -> str:
    """The cut in words."""
    told = [f"Who gets how much? {tiling_words(tiling)}; {chip_words(tiling)}."]
    told += [f"{_share_words(run).replace('core', 'Core', 1)}." for run in shares(tiling)]
    for name, lanes in _lane_rows(tiling):
        told.append(f"Lanes of {name}: {', '.join(_lane_words(lanes))}.")
    told.append(f"In all: {_waste_words(tiling).lstrip('✓ ')}.")
    return plain(" ".join(told))
