"""Reading CANN's host log (plog): lines with level, place and text, and what tells of our calls.

A line is

    [LEVEL] MODULE(pid,process):yyyy-mm-dd-hh:mm:ss.mmm.uuu [file:line]text

and the text of aclnn begins with `[NNOP][function][tid]` and, on errors,
`errno[N]`, and `OpName:[aclnnHardshrinkBackward_1]`. The operator's module is OP.
Nothing is printed by default but errors; `environment()` gives the variables
that turn the log on.

Sources: cann/runtime src/dfx/log/liblog/slog (commit
681ef7610df13c8128982901142a2c869ddbb53e); cann/opbase op_log.h:101-180 and
op_dfx.cpp:705-719 (commit aa3cd74b7f6d772acd64ff48292a7e65a9bc8142).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from labkit.errors import LabError

__all__ = ["LogError", "LogLine", "environment", "launches", "parse", "read_log"]

_LINE = re.compile(
    r"\[(?P<level>[A-Z]+)\]\s*(?P<module>\w+)\((?P<pid>\d+),(?P<process>[^)]*)\):"
    r"(?P<time>\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}\.\d{3})\s*"
    r"\[(?P<file>[^\]:]*):(?P<number>\d+)\](?P<text>.*)"
)
_NAME = re.compile(r"OpName:\[(?P<name>[A-Za-z]\w*?)_(?P<sequence>\d+)(?:_(?P<l0>\w+))?\]")
_CODE = re.compile(r"errno\[(\d+)\]")
_LAUNCH = re.compile(r"(?P<number>\d+) start to Launch (?P<op_type>\w+)")
_TILING = re.compile(r"Tiling Key: (\d+), len: \d+, numBlocks: (\d+)")


class LogError(LabError, ValueError):
    """A log that cannot be read; the message names the file and what would be right."""


@dataclass(frozen=True)
class LogLine:
    """One line of the log.

    `operator` is the aclnn operator the line speaks of, `sequence` its number
    in this process, `l0` the l0 operator inside it; empty, 0 and empty where
    the line names none. `code` is the error number, 0 where there is none.
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
    from dataclasses import replace

    name, code = _NAME.search(text), _CODE.search(text)
    return replace(
        line,
        text=text,
        operator=name["name"] if name else "",
        sequence=int(name["sequence"]) if name else 0,
        l0=(name["l0"] or "") if name else "",
        code=int(code[1]) if code else 0,
    )


def read_log(path: str | Path) -> tuple[LogLine, ...]:
    """Read a plog file, or every plog-*.log under a folder, in the order of their times.

    Raises `LogError` when there is none, or none of its lines is a log line.
    """
    root = Path(path)
    files = [root] if root.is_file() else sorted(root.rglob("plog-*.log"))
    if not files:
        raise LogError(
            f"no plog-*.log under {root}. By default it is ~/ascend/log/debug/plog; "
            "ASCEND_PROCESS_LOG_PATH names another place"
        )
    found: list[LogLine] = []
    for file in files:
        try:
            with open(file, encoding="utf-8", errors="replace") as stream:
                found += parse(stream)
        except OSError as error:
            raise LogError(f"{file} cannot be read: {error.strerror}") from error
    if not found:
        raise LogError(
            f"{files[0].name} has no line as CANN writes them: [LEVEL] MODULE(pid,process):time "
            "[file:line]text"
        )
    return tuple(sorted(found, key=lambda line: line.time))


def launches(lines: Iterable[LogLine], operator: str) -> tuple[str, ...]:
    """The kernels that an operator launched, as its info lines tell."""
    return tuple(line.launch for line in lines if line.launch and line.operator == operator)


def environment(folder: str | Path, level: str = "info") -> dict[str, str]:
    """The variables that make CANN write its log of operators into a folder.

    `level` is debug, info, warning or error. They must be set before the
    process starts.
    """
    levels = {"debug": "0", "info": "1", "warning": "2", "error": "3"}
    if level not in levels:
        raise LogError(f"level is {level!r}; right would be one of {', '.join(levels)}")
    return {
        "ASCEND_PROCESS_LOG_PATH": str(folder),
        "ASCEND_GLOBAL_LOG_LEVEL": "3",
        "ASCEND_MODULE_LOG_LEVEL": f"OP={levels[level]}",
        "ASCEND_GLOBAL_EVENT_ENABLE": "0",
    }
