"""Reading the log files of a folder, and telling the processes apart that wrote them.

A process writes plog-<pid>_<time>.log under debug/plog, run/plog and
security/plog, and begins another file when one is full. In containers that
share a folder, several processes may have one pid. What is taken for evidence:

* Files of other folders (debug, run and security apart), of another pid or
  another process name are of other processes.
* Files of one pid and kind that overlap in time by more than a second are of
  several processes: one that writes a new file has left the old one.
* A process numbers its calls. A file that begins a call, or launches the first
  kernel of one, that an older file began already is of another process.

Otherwise a file goes on where the older one ended: the log was rotated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from labkit.language import gettext as _
from labkit.observe.plog import LogError, LogLine, begins, parse
from labkit.observe.text import file_words, is_file, read_text

__all__ = ["read_log"]

_KINDS = ("debug", "run", "security")
_OVERLAP = 1.0
"""Seconds that threads of one process may be out of order at the seam of two files."""


def read_log(path: str | Path) -> tuple[LogLine, ...]:
    """Read a plog file, or every plog-*.log under a folder, in the order of their times.

    Raises `LogError` when there is none, when none of its lines is a log line,
    and for a file that is no text or has a line that is cut off.
    """
    root = Path(path)
    single = is_file(root, partial(_refused, root))
    files = [root] if single else sorted(root.rglob("plog-*.log"))
    if not files:
        raise LogError(
            _(
                "no plog-*.log under {folder}. By default it is ~/ascend/log/debug/plog; "
                "ASCEND_PROCESS_LOG_PATH names another place"
            ).format(folder=file_words(root))
        )
    logs = [_File(file, _lines(file)) for file in files]
    found = [line for process in _processes(logs) for line in process.named()]
    if not found:
        raise LogError(
            _(
                "{file} has no line as CANN writes them: [LEVEL] MODULE(pid,process):time "
                "[file:line]text"
            ).format(file=files[0].name)
        )
    return tuple(sorted(found, key=lambda line: line.time))


def _refused(file: Path, why: str) -> LogError:
    return LogError(_("{file} cannot be read: {error}").format(file=file_words(file), error=why))


def _lines(file: Path) -> tuple[LogLine, ...]:
    text = read_text(file, partial(_refused, file))
    try:
        return tuple(parse(text.split("\n")))
    except LogError as error:
        raise LogError(f"{file.name}: {error}") from error


@dataclass
class _File:
    """One file: which process it may be of, when it begins and ends, which calls it begins."""

    path: Path
    lines: tuple[LogLine, ...]
    kind: str = ""
    start: float = 0.0
    end: float = 0.0
    begun: frozenset[tuple[str, int]] = frozenset()
    launched: frozenset[tuple[str, int]] = frozenset()

    def __post_init__(self) -> None:
        parents = self.path.parts[:-1]
        self.kind = next((part for part in reversed(parents) if part in _KINDS), "")
        times = [_seconds(line.time) for line in self.lines] or [0.0]
        self.start, self.end = min(times), max(times)
        named = [line for line in self.lines if line.operator]
        self.begun = frozenset((line.operator, line.sequence) for line in named if begins(line))
        self.launched = frozenset(
            (line.operator, line.sequence) for line in named if line.first_launch
        )

    @property
    def group(self) -> tuple[tuple[str, ...], int, str]:
        """Files of different groups are of different processes."""
        place = tuple(part for part in self.path.parts[:-1] if part not in _KINDS)
        if not self.lines:
            return place, 0, ""
        return place, self.lines[0].pid, self.lines[0].process


@dataclass
class _Process:
    """Files of one process, in the order in which they were written."""

    files: list[_File] = field(default_factory=list)

    def goes_on(self, file: _File) -> bool:
        """Whether a file may be the next of this process."""
        for older in self.files:
            if older.begun & file.begun:
                return False
            # without the lines that begin a call, its first launch tells
            if (older.launched - older.begun) & (file.launched - file.begun):
                return False
            if older.kind == file.kind and older.end - file.start > _OVERLAP:
                return False
        return True

    def named(self) -> Iterable[LogLine]:
        """The lines, with the name of the process's first file."""
        name = str(self.files[0].path)
        return (replace(line, log=name) for file in self.files for line in file.lines)


def _processes(files: Iterable[_File]) -> list[_Process]:
    groups: dict[tuple[tuple[str, ...], int, str], list[_Process]] = {}
    for file in sorted(files, key=lambda file: (file.start, str(file.path))):
        processes = groups.setdefault(file.group, [])
        # the one that wrote last goes on
        fitting = [process for process in processes if process.goes_on(file)]
        if fitting:
            max(fitting, key=lambda process: max(x.end for x in process.files)).files.append(file)
        else:
            processes.append(_Process([file]))
    return [process for processes in groups.values() for process in processes]


def _seconds(time: str) -> float:
    """Seconds of a line's time, yyyy-mm-dd-hh:mm:ss.mmm.uuu; 0 for a day that is none."""
    try:
        return datetime.strptime(time[:19], "%Y-%m-%d-%H:%M:%S").timestamp() + float(
            f"0.{time[20:23]}{time[24:27]}"
        )
    except (ValueError, OverflowError, OSError):
        return 0.0
