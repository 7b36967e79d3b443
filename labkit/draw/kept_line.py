"""Lines of text that matplotlib sets once and that are kept as pixels.

A picture that is drawn again for every choice in a menu has a hundred lines,
most of which were there before. `Lettering` is for numbers that change all the
time; here a line is set as a whole, as carefully as in a figure that is kept.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text

from labkit.draw.stamp import Stamp
from labkit.draw.theme import DPI, SANS, Size

__all__ = ["KeptLine"]

_SIDE = 2
"""Pixels kept beside a line, for letters that lean out."""


class KeptLine(Stamp):
    """One line of text; `x`, `y` to its baseline, from the top left corner."""

    def __init__(
        self,
        x: float,
        y: float,
        text: str,
        colour: str,
        *,
        size: float = Size.TEXT,
        bold: bool = False,
        align: str = "left",
    ) -> None:
        pixels = _coloured(text, colour, size, bold)
        wide = pixels.shape[1] - 2 * _SIDE
        x -= {"left": 0.0, "center": wide / 2, "right": float(wide)}[align]
        super().__init__(x - _SIDE, y - _above(size), pixels)


def _above(size: float) -> int:
    """Pixels above the baseline."""
    return round(size * DPI / 72 * 1.2)


@lru_cache(maxsize=2048)
def _coloured(text: str, colour: str, size: float, bold: bool) -> npt.NDArray[np.uint8]:
    ink = _ink(text, size, bold)
    pixels = np.empty((*ink.shape, 4), np.uint8)
    pixels[..., :3] = [round(255 * part) for part in to_rgb(colour)]
    pixels[..., 3] = ink
    return pixels


@lru_cache(maxsize=2048)
def _ink(text: str, size: float, bold: bool) -> npt.NDArray[np.uint8]:
    """How much ink each pixel of a line has."""
    weight = "bold" if bold else "normal"
    font = FontProperties(family=[SANS], size=size, weight=weight, style="normal")
    make: Any = RendererAgg
    wide = make(1, 1, DPI).get_text_width_height_descent(text, font, False)[0]
    width, height = round(wide) + 2 * _SIDE, round(size * DPI / 72 * 1.6)
    renderer = make(width, height, DPI)
    line = Text(
        _SIDE,
        height - _above(size),
        text,
        fontproperties=font,
        color="black",
        verticalalignment="baseline",
        horizontalalignment="left",
        usetex=False,
        parse_math=False,
    )
    line.set_figure(Figure(figsize=(width / DPI, height / DPI), dpi=DPI))
    line.draw(renderer)
    ink: npt.NDArray[np.uint8] = np.asarray(renderer.buffer_rgba())[..., 3].copy()
    return ink
