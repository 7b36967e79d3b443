"""Where the time of a call goes: one bar a call, each as long as the others, cut into its parts.

The bars show shares, since a tiny and a huge call differ by a factor of
thousands; the seconds stand beside. Only measured times are drawn. On the
software NPU there is no kernel to measure: its wait is grey and says what it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure

from labkit.draw.numbers import percent
from labkit.draw.sheet import WIDTH, Sheet, grouped, on, plain, text_width
from labkit.draw.theme import DRAWING, Palette, Size
from labkit.language import Text
from labkit.language import gettext as _

__all__ = ["CallTime", "seconds_text", "time_alt_text", "time_figure"]

QUESTION = Text("Where does the time of a call go?")
_LEFT, _WIDE, _HIGH = 190, 620, 34
_TOP, _STEP = 92, 108


@dataclass(frozen=True)
class CallTime:
    """The measured parts of one call, in seconds; `kernel` is None where none was measured."""

    elements: int
    dtype: str
    phase1: float
    phase2: float
    wait: float
    kernel: float | None

    @property
    def total(self) -> float:
        """Phase 1, phase 2 and the wait."""
        return self.phase1 + self.phase2 + self.wait

    @property
    def parts(self) -> tuple[tuple[str, float], ...]:
        """Names and seconds, in order of time."""
        return (
            (Text("phase 1"), self.phase1),
            (Text("phase 2"), self.phase2),
            (Text("wait"), self.wait),
        )


def seconds_text(seconds: float) -> str:
    """A time with three digits and its unit.

    >>> seconds_text(0.0000123), seconds_text(0.0456), seconds_text(1.5)
    ('12.3 µs', '45.6 ms', '1.50 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            value = seconds / size
            digits = 0 if value >= 100 else 1 if value >= 10 else 2
            return f"{value:.{digits}f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def time_figure(calls: tuple[CallTime, ...], device: str, theme: str | Palette = "light") -> Figure:
    """Draw the calls, one below the other."""
    with DRAWING:
        sheet = Sheet(_TOP + _STEP * max(1, len(calls)) + 34, theme)
        colours = sheet.colours
        sheet.head(QUESTION, _state(calls, device))
        for place, call in enumerate(calls):
            _bar(sheet, call, _TOP + _STEP * place)
        for row, line in enumerate(_notes(calls)):
            y = sheet.height - 34 + 18 * row
            sheet.text(20, y, line, colours.muted, size=Size.SMALL, room=WIDTH - 40)
        return sheet.figure


def _state(calls: tuple[CallTime, ...], device: str) -> Text:
    return Text("measured on the {device} · host times are this machine's", device=device)


def _notes(calls: tuple[CallTime, ...]) -> tuple[Text, ...]:
    if any(call.kernel is None for call in calls):
        return (
            Text("Grey: the software NPU computes on this CPU while the host waits."),
            Text("That says nothing about an NPU, and no kernel's time was measured."),
        )
    return (
        Text("The wait ends when the stream is done."),
        Text("The kernel's time is what lies between two events on the stream."),
    )


def _bar(sheet: Sheet, call: CallTime, top: float) -> None:
    colours = sheet.colours
    count = grouped(call.elements)
    sheet.text(20, top + 15, count, colours.ink, size=Size.HEAD, bold=True, room=_LEFT - 30)
    words = f"{call.dtype} elements · host"
    sheet.text(20, top + 32, words, colours.muted, size=Size.SMALL, room=_LEFT - 30)
    total = f"{seconds_text(call.total)} in all"
    sheet.text(_LEFT + _WIDE + 10, top + 22, total, colours.ink, size=Size.SMALL)
    faces = (colours.passes, colours.passes_negative, _wait_face(call, colours))
    x = float(_LEFT)
    beside = -100.0
    for (name, seconds), face in zip(call.parts, faces):
        wide = _WIDE * seconds / call.total if call.total else 0.0
        sheet.box((x, top, max(wide, 1.0), _HIGH), face)
        share = percent(round(seconds * 1e9), round(call.total * 1e9))
        inside = f"{name} {share}"
        if text_width(inside, Size.SMALL) + 10 < wide:
            at = (x + wide / 2, top + 22)
            sheet.text(*at, inside, on(face, colours), size=Size.SMALL, align="center")
            label = seconds_text(seconds)
        else:
            label = f"{name} {seconds_text(seconds)}"
        beside = _label(sheet, label, x + wide / 2, top + _HIGH + 16, beside)
        x += wide
    _kernel(sheet, call, top + _HIGH + 26)


def _label(sheet: Sheet, text: str, middle: float, y: float, after: float) -> float:
    """A time under its part, moved right where the one before is in the way; its end."""
    wide = text_width(text, Size.SMALL)
    left = min(max(middle - wide / 2, after + 12, _LEFT), _LEFT + _WIDE - wide)
    if left < after + 12:
        left = after + 12
    sheet.text(left, y, text, sheet.colours.muted, size=Size.SMALL)
    return left + wide


def _kernel(sheet: Sheet, call: CallTime, top: float) -> None:
    """The device's line: how long the kernel ran, on the scale of the bar above."""
    colours = sheet.colours
    sheet.text(20, top + 14, "device", colours.muted, size=Size.SMALL)
    if call.kernel is None:
        sheet.box((_LEFT, top, _WIDE, 20), colours.ground, colours.line, dashed=True)
        words = "kernel: not measured"
        at = (_LEFT + _WIDE / 2, top + 14)
        sheet.text(*at, words, colours.muted, size=Size.SMALL, align="center")
        return
    wide = min(_WIDE * call.kernel / call.total if call.total else 0.0, _WIDE)
    sheet.box((_LEFT + _WIDE - wide, top, max(wide, 1.0), 20), colours.check)
    told = f"kernel {seconds_text(call.kernel)}"
    if wide > text_width(told, Size.SMALL) + 10:
        at = (_LEFT + _WIDE - wide / 2, top + 14)
        ink = on(colours.check, colours)
        sheet.text(*at, told, ink, size=Size.SMALL, align="center")
    else:
        at = (_LEFT + _WIDE - wide - 8, top + 14)
        sheet.text(*at, told, colours.ink, size=Size.SMALL, align="right")


def _wait_face(call: CallTime, colours: Palette) -> str:
    return colours.dead if call.kernel is None else colours.line


def time_alt_text(calls: tuple[CallTime, ...], device: str) -> str:
    """The bars in words."""
    told = [_(QUESTION), _("{state}.").format(state=_(_state(calls, device)))]
    for call in calls:
        parts = _(", ").join(f"{_(name)} {seconds_text(spent)}" for name, spent in call.parts)
        kernel = _("kernel not measured")
        if call.kernel is not None:
            kernel = _("kernel {time}").format(time=seconds_text(call.kernel))
        told.append(
            _("{n} {dtype}: {parts}; {kernel}.").format(
                n=call.elements, dtype=call.dtype, parts=parts, kernel=kernel
            )
        )
    told += [_(note) for note in _notes(calls)]
    return plain(" ".join(told))
