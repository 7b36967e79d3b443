"""A model that learns with the operator, in one picture: signal, code, life and death, λ as a knob.

Made for a panel: what stays is drawn once (`KeptFigure`). Signal and code lie
above one another, window by window; in the chart of life a row is a unit and a
column a step, blue while the unit fires in some window, grey when it does not,
orange in the step in which it died.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from labkit.draw.kept_figure import KeptFigure
from labkit.draw.learning_view import QUESTION, LearningView, remark, state_lines
from labkit.draw.numbers import percent
from labkit.draw.sheet import grouped
from labkit.draw.stamp import Lettering, Stamp
from labkit.draw.theme import DRAWING, Palette, Size

__all__ = ["HEIGHT", "WIDTH", "LearningPicture", "learning_figure"]

WIDTH, HEIGHT = 940, 668
"""Pixels of the picture."""

_LEFT, _WIDE = 54, 600
_SIGNAL, _CODE, _LIFE = (128, 116), (288, 144), (476, 144)
"""Top and height of the three pictures on the left."""

_MILLIVOLTS = (-1.5, 2.0)
_RIGHT, _CURVE = 716, 180
_ERROR, _SHARE = (128, 92), (300, 92)
_MOST_ERROR, _MOST_LAMBDA = 0.6, 3.0
_SMALL: dict[str, Any] = {"size": Size.SMALL}
Pixels = npt.NDArray[np.uint8]


def learning_figure(view: LearningView, theme: str | Palette = "light") -> Figure:
    """Draw one state into a figure of its own."""
    with DRAWING:
        picture = LearningPicture(theme)
        return picture.whole(lambda: picture.fill(view))


class LearningPicture(KeptFigure):
    """The picture for many states in turn: `update`, then `png`."""

    def __init__(self, theme: str | Palette = "light") -> None:
        super().__init__((WIDTH, HEIGHT), theme)
        c = self.colours
        self._draw_what_stays()
        self.state = [self.letters(20, 60, c.muted), self.letters(20, 78, c.muted)]
        names = {"noisy": (c.line, 0.8), "clean": (c.ink, 1.0), "built": (c.passes, 1.8)}
        self.lines = {name: self._line(*look) for name, look in names.items()}
        self.code = self.add(Stamp(_LEFT, _CODE[0]))
        self.life = self.add(Stamp(_LEFT, _LIFE[0]))
        self.last_step = self.letters(_LEFT + _WIDE, 640, c.muted, align="right", **_SMALL)
        self.curves = {name: self._line(c.passes, 1.8) for name in ("error", "share")}
        self.noise = self._line(c.line, 1.0, dashed=True)
        self.noise_name = self.letters(_RIGHT - 8, 0, c.muted, align="right", **_SMALL)
        self.here = [self._line(c.edge, 1.4) for _ in range(2)]
        self.dots = [self._line(c.edge, 0.0, dot=True) for _ in range(2)]
        self.told = [self.letters(_RIGHT, top + 150, c.edge, bold=True) for top in (111, 283)]
        self.counts = [
            self.letters(_RIGHT + 34, 490 + 24 * row, bold=True, align="right") for row in range(4)
        ]
        self.notes = [self.letters(_RIGHT, 600 + 17 * row, c.edge, **_SMALL) for row in range(3)]

    # -- what stays --------------------------------------------------------------

    def _draw_what_stays(self) -> None:
        c = self.colours
        head: dict[str, Any] = {"size": Size.HEAD, "bold": True}
        self.stay(20, 36, QUESTION, c.ink, size=Size.TITLE, bold=True)
        self.stay(_LEFT, 116, "two seconds of the signal", c.ink, **head)
        for right, words, colour in (
            (250, "recorded", c.ink),
            (324, "with noise", c.muted),
            (408, "put together from the code", c.passes),
        ):
            self.stay(_LEFT + right, 116, words, colour, **_SMALL)
        self.stay(_LEFT, 276, "its code, window by window", c.ink, **head)
        self.stay(_LEFT, 464, "life and death: which units fire, step by step", c.ink, **head)
        for level, words in ((-1, "−1"), (0, "0"), (1, "1")):
            y = _height(level, _MILLIVOLTS, _SIGNAL) + 4
            self.stay(_LEFT - 8, y, words, c.muted, align="right", **_SMALL)
        self.stay(_LEFT - 8, _SIGNAL[0] + 6, "mV", c.muted, align="right", **_SMALL)
        for top, high in (_CODE, _LIFE):
            self.stay(_LEFT - 8, top + 10, "0", c.muted, align="right", **_SMALL)
            self.stay(_LEFT - 8, top + high / 2 + 4, "unit", c.muted, align="right", **_SMALL)
            self.stay(_LEFT - 8, top + high - 1, "15", c.muted, align="right", **_SMALL)
        self.stay(_LEFT, 640, "before step 1", c.muted, **_SMALL)
        for (top, high), name, marks in (
            (_ERROR, "error, mV", ((0.0, "0"), (0.3, "0.3"), (0.6, "0.6"))),
            (_SHARE, "share not 0", ((0.0, "0"), (0.5, "½"), (1.0, "1"))),
        ):
            self.stay(_RIGHT, top - 12, f"{name}, over λ", c.ink, **head)
            most = marks[-1][0]
            for value, words in marks:
                y = _height(value, (0.0, most), (top, high))
                self.stay(_RIGHT - 8, y + 4, words, c.muted, align="right", **_SMALL)
            self.box((_RIGHT, top + high, _CURVE, 1), c.line)
            self.box((_RIGHT, top, 1, high), c.line)
            for lambd in range(4):
                x = _RIGHT + _CURVE * lambd / _MOST_LAMBDA
                self.stay(x, top + high + 17, str(lambd), c.muted, align="center", **_SMALL)
        self.stay(_RIGHT, 464, "units", c.ink, **head)
        for row, words in enumerate(
            ("fire before step 1", "fire at the end", "died on the way", "came back")
        ):
            self.stay(_RIGHT + 44, 490 + 24 * row, words, c.muted)

    # -- parts that change -------------------------------------------------------

    def _line(self, colour: str, wide: float, *, dashed: bool = False, dot: bool = False) -> Line2D:
        line = Line2D(
            [],
            [],
            color=colour,
            lw=wide,
            ls="" if dot else (0, (4, 3)) if dashed else "-",
            marker="o" if dot else "",
            markersize=6.0,
            markeredgewidth=0.0,
            antialiased=True,
            solid_joinstyle="round",
            dash_capstyle="butt",
            transform=self.figure.transFigure,
        )
        return self.add(line)

    def _put(self, line: Line2D, x: Sequence[float] | Any, y: Sequence[float] | Any) -> None:
        """Give a line its points, in pixels from the top left corner."""
        line.set_data(np.asarray(x) / WIDTH, 1 - np.asarray(y) / HEIGHT)

    def update(self, view: LearningView) -> None:
        """Show another state; only what changes is drawn."""
        self.show(lambda: self.fill(view))

    def fill(self, view: LearningView) -> None:
        """Put a state into the parts without drawing them."""
        for letters, words in zip(self.state, state_lines(view)):
            letters.write(words)
        for name, line in self.lines.items():
            values = np.clip(getattr(view, name), *_MILLIVOLTS)
            x = _LEFT + _WIDE * (np.arange(values.size) + 0.5) / values.size
            self._put(line, x, _height(values, _MILLIVOLTS, _SIGNAL))
        self.code.pixels = _code_pixels(view, self.colours)
        self.life.pixels = _life_pixels(view, self.colours)
        self.last_step.write(f"step {view.steps}" if view.steps else "")
        self._fill_curves(view)
        first, last = view.alive
        died = sum(1 for step in view.died.values() if step)
        colours = self.colours
        for letters, (count, colour) in zip(
            self.counts,
            (
                (first, colours.passes if first else colours.dead_ink),
                (last, colours.passes if last else colours.dead_ink),
                (died, colours.edge if died else colours.dead_ink),
                (view.returns, colours.edge if view.returns else colours.dead_ink),
            ),
        ):
            letters.write(str(count), colour)
        good = view.error < view.noise and last
        _write_lines(self.notes, remark(view) or "", 30, colours.check if good else colours.edge)

    def _fill_curves(self, view: LearningView) -> None:
        at = [point.lambd for point in view.curve]
        for name, most, box in (("error", _MOST_ERROR, _ERROR), ("share", 1.0, _SHARE)):
            values = np.array([getattr(point, name) for point in view.curve])
            self._put(self.curves[name], _along(at), _height(values, (0.0, most), box))
        level = _height(view.noise, (0.0, _MOST_ERROR), _ERROR)
        self._put(self.noise, [_RIGHT, _RIGHT + _CURVE], [level, level])
        self.noise_name.place = (_RIGHT - 8, float(level) + 4)
        self.noise_name.write("noise")
        inside = view.lambd <= _MOST_LAMBDA  # NaN is nowhere, and ∞ is far away
        x = float(_along(max(view.lambd, 0.0))) if inside else 0.0
        for mark, dot, value, most, box in zip(
            self.here, self.dots, (view.error, view.share), (_MOST_ERROR, 1.0), (_ERROR, _SHARE)
        ):
            self._put(mark, [x, x] if inside else [], [box[0], sum(box)] if inside else [])
            y = float(_height(min(value, most), (0.0, most), box))
            self._put(dot, [x] if inside else [], [y] if inside else [])
        self.told[0].write(f"{view.error:.3f} mV{' at this λ' if inside else ', λ not in view'}")
        share = percent(view.not_zero, view.total)
        self.told[1].write(f"{grouped(view.not_zero)} of {grouped(view.total)}: {share}")


def _height(value: Any, limits: tuple[float, float], box: tuple[int, int]) -> Any:
    """Where a value stands in a plot of that top and height."""
    low, high = limits
    top, tall = box
    return top + tall * (high - value) / (high - low)


def _along(lambd: Any) -> Any:
    return _RIGHT + _CURVE * np.asarray(lambd) / _MOST_LAMBDA


def _write_lines(letters: Sequence[Lettering], text: str, room: int, colour: str) -> None:
    """Write a sentence over several lines of about so many letters."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    for line, words in zip(letters, [*lines, *[""] * len(letters)]):
        line.write(words, colour)


# -- pixels ------------------------------------------------------------------------


def _rgb(colour: str) -> npt.NDArray[np.float64]:
    return np.array([255 * part for part in to_rgb(colour)])


def _spread(cells: npt.NDArray[Any], wide: int, high: int) -> Pixels:
    """Colours (rows × columns × RGB) blown up to `wide` × `high` pixels, opaque."""
    rows, columns = cells.shape[:2]
    down = np.arange(high) * rows // high
    across = np.arange(wide) * columns // wide
    pixels = np.full((high, wide, 4), 255, np.uint8)
    pixels[..., :3] = np.round(cells)[down][:, across]
    return pixels


def _shaded(strength: npt.NDArray[Any], colour: str, colours: Palette) -> npt.NDArray[Any]:
    """From a third of a colour to all of it, on the ground."""
    share = (0.35 + 0.65 * np.clip(strength, 0, 1))[..., None]
    shade: npt.NDArray[Any] = share * _rgb(colour) + (1 - share) * _rgb(colours.ground)
    return shade


def _code_pixels(view: LearningView, colours: Palette) -> Pixels:
    """Units down, windows across: blue above λ, light blue below −λ, grey 0."""
    code = np.asarray(view.code, np.float64).T
    strength = np.abs(np.nan_to_num(code)) / 3.0
    cells = np.where(
        (code > 0)[..., None],
        _shaded(strength, colours.passes, colours),
        _shaded(strength, colours.passes_negative, colours),
    )
    cells[code == 0] = _rgb(colours.dead)
    pixels = _spread(cells, _WIDE, _CODE[1])
    windows, units = view.code.shape
    ground = np.round(_rgb(colours.ground))
    pixels[:: _CODE[1] // units, :, :3] = ground
    pixels[:, :: _WIDE // windows, :3] = ground
    return pixels


def _life_pixels(view: LearningView, colours: Palette) -> Pixels:
    """Units down, steps across: blue while a unit fires, grey when not, orange where it died."""
    fired = view.fired.T
    cells = _shaded(np.sqrt(fired), colours.passes, colours)
    cells[fired == 0] = _rgb(colours.dead)
    pixels = _spread(cells, _WIDE, _LIFE[1])
    row = _LIFE[1] // view.units
    for unit, step in view.died.items():
        if step:
            x = -(-_WIDE * step // (view.steps + 1))
            pixels[unit * row : (unit + 1) * row, max(0, x - 1) : x + 3, :3] = _rgb(colours.edge)
    pixels[::row, :, :3] = np.round(_rgb(colours.ground))
    return pixels
