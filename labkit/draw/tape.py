"""The storage as a tape: numbered cells in memory order, and which of them a view reads.

Above the tape stands the view, element after element in the order in which a
kernel takes them; a line leads from each to the cell that it reads. Parallel
lines are a contiguous view, crossing ones a transposition, a fan a broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from labkit.draw.sheet import WIDTH, Sheet, text_width
from labkit.draw.stamp import Lettering
from labkit.draw.theme import DRAWING, Palette, Size
from labkit.language import gettext as _
from labkit.op.describe import TensorDesc

__all__ = ["TAPE_HEIGHT", "Tape", "draw_tape", "places", "tape_alt_text", "tape_figure", "window"]

TAPE_HEIGHT = 108
"""Pixels that one tape takes, its two lines of words included."""

MOST = 32
"""Cells drawn in a row; what is behind them is an ellipsis."""

_LEFT, _HIGH, _FAN = 84, 18, 24
_QUESTION = "Which memory does each element read?"


@dataclass(frozen=True)
class Tape:
    """One tensor on a tape.

    `expression` is how NumPy would make the view, `outcome` what it costs, in
    few words, and `mood` the palette's colour for that.
    """

    name: str
    desc: TensorDesc
    expression: str = ""
    outcome: str = ""
    mood: str = "muted"


def places(desc: TensorDesc, most: int = MOST) -> tuple[int, ...]:
    """The storage index that each view element reads, in row-major order, of the first `most`.

    >>> places(TensorDesc("float32", (2, 3), (1, 2), 0, (3, 2)))
    (0, 2, 4, 1, 3, 5)
    """
    found = []
    for number in range(min(most, desc.size)):
        place = desc.offset
        for size, stride in zip(reversed(desc.shape), reversed(desc.strides)):
            number, along = divmod(number, size)
            place += along * stride
        found.append(place)
    return tuple(found)


def window(desc: TensorDesc) -> tuple[int, int]:
    """First and last storage index to draw, at most `MOST` cells, the view's first among them."""
    if desc.is_empty:
        return 0, min(desc.storage_size, MOST) - 1
    low, high = desc.reach
    first, last = min(0, low), max(desc.storage_size - 1, high)
    if last - first < MOST:
        return first, last
    start = places(desc, 1)[0]
    if start - first >= MOST - 4:
        first = start - 2 if start <= last - MOST + 3 else last - MOST + 1
    return first, first + MOST - 1


def numbers(desc: TensorDesc) -> str:
    """The four numbers of a view, as one line."""
    parts = {
        "view shape": list(desc.shape),
        "strides": list(desc.strides),
        "offset": desc.offset,
        "storage shape": list(desc.storage_shape),
    }
    return " · ".join(f"{name} {value}" for name, value in parts.items()).replace("-", "−")


# -- drawing -------------------------------------------------------------------


def tape_figure(desc: TensorDesc, expression: str = "", theme: str | Palette = "light") -> Figure:
    """Draw one tensor on its tape."""
    with DRAWING:
        sheet = Sheet(60 + TAPE_HEIGHT, theme)
        sheet.head(_QUESTION)
        draw_tape(sheet, Tape(expression or "x", desc), 66)
        return sheet.figure


def draw_tape(sheet: Sheet, tape: Tape, top: float) -> None:
    """Draw a tape with its words; `top` is where its first line of text begins."""
    colours = sheet.colours
    ends = text_width(tape.outcome, bold=True)
    room = WIDTH - 60 - ends
    wide = sheet.text(20, top + 10, tape.name, colours.ink, size=Size.HEAD, bold=True, room=room)
    mood = getattr(colours, tape.mood)
    sheet.text(WIDTH - 20, top + 10, tape.outcome, mood, bold=True, align="right")
    if tape.expression:
        room = WIDTH - 80 - wide - ends
        sheet.text(30 + wide, top + 10, f"= {tape.expression}", colours.muted, room=room)
    told = numbers(tape.desc)
    sheet.text(20, top + 27, told, colours.muted, size=Size.SMALL, room=WIDTH - 40)
    _Rows(sheet, tape.desc, top + 36).draw()


class _Rows:
    """The view row, the storage row, and the lines between them."""

    def __init__(self, sheet: Sheet, desc: TensorDesc, top: float) -> None:
        self.sheet, self.desc = sheet, desc
        self.tops = (top, top + _HIGH + _FAN)
        self.reads = places(desc)
        self.first, self.last = window(desc)
        view = _breaks(0, len(self.reads), desc.shape)
        storage = _breaks(self.first, self.last - self.first + 1, desc.storage_shape)
        self.left = _LEFT + (20 if self.first > 0 else 0)  # room for an ellipsis
        room = WIDTH - 40 - self.left  # and for one behind the cells
        cells = max(len(view), len(storage), 1)
        gaps = max([0, *view, *storage])
        self.gap = 5.0 if gaps * 5 < room / 3 else 0.0
        self.cell = min(28.0, (room - self.gap * gaps) / cells)
        self.view = [self.left + n * self.cell + g * self.gap for n, g in enumerate(view)]
        self.cells = [self.left + n * self.cell + g * self.gap for n, g in enumerate(storage)]

    def draw(self) -> None:
        colours, desc = self.sheet.colours, self.desc
        for row, word in enumerate(("view", "storage")):
            at = self.tops[row] + 13
            self.sheet.text(20, at, word, colours.muted, size=Size.SMALL)
        self._lines()
        read = set(places(desc, 4096))
        self._boxes(self.view, self.tops[0], [(colours.ground, colours.passes)] * len(self.view))
        paints = []
        for place in range(self.first, self.last + 1):
            if not 0 <= place < desc.storage_size:
                paints.append((colours.ground, colours.edge))
            elif place in read:
                paints.append((colours.passes, colours.ground))
            else:
                paints.append((colours.dead, colours.ground))
        self._boxes(self.cells, self.tops[1], paints)
        self._numbers(self.view, self.tops[0], 0, [colours.ink] * len(self.view))
        inks = {colours.ground: colours.edge, colours.passes: colours.ground}
        told = [inks.get(face, colours.dead_ink) for face, _ in paints]
        self._numbers(self.cells, self.tops[1], self.first, told)
        if desc.is_empty:
            word = "no element, so nothing is read"
            self.sheet.text(_LEFT, self.tops[0] + 13, word, colours.dead_ink, size=Size.SMALL)
        more = [(self.view, self.tops[0], desc.size > len(self.reads))]
        more.append((self.cells, self.tops[1], self.last + 1 < desc.storage_size))
        for cells, top, goes_on in more:
            if goes_on and cells:
                x = cells[-1] + self.cell + 5
                self.sheet.text(x, top + 13, "…", colours.muted)
        if self.first > 0:
            self.sheet.text(_LEFT, self.tops[1] + 13, "…", colours.muted)

    def _lines(self) -> None:
        """From the view's cells to those that they read; those not drawn lie at the ends."""
        colours, desc = self.sheet.colours, self.desc
        half = self.cell / 2
        lines, inks = [], []
        ends: set[bool] = set()
        for x, place in zip(self.view, self.reads):
            if not self.first <= place <= self.last:
                end = place > self.last
                if end in ends:
                    continue  # one line for all that goes there
                ends.add(end)
                to = self.cells[-1] + self.cell + 10 if end else self.left - 14.0
            else:
                to = self.cells[place - self.first] + half
            lines.append([self._at(x + half, self.tops[0] + _HIGH), self._at(to, self.tops[1])])
            inside = 0 <= place < desc.storage_size
            inks.append(colours.passes_negative if inside else colours.edge)
        self._add(LineCollection(lines, colors=inks, linewidths=1.3, zorder=1.2))

    def _boxes(self, cells: list[float], top: float, paints: list[tuple[str, str]]) -> None:
        wide = self.cell - 2
        corners = [
            [self._at(x + 1 + dx * wide, top + dy * _HIGH) for dx, dy in _CORNERS] for x in cells
        ]
        faces, edges = [face for face, _ in paints], [edge for _, edge in paints]
        self._add(
            PolyCollection(corners, facecolors=faces, edgecolors=edges, linewidths=1.0, zorder=1.5)
        )

    def _numbers(self, cells: list[float], top: float, first: int, inks: Sequence[str]) -> None:
        for number, (x, ink) in enumerate(zip(cells, inks), first):
            text = str(number).replace("-", "−")
            if text_width(text, Size.NAMES) > self.cell - 3:
                continue  # every other cell then still has its place by its neighbours
            at = (x + self.cell / 2, top + 13)
            letters = Lettering(*at, text, ink, size=Size.NAMES, align="center")
            self.sheet.figure.add_artist(letters)

    def _at(self, x: float, y: float) -> tuple[float, float]:
        return x / WIDTH, 1 - y / self.sheet.height

    def _add(self, collection: LineCollection | PolyCollection) -> None:
        collection.set_transform(self.sheet.figure.transFigure)
        collection.set_antialiased(True)
        self.sheet.figure.add_artist(collection)


_CORNERS = ((0, 0), (1, 0), (1, 1), (0, 1))


def _breaks(first: int, count: int, shape: tuple[int, ...]) -> list[int]:
    """For each cell, how many rows of the shape have ended before it."""
    row = shape[-1] if len(shape) > 1 else 0
    if row < 2:
        return [0] * count
    return [(number // row) - (first // row) for number in range(first, first + count)]


# -- words ---------------------------------------------------------------------


def tape_alt_text(desc: TensorDesc, name: str = "x") -> str:
    """The tape in words."""
    return " ".join([_("Which memory does each element read?"), tape_words(name, desc)])


def tape_words(name: str, desc: TensorDesc, *, written: bool = False) -> str:
    """One tensor in a sentence or two: its four numbers, and the order of its elements."""
    told = _("{name}: {numbers}.").format(name=name, numbers=numbers(desc))
    if desc.is_empty:
        return told + " " + _("It has no elements.")
    read = places(desc, 12)
    order = ", ".join(map(str, read)).replace("-", "−")
    more = desc.size - len(read)
    order += _(" and {n} more").format(n=more) if more else ""
    sentence = _("Read in order: storage elements {order}.")
    if written:
        sentence = _("Written in order: storage elements {order}.")
    told += " " + sentence.format(order=order)
    if not desc.fits_storage:
        told += " " + _("The view leaves its storage of {n} elements.").format(n=desc.storage_size)
    return told
