"""The chain of one call: every step of phase 1 in order, what flows through it, what it launches.

The two inputs come down side by side, as two lines, until the operator joins
them; a step that launches is a full blue square on its line, a skipped one an
empty grey one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from matplotlib.figure import Figure

from labkit.draw.numbers import number_text
from labkit.draw.sheet import WIDTH, Sheet, dtype_text, grouped, plain, shortened, text_width
from labkit.draw.theme import DRAWING, Palette, Size
from labkit.language import Text
from labkit.language import gettext as _
from labkit.op.describe import TensorDesc
from labkit.op.plan import Operand, Plan, Step

__all__ = ["ChainRow", "chain_alt_text", "chain_figure", "chain_rows", "state_lines"]

_TOP = 100
_LANES = {"left": 36, "right": 64, "joined": 50}
_NAME, _WHY, _KERNEL, _CORE = 88, 530, 650, 830
_LINE, _SMALL_LINE = 20, 15

QUESTION = Text("What does this call launch?")
_CORES = {"AICORE": "AI Core", "AICPU": "AI CPU", "RTS": Text("runtime copy")}
_KINDS = {
    "launched": Text("launched"),
    "skipped": Text("skipped"),
    "redirected": Text("redirected"),
    "dropped": Text("dropped"),
    "stopped": Text("stopped"),
    "checked": Text("checked"),
}
_MARKS = {"redirected": "→", "stopped": "✗"}
_ORDER = {
    "Contiguous": ("self", "gradOutput"),
    "BroadcastTo": ("gradOutput", "self"),
    "Cast": ("gradOutput", "self"),
}
"""Which input each l0 operator takes first and second on its way to HardShrinkGrad."""


@dataclass(frozen=True)
class ChainRow:
    """One row of the picture.

    `operand` is what the step works on, `lane` the line that it stands on
    (left gradOutput, right self, joined), `kind` one of launched, skipped,
    redirected, dropped (planned before a failure), stopped, checked. `before`
    and `after` say dtype and shape; `kernels` are launch numbers from 0.
    """

    name: str
    operand: str
    lane: str
    kind: str
    why: str
    before: str = ""
    after: str = ""
    kernels: tuple[int, ...] = ()


def chain_rows(plan: Plan) -> tuple[ChainRow, ...]:
    """The rows of a plan's chain, the passed checks first."""
    return tuple(_rows(plan))


def _rows(plan: Plan) -> Iterator[ChainRow]:
    if not plan.steps or plan.steps[0].layer != "L2":
        why = Text("{operator} accepts the arguments", operator=plan.operator)
        yield ChainRow(Text("checks"), "", "joined", "checked", why)
    flow = {
        name: _tensor_text(value)
        for name, value in plan.arguments.items()
        if isinstance(value, TensorDesc)
    }
    joins = "gradOutput" in plan.arguments
    output = "gradInput" if joins else "out"
    counted: dict[str, int] = {}
    merged = not joins
    for number, step in enumerate(plan.steps):
        turn = counted.get(step.name, 0)
        counted[step.name] = turn + 1
        stopped = not plan.ok and number == len(plan.steps) - 1
        operand, lane = "", "joined"
        if step.name.startswith("HardShrink") and step.layer == "l0":
            operand, merged = ("gradOutput, self" if joins else "self"), True
        elif step.name == "ViewCopy":
            operand = output
        elif stopped and step.layer == "l0" and not merged and step.name not in _ORDER:
            operand = (
                _ORDER["Contiguous"][min(counted.get("Contiguous", 0), 1)] if joins else "self"
            )
            lane = ("left" if operand == "gradOutput" else "right") if joins else "joined"
        elif step.name in _ORDER and (not merged or step.name == "Contiguous"):
            operand = _ORDER[step.name][min(turn, 1)] if joins else "self"
            lane = ("left" if operand == "gradOutput" else "right") if joins else "joined"
        elif step.name == "Cast":
            operand = Text("the result")
        source = {"gradOutput, self": "self", "the result": "result", output: "result"}
        before = flow.get(source.get(operand, operand), "")
        after = _tensor_text(step)
        kind = _kind(plan, step, stopped)
        yield ChainRow(step.name, operand, lane, kind, step.why, before, after, step.launches)
        if after:
            flow[operand if lane != "joined" else "result"] = after
            if not joins and not merged:
                flow["self"] = after


def _kind(plan: Plan, step: Step, stopped: bool) -> str:
    if stopped:
        return "stopped"
    if step.launches:
        return "launched" if plan.ok else "dropped"
    if step.name == "ViewCopy" and _redirected(plan) is not None:
        return "redirected"
    return "skipped"


def _redirected(plan: Plan) -> int | None:
    """The launch that writes the caller's memory in place of the workspace."""
    for number, launch in enumerate(plan.launches):
        if any(output.redirected for output in launch.outputs):
            return number
    return None


def _tensor_text(tensor: TensorDesc | Step | Operand) -> str:
    if tensor.dtype is None or tensor.shape is None:
        return ""
    return f"{dtype_text(tensor.dtype)} [{', '.join(map(str, tensor.shape))}]"


# -- the picture -----------------------------------------------------------------


def chain_figure(plan: Plan, theme: str | Palette = "light") -> Figure:
    """Draw the chain of a plan from the first check to the caller's memory."""
    with DRAWING:
        rows = chain_rows(plan)
        whys = [wrapped(row.why, _WHY, Size.SMALL, 3) for row in rows]
        heights = [
            max(26 + _SMALL_LINE * len(why), _LINE * len(_kernel_lines(plan, row)) + 8) + 4
            for row, why in zip(rows, whys)
        ]
        sheet = Sheet(_TOP + sum(heights) + 34, theme)
        colours = sheet.colours
        sheet.head(QUESTION, *state_lines(plan))
        places, y = [], float(_TOP)
        for height in heights:
            places.append(y)
            y += height
        _flow_lines(sheet, rows, places)
        for row, why, place in zip(rows, whys, places):
            _node(sheet, row, place + 12)
            _words(sheet, row, why, place + 16)
            for line, (text, colour, core) in enumerate(_kernel_lines(plan, row)):
                at = place + 16 + _LINE * line
                room = (_CORE if core else WIDTH - 10) - _KERNEL - 10
                ink = getattr(colours, colour)
                sheet.text(_KERNEL, at, text, ink, bold=bool(core), room=room)
                ink = colours.muted if core == _CORES["AICORE"] else colours.edge
                sheet.text(_CORE, at, core, ink, size=Size.SMALL)
        told, good = _ending(plan)
        ink = colours.check if good else colours.edge
        sheet.text(_NAME, y + 14, f"✓ {told}" if good else told, ink, bold=True)
        return sheet.figure


def _flow_lines(sheet: Sheet, rows: tuple[ChainRow, ...], places: list[float]) -> None:
    """The lines on which the tensors come down."""
    colours = sheet.colours
    solid = [(row, y + 12) for row, y in zip(rows, places) if row.kind != "checked"]
    joint = next((y for row, y in solid if row.lane == "joined"), 0.0)
    for lane in ("left", "right"):
        x = _LANES[lane]
        mine = [y for row, y in solid if row.lane == lane]
        if mine and joint:
            way = [(x, mine[0]), (x, joint - 22), (_LANES["joined"], joint)]
            sheet.line(way, colours.line, 2.0)
        elif mine:
            sheet.line([(x, y) for y in mine], colours.line, 2.0)
    down = [y for row, y in solid if row.lane == "joined"]
    if down:
        sheet.line([(_LANES["joined"], y) for y in (down[0], down[-1])], colours.line, 2.0)


def _node(sheet: Sheet, row: ChainRow, y: float) -> None:
    """The mark of a step on its line: what became of it, by mark and colour."""
    colours = sheet.colours
    x = _LANES[row.lane]
    if row.kind == "checked":
        sheet.text(x, y + 6, "✓", colours.check, size=Size.TITLE, bold=True, align="center")
        return
    face, edge = colours.ground, colours.line
    if row.kind == "launched":
        face = edge = colours.passes
    elif row.kind in _MARKS:
        face = edge = colours.edge
    sheet.box((x - 9, y - 9, 18, 18), face, edge)
    mark = _MARKS.get(row.kind, "")
    sheet.text(x, y + 5, mark, colours.ground, bold=True, align="center")


def _words(sheet: Sheet, row: ChainRow, why: list[str], y: float) -> None:
    """Name and operand of a step, what flows, and why."""
    colours = sheet.colours
    strong = {"launched": colours.ink, "stopped": colours.edge, "redirected": colours.ink}
    ink = strong.get(row.kind, colours.check if row.kind == "checked" else colours.dead_ink)
    wide = sheet.text(_NAME, y, row.name, ink, bold=True)
    wide += sheet.text(_NAME + wide + 8, y, row.operand, colours.muted) + 8
    left = _NAME + max(wide + 20, 210)
    flow = _flow(row.before, row.after, _KERNEL - 20 - left)
    changed = row.before != row.after and row.kind != "checked"
    sheet.text(left, y, flow, colours.ink if changed else colours.dead_ink, size=Size.SMALL)
    for line, text in enumerate(why):
        at = y + 17 + _SMALL_LINE * line
        sheet.text(_NAME, at, text, colours.muted, size=Size.SMALL)


def _flow(before: str, after: str, room: float) -> str:
    """What goes in and comes out, in as many words as there is room for."""
    (had, _, old), (has, _, new) = before.partition(" "), after.partition(" ")
    both = f"{had} → {has} {new}" if old == new else f"{before} → {after}"
    if not before or before == after:
        both = after
    if text_width(both, Size.SMALL) > room:
        both = f"→ {after}"
    return shortened(both, room, Size.SMALL) if after else ""


def _kernel_lines(plan: Plan, row: ChainRow) -> list[tuple[str, str, str]]:
    """What stands at the right of a row: text, the name of its colour, core."""
    if row.kind == "checked":
        return []
    if row.kind == "stopped":
        return [(Text("stopped: {status}", status=plan.status), "edge", "")]
    if row.kind == "dropped":
        return [(Text("planned, then dropped"), "muted", "")]
    if row.kind == "redirected":
        number = (_redirected(plan) or 0) + 1
        return [(Text("no kernel: launch {number} writes it", number=number), "edge", "")]
    lines: list[tuple[str, str, str]] = []
    for number in row.kernels:
        launch = plan.launches[number]
        core = _CORES.get(launch.core, launch.core)
        lines.append((f"{number + 1}  {launch.op_type}", "passes", core))
        if launch.tiling_fault:
            lines.append((Text("but its tiling will refuse"), "edge", ""))
        lines += [
            (Text("into {name} itself", name=output.buffer), "edge", "")
            for output in launch.outputs
            if output.redirected
        ]
    return lines or [(Text("no kernel"), "muted", "")]


def state_lines(plan: Plan, say: Callable[[str], str] = str) -> tuple[str, str]:
    """The grey lines under the question: the arguments; operator, chip and workspace.

    `say` brings their words into the reader's language.
    """
    told = _arguments(plan, say)
    if text_width(" · ".join(_arguments(plan, str)), Size.TEXT) > WIDTH - 40:
        told = [part.partition(" [")[0] for part in told]  # the shapes stand in the rows, too
    where = Text(
        "{operator} on {chip} · workspace {size} B",
        operator=plan.operator,
        chip=plan.soc.name,
        size=grouped(plan.workspace_size),
    )
    return " · ".join(told), say(where)


def _arguments(plan: Plan, say: Callable[[str], str]) -> list[str]:
    told = []
    for name, value in plan.arguments.items():
        if isinstance(value, TensorDesc):
            lies = "" if value.is_contiguous else f" {say(Text('strided'))}"
            told.append(f"{name} {_tensor_text(value)}{lies}")
        else:
            word = say(Text("null")) if value is None else number_text(float(value.to_float()))
            told.append(f"{'λ' if name == 'lambd' else name} {word}")
    return told


def _ending(plan: Plan) -> tuple[Text, bool]:
    """The last line, and whether it is a good one."""
    if not plan.ok:
        return Text(
            "{status} {name}: nothing behind this runs, nothing launches",
            status=plan.status,
            name=plan.status_name,
        ), False
    count = len(plan.launches)
    if not count:
        return Text("no kernel is launched"), True
    return Text("1 kernel") if count == 1 else Text("{count} kernels", count=count), True


def chain_alt_text(plan: Plan) -> str:
    """The chain in words."""
    lines = _("; ").join(state_lines(plan, _))
    told = [_("{question} {lines}.").format(question=_(QUESTION), lines=lines)]
    for row in chain_rows(plan):
        name = _(row.name)
        if row.operand:
            name = _("{step} of {operand}").format(step=name, operand=_(row.operand))
        kind = _(_KINDS[row.kind])
        if row.after:
            kind += _(", ") + _flow(row.before, row.after, 1e9)
        why = _(row.why)
        right = _kernel_lines(plan, row)
        kernels = _(", ").join(" ".join(map(_, filter(None, line[::2]))) for line in right)
        if kernels:
            why += _("; ") + kernels
        told.append(_("{step} ({what}): {why}.").format(step=name, what=kind, why=why.rstrip(".")))
    ending, good = _ending(plan)
    last = _("In all: {told}.") if good else _("{told}.")
    told.append(last.format(told=_(ending)))
    return plain(" ".join(told))


def wrapped(text: str, room: float, size: float = Size.TEXT, rows: int = 9) -> list[str]:
    """The text in lines of at most `room` pixels; what `rows` lines cannot hold is left out."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if not lines[-1] or text_width(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    if len(lines) > rows:
        lines = [*lines[: rows - 1], " ".join(lines[rows - 1 :])]
    return [shortened(line, room, size) for line in lines]
