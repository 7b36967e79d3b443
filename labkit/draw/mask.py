"""The mask picture: forward and backward over x, a field of elements, the numbers around λ.

`mask_figure` draws one state; `MaskPicture` keeps its figure and redraws only
what λ, dtype and shape change, over a background that stays. Both give the
same pixels.
"""

from __future__ import annotations

import io
import math
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle, StepPatch

from labkit.draw.mask_view import (
    QUESTION,
    MaskView,
    agreement,
    field_codes,
    notes,
    state_line,
)
from labkit.draw.numbers import number_text, percent, short_dtype
from labkit.draw.stamp import Lettering, Stamp
from labkit.draw.theme import DRAWING, Palette, Size, new_figure, palette, plot_area, write

__all__ = ["HEIGHT", "WIDTH", "MaskPicture", "mask_figure"]

WIDTH, HEIGHT = 1000, 575
"""Pixels of the picture."""

_REACH = 1.6
"""The plots show x from −1.6 to 1.6."""

_PLOT = (62, 280)
_FIELD = (396, 124, 256)
_LADDER = 692
_RUNGS = 7
_BINS = np.linspace(-1.625, 1.625, 53)
"""Edges of the histogram, a sixteenth apart."""


def mask_figure(view: MaskView, theme: str | Palette = "light") -> Figure:
    """Draw one state into a figure of its own."""
    with DRAWING:
        picture = MaskPicture(theme)
        picture.fill(view)
        for artist in picture.changing:
            artist.set_animated(False)
        picture.canvas.draw()
        return picture.figure


class MaskPicture:
    """The mask picture for many states in turn: `update`, then `png`.

    `theme` is "light" or "dark". Everything here must run under
    `labkit.draw.theme.DRAWING`; `update` and `png` take it themselves.
    """

    def __init__(self, theme: str | Palette = "light") -> None:
        self.colours = palette(theme)
        self.figure, self.canvas = new_figure(WIDTH, HEIGHT, self.colours)
        self.changing: list[Artist] = []
        self._ground: Any = None
        self._draw_what_stays()
        self._make_what_changes()

    # -- use -------------------------------------------------------------------

    def update(self, view: MaskView) -> None:
        """Show another state; only what changes is drawn."""
        with DRAWING:
            self.fill(view)
            if self._ground is None:
                self.canvas.draw()
                self._ground = self.canvas.copy_from_bbox(self.figure.bbox)
            else:
                self.canvas.restore_region(self._ground)
            for artist in self.changing:
                self.figure.draw_artist(artist)

    def pixels(self) -> npt.NDArray[np.uint8]:
        """What was drawn last: uint8, (height, width, 3)."""
        return np.asarray(self.canvas.buffer_rgba())[..., :3].copy()

    def png(self) -> bytes:
        """What was drawn last as PNG, packed for speed: for pictures that are shown once."""
        with DRAWING:
            return quick_png(self.canvas.buffer_rgba())

    # -- what stays --------------------------------------------------------------

    def _draw_what_stays(self) -> None:
        figure, colours = self.figure, self.colours
        head = {"size": Size.HEAD, "bold": True}
        write(figure, 24, 36, QUESTION, colours.ink, size=Size.TITLE, bold=True)
        ticks = [(float(x), str(x).replace("-", "−")) for x in (-1, 0, 1)]
        left, wide = _PLOT
        boxes = {
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
            write(figure, left, top - 12, heads[name], colours.ink, **head)  # type: ignore[arg-type]
            self.plots[name] = plot_area(
                figure,
                (left, top, wide, high),
                colours,
                x=(-_REACH, _REACH),
                y=limits,
                x_ticks=ticks if name == "count" else (),
                y_ticks=y_ticks,
            )
        write(figure, left + wide, 534, "x", colours.muted, size=Size.SMALL, align="right")

        left, top, side = _FIELD
        write(figure, left, top - 12, "a field of elements", colours.ink, **head)  # type: ignore[arg-type]
        legend = (
            ("x > λ: grad", colours.passes),
            ("x < −λ: grad", colours.passes_negative),
            ("|x| < λ: 0", colours.dead),
            ("|x| = λ: 0", colours.edge),
        )
        for number, (text, colour) in enumerate(legend):
            x, y = left + 132 * (number % 2), top + side + 70 + 22 * (number // 2)
            self._box(x, y - 10, 12, 12, colour)
            write(figure, x + 18, y, text, colours.muted, size=Size.SMALL)

        for x, text in ((0, "x and its bits"), (190, "forward"), (256, "grad")):
            write(figure, _LADDER + x, 144, text, colours.muted, size=Size.SMALL)

    def _box(self, x: float, y: float, wide: float, high: float, colour: str) -> Rectangle:
        box = Rectangle(
            (x / WIDTH, 1 - (y + high) / HEIGHT),
            wide / WIDTH,
            high / HEIGHT,
            transform=self.figure.transFigure,
            facecolor=colour,
            edgecolor="none",
            linewidth=0.0,
        )
        self.figure.add_artist(box)
        return box

    # -- what changes ------------------------------------------------------------

    def _make_what_changes(self) -> None:
        colours = self.colours
        self.bands = {name: self._band(axes) for name, axes in self.plots.items()}
        count = self.plots["count"]
        self.bars = {
            name: self._add(count, StepPatch(np.zeros(52), _BINS, fill=True, color=c, lw=0.0), 4)
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
        self.state = (self._text(24, 60, colours.muted), self._text(24, 78, colours.muted))
        middle = _PLOT[0] + _PLOT[1] / 2
        self.zone = self._text(middle, 140, colours.dead_ink, align="center", **small)
        self.edge = self._text(middle, 330, colours.edge, align="center", **small)

        left, top, side = _FIELD
        self.field = self._free(Stamp(left, top))
        self.field_name = self._text(left + side, top - 12, colours.muted, align="right", **small)
        self.rows = (
            self._text(left - 6, top + 10, colours.muted, align="right", **small),
            self._text(left - 6, top + side, colours.muted, align="right", **small),
        )
        self.share = self._free(Stamp(left, top + side + 8))
        self.alive = self._text(left, top + side + 40, colours.passes, bold=True)
        self.dead = self._text(
            left + side, top + side + 40, colours.dead_ink, bold=True, align="right"
        )
        self.check = self._text(left, 534, colours.check, **small)

        self.ladder_head = self._text(_LADDER, 112, colours.ink, size=Size.HEAD, bold=True)
        self.ladder = [self._rung(168 + 44 * number) for number in range(_RUNGS)]
        self.notes = [
            self._text(_LADDER, 516 + 18 * number, colours.edge, **small) for number in range(2)
        ]

    def _free(self, stamp: Any) -> Any:
        stamp.set_animated(True)
        self.figure.add_artist(stamp)
        self.changing.append(stamp)
        return stamp

    def _text(self, x: float, y: float, colour: str, **how: Any) -> Lettering:
        lettering: Lettering = self._free(Lettering(x, y, "", colour, **how))
        return lettering

    def _rung(self, y: float) -> tuple[Lettering, ...]:
        colours = self.colours
        return (
            self._text(_LADDER, y, colours.ink, mono=True),
            self._text(_LADDER, y + 16, colours.muted, mono=True, size=Size.SMALL),
            self._text(_LADDER + 190, y, colours.ink, bold=True),
            self._text(_LADDER + 256, y, colours.ink, bold=True),
        )

    def _add(self, axes: Axes, artist: Any, order: int) -> Any:
        artist.set_zorder(order)  # above the lines and ticks that stay, in both ways of drawing
        artist.set_animated(True)
        axes.add_artist(artist)
        artist.set_clip_path(axes.patch)
        self.changing.append(artist)
        return artist

    def _band(self, axes: Axes) -> Rectangle:
        band = Rectangle((0, 0), 0, 1, facecolor=self.colours.dead, edgecolor="none", lw=0.0)
        band.set_transform(axes.get_xaxis_transform())
        return self._add(axes, band, 3)  # type: ignore[no-any-return]

    def _line(self, axes: Axes, colour: str) -> Line2D:
        line = Line2D(
            [], [], color=colour, lw=2.5, ls="-", marker="", solid_capstyle="butt", antialiased=True
        )
        return self._add(axes, line, 5)  # type: ignore[no-any-return]

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
        return self._add(axes, dots, 6)  # type: ignore[no-any-return]

    # -- a state into the artists --------------------------------------------------

    def fill(self, view: MaskView) -> None:
        """Put a state into the artists without drawing them."""
        self._fill_words(view)
        self._fill_plots(view)
        self._fill_counts(view)
        self._fill_field(view)
        self._fill_ladder(view)

    def _fill_words(self, view: MaskView) -> None:
        asked, device = state_line(view)
        first, second = self.state
        first.write(f"{asked} · {device}")
        second.write("")
        if first.get_window_extent().x1 > WIDTH - 16:
            first.write(asked)
            second.write(device)
        told = [*notes(view), "", ""]
        for text, note in zip(self.notes, told):
            text.write(note)
        right = view.agreeing == view.total
        self.check.write(
            f"{'✓' if right else '✗'} {agreement(view)}",
            self.colours.check if right else self.colours.edge,
        )

    def _fill_plots(self, view: MaskView) -> None:
        limit = view.compared
        inside = not math.isnan(limit) and limit < _REACH
        half = -1.0 if math.isnan(limit) else min(limit, _REACH)
        gap = math.nan
        for name, live_y in (("forward", half), ("backward", 1.0)):
            self.bands[name].set(x=-half, width=max(0.0, 2 * half))
            sign = -1 if name == "forward" else 1
            top = _REACH if name == "forward" else 1.0
            if half < 0:
                self.curves[name, "live"].set_data([-_REACH, _REACH], [sign * top, top])
                self.curves[name, "dead"].set_data([], [])
            else:
                self.curves[name, "live"].set_data(
                    [-_REACH, -half, gap, half, _REACH],
                    [sign * top, sign * live_y, gap, live_y, top],
                )
                self.curves[name, "dead"].set_data([-half, half], [0, 0])
            ends = [-limit, limit] if inside else []
            self.dots[name, "open"].set_data(ends, [sign * live_y, live_y] if inside else [])
            self.dots[name, "filled"].set_data(ends, [0, 0] if inside else [])
        self.bands["count"].set(x=-half, width=max(0.0, 2 * half))
        self.zone.write("dead zone" if half > 0.45 else "")
        self.edge.write(
            "nothing is dead"
            if half < 0
            else ("±λ itself gets 0" if inside else "±λ lies beyond this picture")
        )

    def _fill_counts(self, view: MaskView) -> None:
        with np.errstate(invalid="ignore"):
            bins = np.floor((view.x - np.float32(_BINS[0])) * np.float32(16))
            bins = np.where(np.abs(bins - 26) <= 27, bins + 1, 0).astype(np.intp)
        bins = np.clip(bins, 0, 53).reshape(-1)
        every = np.bincount(bins, minlength=54)[1:53]
        dead = np.bincount(bins, weights=~view.live.reshape(-1), minlength=54)[1:53]
        most = max(1, int(every.max()))
        self.bars["dead"].set_data(values=dead / most, baseline=0.0)
        self.bars["live"].set_data(values=every / most, baseline=dead / most)

    def _fill_field(self, view: MaskView) -> None:
        colours, side = self.colours, _FIELD[2]
        table = _rgba(colours.dead, colours.passes, colours.passes_negative, colours.edge)
        rows, columns = view.live.shape
        scale = side / max(rows, columns, 1)
        down = (np.arange(max(1, round(rows * scale))) / scale).astype(np.intp)
        across = (np.arange(max(1, round(columns * scale))) / scale).astype(np.intp)
        codes = field_codes(view)
        shown = codes[np.minimum(down, rows - 1)[:, None], np.minimum(across, columns - 1)]
        self.field.pixels = table[shown].view(np.uint8).reshape(*shown.shape, 4)
        self.field_name.write(f"{rows} × {columns}")
        self.rows[0].write("0")
        self.rows[1].write(str(rows - 1))
        whole = round(side * view.alive / max(1, view.total))
        bar = table[np.where(np.arange(side) < whole, 1, 0)]
        self.share.pixels = np.tile(bar, (12, 1)).view(np.uint8).reshape(12, side, 4)
        self.alive.write(f"grad {percent(view.alive, view.total)}")
        self.dead.write(f"0 {percent(view.total - view.alive, view.total)}")

    def _fill_ladder(self, view: MaskView) -> None:
        colours = self.colours
        self.ladder_head.write(f"{short_dtype(view.dtype)}, one step at a time around λ")
        rungs = [*view.rungs[:_RUNGS], *[None] * _RUNGS]
        for texts, rung in zip(self.ladder, rungs):
            if rung is None:
                for text in texts:
                    text.write("")
                continue
            value, bits, forward, grad = texts
            edge = abs(rung.value) == view.compared and not rung.grad
            value.write(number_text(rung.value), colours.edge if edge else colours.ink)
            bits.write(rung.bits)
            parted = rung.forward != rung.grad
            for text, kept, name in ((forward, rung.forward, "x"), (grad, rung.grad, "grad")):
                strange = parted or (edge and not kept)
                plain = colours.passes if kept else colours.dead_ink
                text.write(name if kept else "0", colours.edge if strange else plain)


def _rgba(*colours: str) -> npt.NDArray[np.uint32]:
    rows = [[*(round(255 * part) for part in to_rgb(colour)), 255] for colour in colours]
    return np.array(rows, np.uint8).view(np.uint32).reshape(-1)


def quick_png(rgba: Any) -> bytes:
    """Pack RGBA pixels (height, width, 4) as an RGB PNG in the least time."""
    from PIL import Image

    rgb = np.asarray(Image.fromarray(np.asarray(rgba)).convert("RGB"))
    height, width = rgb.shape[:2]
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each row starts with filter 0: none
    rows[:, 1:] = rgb.reshape(height, -1)
    stream = io.BytesIO(b"\x89PNG\r\n\x1a\n")
    stream.seek(0, io.SEEK_END)
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    for kind, data in (
        (b"IHDR", size + bytes([8, 2, 0, 0, 0])),
        (b"IDAT", zlib.compress(rows.tobytes(), 1)),
        (b"IEND", b""),
    ):
        stream.write(len(data).to_bytes(4, "big") + kind + data)
        stream.write(zlib.crc32(kind + data).to_bytes(4, "big"))
    return stream.getvalue()
