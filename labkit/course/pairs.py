"""One course in two languages: what a notebook takes from elsewhere, and whether a pair agrees.

A Chinese notebook (in a folder `zh` beside the English one) has the same cells
in the same order: its code cells are those of the English notebook byte for
byte, its Markdown cells are translations. Each translation remembers the text
that it was made from, so that a later change of the English is seen.

The cells of an exercise come from the exercise's folder: the cell with the id
`exercise-NAME` is its stub, the one with `exercise-NAME-text` its task.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import nbformat

from labkit.course.exercise import exercise

__all__ = ["english_of", "fill_exercises", "pair_problems", "stamp", "take_code"]

_EXERCISE = re.compile(r"exercise-(?P<name>.+?)(?P<text>-text)?")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")


def english_of(path: Path) -> Path | None:
    """The English notebook of a Chinese one; None for a notebook that is no translation."""
    return path.parent.parent / path.name if path.resolve().parent.name == "zh" else None


def fill_exercises(notebook: Any, chosen: str) -> None:
    """Put the stubs and tasks of the exercises into their cells, in the language `chosen`."""
    for cell in notebook.cells:
        found = _EXERCISE.fullmatch(cell.id)
        if found:
            asked = exercise(found["name"].replace("-", " "))
            cell.source = asked.text(chosen) if found["text"] else asked.stub


def take_code(chinese: Any, english: Any) -> None:
    """Give a Chinese notebook the code cells of the English one; cells pair by their ids."""
    by_id = {cell.id: cell for cell in english.cells}
    for cell in chinese.cells:
        if cell.cell_type == "code" and cell.id in by_id:
            cell.source = by_id[cell.id].source
            tags = by_id[cell.id].metadata.get("tags")
            cell.metadata = nbformat.from_dict(  # type: ignore[no-untyped-call]
                {"tags": list(tags)} if tags else {}
            )


def stamp(chinese: Any, english: Any) -> None:
    """Note in each translated cell which English text it translates."""
    by_id = {cell.id: cell for cell in english.cells}
    for cell in chinese.cells:
        if cell.cell_type == "markdown" and cell.id in by_id:
            cell.metadata["translates"] = _digest(by_id[cell.id].source)


def pair_problems(chinese: Any, english: Any) -> list[str]:
    """What is wrong with a pair of notebooks, a line each; empty when they agree."""
    ids = [[(cell.id, cell.cell_type) for cell in book.cells] for book in (chinese, english)]
    if ids[0] != ids[1]:
        told = []
        for words, one, other in (("lacks", ids[1], ids[0]), ("has of its own", ids[0], ids[1])):
            odd = [cell for cell, kind in one if (cell, kind) not in other]
            told += [f"the translation {words}: {', '.join(odd)}"] if odd else []
        return told or ["the cells of the translation stand in another order"]
    told = []
    for ours, theirs in zip(chinese.cells, english.cells):
        if ours.cell_type == "code":
            if ours.source != theirs.source or ours.metadata != theirs.metadata:
                told.append(f"{ours.id}: its code or tags differ from the English cell")
        elif ours.metadata.get("translates") != _digest(theirs.source):
            told.append(f"{ours.id}: the English text has changed since it was translated")
        elif not _CHINESE.search(ours.source):
            told.append(f"{ours.id}: not translated")
    return told


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]
