"""One step of a call marked in the picture of all: quick, since only the mark is drawn anew.

A ring of ink goes round the step, dashed rings round what belongs to it: the
launches of an l0 operator, the pieces of workspace of a launch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.colors import to_rgb

from labkit.draw.png import drawn, quick_png
from labkit.draw.sheet import WIDTH
from labkit.draw.steps import (
    HEIGHT,
    Box,
    StepsView,
    map_box,
    member_boxes,
    step_boxes,
    steps_figure,
)
from labkit.draw.theme import DRAWING, Palette, palette

__all__ = ["Mark", "StepsPicture"]

_RING, _AWAY, _DASH = 3, 2, 6
Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Mark:
    """What is marked: a step, by its number from 0, and what belongs to it.

    `related` are other steps, `launches` those whose pieces of workspace
    belong to it; `workspace` marks the workspace as a whole.
    """

    step: int
    related: tuple[int, ...] = ()
    launches: tuple[int, ...] = ()
    workspace: bool = False


class StepsPicture:
    """The steps of many calls in turn: `update`, then `png`. Both take `DRAWING` themselves."""

    def __init__(self, theme: str | Palette = "light") -> None:
        self.colours = palette(theme)
        self._view: StepsView | None = None
        self._ground: Pixels = np.zeros((HEIGHT, WIDTH, 4), np.uint8)
        self._shown = self._ground

    def update(self, view: StepsView, mark: Mark | None = None) -> None:
        """Show another state; while the call stays the same, only the mark is drawn."""
        with DRAWING:
            if view != self._view:
                self._ground = drawn(steps_figure(view, self.colours, quick=True))
                self._view = view
            self._shown = self._ground.copy()
            ink = [round(255 * part) for part in to_rgb(self.colours.ink)]
            for box, dashed in [] if mark is None else _rings(view, mark):
                _draw_ring(self._shown, box, ink, dashed)

    def pixels(self) -> Pixels:
        """What was drawn last: uint8, (height, width, 3)."""
        shown: Pixels = self._shown[..., :3].copy()
        return shown

    def png(self) -> bytes:
        """What was drawn last as PNG."""
        with DRAWING:
            return quick_png(self._shown)


def _rings(view: StepsView, mark: Mark) -> Iterator[tuple[Box, bool]]:
    """Boxes to put a ring around, and whether it is dashed; the step itself comes last."""
    places = step_boxes(view)
    for number in mark.related:
        yield places[number], True
    for member, box in member_boxes(view.plan):
        if member.start in mark.launches:
            yield box, True
    if mark.workspace:
        yield map_box(view.plan), True
    yield places[mark.step], False


def _draw_ring(pixels: Pixels, box: Box, ink: list[int], dashed: bool) -> None:
    """A frame around a box, two pixels away from it; every other stretch if dashed."""
    left, top = round(box[0]) - _AWAY, round(box[1]) - _AWAY
    right, bottom = round(box[0] + box[2]) + _AWAY, round(box[1] + box[3]) + _AWAY
    wide = _RING - 1 if dashed else _RING
    top, left = max(top, wide), max(left, wide)
    frame = np.zeros((HEIGHT, WIDTH), bool)
    frame[top - wide : bottom + wide, left - wide : right + wide] = True
    frame[top:bottom, left:right] = False
    if dashed:
        slanted = np.arange(HEIGHT)[:, None] + np.arange(WIDTH)
        frame &= slanted // _DASH % 2 == 0
    pixels[frame, :3] = ink
