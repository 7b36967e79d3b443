"""The notebooks on a device: the same, different, not reached; never a pass for nothing."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

import labkit
from labkit.course.hardware import run_on
from labkit.course.notebooks import main

CHECKED = {"tags": ["nbval-check-output"]}


def cell(name, source, stored, checked=True):
    output = new_output("stream", name="stdout", text=stored)
    return new_code_cell(
        source, id=name, outputs=[output], execution_count=1, metadata=CHECKED if checked else {}
    )


@pytest.fixture
def notebook(tmp_path):
    def write(*cells):
        book = new_notebook(
            cells=list(cells),
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        )
        path = tmp_path / "small.ipynb"
        nbformat.write(book, path)
        return path

    return write


def test_cells_are_compared_with_what_is_stored_and_nothing_is_written(notebook, tmp_path):
    path = notebook(
        cell("device", "import os\nprint(os.environ['LABKIT_DEVICE'])", "sim\n"),
        cell("number", "print(6 * 7)", "41\n"),
        cell("unchecked", "print(1)", "2\n", checked=False),
    )
    before = path.read_bytes()
    report = run_on("sim", [path], keep=tmp_path / "kept")
    assert [(found.cell, found.verdict) for found in report.cells] == [
        ("device", "same"),
        ("number", "different"),
    ]
    assert not report.passed and report.failures == ()
    assert "-41" in str(report) and "+42" in str(report)
    assert "| small.ipynb | 2 | 1 | 1 | 0 |" in str(report)
    assert path.read_bytes() == before
    kept = nbformat.read(tmp_path / "kept" / "small.ipynb", as_version=4)
    assert kept.cells[1].outputs[0].text == "42\n"


def test_cells_behind_a_failure_are_not_reached_and_are_reported(notebook, tmp_path):
    path = notebook(
        cell("first", "print(1)", "1\n"),
        cell("fails", "raise RuntimeError('on purpose')", "x\n", checked=False),
        cell("behind", "print(2)", "2\n"),
    )
    report = run_on("sim", [path], keep=tmp_path / "kept")
    assert [found.verdict for found in report.cells] == ["same", "not reached"]
    assert not report.passed and "on purpose" in report.failures[0]
    assert "\x1b" not in str(report)  # a traceback's colours are no Markdown
    assert (tmp_path / "kept" / "small.ipynb").is_file()


def test_a_run_without_a_checked_cell_is_no_pass(notebook):
    assert not run_on("sim", [notebook(cell("x", "1", "", checked=False))]).passed


def test_without_the_device_nothing_runs_and_nothing_passes(notebook, tmp_path, monkeypatch):
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    path = notebook(cell("x", f"open({str(tmp_path / 'ran')!r}, 'w')", ""))
    with pytest.raises(labkit.DeviceNotAvailable):
        run_on("npu", [path])
    assert not (tmp_path / "ran").exists()
    assert main(["--on", "npu", str(path)]) == 2


def test_the_command_reports_into_a_file_and_by_its_exit_code(notebook, tmp_path, capsys):
    good = notebook(cell("x", "print(1)", "1\n"))
    assert main(["--on", "sim", "--report", str(tmp_path / "new" / "r.md"), str(good)]) == 0
    assert (tmp_path / "new" / "r.md").read_text() in capsys.readouterr().out
    bad = notebook(cell("x", "print(1)", "2\n"))
    assert main(["--on", "sim", str(bad)]) == 1


@pytest.mark.parametrize(
    "wrong", [["--report", "r.md"], ["--keep", "k"], ["--on", "sim", "--check"]]
)
def test_options_that_do_not_fit_change_nothing(notebook, wrong, capsys):
    path = notebook(cell("x", "print(1)", "2\n"))
    before = path.read_bytes()
    assert main([*wrong, str(path)]) == 2
    assert path.read_bytes() == before and "right would be" in capsys.readouterr().err


def test_executed_notebooks_are_not_kept_over_the_stored_ones(notebook, tmp_path):
    path = notebook(cell("x", "print(1)", "2\n"))
    before = path.read_bytes()
    with pytest.raises(labkit.LabError, match="keep what ran elsewhere"):
        run_on("sim", [path], keep=tmp_path)
    assert path.read_bytes() == before


def test_a_fence_in_a_difference_does_not_end_the_block(notebook):
    report = str(run_on("sim", [notebook(cell("x", "print('```')", "no\n"))]))
    assert "````diff" in report and report.rstrip().endswith("\n````")
