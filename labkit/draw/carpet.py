"""The carpet: all 65,536 patterns of a 16-bit dtype as 256 rows of 256, and what became of each.

A row is the high byte (sign, exponent, first bits of the fraction), a column
the low byte; the positive half lies above the negative one. Numbers grow along
the rows and downwards, so everything dead is one block in each half, and what
differs between operators lies at its edge, where a lens enlarges it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from labkit.draw.bits_view import BOTH, FORWARD, agreement, lambda_way, pairing_line, remarks
from labkit.draw.carpet_view import QUESTION, SIGN, CarpetView, fate, landmarks, odd_number
from labkit.draw.kept_figure import KeptFigure
from labkit.draw.numbers import number_text, short_dtype
from labkit.draw.sheet import grouped
from labkit.draw.stamp import Stamp
from labkit.draw.theme import DRAWING, Palette, Size

__all__ = ["HEIGHT", "WIDTH", "CarpetPicture", "carpet_figure"]

WIDTH, HEIGHT = 940, 650
"""Pixels of the picture."""

_LEFT, _TOP, _SCALE = 128, 98, 2
_SIDE = 256 * _SCALE
_RIGHT = 668
_LENS = 9, 20  # numbers across, pixels each
_DEAD, _POSITIVE, _NEGATIVE, _NAN, _ODD = range(5)


def carpet_figure(view: CarpetView, theme: str | Palette = "light") -> Figure:
    """Draw one state into a figure of its own."""
    with DRAWING:
        picture = CarpetPicture(theme)
        return picture.whole(lambda: picture.fill(view))


class CarpetPicture(KeptFigure):
    """The carpet for many states in turn: `update`, then `png`."""

    def __init__(self, theme: str | Palette = "light") -> None:
        super().__init__((WIDTH, HEIGHT), theme)
        c = self.colours
        small: dict[str, Any] = {"size": Size.SMALL}
        self.stay(20, 36, QUESTION, c.ink, size=Size.TITLE, bold=True)
        self.box((_LEFT - 1, _TOP - 1, _SIDE + 2, _SIDE + 2), c.ground, c.line)
        self.stay(_LEFT, 630, "low byte 00", c.muted, **small)
        self.stay(_LEFT + _SIDE, 630, "ff", c.muted, align="right", **small)
        self.stay(_RIGHT, 112, "patterns", c.ink, size=Size.HEAD, bold=True)
        self.state = [self.letters(20, 60, c.muted), self.letters(20, 78, c.muted)]
        self.carpet = self.add(Stamp(_LEFT, _TOP))
        self.leaders = self.add(Stamp(_LEFT - 34, _TOP))
        self.marks = [
            self.letters(_LEFT - 38, 0, c.muted, align="right", **small) for _ in range(10)
        ]
        self.keys = [self.add(Stamp(_RIGHT, 126 + 26 * row)) for row in range(6)]
        self.counts = [
            self.letters(_RIGHT + 88, 137 + 26 * row, bold=True, align="right") for row in range(6)
        ]
        self.words = [self.letters(_RIGHT + 98, 137 + 26 * row, c.muted) for row in range(6)]
        self.rings = [self.add(Stamp(0, 0)) for _ in range(2)]
        across, cell = _LENS
        self.lens_head = self.letters(_RIGHT, 312, c.ink, size=Size.HEAD, bold=True)
        self.lens = self.add(Stamp(_RIGHT, 324))
        right = _RIGHT + cell * across + 6
        self.lens_marks = [self.letters(_RIGHT, 0, c.muted, **small) for _ in range(4)]
        self.arrow = self.letters(right, 0, c.edge, **small)
        self.notes = [self.letters(_RIGHT, 440 + 17 * row, c.edge, **small) for row in range(8)]
        self.check = [self.letters(_RIGHT, 589 + 17 * row, c.check, **small) for row in range(2)]

    def update(self, view: CarpetView) -> None:
        """Show another state; only what changes is drawn."""
        self.show(lambda: self.fill(view))

    # -- a state into the parts ----------------------------------------------------

    def fill(self, view: CarpetView) -> None:
        """Put a state into the parts without drawing them."""
        asked = view.asked
        self.state[0].write(f"{pairing_line(asked)} · {asked.device}")
        self.state[1].write(lambda_way(asked))
        codes = _codes(view)
        table = _table(self.colours)
        pixels = table[codes].reshape(256, 256, 4)
        large = np.repeat(np.repeat(pixels, _SCALE, axis=0), _SCALE, axis=1)
        _stripe(
            large, np.repeat(np.repeat(codes.reshape(256, 256), _SCALE, 0), _SCALE, 1), self.colours
        )
        self.carpet.pixels = large
        self._fill_marks(view)
        self._fill_counts(view, table)
        self._fill_lens(view, codes, table)
        lines = [
            line for note in remarks(asked, odd_number(view)) for line in _broken(f"· {note}", 36)
        ]
        for letters, line in zip(self.notes, [*lines, *[""] * len(self.notes)]):
            letters.write(line)
        right = asked.agreeing == asked.total
        told = _broken(f"{'✓' if right else '✗'} {agreement(asked)}", 34)
        for letters, line in zip(self.check, [*told, ""]):
            letters.write(line, self.colours.check if right else self.colours.edge)

    def _fill_marks(self, view: CarpetView) -> None:
        marks = landmarks(view)
        places = _spread([_row(pattern) * _SCALE + 1 for pattern, _, _ in marks])
        leaders = np.zeros((_SIDE, 32, 4), np.uint8)
        for letters, (pattern, words, loud), y in zip(self.marks, marks, places):
            colour = self.colours.edge if loud else self.colours.muted
            letters.place = (letters.place[0], _TOP + y + 4)
            letters.write(words, colour)
            _leader(leaders, y, _row(pattern) * _SCALE + 1, colour)
        for letters in self.marks[len(marks) :]:
            letters.write("")
        self.leaders.pixels = leaders

    def _fill_counts(self, view: CarpetView, table: npt.NDArray[np.uint8]) -> None:
        rows = _count_rows(view)
        for key, count, words, row in zip(
            self.keys, self.counts, self.words, [*rows, *[None] * len(self.keys)]
        ):
            if row is None:
                key.pixels = None
                count.write("")
                words.write("")
                continue
            code, number, told = row
            swatch = np.full((12, 12), code, np.uint8)
            pixels = table[swatch].copy()
            _stripe(pixels, swatch, self.colours)
            key.pixels = pixels
            loud = code == _ODD and number
            count.write(grouped(number), self.colours.edge if loud else self.colours.ink)
            words.write(told, self.colours.edge if loud else self.colours.muted)

    def _fill_lens(
        self, view: CarpetView, codes: npt.NDArray[np.uint8], table: npt.NDArray[np.uint8]
    ) -> None:
        across, cell = _LENS
        odd = view.odd
        middle = int(odd[0]) if odd.size else view.edge()
        for ring in self.rings:
            ring.pixels = None
        for letters in (*self.lens_marks, self.arrow, self.lens_head):
            letters.write("")
        self.lens.pixels = None
        if middle < 0:
            return
        start = min(max(middle - across // 2, 0), SIGN - across)
        wide = np.repeat(np.repeat(codes[start : start + across], cell)[None], cell + 4, axis=0)
        pixels = table[wide].copy()
        _stripe(pixels, wide, self.colours)
        pixels[:, cell - 1 :: cell] = table[-1]
        self.lens.pixels = pixels
        self.lens_head.write("the edge at +λ, enlarged")
        place = _RIGHT + cell * (middle - start) + cell // 2
        told = f"{middle:04x} = {number_text(view.number(middle))}"
        for letters, words, y in (
            (self.lens_marks[0], "▲", 364),
            (self.lens_marks[1], told, 382),
            (self.lens_marks[2], fate(view, middle), 400),
        ):
            letters.place = (place - 6 if words == "▲" else _RIGHT, y)
            letters.write(words, self.colours.edge)
        for ring, pattern in zip(self.rings, (middle, middle | SIGN)):
            x, y = pattern % 256 * _SCALE + 1, _row(pattern) * _SCALE + 1
            ring.pixels = _ring(self.colours.edge)
            ring.place = (_LEFT + x - 8, _TOP + y - 8)


# -- what is told beside the carpet ------------------------------------------------


def _count_rows(view: CarpetView) -> list[tuple[int, int, str]]:
    counts, asked = view.counts(), view.asked
    nan = view.is_nan
    above = int(np.count_nonzero((view.alive & ~nan)[:SIGN]))
    rows = [
        (_POSITIVE, above, "pass, x > λ"),
        (_NEGATIVE, counts.passes - above, "pass, x < −λ"),
        (_NAN, counts.nan, "pass, nan"),
        (_DEAD, counts.dead, "get 0"),
    ]
    if asked.operator == BOTH:
        rows.append((_ODD, counts.parted, "forward differs"))
    if asked.operator != FORWARD:
        other = short_dtype(asked.other_dtype)
        rows.append((_ODD, counts.flipped, f"grad {other} differs"))
    return rows


def _spread(wanted: list[int], room: int = 17) -> list[int]:
    """Places in order, at least `room` apart and inside the carpet, near to what was wanted."""
    places = list(wanted)
    for n in range(1, len(places)):
        places[n] = max(places[n], places[n - 1] + room)
    end = _SIDE - 4
    for n in range(len(places) - 1, -1, -1):
        places[n] = min(places[n], end)
        end = places[n] - room
    return places


# -- pixels ----------------------------------------------------------------------------


def _row(pattern: int) -> int:
    return pattern >> 8


def _codes(view: CarpetView) -> npt.NDArray[np.uint8]:
    codes: npt.NDArray[np.uint8] = np.where(view.alive, np.uint8(_POSITIVE), np.uint8(_DEAD))
    codes[SIGN:][view.alive[SIGN:]] = _NEGATIVE
    codes[view.alive & view.is_nan] = _NAN
    codes[view.odd] = _ODD
    return codes


def _table(colours: Palette) -> npt.NDArray[np.uint8]:
    named = (colours.dead, colours.passes, colours.passes_negative, colours.passes, colours.edge)
    return np.array(
        [[*(round(255 * part) for part in to_rgb(c)), 255] for c in (*named, colours.ground)],
        np.uint8,
    )


def _stripe(pixels: npt.NDArray[np.uint8], codes: npt.NDArray[np.uint8], colours: Palette) -> None:
    """Put thin slanting lines of the ground over what is NaN."""
    rows, columns = np.nonzero(codes == _NAN)
    inside = (rows + columns) % 6 < 2
    pixels[rows[inside], columns[inside], :3] = [round(255 * p) for p in to_rgb(colours.ground)]


def _leader(pixels: npt.NDArray[np.uint8], start: int, end: int, colour: str) -> None:
    """A thin line from a name's height to its row."""
    shade = [*(round(255 * part) for part in to_rgb(colour)), 255]
    steps = np.round(np.interp(np.arange(32), [0, 8, 24, 31], [start, start, end, end])).astype(int)
    for x, (y, before) in enumerate(zip(steps, [steps[0], *steps[:-1]])):
        low, high = min(y, before), max(y, before)
        pixels[low : high + 1, x] = shade


def _ring(colour: str) -> npt.NDArray[np.uint8]:
    """A ring of 17 pixels around one number of the carpet, soft at its edges."""
    down, across = np.mgrid[-8:9, -8:9]
    distance = np.hypot(down, across)
    ring = np.zeros((17, 17, 4), np.uint8)
    ring[..., :3] = [round(255 * part) for part in to_rgb(colour)]
    ring[..., 3] = np.round(255 * np.clip(1.6 - np.abs(distance - 6.2), 0, 1))
    return ring


def _broken(text: str, letters: int) -> list[str]:
    """A sentence in lines of about so many letters."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > letters:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
