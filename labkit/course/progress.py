"""Which exercises are solved, tried and open, and where that is remembered.

In a course that `labkit lab` has copied, all kernels share one file,
`progress.json`, in the folder of the course; `LABKIT_PROGRESS` names another
file. Elsewhere it lasts as long as the kernel. A file that cannot be read or
written is no reason to fail: then the kernel remembers alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from labkit.course.copy import course_above
from labkit.course.exercise import exercise, exercise_names
from labkit.language import gettext as _

__all__ = ["Progress", "note", "progress", "states"]

FILE = "progress.json"
_ORDER = ("open", "tried", "solved")
_SEEN: dict[str, str] = {}
"""What this kernel has seen: exercise -> "tried" or "solved"."""
_WAIT_SECONDS, _STALE_SECONDS = 1.0, 5.0


@dataclass(frozen=True)
class Progress:
    """Each exercise with its state, in the order of the notebooks; a table at a cell's end."""

    states: dict[str, str]
    lasting: bool = False

    def of(self, state: str, notebook: int | None = None) -> tuple[str, ...]:
        """The exercises that are "solved", "tried" or "open", of all notebooks or of one."""
        return tuple(
            name
            for name, found in self.states.items()
            if found == state and notebook in (None, exercise(name).notebook)
        )

    @property
    def notebooks(self) -> tuple[int, ...]:
        """The numbers of the notebooks that have exercises here."""
        return tuple(dict.fromkeys(exercise(name).notebook for name in self.states))

    @property
    def summary(self) -> str:
        """How many are solved, and how long that is remembered."""
        solved = _("solved: {solved} of {all}").format(
            solved=len(self.of("solved")), all=len(self.states)
        )
        if self.lasting:
            return f"{solved} · {_('remembered in this course')}"
        return f"{solved} · {_('remembered until this kernel stops')}"

    def __repr__(self) -> str:
        lines = [self.summary]
        for number in self.notebooks:
            parts = [
                _("{words}: {names}").format(words=words, names=", ".join(self.of(state, number)))
                for state, words in _words().items()
                if self.of(state, number)
            ]
            lines.append(f"{number:02}  {' · '.join(parts)}")
        return "\n".join(lines)

    def _repr_markdown_(self) -> str:
        words = _words()
        lines = [
            f"**{self.summary}**",
            "",
            f"| {_('notebook')} | {' | '.join(words.values())} |",
            "|---" * (1 + len(words)) + "|",
        ]
        for number in self.notebooks:
            cells = (", ".join(self.of(state, number)) for state in words)
            lines.append(f"| {number:02} | {' | '.join(cells)} |")
        return "\n".join(lines)


def _words() -> dict[str, str]:
    return {"solved": _("solved"), "tried": _("tried"), "open": _("open")}


def progress(notebook: int | None = None) -> Progress:
    """Which exercises are solved, tried and open: of all notebooks or of one."""
    found, path = states(), _file()
    names = (name for name in exercise_names() if notebook in (None, exercise(name).notebook))
    lasting = path is not None and os.access(path.parent, os.W_OK)
    return Progress({name: found.get(name, "open") for name in names}, lasting)


def states() -> dict[str, str]:
    """What is known of exercises, by this kernel and by those before it."""
    path = _file()
    return _merged(_SEEN, {} if path is None else _read(path))


def note(name: str, state: str) -> None:
    """Remember that an exercise was "tried" or "solved"; solved stays solved."""
    _SEEN.update(_merged(_SEEN, {name: state}))
    path = _file()
    if path is None:
        return
    with contextlib.suppress(OSError), _alone(path):
        before = _read(path)
        after = _merged(before, _SEEN)
        if after != before:
            _replace(path, json.dumps({"format": 1, "exercises": after}, indent=1) + "\n")


def _file() -> Path | None:
    named = os.environ.get("LABKIT_PROGRESS", "").strip()
    if named:
        return Path(named)
    course = course_above()
    return None if course is None else course / FILE


def _merged(one: dict[str, str], other: dict[str, str]) -> dict[str, str]:
    """Of each exercise the better state of the two."""
    return {
        name: max(one.get(name, "open"), other.get(name, "open"), key=_ORDER.index)
        for name in sorted({*one, *other})
    }


def _read(path: Path) -> dict[str, str]:
    """The states in a file; nothing where there is none, or none that can be read."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))["exercises"].items()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    return {name: state for name, state in known if state in _ORDER}


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".progress-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep the other kernels out, by a file that only one can make; waits for a second at most."""
    lock = path.with_name(f".{path.name}.lock")
    end = time.monotonic() + _WAIT_SECONDS
    held = False
    while not held and time.monotonic() < end:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            held = True
        except FileExistsError:
            time.sleep(0.01)
            with contextlib.suppress(OSError):
                if time.time() - lock.stat().st_mtime > _STALE_SECONDS:
                    lock.unlink()  # of a kernel that was killed
    try:
        yield
    finally:
        if held:
            with contextlib.suppress(OSError):
                lock.unlink()
