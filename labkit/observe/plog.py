"""Reading CANN's host log (plog): lines with level, place and text, and the calls they tell of.

A line is

    [LEVEL] MODULE(pid,process):yyyy-mm-dd-hh:mm:ss.mmm.uuu [file:line]text

and the text of aclnn begins with `[NNOP][function][tid]`, on errors
`errno[N]`, and `OpName:[aclnnHardshrinkBackward_1]`: the operator and the
number of its call, then the l0 operator while one works. The operator's module
is OP. Nothing is written by default but errors; `environment()` gives the
variables that turn the log on. The launches stand at info level, tiling key
and number of blocks at debug level.

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
    "calls",
    "environment",
    "launches",
    "observe_log",
    "parse",
    "read_log",
]

_LINE = re.compile(
    r"\[(?P<level>[A-Z]+)\]\s*(?P<module>\w+)\((?P<pid>\d+),(?P<process>[^)]*)\):"
    r"(?P<time>\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}\.\d{3})\s*"
    r"\[(?P<file>[^\]:]*):(?P<number>\d+)\](?P<text>.*)"
)
_PLACE = re.compile(r"\[NNOP\]\[(?P<function>[^\]]*)\]\[(?P<thread>\d+)\]\s*")
_NAME = re.compile(r"OpName:\[(?P<name>[A-Za-z]\w*?)_(?P<sequence>\d+)(?:_(?P<l0>\w+))?\]\s*")
_CODE = re.compile(r"errno\[(\d+)\]\s*")
_LAUNCH = re.compile(r"(?P<number>\d+) start to Launch (?P<op_type>\w+)")
_TILING = re.compile(r"Tiling Key: (\d+), len: \d+, numBlocks: (\d+)")
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
    def tiling(self) -> tuple[int, int] | None:
        """(tiling key, block dim) where the line tells them: a debug line of the launch."""
        found = _TILING.search(self.text)
        return (int(found[1]), int(found[2])) if found else None


@dataclass(frozen=True)
class LoggedCall:
    """The lines of one call of an operator."""

    operator: str
    sequence: int
    lines: tuple[LogLine, ...]

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
    """The lines of a log; a line without a head of its own belongs to the one before it."""
    head: LogLine | None = None
    for line in lines:
        found = _LINE.match(line.rstrip("\n"))
        if found is None:
            if head is not None and line.strip():
                head = _with_text(head, f"{head.text}\n{line.rstrip()}")
            continue
        if head is not None:
            yield head
        head = _with_text(
            LogLine(
                level=found["level"],
                module=found["module"],
                pid=int(found["pid"]),
                process=found["process"],
                time=found["time"],
                file=found["file"],
                line=int(found["number"]),
                text="",
            ),
            found["text"],
        )
    if head is not None:
        yield head


def _with_text(line: LogLine, text: str) -> LogLine:
    place, name, code = _PLACE.search(text), _NAME.search(text), _CODE.search(text)
    return replace(
        line,
        text=text,
        operator=name["name"] if name else "",
        sequence=int(name["sequence"]) if name else 0,
        l0=(name["l0"] or "") if name else "",
        code=int(code[1]) if code else 0,
        thread=int(place["thread"]) if place else 0,
    )


def read_log(path: str | Path) -> tuple[LogLine, ...]:
    """Read a plog file, or every plog-*.log under a folder, in the order of their times.

    Raises `LogError` when there is none, or none of its lines is a log line.
    """
    root = Path(path)
    files = [root] if root.is_file() else sorted(root.rglob("plog-*.log"))
    if not files:
        raise LogError(
            _(
                "no plog-*.log under {folder}. By default it is ~/ascend/log/debug/plog; "
                "ASCEND_PROCESS_LOG_PATH names another place"
            ).format(folder=root)
        )
    found: list[LogLine] = []
    for file in files:
        try:
            with open(file, encoding="utf-8", errors="replace") as stream:
                found += parse(stream)
        except OSError as error:
            raise LogError(
                _("{file} cannot be read: {error}").format(file=file, error=error.strerror)
            ) from error
    if not found:
        raise LogError(
            _(
                "{file} has no line as CANN writes them: [LEVEL] MODULE(pid,process):time "
                "[file:line]text"
            ).format(file=files[0].name)
        )
    return tuple(sorted(found, key=lambda line: line.time))


def calls(lines: Iterable[LogLine], operator: str = "") -> tuple[LoggedCall, ...]:
    """The calls that a log tells of, in the order in which they began; of one operator, or all.

    Calls of several threads and processes may stand in each other's way in a
    log; each line says to which it belongs.
    """
    found: dict[tuple[int, str, int], list[LogLine]] = {}
    for line in lines:
        if line.operator and operator in ("", line.operator):
            found.setdefault((line.pid, line.operator, line.sequence), []).append(line)
    return tuple(LoggedCall(key[1], key[2], tuple(lines)) for key, lines in found.items())


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
