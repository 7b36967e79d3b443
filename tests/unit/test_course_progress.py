"""What is remembered of exercises: by a kernel, by a course, through broken files and crowds."""

import json
import subprocess
import sys

import pytest

import labkit
from labkit.course import check, exercise_names, progress, solution
from labkit.course.copy import RECORD
from labkit.course.exercise import exercise
from labkit.course.progress import FILE, note, states

module = sys.modules["labkit.course.progress"]
NAMES = exercise_names()
ONE, TWO = NAMES[0], NAMES[1]


@pytest.fixture(autouse=True)
def kernel(tmp_path, monkeypatch):
    """A kernel that has seen nothing yet, in a folder that is no course."""
    monkeypatch.setattr(module, "_SEEN", {})
    monkeypatch.delenv("LABKIT_PROGRESS", raising=False)
    monkeypatch.delenv("LABKIT_LANG", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A copied course; the kernel works in its Chinese half."""
    (tmp_path / "course" / "zh").mkdir(parents=True)
    (tmp_path / "course" / RECORD).write_text("{}")
    monkeypatch.chdir(tmp_path / "course")
    return tmp_path / "course"


def another_kernel(monkeypatch):
    monkeypatch.setattr(module, "_SEEN", {})


def kept(course):
    return json.loads((course / FILE).read_text())["exercises"]


# -- the table -----------------------------------------------------------------------


def test_at_first_every_exercise_is_open():
    shown = progress()
    assert tuple(shown.states) == NAMES and set(shown.states.values()) == {"open"}
    assert repr(shown).startswith(f"solved: 0 of {len(NAMES)} · remembered until this kernel stops")


def test_the_table_has_a_line_for_each_notebook():
    note(ONE, "solved")
    note(TWO, "tried")
    shown = progress()
    lines = repr(shown).splitlines()
    assert [line[:2] for line in lines[1:]] == [f"{number:02}" for number in shown.notebooks]
    assert f"solved: {ONE}" in repr(shown) and f"tried: {TWO}" in repr(shown)
    table = shown._repr_markdown_().splitlines()
    assert table[0] == f"**{shown.summary}**" and table[2] == "| notebook | solved | tried | open |"
    assert len(table) == 4 + len(shown.notebooks)
    assert {line.count("|") for line in table[2:]} == {5}
    assert all(any(name in line for line in table[4:]) for name in NAMES)


def test_one_notebook_may_be_asked_for():
    shown = progress(1)
    assert shown.notebooks == (1,) and tuple(shown.states) == exercise_names(1)
    assert tuple(progress(99).states) == ()


def test_in_chinese_the_words_are_chinese(course, monkeypatch):
    monkeypatch.chdir(course / "zh")
    note(ONE, "solved")
    assert repr(progress()).startswith("已解决1 / ") and f"已解决：{ONE}" in repr(progress())
    assert "| 篇目 | 已解决 | 已尝试 | 未作答 |" in progress()._repr_markdown_()


# -- what counts ------------------------------------------------------------------------


def test_a_check_tries_and_solves_and_solved_stays_solved():
    with labkit.open_device("sim") as device:
        check("twin of mask", (1.0, 0.75), device)
        assert states() == {"twin of mask": "tried"}
        check("twin of mask", (1.0, 0.5), device)
        assert states() == {"twin of mask": "solved"}
        check("twin of mask", None, device)
    assert states() == {"twin of mask": "solved"}


def test_the_stub_as_it_was_given_is_no_try(monkeypatch):
    class Shell:
        user_ns = {"In": ["", exercise("twin of mask").stub + "\n"]}  # noqa: RUF012

    monkeypatch.setattr("IPython.get_ipython", Shell)
    with labkit.open_device("sim") as device:
        check("twin of mask", (1.0, 0.75), device)
        assert states() == {} and "try your own" in repr(solution("twin of mask"))
        Shell.user_ns["In"].append('check("twin of mask", (2.0, 0.75))')
        check("twin of mask", (2.0, 0.75), device)
    assert states() == {"twin of mask": "tried"}


# -- where it is remembered ----------------------------------------------------------------


def test_outside_of_a_course_nothing_is_written(tmp_path):
    note(ONE, "solved")
    assert list(tmp_path.iterdir()) == [] and not progress().lasting


def test_a_course_remembers_for_the_next_kernel(course, monkeypatch):
    note(ONE, "tried")
    monkeypatch.chdir(course / "zh")
    another_kernel(monkeypatch)
    note(TWO, "solved")
    another_kernel(monkeypatch)
    assert states() == {ONE: "tried", TWO: "solved"}
    monkeypatch.chdir(course)
    assert progress().lasting and "remembered in this course" in repr(progress())
    assert sorted(p.name for p in course.iterdir()) == [RECORD, FILE, "zh"]


def test_a_solution_tried_in_an_earlier_kernel_is_shown(course, monkeypatch):
    monkeypatch.delenv("LABKIT_SOLUTIONS", raising=False)
    note("mask", "tried")
    another_kernel(monkeypatch)
    assert "def my_mask" in repr(solution("mask"))


def test_a_variable_may_name_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "elsewhere.json"))
    note(ONE, "solved")
    another_kernel(monkeypatch)
    assert states() == {ONE: "solved"} and (tmp_path / "elsewhere.json").is_file()


@pytest.mark.parametrize(
    "broken",
    ["", "{", "[]", "3", '{"exercises": 3}', '{"exercises": ["a"]}', "\x00\xff", '{"e": {}}'],
)
def test_a_broken_file_is_no_reason_to_fail(course, broken):
    (course / FILE).write_bytes(broken.encode("latin-1"))
    assert states() == {}
    note(ONE, "solved")
    assert kept(course) == {ONE: "solved"}


def test_what_a_newer_course_remembers_is_kept(course):
    (course / FILE).write_text(
        json.dumps({"exercises": {"of tomorrow": "solved", ONE: "solved", TWO: ["odd"]}})
    )
    note(ONE, "tried")
    note(TWO, "tried")
    assert kept(course) == {"of tomorrow": "solved", ONE: "solved", TWO: "tried"}
    assert "of tomorrow" not in progress().states


def test_where_nothing_can_be_written_the_kernel_remembers_alone(course, monkeypatch):
    (course / FILE).mkdir()  # even the superuser cannot write this
    note(ONE, "solved")
    assert states() == {ONE: "solved"} and (course / FILE).is_dir()
    assert sorted(p.name for p in course.iterdir()) == [RECORD, FILE, "zh"]
    monkeypatch.setenv("LABKIT_PROGRESS", str(course / "none" / "x.json"))
    note(TWO, "tried")
    assert states() == {ONE: "solved", TWO: "tried"} and not progress().lasting


def test_a_lock_that_a_dead_kernel_left_does_not_stop_the_others(course, monkeypatch):
    monkeypatch.setattr(module, "_STALE_SECONDS", -1.0)
    (course / f".{FILE}.lock").write_text("")
    note(ONE, "solved")
    assert kept(course) == {ONE: "solved"} and not (course / f".{FILE}.lock").exists()


def test_kernels_that_write_at_once_lose_nothing(course):
    code = (
        "import sys\n"
        "from labkit.course.progress import note\n"
        "for number in range(25):\n"
        "    note(f'{sys.argv[1]} {number}', 'solved')\n"
    )
    crowd = [subprocess.Popen([sys.executable, "-c", code, name]) for name in "abc"]
    assert [each.wait(60) for each in crowd] == [0, 0, 0]
    assert sorted(kept(course)) == sorted(f"{name} {n}" for name in "abc" for n in range(25))
    assert sorted(p.name for p in course.iterdir()) == [RECORD, FILE, "zh"]
