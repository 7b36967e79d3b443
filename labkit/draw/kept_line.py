"""Lines of text that matplotlib sets once and that are kept as pixels.

A picture that is drawn again for every choice in a menu has a hundred lines,
most of which were there before. `Lettering` is for numbers that change all the
time; here a line is set as a whole, as carefully as in a figure that is kept.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from labkit.draw.stamp import Stamp, ink_of, ink_width, inked
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
    return inked(_ink(text, size, bold), colour)


@lru_cache(maxsize=2048)
def _ink(text: str, size: float, bold: bool) -> npt.NDArray[np.uint8]:
    wide = round(ink_width(text, SANS, size, bold))
    room = (wide + 2 * _SIDE, round(size * DPI / 72 * 1.6))
    return ink_of(text, SANS, size, bold, room, (_SIDE, _above(size)))
