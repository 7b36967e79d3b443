"""The project's own command for its notebooks: run them, keep them in one form, compare them.

`refresh` is how stored outputs come about: every notebook from top to bottom in
a fresh kernel on the software NPU. `check` does the same and writes nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.cli_parser import Parser, argparse_words
from labkit.course.copy import course_folder
from labkit.course.normal import (
    NotebookError,
    is_checked,
    normalize,
    outputs_text,
    read,
    to_text,
)
from labkit.course.pairs import english_of, fill_exercises, pair_problems, stamp, take_code
from labkit.errors import LabError

__all__ = ["Difference", "check", "main", "mark_translated", "notebook_paths", "refresh"]

_CELL_SECONDS = 120
_START_SECONDS = 120


@dataclass(frozen=True)
class Difference:
    """Where a run and the stored notebook part: the file, the cell's id, and a diff."""

    path: Path
    cell: str
    text: str

    def __str__(self) -> str:
        return f"{self.path.name}, cell {self.cell}:\n{self.text}"


def notebook_paths(paths: Iterable[str | Path] | None = None) -> list[Path]:
    """The notebooks meant by files and folders; None is the course itself.

    Raises `NotebookError` for a path that is not there.
    """
    if paths is None:
        paths = [course_folder()]
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(path.rglob("*.ipynb"))
            found += [each for each in inside if ".ipynb_checkpoints" not in each.parts]
        elif path.is_file():
            found.append(path)
        else:
            raise NotebookError(f"there is no notebook or folder {path}")
    return found


def refresh(paths: Iterable[str | Path] | None = None) -> list[Path]:
    """Run notebooks, bring them into the kept form, write them; returns those that changed.

    A file is replaced whole or not at all. Raises `NotebookError` when a cell
    fails or an output cannot be kept; then the file is as it was.
    """
    changed = []
    for path in notebook_paths(paths):
        text = to_text(normalize(execute(path), path.name))
        if text != path.read_text(encoding="utf-8"):
            _replace(path, text)
            changed.append(path)
    return changed


def check(paths: Iterable[str | Path] | None = None) -> list[Difference]:
    """Run notebooks and tell where checked cells differ from what is stored; writes nothing.

    Also tells of a notebook that is not in the kept form. Raises
    `NotebookError` when a cell fails.
    """
    found = []
    for path in notebook_paths(paths):
        stored = read(path)
        ran = normalize(execute(path), path.name)
        for before, after in zip(stored.cells, ran.cells):
            if is_checked(after):
                old, new = "\n".join(outputs_text(before)), "\n".join(outputs_text(after))
                if old != new:
                    found.append(Difference(path, after.id, diff(old, new)))
        if to_text(normalize(stored, path.name)) != path.read_text(encoding="utf-8"):
            found.append(Difference(path, "-", "not in the kept form; run: labkit notebooks"))
        found += [Difference(path, "-", text) for text in problems(path)]
    return found


def prepared(path: Path) -> Any:
    """A notebook with what it takes from elsewhere: exercises, the code of its English twin."""
    notebook = read(path)
    english = english_of(path)
    if english is not None:
        take_code(notebook, prepared(english))
    fill_exercises(notebook, "en" if english is None else "zh")
    return notebook


def problems(path: Path) -> list[str]:
    """What a stored notebook should have taken from elsewhere and has not, a line each."""
    stored, english = read(path), english_of(path)
    told = [
        f"{ours.id}: differs from its exercise or its English cell; run: labkit notebooks"
        for ours, right in zip(stored.cells, prepared(path).cells)
        if ours.source != right.source
    ]
    return told + (pair_problems(stored, read(english)) if english is not None else [])


def mark_translated(paths: Iterable[str | Path]) -> list[Path]:
    """Note in Chinese notebooks that every cell now translates what its English twin says."""
    marked = []
    for path in notebook_paths(paths):
        english = english_of(path)
        if english is None:
            raise NotebookError(f"{path.name} is no translation: its folder is not named zh")
        notebook = read(path)
        stamp(notebook, prepared(english))
        _replace(path, to_text(notebook))
        marked.append(path)
    return marked


def execute(path: Path, device: str = "sim") -> Any:
    """Run a notebook from top to bottom in a fresh kernel; returns it with its new outputs.

    `device` is what `LABKIT_DEVICE` is in the kernel. A cell that fails ends the
    run with `NotebookError`; its `notebook` has the outputs up to there.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, DeadKernelError

    notebook = prepared(path)
    for cell in notebook.cells:
        if cell.cell_type == "code":  # what is not reached must not look as if it had run
            cell.execution_count, cell.outputs = None, []
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=_CELL_SECONDS,
        startup_timeout=_START_SECONDS,
        resources={"metadata": {"path": str(path.resolve().parent)}},
        store_widget_state=False,
    )
    try:
        with _environment(device):
            client.execute()
    except CellExecutionError as error:
        raise NotebookError(f"{path.name}: a cell failed\n{error}", notebook) from error
    except (DeadKernelError, RuntimeError, TimeoutError) as error:
        text = f"{path.name}: {type(error).__name__}: {error}"
        raise NotebookError(text, notebook) from error
    return notebook


@contextlib.contextmanager
def _environment(device: str) -> Any:
    """The environment in which outputs are made; the kernel inherits it at its start."""
    wanted = {"LABKIT_DEVICE": device, "LABKIT_RAISE": "1", "PYTHONHASHSEED": "0"}
    unwanted = ("LABKIT_LANG", "LABKIT_PROGRESS")  # the folder decides, as it does for a learner
    before = {name: os.environ.get(name) for name in (*wanted, *unwanted)}
    os.environ.update(wanted)
    for name in unwanted:
        os.environ.pop(name, None)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def diff(old: str, new: str) -> str:
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), "stored", "this run", lineterm=""
    )
    return "\n".join(lines)


def _replace(path: Path, text: str) -> None:
    """Write beside the file, then put it in its place in one step."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".ipynb.new")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        os.chmod(name, path.stat().st_mode)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _report(options: argparse.Namespace) -> int:
    from labkit.course.hardware import run_on

    report = run_on(options.on, options.paths or None, keep=options.keep)
    if options.report:
        target = Path(options.report)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(str(report), encoding="utf-8")
    print(report)
    return 0 if report.passed else 1


def main(argv: Sequence[str] | None = None) -> int:
    """`labkit notebooks [--check | --on DEVICE] [PATH...]`: 1 for differences, 2 for failures."""
    with argparse_words():
        parser = Parser(
            prog="labkit notebooks",
            description="Run the notebooks on the software NPU and store what they put out.",
        )
        add_arguments(parser)
        options = parser.parse_args(sys.argv[1:] if argv is None else argv)
    return run(options)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--check", action="store_true", help="only tell what differs")
    parser.add_argument(
        "--translated", action="store_true", help="note that Chinese notebooks are up to date"
    )
    parser.add_argument(
        "--on",
        metavar="DEVICE",
        choices=("npu", "sim"),
        help="run on this device, write nothing into the notebooks, report every checked cell",
    )
    parser.add_argument("--keep", metavar="DIR", help="with --on: a folder for executed notebooks")
    parser.add_argument("--report", metavar="FILE", help="with --on: a file for the report")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="notebooks or folders")


def _refuse_mixed(options: argparse.Namespace) -> None:
    """What belongs to --on must not rewrite the notebooks where --on was forgotten."""
    if not options.on and (options.keep or options.report):
        raise NotebookError("--keep and --report belong to --on: right would be --on npu, or sim")
    if sum(map(bool, (options.on, options.check, options.translated))) > 1:
        raise NotebookError("right would be one of --check, --translated and --on")


def run(options: argparse.Namespace) -> int:
    """Do what the options say; returns the exit code."""
    paths = options.paths or None
    try:
        _refuse_mixed(options)
        if options.translated:
            marked = mark_translated(paths or [])
            print(f"{len(marked)} notebooks marked as translated")
            return 0
        if options.on:
            return _report(options)
        if options.check:
            found = check(paths)
            for difference in found:
                print(difference)
            print(f"{len(notebook_paths(paths))} notebooks run, {len(found)} differences")
            return 1 if found else 0
        changed = refresh(paths)
    except LabError as error:
        print(error, file=sys.stderr)
        return 2
    for path in changed:
        print(f"written: {path}")
    print(f"{len(notebook_paths(paths))} notebooks run, {len(changed)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
