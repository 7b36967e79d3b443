"""The one form in which a notebook is kept: what stays, what goes, what is refused.

The stored outputs of checked cells are the contract between the software NPU
and hardware, so they must not change from run to run or machine to machine:
no widget state, no warnings, no addresses, no paths, no times.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat

from labkit.errors import LabError

__all__ = ["CHECKED", "NotebookError", "is_checked", "normalize", "outputs_text", "to_text"]

CHECKED = "nbval-check-output"
"""The tag of a cell whose outputs nbval compares with the stored ones."""

_CELL_METADATA = ("tags", "translates")
_OUTPUT_METADATA = ("alt", "width", "height")
_METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}
_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_MACHINE = re.compile(
    r"/(?:home|root|tmp|Users|private/var)/|[A-Za-z]:\\+Users|\bat 0x[0-9a-f]{6,}"
    r"|ipykernel_\d+"
)


class NotebookError(LabError, RuntimeError):
    """A notebook cannot be kept or did not run; the message names the file and the cell.

    `notebook` is what a run that failed had come to, else None.
    """

    def __init__(self, text: str, notebook: Any = None) -> None:
        super().__init__(text)
        self.notebook = notebook


def is_checked(cell: Any) -> bool:
    """Whether the outputs of a cell are compared."""
    return CHECKED in cell.metadata.get("tags", [])


def normalize(notebook: Any, name: str = "notebook") -> Any:
    """Bring an executed notebook into the form in which it is kept; returns a new one.

    Raises `NotebookError` where an output holds a path or an address of the
    machine, or a checked cell has nothing to check.
    """
    kept = nbformat.from_dict(notebook)  # type: ignore[no-untyped-call]
    kept.metadata = nbformat.from_dict(_METADATA)  # type: ignore[no-untyped-call]
    kept.nbformat, kept.nbformat_minor = 4, 5
    count = 0
    for cell in kept.cells:
        cell.metadata = nbformat.from_dict(  # type: ignore[no-untyped-call]
            {key: cell.metadata[key] for key in _CELL_METADATA if cell.metadata.get(key)}
        )
        if cell.cell_type != "code":
            continue
        count += 1
        cell.execution_count = count
        cell.outputs = kept_outputs(cell, count)
        _refuse(cell, name)
    return kept


def kept_outputs(cell: Any, count: int = 0) -> list[Any]:
    """A code cell's outputs as they are kept."""
    return _joined([_output(output, count) for output in cell.outputs])


def _output(output: Any, count: int) -> Any:
    """One output as it is kept, or None."""
    kind = output.output_type
    if kind == "stream":
        return output if output.name == "stdout" else None
    if kind == "error":
        output.traceback = []  # paths and line numbers; name and message stay
        return output
    if _WIDGET_VIEW in output.data:
        return None  # lives only while its kernel does; its still picture is the next output
    output.metadata = {
        key: value for key, value in output.metadata.items() if key in _OUTPUT_METADATA
    }
    if kind == "execute_result":
        output.execution_count = count
    return output


def _joined(outputs: list[Any]) -> list[Any]:
    """Streams that were cut by chance are one."""
    kept: list[Any] = []
    for output in outputs:
        if output is None:
            continue
        if kept and output.output_type == kept[-1].output_type == "stream":
            kept[-1].text += output.text
        else:
            kept.append(output)
    return kept


def _refuse(cell: Any, name: str) -> None:
    for text in outputs_text(cell):
        found = _MACHINE.search(text)
        if found:
            raise NotebookError(
                f"{name}, cell {cell.id}: its output holds {found.group()!r}, which differs from "
                f"machine to machine:\n{text[:400]}"
            )
    if is_checked(cell) and not cell.outputs:
        raise NotebookError(f"{name}, cell {cell.id}: it is tagged {CHECKED}, but prints nothing")


def outputs_text(cell: Any) -> list[str]:
    """What a cell put out as text, one entry per output and kind; pictures left out."""
    texts = []
    for output in cell.outputs:
        if output.output_type == "stream":
            texts.append(output.text)
        elif output.output_type == "error":
            texts.append(f"{output.ename}: {output.evalue}")
        else:
            for kind in sorted(output.data):
                if kind.startswith("text/"):
                    texts.append(re.sub(r"data:image/[^\"']+", "PICTURE", str(output.data[kind])))
    return texts


def to_text(notebook: Any) -> str:
    """The notebook as the file's text: one space of indent, a newline at the end."""
    text: str = nbformat.writes(  # type: ignore[no-untyped-call]
        notebook, version=nbformat.NO_CONVERT
    )
    return text.rstrip("\n") + "\n"


def read(path: Path) -> Any:
    """Read a notebook file; raises `NotebookError` when it is none."""
    try:
        return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except Exception as error:
        raise NotebookError(f"{path.name} cannot be read as a notebook: {error}") from error
