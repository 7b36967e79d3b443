"""The parts of the mask picture: what stays whatever is shown, and what changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle, StepPatch

from labkit.draw.kept_figure import KeptFigure
from labkit.draw.mask_view import QUESTION
from labkit.draw.stamp import Lettering, Stamp
from labkit.draw.theme import Palette, Size, plot_area

__all__ = ["BINS", "FIELD", "HEIGHT", "LADDER", "PLOT", "REACH", "RUNGS", "WIDTH", "MaskParts"]

WIDTH, HEIGHT = 940, 560
"""Pixels of the picture."""

REACH = 1.6
"""The plots show x from −1.6 to 1.6."""

PLOT = (54, 262)
FIELD = (366, 124, 256)
LADDER = 658
RUNGS = 7
BINS = np.linspace(-1.625, 1.625, 53)
"""Edges of the histogram, a sixteenth apart."""


class MaskParts(KeptFigure):
    """The figure of the mask picture and its parts."""

    def __init__(self, theme: str | Palette) -> None:
        super().__init__((WIDTH, HEIGHT), theme)
        self._draw_what_stays()
        self._make_what_changes()

    # -- what stays --------------------------------------------------------------

    def _draw_what_stays(self) -> None:
        figure, colours = self.figure, self.colours
        head: dict[str, Any] = {"size": Size.HEAD, "bold": True}
        self.stay(20, 36, QUESTION, colours.ink, size=Size.TITLE, bold=True)
        ticks = [(float(x), str(x).replace("-", "−")) for x in (-1, 0, 1)]
        left, wide = PLOT
        boxes: dict[str, tuple[tuple[int, int], tuple[float, float], list[tuple[float, str]]]] = {
            "forward": ((124, 124), (-1.75, 1.75), ticks),
            "backward": ((288, 84), (-0.25, 1.3), [(0, "0"), (1, "grad")]),
            "count": ((412, 104), (0.0, 1.1), []),
        }
        heads = {
            "forward": "forward: hardshrink(x)",
            "backward": "backward: what becomes of grad",
            "count": "elements of self, counted over x",
        }
        self.plots: dict[str, Axes] = {}
        for name, ((top, high), limits, y_ticks) in boxes.items():
            self.stay(left, top - 12, heads[name], colours.ink, **head)
            self.plots[name] = plot_area(
                figure,
                (left, top, wide, high),
                colours,
                x=(-REACH, REACH),
                y=limits,
                x_ticks=ticks if name == "count" else (),
                y_ticks=y_ticks,
            )
        self.stay(left + wide, 534, "x", colours.muted, size=Size.SMALL, align="right")

        left, top, side = FIELD
        self.stay(left, top - 12, "a field of elements", colours.ink, **head)
        legend = (
            ("x > λ: grad", colours.passes),
            ("x < −λ: grad", colours.passes_negative),
            ("|x| < λ: 0", colours.dead),
            ("|x| = λ: 0", colours.edge),
        )
        for number, (text, colour) in enumerate(legend):
            x, y = left + 130 * (number % 2), top + side + 70 + 22 * (number // 2)
            self.box((x, y - 10, 12, 12), colour)
            self.stay(x + 18, y, text, colours.muted, size=Size.SMALL)

        for x, text in ((0, "x and its bits"), (176, "forward"), (236, "grad")):
            self.stay(LADDER + x, 144, text, colours.muted, size=Size.SMALL)

    # -- what changes ------------------------------------------------------------

    def _make_what_changes(self) -> None:
        colours = self.colours
        self.bands = {name: self._band(axes) for name, axes in self.plots.items()}
        count = self.plots["count"]
        self.bars: dict[str, Any] = {
            name: self.add_to(count, StepPatch(np.zeros(52), BINS, fill=True, color=c, lw=0.0), 4)
            for name, c in (("dead", colours.line), ("live", colours.passes))
        }
        self.curves = {
            (name, part): self._line(self.plots[name], colour)
            for name in ("forward", "backward")
            for part, colour in (("dead", colours.dead_ink), ("live", colours.passes))
        }
        self.dots = {
            (name, part): self._dots(self.plots[name], filled=part == "filled")
            for name in ("forward", "backward")
            for part in ("open", "filled")
        }
        small = {"size": Size.SMALL}
        self.state = (self.letters(20, 60, colours.muted), self.letters(20, 78, colours.muted))
        middle = PLOT[0] + PLOT[1] / 2
        self.zone = self.letters(middle, 140, colours.dead_ink, align="center", **small)
        self.edge = self.letters(middle, 330, colours.edge, align="center", **small)

        left, top, side = FIELD
        self.field = self.add(Stamp(left, top))
        self.field_name = self.letters(left + side, top - 12, colours.muted, align="right", **small)
        self.rows = (
            self.letters(left - 6, top + 10, colours.muted, align="right", **small),
            self.letters(left - 6, top + side, colours.muted, align="right", **small),
        )
        self.share = self.add(Stamp(left, top + side + 8))
        self.alive = self.letters(left, top + side + 40, colours.passes, bold=True)
        self.dead = self.letters(
            left + side, top + side + 40, colours.dead_ink, bold=True, align="right"
        )
        self.check = self.letters(left, 546, colours.check, **small)

        self.ladder_head = self.letters(LADDER, 112, colours.ink, size=Size.HEAD, bold=True)
        self.ladder = [self._rung(168 + 44 * number) for number in range(RUNGS)]
        self.notes = [
            self.letters(LADDER, 486 + 18 * number, colours.edge, **small) for number in range(3)
        ]

    def _rung(self, y: float) -> tuple[Lettering, ...]:
        colours = self.colours
        return (
            self.letters(LADDER, y, colours.ink, mono=True),
            self.letters(LADDER, y + 16, colours.muted, mono=True, size=Size.SMALL),
            self.letters(LADDER + 176, y, colours.ink, bold=True),
            self.letters(LADDER + 236, y, colours.ink, bold=True),
        )

    def _band(self, axes: Axes) -> Rectangle:
        band = Rectangle((0, 0), 0, 1, facecolor=self.colours.dead, edgecolor="none", lw=0.0)
        band.set_transform(axes.get_xaxis_transform())
        return self.add_to(axes, band, 3)

    def _line(self, axes: Axes, colour: str) -> Line2D:
        line = Line2D(
            [], [], color=colour, lw=2.5, ls="-", marker="", solid_capstyle="butt", antialiased=True
        )
        return self.add_to(axes, line, 5)

    def _dots(self, axes: Axes, *, filled: bool) -> Line2D:
        colours = self.colours
        dots = Line2D(
            [],
            [],
            ls="",
            marker="o",
            markersize=7.0,
            markeredgewidth=1.6,
            markeredgecolor=colours.edge if filled else colours.passes,
            markerfacecolor=colours.edge if filled else colours.ground,
            fillstyle="full",
            antialiased=True,
        )
        return self.add_to(axes, dots, 6)
