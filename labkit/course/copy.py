"""The course in a folder of the learner's own: copied once, kept up to date, never overwritten.

The notebooks come with the package. `copy_course` puts them into a folder,
without the outputs that would give away what is to be predicted, and
a file there, `.labkit-course.json`, remembers the text that was put. So a
second time it knows what the learner has changed: that stays; what is as it
was put is brought up to date; what is missing is added. Running a notebook is
no change of it, since only the text of its cells counts.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import reprlib
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from labkit.errors import LabError
from labkit.language import gettext as _

__all__ = ["RECORD", "Copied", "copy_course", "course_above", "course_folder", "reset"]

RECORD = ".labkit-course.json"
"""The file by which a copied course is known: notebook by notebook what was put there."""


@dataclass(frozen=True)
class Copied:
    """What was done with a course's files, by their names within the folder.

    `kept` were changed by the learner and left alone; `behind` are those of
    them for which the course has a newer text. `aside` are names under which a
    reset left the learner's own versions.
    """

    folder: Path
    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()

    def __str__(self) -> str:
        told = [_("the course is in {folder}").format(folder=self.folder)]
        if self.added:
            told.append("  " + _("added: {n} files").format(n=len(self.added)))
        for words, names in (
            (_("brought up to date: {name}"), self.updated),
            (_("kept as you changed it: {name}"), self.kept),
            (_("your version is now: {name}"), self.aside),
            (_("newer in the course: {name} (take it: --reset {name})"), self.behind),
        ):
            told += ["  " + words.format(name=name) for name in names]
        return "\n".join(told)


def course_folder() -> Path:
    """The folder of the notebooks themselves: inside an installed package, else in the checkout.

    Raises `LabError` where neither is.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "notebooks", package.parent / "notebooks"):
        if folder.is_dir():
            return folder
    raise LabError(
        _("the notebooks are neither in {folder} nor beside it; install the lab again").format(
            folder=package
        )
    )


def course_above(start: Path | None = None) -> Path | None:
    """The copied course that holds `start` (None: this process's folder); None outside of one."""
    try:
        start = (start or Path.cwd()).resolve()
    except OSError:  # the folder was removed under us
        return None
    return next((each for each in (start, *start.parents) if (each / RECORD).is_file()), None)


def copy_course(folder: Path) -> Copied:
    """Put the course into a folder, or bring the one that is there up to date.

    Raises `LabError` when the folder cannot be taken: it is a file, cannot be
    written, or holds other things. Then nothing has changed.
    """
    course, put = _course(), _known(folder)
    added, updated, kept, behind, fresh = [], [], [], [], dict(put)
    for name, text in course.items():
        theirs = _digest(name, text)
        path = folder / name
        ours = _digest(name, path.read_bytes()) if path.is_file() else None
        if ours is None:
            added.append(name)
        elif ours not in (theirs, put.get(name)):
            kept.append(name)
            if put.get(name) != theirs:
                behind.append(name)
            continue
        elif ours != theirs:
            updated.append(name)
        fresh[name] = theirs
    _write(folder, {name: course[name] for name in (*added, *updated)}, fresh)
    return Copied(folder, *map(tuple, (added, updated, kept, behind)))


def reset(folder: Path, wanted: str) -> Copied:
    """Bring notebooks back to the course's text; the learner's versions stay beside them.

    `wanted` is the file's name or its number ("03": both languages; "zh/03"),
    or "all". Raises `LabError` for a notebook that is not there.
    """
    if not (folder / RECORD).is_file():
        raise LabError(
            _("{folder} holds no course to reset; labkit lab makes one").format(folder=folder)
        )
    course, put = _course(), _known(folder)
    names = _matching(wanted, course)
    files: dict[str, bytes] = {}
    aside = []
    for name in names:
        path = folder / name
        if path.is_file() and path.read_bytes() != course[name]:
            mine = _free_name(folder, name)
            files[mine] = path.read_bytes()
            aside.append(mine)
        files[name] = course[name]
    fresh = {**put, **{name: _digest(name, course[name]) for name in names}}
    _write(folder, files, fresh)
    return Copied(folder, updated=tuple(names), aside=tuple(aside))


def _course() -> dict[str, bytes]:
    """Every file of the course by its name within the folder."""
    root = course_folder()
    files = (path.relative_to(root) for path in sorted(root.rglob("*")) if path.is_file())
    shown = (each for each in files if not any(part[0] in "._" for part in each.parts))
    return {each.as_posix(): _unspoiled(each.name, (root / each).read_bytes()) for each in shown}


def _unspoiled(name: str, data: bytes) -> bytes:
    """A notebook without its outputs: who is asked to predict must not see the answer below."""
    if not name.endswith(".ipynb"):
        return data
    notebook = json.loads(data)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def _digest(name: str, data: bytes) -> str:
    """The digest of what a file says: of a notebook, the text of its cells and not its outputs."""
    with contextlib.suppress(ValueError, KeyError, TypeError):
        if name.endswith(".ipynb"):
            cells = json.loads(data)["cells"]
            said = [[cell["cell_type"], "".join(cell["source"])] for cell in cells]
            data = json.dumps(said).encode()
    return hashlib.sha256(data).hexdigest()[:16]


def _known(folder: Path) -> dict[str, str]:
    """What was put into a folder before; refuses one that is no place for a course."""
    try:
        if folder.exists() and not folder.is_dir():
            raise LabError(
                _("{folder} is a file; name a folder for the course, new or empty").format(
                    folder=folder
                )
            )
        if not (folder / RECORD).is_file():
            others = [] if not folder.exists() else [p.name for p in folder.iterdir()]
            others = sorted(name for name in others if not name.startswith("."))
            if others:
                raise LabError(
                    _(
                        "{folder} holds other things ({names}) and no course; name a new or empty "
                        "folder, for example {example}"
                    ).format(
                        folder=folder,
                        names=", ".join(others[:3]) + (" ..." if others[3:] else ""),
                        example=folder / "hardshrink-course",
                    )
                )
            return {}
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        return {str(name): str(digest) for name, digest in record["notebooks"].items()}
    except OSError as error:
        raise LabError(
            _("the folder {folder} cannot be read: {why}").format(folder=folder, why=error.strerror)
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}  # a broken record: whatever differs from the course counts as the learner's


def _write(folder: Path, files: Mapping[str, bytes], put: Mapping[str, str]) -> None:
    """Write files and the record: first all of them aside, then each into its place in one step."""
    made = _first_missing(folder)
    try:
        for name in files:
            if (folder / name).is_dir():
                raise IsADirectoryError(f"{folder / name} is a folder")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".labkit-new-") as place:
            aside = Path(place)
            for name, data in files.items():
                (aside / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (aside / name).write_bytes(data)
            if not (folder / RECORD).exists():  # the folder is ours, should the next lines not end
                _put(aside, folder, {})
            for name in files:
                os.replace(aside / name, folder / name)
            _put(aside, folder, put)
    except OSError as error:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
        raise LabError(
            _("the course cannot be written to {folder}: {why}").format(folder=folder, why=error)
        ) from error


def _put(aside: Path, folder: Path, put: Mapping[str, str]) -> None:
    text = json.dumps({"format": 1, "notebooks": dict(sorted(put.items()))}, indent=1)
    (aside / RECORD).write_text(text + "\n", encoding="utf-8")
    os.replace(aside / RECORD, folder / RECORD)


def _first_missing(folder: Path) -> Path | None:
    """The outermost folder that would have to be made; None when all are there."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    return missing[-1] if missing else None


def _matching(wanted: str, names: Iterable[str]) -> list[str]:
    notebooks = [name for name in names if name.endswith(".ipynb")]
    asked = wanted.removesuffix(".ipynb").strip("/")
    if asked == "all":
        return notebooks
    found = [name for name in notebooks if _means(asked, name.removesuffix(".ipynb"))]
    if not found:
        raise LabError(
            _("no notebook {name} in the course; there are {names}").format(
                name=reprlib.repr(wanted), names=", ".join(notebooks)
            )
        )
    return found


def _means(asked: str, name: str) -> bool:
    """Whether a name or number, as it was asked for, means the notebook `name` (no suffix)."""
    if asked == name:
        return True
    folder, _, last = asked.rpartition("/")
    their_folder, _, their_last = name.rpartition("/")
    number = their_last.partition("_")[0]
    return last.isdigit() and last.zfill(2) == number and folder in ("", their_folder)


def _free_name(folder: Path, name: str) -> str:
    """A name beside `name` that is not taken: NAME.mine.ipynb, NAME.mine-2.ipynb, ..."""
    stem, number = name.removesuffix(".ipynb"), 1
    while (folder / (free := f"{stem}.mine{f'-{number}' * (number > 1)}.ipynb")).exists():
        number += 1
    return free
