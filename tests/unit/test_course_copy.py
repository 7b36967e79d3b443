"""`labkit lab`: a copy of the course that keeps what the learner wrote."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from labkit import cli
from labkit.course import copy as course_copy
from labkit.course import start
from labkit.course.copy import RECORD, copy_course, course_above, course_folder, reset
from labkit.errors import LabError


def notebook(*sources, outputs=()):
    """The text of a small notebook."""
    cells = [
        {"id": f"c{n}", "cell_type": "code", "source": [source], "outputs": list(outputs)}
        for n, source in enumerate(sources)
    ]
    return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"]


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course of three small notebooks in place of the real one."""
    folder = tmp_path / "original"
    (folder / "zh").mkdir(parents=True)
    for name in ("00_start.ipynb", "03_more.ipynb", "zh/00_start.ipynb"):
        (folder / name).write_text(notebook("first"), encoding="utf-8")
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / ".ipynb_checkpoints" / "00_start.ipynb").write_text("old", encoding="utf-8")
    monkeypatch.setattr(course_copy, "course_folder", lambda: folder)
    return folder


@pytest.fixture
def mine(course, tmp_path):
    """The learner's copy of it."""
    copy_course(tmp_path / "mine")
    return tmp_path / "mine"


def everything(folder):
    """Every file of a folder with what is in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# -- copying -------------------------------------------------------------------------


def test_a_new_folder_gets_the_whole_course_and_a_record(course, tmp_path):
    done = copy_course(tmp_path / "a new" / "folder")
    assert done.added == ("00_start.ipynb", "03_more.ipynb", "zh/00_start.ipynb")
    assert set(everything(done.folder)) == {*done.added, RECORD}
    assert "added: 3 files" in str(done)


def test_an_empty_folder_will_do_and_so_will_one_of_hidden_files(course, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / ".DS_Store").write_text("x")
    assert len(copy_course(tmp_path / "empty").added) == 3


def test_a_second_time_changes_nothing(mine):
    before = everything(mine)
    done = copy_course(mine)
    assert (done.added, done.updated, done.kept, done.behind) == ((), (), (), ())
    assert everything(mine) == before


def test_what_is_missing_is_added_and_what_was_edited_stays(mine):
    (mine / "00_start.ipynb").write_text(notebook("mine"), encoding="utf-8")
    (mine / "03_more.ipynb").unlink()
    done = copy_course(mine)
    assert (done.added, done.kept, done.behind) == (("03_more.ipynb",), ("00_start.ipynb",), ())
    assert read(mine / "00_start.ipynb") == ["mine"]


def test_a_newer_course_comes_in_only_where_the_learner_changed_nothing(course, mine):
    (mine / "00_start.ipynb").write_text(notebook("mine"), encoding="utf-8")
    for name in ("00_start.ipynb", "03_more.ipynb"):
        (course / name).write_text(notebook("second"), encoding="utf-8")
    done = copy_course(mine)
    assert (done.updated, done.kept, done.behind) == (
        ("03_more.ipynb",),
        ("00_start.ipynb",),
        ("00_start.ipynb",),
    )
    assert read(mine / "03_more.ipynb") == ["second"] and read(mine / "00_start.ipynb") == ["mine"]
    assert "newer in the course: 00_start.ipynb (take it: --reset 00_start.ipynb)" in str(done)
    assert copy_course(mine).behind == ("00_start.ipynb",)  # and is told of again


def test_running_a_notebook_is_no_change_of_it(course, mine):
    output = {"output_type": "stream", "name": "stdout", "text": "ran"}
    (mine / "03_more.ipynb").write_text(notebook("first", outputs=[output]), encoding="utf-8")
    assert copy_course(mine).kept == ()
    (course / "03_more.ipynb").write_text(notebook("second"), encoding="utf-8")
    assert copy_course(mine).updated == ("03_more.ipynb",)


def test_an_edit_that_is_what_the_course_now_says_is_no_edit(course, mine):
    for folder in (course, mine):
        (folder / "03_more.ipynb").write_text(notebook("second"), encoding="utf-8")
    assert copy_course(mine).kept == ()
    (course / "03_more.ipynb").write_text(notebook("third"), encoding="utf-8")
    assert copy_course(mine).updated == ("03_more.ipynb",)


@pytest.mark.parametrize("broken", ["", "{", "[]", '{"notebooks": 3}', "\x00"])
def test_with_a_broken_record_everything_counts_as_the_learners(course, mine, broken):
    (mine / RECORD).write_text(broken)
    (mine / "00_start.ipynb").write_text(notebook("mine"), encoding="utf-8")
    (mine / "03_more.ipynb").unlink()
    done = copy_course(mine)
    assert (done.added, done.kept) == (("03_more.ipynb",), ("00_start.ipynb",))
    assert json.loads((mine / RECORD).read_text())["notebooks"]


def test_a_notebook_that_is_no_notebook_any_more_is_the_learners(mine):
    (mine / "00_start.ipynb").write_text("half a file", encoding="utf-8")
    assert copy_course(mine).kept == ("00_start.ipynb",)


# -- folders that will not do ---------------------------------------------------------


def test_a_file_is_no_folder(course, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(LabError, match="is a file"):
        copy_course(tmp_path / "file")
    with pytest.raises(LabError, match=r"cannot be (written|read)"):
        copy_course(tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "x"


def test_a_folder_of_other_things_is_refused_and_stays_as_it_is(course, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for name in "abcd":
        (other / name).write_text(name)
    with pytest.raises(LabError, match=r"holds other things \(a, b, c \.\.\.\) and no course"):
        copy_course(other)
    assert sorted(everything(other)) == ["a", "b", "c", "d"]


def test_the_course_itself_is_not_copied_onto_itself(course):
    before = everything(course)
    with pytest.raises(LabError, match="holds other things"):
        copy_course(course)
    assert everything(course) == before


@pytest.mark.parametrize("when", ["aside", "in place"])
def test_a_disk_that_fills_leaves_nothing_behind(course, tmp_path, monkeypatch, when):
    def full(*_):
        raise OSError(28, "No space left on device")

    if when == "aside":
        monkeypatch.setattr(Path, "write_bytes", full)
    else:
        monkeypatch.setattr(os, "replace", full)
    with pytest.raises(LabError, match=r"cannot be written to .*No space left"):
        copy_course(tmp_path / "new" / "mine")
    assert not (tmp_path / "new").exists()


def test_a_disk_that_fills_leaves_the_learners_copy_as_it_was(course, mine, monkeypatch):
    before = everything(mine)
    (course / "03_more.ipynb").write_text(notebook("second"), encoding="utf-8")
    monkeypatch.setattr(Path, "write_bytes", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(LabError, match="full"):
        copy_course(mine)
    assert everything(mine) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_folder_that_may_not_be_written_is_named(course, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(LabError, match="locked"):
        copy_course(tmp_path / "locked" / "mine")


def test_a_folder_where_a_notebook_should_be_is_named(mine):
    (mine / "03_more.ipynb").unlink()
    (mine / "03_more.ipynb").mkdir()
    with pytest.raises(LabError, match=r"03_more.ipynb is a folder"):
        copy_course(mine)


# -- bringing notebooks back -----------------------------------------------------------


def test_a_reset_brings_one_back_and_keeps_the_learners_version(mine):
    for text, kept in (("mine", "03_more.mine.ipynb"), ("mine too", "03_more.mine-2.ipynb")):
        (mine / "03_more.ipynb").write_text(notebook(text), encoding="utf-8")
        done = reset(mine, "03_more.ipynb")
        assert (done.updated, done.aside) == (("03_more.ipynb",), (kept,))
        assert read(mine / "03_more.ipynb") == ["first"] and read(mine / kept) == [text]
    assert copy_course(mine).kept == ()


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ("00", ["00_start.ipynb", "zh/00_start.ipynb"]),
        ("0", ["00_start.ipynb", "zh/00_start.ipynb"]),
        ("zh/00", ["zh/00_start.ipynb"]),
        ("zh/00_start", ["zh/00_start.ipynb"]),
        ("00_start", ["00_start.ipynb"]),
        ("3", ["03_more.ipynb"]),
        ("all", ["00_start.ipynb", "03_more.ipynb", "zh/00_start.ipynb"]),
    ],
)
def test_a_notebook_may_be_named_in_several_ways(mine, wanted, names):
    (mine / "03_more.ipynb").unlink()
    assert list(reset(mine, wanted).updated) == names
    assert not list(mine.rglob("*.mine*")) or (mine / "03_more.ipynb").is_file()


def test_a_reset_takes_the_newer_text(course, mine):
    (course / "03_more.ipynb").write_text(notebook("second"), encoding="utf-8")
    (mine / "03_more.ipynb").write_text(notebook("mine"), encoding="utf-8")
    reset(mine, "03")
    assert read(mine / "03_more.ipynb") == ["second"] and copy_course(mine).behind == ()


@pytest.mark.parametrize("wanted", ["04", "x", "", "../original/00_start", "zh/03"])
def test_a_notebook_that_is_not_there_is_refused(mine, wanted):
    before = everything(mine)
    with pytest.raises(LabError, match=r"no notebook .*there are 00_start.ipynb, 03_more"):
        reset(mine, wanted)
    assert everything(mine) == before


def test_only_a_course_can_be_reset(course, tmp_path):
    with pytest.raises(LabError, match="holds no course"):
        reset(tmp_path, "all")


# -- the command ------------------------------------------------------------------------


@pytest.fixture
def started(monkeypatch):
    """Catch the start of JupyterLab; the list holds its commands."""
    commands = []
    monkeypatch.setattr(start.os, "execv", lambda python, command: commands.append(command))
    monkeypatch.setattr(
        start.subprocess,
        "run",
        lambda command, **_: (
            commands.append(command) or subprocess.CompletedProcess(command, returncode=0)
        ),
    )
    monkeypatch.delenv("LABKIT_LANG", raising=False)
    return commands


def test_jupyterlab_opens_in_the_copy_at_the_first_notebook(tmp_path, monkeypatch, started):
    monkeypatch.chdir(tmp_path)
    cli.main(["lab", "mine", "--no-browser", "--port", "9123"])
    command = started[0]
    assert f"--ServerApp.root_dir={tmp_path / 'mine'}" in command
    assert "--LabApp.default_url=/lab/tree/00_start_here.ipynb" in command
    assert {"--no-browser", "--ServerApp.port=9123"} <= set(command)
    assert (tmp_path / "mine" / "zh" / "00_start_here.ipynb").is_file()


def test_in_chinese_it_opens_the_chinese_one(tmp_path, monkeypatch, started):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABKIT_LANG", "zh")
    cli.main(["lab"])
    assert "--LabApp.default_url=/lab/tree/zh/00_start_here.ipynb" in started[0]
    assert (tmp_path / start.FOLDER / RECORD).is_file()


def test_within_a_course_that_course_is_meant(tmp_path, monkeypatch, started):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["lab", "mine", "--copy-only"]) == 0
    monkeypatch.chdir(tmp_path / "mine" / "zh")
    assert course_above() == tmp_path / "mine"
    assert cli.main(["lab", "--copy-only"]) == 0 and cli.main(["lab", "--reset", "01"]) == 0
    assert not (tmp_path / "mine" / "zh" / start.FOLDER).exists() and started == []


def test_a_language_that_is_not_there_is_told_before_anything_is_copied(
    tmp_path, monkeypatch, capsys, started
):
    monkeypatch.setenv("LABKIT_LANG", "fr")
    assert cli.main(["lab", str(tmp_path / "mine")]) == 1
    assert "'fr'; right would be en or zh" in capsys.readouterr().err
    assert not (tmp_path / "mine").exists() and started == []


@pytest.mark.parametrize("port", ["0", "70000", "many", "-1"])
def test_a_port_that_cannot_be_is_wrong_usage(tmp_path, capsys, port):
    with pytest.raises(SystemExit) as stop:
        cli.main(["lab", str(tmp_path / "mine"), "--port", port])
    assert stop.value.code == 2 and not (tmp_path / "mine").exists()


def test_a_folder_that_will_not_do_is_words_and_exit_code_1(tmp_path, capsys, started):
    (tmp_path / "thing").write_text("x")
    assert cli.main(["lab", str(tmp_path), "--copy-only"]) == 1
    assert capsys.readouterr().err.startswith("labkit: ")


# -- what is installed ---------------------------------------------------------------------


def test_the_notebooks_of_the_checkout_are_the_course(root):
    assert course_folder() == root / "notebooks"


def test_every_chinese_notebook_of_the_copy_has_its_english_twin(tmp_path):
    done = copy_course(tmp_path / "mine")
    chinese = {Path(name).name for name in done.added if name.startswith("zh/")}
    assert chinese and chinese <= set(done.added)


def test_in_the_copy_every_link_from_notebook_to_notebook_leads_somewhere(tmp_path):
    copy_course(tmp_path / "mine")
    lost = []
    for path in (tmp_path / "mine").rglob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                for link in re.findall(r"\]\(([^)#:]+\.ipynb)", "".join(cell["source"])):
                    if not (path.parent / link).is_file():
                        lost.append((path.name, link))
    assert lost == []


@pytest.fixture(scope="module")
def wheel(root, tmp_path_factory, skip_or_fail):
    """The project as a wheel, unpacked."""
    place = tmp_path_factory.mktemp("wheel")
    quiet = ["--quiet", "--disable-pip-version-check"]
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", str(root), "--no-deps", *quiet, "-w", str(place)],
        capture_output=True,
        text=True,
    )
    if built.returncode and "hatchling" in built.stdout + built.stderr:
        skip_or_fail("pip could not fetch hatchling, which builds the wheel")
    assert built.returncode == 0, built.stderr
    (file,) = place.glob("*.whl")
    with zipfile.ZipFile(file) as archive:
        archive.extractall(place / "site")
    return place / "site"


def test_a_wheel_holds_the_course_and_the_command_copies_it(root, wheel, tmp_path):
    inside = [p.relative_to(wheel).as_posix() for p in wheel.rglob("*") if p.is_file()]
    originals = {path.name for path in (root / "notebooks").glob("*.ipynb")}
    assert {Path(n).name for n in inside if n.startswith("labkit/notebooks/")} == originals
    assert not [name for name in inside if "checkpoint" in name or "/." in name]

    environment = {**os.environ, "PYTHONPATH": str(wheel), "LABKIT_LANG": "zh"}
    answer = subprocess.run(
        [sys.executable, "-m", "labkit", "lab", str(tmp_path / "mine"), "--copy-only"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert answer.returncode == 0, answer.stderr
    assert "zh/00_start_here.ipynb" in answer.stdout and "课程在" in answer.stdout
    assert {path.name for path in (tmp_path / "mine").glob("*.ipynb")} == originals


def test_a_copied_notebook_shows_no_answer_before_it_is_run(tmp_path):
    copy_course(tmp_path / "mine")
    for path in (tmp_path / "mine").rglob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            assert not cell.get("outputs") and cell.get("execution_count") is None
