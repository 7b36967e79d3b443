"""Every step of a call in one picture, layer under layer: what `explain` tells, as boxes.

The checks of aclnn; the l0 operators on the lines of their inputs, which join
at the operator itself; the launches as columns, with the workspace under them;
the kernel. `steps_mark` marks one of the steps.
"""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure

from labkit.draw.sheet import WIDTH, Sheet, grouped, on, shortened, text_width
from labkit.draw.theme import DRAWING, Palette, Size
from labkit.draw.workspace import (
    alive,
    bytes_text,
    empty_words,
    is_scratch,
    member_words,
    name_lines,
    short_bytes,
)
from labkit.language import Text
from labkit.op.plan import Plan
from labkit.op.workspace import Member

__all__ = [
    "HEIGHT",
    "QUESTION",
    "Box",
    "StepBox",
    "StepsView",
    "map_box",
    "member_boxes",
    "step_boxes",
    "steps_figure",
]

HEIGHT = 560
QUESTION = Text("What will this call launch?")

_LEFT, _RIGHT, _GAP = 112, WIDTH - 16, 10
_ROOM = _RIGHT - _LEFT + _GAP
_CHECK_TOP, _CHECK, _CHECK_ROW, _CHECK_GAP, _CHECKS_A_ROW = 94, 22, 29, 6, 7
_LANE, _LANES, _WIDEST = 52, {"gradOutput": 158, "self": 218, "": 188}, 150
_LAUNCH_TOP, _LAUNCH = 288, 42
_MAP_TOP, _MAP = 336, 128
_KERNEL_TOP, _KERNEL = 498, 44

_LOOK = {
    "passed": ("✓", "check"),
    "stopped": ("✗", "edge"),
    "returned": ("↩", "edge"),
    "assumed": ("?", "edge"),
    "redirected": ("→", "edge"),
    "launched": ("", "passes"),
    "known": ("", "passes"),
    "ran": ("", "passes"),
}
"""Sign and colour of a step by its state; any other is grey and dashed."""

Box = tuple[float, float, float, float]
"""Left, top, width, height in pixels from the top left corner."""


@dataclass(frozen=True)
class StepBox:
    """One step as a box.

    `layer` is L2, l0, definition or kernel, `state` what became of the step;
    `lane` is the input that an l0 operator works on, empty behind the join;
    `lines` stand under the name, `core` is where a launch runs if that is no
    AI Core.
    """

    layer: str
    name: str
    state: str
    lane: str = ""
    lines: tuple[str, ...] = ()
    core: str = ""


@dataclass(frozen=True)
class StepsView:
    """A call as boxes in the order of its steps, under two grey lines; `plan` has its workspace."""

    head: tuple[str, str]
    boxes: tuple[StepBox, ...]
    plan: Plan


def steps_figure(view: StepsView, theme: str | Palette = "light", *, quick: bool = False) -> Figure:
    """Draw the steps of a call; `quick` as for `Sheet`."""
    with DRAWING:
        sheet = Sheet(HEIGHT, theme, quick=quick)
        colours = sheet.colours
        sheet.head(QUESTION, *view.head)
        _gutter(sheet, view)
        _lines(sheet, view)
        for box, place in zip(view.boxes, step_boxes(view)):
            draw = {"L2": _check, "l0": _operator, "definition": _launch, "kernel": _kernel}
            draw[box.layer](sheet, box, place)
        _workspace(sheet, view.plan)
        if not view.plan.launches:
            sheet.text(_LEFT, _LAUNCH_TOP + 16, "nothing is launched", colours.muted)
        if not any(box.layer == "kernel" for box in view.boxes):
            told = "no kernel is reached" if view.plan.status else "no kernel of this operator runs"
            sheet.text(_LEFT, _KERNEL_TOP + 18, told, colours.muted)
        return sheet.figure


# -- where everything is ---------------------------------------------------------------


def step_boxes(view: StepsView) -> tuple[Box, ...]:
    """The place of every step, in their order."""
    count = {layer: sum(box.layer == layer for box in view.boxes) for layer in _TOPS}
    columns = _columns(view)
    places: list[Box] = []
    turn = dict.fromkeys(_TOPS, 0)
    for box in view.boxes:
        number = turn[box.layer]
        turn[box.layer] += 1
        if box.layer == "L2":
            wide = (_RIGHT - _LEFT + _CHECK_GAP) / _CHECKS_A_ROW
            row, place = divmod(number, _CHECKS_A_ROW)
            left, top, high = _LEFT + wide * place, _CHECK_TOP + _CHECK_ROW * row, _CHECK
            wide += _GAP - _CHECK_GAP
        elif box.layer == "l0":
            wide = min(_WIDEST, _ROOM / (max(columns) + 1))
            left, top, high = _LEFT + wide * columns[number], _LANES[box.lane], _LANE
        else:
            top, high = _TOPS[box.layer]
            wide = _ROOM / count[box.layer]
            left = _LEFT + wide * number
        places.append((left, top, wide - _GAP, high))
    return tuple(places)


_TOPS = {
    "L2": (_CHECK_TOP, _CHECK),
    "l0": (0, _LANE),
    "definition": (_LAUNCH_TOP, _LAUNCH),
    "kernel": (_KERNEL_TOP, _KERNEL),
}


def _columns(view: StepsView) -> list[int]:
    """In which column each l0 operator stands: the same operator on both inputs shares one."""
    columns: list[int] = []
    before: list[tuple[str, str]] = []
    for box in (box for box in view.boxes if box.layer == "l0"):
        shares = any(name == box.name and lane and box.lane for name, lane in before)
        before = [*(before if shares else []), (box.name, box.lane)]
        columns.append(columns[-1] + (not shares) if columns else 0)
    return columns


def map_box(plan: Plan) -> Box:
    """The place of the workspace map."""
    high = _row(plan) * len(plan.buckets) - 5 if plan.buckets else 24
    return _LEFT, _MAP_TOP, _RIGHT - _LEFT, high


def member_boxes(plan: Plan) -> tuple[tuple[Member, Box], ...]:
    """Every piece of the workspace with its place."""
    if not plan.buckets:
        return ()
    wide, high = _ROOM / len(plan.launches), _row(plan)
    return tuple(
        (
            member,
            (
                _LEFT + wide * member.start,
                _MAP_TOP + high * row,
                wide * (member.end - member.start + 1) - _GAP,
                high - 5,
            ),
        )
        for row, bucket in enumerate(plan.buckets)
        for member in bucket.members
    )


def _row(plan: Plan) -> float:
    return min(32.0, _MAP / len(plan.buckets))


# -- drawing ------------------------------------------------------------------------------


def _gutter(sheet: Sheet, view: StepsView) -> None:
    """The names of the layers, at the left."""
    ink, muted = sheet.colours.ink, sheet.colours.muted
    rows: list[tuple[float, str, str]] = [
        (_CHECK_TOP + 15, "aclnn (L2)", "Check…"),
        (_LANES["gradOutput"] + 60, "l0", "operators"),
        (_LAUNCH_TOP + 16, "definition", "launches"),
        (_KERNEL_TOP + 16, "kernel", "and tiling"),
    ]
    if len({box.lane for box in view.boxes if box.lane}) == 2:
        for lane in ("gradOutput", "self"):
            at = _LANES[lane] + _LANE / 2 + 4
            sheet.text(_LEFT - 12, at, lane, muted, size=Size.NAMES, align="right")
        rows[1] = (_LANES[""] + _LANE / 2 + 4, "l0", "")
    for y, name, more in rows:
        sheet.text(20, y, name, ink, bold=True)
        sheet.text(20, y + 15, more, muted, size=Size.NAMES)


def _lines(sheet: Sheet, view: StepsView) -> None:
    """The lines on which the inputs run through the l0 operators until they join."""
    places = [
        (box.lane, place) for box, place in zip(view.boxes, step_boxes(view)) if box.layer == "l0"
    ]
    joined = [place for lane, place in places if not lane]
    middle = _LANES[""] + _LANE / 2
    for lane in ("gradOutput", "self"):
        mine = [place for name, place in places if name == lane]
        if mine:
            y = _LANES[lane] + _LANE / 2
            way = [(mine[0][0] + 9, y), (mine[-1][0] + mine[-1][2] + 1, y)]
            if joined:
                way.append((joined[0][0] + 4, middle + (-8 if y < middle else 8)))
            sheet.line(way, sheet.colours.line, 2.0)
    if joined:
        way = [(joined[0][0] + 9, middle), (joined[-1][0], middle)]
        sheet.line(way, sheet.colours.line, 2.0)


def _frame(sheet: Sheet, box: StepBox, place: Box, strip: float = 5) -> tuple[str, str, str]:
    """A box with its sign's strip; returns sign, colour of the name, colour of the rest."""
    colours = sheet.colours
    sign, colour = _LOOK.get(box.state, ("", "line"))
    edge = getattr(colours, colour)
    idle = box.state not in _LOOK
    full = box.state == "stopped"
    sheet.box(place, edge if full else colours.ground, edge, dashed=idle or box.state == "assumed")
    left, top, _, high = place
    if not idle and strip:
        sheet.box((left, top, strip, high), edge)
    if full:
        return sign, colours.ground, colours.ground
    return sign, colours.dead_ink if idle else colours.ink, colours.muted


def _check(sheet: Sheet, box: StepBox, place: Box) -> None:
    left, top, wide, _ = place
    sign, ink, _rest = _frame(sheet, box, place, strip=0)
    colour = ink
    if box.state != "stopped" and box.state in _LOOK:
        colour = getattr(sheet.colours, _LOOK[box.state][1])
    sheet.text(left + 4, top + 15, sign or "·", colour, size=Size.NAMES, bold=True)
    name = box.name.removeprefix("Check")
    sheet.text(left + 15, top + 15, name, ink, size=Size.NAMES, room=wide - 16)


def _operator(sheet: Sheet, box: StepBox, place: Box) -> None:
    left, top, wide, _ = place
    _sign, ink, rest = _frame(sheet, box, place)
    bold = box.state in ("launched", "stopped", "redirected")
    room = wide - 14
    sheet.text(left + 11, top + 15, box.name, ink, size=Size.NAMES, bold=bold, room=room)
    for row, line in enumerate(box.lines[:2]):
        colour = _emphasis(sheet, box, row, rest)
        sheet.text(left + 11, top + 30 + 15 * row, line, colour, size=Size.NAMES, room=room)


def _emphasis(sheet: Sheet, box: StepBox, row: int, rest: str) -> str:
    """The colour of an operator's lines: what it launches stands out."""
    if row == 1 and box.state in ("launched", "redirected"):
        return str(getattr(sheet.colours, _LOOK[box.state][1]))
    return rest


def _launch(sheet: Sheet, box: StepBox, place: Box) -> None:
    left, top, wide, _ = place
    _sign, ink, rest = _frame(sheet, box, place, strip=0)
    number = box.lines[0]
    blue = sheet.colours.passes
    lines = name_lines(box.name, wide - 8 - (22 if wide > 100 else 0))[:2]
    if wide > 100:
        sheet.text(left + 7, top + 17, number, blue, bold=True)
        for row, line in enumerate(lines):
            sheet.text(left + 28, top + 17 + 13 * row, line, ink, size=Size.SMALL)
        if len(lines) == 1:
            told = f"{box.core} {box.lines[1]}".strip()
            colour = sheet.colours.edge if box.core else rest
            at = (left + 28, top + 33)
            sheet.text(*at, told, colour, size=Size.NAMES, room=wide - 32)
        return
    middle = left + wide / 2
    sheet.text(middle, top + 13, number, blue, size=Size.NAMES, bold=True, align="center")
    ink = sheet.colours.edge if box.core else ink
    for row, line in enumerate(lines):
        at = (middle, top + 25 + 12 * row)
        sheet.text(*at, line, ink, size=Size.NAMES, align="center", room=wide - 4)


def _kernel(sheet: Sheet, box: StepBox, place: Box) -> None:
    left, top, wide, _ = place
    _sign, ink, rest = _frame(sheet, box, place)
    sheet.text(left + 11, top + 16, box.name, ink, size=Size.NAMES, bold=True)
    beside = text_width(box.name, Size.NAMES, bold=True) + 20
    first, *more = [*box.lines, ""]
    sheet.text(left + beside, top + 16, first, rest, size=Size.NAMES, room=wide - beside - 6)
    for line in more[:1]:
        sheet.text(left + 11, top + 33, line, rest, size=Size.NAMES, room=wide - 18)


def _workspace(sheet: Sheet, plan: Plan) -> None:
    """The buckets as rows under the launches, and their sum."""
    colours = sheet.colours
    if not plan.buckets:
        sheet.text(20, _MAP_TOP + 16, "workspace", colours.ink, bold=True)
        colour = colours.edge if plan.status else colours.muted
        sheet.text(_LEFT, _MAP_TOP + 16, empty_words(plan), colour)
        return
    high = _row(plan)
    for row, bucket in enumerate(plan.buckets):
        top = _MAP_TOP + high * row
        sheet.box((_LEFT, top, _RIGHT - _LEFT, high - 5), colours.ground, colours.dead)
        if high > 24:
            sheet.text(20, top + 11, f"bucket {row}", colours.ink, size=Size.NAMES, bold=True)
        size = f"{grouped(bucket.size)} B"
        if text_width(size, Size.NAMES) > _LEFT - 28:
            size = f"{short_bytes(bucket.size)}B"
        below = top + (24 if high > 24 else 11)
        sheet.text(20, below, size, colours.muted, size=Size.NAMES, room=_LEFT - 26)
    for member, place in member_boxes(plan):
        _member(sheet, plan, member, place)
    total, most = plan.workspace_size, max(alive(plan))
    at = _MAP_TOP + high * len(plan.buckets) + 16
    sheet.text(20, at, "workspace", colours.ink, bold=True)
    wide = sheet.text(_LEFT, at, f"{bytes_text(total)} in all", colours.ink, bold=True)
    idle = total - most
    told, colour = "✓ all of it is alive at one launch", colours.check
    if idle:
        told = f"{bytes_text(idle)} more than ever live at once"
        colour = colours.edge if 4 * idle > total else colours.muted
    sheet.text(_LEFT + wide + 20, at, told, colour, size=Size.SMALL, room=_ROOM - wide - 40)


def _member(sheet: Sheet, plan: Plan, member: Member, place: Box) -> None:
    """One piece of workspace: name and bytes, in as many lines as its box has room for."""
    colours = sheet.colours
    left, top, wide, high = place
    face = colours.passes_negative if is_scratch(member) else colours.passes
    sheet.box(place, face)
    name, what = member_words(plan, member)
    size = f"{grouped(member.size)} B"
    if text_width(size, Size.NAMES) > wide - 8:
        size = f"{short_bytes(member.size)}B"
    rows = [name, size]
    full = f"{name} {what}"
    if not is_scratch(member) and text_width(full, Size.NAMES) <= wide - 8:
        rows[0] = full
    if high < 24:
        rows = [shortened(", ".join(rows), wide - 6, Size.NAMES)]
    ink = on(face, colours)
    for row, text in enumerate(rows):
        at = (left + wide / 2, top + 11 + 12 * row)
        sheet.text(*at, text, ink, size=Size.NAMES, align="center", room=wide - 4)
