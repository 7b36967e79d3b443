"""The notebooks on hardware: every checked cell beside what the software NPU had given.

The stored outputs of the checked cells were made on the software NPU. Here the
notebooks run on a device that is asked for by name, and each checked cell is
reported: the same, different, or not reached. Nothing is written into the
notebooks; the executed ones can be kept elsewhere. A run without the device is
an error and never a pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.course.normal import (
    NotebookError,
    is_checked,
    kept_outputs,
    outputs_text,
    read,
    to_text,
)
from labkit.course.notebooks import diff, execute, notebook_paths
from labkit.host.device import Device
from labkit.operators import open_device

__all__ = ["CellReport", "HardwareReport", "run_on"]

SAME, DIFFERENT, NOT_REACHED = "same", "different", "not reached"


@dataclass(frozen=True)
class CellReport:
    """One checked cell: its notebook and id, whether it agrees, and a diff where it does not."""

    notebook: str
    cell: str
    verdict: str
    text: str = ""


@dataclass(frozen=True)
class HardwareReport:
    """What a run on a device came to. `failures` are notebooks that did not reach their end."""

    device: str
    cells: tuple[CellReport, ...]
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether cells were compared, all of them agree, and every notebook reached its end."""
        return bool(self.cells) and not self.failures and not self.differing

    @property
    def differing(self) -> tuple[CellReport, ...]:
        """The cells that do not agree, or were not reached."""
        return tuple(cell for cell in self.cells if cell.verdict != SAME)

    def __str__(self) -> str:
        """Markdown: a line per notebook, then what differs."""
        lines = [
            f"# Notebooks on {self.device}",
            "",
            f"{len(self.cells)} checked cells, {len(self.differing)} not as stored, "
            f"{len(self.failures)} notebooks stopped early.",
            "",
            "| notebook | checked | same | different | not reached |",
            "|---|---|---|---|---|",
        ]
        for name in dict.fromkeys(cell.notebook for cell in self.cells):
            mine = [cell.verdict for cell in self.cells if cell.notebook == name]
            counts = [mine.count(verdict) for verdict in (SAME, DIFFERENT, NOT_REACHED)]
            lines.append(f"| {name} | {len(mine)} | {' | '.join(map(str, counts))} |")
        for cell in self.differing:
            lines += ["", f"## {cell.notebook}, cell `{cell.cell}`: {cell.verdict}"]
            lines += _fenced("diff", cell.text) if cell.text else []
        for failure in self.failures:
            lines += _fenced("text", failure[-3000:])
        return "\n".join(lines) + "\n"


def _fenced(language: str, text: str) -> list[str]:
    """A block of Markdown: without a traceback's colours, in a fence longer than any inside."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", plain)), default=0))
    return ["", fence + language, plain, fence]


def run_on(
    device: str, paths: Iterable[str | Path] | None = None, *, keep: str | Path | None = None
) -> HardwareReport:
    """Run notebooks on a device ("npu", "sim") and compare their checked cells with the stored.

    Raises `DeviceNotAvailable` before anything runs when the device is not
    usable, `NotebookError` when `keep`, a folder for the executed notebooks, is
    the one that they come from.
    """
    found = notebook_paths(paths)
    for path in found:
        if keep is not None and (Path(keep) / _label(path)).resolve() == path.resolve():
            raise NotebookError(f"{keep} has the notebooks themselves: keep what ran elsewhere")
    name = _name_of(device)
    cells: list[CellReport] = []
    failures: list[str] = []
    for path in found:
        stored = read(path)
        try:
            ran = execute(path, device)
        except NotebookError as error:
            failures.append(str(error))
            ran = error.notebook
        if keep is not None and ran is not None:
            _keep(Path(keep), path, ran)
        cells += _compared(path, stored, ran)
    return HardwareReport(name, tuple(cells), tuple(failures))


def _name_of(device: str) -> str:
    opened: Device = open_device(device)
    with opened:
        return opened.name


def _label(path: Path) -> str:
    parts = path.resolve().parts
    return "/".join(parts[-2:] if parts[-2:-1] == ("zh",) else parts[-1:])


def _keep(folder: Path, path: Path, notebook: Any) -> None:
    target = folder / _label(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(to_text(notebook), encoding="utf-8")


def _compared(path: Path, stored: Any, ran: Any) -> list[CellReport]:
    label = _label(path)
    after = {cell.id: deepcopy(cell) for cell in ran.cells} if ran is not None else {}
    found = []
    for cell in stored.cells:
        if cell.cell_type != "code" or not is_checked(cell):
            continue
        other = after.get(cell.id)
        if other is None or other.execution_count is None:
            found.append(CellReport(label, cell.id, NOT_REACHED))
            continue
        other.outputs = kept_outputs(other)
        old, new = ("\n".join(outputs_text(each)) for each in (cell, other))
        if old == new:
            found.append(CellReport(label, cell.id, SAME))
        else:
            found.append(CellReport(label, cell.id, DIFFERENT, diff(old, new)))
    return found
