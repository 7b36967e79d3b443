"""The map of a core's unified buffer (UB): which buffer lies where, and what is left.

Here, too, is the sheet on which this and the other pictures of the operator
(`chain`, `workspace`, `cores`, `pipeline`) are drawn: pixels from the top left
corner, texts that are measured before they are written.
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

from labkit.draw.numbers import percent, short_dtype
from labkit.draw.theme import DPI, DRAWING, SANS, Palette, Size, new_figure, palette, write
from labkit.op.dtypes import DataType
from labkit.op.tiling import FORWARD, GRAD, Buffer, Tiling

__all__ = ["WIDTH", "Sheet", "ub_alt_text", "ub_figure"]

WIDTH = 940
"""Pixels across every picture of the operator."""

_KEPT_BACK = {GRAD: 16384, FORWARD: 1024}
"""Bytes that each tiling function leaves out when it cuts (see `labkit.op.tiling`)."""

_LEFT, _WIDE = 112, 600
_STRIP, _TOP, _ROW = 124, 176, 32


# -- the sheet -----------------------------------------------------------------


class Sheet:
    """A figure to draw on in pixels from its top left corner, `WIDTH` wide."""

    def __init__(self, height: float, theme: str | Palette) -> None:
        self.colours = palette(theme)
        self.height = round(height)
        self.figure: Figure = new_figure(WIDTH, self.height, self.colours)[0]

    def head(self, question: str, *state: str) -> None:
        """The title and the grey line under it, in as many rows as it has parts."""
        write(self.figure, 20, 36, question, self.colours.ink, size=Size.TITLE, bold=True)
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
        if text:
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


def tiling_words(tiling: Tiling) -> str:
    """Which work is cut for what: the first part of the grey line."""
    elements = "element" if tiling.total_num == 1 else "elements"
    told = f"{tiling.op} · {grouped(tiling.total_num)} {dtype_text(tiling.dtype)} {elements}"
    buffering = "double" if tiling.double_buffer else "single"
    return f"{told} · {buffering} buffer (key {tiling.tiling_key})"


def chip_words(tiling: Tiling) -> str:
    """The chip as the tiling is told of it, with a warning where its tiling is not public."""
    cores = "1 vector core" if tiling.cores == 1 else f"{grouped(tiling.cores)} vector cores"
    told = f"{cores} with {grouped(tiling.ub_bytes)} B of UB each"
    rule = "public tiling" if tiling.public else "tiling not public here: the 950's rule assumed"
    return f"{told} · {rule}"


def plain(text: str) -> str:
    """A text for ears: without the spaces inside numbers, without double spaces."""
    return text.replace("\u202f", "").replace("  ", " ")


# -- the UB map ----------------------------------------------------------------


def ub_figure(tiling: Tiling, theme: str | Palette = "light") -> Figure:
    """Draw the UB of one core: every buffer with its pieces, to scale; an overflow in orange."""
    with DRAWING:
        end = _TOP + _ROW * len(tiling.buffers)
        sheet = Sheet(end + 116, theme)
        colours = sheet.colours
        sheet.head("What fills a core's UB?", *_state(tiling))
        scale = _WIDE / max(tiling.ub_bytes, tiling.ub_used)
        sheet.text(_LEFT - 12, _STRIP + 24, "UB", colours.ink, bold=True, align="right")
        _strip(sheet, tiling, scale, end)
        offset = 0
        for row, buffer in enumerate(tiling.buffers):
            middle = _TOP + _ROW * row + 13
            sheet.text(_LEFT - 12, middle + 4, buffer.name, colours.ink, align="right")
            for piece in range(buffer.count):
                over = offset + buffer.size > tiling.ub_bytes
                wide = max(buffer.size * scale - 1, 2.0)
                left = min(_LEFT + offset * scale, _LEFT + _WIDE - wide)
                face, edge = _faces(buffer.name, piece, over, colours)
                sheet.box((left, _STRIP, wide, 38), face, edge)
                sheet.box((left, middle - 11, wide, 22), face, edge)
                word = ("ping", "pong")[piece] if buffer.count == 2 else ""
                if text_width(word, Size.SMALL) + 3 < wide:
                    at = (left + wide / 2, middle + 4)
                    sheet.text(*at, word, on(face, colours), size=Size.SMALL, align="center")
                offset += buffer.size
            ink = colours.edge if offset > tiling.ub_bytes else colours.ink
            sheet.text(WIDTH - 20, middle + 4, _size_words(buffer), ink, align="right")
        _sums(sheet, tiling, end)
        return sheet.figure


def _strip(sheet: Sheet, tiling: Tiling, scale: float, end: float) -> None:
    """The whole UB as one bar, what the tiling keeps back, and the two limits as lines."""
    colours = sheet.colours
    room = _room(tiling)
    limit, edge = (_LEFT + place * scale for place in (room, tiling.ub_bytes))
    sheet.box((_LEFT, _STRIP, edge - _LEFT, 38), colours.dead)
    sheet.box((limit, _STRIP, edge - limit, 38), colours.ground, colours.line, dashed=True)
    sheet.line([(limit, _STRIP - 8), (limit, end + 4)], colours.line, dashed=True)
    colour = colours.ink if tiling.fits else colours.edge
    sheet.line([(edge, _STRIP - 8), (edge, end + 8)], colour, 1.6)
    told = f"the tiling cuts for {grouped(room)} B"
    wide = text_width(told, Size.SMALL)
    sheet.text(max(limit - wide, _LEFT), _STRIP - 14, told, colours.muted, size=Size.SMALL)
    told = f"UB ends at {grouped(tiling.ub_bytes)} B"
    wide = text_width(told, Size.SMALL)
    sheet.text(max(edge - wide, _LEFT), end + 24, told, colour, size=Size.SMALL)


def _sums(sheet: Sheet, tiling: Tiling, end: float) -> None:
    """Under the rows: used and left over, and what the colours say."""
    colours = sheet.colours
    used, whole = tiling.ub_used, tiling.ub_bytes
    told = f"used {grouped(used)} B"
    sheet.text(WIDTH - 20, end + 24, told, colours.ink, bold=True, align="right")
    told = f"{grouped(whole - used)} B free ({percent(max(0, whole - used), whole)})"
    if not tiling.fits:
        told = f"{grouped(used - whole)} B too many" if used else "no tile fits"
    ink = colours.muted if tiling.fits else colours.edge
    sheet.text(WIDTH - 20, end + 44, told, ink, bold=not tiling.fits, align="right")
    for row, line in enumerate(_legend(tiling)):
        sheet.text(_LEFT, end + 70 + 18 * row, line, colours.muted, size=Size.SMALL)


def _faces(name: str, piece: int, over: bool, colours: Palette) -> tuple[str, str]:
    """Fill and outline of a piece."""
    if over:
        return colours.edge, "none"
    if not name.endswith("Queue"):
        return colours.ground, colours.passes
    return (colours.passes_negative if piece else colours.passes), "none"


def _room(tiling: Tiling) -> int:
    return max(0, tiling.ub_bytes - _KEPT_BACK[tiling.op])


def _size_words(buffer: Buffer) -> str:
    pieces = f"{buffer.count} × {grouped(buffer.size)} = " if buffer.count > 1 else ""
    return f"{pieces}{grouped(buffer.total)} B"


def _state(tiling: Tiling) -> tuple[str, str]:
    tile = f"a tile of {grouped(tiling.ub_factor)}"
    if not tiling.total_num:
        tile = "no element to cut"
    return f"{tiling_words(tiling)} · {tile}", chip_words(tiling)


def _legend(tiling: Tiling) -> tuple[str, str]:
    queues = "blue: queues, the pieces that are copied in and out"
    if tiling.double_buffer:
        queues = "the two blues: the two pieces of a queue, one is copied while the other is used"
    over = "" if tiling.fits else " · orange: does not fit"
    kept = grouped(_KEPT_BACK[tiling.op])
    return (
        f"{queues} · outlined: scratch of the vector unit",
        f"grey: free · dashed: {kept} B that the tiling keeps back{over}",
    )


def ub_alt_text(tiling: Tiling) -> str:
    """The UB map in words."""
    told = [f"What fills a core's UB? {'; '.join(_state(tiling))}."]
    for buffer in tiling.buffers:
        pieces = f"{buffer.count} pieces of {buffer.size}, " if buffer.count > 1 else ""
        told.append(f"{buffer.name}: {pieces}{buffer.total} bytes.")
    used, whole = tiling.ub_used, tiling.ub_bytes
    told.append(f"Used {used} of {whole} bytes; the tiling cuts for {_room(tiling)}.")
    if not tiling.fits and not tiling.buffers:
        told.append("No tile fits.")
    elif used > whole:
        told.append(f"It does not fit: {used - whole} bytes too many.")
    else:
        told.append(f"Free: {whole - used} bytes.")
    return plain(" ".join(told))
