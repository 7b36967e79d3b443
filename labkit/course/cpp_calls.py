"""The C calls of two host programs side by side, addresses replaced by names.

Addresses differ from run to run. So whatever a program makes is called by its
kind and number, in the order in which it is made: memory#1, tensor#3,
stream#1. An address that is none of these is memory of the host.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from pathlib import Path
from typing import Protocol

from labkit.cann.interface import prototypes
from labkit.course.show import table

__all__ = ["Call", "CallLike", "Names", "SideBySide", "beside", "named", "read_log"]

_ADDRESS = re.compile(r"0x[0-9a-f]+")
_COLOURS = {"=": "#0072b2", "↕": "#767676", "≠": "#d55e00", "+": "#d55e00"}
_KINDS = {
    "aclTensor": "tensor",
    "aclScalar": "scalar",
    "aclOpExecutor": "executor",
    "aclrtStream": "stream",
    "aclrtContext": "context",
    "aclrtEvent": "event",
}


class CallLike(Protocol):
    """What a call is known by; the records of the lab's own calls have it too."""

    @property
    def name(self) -> str:
        """The C function."""

    @property
    def args(self) -> tuple[str, ...]:
        """The arguments, `name=value` each."""

    @property
    def status(self) -> int | None:
        """The code returned; None for a function that returns no code."""

    @property
    def returned(self) -> str:
        """What came back, as text."""


@dataclass(frozen=True)
class Call:
    """A call: its C function, arguments as `name=value`, its code (None: it returns another)."""

    name: str
    args: tuple[str, ...]
    status: int | None
    returned: str

    def argument(self, name: str) -> str:
        """The value of an argument, without the mark of an out pointer; empty without one."""
        given = dict(arg.split("=", 1) for arg in self.args)
        return given.get(name, "").removeprefix("&")

    def __str__(self) -> str:
        """The call as short as it can be understood: what it works on, what it makes."""
        if self.name.startswith("aclrtMemcpy"):
            what = f"{self.argument('src')} → {self.argument('dst')}, {self.argument('count')} B"
        elif self.name.startswith("aclrtMalloc"):
            what = f"{self.argument('devPtr')}, {self.argument('size')} B"
        elif self.name == "aclCreateTensor":
            what = f"{self.returned} on {self.argument('tensorData')}"
        elif self.name.startswith("aclCreate"):
            what = self.returned
        else:
            values = (arg.split("=", 1)[1].removeprefix("&") for arg in self.args)
            what = ", ".join(value for value in values if "#" in value)
            what = what if len(what) < 30 else ""
        return f"{self.name} {what}".rstrip()


def read_log(path: Path) -> tuple[Call, ...]:
    """The calls in a file that the software NPU wrote (`labkit.sim.call_log`)."""
    found = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
            found.append(
                Call(entry["name"], tuple(entry["args"]), entry["status"], entry["returned"])
            )
        except (ValueError, KeyError, TypeError):
            break  # the last line of a program that was stopped
    return tuple(found)


class Names:
    """The names of the addresses that calls have shown so far."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}
        self._made: Counter[str] = Counter()

    def call(self, call: CallLike) -> Call:
        """The same call with names; what it makes gets one."""
        params = prototypes()[call.name].params
        args = []
        for arg, (ctype, _) in zip(call.args, params):
            name, _, value = arg.partition("=")
            kind = _KINDS.get(ctype.replace("const", "").strip(" *"), "")
            if call.name.startswith("aclrtMalloc") and name == "devPtr":
                kind = "memory"
                self._forget(value)
            if kind and not (ctype.endswith("*") and kind in ("stream", "context", "event")):
                self._learn(value, kind)
            args.append(f"{name}={self.text(value, other='host')}")
        returns = prototypes()[call.name].returns.strip(" *")
        if returns in _KINDS:
            self._learn(call.returned, _KINDS[returns])
        return Call(call.name, tuple(args), call.status, self.text(call.returned, other="host"))

    def text(self, text: str, other: str = "0x…") -> str:
        """A text with names in place of addresses; `other` stands for those that have none."""
        return _ADDRESS.sub(lambda found: self._known.get(int(found[0], 16), other), text)

    def _learn(self, value: str, kind: str) -> None:
        found = _ADDRESS.fullmatch(value.removeprefix("&"))
        if found and int(found[0], 16) not in self._known:
            self._made[kind] += 1
            self._known[int(found[0], 16)] = f"{kind}#{self._made[kind]}"

    def _forget(self, value: str) -> None:
        found = _ADDRESS.fullmatch(value.removeprefix("&"))
        if found:
            self._known.pop(int(found[0], 16), None)


def named(calls: Iterable[CallLike]) -> tuple[Call, ...]:
    """Calls with names in place of addresses."""
    names = Names()
    return tuple(names.call(call) for call in calls)


@dataclass(frozen=True)
class Row:
    """A line of two columns: a mark, and a call or nothing on either side.

    The marks: "=" the same call at the same place, "↕" a call that the other
    program makes elsewhere, "≠" one that it makes with other arguments, "+"
    one that it does not make.
    """

    mark: str
    left: Call | None
    right: Call | None


class SideBySide:
    """Two programs' calls in two columns; text, and a table in a notebook."""

    def __init__(self, head: tuple[str, str], rows: Sequence[Row]) -> None:
        self.head = head
        self.rows = tuple(rows)

    def count(self, mark: str) -> int:
        """How many lines have this mark."""
        return sum(row.mark == mark for row in self.rows)

    def __repr__(self) -> str:
        return table(
            [self.head[0], "", self.head[1]],
            [[row.left or "", row.mark, row.right or ""] for row in self.rows],
        )

    def _repr_html_(self) -> str:
        style = 'style="text-align:left;padding:1px 10px"'
        rows = [[f"<th {style}>{escape(text)}</th>" for text in (self.head[0], "", self.head[1])]]
        for row in self.rows:
            mark = f'<b style="color:{_COLOURS[row.mark]}">{row.mark}</b>'
            cells = (escape(str(row.left or "")), mark, escape(str(row.right or "")))
            rows.append([f"<td {style}>{cell}</td>" for cell in cells])
        lines = [f"<tr>{''.join(row)}</tr>" for row in rows]
        return "\n".join(
            ['<table style="font-family:monospace;font-size:13px">', *lines, "</table>"]
        )


def beside(
    left: Iterable[CallLike], right: Iterable[CallLike], head: tuple[str, str]
) -> SideBySide:
    """Lay two programs' calls side by side: the same calls in one line, the others marked."""
    ours, theirs = named(left), named(right)
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    elsewhere = Counter(ours) & Counter(theirs)
    for start, _, size in matcher.get_matching_blocks():
        elsewhere -= Counter(ours[start : start + size])
    alone = [set(ours) - set(theirs), set(theirs) - set(ours)]
    short = [{str(call) for call in calls} for calls in alone]
    seen: tuple[Counter[Call], Counter[Call]] = (Counter(), Counter())

    def mark(call: Call, side: int) -> str:
        seen[side][call] += 1
        if seen[side][call] <= elsewhere[call]:
            return "↕"
        return "≠" if call in alone[side] and str(call) in short[1 - side] else "+"

    rows: list[Row] = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            rows += [Row("=", one, other) for one, other in zip(ours[a:b], theirs[c:d])]
        else:
            rows += [Row(mark(call, 0), call, None) for call in ours[a:b]]
            rows += [Row(mark(call, 1), None, call) for call in theirs[c:d]]
    return SideBySide(head, rows)
