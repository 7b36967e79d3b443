"""The operator's measured speed over a peer's, size by size: a curve for each dtype."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log2

from matplotlib.figure import Figure

from labkit.draw.numbers import short_dtype
from labkit.draw.sheet import WIDTH, Sheet
from labkit.draw.theme import DRAWING, Palette, Size
from labkit.errors import LabValueError

__all__ = ["DTYPES", "SpeedPoint", "SpeedView", "speed_alt_text", "speed_figure"]

DTYPES = ("float32", "float16", "bfloat16")
_KINDS = {
    "arithmetic": "the arithmetic alone",
    "device": "through the software NPU: phase 1, phase 2, wait",
}
_HEIGHT, _TOP, _HIGH = 470, 118, 270
_BOXES = {"arithmetic": (76, _TOP, 370, _HIGH), "device": (530, _TOP, 370, _HIGH)}
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class SpeedPoint:
    """One measured point.

    `kind` is "arithmetic" or "device"; `mine` and `theirs` are the medians of
    the two sides in seconds, `ratios` theirs over mine in each round.
    """

    kind: str
    dtype: str
    elements: int
    mine: float
    theirs: float
    ratios: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """How many times the peer's speed: the median of the rounds."""
        return statistics.median(self.ratios)

    @property
    def size(self) -> str:
        """The number of elements, in Ki or Mi where it is whole."""
        return size_text(self.elements)


@dataclass(frozen=True)
class SpeedView:
    """A whole curve: its points, the peer, and on what the lab's side ran.

    `road` is "numba" or "NumPy", `needed` the ratio to reach at each size.
    """

    points: tuple[SpeedPoint, ...]
    peer: str
    road: str
    cores: int
    needed: tuple[tuple[int, float], ...]

    def of(self, kind: str, dtype: str) -> tuple[SpeedPoint, ...]:
        """The points of one line, by size."""
        found = (point for point in self.points if (point.kind, point.dtype) == (kind, dtype))
        return tuple(sorted(found, key=lambda point: point.elements))

    @property
    def state(self) -> str:
        """On what it was measured, in a line."""
        cores = f"{self.cores} core{'' if self.cores == 1 else 's'}"
        return f"measured on this machine, {cores} · the lab with {self.road} · medians"

    @property
    def question(self) -> str:
        """The title."""
        return f"How many times as fast as {self.peer}?"


def size_text(elements: int) -> str:
    """A number of elements as it is said: 64 Ki, 4 Mi.

    >>> size_text(65536), size_text(4 << 20), size_text(1000)
    ('64 Ki', '4 Mi', '1000')
    """
    for power, unit in ((20, "Mi"), (10, "Ki")):
        if elements >= 1 << power and elements % (1 << power) == 0:
            return f"{elements >> power} {unit}"
    return str(elements)


def speed_figure(view: SpeedView, theme: str | Palette = "light") -> Figure:
    """Draw a curve; raises `LabValueError` when there is no point to draw."""
    if not view.points:
        raise LabValueError("there is no point to draw; right would be one measured size or more")
    with DRAWING:
        sheet = Sheet(_HEIGHT, theme)
        sheet.head(view.question, view.state)
        for kind, box in _BOXES.items():
            _Plot(sheet, box, view, kind).draw()
        _legend(sheet)
        return sheet.figure


class _Plot:
    """One of the two plots: sizes across, ratios up, both logarithmic."""

    def __init__(self, sheet: Sheet, box: Box, view: SpeedView, kind: str) -> None:
        self.sheet, self.box, self.view, self.kind = sheet, box, view, kind
        sizes = [log2(point.elements) for point in view.points]
        self.across = (min(sizes) - 0.5, max(sizes) + 0.5)
        ratios = [log2(point.ratio) for point in view.points if point.kind == kind]
        self.up = (min(-2, floor(min(ratios, default=0))), max(2, ceil(max(ratios, default=0))))

    def at(self, elements: int, ratio: float) -> tuple[float, float]:
        """The place of a point on the sheet."""
        left, top, wide, high = self.box
        x = (log2(elements) - self.across[0]) / (self.across[1] - self.across[0])
        y = (log2(ratio) - self.up[0]) / (self.up[1] - self.up[0])
        return left + wide * x, top + high * (1 - y)

    def draw(self) -> None:
        left, top, _, _ = self.box
        colours = self.sheet.colours
        self.sheet.text(left - 46, top - 18, _KINDS[self.kind], colours.ink, bold=True)
        self._axes()
        for dtype, ink in _inks(colours).items():
            line = [self.at(p.elements, p.ratio) for p in self.view.of(self.kind, dtype)]
            if len(line) > 1:
                self.sheet.line(line, ink, 2.2)
            for place in line:
                _mark(self.sheet, place, dtype, ink)

    def _axes(self) -> None:
        left, top, wide, high = self.box
        sheet, colours = self.sheet, self.sheet.colours
        step = ceil((self.up[1] - self.up[0]) / 6)
        for level in range(self.up[0], self.up[1] + 1, step):
            y = self.at(1, 2.0**level)[1]
            sheet.line([(left, y), (left + wide, y)], colours.dead)
            sheet.text(
                left - 8, y + 4, _times(level), colours.muted, size=Size.SMALL, align="right"
            )
        sheet.line([(left, top), (left, top + high), (left + wide, top + high)], colours.line)
        for elements in sorted({point.elements for point in self.view.points}):
            x = self.at(elements, 1)[0]
            sheet.line([(x, top + high), (x, top + high + 5)], colours.line)
            words = size_text(elements)
            sheet.text(x, top + high + 19, words, colours.muted, size=Size.SMALL, align="center")
        if self.kind == "arithmetic" and self.view.peer.startswith("PyTorch"):
            self._needed()
        else:
            y = self.at(1, 1)[1]
            sheet.line([(left, y), (left + wide, y)], colours.edge, 1.4, dashed=True)
            sheet.text(left + 6, y - 6, "as fast", colours.edge, size=Size.SMALL)

    def _needed(self) -> None:
        """The ratio to reach: a dashed line in steps."""
        sheet, ink = self.sheet, self.sheet.colours.edge
        left, _, wide, _ = self.box
        line: list[tuple[float, float]] = []
        for size, ratio in self.view.needed:
            x, y = self.at(size, ratio)
            if line and line[-1][1] != y:
                middle = (line[-1][0] + x) / 2
                line += [(middle, line[-1][1]), (middle, y)]
            line.append((x, y))
        line = [(left, line[0][1]), *line, (left + wide, line[-1][1])]
        sheet.line(line, ink, 1.4, dashed=True)
        y = line[-1][1] + 14
        sheet.text(left + wide, y, "to reach", ink, size=Size.SMALL, align="right")


def _inks(colours: Palette) -> dict[str, str]:
    return dict(zip(DTYPES, (colours.passes, colours.check, colours.passes_negative)))


def _mark(sheet: Sheet, place: tuple[float, float], dtype: str, ink: str) -> None:
    """A square, a cross or a bar: the dtypes stay apart without their colours."""
    x, y = place
    if dtype == "float32":
        sheet.box((x - 4, y - 4, 8, 8), ink, sheet.colours.ground)
    elif dtype == "float16":
        for slope in (1, -1):
            sheet.line([(x - 4, y - 4 * slope), (x + 4, y + 4 * slope)], ink, 2.2)
    else:
        sheet.box((x - 2, y - 6, 4, 12), ink, sheet.colours.ground)


def _legend(sheet: Sheet) -> None:
    x, y = 76.0, _HEIGHT - 26.0
    for dtype, ink in _inks(sheet.colours).items():
        sheet.line([(x, y - 4), (x + 28, y - 4)], ink, 2.2)
        _mark(sheet, (x + 14, y - 4), dtype, ink)
        x += 36 + sheet.text(x + 36, y, short_dtype(dtype), sheet.colours.ink) + 28
    words = "elements (log) · times the peer's speed (log)"
    sheet.text(WIDTH - 40, y, words, sheet.colours.muted, size=Size.SMALL, align="right")


def _times(level: int) -> str:
    return f"{2**level}×" if level >= 0 else f"1/{2**-level}"


def speed_alt_text(view: SpeedView) -> str:
    """The curve in words: each line's ratio at every size."""
    told = [view.question, f"{view.state[0].upper()}{view.state[1:]}."]
    for kind, name in _KINDS.items():
        for dtype in DTYPES:
            if line := view.of(kind, dtype):
                told.append(f"{dtype}, {name}: {_told(line)}.")
    return " ".join(told)


def _told(line: Sequence[SpeedPoint]) -> str:
    return ", ".join(f"{point.ratio:.2f} at {point.size}" for point in line)
