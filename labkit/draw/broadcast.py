"""Shapes, views and what they launch: three tapes, aligned shapes, the l0 operators as boxes."""

from __future__ import annotations

from matplotlib.figure import Figure

from labkit.draw.broadcast_view import QUESTION, BroadcastView, ending, state_line
from labkit.draw.chain import wrapped
from labkit.draw.sheet import WIDTH, Sheet, grouped, text_width
from labkit.draw.slots import Slot, slots
from labkit.draw.tape import TAPE_HEIGHT, draw_tape
from labkit.draw.theme import DRAWING, Palette, Size

__all__ = ["HEIGHT", "broadcast_figure"]

HEIGHT = 684
"""Pixels of the picture, whatever it shows."""

_TAPES, _SHAPES, _LAUNCHES = 80, 414, 538
_SIZES, _VERDICT = (110, 540), 400
_BOX, _STEP = 92, 151


def broadcast_figure(
    view: BroadcastView, theme: str | Palette = "light", *, quick: bool = False
) -> Figure:
    """Draw the three parts; `quick` as for `Sheet`."""
    with DRAWING:
        sheet = Sheet(HEIGHT, theme, quick=quick)
        sheet.head(QUESTION, state_line(view))
        for number, tape in enumerate(view.tapes):
            draw_tape(sheet, tape, _TAPES + TAPE_HEIGHT * number)
        _draw_shapes(sheet, view)
        _draw_launches(sheet, view)
        return sheet.figure


# -- the shapes ------------------------------------------------------------------


def _draw_shapes(sheet: Sheet, view: BroadcastView) -> None:
    colours, top = sheet.colours, _SHAPES
    sheet.line([(20, top - 6), (WIDTH - 20, top - 6)], colours.dead)
    head = "shapes, aligned at the last axis"
    sheet.text(20, top + 14, head, colours.ink, size=Size.HEAD, bold=True)
    rows = (top + 38, top + 58, top + 84)
    for y, word in zip(rows, ("gradOutput", "self", "together")):
        sheet.text(20, y, word, colours.muted)
    left, most = _SIZES
    count = max(len(view.axes), 1)
    step = min(84.0, (most - left) / count)
    right = left + step * count
    sheet.line([(20, rows[1] + 8), (right, rows[1] + 8)], colours.line)
    met = not view.empty and view.plan.failed_check != "CheckMaxDim"
    if not met:
        sheet.text(left + 16, rows[2], "not compared", colours.dead_ink)
    for number, axis in enumerate(reversed(view.axes)):
        x = right - step * (number + 0.5)
        good = axis.result is not None
        for y, size in ((rows[0], axis.grad), (rows[1], axis.own)):
            told = "·" if size is None else grouped(size)
            ink, bold = colours.ink if good or not met else colours.edge, met and not good
            if met and good and size != axis.result:
                told, ink, bold = f"{told} → {grouped(axis.result or 0)}", colours.passes, True
                if text_width(told, bold=True) > step - 6:
                    told = told.partition(" ")[0]
            sheet.text(x, y, told, ink, bold=bold, align="center", room=step - 4)
        if not met:
            continue
        told = grouped(axis.result) if axis.result is not None else "✗"
        ink = colours.check if good else colours.edge
        sheet.text(x, rows[2], told, ink, bold=True, align="center", room=step - 4)
    if not view.axes:
        for y in rows:
            sheet.text(left + 10, y, "0-d: no axis", colours.muted)
    told, mood = _meeting(view)
    x = max(right + 40, _VERDICT)
    for row, line in enumerate(wrapped(told, WIDTH - 20 - x, Size.TEXT, 4)):
        sheet.text(x, top + 38 + 18 * row, line, getattr(colours, mood))


def _meeting(view: BroadcastView) -> tuple[str, str]:
    """What becomes of the shapes, and in which colour."""
    plan = view.plan
    if view.empty:
        return "an input is empty: success, and no shape is ever compared", "edge"
    odd = [axis for axis in view.axes if axis.result is None]
    if odd:
        sizes = f"{odd[-1].grad} meets {odd[-1].own}"
        return f"{plan.status}: {sizes}, and neither is 1", "edge"
    if plan.failed_check == "CheckMaxDim":
        return f"{plan.status}: more than 8 axes", "edge"
    if view.fitting:
        who = view.fitting[0]
        return (
            f"shapes differ, so both inputs are broadcast, even {who}, which fits already",
            "edge",
        )
    if view.shapes_differ:
        return "shapes differ, so both inputs are broadcast", "passes"
    return "✓ equal shapes: nothing to broadcast", "check"


# -- what it launches --------------------------------------------------------------


def _draw_launches(sheet: Sheet, view: BroadcastView) -> None:
    colours, top = sheet.colours, _LAUNCHES
    sheet.line([(20, top - 14), (WIDTH - 20, top - 14)], colours.dead)
    sheet.text(20, top + 6, "what it launches", colours.ink, size=Size.HEAD, bold=True)
    total = f"workspace {grouped(view.plan.workspace_size)} B"
    sheet.text(WIDTH - 20, top + 6, total, colours.ink, bold=True, align="right")
    for number, slot in enumerate(slots(view.plan)):
        _draw_slot(sheet, slot, 20 + _STEP * number, top + 18, slot.operand in view.fitting)
    told, mood = ending(view)
    sheet.text(20, HEIGHT - 16, told, getattr(colours, mood), bold=True, room=WIDTH - 40)


def _draw_slot(sheet: Sheet, slot: Slot, x: float, y: float, fitting: bool) -> None:
    colours = sheet.colours
    strong = slot.kind in ("launched", "refused", "redirected")
    needless = fitting and slot.name == "BroadcastTo" and slot.kind == "launched"
    edge = {"launched": colours.passes, "refused": colours.edge, "redirected": colours.check}
    frame = colours.edge if needless else edge.get(slot.kind, colours.line)
    wide = _STEP - 7
    sheet.box((x, y, wide, _BOX), colours.ground, frame, dashed=not strong)
    ink = colours.ink if strong else colours.dead_ink
    sheet.text(x + 8, y + 18, slot.name, ink, bold=True, room=wide - 12)
    sheet.text(x + 8, y + 33, slot.operand, colours.muted, size=Size.SMALL)
    at = y + 52
    for number, kernel in zip(slot.numbers, slot.kernels):
        face = colours.passes if slot.core == "AICORE" else colours.edge
        told = f"{number + 1}  {kernel}"
        sheet.text(x + 8, at, told, face, size=Size.NAMES, bold=True, room=wide - 12)
        at += 15
    note = "it had the shape already" if needless else slot.note
    rows = 2 if len(slot.kernels) < 2 else 1
    for line in wrapped(note, wide - 12, Size.NAMES, rows) if note else ():
        colour = colours.edge if needless or slot.alarming else colours.muted
        sheet.text(x + 8, at, line, colour, size=Size.NAMES)
        at += 13
