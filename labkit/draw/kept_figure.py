"""A picture whose figure is kept: a background that stays, and above it what a state changes.

A panel that draws its figure anew at every step of a slider spends its time on
axes and letters that are the same as before. Here the background is drawn once
and copied back; then only the changing parts are drawn over it, in their
order. What changes lies above what stays, so both ways of drawing give the
same pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from labkit.draw.png import quick_png
from labkit.draw.stamp import Lettering
from labkit.draw.theme import DRAWING, Palette, new_figure, palette, write

__all__ = ["KeptFigure"]

Made = TypeVar("Made", bound=Artist)


class KeptFigure:
    """A figure of `size` pixels on which subclasses draw what stays, once, and what changes.

    `stay` and `box` draw what stays; `add` and `letters` make parts that change
    and can be written to later. `show`, `png` and `whole` take
    `labkit.draw.theme.DRAWING`; making one is drawing too.
    """

    def __init__(self, size: tuple[int, int], theme: str | Palette) -> None:
        self.colours = palette(theme)
        self.size = size
        self.figure, self.canvas = new_figure(*size, self.colours)
        self.changing: list[Artist] = []
        self._ground: Any = None

    # -- parts -------------------------------------------------------------------

    def stay(self, x: float, y: float, text: str, colour: str, **how: Any) -> None:
        """Text that stays; `how` as for `labkit.draw.theme.write`."""
        write(self.figure, x, y, text, colour, **how)

    def box(self, box: tuple[float, float, float, float], face: str, edge: str = "none") -> None:
        """A rectangle that stays: left, top, width, height."""
        left, top, wide, high = box
        width, height = self.size
        self.figure.add_artist(
            Rectangle(
                (left / width, 1 - (top + high) / height),
                wide / width,
                high / height,
                transform=self.figure.transFigure,
                facecolor=face,
                edgecolor=edge,
                linewidth=0.0 if edge == "none" else 1.0,
                linestyle="-",
                antialiased=True,
                joinstyle="miter",
            )
        )

    def add(self, part: Made) -> Made:
        """A part that changes; later ones lie above earlier ones."""
        part.set_animated(True)
        self.figure.add_artist(part)
        self.changing.append(part)
        return part

    def add_to(self, axes: Axes, part: Made, order: int) -> Made:
        """A part that changes inside axes; above all that stays there if `order` is above 2.5."""
        part.set_zorder(order)
        part.set_animated(True)
        axes.add_artist(part)
        part.set_clip_path(axes.patch)
        self.changing.append(part)
        return part

    def letters(self, x: float, y: float, colour: str = "", **how: Any) -> Lettering:
        """A line of text that changes; `how` as for `Lettering`."""
        return self.add(Lettering(x, y, "", colour or self.colours.ink, **how))

    # -- use ---------------------------------------------------------------------

    def show(self, fill: Callable[[], None]) -> None:
        """Let `fill` put a state into the parts, and draw what changed."""
        with DRAWING:
            fill()
            if self._ground is None:
                self.canvas.draw()
                self._ground = self.canvas.copy_from_bbox(self.figure.bbox)
            else:
                self.canvas.restore_region(self._ground)
            renderer = self.canvas.get_renderer()
            for part in self.changing:
                part.draw(renderer)

    def pixels(self) -> npt.NDArray[np.uint8]:
        """What was drawn last: uint8, (height, width, 3)."""
        return np.array(np.asarray(self.canvas.buffer_rgba())[..., :3])

    def png(self) -> bytes:
        """What was drawn last as PNG, packed for speed: for pictures that are shown once."""
        with DRAWING:
            return quick_png(self.canvas.buffer_rgba())

    def whole(self, fill: Callable[[], None]) -> Figure:
        """The figure with a state in it, for one picture that stands still."""
        with DRAWING:
            fill()
            for part in self.changing:
                part.set_animated(False)
            self.canvas.draw()
            return self.figure
