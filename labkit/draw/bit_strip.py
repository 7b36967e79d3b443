"""The bits of a number as a row of boxes: sign, exponent, fraction.

A strip is an array of pixels, so that a slider step costs copies and no
drawing. Strips of different dtypes line up where exponent and fraction meet:
then rounding a float32 to half is seen as what it is, boxes that are cut off.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from matplotlib.colors import to_rgb

from labkit.draw.numbers import FIELDS
from labkit.draw.stamp import Lettering
from labkit.draw.theme import Palette, Size

__all__ = ["GAP", "bit_strip", "cell_left", "strip_width"]

Pixels = npt.NDArray[np.uint8]

GAP = 6
"""Pixels between the fields."""


def cell_left(field: str, dtype: str, cell: int, aligned: bool = True) -> int:
    """Where a field begins in a strip: "sign", "exponent", "fraction", or "end".

    `aligned` keeps room for the eight exponent bits of float32 and bfloat16.
    """
    exponent, fraction = FIELDS[dtype]
    room = 8 if aligned else exponent
    middle = cell * (1 + room) + 2 * GAP
    places = {
        "sign": 0,
        "exponent": middle - GAP - cell * exponent,
        "fraction": middle,
        "end": middle + cell * fraction,
    }
    return places[field]


def strip_width(dtype: str, cell: int, aligned: bool = True) -> int:
    """Pixels that a strip of that dtype takes."""
    return cell_left("end", dtype, cell, aligned)


@lru_cache(maxsize=512)
def bit_strip(
    pattern: int,
    dtype: str,
    colours: Palette,
    *,
    cell: int,
    high: int,
    aligned: bool = True,
    ghosts: int = 0,
    loud: bool = False,
) -> Pixels:
    """A pattern as RGBA pixels, `high` tall, a box of `cell` pixels for each bit.

    `ghosts` adds that many empty boxes behind the fraction: bits that were
    rounded away. `loud` draws the bits in the colour of the surprise.
    """
    exponent, fraction = FIELDS[dtype]
    bits = f"{pattern:0{1 + exponent + fraction}b}"
    wide = strip_width(dtype, cell, aligned) + cell * ghosts
    strip = np.zeros((high, wide, 4), np.uint8)
    fields = (
        (cell_left("sign", dtype, cell, aligned), bits[0]),
        (cell_left("exponent", dtype, cell, aligned), bits[1 : 1 + exponent]),
        (cell_left("fraction", dtype, cell, aligned), bits[1 + exponent :]),
    )
    for left, digits in fields:
        for place, digit in enumerate(digits):
            at = left + cell * place
            strip[:, at : at + cell] = _cell(digit, colours, cell, high, loud)
    for place in range(ghosts):
        at = strip_width(dtype, cell, aligned) + cell * place
        strip[:, at : at + cell] = _cell("", colours, cell, high, False)
    strip.flags.writeable = False
    return strip


@lru_cache(maxsize=64)
def _cell(digit: str, colours: Palette, cell: int, high: int, loud: bool) -> Pixels:
    """One box: a 1 on a filled ground, a 0 on an empty one, "" a box that is no more."""
    one = digit == "1"
    ink = colours.edge if loud else colours.ink
    pixels = np.zeros((high, cell, 4), np.uint8)
    if not digit:
        pixels[high // 2 : high // 2 + 1, 3 : cell - 3] = _rgba(colours.line)
        return pixels
    pixels[:, : cell - 1] = _rgba(colours.line)
    pixels[1:-1, 1 : cell - 2] = _rgba(colours.dead if one else colours.ground)
    letter = Lettering(0, 0, digit, ink, size=Size.SMALL, mono=True, bold=one).pixels
    assert letter is not None
    _lay(pixels, letter)
    return pixels


def _lay(ground: Pixels, letter: Pixels) -> None:
    """Put a letter's ink in the middle of a box; what does not fit has no ink."""
    rows, columns = (np.flatnonzero(letter[..., 3].any(axis=axis)) for axis in (1, 0))
    ink = letter[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].astype(np.float64)
    top = (ground.shape[0] - ink.shape[0]) // 2
    left = (ground.shape[1] - 1 - ink.shape[1]) // 2
    under = ground[top : top + ink.shape[0], left : left + ink.shape[1], :3]
    share = ink[..., 3:] / 255
    under[...] = np.round(share * ink[..., :3] + (1 - share) * under)


def _rgba(colour: str) -> list[int]:
    return [*(round(255 * part) for part in to_rgb(colour)), 255]
