"""An exercise as a folder: what is asked, where to start, how it is judged, how it is solved.

    exercises/NAME/
        text.en.md       a title, the task, and under headings "Hint 1" to "Hint 3" the hints
        explained.en.md  why the solution is right
        text.zh.md, explained.zh.md
        stub.py          the notebook cell to start from: it runs, and does not pass
        solution.py      the same cell, solved
        check.py         NOTEBOOK, KIND, and judge(answer, device) -> Verdict

Stub and solution are cells and not modules: they use what a notebook has
imported (`np`, `labkit`, `check`) and end with the call of `check`.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from labkit.errors import LabValueError
from labkit.language import language

__all__ = ["KINDS", "Exercise", "exercise", "exercise_names"]

KINDS = ("predict", "build", "separate")
_FOLDER = Path(__file__).parent / "exercises"
_HINT = re.compile(r"^## Hint (\d)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Exercise:
    """One exercise; `notebook` is the number of the notebook it belongs to."""

    name: str
    notebook: int
    kind: str
    judge: Any

    def file(self, name: str) -> str:
        """The text of a file of the exercise's folder."""
        return (_FOLDER / self.name.replace(" ", "_") / name).read_text(encoding="utf-8")

    @property
    def cell(self) -> str:
        """The id of its cell in the notebook."""
        return "exercise-" + self.name.replace(" ", "-")

    def text(self, chosen: str | None = None) -> str:
        """Title and task, as Markdown that starts with a third-level heading."""
        head = _HINT.split(self.file(f"text.{chosen or language()}.md"))[0].strip()
        return re.sub(r"^# ", "### ", head)

    def hints(self, chosen: str | None = None) -> tuple[str, ...]:
        """The three hints, each more open than the one before."""
        parts = _HINT.split(self.file(f"text.{chosen or language()}.md"))
        return tuple(part.strip() for part in parts[2::2])

    def explained(self, chosen: str | None = None) -> str:
        """Why the solution is right, as Markdown."""
        return self.file(f"explained.{chosen or language()}.md").strip()

    @property
    def stub(self) -> str:
        """The source of the cell to start from."""
        return self.file("stub.py").strip()

    @property
    def solution(self) -> str:
        """The source of the solved cell."""
        return self.file("solution.py").strip()


@cache
def exercise_names(notebook: int | None = None) -> tuple[str, ...]:
    """The names of the exercises in the order of the notebooks: of all, or of one."""
    found = [
        exercise(folder.name.replace("_", " "))
        for folder in _FOLDER.iterdir()
        if folder.is_dir() and (folder / "check.py").is_file()
    ]
    found.sort(key=lambda e: (e.notebook, e.name))
    return tuple(e.name for e in found if notebook in (None, e.notebook))


@cache
def exercise(name: str) -> Exercise:
    """The exercise of that name; raises `LabValueError` for one that is not there."""
    folder = str(name).replace(" ", "_")
    if not re.fullmatch(r"\w+", folder) or not (_FOLDER / folder / "check.py").is_file():
        raise LabValueError(f"no exercise {name!r}; there are {', '.join(exercise_names())}")
    module = importlib.import_module(f"labkit.course.exercises.{folder}.check")
    return Exercise(folder.replace("_", " "), module.NOTEBOOK, module.KIND, module.judge)
