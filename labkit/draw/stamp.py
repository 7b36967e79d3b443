"""Pixels and letters put straight into a figure: what must be quick at every slider step.

matplotlib lays out a text anew whenever it is drawn, one to seven milliseconds
for a number; a panel that shows twenty numbers would spend its whole time
there. `Lettering` sets a line from letters that were drawn once and kept, and
`Stamp` copies an array of pixels without resampling it. Both are ordinary
artists, so a full redraw and a quick one give the same pixels.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from labkit.draw.theme import DPI, MONO, SANS, Size

__all__ = ["Lettering", "Stamp", "ink_of", "ink_width", "inked"]

Pixels = npt.NDArray[np.uint8]


class Stamp(Artist):
    """An array of pixels at a fixed place: `x`, `y` are its top left corner from the figure's.

    `pixels` is uint8 with shape (height, width, 4), RGBA; None draws nothing.
    """

    def __init__(self, x: float, y: float, pixels: Pixels | None = None) -> None:
        super().__init__()
        self.place = (x, y)
        self.pixels = pixels
        self.set_zorder(5)

    def _corner(self) -> tuple[float, float]:
        return self.place

    def draw(self, renderer: Any) -> None:
        """Copy the pixels into the renderer."""
        if self.pixels is None or not self.pixels.size or not self.get_visible():
            return
        x, y = self._corner()
        context = renderer.new_gc()
        # Agg counts from the bottom, rows included.
        bottom = renderer.height - y - self.pixels.shape[0]
        renderer.draw_image(context, round(x), round(bottom), self.pixels[::-1])
        context.restore()
        self.stale = False

    def get_window_extent(self, renderer: Any = None) -> Bbox:
        """The rectangle covered, in pixels from the bottom left corner."""
        figure = self.get_figure()
        height = figure.bbox.height if figure is not None else 0.0
        rows, columns = (0, 0) if self.pixels is None else self.pixels.shape[:2]
        x, y = self._corner()
        return Bbox.from_bounds(x, height - y - rows, columns, rows)


class Lettering(Stamp):
    """One line of text that changes often; `x`, `y` to its baseline, from the top left corner."""

    def __init__(
        self,
        x: float,
        y: float,
        text: str = "",
        colour: str = "#000000",
        *,
        size: float = Size.TEXT,
        bold: bool = False,
        mono: bool = False,
        align: str = "left",
    ) -> None:
        super().__init__(x, y)
        self.face = (MONO if mono else SANS, size, bold)
        self.align = align
        self.text = ""
        self.colour = ""
        self.write(text, colour)

    def write(self, text: str, colour: str | None = None) -> None:
        """Change what is written, and in which colour."""
        colour = colour or self.colour
        if (text, colour) == (self.text, self.colour):
            return
        self.text, self.colour = text, colour
        self.pixels = _set_line(text, colour, *self.face) if text.strip() else None
        self.stale = True

    def _corner(self) -> tuple[float, float]:
        x, y = self.place
        left, _, above = _measure(self.face[1])
        if self.pixels is not None and self.align != "left":
            wide = self.pixels.shape[1] - 2 * left
            x -= wide if self.align == "right" else wide / 2
        return x - left, y - above


def _measure(size: float) -> tuple[int, int, int]:
    """Pixels kept beside a letter, its height in all, and the part of that above the baseline."""
    em = size * DPI / 72
    return round(em * 0.3), round(em * 1.6), round(em * 1.2)


@lru_cache(maxsize=1024)
def _set_line(text: str, colour: str, family: str, size: float, bold: bool) -> Pixels:
    """Set a line of text; RGBA, transparent where there is no ink."""
    pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
    ink, _ = _joined([_piece(piece, family, size, bold) for piece in pieces], size)
    return inked(ink, colour)


def _joined(parts: list[tuple[Pixels, float]], size: float) -> tuple[Pixels, float]:
    """Put letters or pieces side by side; the ink, and how far the pen moved on."""
    side, height, _ = _measure(size)
    pen = [0.0]
    for _, advance in parts:
        pen.append(pen[-1] + advance)
    ink = np.zeros((height, round(pen[-1]) + 2 * side), np.uint8)
    for (shape, _), place in zip(parts, pen):
        start = round(place)
        part = ink[:, start : start + shape.shape[1]]
        np.maximum(part, shape[:, : part.shape[1]], out=part)
    return ink, pen[-1]


_PIECE = 4
"""Letters set together and kept: few enough that most pieces of a new number are known."""


@lru_cache(maxsize=4096)
def _piece(text: str, family: str, size: float, bold: bool) -> tuple[Pixels, float]:
    return _joined([_letter(character, family, size, bold) for character in text], size)


@lru_cache(maxsize=2048)
def _letter(character: str, family: str, size: float, bold: bool) -> tuple[Pixels, float]:
    """One letter's ink (uint8, 0 to 255) and how far the pen moves on, in pixels."""
    side, height, above = _measure(size)
    width = round(size * DPI / 72 * 1.5) + 2 * side
    face = (family, size, bold)
    ten, none = (ink_width(f"|{repeated}|", *face) for repeated in (character * 10, ""))
    return ink_of(character, *face, (width, height), (side, above)), (ten - none) / 10


def ink_width(text: str, family: str, size: float, bold: bool) -> float:
    """Pixels from the first letter's left to the last one's right, as matplotlib sets them."""
    make: Any = RendererAgg
    font = _font(family, size, bold)
    wide: float = make(1, 1, DPI).get_text_width_height_descent(text, font, False)[0]
    return wide


def ink_of(
    text: str,
    family: str,
    size: float,
    bold: bool,
    room: tuple[int, int],
    start: tuple[int, int],
) -> Pixels:
    """How much ink each pixel of a text has, 0 to 255, as matplotlib sets it.

    `room` is width and height, `start` where the text begins: pixels from the
    left, and its baseline's from the top.
    """
    width, height = room
    make: Any = RendererAgg
    renderer = make(width, height, DPI)
    line = Text(
        start[0],
        height - start[1],
        text,
        fontproperties=_font(family, size, bold),
        color="black",
        verticalalignment="baseline",
        horizontalalignment="left",
        usetex=False,
        parse_math=False,
    )
    line.set_figure(Figure(figsize=(width / DPI, height / DPI), dpi=DPI))
    line.draw(renderer)
    return np.array(np.asarray(renderer.buffer_rgba())[..., 3])


def inked(ink: Pixels, colour: str) -> Pixels:
    """Ink in a colour: RGBA, transparent where there is none."""
    pixels = np.empty((*ink.shape, 4), np.uint8)
    pixels[..., :3] = [round(255 * part) for part in to_rgb(colour)]
    pixels[..., 3] = ink
    return pixels


def _font(family: str, size: float, bold: bool) -> FontProperties:
    weight = "bold" if bold else "normal"
    return FontProperties(family=[family], size=size, weight=weight, style="normal")
