"""The mask picture: forward and backward over x, a field of elements, the numbers around λ.

`mask_figure` draws one state; `MaskPicture` keeps its figure and redraws only
what λ, dtype and shape change, over a background that stays. Both give the
same pixels.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from labkit.draw.mask_parts import BINS, FIELD, HEIGHT, REACH, RUNGS, WIDTH, MaskParts
from labkit.draw.mask_view import MaskView, agreement, field_codes, notes, state_line
from labkit.draw.numbers import number_text, percent, short_dtype
from labkit.draw.theme import DRAWING, Palette

__all__ = ["HEIGHT", "WIDTH", "MaskPicture", "mask_figure"]


def mask_figure(view: MaskView, theme: str | Palette = "light") -> Figure:
    """Draw one state into a figure of its own."""
    with DRAWING:
        picture = MaskPicture(theme)
        return picture.whole(lambda: picture.fill(view))


class MaskPicture(MaskParts):
    """The mask picture for many states in turn: `update`, then `png`."""

    def __init__(self, theme: str | Palette = "light") -> None:
        super().__init__(theme)

    def update(self, view: MaskView) -> None:
        """Show another state; only what changes is drawn."""
        self.show(lambda: self.fill(view))

    # -- a state into the artists --------------------------------------------------

    def fill(self, view: MaskView) -> None:
        """Put a state into the artists without drawing them."""
        self._fill_words(view)
        self._fill_plots(view)
        self._fill_counts(view)
        self._fill_field(view)
        self._fill_ladder(view)

    def _fill_words(self, view: MaskView) -> None:
        what, chain, device = state_line(view)
        first, second = self.state
        for above, below in (
            ((what, chain, device), ()),
            ((what, chain), (device,)),
            ((what, device), (chain,)),
        ):
            first.write(" · ".join(above))
            second.write(" · ".join(below))
            if first.get_window_extent().x1 < WIDTH - 12:
                break
        told = [*notes(view), "", "", ""]
        for text, note in zip(self.notes, told):
            text.write(note)
        right = view.agreeing == view.total
        self.check.write(
            f"{'✓' if right else '✗'} {agreement(view)}",
            self.colours.check if right else self.colours.edge,
        )

    def _fill_plots(self, view: MaskView) -> None:
        limit = view.compared
        inside = not math.isnan(limit) and limit < REACH
        half = -1.0 if math.isnan(limit) else min(limit, REACH)
        gap = math.nan
        for name, live_y in (("forward", half), ("backward", 1.0)):
            self.bands[name].set(x=-half, width=max(0.0, 2 * half))
            sign = -1 if name == "forward" else 1
            top = REACH if name == "forward" else 1.0
            if half < 0:
                self.curves[name, "live"].set_data([-REACH, REACH], [sign * top, top])
                self.curves[name, "dead"].set_data([], [])
            else:
                self.curves[name, "live"].set_data(
                    [-REACH, -half, gap, half, REACH],
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
            bins = np.floor((view.x - np.float32(BINS[0])) * np.float32(16))
            bins = np.where(np.abs(bins - 26) <= 27, bins + 1, 0).astype(np.intp)
        bins = np.clip(bins, 0, 53).reshape(-1)
        every = np.bincount(bins, minlength=54)[1:53]
        dead = np.bincount(bins, weights=~view.live.reshape(-1), minlength=54)[1:53]
        most = max(1, int(every.max()))
        self.bars["dead"].set_data(values=dead / most, baseline=0.0)
        self.bars["live"].set_data(values=every / most, baseline=dead / most)

    def _fill_field(self, view: MaskView) -> None:
        colours, side = self.colours, FIELD[2]
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
        self.alive.write(f"live {percent(view.alive, view.total)}")
        self.dead.write(f"dead {percent(view.total - view.alive, view.total)}")

    def _fill_ladder(self, view: MaskView) -> None:
        colours = self.colours
        self.ladder_head.write(f"{short_dtype(view.dtype)}, step by step around λ")
        rungs = [*view.rungs[:RUNGS], *[None] * RUNGS]
        for texts, rung in zip(self.ladder, rungs):
            if rung is None:
                for text in texts:
                    text.write("")
                continue
            value, bits, forward, grad = texts
            edge = abs(rung.value) == view.compared and not rung.grad
            value.write(number_text(rung.value), colours.edge if edge else colours.ink)
            bits.write(rung.bits)
            parted = rung.forward and not rung.grad
            for text, kept, name in ((forward, rung.forward, "x"), (grad, rung.grad, "grad")):
                strange = parted or (edge and not kept)
                plain = colours.passes if kept else colours.dead_ink
                text.write(name if kept else "0", colours.edge if strange else plain)


def _rgba(*colours: str) -> npt.NDArray[np.uint32]:
    rows = [[*(round(255 * part) for part in to_rgb(colour)), 255] for colour in colours]
    return np.array(rows, np.uint8).view(np.uint32).reshape(-1)
