"""The bits picture: λ as typed, as float32 and as compared, and the numbers around it.

The strips of bits line up where exponent and fraction meet, so that a float32
rounded to half is seen to lose boxes. The line below shows between which two
numbers of self's dtype λ lies; the lists show what became of each of them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from labkit.draw.bit_strip import bit_strip, cell_left
from labkit.draw.bits_view import (
    BACKWARD,
    BOTH,
    FORWARD,
    QUESTION,
    BitsView,
    Neighbour,
    agreement,
    flipping,
    pairing_line,
    remarks,
    rounding,
)
from labkit.draw.kept_figure import KeptFigure
from labkit.draw.numbers import FIELDS, number_text, short_dtype
from labkit.draw.stamp import Stamp
from labkit.draw.theme import DRAWING, Palette, Size

__all__ = ["HEIGHT", "WIDTH", "BitsPicture", "bits_figure"]

WIDTH, HEIGHT = 940, 650
"""Pixels of the picture."""

NEIGHBOURS = 5
_MIDDLE = NEIGHBOURS // 2
_STRIP, _CELL, _HIGH = 345, 17, 22  # the stations' boxes
_LINE, _STEP = 252, 150  # the line: its height in the picture, and pixels between two numbers
_LISTS, _ROW, _PITCH = (20, 490), 372, 46
_COLUMNS = (210, 296, 382)


def bits_figure(view: BitsView, theme: str | Palette = "light") -> Figure:
    """Draw one state into a figure of its own."""
    with DRAWING:
        picture = BitsPicture(theme)
        return picture.whole(lambda: picture.fill(view))


class BitsPicture(KeptFigure):
    """The bits picture for many states in turn: `update`, then `png`."""

    def __init__(self, theme: str | Palette = "light") -> None:
        super().__init__((WIDTH, HEIGHT), theme)
        self._draw_what_stays()
        self._make_stations()
        self._make_line()
        self._make_lists()

    def update(self, view: BitsView) -> None:
        """Show another state; only what changes is drawn."""
        self.show(lambda: self.fill(view))

    # -- what stays --------------------------------------------------------------

    def _draw_what_stays(self) -> None:
        ink, muted = self.colours.ink, self.colours.muted
        self.stay(20, 36, QUESTION, ink, size=Size.TITLE, bold=True)
        for y, text in ((100, "as typed"), (146, "as float32"), (186, "as compared")):
            self.stay(20, y, text, ink, size=Size.HEAD, bold=True)
        for field, text in (("exponent", "exponent"), ("fraction", "fraction")):
            start = _STRIP + cell_left(field, "float32", _CELL)
            self.stay(start, 125, text, muted, size=Size.SMALL)
        self.stay(_STRIP + _CELL - 1, 125, "sign", muted, size=Size.SMALL, align="right")
        self.stay(20, 247, "the line", ink, size=Size.HEAD, bold=True)
        self.stay(20, 263, "near +λ", ink, size=Size.HEAD, bold=True)
        left = _place(-_MIDDLE) - 60
        self.box((left, _LINE - 1, _place(_MIDDLE) + 60 - left, 2), self.colours.line)
        for left, text in zip(_LISTS, ("around +λ", "around −λ")):
            self.stay(left, 330, text, ink, size=Size.HEAD, bold=True)

    # -- what changes ------------------------------------------------------------

    def _make_stations(self) -> None:
        muted = self.colours.muted
        self.state = self.letters(20, 60, muted)
        self.typed = self.letters(160, 100, mono=True)
        self.read = self.letters(901, 100, muted, size=Size.SMALL, align="right")
        self.single = self.letters(160, 146, mono=True)
        self.single_bits = self.add(Stamp(_STRIP, 131))
        self.compared = self.letters(160, 186, mono=True)
        self.compared_bits = self.add(Stamp(_STRIP, 171))
        self.rounding = self.letters(20, 203, muted, size=Size.SMALL)
        self.cut = self.letters(901, 207, muted, size=Size.SMALL, align="right")

    def _make_line(self) -> None:
        small: dict[str, Any] = {"size": Size.SMALL}
        self.dead = self.add(Stamp(0, _LINE - 9))
        self.marks = [self.add(Stamp(0, _LINE - 20)) for _ in range(2)]
        self.names = [self.letters(0, _LINE - 16, **small) for _ in range(2)]
        self.dots = [
            self.letters(_place(step), _LINE + 5, size=14.0, align="centre")
            for step in range(-_MIDDLE, _MIDDLE + 1)
        ]
        self.values = [
            self.letters(_place(step), _LINE + 26, self.colours.muted, align="centre", **small)
            for step in range(-_MIDDLE, _MIDDLE + 1)
        ]

    def _make_lists(self) -> None:
        muted = self.colours.muted
        small: dict[str, Any] = {"size": Size.SMALL}
        self.group = [self.letters(left + _COLUMNS[0], 334, muted, **small) for left in _LISTS]
        self.heads = [
            [self.letters(left + x, 350, muted, **small) for x in _COLUMNS] for left in _LISTS
        ]
        self.lists = [
            [
                (
                    self.letters(left, _ROW + _PITCH * row, mono=True),
                    self.add(Stamp(left, _ROW + _PITCH * row + 6)),
                    [self.letters(left + x, _ROW + _PITCH * row, bold=True) for x in _COLUMNS],
                )
                for row in range(NEIGHBOURS)
            ]
            for left in _LISTS
        ]
        self.notes = [self.letters(20, 604 + 17 * n, self.colours.edge, **small) for n in range(2)]
        self.check = self.letters(920, 638, self.colours.check, align="right", **small)
        self.notes.append(self.letters(20, 638, self.colours.edge, **small))

    # -- a state into the parts ----------------------------------------------------

    def fill(self, view: BitsView) -> None:
        """Put a state into the parts without drawing them."""
        asked = view.asked
        self.state.write(f"{pairing_line(asked)} · {asked.device}")
        self._fill_stations(view)
        self._fill_line(view)
        columns = {
            BOTH: (
                f"grad {short_dtype(asked.grad_dtype)}",
                f"grad {short_dtype(asked.other_dtype)}",
            ),
            FORWARD: (),
        }
        heads = columns.get(asked.operator, columns[BOTH])
        named = [*heads, *([] if asked.operator == BACKWARD else ["forward"]), "", ""]
        for group, row in zip(self.group, self.heads):
            group.write("backward, with" if heads else "")
            for letters, text in zip(row, named):
                letters.write(text)
        for rows, side in zip(self.lists, (view.positive, view.negative)):
            for (value, strip, results), one in zip(rows, side):
                loud = view.flips(one)
                value.write(number_text(one.value), self._edge(loud, self.colours.ink))
                strip.pixels = bit_strip(
                    one.pattern, asked.dtype, self.colours, cell=11, high=17, aligned=False
                )
                told = [*self._results(view, one), ("", ""), ("", "")]
                for letters, (text, colour) in zip(results, told):
                    letters.write(text, colour)
        noted = [*remarks(asked, flipping(view)), "", "", ""]
        for letters, note in zip(self.notes, noted):
            letters.write(note)
        right = asked.agreeing == asked.total
        self.check.write(
            f"{'✓' if right else '✗'} {agreement(asked)}",
            self.colours.check if right else self.colours.edge,
        )

    def _edge(self, loud: bool, else_colour: str) -> str:
        return self.colours.edge if loud else else_colour

    def _results(self, view: BitsView, one: Neighbour) -> list[tuple[str, str]]:
        loud, operator = view.flips(one), view.asked.operator
        told = []
        if operator != FORWARD:
            told += [("grad" if kept else "0", kept) for kept in (one.backward, one.other)]
        if operator != BACKWARD:
            told.append(("x" if one.forward else "0", one.forward))
        plain = {True: self.colours.passes, False: self.colours.dead_ink}
        return [(text, self._edge(loud, plain[kept])) for text, kept in told]

    def _fill_stations(self, view: BitsView) -> None:
        asked = view.asked
        self.typed.write(asked.typed)
        self.read.write(_as_read(asked.value))
        self.single.write(number_text(asked.lambd))
        self.single_bits.pixels = bit_strip(
            view.lambd_pattern, "float32", self.colours, cell=_CELL, high=_HIGH
        )
        moved = asked.compared != asked.lambd and not math.isnan(asked.lambd)
        self.compared.write(number_text(asked.compared), self._edge(moved, self.colours.ink))
        lost = FIELDS["float32"][1] - FIELDS[asked.compared_in][1]
        self.compared_bits.pixels = bit_strip(
            view.compared_pattern,
            asked.compared_in,
            self.colours,
            cell=_CELL,
            high=_HIGH,
            ghosts=lost,
            loud=moved,
        )
        self.rounding.write(f"in {rounding(asked)}")
        self.cut.write(f"{lost} bits of the fraction have no place in fp16" if lost else "")

    def _fill_line(self, view: BitsView) -> None:
        line = view.positive[::-1]  # from small to large
        for dot, value, one in zip(self.dots, self.values, line):
            alive = self.colours.passes if view.alive(one) else self.colours.line
            dot.write("●", self._edge(view.flips(one), alive))
            value.write(number_text(one.value))
        asked = view.asked
        marks = _marks(view)
        for mark, name in zip(self.marks, self.names):
            mark.pixels = None
            name.write("")
        if not marks:
            self.names[0].place = (_place(0), _LINE - 16)
            self.names[0].align = "centre"
            self.names[0].write("nan has no place on the line", self.colours.edge)
        for (at, words), mark, name in zip(marks, self.marks, self.names):
            colour = self.colours.ink if words == "λ as float32" else self.colours.edge
            mark.place = (at - 1, _LINE - 20)
            mark.pixels = _flat(2, 32, colour)
            last = at == max(place for place, _ in marks)
            name.place = (at + 6 if last else at - 6, _LINE - 16)
            name.align = "left" if last else "right"
            name.write(words, colour)
        places = [_place(n - _MIDDLE) for n, one in enumerate(line) if not view.alive(one)]
        self.dead.pixels = None
        if places and marks and not math.isnan(asked.compared):
            end = max(*places, next(at for at, words in marks if words != "λ as float32"))
            start = min(places) - (60 if min(places) == _place(-_MIDDLE) else 0)
            self.dead.place = (start, _LINE - 9)
            self.dead.pixels = _flat(round(end - start) or 2, 18, self.colours.dead)


def _place(step: float) -> float:
    """Where on the line a number lies that is `step` steps from the middle one."""
    return 500 + _STEP * step


def _marks(view: BitsView) -> list[tuple[float, str]]:
    """The places of λ on the line with their names; one of them when they coincide."""
    asked = view.asked
    if math.isnan(asked.lambd):
        return []
    line = [one.value for one in view.positive[::-1]]
    used = 0.0 if asked.lambd < 0 else asked.lambd
    first, second = (_place(_step(line, value)) for value in (used, asked.compared))
    if first == second:
        return [(first, "λ as float32 and as compared")]
    return [(first, "λ as float32"), (second, "λ as compared")]


def _step(line: list[float], value: float) -> float:
    """How many steps from the middle of the line a value lies."""
    if value in line:
        exact = max(n for n, one in enumerate(line) if one == value)  # of ±0 the positive one
        return exact - _MIDDLE
    below = max((n for n, one in enumerate(line) if one < value), default=0)
    low, high = line[below], line[min(below + 1, len(line) - 1)]
    share = (value - low) / (high - low) if math.isfinite(high) and high > low else 0.5
    return below - _MIDDLE + share


def _as_read(value: float) -> str:
    """The number that Python read, in enough digits to be that number and no other."""
    told = f"{value:.17g}".replace("-", "−")
    return f"in Python: float64 {told}"


def _flat(wide: int, high: int, colour: str) -> npt.NDArray[np.uint8]:
    pixels = np.full((high, wide, 4), 255, np.uint8)
    pixels[..., :3] = [round(255 * part) for part in to_rgb(colour)]
    return pixels
