"""The share of computed lanes that is real, over the number of elements: one curve per cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log10

from matplotlib.figure import Figure

from labkit.draw.cores import all_lanes
from labkit.draw.numbers import percent
from labkit.draw.sheet import WIDTH, Sheet, grouped, plain, text_width
from labkit.draw.theme import DRAWING, Palette, Size
from labkit.errors import LabValueError
from labkit.language import gettext as _
from labkit.op.tiling import Tiling

__all__ = ["LanePoint", "Mark", "draw_lanes", "lane_share", "lanes_alt_text", "lanes_figure"]

MOST_DOUBLINGS = 31
"""The picture ends at 2^31 elements."""

_DECADES = MOST_DOUBLINGS * log10(2)
_TICKS = ((1, "1"), (10**3, "1 000"), (10**6, "1 million"), (10**9, "1 billion"))
_SMALL_TICKS = (10, 100, 10**4, 10**5, 10**7, 10**8)


@dataclass(frozen=True)
class LanePoint:
    """One point of a curve: elements in all, and the share (0 to 1) of lanes that is real."""

    total: int
    share: float


Curves = Mapping[str, Sequence[LanePoint]]


@dataclass(frozen=True)
class Mark:
    """A total that is marked on the curves, with the share that each has there, by its name."""

    total: int
    shares: tuple[tuple[str, float], ...]


def lane_share(tiling: Tiling) -> float:
    """Real lanes over computed ones, 0 to 1; 0 where nothing can be computed."""
    lanes = all_lanes(tiling)
    return lanes.valid / lanes.computed if lanes.computed else 0.0


def lanes_figure(curves: Curves, state: str = "", theme: str | Palette = "light") -> Figure:
    """Draw up to three curves by name; the first is the public one, `state` the grey line.

    Raises `LabValueError` for no curve, more than three, or an empty one.
    """
    if not 1 <= len(curves) <= 3 or not all(curves.values()):
        raise LabValueError("right would be one to three curves, each with a point or more")
    with DRAWING:
        sheet = Sheet(320, theme)
        sheet.head("Which share of the computed lanes is real?", state)
        draw_lanes(sheet, (70, 92, WIDTH - 100, 170), curves)
        sheet.text(
            WIDTH - 20,
            306,
            "elements in all (log)",
            sheet.colours.muted,
            size=Size.SMALL,
            align="right",
        )
        return sheet.figure


def lanes_alt_text(curves: Curves, state: str = "") -> str:
    """The curves in words: where each starts, passes one half, and ends."""
    told = [_("Which share of the computed lanes is real?")]
    if state:
        told.append(_("{sentence}.").format(sentence=_(state).rstrip(".。")))
    for name, points in curves.items():
        first, last = points[0], points[-1]
        half = next((point.total for point in points if point.share >= 0.5), None)
        middle = _("never one half") if half is None else _("one half first at {n}").format(n=half)
        told.append(
            _("{name}: {first} at {total} elements, {middle}, {last} at {most}.").format(
                name=_(name),
                first=_percent(first.share),
                total=first.total,
                middle=middle,
                last=_percent(last.share),
                most=last.total,
            )
        )
    return plain(" ".join(told))


def _percent(share: float) -> str:
    return percent(round(share * 10**9), 10**9)


def draw_lanes(
    sheet: Sheet,
    box: tuple[float, float, float, float],
    curves: Curves,
    mark: Mark | None = None,
) -> None:
    """Draw the curves into a box of a sheet (left, top, width, height), ticks outside of it."""
    colours = sheet.colours
    left, top, wide, high = box
    for level in (0.0, 0.5, 1.0):
        y = _y(box, level)
        sheet.text(left - 8, y + 4, f"{level:.0%}", colours.muted, size=Size.SMALL, align="right")
        if level:
            sheet.line([(left, y), (left + wide, y)], colours.dead)
    floor = top + high
    sheet.line([(left, top), (left, floor), (left + wide, floor)], colours.line)
    for total, words in _TICKS:
        x = _x(box, total)
        sheet.line([(x, floor), (x, floor + 6)], colours.line)
        sheet.text(x, floor + 19, words, colours.muted, size=Size.SMALL, align="center")
    for total in _SMALL_TICKS:
        x = _x(box, total)
        sheet.line([(x, floor), (x, floor + 3)], colours.line)
    shown = [share for _, share in mark.shares] if mark else []
    x = _x(box, mark.total) if mark and shown else left
    if shown:
        sheet.line([(x, _y(box, max(shown))), (x, floor)], colours.edge, dashed=True)
    same = len({tuple(points) for points in curves.values()}) == 1 and len(curves) > 1
    drawn = dict(list(curves.items())[:1]) if same else dict(curves)
    inks = (colours.passes, colours.check, colours.passes_negative)
    for number, (name, points) in reversed(list(enumerate(drawn.items()))):
        line = [(_x(box, point.total), _y(box, point.share)) for point in points]
        sheet.line(line, inks[number], 2.2)
        told = "all cuts alike" if same and len(curves) > 2 else "both cuts alike" if same else name
        _name(sheet, box, points, told, inks[number], number)
    for share in shown:
        sheet.box((x - 4, _y(box, share) - 4, 8, 8), colours.edge, colours.ground)


def _x(box: tuple[float, float, float, float], total: int) -> float:
    return box[0] + box[2] * log10(total) / (_DECADES)


def _y(box: tuple[float, float, float, float], share: float) -> float:
    return box[1] + box[3] * (1 - share / 1.04)


def _name(
    sheet: Sheet,
    box: tuple[float, float, float, float],
    points: Sequence[LanePoint],
    name: str,
    ink: str,
    number: int,
) -> None:
    """The curve's name where it climbs: the public one's right of it, others' left, higher up."""
    level = (0.25, 0.75, 0.5)[number]
    at = next((point for point in points if point.share >= level), points[-1])
    x, y = _x(box, at.total), _y(box, level) + 4
    room = (x - 10 - box[0]) if number else (box[0] + box[2] - x - 10)
    wide = text_width(name, bold=True)
    if wide <= room:  # the mark's line goes behind the name
        left = x - 12 - wide if number else x + 8
        sheet.box((left, y - 12, wide + 4, 16), sheet.colours.ground)
    at_x, align = (x - 10, "right") if number else (x + 10, "left")
    sheet.text(at_x, y, name, ink, bold=True, align=align, room=room)


def describe_mark(mark: Mark) -> str:
    """The marked total and its shares, in one line."""
    shares = ", ".join(f"{name} {_percent(share)}" for name, share in mark.shares)
    if len(mark.shares) > 1 and len({share for _, share in mark.shares}) == 1:
        shares = f"{_percent(mark.shares[0][1])} with either cut"
    return f"{grouped(mark.total)}: {shares}" if shares else ""
