"""What the notebooks lean on: printing, exercises, and the command that keeps notebooks."""

import copy

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import labkit
from labkit.course import notebooks, show
from labkit.course.normal import NotebookError, normalize, outputs_text, to_text

# -- printing ------------------------------------------------------------------------


def test_numbers_of_every_dtype_are_printed_alike():
    import ml_dtypes

    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16, float):
        values = np.array([0.5, -0.0, np.nan, -np.inf]).astype(dtype)
        table = show.table(["x"], [[value] for value in values])
        assert table.split() == ["x", "----", "0.5", "−0", "nan", "−inf"]


def test_a_table_is_as_wide_as_its_widest_entry_and_has_no_trailing_space():
    table = show.table(["a", "what"], [[1, "x"], [22222, np.bool_(True)], ["", False]])
    assert table.splitlines() == [
        "a      what",
        "-----  ----",
        "1      x",
        "22222  yes",
        "       no",
    ]


def test_the_road_is_told_in_ten_numbered_lines():
    from labkit.draw import road

    with labkit.open_device("sim") as device:
        labkit.hardshrink_backward([1.0], [1.0], device=device)
    lines = show.stations(road(device.record)).splitlines()
    assert len(lines) == 12 and lines[2].startswith("1   start") and "aclInit" in lines[2]


# -- the form in which notebooks are kept ---------------------------------------------------


def code(source, *outputs, tags=(), **metadata):
    cell = new_code_cell(source, outputs=list(outputs), execution_count=7)
    cell.metadata.update(metadata)
    if tags:
        cell.metadata["tags"] = list(tags)
    return cell


def stream(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def book(*cells, **metadata):
    return new_notebook(cells=[new_markdown_cell("# Title"), *cells], metadata=metadata)


CHECKED = ("nbval-check-output",)


def test_what_a_notebook_keeps_is_allow_listed():
    view = new_output(
        "display_data",
        data={"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/plain": "x"},
    )
    picture = new_output(
        "display_data", data={"image/png": "aaaa"}, metadata={"alt": "words", "isolated": True}
    )
    result = new_output("execute_result", data={"text/plain": "42"}, execution_count=9)
    kept = normalize(
        book(
            code("1", stream("a"), stream("warned", "stderr"), stream("b"), collapsed=True),
            code("2", view, picture, result, tags=CHECKED, trusted=True),
            kernelspec={"name": "my-env", "display_name": "Mine"},
            widgets={"state": {}},
            language_info={"name": "python", "version": "3.99"},
        )
    )
    first, second = kept.cells[1:]
    assert [cell.execution_count for cell in (first, second)] == [1, 2]
    assert first.outputs == [stream("ab")] and first.metadata == {}
    assert second.metadata == {"tags": ["nbval-check-output"]}
    assert [output.output_type for output in second.outputs] == ["display_data", "execute_result"]
    assert second.outputs[0].metadata == {"alt": "words"}
    assert second.outputs[1].execution_count == 2
    assert kept.metadata.kernelspec.name == "python3" and "widgets" not in kept.metadata
    assert kept.metadata.language_info == {"name": "python"}
    nbformat.validate(kept)
    assert to_text(kept) == to_text(normalize(kept)) and to_text(kept).endswith("}\n")


def test_ids_stay():
    cell = code("1")
    assert normalize(book(cell)).cells[1].id == cell.id


@pytest.mark.parametrize(
    "text",
    ["/home/ann/x", "in /tmp/ipykernel_12/3.py", "<object at 0x7f00aa11bb22>", "C:\\Users\\ann"],
)
def test_what_differs_from_machine_to_machine_is_refused(text):
    with pytest.raises(NotebookError, match="differs from machine to machine"):
        normalize(book(code("1", stream(text))))


def test_a_checked_cell_must_print_something():
    with pytest.raises(NotebookError, match="prints nothing"):
        normalize(book(code("1", tags=CHECKED)))


def test_pictures_are_not_compared():
    output = new_output("display_data", data={"text/html": '<img src="data:image/png;base64,abc">'})
    assert outputs_text(code("1", output)) == ['<img src="PICTURE">']


# -- the command -----------------------------------------------------------------------------


@pytest.fixture
def notebook(tmp_path):
    path = tmp_path / "small.ipynb"
    cells = [
        code("import os, sys\nprint(os.environ['LABKIT_DEVICE'])", tags=CHECKED),
        code("print('not for keeping', file=sys.stderr)\n6 * 7", tags=CHECKED),
    ]
    nbformat.write(book(*cells), path)
    return path


def test_refresh_runs_on_the_software_npu_and_check_then_agrees(notebook, monkeypatch):
    monkeypatch.setenv("LABKIT_DEVICE", "npu")
    assert notebooks.refresh([notebook]) == [notebook]
    kept = nbformat.read(notebook, as_version=4)
    assert outputs_text(kept.cells[1]) == ["sim\n"]
    assert outputs_text(kept.cells[2]) == ["42"]
    assert [path.name for path in notebook.parent.iterdir()] == ["small.ipynb"]

    ran = copy.deepcopy(kept)
    monkeypatch.setattr(notebooks, "execute", lambda path: copy.deepcopy(ran))
    assert notebooks.refresh([notebook]) == []
    assert notebooks.check([notebook]) == []
    assert notebooks.main(["--check", str(notebook)]) == 0

    ran.cells[1].outputs[0].text = "npu\n"
    (difference,) = notebooks.check([notebook])
    assert difference.cell == kept.cells[1].id
    assert "-sim" in str(difference) and "+npu" in str(difference)
    assert notebooks.main(["--check", str(notebook)]) == 1
    assert outputs_text(nbformat.read(notebook, as_version=4).cells[1]) == ["sim\n"]


def test_check_tells_of_a_notebook_that_is_not_in_the_kept_form(notebook, monkeypatch):
    stored = nbformat.read(notebook, as_version=4)
    for cell in stored.cells[1:]:
        cell.outputs = [stream("42\n")]
    nbformat.write(stored, notebook)
    monkeypatch.setattr(notebooks, "execute", lambda path: copy.deepcopy(stored))
    (difference,) = notebooks.check([notebook])
    assert "not in the kept form" in difference.text


def test_a_cell_that_fails_leaves_the_file_alone(notebook, capsys):
    stored = nbformat.read(notebook, as_version=4)
    stored.cells[1].source = "raise RuntimeError('on purpose')"
    nbformat.write(stored, notebook)
    before = notebook.read_text(encoding="utf-8")
    assert notebooks.main([str(notebook)]) == 2
    assert "on purpose" in capsys.readouterr().err
    assert notebook.read_text(encoding="utf-8") == before


def test_a_path_that_is_not_there_is_named(tmp_path, capsys):
    assert notebooks.main([str(tmp_path / "none.ipynb")]) == 2
    assert "none.ipynb" in capsys.readouterr().err


def test_folders_are_searched_and_checkpoints_are_not(tmp_path):
    (tmp_path / ".ipynb_checkpoints").mkdir()
    for name in ("b.ipynb", "a.ipynb", ".ipynb_checkpoints/a.ipynb", "c.txt"):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert [path.name for path in notebooks.notebook_paths([tmp_path])] == ["a.ipynb", "b.ipynb"]
    assert [p.name for p in notebooks.notebook_paths()][:1] == ["00_start_here.ipynb"]
