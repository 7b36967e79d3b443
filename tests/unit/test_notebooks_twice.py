"""A notebook may be run twice in one kernel: the second time shows what the first did.

Learners run cells again; a panel must replace its older self, and nothing may pile up.
"""

import copy
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LAST = """
from labkit.explore import open_panels
names = [panel.name for panel in open_panels()]
assert len(names) == len(set(names)), names
import matplotlib.pyplot
assert not matplotlib.pyplot.get_fignums()
"""


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_the_second_run_prints_what_is_stored(path, monkeypatch):
    monkeypatch.setenv("LABKIT_RAISE", "1")
    monkeypatch.delenv("LABKIT_LANG", raising=False)
    book = nbformat.read(path, as_version=4)
    stored = copy.deepcopy(book.cells)
    again = copy.deepcopy(book.cells)
    for cell in again:
        cell.id = f"{cell.id[:50]}-again"
    book.cells += [*again, nbformat.v4.new_code_cell(LAST)]
    NotebookClient(
        book,
        kernel_name="python3",
        timeout=120,
        resources={"metadata": {"path": str(path.parent)}},
        store_widget_state=False,
    ).execute()
    for before, after in zip(stored, book.cells[len(stored) :]):
        if "nbval-check-output" in before.metadata.get("tags", []):
            assert texts(after) == texts(before), before.source


def texts(cell):
    """What a cell printed and returned as plain text."""
    printed = "".join(o.text for o in cell.outputs if o.get("name") == "stdout")
    results = [o.data["text/plain"] for o in cell.outputs if "data" in o]
    errors = [o.evalue for o in cell.outputs if o.output_type == "error"]
    return printed, results, errors
