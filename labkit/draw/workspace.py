"""The workspace as lifetimes: which tensor lies in which bucket, from which launch to which."""

from __future__ import annotations

import re

from matplotlib.figure import Figure

from labkit.draw.sheet import WIDTH, Sheet, dtype_text, grouped, on, plain, shortened, text_width
from labkit.draw.theme import DRAWING, Palette, Size
from labkit.op.plan import Plan
from labkit.op.workspace import Bucket, Member

__all__ = ["alive", "bytes_text", "workspace_alt_text", "workspace_figure"]

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


def _is_scratch(member: Member) -> bool:
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
        sheet.head("Who lives where in the workspace?", *_state(plan))
        if not rows:
            sheet.text(20, _TOP - 30, _empty_words(plan), _empty_colour(plan, colours))
            return sheet.figure
        step = _WIDE / len(plan.launches)
        for number, launch in enumerate(plan.launches):
            x = _LEFT + step * number
            sheet.line([(x, _TOP - 54), (x, end + 28)], colours.dead)
            head = f"{number + 1}"
            sheet.text(x + step / 2, _TOP - 42, head, colours.passes, bold=True, align="center")
            for row, part in enumerate(_name_lines(launch.op_type, step - 6)):
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
        own = _is_scratch(member)
        face = colours.passes_negative if own else colours.passes
        sheet.box((x, top + 3, wide, high - 6), face)
        ink = on(face, colours)
        for line, text in enumerate(_member_lines(plan, member, wide - 8)):
            where = (x + wide / 2, top + 15 + 13 * line)
            sheet.text(*where, text, ink, size=Size.NAMES, align="center", room=wide - 4)


def _member_lines(plan: Plan, member: Member, room: float) -> list[str]:
    """Up to three short lines for a box: name, what it is, bytes."""
    name, what = _member_words(plan, member)
    needs = f"{grouped(member.size)} B"
    if text_width(needs, Size.NAMES) > room:
        needs = f"{_short_bytes(member.size)}B"
    if text_width(what, Size.NAMES) > room:
        what = what.replace("of launch", "of")
    lines = [name, what, needs]
    return [shortened(line, room, Size.NAMES) for line in lines]


def _member_words(plan: Plan, member: Member) -> tuple[str, str]:
    """A workspace tensor's name, and its dtype and shape or whose scratch it is."""
    if _is_scratch(member):
        return "scratch", f"of launch {member.start + 1}"
    for launch in plan.launches:
        for output in launch.outputs:
            if output.buffer == member.name:
                shape = ", ".join(map(str, output.shape))
                return member.name, f"{dtype_text(output.dtype)} [{shape}]"
    return member.name, ""


def _name_lines(name: str, room: float) -> list[str]:
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
            told = _short_bytes(size)
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


def _short_bytes(size: int) -> str:
    for power, unit in ((4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki")):
        if size >= 1024**power:
            return f"{size / 1024**power:.3g} {unit}"
    return str(size)


def _empty_words(plan: Plan) -> str:
    if not plan.ok:
        return f"nobody: phase 1 stopped with {plan.status} {plan.status_name}"
    if not plan.launches:
        return "nobody: nothing is launched, so 0 B of workspace"
    return "nobody: the kernel reads and writes the caller's memory, so 0 B of workspace"


def _empty_colour(plan: Plan, colours: Palette) -> str:
    return colours.muted if plan.ok else colours.edge


def _state(plan: Plan) -> tuple[str, ...]:
    launches, buckets = len(plan.launches), len(plan.buckets)
    told = f"{plan.operator} on {plan.soc.name} · {launches} launch{'' if launches == 1 else 'es'}"
    told += f" · {buckets} bucket{'' if buckets == 1 else 's'}"
    if not buckets:
        return (told,)
    scratch = any(_is_scratch(m) for bucket in plan.buckets for m in bucket.members)
    key = "scratch: a kernel's own workspace · " if scratch else ""
    return told, f"{key}each piece takes 32 B more than it needs, rounded up to 512 B"


def workspace_alt_text(plan: Plan) -> str:
    """The workspace in words."""
    told = [f"Who lives where in the workspace? {'; '.join(_state(plan))}."]
    if not plan.buckets:
        return plain(f"{told[0]} {_empty_words(plan).replace('n', 'N', 1)}.")
    kernels = ", ".join(f"{n + 1} {launch.op_type}" for n, launch in enumerate(plan.launches))
    told.append(f"Launches: {kernels}.")
    for row, bucket in enumerate(plan.buckets):
        members = []
        for member in bucket.members:
            span = f"launch {member.start + 1}"
            if member.end > member.start:
                span = f"launches {member.start + 1} to {member.end + 1}"
            words = " ".join(_member_words(plan, member))
            members.append(f"{words}, {member.size} bytes, takes {_aligned(member)}, {span}")
        where = f"{bucket.size} bytes at {bucket.offset}"
        told.append(f"Bucket {row}, {where}: {'; '.join(members)}.")
    total, most = plan.workspace_size, max(alive(plan))
    told.append(f"In all {total} bytes; at most {most} of them live at once.")
    return plain(" ".join(told))
