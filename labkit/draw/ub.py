"""The map of a core's unified buffer (UB): which buffer lies where, and what is left."""

from __future__ import annotations

from matplotlib.figure import Figure

from labkit.draw.numbers import percent
from labkit.draw.sheet import (
    WIDTH,
    Sheet,
    chip_words,
    grouped,
    on,
    plain,
    text_width,
    tiling_words,
)
from labkit.draw.theme import DRAWING, Palette, Size
from labkit.language import Text
from labkit.language import gettext as _
from labkit.op.tiling import Buffer, Tiling

__all__ = ["ub_alt_text", "ub_figure"]

QUESTION = Text("What fills a core's UB?")
_LEFT, _WIDE = 112, 600
_STRIP, _TOP, _ROW = 124, 176, 32


def ub_figure(tiling: Tiling, theme: str | Palette = "light") -> Figure:
    """Draw the UB of one core: every buffer with its pieces, to scale; an overflow in orange."""
    with DRAWING:
        end = _TOP + _ROW * len(tiling.buffers)
        sheet = Sheet(end + 116, theme)
        colours = sheet.colours
        sheet.head(QUESTION, *_state(tiling))
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
    return max(0, tiling.ub_bytes - tiling.reserved)


def _size_words(buffer: Buffer) -> str:
    pieces = f"{buffer.count} × {grouped(buffer.size)} = " if buffer.count > 1 else ""
    return f"{pieces}{grouped(buffer.total)} B"


def _state(tiling: Tiling) -> tuple[Text, Text]:
    tile = Text("a tile of {n}", n=grouped(tiling.ub_factor))
    if not tiling.total_num:
        tile = Text("no element to cut")
    return Text("{work} · {tile}", work=tiling_words(tiling), tile=tile), chip_words(tiling)


def _legend(tiling: Tiling) -> tuple[str, str]:
    queues = "blue: queues, the pieces that are copied in and out"
    if tiling.double_buffer:
        queues = "the two blues: the two pieces of a queue, one is copied while the other is used"
    over = "" if tiling.fits else " · orange: does not fit"
    kept = grouped(tiling.reserved)
    return (
        f"{queues} · outlined: scratch of the vector unit",
        f"grey: free · dashed: {kept} B that the tiling keeps back{over}",
    )


def ub_alt_text(tiling: Tiling) -> str:
    """The UB map in words."""
    work, chip = _state(tiling)
    told = [_(QUESTION), _("{work}; {chip}.").format(work=_(work), chip=_(chip))]
    for buffer in tiling.buffers:
        words = _("{buffer}: {total} bytes.")
        if buffer.count > 1:
            words = _("{buffer}: {count} pieces of {size}, {total} bytes.")
        told.append(
            words.format(
                buffer=buffer.name, count=buffer.count, size=buffer.size, total=buffer.total
            )
        )
    used, whole = tiling.ub_used, tiling.ub_bytes
    words = _("Used {used} of {all} bytes; the tiling cuts for {room}.")
    told.append(words.format(used=used, all=whole, room=_room(tiling)))
    if not tiling.fits and not tiling.buffers:
        told.append(_("No tile fits."))
    elif used > whole:
        told.append(_("It does not fit: {n} bytes too many.").format(n=used - whole))
    else:
        told.append(_("Free: {n} bytes.").format(n=whole - used))
    return plain(" ".join(told))
