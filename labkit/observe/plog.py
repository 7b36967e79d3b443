"""Reading CANN's host log (plog): lines with level, place and text, and the calls they tell of.

A line is

    [LEVEL] MODULE(pid,process):yyyy-mm-dd-hh:mm:ss.mmm.uuu [file:line]text

and the text of aclnn begins with `[NNOP][function][tid]`, on errors
`errno[N]`, and `OpName:[aclnnHardshrinkBackward_1]`: the operator and the
number of its call, then the l0 operator while one works. The operator's module
is OP. Nothing is written by default but errors; `environment()` gives the
variables that turn the log on. The launches stand at info level, tiling key
and number of blocks at debug level.

A log of one process may stand in several files, and files of several processes
in one folder: `labkit.observe.logs` tells them apart. A line that begins as
CANN's do and is not whole is refused, with its number.

Sources: cann/runtime src/dfx/log/liblog/slog (commit
681ef7610df13c8128982901142a2c869ddbb53e); cann/opbase op_log.h:101-180,
op_dfx.cpp:705-719, op_kernel.h:658 (commit
aa3cd74b7f6d772acd64ff48292a7e65a9bc8142).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from labkit.errors import LabError
from labkit.language import Text
from labkit.language import gettext as _
from labkit.observe.kernels import Observation, ObservedKernel

__all__ = [
    "SAMPLE_DAY",
    "LogError",
    "LogLine",
    "LoggedCall",
    "begins",
    "calls",
    "environment",
    "launches",
    "observe_log",
    "parse",
]

_LINE = re.compile(
    r"\[(?P<level>[A-Z]+)\]\s*(?P<module>\w+)\((?P<pid>\d+),(?P<process>[^)]*)\):"
    r"(?P<time>\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}\.\d{3})\s*"
    r"\[(?P<file>[^\]]*):(?P<number>\d+)\](?P<text>.*)",
    re.ASCII | re.DOTALL,
)
_HEAD = re.compile(r"\[(?:DEBUG|INFO|WARNING|ERROR|EVENT|TRACE)\]\s*\w+\(\d+,", re.ASCII)
"""How a line of CANN begins; one that does and goes on otherwise was cut off or damaged."""
# Repeats have a most, so that a huge line takes no longer than it is long.
_PLACE = re.compile(r"\[NNOP\]\[(?P<function>[^\]]{0,300})\]\[(?P<thread>[0-9]+)\]\s*")
_NAME = re.compile(
    r"OpName:\[(?P<name>[A-Za-z]\w{0,200}?)_(?P<sequence>[0-9]+)(?:_(?P<l0>\w{1,300}))?\]\s*"
)
_CODE = re.compile(r"errno\[([0-9]+)\]\s*")
_LAUNCH = re.compile(r"(?<![0-9])(?P<number>[0-9]{1,9}) start to Launch (?P<op_type>\w{1,300})")
_TILING = re.compile(r"Tiling Key: ([0-9]+), len: [0-9]+, numBlocks: ([0-9]+)")
SAMPLE_DAY = "2000-01-01"
"""The day of every line of a format sample: no machine with an NPU wrote a log then."""

_COPIES = ("CopyToNpu", "CopyNpuToNpu")


class LogError(LabError, ValueError):
    """A log that cannot be read; the message names the file and what would be right."""


@dataclass(frozen=True)
class LogLine:
    """One line of the log.

    `operator` is the aclnn operator the line speaks of, `sequence` the number
    of the call in this process, `l0` the l0 operator inside it; empty, 0 and
    empty where the line names none. `code` is the error number, 0 where there
    is none, `thread` the thread that wrote the line, 0 where it is not told.
    `log` tells processes of one pid apart: the first file of the process's log.
    """

    level: str
    module: str
    pid: int
    process: str
    time: str
    file: str
    line: int
    text: str
    operator: str = ""
    sequence: int = 0
    l0: str = ""
    code: int = 0
    thread: int = 0
    log: str = ""

    @property
    def said(self) -> str:
        """The text without place, error number and OpName in front."""
        return _NAME.sub("", _CODE.sub("", _PLACE.sub("", self.text, 1), 1), 1)

    @property
    def launch(self) -> str:
        """The kernel that this line says is being launched; empty for other lines."""
        found = _LAUNCH.search(self.text)
        return found["op_type"] if found else ""

    @property
    def first_launch(self) -> bool:
        """Whether this line launches the first kernel of a call."""
        found = _LAUNCH.search(self.text)
        return found is not None and int(found["number"]) == 0

    @property
    def tiling(self) -> tuple[int, int] | None:
        """(tiling key, block dim) where the line tells them: a debug line of the launch."""
        found = _TILING.search(self.text)
        return (_whole(found[1]), _whole(found[2])) if found else None


@dataclass(frozen=True)
class LoggedCall:
    """The lines of one call of an operator; `log` is the first file of its process's log."""

    operator: str
    sequence: int
    lines: tuple[LogLine, ...]
    log: str = ""

    @property
    def launches(self) -> tuple[str, ...]:
        """The kernels in launch order; empty without the lines of info level."""
        return tuple(line.launch for line in self.lines if line.launch)

    @property
    def tilings(self) -> tuple[tuple[int, int] | None, ...]:
        """(tiling key, block dim) of each launch; None where no debug line tells it."""
        found: list[tuple[int, int] | None] = []
        for line in self.lines:
            if line.launch:
                found.append(None)
            elif line.tiling and found:
                found[-1] = line.tiling
        return tuple(found)

    @property
    def codes(self) -> tuple[int, ...]:
        """The error numbers."""
        return tuple(line.code for line in self.lines if line.code)


def parse(lines: Iterable[str]) -> Iterator[LogLine]:
    """The lines of a log; a line without a head of its own belongs to the one before it.

    Raises `LogError`, with the line's number, for a line that is cut off or
    damaged, and for numbers that no log has.
    """
    head: LogLine | None = None
    more: list[str] = []
    begun = 0
    for number, line in enumerate(lines, 1):
        plain = line.rstrip("\n").removesuffix("\r").lstrip("\ufeff")
        found = _LINE.match(plain)
        if found is None:
            if _HEAD.match(plain) or "\0" in plain:
                raise _damaged(number, plain)
            if head is not None and plain.strip():
                more.append(plain.rstrip())
            continue
        if head is not None:
            yield _with_text(head, "\n".join([head.text, *more]), begun)
        begun, more = number, []
        head = _of(found, number)
    if head is not None:
        yield _with_text(head, "\n".join([head.text, *more]), begun)


def _of(found: re.Match[str], number: int) -> LogLine:
    """A line out of its parts; its text is not looked into yet."""
    try:
        pid, line = _whole(found["pid"]), _whole(found["number"])
    except LogError as error:
        raise _damaged(number, found[0]) from error
    return LogLine(
        level=found["level"],
        module=found["module"],
        pid=pid,
        process=found["process"],
        time=found["time"],
        file=found["file"],
        line=line,
        text=found["text"],
    )


def _whole(digits: str) -> int:
    """A whole number; more digits than 20 no counter has."""
    if len(digits) > 20:
        raise LogError(_("the log has a number of {n} digits").format(n=len(digits)))
    return int(digits)


def _damaged(number: int, line: str) -> LogError:
    told = line.replace("\0", "\\0")
    return LogError(
        _(
            "line {line} of the log is cut off or damaged: {text}. Without that line the rest can "
            "be read"
        ).format(line=number, text=repr(told if len(told) <= 80 else f"{told[:80]}..."))
    )


def _with_text(line: LogLine, text: str, number: int) -> LogLine:
    place, name, code = _PLACE.search(text), _NAME.search(text), _CODE.search(text)
    try:
        return replace(
            line,
            text=text,
            operator=name["name"] if name else "",
            sequence=_whole(name["sequence"]) if name else 0,
            l0=(name["l0"] or "") if name else "",
            code=_whole(code[1]) if code else 0,
            thread=_whole(place["thread"]) if place else 0,
        )
    except LogError as error:
        raise _damaged(number, text) from error


def calls(lines: Iterable[LogLine], operator: str = "") -> tuple[LoggedCall, ...]:
    """The calls that a log tells of, in the order in which they began; of one operator, or all.

    Calls of several threads and processes may stand in each other's way in a
    log; each line says to which it belongs. A process numbers its calls: where
    one of a number begins again, another process of the same pid writes.
    """
    found: dict[_Key, list[list[LogLine]]] = {}
    order: list[tuple[_Key, int]] = []
    for line in lines:
        if not line.operator or operator not in ("", line.operator):
            continue
        key = (line.log, line.pid, line.operator, line.sequence)
        runs = found.setdefault(key, [])
        if not runs or (begins(line) and any(map(begins, runs[-1]))):
            order.append((key, len(runs)))
            runs.append([])
        runs[-1].append(line)
    return tuple(LoggedCall(key[2], key[3], tuple(found[key][n]), key[0]) for key, n in order)


_Key = tuple[str, int, str, int]


def begins(line: LogLine) -> bool:
    """Whether a call of an operator begins with this line: it enters phase 1."""
    return line.said.startswith(f"Entering function {line.operator}GetWorkspaceSize")


def launches(lines: Iterable[LogLine], operator: str) -> tuple[str, ...]:
    """The kernels that an operator launched, as its info lines tell."""
    return tuple(line.launch for line in lines if line.launch and line.operator == operator)


def observe_log(call: LoggedCall) -> Observation:
    """A call as its log tells it: op types, and block dims where debug lines give them."""
    kernels = tuple(
        ObservedKernel(
            op_type=op_type,
            name=f"{call.operator}__{op_type}",
            core="RTS" if op_type in _COPIES else None,
            block_dim=tiling[1] if tiling else None,
        )
        for op_type, tiling in zip(call.launches, call.tilings)
    )
    name = f"{call.operator}_{call.sequence}"
    source = Text("CANN's log of {call}", call=name)
    if any(line.time.startswith(SAMPLE_DAY) for line in call.lines):
        source = Text("format sample, not a measurement: {files}", files=name)
    notes: tuple[str, ...] = ()
    if not kernels:
        notes = (Text("no launches were logged: set the log's level to info"),)
    return Observation(source, kernels, measured=False, notes=notes)


def environment(folder: str | Path, level: str = "info") -> dict[str, str]:
    """The variables that make CANN write its log of operators into a folder.

    `level` is debug, info, warning or error. They must be set before the
    process starts.
    """
    levels = {"debug": "0", "info": "1", "warning": "2", "error": "3"}
    if level not in levels:
        raise LogError(
            _("level is {level!r}; right would be one of {names}").format(
                level=level, names=", ".join(levels)
            )
        )
    return {
        "ASCEND_PROCESS_LOG_PATH": str(folder),
        "ASCEND_GLOBAL_LOG_LEVEL": "3",
        "ASCEND_MODULE_LOG_LEVEL": f"OP={levels[level]}",
        "ASCEND_GLOBAL_EVENT_ENABLE": "0",
    }
