"""Every notebook opens in JupyterLab and runs there from top to bottom."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(
    path.relative_to(FOLDER).as_posix()
    for path in FOLDER.rglob("*.ipynb")
    if ".ipynb_checkpoints" not in path.parts
)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_it_opens_and_runs_without_an_error(lab_page, notebook):
    lab_page.open(notebook)
    lab_page.run_all()
    assert lab_page.error_outputs() == []
    assert lab_page.cells_not_run() == []
    assert lab_page.broken_widgets() == 0
    assert lab_page.page_errors == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_first_notebook_shows_in_both_themes(lab_page, theme):
    lab_page.open(NOTEBOOKS[0])
    lab_page.theme(theme)
    assert lab_page.page_errors == []
    lab_page.shot(f"first-notebook-{theme}")
