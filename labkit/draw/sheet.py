"""The sheet on which the operator's pictures are drawn.

Pixels from the top left corner, texts that are measured before they are
written, and the words that several pictures share. Used by `chain`,
`workspace`, `cores`, `ub` and `pipeline`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.textpath import text_to_path

from labkit.draw.kept_line import KeptLine
from labkit.draw.numbers import short_dtype
from labkit.draw.theme import DPI, DRAWING, SANS, Palette, Size, new_figure, palette, write
from labkit.language import Text
from labkit.op.dtypes import DataType
from labkit.op.tiling import Tiling

__all__ = [
    "WIDTH",
    "Sheet",
    "chip_words",
    "dtype_text",
    "grouped",
    "on",
    "plain",
    "shortened",
    "text_width",
    "tiling_words",
]

WIDTH = 940
"""Pixels across every picture of the operator."""


class Sheet:
    """A figure to draw on in pixels from its top left corner, `WIDTH` wide.

    `quick` keeps each line of text as pixels once it is set, for pictures
    that are drawn again and again; matplotlib takes milliseconds for each.
    """

    def __init__(self, height: float, theme: str | Palette, *, quick: bool = False) -> None:
        self.quick = quick
        self.colours = palette(theme)
        self.height = round(height)
        self.figure: Figure = new_figure(WIDTH, self.height, self.colours)[0]

    def head(self, question: str, *state: str) -> None:
        """The title and the grey line under it, in as many rows as it has parts."""
        self.text(20, 36, question, self.colours.ink, size=Size.TITLE, bold=True)
        for row, line in enumerate(state):
            self.text(20, 60 + 18 * row, line, self.colours.muted, room=WIDTH - 40)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        colour: str,
        *,
        size: float = Size.TEXT,
        bold: bool = False,
        align: str = "left",
        room: float = 0.0,
    ) -> float:
        """Write one line, shortened to `room` pixels if that is given; returns its width."""
        if room:
            text = shortened(text, room, size, bold)
        if text and self.quick:
            line = KeptLine(x, y, text, colour, size=size, bold=bold, align=align)
            self.figure.add_artist(line)
        elif text:
            write(self.figure, x, y, text, colour, size=size, bold=bold, align=align)
        return text_width(text, size, bold)

    def box(
        self,
        box: tuple[float, float, float, float],
        face: str,
        edge: str = "none",
        *,
        dashed: bool = False,
    ) -> None:
        """A rectangle: left, top, width, height."""
        x, y, wide, high = box
        self.figure.add_artist(
            Rectangle(
                (x / WIDTH, 1 - (y + high) / self.height),
                wide / WIDTH,
                high / self.height,
                transform=self.figure.transFigure,
                facecolor=face,
                edgecolor=edge,
                linewidth=0.0 if edge == "none" else 1.2,
                linestyle=(0, (3, 2)) if dashed else "-",
                antialiased=True,
                zorder=1.5,
            )
        )

    def line(
        self,
        points: Sequence[tuple[float, float]],
        colour: str,
        width: float = 1.0,
        *,
        dashed: bool = False,
    ) -> None:
        """A line through points."""
        self.figure.add_artist(
            Line2D(
                [x / WIDTH for x, _ in points],
                [1 - y / self.height for _, y in points],
                color=colour,
                lw=width,
                ls=(0, (3, 2)) if dashed else "-",
                marker="",
                antialiased=True,
                dash_capstyle="butt",
                zorder=1.2,
            )
        )


@lru_cache(maxsize=4096)
def text_width(text: str, size: float = Size.TEXT, bold: bool = False) -> float:
    """Pixels that a line of text takes, nearly."""
    font = FontProperties(family=[SANS], weight="bold" if bold else "normal", size=size)
    with DRAWING:
        wide: float = text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]
    return 1.02 * wide * DPI / 72  # a little more than without the grid of pixels


def shortened(text: str, room: float, size: float = Size.TEXT, bold: bool = False) -> str:
    """The text, or as much of it as fits with an ellipsis behind it; maybe nothing."""
    if text_width(text, size, bold) <= room:
        return text
    while text and text_width(text + "…", size, bold) > room:
        text = text[:-1].rstrip(" ,·")
    return text + "…" if text else ""


def on(face: str, colours: Palette) -> str:
    """The colour of a text on that ground: the ink or the paper, whichever stands out more."""
    luma = [
        sum(share * part for share, part in zip((0.299, 0.587, 0.114), to_rgb(colour)))
        for colour in (face, colours.ink, colours.ground)
    ]
    return colours.ink if abs(luma[1] - luma[0]) > abs(luma[2] - luma[0]) else colours.ground


def grouped(number: int) -> str:
    """A whole number in groups of three digits, with narrow spaces that do not break."""
    return f"{number:,}".replace(",", "\u202f").replace("-", "−")


def dtype_text(dtype: DataType) -> str:
    """A dtype as pictures write it: fp32, fp16, bf16, else CANN's short name."""
    return short_dtype(dtype.numpy_name) if dtype.numpy_name else dtype.short


def tiling_words(tiling: Tiling) -> Text:
    """Which work is cut for what: the first part of the grey line."""
    count, dtype = grouped(tiling.total_num), dtype_text(tiling.dtype)
    elements = Text("{n} {dtype} elements", n=count, dtype=dtype)
    if tiling.total_num == 1:
        elements = Text("{n} {dtype} element", n=count, dtype=dtype)
    buffering = Text("double buffer") if tiling.double_buffer else Text("single buffer")
    return Text(
        "{op} · {elements} · {buffering} (key {key})",
        op=tiling.op,
        elements=elements,
        buffering=buffering,
        key=tiling.tiling_key,
    )


def chip_words(tiling: Tiling) -> Text:
    """The chip as the tiling is told of it, with a warning where its tiling is not public."""
    cores = Text("{n} vector cores", n=grouped(tiling.cores))
    if tiling.cores == 1:
        cores = Text("{n} vector core", n=1)
    rule = Text("public tiling")
    if not tiling.public:
        rule = Text("tiling not public here: the 950's rule assumed")
    size = grouped(tiling.ub_bytes)
    return Text("{cores} with {size} B of UB each · {rule}", cores=cores, size=size, rule=rule)


def plain(text: str) -> str:
    """A text for ears: without the spaces inside numbers, without double spaces."""
    return text.replace("\u202f", "").replace("  ", " ")
