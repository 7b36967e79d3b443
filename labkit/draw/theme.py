"""How every picture of the lab looks: one palette, one figure, one way to PNG.

A colour means the same everywhere: blue passes or runs, grey is dead or
skipped, orange is the edge or the surprise, green is a check. The hues are
those of Okabe and Ito, which stay apart for colour-blind readers and in grey;
what a colour says is also said in words or by a shape.

Light and dark: a picture in a notebook is drawn once, in the light palette, on
a ground of its own, and a style sheet turns it over under JupyterLab's dark
theme (`labkit.draw.html`). The kernel cannot know which theme a browser shows,
two pictures per slider step would double its time, and a viewer that drops
style sheets still shows a readable light card. The dark palette is for
pictures that leave the notebook, such as slides.

A notebook that changes matplotlib's global settings changes no picture of the
lab: every property is told to the artist it is for. What cannot be told (a
sketch, effects and hinting, which matplotlib looks up as it draws) is at its
default while `DRAWING` is held, and at what the notebook set again after that.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib import rcParams, rcParamsDefault
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from labkit.errors import LabValueError

__all__ = [
    "DARK",
    "DPI",
    "DRAWING",
    "LIGHT",
    "MONO",
    "SANS",
    "Palette",
    "Size",
    "new_figure",
    "palette",
    "plot_area",
    "write",
]

DPI = 100
"""Pixels per inch of every figure: one figure pixel is one CSS pixel."""

SANS = "DejaVu Sans"
MONO = "DejaVu Sans Mono"
"""The two fonts that come with matplotlib; they have λ, ±, −, × and ✓, so none is looked for."""

_LOOKED_UP: Any = (
    *("path.sketch", "path.effects", "path.snap", "path.simplify", "path.simplify_threshold"),
    *("agg.path.chunksize", "text.antialiased", "text.hinting", "text.hinting_factor"),
    *("text.kerning_factor", "text.parse_math", "text.usetex", "axes.unicode_minus"),
    *("font.style", "font.variant", "font.weight", "font.stretch", "grid.alpha"),
    *("lines.scale_dashes", "lines.solid_capstyle", "lines.solid_joinstyle"),
    *("lines.dash_capstyle", "lines.dash_joinstyle", "lines.antialiased", "patch.antialiased"),
    *("figure.frameon", "figure.subplot.left", "figure.subplot.right"),
    *("figure.subplot.bottom", "figure.subplot.top", "figure.autolayout"),
)
"""Settings that matplotlib looks up where an artist is made or drawn and cannot be told."""


class _Drawing:
    """A lock that may be taken again by its thread, and the settings while it is held."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._theirs: dict[Any, Any] = {}

    def acquire(self, blocking: bool = True) -> bool:
        """Take it; False when another thread has it and `blocking` is false."""
        if not self._lock.acquire(blocking):
            return False
        self._depth += 1
        if self._depth == 1:
            known = [key for key in _LOOKED_UP if key in rcParams]
            changed = [key for key in known if rcParams[key] != rcParamsDefault[key]]
            self._theirs = {key: rcParams[key] for key in changed}
            rcParams.update({key: rcParamsDefault[key] for key in changed})
        return True

    def release(self) -> None:
        """Give it back; the last one puts the settings back that were changed."""
        if self._depth == 1 and self._theirs:
            rcParams.update(self._theirs)
            self._theirs = {}
        self._depth -= 1
        self._lock.release()

    def __enter__(self) -> _Drawing:
        self.acquire()
        return self

    def __exit__(self, *_error: object) -> None:
        self.release()


DRAWING = _Drawing()
"""Held while anything of the lab is drawn: matplotlib is not safe for several threads at once."""


class Size:
    """Font sizes in points; the smallest is still readable when 940 pixels are shown as 800."""

    TITLE = 15.0
    HEAD = 10.5
    TEXT = 10.0
    SMALL = 9.0
    NAMES = 8.5


@dataclass(frozen=True)
class Palette:
    """The colours of one theme, as hexadecimal RGB."""

    name: str
    ground: str
    ink: str
    muted: str
    line: str
    passes: str
    passes_negative: str
    dead: str
    dead_ink: str
    edge: str
    check: str


LIGHT = Palette(
    "light",
    ground="#ffffff",
    ink="#1f2328",
    muted="#5b636b",
    line="#8a929a",
    passes="#0072b2",
    passes_negative="#56b4e9",
    dead="#d9dadb",
    dead_ink="#6b7178",
    edge="#c65500",
    check="#007a5a",
)
DARK = Palette(
    "dark",
    ground="#15181b",
    ink="#e8eaed",
    muted="#a9b1b9",
    line="#7c848c",
    passes="#3fa7e0",
    passes_negative="#9bd3f5",
    dead="#3a3f45",
    dead_ink="#9aa1a8",
    edge="#ff8f3a",
    check="#35c295",
)


def palette(theme: str | Palette) -> Palette:
    """The palette named "light" or "dark"; raises `LabValueError` for another name."""
    if isinstance(theme, Palette):
        return theme
    known = {"light": LIGHT, "dark": DARK}
    if theme not in known:
        raise LabValueError(f"theme is {theme!r}; right would be 'light' or 'dark'")
    return known[theme]


def new_figure(width: int, height: int, colours: Palette) -> tuple[Figure, Any]:
    """A figure of its own of `width` x `height` pixels with an Agg canvas, unknown to pyplot."""
    figure = Figure(
        figsize=(width / DPI, height / DPI),
        dpi=DPI,
        facecolor=colours.ground,
        edgecolor="none",
    )
    figure.set_layout_engine("none")
    return figure, FigureCanvasAgg(figure)


def write(
    figure: Figure,
    x: float,
    y: float,
    text: str,
    colour: str,
    *,
    size: float = Size.TEXT,
    bold: bool = False,
    mono: bool = False,
    align: str = "left",
) -> Text:
    """Write text that stays; `x`, `y` in pixels from the top left corner, to the baseline."""
    width, height = figure.get_size_inches() * DPI
    return figure.text(
        x / width,
        1 - y / height,
        text,
        color=colour,
        fontsize=size,
        fontfamily=MONO if mono else SANS,
        fontweight="bold" if bold else "normal",
        fontstyle="normal",
        horizontalalignment=align,
        verticalalignment="baseline",
        usetex=False,
        parse_math=False,
    )


def plot_area(
    figure: Figure,
    box: tuple[float, float, float, float],
    colours: Palette,
    *,
    x: tuple[float, float],
    y: tuple[float, float],
    x_ticks: Sequence[tuple[float, str]] = (),
    y_ticks: Sequence[tuple[float, str]] = (),
) -> Axes:
    """Axes with a left and a bottom line, every property set here and none by default.

    `box` is left, top, width, height in pixels from the top left corner; `x`
    and `y` are the limits, the ticks are pairs of place and label.
    """
    width, height = figure.get_size_inches() * DPI
    left, top, wide, high = box
    axes = figure.add_axes(
        (left / width, 1 - (top + high) / height, wide / width, high / height),
        facecolor="none",
        frameon=True,
    )
    axes.set_axisbelow(True)
    axes.grid(False)
    axes.set_xlim(*x)
    axes.set_ylim(*y)
    for side, spine in axes.spines.items():
        spine.set(visible=side in ("left", "bottom"), color=colours.line, linewidth=1.0)
    for axis, ticks in ((axes.xaxis, x_ticks), (axes.yaxis, y_ticks)):
        axis.set_ticks([place for place, _ in ticks], [label for _, label in ticks])
        for tick in axis.get_ticklabels():
            tick.set(fontfamily=SANS, fontweight="normal", usetex=False, parse_math=False)
    axes.minorticks_off()
    shown: dict[str, Any] = {"left": bool(y_ticks), "bottom": bool(x_ticks)}
    axes.tick_params(
        which="major",
        direction="out",
        length=3.0,
        width=1.0,
        pad=4.0,
        color=colours.line,
        labelcolor=colours.muted,
        labelsize=Size.SMALL,
        labelrotation=0,
        top=False,
        right=False,
        labeltop=False,
        labelright=False,
        labelleft=shown["left"],
        labelbottom=shown["bottom"],
        **shown,
    )
    return axes
