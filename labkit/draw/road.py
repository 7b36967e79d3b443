"""The road of one call: every C call of a host program, in the groups a reader thinks in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle

from labkit.draw.theme import DRAWING, Palette, Size, new_figure, palette, write
from labkit.language import Text
from labkit.language import gettext as _

__all__ = ["STATIONS", "Station", "road", "road_alt_text", "road_figure"]

STATIONS = (
    (Text("start"), Text("open the library, a device, a stream")),
    (Text("memory"), Text("room on the device, inputs copied in")),
    (Text("describe"), Text("tell the library about shapes")),
    (Text("phase 1"), Text("check, plan, say what is needed")),
    (Text("workspace"), Text("room for intermediate results")),
    (Text("phase 2"), Text("queue the kernels")),
    (Text("wait"), Text("until the queue is empty")),
    (Text("read back"), Text("the result to the host")),
    (Text("give back"), Text("descriptions and memory")),
    (Text("stop"), Text("stream, device, library")),
)
"""The stations in order, each with what it is for."""

WIDTH, HEIGHT = 940, 390
_STOP = ("aclrtDestroyStream", "aclrtResetDevice", "aclFinalize", "aclFinalizeReference")
_GIVE_BACK = re.compile(r"acl(rtFree|Destroy\w+)$")


class CCall(Protocol):
    """What a record of calls holds: anything with the C function's name and its code."""

    name: str
    status: int | None


@dataclass(frozen=True)
class Station:
    """One stretch of the road: `calls` are (C function, how often), `failed` a code or 0."""

    name: str
    purpose: str
    calls: tuple[tuple[str, int], ...]
    failed: int = 0

    @property
    def count(self) -> int:
        """C calls made here."""
        return sum(count for _, count in self.calls)


def road(record: Iterable[CCall]) -> tuple[Station, ...]:
    """Sort a record of C calls into the stations; a station without a call is there, empty.

    Takes the record of a device from opening to closing, or that of one call.
    Within a station the functions stand in the order of their first call.

    >>> from types import SimpleNamespace as C
    >>> [s.name for s in road([C(name="aclInit", status=0)]) if s.count]
    ['start']
    """
    counted: dict[str, Counter[str]] = {name: Counter() for name, _ in STATIONS}
    failed: dict[str, int] = {}
    progress = 0  # 0 before phase 1, 1 after it, 2 after phase 2, 3 after the wait
    for call in record:
        if call.name.startswith("aclnn"):
            progress = 1 if call.name.endswith("GetWorkspaceSize") else 2
        place = _station(call.name, progress)
        if place == "wait":
            progress = 3
        elif place == "give back":
            progress = 0
        counted[place][call.name] += 1
        if call.status:
            failed[place] = call.status
    return tuple(
        Station(name, purpose, tuple(counted[name].items()), failed.get(name, 0))
        for name, purpose in STATIONS
    )


def _station(name: str, progress: int) -> str:
    if name.startswith("aclnn"):
        return "phase 1" if name.endswith("GetWorkspaceSize") else "phase 2"
    if _GIVE_BACK.match(name):
        return "give back"
    if name in _STOP:
        return "stop"
    if name.startswith("aclCreate"):
        return "describe"
    if name == "aclrtMalloc":
        return "workspace" if progress == 1 else "memory"
    if name.startswith("aclrtMemcpy") or name.startswith("aclrtMemset"):
        return "read back" if progress == 3 else "memory"
    if name == "aclrtSynchronizeStream":
        return "wait" if progress in (1, 2) else "stop"
    return "start"


def road_figure(stations: tuple[Station, ...], theme: str | Palette = "light") -> Figure:
    """Draw the road as a strip of two rows, five stations each."""
    colours = palette(theme)
    with DRAWING:
        figure, _ = new_figure(WIDTH, HEIGHT, colours)
        total = sum(station.count for station in stations)
        title = f"What does one call take? {total} C calls"
        write(figure, 20, 36, title, colours.ink, size=Size.TITLE, bold=True)
        write(figure, 20, 60, _subtitle(stations), colours.muted)
        for number, station in enumerate(stations):
            x, y = 20 + 182 * (number % 5), 112 + 148 * (number // 5)
            _draw(figure, x, y, station, colours, last=number % 5 == 4)
        return figure


def _subtitle(stations: tuple[Station, ...]) -> str:
    failed = [station for station in stations if station.failed]
    if failed:
        return f"{failed[0].name} refused with {failed[0].failed}; what is grey did not happen"
    compute = sum(s.count for s in stations if s.name == "phase 2")
    return f"{compute} of them puts the operator to work; the others make that possible"


def _draw(
    figure: Figure, x: float, y: float, station: Station, colours: Palette, *, last: bool
) -> None:
    runs = colours.passes if station.count else colours.line
    colour = colours.edge if station.failed else runs
    figure.add_artist(
        Line2D(
            [(x + 15) / WIDTH, (x + (172 if last else 197)) / WIDTH],
            [1 - y / HEIGHT] * 2,
            color=colours.dead,
            lw=4.0,
            ls="-",
            marker="",
            zorder=1,
        )
    )
    circle = Circle(
        (x + 15, HEIGHT - y),
        15,
        transform=None,
        facecolor=colour if station.count else colours.ground,
        edgecolor=colour,
        linewidth=1.6,
        zorder=2,
    )
    figure.add_artist(circle)
    number = write(
        figure,
        x + 15,
        y + 5,
        str(station.count),
        colours.ground if station.count else colours.muted,
        size=Size.HEAD,
        bold=True,
        align="center",
    )
    number.set_zorder(3)
    head = colours.edge if station.failed else colours.ink if station.count else colours.muted
    write(figure, x, y + 36, station.name, head, size=Size.HEAD, bold=True)
    lines = [
        part
        for name, count in station.calls
        for part in _broken(f"{name} ×{count}" if count > 1 else name)
    ]
    for row, line in enumerate(lines[:5]):
        write(figure, x, y + 54 + 15 * row, line, colours.muted, size=Size.NAMES, mono=True)


def _broken(text: str) -> list[str]:
    """Break a long C name before its last word, so that it fits a station."""
    if len(text) <= 24:
        return [text]
    at = text.find("GetWorkspaceSize")
    return [text[:at], "  " + text[at:]] if at > 0 else [text]


def road_alt_text(stations: tuple[Station, ...]) -> str:
    """The road in words."""
    count = sum(station.count for station in stations)
    told = [_("The road of one call, {count} C calls.").format(count=count)]
    for station in stations:
        calls = _(", ").join(
            name if count == 1 else f"{name} ×{count}" for name, count in station.calls
        )
        said = {"name": _(station.name), "purpose": _(station.purpose)}
        said["calls"] = calls or _("no call")
        if station.failed:
            line = _("{name} ({purpose}): {calls}, refused with {code}.")
            told.append(line.format(**said, code=station.failed))
        else:
            told.append(_("{name} ({purpose}): {calls}.").format(**said))
    return " ".join(told)
