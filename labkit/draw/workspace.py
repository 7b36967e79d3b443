"""The workspace as lifetimes: which tensor lies in which bucket, from which launch to which."""

from __future__ import annotations

import re

from matplotlib.figure import Figure

from labkit.draw.sheet import WIDTH, Sheet, dtype_text, grouped, on, plain, shortened, text_width
from labkit.draw.theme import DRAWING, Palette, Size
from labkit.language import Text
from labkit.language import gettext as _
from labkit.op.plan import Plan
from labkit.op.workspace import Bucket, Member

__all__ = [
    "alive",
    "bytes_text",
    "empty_words",
    "is_scratch",
    "member_words",
    "name_lines",
    "short_bytes",
    "workspace_alt_text",
    "workspace_figure",
]

QUESTION = Text("Who lives where in the workspace?")
_LEFT, _WIDE = 190, WIDTH - 210
_TOP, _ROW = 146, 58
_ALIGN, _PAD = 512, 32


def alive(plan: Plan) -> tuple[int, ...]:
    """Bytes, aligned, of the workspace tensors that live during each launch."""
    members = [member for bucket in plan.buckets for member in bucket.members]
    return tuple(
        sum(_aligned(member) for member in members if member.start <= number <= member.end)
        for number in range(len(plan.launches))
    )


def is_scratch(member: Member) -> bool:
    """Whether it is a kernel's own workspace, not a tensor."""
    return member.name.startswith("kernel")


def _aligned(member: Member) -> int:
    """What the member takes: 32 bytes more, up to the next 512."""
    return -(-(member.size + _PAD) // _ALIGN) * _ALIGN


def bytes_text(number: int) -> str:
    """Bytes to the byte, and rounded to a unit where they are many."""
    exact = f"{grouped(number)} B"
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB")):
        if number >= 1024**power:
            return f"{exact} ({number / 1024**power:.1f} {unit})"
    return exact


def workspace_figure(plan: Plan, theme: str | Palette = "light") -> Figure:
    """Draw the buckets as rows of equal height over the launches; sizes are written."""
    with DRAWING:
        rows = len(plan.buckets)
        end = _TOP + _ROW * rows
        sheet = Sheet(end + (112 if rows else 0), theme)
        colours = sheet.colours
        sheet.head(QUESTION, *_state(plan))
        if not rows:
            sheet.text(20, _TOP - 30, empty_words(plan), _empty_colour(plan, colours))
            return sheet.figure
        step = _WIDE / len(plan.launches)
        for number, launch in enumerate(plan.launches):
            x = _LEFT + step * number
            sheet.line([(x, _TOP - 54), (x, end + 28)], colours.dead)
            head = f"{number + 1}"
            sheet.text(x + step / 2, _TOP - 42, head, colours.passes, bold=True, align="center")
            for row, part in enumerate(name_lines(launch.op_type, step - 6)):
                at = (x + step / 2, _TOP - 27 + 13 * row)
                sheet.text(*at, part, colours.ink, size=Size.SMALL, align="center")
        for row, bucket in enumerate(plan.buckets):
            _bucket(sheet, plan, row, bucket, step)
        _sums(sheet, plan, end, step)
        return sheet.figure


def _bucket(sheet: Sheet, plan: Plan, row: int, bucket: Bucket, step: float) -> None:
    """One row: the bucket's place and size at the left, its members over their launches."""
    colours = sheet.colours
    top = _TOP + 10 + _ROW * row
    high = _ROW - 10
    sheet.text(20, top + 16, f"bucket {row}", colours.ink, bold=True)
    sheet.text(20, top + 31, f"{grouped(bucket.size)} B", colours.ink, size=Size.SMALL)
    at = f"at {grouped(bucket.offset)}"
    sheet.text(20, top + 45, at, colours.muted, size=Size.SMALL, room=_LEFT - 30)
    sheet.box((_LEFT, top, _WIDE, high), colours.ground, colours.dead)
    for member in bucket.members:
        x = _LEFT + step * member.start + 3
        wide = step * (member.end - member.start + 1) - 6
        own = is_scratch(member)
        face = colours.passes_negative if own else colours.passes
        sheet.box((x, top + 3, wide, high - 6), face)
        ink = on(face, colours)
        for line, text in enumerate(_member_lines(plan, member, wide - 8)):
            where = (x + wide / 2, top + 15 + 13 * line)
            sheet.text(*where, text, ink, size=Size.NAMES, align="center", room=wide - 4)


def _member_lines(plan: Plan, member: Member, room: float) -> list[str]:
    """Up to three short lines for a box: name, what it is, bytes."""
    name, what = member_words(plan, member)
    needs = f"{grouped(member.size)} B"
    if text_width(needs, Size.NAMES) > room:
        needs = f"{short_bytes(member.size)}B"
    if text_width(what, Size.NAMES) > room:
        what = what.replace("of launch", "of")
    lines = [name, what, needs]
    return [shortened(line, room, Size.NAMES) for line in lines]


def member_words(plan: Plan, member: Member) -> tuple[str, str]:
    """A workspace tensor's name, and its dtype and shape or whose scratch it is."""
    if is_scratch(member):
        return Text("scratch"), Text("of launch {number}", number=member.start + 1)
    for launch in plan.launches:
        for output in launch.outputs:
            if output.buffer == member.name:
                shape = ", ".join(map(str, output.shape))
                return member.name, f"{dtype_text(output.dtype)} [{shape}]"
    return member.name, ""


def name_lines(name: str, room: float) -> list[str]:
    """A kernel's name in as few lines as fit, cut at capitals; cut anywhere if that is no help."""
    lines = [""]
    for word in re.findall("[A-Z][^A-Z]*|^[^A-Z]+", name):
        if lines[-1] and text_width(lines[-1] + word, Size.SMALL) > room:
            lines.append("")
        lines[-1] += word
    if len(lines) > 3 or max(text_width(line, Size.SMALL) for line in lines) > room:
        cut = (len(name) + 1) // 2
        lines = [name[:cut] + "-", name[cut:]]
    return [shortened(line, room, Size.SMALL) for line in lines]


def _sums(sheet: Sheet, plan: Plan, end: float, step: float) -> None:
    """Under the rows: what lives during each launch, and the total."""
    colours = sheet.colours
    living = alive(plan)
    sheet.text(20, end + 22, "alive, aligned", colours.muted, size=Size.SMALL)
    for number, size in enumerate(living):
        x = _LEFT + step * (number + 0.5)
        told = grouped(size)
        if text_width(told, Size.SMALL) > step - 4:
            told = short_bytes(size)
        sheet.text(x, end + 22, told, colours.muted, size=Size.SMALL, align="center")
    sheet.line([(20, end + 34), (WIDTH - 20, end + 34)], colours.line)
    total = f"{bytes_text(plan.workspace_size)} in all"
    wide = sheet.text(20, end + 58, total, colours.ink, size=Size.HEAD, bold=True)
    sizes = " + ".join(grouped(bucket.size) for bucket in plan.buckets)
    sheet.text(wide + 36, end + 58, f"= {sizes}", colours.muted, room=WIDTH - wide - 56)
    idle = plan.workspace_size - max(living)
    told, colour = "✓ at one launch every bucket is full: no layout is smaller", colours.check
    if idle:
        told = f"{bytes_text(idle)} more than ever live at once"
        colour = colours.edge if 4 * idle > plan.workspace_size else colours.muted
    sheet.text(20, end + 82, told, colour)


def short_bytes(size: int) -> str:
    """Bytes in three digits and the first letters of a unit."""
    for power, unit in ((4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki")):
        if size >= 1024**power:
            return f"{size / 1024**power:.3g} {unit}"
    return str(size)


def empty_words(plan: Plan) -> Text:
    """Why nobody lives in a workspace that has no bucket."""
    if not plan.ok:
        told = {"status": plan.status, "name": plan.status_name}
        return Text("nobody: phase 1 stopped with {status} {name}", **told)
    if not plan.launches:
        return Text("nobody: nothing is launched, so 0 B of workspace")
    return Text("nobody: the kernel reads and writes the caller's memory, so 0 B of workspace")


def _empty_colour(plan: Plan, colours: Palette) -> str:
    return colours.muted if plan.ok else colours.edge


def _state(plan: Plan) -> tuple[Text, ...]:
    launches, buckets = len(plan.launches), len(plan.buckets)
    told = {"operator": plan.operator, "chip": plan.soc.name}
    first = Text(
        "{operator} on {chip} · {launches} · {buckets}",
        **told,
        launches=Text("1 launch") if launches == 1 else Text("{count} launches", count=launches),
        buckets=Text("1 bucket") if buckets == 1 else Text("{count} buckets", count=buckets),
    )
    if not buckets:
        return (first,)
    rule = Text("each piece takes 32 B more than it needs, rounded up to 512 B")
    if any(is_scratch(member) for bucket in plan.buckets for member in bucket.members):
        return first, Text("scratch: a kernel's own workspace · {rule}", rule=rule)
    return first, rule


def workspace_alt_text(plan: Plan) -> str:
    """The workspace in words."""
    lines = _("; ").join(map(_, _state(plan)))
    told = [_("{question} {lines}.").format(question=_(QUESTION), lines=lines)]
    if not plan.buckets:
        words = _(empty_words(plan))
        return plain(" ".join([*told, _("{told}.").format(told=f"{words[0].upper()}{words[1:]}")]))
    kernels = _(", ").join(f"{n} {launch.op_type}" for n, launch in enumerate(plan.launches, 1))
    told.append(_("Launches: {steps}.").format(steps=kernels))
    for row, bucket in enumerate(plan.buckets):
        members = _("; ").join(_member_told(plan, member) for member in bucket.members)
        told.append(
            _("Bucket {row}, {size} bytes at {offset}: {members}.").format(
                row=row, size=bucket.size, offset=bucket.offset, members=members
            )
        )
    told.append(
        _("In all {total} bytes; at most {most} of them live at once.").format(
            total=plan.workspace_size, most=max(alive(plan))
        )
    )
    return plain(" ".join(told))


def _member_told(plan: Plan, member: Member) -> str:
    span = _("launch {start}")
    if member.end > member.start:
        span = _("launches {start} to {end}")
    return _("{name}, {size} bytes, takes {taken}, {span}").format(
        name=" ".join(map(_, member_words(plan, member))),
        size=member.size,
        taken=_aligned(member),
        span=span.format(start=member.start + 1, end=member.end + 1),
    )
