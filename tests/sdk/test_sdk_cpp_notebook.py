"""Notebook 09's helper: programs that are changed, built and run, and the log of their calls."""

import json
import os
import re
import shutil
import sys

import nbformat
import numpy as np
import pytest

import labkit
from labkit.course import cpp, cpp_run, cpp_tools
from labkit.course.copy import RECORD
from labkit.course.cpp_calls import named, read_log
from labkit.errors import LabValueError
from labkit.sim.sdk import SdkError, write_sdk

NAME = "hardshrink_backward"
RESULT = "\n".join(f"result[{n}] is: {value}.000000" for n, value in enumerate((0, 0, 1, 1)))


@pytest.fixture(scope="module")
def tools(skip_or_fail):
    """Leave a test out where nothing can be built."""
    if not (shutil.which("g++") or shutil.which("clang++")):
        skip_or_fail("no C++ compiler on this machine")
    try:
        return cpp_tools.toolkit("sim")
    except cpp_tools.ToolError as error:
        skip_or_fail(str(error))


@pytest.fixture
def program(monkeypatch, tmp_path):
    """The program outside of any course."""
    monkeypatch.chdir(tmp_path)
    return cpp.reset(NAME)


@pytest.fixture
def course(monkeypatch, tmp_path):
    """A folder of the learner's, the process inside its zh."""
    (tmp_path / "zh").mkdir()
    (tmp_path / RECORD).write_text("{}")
    monkeypatch.chdir(tmp_path / "zh")
    monkeypatch.setenv("LABKIT_LANG", "en")
    return tmp_path


# -- the call log of the tree ---------------------------------------------------------


def python_calls():
    x = np.array([[0, 1], [2, 3]], np.float32)
    with labkit.open_device("sim", soc="950") as device:
        labkit.hardshrink_backward(np.ones_like(x), x, lambd=1.0, device=device)
    return device.record


def test_the_log_has_a_line_for_each_call_written_as_the_record_writes_it(tools, program, tmp_path):
    folder = program.build("sim").folder
    for times in (1, 2):
        cpp_tools.run_program(
            folder, [NAME], tools, strict=True, soc="", seconds=60, log=tmp_path / "log"
        )
        lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
        assert len(lines) == 29 * times  # the second run appends
    assert all(set(line) == {"name", "args", "status", "returned"} for line in lines)
    ours = {str(call): call.args for call in named(read_log(tmp_path / "log")[:29])}
    theirs = {str(call): call.args for call in named(python_calls())}
    assert ours.keys() - theirs.keys() == {"aclrtMemcpy host → memory#3, 16 B"}
    assert {name: args for name, args in ours.items() if theirs.get(name, args) != args} == {}


def test_a_log_that_cannot_be_written_is_told_and_the_program_runs(tools, program, tmp_path):
    folder = program.build("sim").folder
    done = cpp_tools.run_program(
        folder, [NAME], tools, strict=True, soc="", seconds=60, log=tmp_path / "no" / "log"
    )
    assert done.output.strip() == RESULT and done.code == 0
    assert done.errors.count("labkit: no call log: ") == 1


def test_a_disk_that_is_full_changes_nothing_for_the_program(tools, program):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full on this system")
    folder = program.build("sim").folder
    done = cpp_tools.run_program(
        folder, [NAME], tools, strict=True, soc="", seconds=60, log="/dev/full"
    )
    assert done.output.strip() == RESULT and done.code == 0
    assert done.errors.count("labkit: no call log any more: ") == 1


def test_a_log_that_ends_in_the_middle_of_a_line_is_read_as_far_as_it_goes(tmp_path):
    line = json.dumps({"name": "aclFinalize", "args": [], "status": 0, "returned": "0"})
    (tmp_path / "log").write_text(f"{line}\n{line[:20]}")
    assert [call.name for call in read_log(tmp_path / "log")] == ["aclFinalize"]


# -- side by side -----------------------------------------------------------------------


def test_a_program_beside_itself_has_no_difference(tools, program):
    calls = program.run("sim").calls
    both = cpp.beside(calls, calls, ("a", "b"))
    assert both.count("=") == len(both.rows) == 29


def test_every_call_stands_in_its_column_once_and_in_order(tools, program):
    calls, record = program.run("sim").calls, python_calls()
    both = cpp.beside(calls, record, ("C++", "Python"))
    assert [row.left.name for row in both.rows if row.left] == [call.name for call in calls]
    assert [row.right.name for row in both.rows if row.right] == [call.name for call in record]
    moved = [row for row in both.rows if row.mark == "↕"]
    left, right = (
        sorted(str(getattr(row, side)) for row in moved if getattr(row, side))
        for side in ("left", "right")
    )
    assert left == right and left
    assert both.count("≠") == 0 and both.count("+") == 3
    assert both._repr_html_().count("<tr>") == len(both.rows) + 1
    assert "0x" not in repr(both)


def test_another_argument_is_marked_as_such(tools, program):
    larger = program.replace("float lambd = 1.0f", "double lambd = 1.0")
    larger = larger.replace("&lambd, ACL_FLOAT)", "&lambd, ACL_DOUBLE)")
    both = cpp.beside(program.run("sim").calls, larger.run("sim").calls, ("a", "b"))
    odd = [row for row in both.rows if row.mark == "≠"]
    assert len(odd) == 2
    assert {(row.left or row.right).argument("dataType") for row in odd} == {
        "ACL_FLOAT",
        "ACL_DOUBLE",
    }


# -- the learner's file -------------------------------------------------------------------


def test_in_a_course_the_file_is_the_learners_and_edits_survive(course):
    program = cpp.program(NAME)
    assert program.path == course / "cpp" / f"{NAME}.cpp"
    assert program.where == f"cpp/{NAME}.cpp in the folder of your course"
    program.path.write_text(program.text + "// mine\n")
    assert cpp.program(NAME).text.endswith("// mine\n")
    cpp.program(NAME).replace("lambd = 1.0f", "lambd = 3.0f").save()
    assert "lambd = 3.0f" in cpp.program(NAME).text and cpp.program(NAME).text.endswith("mine\n")
    assert cpp.reset(NAME) == program and cpp.program(NAME) == program


def test_a_change_is_a_new_value_and_the_file_stays(program):
    before = program.path.read_text()
    for _ in range(2):  # as a cell that is run twice
        changed = program.inserted("// one\n// two", after="aclDestroyScalar(scalar);")
    assert changed.text.count("    // one\n    // two\n}") == 1
    assert program.without("aclDestroyScalar").text.count("aclDestroyScalar") == 0
    assert program.path.read_text() == before == program.text


def test_a_course_that_cannot_be_written_is_no_obstacle(course, monkeypatch):
    (course / "cpp").write_text("a file where the folder should be")
    assert cpp.program(NAME).path.parent != course / "cpp"


@pytest.mark.parametrize("words", ["nowhere", "CHECK(", "", "\n", "int main()\n{"])
def test_a_place_that_is_not_one_place_is_refused(program, words):
    for change in (
        lambda: program.replace(words, "x"),
        lambda: program.without(words),
        lambda: program.inserted("x", after=words),
    ):
        with pytest.raises(LabValueError, match=r"times; right would be"):
            change()


def test_a_place_that_is_no_text_is_refused(program):
    with pytest.raises(LabValueError, match="None is no text of the program"):
        program.without(None)


def test_unknown_programs_and_pieces_are_named(program):
    with pytest.raises(LabValueError, match=f"there are {NAME}"):
        cpp.program("../secret")
    with pytest.raises(LabValueError, match="there are check, DeviceMemory, Tensor, run, main"):
        program.piece("Main")


def test_the_pieces_are_whole(program):
    lines = program.text.splitlines()
    for piece in program.pieces:
        assert piece.text.splitlines() == lines[piece.first - 1 : piece.last]
        assert piece.text.count("{") == piece.text.count("}")
        shown = repr(program.show(piece.name))
        assert piece.text in shown and all(call in shown for call in piece.calls)
    assert "check((call), #call)" in program.piece("check").text
    assert program.piece("Tensor").calls["aclrtMemcpy"] == 2


# -- building and running -------------------------------------------------------------------


def test_the_command_is_the_documented_one(tools, program):
    words = repr(program.build("sim")).replace("\\\n", "").split()
    assert words[1:] == [
        *("-std=c++17", f"{NAME}.cpp", "-I$ASCEND_HOME_PATH/include"),
        *("-L$ASCEND_HOME_PATH/lib64", "-lopapi_nn", "-lopapi_math", "-lascendcl", "-lnnopbase"),
        *("-o", NAME, "built"),
    ]


def test_the_same_text_is_built_once(tools, program, monkeypatch):
    program.build("sim")
    monkeypatch.setattr(cpp_run, "compile_program", None)
    assert program.build("sim").ok


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("aclFinalize()", "aclFinalise()", "did you mean"),
        ("self.get(), scalar,", "self.get(), lambd,", "aclScalar"),
        ("int main()", "int mein()", "main"),
    ],
)
def test_what_the_compiler_says_is_shown_without_folders_of_the_machine(
    tools, program, old, new, said
):
    build = program.replace(old, new).build("sim")
    assert not build.ok and said in repr(build) and repr(build).endswith("not built")
    assert not re.search(r"(?<![\w.])/(?:tmp|home|root|usr)/", repr(build)), repr(build)
    run = program.replace(old, new).run("sim")
    assert run.calls == () and run.code is None and "it did not run" in repr(run)


@pytest.mark.parametrize(
    ("body", "ending"),
    [
        ("for (;;) {}", "stopped: it had not come to an end after 2 seconds"),
        ("std::abort();", "ended by SIGABRT"),
        ("std::exit(7);", "exit code 7"),
    ],
)
def test_however_a_program_ends_it_is_said(tools, program, body, ending):
    odd = program.replace("#include <cstdio>", "#include <cstdio>\n#include <cstdlib>")
    assert odd.replace("run(stream);", body).run(
        "sim", seconds=2 if "for" in body else 60
    ).ending == (ending)


def test_a_program_that_writes_for_ever_leaves_little(tools, program):
    flood = program.replace("run(stream);", 'for (;;) std::puts("and on and on and on");')
    run = flood.run("sim", seconds=60)
    assert run.ending == "ended by SIGXFSZ" and len(run.output) <= 20_000


def test_what_was_left_is_told_by_name(tools, program):
    run = program.without("aclDestroyScalar(scalar);").run("sim")
    assert run.output == RESULT and run.code == 0
    assert run.errors == "labkit: at aclFinalize aclScalar scalar#1 was not destroyed"


def test_another_chip_and_a_lenient_one(tools, program):
    hasty = program.without("CHECK(aclrtSynchronizeStream(stream));")
    assert "LifetimeError" in hasty.run("sim").errors
    assert hasty.run("sim", strict=False).output.count("9.000000") == 4
    asks = program.replace("run(stream);", "std::puts(aclrtGetSocName());")
    assert asks.run("sim").output == "Ascend950PR_9599"
    assert asks.run("sim", soc="Ascend910B1").output == "Ascend910B1"


def test_an_installed_cann_is_built_against_with_its_own_libraries(
    tools, program, tmp_path, monkeypatch, skip_or_fail
):
    try:
        root = write_sdk(tmp_path / "old", layout="single").root
    except SdkError as error:
        skip_or_fail(str(error))
    (root / "lib64" / "libascendcl.so").unlink()
    monkeypatch.setenv("ASCEND_HOME_PATH", str(root))
    monkeypatch.setenv("LABKIT_DEVICE", "npu")
    build = program.build()
    assert "-lopapi -lacl_rt -lnnopbase" in build.command and str(root) not in repr(build)
    assert build.run().output == RESULT
    assert program.run("sim").output == RESULT  # asked for by name, it is the lab's own tree


def test_what_a_killed_process_left_is_removed_a_day_later(tmp_path):
    dead, alive = 2**22 + 1, os.getpid()  # beyond the largest process id that Linux gives
    folders = [tmp_path / f"labkit-cpp-{process}-x" for process in (dead, alive)]
    fresh = tmp_path / f"labkit-cpp-{dead}-fresh"
    for folder in (*folders, fresh):
        (folder / "tree").mkdir(parents=True)
    for folder in folders:
        os.utime(folder, (0, 0))
    cpp_tools._sweep(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([folders[1], fresh])


def test_without_cann_an_explicit_npu_says_so_and_does_not_fall_back(
    program, tmp_path, monkeypatch
):
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("labkit.cann.find._SYSTEM", (tmp_path,))
    monkeypatch.setenv("LABKIT_DEVICE", "npu")
    run = program.run()
    assert run.code is None and "no CANN to build against" in run.output


def test_on_an_npu_there_is_no_log_and_none_is_made_up(tools, program):
    from dataclasses import replace

    build = program.build("sim")
    run = replace(build, kit=replace(build.kit, simulated=False)).run()
    assert run.output == RESULT and run.calls is None


# -- the notebook -----------------------------------------------------------------------------


def cells(root, folder=""):
    path = root / "notebooks" / folder / "09_the_cpp_host_program.ipynb"
    return [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]


def test_without_a_compiler_every_cell_runs_and_says_why(root, program, monkeypatch, capsys):
    def none():
        raise cpp_tools.ToolError("there is no C++ compiler here")

    monkeypatch.setattr(cpp_tools, "compiler", none)
    monkeypatch.setattr(cpp_run, "_BUILT", {})
    monkeypatch.setenv("LABKIT_DEVICE", "sim")
    names = {}
    for cell in cells(root):
        exec(compile(cell.source, cell.id, "exec"), names)
    assert capsys.readouterr().out.count("there is no C++ compiler here") >= 3


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("folder", ["", "zh/"])
def test_the_notebook_agrees_cell_by_cell_through_the_libraries(in_tree, root, tmp_path, folder):
    done = in_tree(
        f'"{sys.executable}" -m labkit notebooks --on npu --report report.md '
        f'"{root}"/notebooks/{folder}09_the_cpp_host_program.ipynb',
        cwd=tmp_path,
        check=False,
        LABKIT_ALLOW_SIMULATED="1",
        PYTHONPATH=str(root),
    )
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert done.returncode == 0, report
    assert "0 not as stored, 0 notebooks stopped early" in report
