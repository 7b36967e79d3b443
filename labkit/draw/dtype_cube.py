"""Which dtypes go together: gradOutput by self, one layer for each dtype of gradInput.

A cube for one chip, and below it what every family of chips takes, forward and
backward.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from labkit.draw.numbers import short_dtype
from labkit.draw.png import drawn
from labkit.draw.sheet import WIDTH, Sheet, on
from labkit.draw.sieve import HEIGHT
from labkit.draw.theme import DRAWING, Palette, Size, palette
from labkit.language import gettext as _

__all__ = ["ChipDtypes", "CubeCell", "DtypeCube", "cube_alt_text", "cube_figure", "cube_pixels"]

Combination = tuple[str, str, str]
"""The dtypes of gradOutput, self and gradInput, by NumPy name."""
Pixels = npt.NDArray[np.uint8]

_SHOWN = ("float32", "float16", "bfloat16", "float64", "int32", "bool", "complex64")
_LAYERS = ("float32", "float16", "bfloat16")
_SHORT = {"float64": "fp64", "complex64": "c64", "float8_e5m2": "fp8"}
_ARGUMENTS = {"gradOutput": "grad", "self": "self", "gradInput": "out"}
_LEFT, _TOP, _CELL, _APART = 76, 132, 37, 292
_LEGEND, _CHIPS = 412, 512


@dataclass(frozen=True)
class CubeCell:
    """One combination of dtypes.

    `named` is the argument that a refusal names first, "" when the operator
    accepts; then `meets` is the dtype in which it computes, and `casts` how
    many Cast kernels it launches.
    """

    status: int
    named: str
    meets: str
    casts: int


@dataclass(frozen=True)
class ChipDtypes:
    """The dtypes that a chip takes, by NumPy name."""

    chip: str
    family: str
    backward: tuple[str, ...]
    forward: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class DtypeCube:
    """All combinations on one chip: `cells` by dtypes of gradOutput, self and gradInput."""

    chip: str
    cells: Mapping[Combination, CubeCell]
    chips: tuple[ChipDtypes, ...]

    @property
    def accepted(self) -> int:
        """How many combinations the operator accepts."""
        return sum(not cell.status for cell in self.cells.values())

    @property
    def as_documented(self) -> int:
        """How many of them have one dtype throughout."""
        return sum(not c.status and len(set(key)) == 1 for key, c in self.cells.items())


def short(dtype: str) -> str:
    """A dtype in as few letters as a cell has room for."""
    return _SHORT.get(dtype, short_dtype(dtype))


def cube_figure(cube: DtypeCube, theme: str | Palette = "light") -> Figure:
    """Draw a cube."""
    with DRAWING:
        sheet = Sheet(HEIGHT, theme)
        colours = sheet.colours
        state = f"aclnnHardshrinkBackward on {cube.chip} · {_counted(cube)}"
        sheet.head("Which dtypes go together?", state)
        for place, out in enumerate(_LAYERS):
            _layer(sheet, cube, out, _LEFT + _APART * place)
        sheet.text(_LEFT - 8, _TOP - 14, "grad \\ self", colours.muted, size=8.5, align="right")
        _legend(sheet)
        _chips(sheet, cube)
        return sheet.figure


def cube_pixels(cube: DtypeCube, here: Combination, theme: str | Palette = "light") -> Pixels:
    """The cube as pixels (RGBA), drawn once, with a frame round the combination `here`.

    One that is not among those shown has no frame.
    """
    pixels: Pixels = _drawn(cube, theme).copy()
    grad, x, out = here
    if grad in _SHOWN and x in _SHOWN and out in _LAYERS:
        left = _LEFT + _APART * _LAYERS.index(out) + _CELL * _SHOWN.index(x) - 3
        top = _TOP + _CELL * _SHOWN.index(grad) - 7
        ink = [round(255 * part) for part in to_rgb(palette(theme).ink)]
        side = _CELL + 2
        for rows, columns in (
            (slice(top, top + 3), slice(left, left + side)),
            (slice(top + side - 3, top + side), slice(left, left + side)),
            (slice(top, top + side), slice(left, left + 3)),
            (slice(top, top + side), slice(left + side - 3, left + side)),
        ):
            pixels[rows, columns, :3] = ink
    return pixels


@lru_cache(maxsize=8)
def _drawn(cube: DtypeCube, theme: str | Palette) -> Pixels:
    return drawn(cube_figure(cube, theme))


def _counted(cube: DtypeCube) -> str:
    return (
        f"{cube.accepted} of {len(cube.cells)} combinations accepted, "
        f"{cube.as_documented} of them in one dtype"
    )


def _layer(sheet: Sheet, cube: DtypeCube, out: str, left: float) -> None:
    colours = sheet.colours
    title = f"gradInput is {short(out)}"
    sheet.text(left, _TOP - 36, title, colours.ink, size=Size.HEAD, bold=True)
    for row, grad in enumerate(_SHOWN):
        y = _TOP + _CELL * row
        if left == _LEFT:
            base = y + _CELL / 2 - 2
            sheet.text(left - 8, base, short(grad), colours.muted, size=Size.NAMES, align="right")
        for column, x in enumerate(_SHOWN):
            at = left + _CELL * column
            if row == 0:
                middle = at + _CELL / 2 - 2
                name = short(x)
                sheet.text(middle, _TOP - 14, name, colours.muted, size=Size.NAMES, align="center")
            _draw_cell(sheet, cube, (grad, x, out), (at, y - 4))


def _paint(colours: Palette, key: Combination, cell: CubeCell) -> str:
    if cell.status:
        return colours.dead
    return colours.passes if len(set(key)) == 1 else colours.edge


def _draw_cell(
    sheet: Sheet, cube: DtypeCube, key: Combination, corner: tuple[float, float]
) -> None:
    colours = sheet.colours
    cell = cube.cells[key]
    face = _paint(colours, key, cell)
    x, y = corner
    size = _CELL - 4
    sheet.box((x, y, size, size), face)
    middle = x + size / 2
    if cell.status:
        word = _ARGUMENTS[cell.named]
        sheet.text(middle, y + 21, word, colours.dead_ink, size=8.5, align="center")
        return
    ink = on(face, colours)
    sheet.text(middle, y + 15, short(cell.meets), ink, size=8.5, align="center")
    sheet.text(middle, y + 28, f"+{cell.casts}", ink, size=8.5, align="center")


def _legend(sheet: Sheet) -> None:
    colours = sheet.colours
    lines = (
        (colours.passes, "accepted, one dtype throughout: all that the document asks for"),
        (
            colours.edge,
            "accepted too: the inputs meet in the dtype shown, +n is the Cast kernels it takes",
        ),
        (colours.dead, "refused with 161002: the word is the argument that the message names"),
    )
    for row, (paint, words) in enumerate(lines):
        y = _LEGEND + 20 * row
        sheet.box((_LEFT, y - 9, 12, 12), paint)
        sheet.text(_LEFT + 22, y + 2, words, colours.ink, size=Size.SMALL)
    note = "λ is no axis of this cube: its dtype is never checked"
    sheet.text(_LEFT + 22, _LEGEND + 62, note, colours.muted, size=Size.SMALL)


def _chips(sheet: Sheet, cube: DtypeCube) -> None:
    colours = sheet.colours
    columns = (20, 196, 500, 660)
    heads = ("chip", "", "backward takes", "forward takes")
    for x, head in zip(columns, heads):
        sheet.text(x, _CHIPS, head, colours.ink, size=Size.HEAD, bold=True)
    for row, chip in enumerate(cube.chips):
        y = _CHIPS + 22 * (row + 1)
        mine = chip.chip == cube.chip
        ink = colours.ink if mine else colours.muted
        differ = chip.backward != chip.forward
        sheet.text(columns[0], y, chip.chip, ink, bold=mine, room=170)
        sheet.text(columns[1], y, chip.family, ink, size=Size.SMALL, room=290)
        for x, dtypes in ((columns[2], chip.backward), (columns[3], chip.forward)):
            paint = colours.edge if differ else ink
            sheet.text(x, y, " ".join(map(short, dtypes)), paint, bold=mine, room=150)
        if differ:
            sheet.text(800, y, "they part", colours.edge, size=Size.SMALL, room=WIDTH - 820)


def cube_alt_text(cube: DtypeCube, here: Combination | None = None) -> str:
    """The cube in words."""
    told = [
        _("Which dtypes go together? On {chip} {n} of {all} combinations are accepted.").format(
            chip=cube.chip, n=cube.accepted, all=len(cube.cells)
        ),
        _("{n} of them have one dtype throughout.").format(n=cube.as_documented),
    ]
    meets: dict[str, dict[str, None]] = {}
    for (grad, x, _to), cell in cube.cells.items():
        if not cell.status:
            meets.setdefault(short(cell.meets), {})[f"{short(grad)}+{short(x)}"] = None
    for dtype, pairs in meets.items():
        told.append(_("Meeting in {dtype}: {pairs}.").format(dtype=dtype, pairs=", ".join(pairs)))
    named = [cell.named for cell in cube.cells.values() if cell.status]
    counts = ", ".join(f"{name} {named.count(name)}" for name in _ARGUMENTS)
    told.append(_("The argument that a refusal names, counted: {counts}.").format(counts=counts))
    if here is not None and here in cube.cells:
        told.append(_here_text(here, cube.cells[here]))
    for chip in cube.chips:
        back, forth = (" ".join(map(short, d)) for d in (chip.backward, chip.forward))
        told.append(
            _("{chip}: backward takes {backward}, forward {forward}.").format(
                chip=chip.chip, backward=back, forward=forth
            )
        )
    return " ".join(told)


def _here_text(here: Combination, cell: CubeCell) -> str:
    call = " ".join(f"{name} {short(d)}" for name, d in zip(_ARGUMENTS, here))
    if cell.status:
        return _("This call, {call}: {status}, named is {argument}.").format(
            call=call, status=cell.status, argument=cell.named
        )
    return _("This call, {call}: computed in {dtype}, Cast kernels: {casts}.").format(
        call=call, dtype=short(cell.meets), casts=cell.casts
    )
