"""The run of the notebooks can fail: a wrong stored number and a failing cell turn it red.

A small notebook in a temporary folder, run by pytest with the options of the project's own run.
Each cell is a test of its own to nbval, and one that fails does not stop those behind it.
"""

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = [
    "--nbval-lax",
    "--nbval-current-env",
    f"--nbval-sanitize-with={ROOT / 'tests' / 'nbval_sanitize.cfg'}",
    "--nbval-cell-timeout=60",
    "--nbval-kernel-startup-timeout=120",
]


def cell(source, *outputs, tags=()):
    return new_code_cell(
        source, outputs=list(outputs), execution_count=1, metadata={"tags": list(tags)}
    )


def printed(text):
    return new_output("stream", name="stdout", text=text)


CHECKED = ("nbval-check-output",)
GREEN = ("right", "unchecked_number")
CELLS = {
    "right": cell("print(6 * 7)", printed("42\n"), tags=CHECKED),
    "wrong_number": cell("print(6 * 7)", printed("41\n"), tags=CHECKED),
    "unchecked_number": cell("print(6 * 7)", printed("41\n")),
    "failing_cell": cell("assert 6 * 7 == 41"),
    "failing_callback": cell(
        "import labkit, ipywidgets\n"
        "panel = labkit.explore.mask(raise_errors=True)\n"
        "box = panel.shell.controls.rows[0][1]\n"
        "box.value = 'three'"
    ),
    "figure_that_cannot_be_drawn": cell(
        "%matplotlib inline\n"
        "import matplotlib.pyplot as plt\n"
        "axes = plt.figure().add_subplot()\n"
        "title = axes.set_title(r'$\\frac{1}{$')"
    ),
    "refusal_that_does_not_come": cell(
        "import labkit\n"
        "call = labkit.hardshrink_backward([1.0], [1.0, 2.0], check=False)\n"
        "assert call.status == 161002, f'expected 161002, got {call.status}'"
    ),
}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """Run the notebook; return the colour of each cell by name, and pytest's exit code."""
    folder = tmp_path_factory.mktemp("gate")
    book = new_notebook(
        cells=list(CELLS.values()),
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(book, folder / "gate.ipynb")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("--junitxml=told.xml", *OPTIONS, "gate.ipynb"),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert (folder / "told.xml").is_file(), run.stdout + run.stderr
    colours = [
        "green" if case.find("failure") is None and case.find("error") is None else "red"
        for case in ET.parse(folder / "told.xml").iter("testcase")
    ]
    assert len(colours) == len(CELLS), run.stdout + run.stderr
    return dict(zip(CELLS, colours)), run.returncode


@pytest.mark.parametrize("name", GREEN)
def test_what_is_right_or_not_checked_is_green(outcome, name):
    assert outcome[0][name] == "green"


@pytest.mark.parametrize("name", [name for name in CELLS if name not in GREEN])
def test_what_is_wrong_is_red(outcome, name):
    assert outcome[0][name] == "red"


def test_red_makes_the_whole_run_fail(outcome):
    assert outcome[1] == 1
