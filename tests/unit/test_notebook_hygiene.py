"""Every notebook is in the state in which a learner, nbval and a reviewer want to find it."""

import itertools
import json
import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted(
    path for path in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts
)
MAX_BYTES = 1_500_000
MACHINE_PATHS = re.compile(r"/(?:home|root|tmp|Users)/|C:\\|" + re.escape(str(ROOT)))


@pytest.fixture(
    scope="module",
    params=NOTEBOOKS,
    ids=[path.relative_to(ROOT).as_posix() for path in NOTEBOOKS],
)
def path(request):
    return request.param


@pytest.fixture(scope="module")
def notebook(path):
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


@pytest.fixture(scope="module")
def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell):
    return cell.metadata.get("tags", [])


def headings(notebook):
    """Yield the level and text of each Markdown heading, outside fenced code."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            prose = re.sub(r"^(```|~~~).*?^\1", "", cell.source, flags=re.DOTALL | re.MULTILINE)
            for marks, text in re.findall(r"^(#{1,6})\s+(.+)$", prose, flags=re.MULTILINE):
                yield len(marks), text


def test_there_are_notebooks():
    assert NOTEBOOKS, "notebooks/ holds no notebook"


def test_it_is_a_valid_notebook_of_format_4_5(notebook):
    assert (notebook.nbformat, notebook.nbformat_minor) >= (4, 5)
    nbformat.validate(notebook)


def test_every_cell_has_its_own_id(notebook):
    ids = [cell.get("id") for cell in notebook.cells]
    assert all(ids)
    assert len(set(ids)) == len(ids)


def test_its_kernel_is_python3(notebook):
    assert notebook.metadata.kernelspec.name == "python3"


def test_it_was_run_from_top_to_bottom(code_cells):
    counts = [cell.execution_count for cell in code_cells]
    assert counts == list(range(1, len(code_cells) + 1))


def test_no_error_is_stored_but_the_intended_ones(code_cells):
    for cell in code_cells:
        if "raises-exception" not in tags(cell):
            errors = [output.ename for output in cell.outputs if output.output_type == "error"]
            assert not errors, cell.source


def test_no_path_of_a_machine_is_in_it(notebook):
    for cell in notebook.cells:
        texts = [cell.source]
        for output in cell.get("outputs", []):
            texts += [output.get("text", ""), *output.get("traceback", [])]
            for kind, data in output.get("data", {}).items():
                if not kind.startswith("image/") or kind == "image/svg+xml":
                    texts.append(data if isinstance(data, str) else json.dumps(data))
        found = [text for text in texts if MACHINE_PATHS.search(text)]
        assert not found, cell.source


def test_no_widget_state_is_stored(notebook):
    assert "widgets" not in notebook.metadata


def test_at_least_three_outputs_are_checked(code_cells):
    checked = [cell for cell in code_cells if "nbval-check-output" in tags(cell)]
    assert len(checked) >= 3
    for cell in checked:
        assert cell.outputs, f"checked, but nothing is stored to check against: {cell.source}"


def test_cells_are_marked_by_tags_and_not_by_comments(code_cells):
    for cell in code_cells:
        assert not re.search(r"#\s*(NBVAL|PYTEST_VALIDATE)_", cell.source), cell.source


def test_it_has_one_title_and_skips_no_level(notebook):
    levels = [level for level, _ in headings(notebook)]
    assert levels[:1] == [1], "the first heading is the title"
    assert levels.count(1) == 1
    for above, below in itertools.pairwise(levels):
        assert below <= above + 1, list(headings(notebook))


def test_it_is_small_enough_to_review(path):
    assert path.stat().st_size < MAX_BYTES
