"""The exercises of notebook 09: what a wrong answer is told, and that no answer hangs or raises."""

import shutil

import pytest

from labkit.course import check
from labkit.course.cpp_tools import ToolError, toolkit
from labkit.course.exercises.cpp_leak import check as leak
from labkit.course.exercises.cpp_order import check as order

HEAD = "void *workspace = nullptr;\n"
MALLOC = "CHECK(aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST));\n"
GUARDED = "if (workspaceSize > 0) " + MALLOC
PHASE_2 = "CHECK(aclnnHardshrinkBackward(workspace, workspaceSize, executor, stream));\n"
WAIT = "CHECK(aclrtSynchronizeStream(stream));\n"
FREE = "if (workspace) CHECK(aclrtFree(workspace));\n"


@pytest.fixture(scope="module", autouse=True)
def tools(skip_or_fail):
    """Leave the module out where nothing can be built."""
    if not (shutil.which("g++") or shutil.which("clang++")):
        skip_or_fail("no C++ compiler on this machine")
    try:
        toolkit("sim")
    except ToolError as error:
        skip_or_fail(str(error))


@pytest.mark.parametrize(
    ("answer", "where", "told"),
    [
        (HEAD + MALLOC + PHASE_2 + WAIT + FREE, "empty", "aclrtMalloc"),
        (HEAD + GUARDED + PHASE_2 + FREE + WAIT, "mixed", "aclrtFree(memory#4) while"),
        (HEAD + GUARDED + PHASE_2 + FREE, "dense", "call aclrtSynchronizeStream first"),
        (HEAD + GUARDED + PHASE_2 + WAIT, "dense", "512 bytes at memory#4 were not freed"),
        (HEAD + PHASE_2 + WAIT, "dense", "workspace is a null pointer"),
        (HEAD + GUARDED + WAIT + FREE, "dense", "executor#1 was not destroyed"),
        (HEAD + GUARDED + PHASE_2 + PHASE_2 + WAIT + FREE, "dense", "executor that is gone"),
    ],
)
def test_a_wrong_middle_is_betrayed_by_the_input_that_minds(answer, where, told):
    verdict = check("cpp order", answer)
    assert not verdict
    assert f"on the {where} input:" in repr(verdict) and told in repr(verdict), verdict
    assert "0x" not in repr(verdict)


def test_an_order_of_ones_own_passes():
    scoped = HEAD + "if (workspaceSize) {" + MALLOC + "}" + PHASE_2 + WAIT
    assert check("cpp order", scoped + "if (workspaceSize) { aclrtFree(workspace); }")


def test_a_line_that_does_not_compile_is_named_by_its_place_in_the_answer():
    verdict = repr(check("cpp order", HEAD + "workspce = 0;\n"))
    assert "my_lines:2:1: error:" in verdict
    verdict = repr(check("cpp leak", {"after": 43, "add": "aclDestroyScaler(scalar);"}))
    assert "my_fix:1:" in verdict and "error:" in verdict


def test_lines_that_never_end_are_stopped(monkeypatch):
    monkeypatch.setattr(order, "_SECONDS", 2)
    assert "stopped" in repr(check("cpp order", "for (;;) {}"))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"after": 40, "add": "aclDestroyScalar(scalar);"}, "no live aclScalar"),
        ({"after": 45, "add": "aclDestroyScalar(scalar);"}, "scalar#4 was not destroyed"),
        ({"after": 62, "add": "aclDestroyScalar(scalar);"}, "scalar#4 was not destroyed"),
        ({"after": 43, "add": "aclDestroyAclOpExecutor(executor);"}, "scalar#4"),
        ({"after": 41, "add": "aclDestroyScalar(scalar); return -1;"}, "was not destroyed"),
        ({"after": 42, "add": 'aclDestroyScalar(scalar); std::puts("?");'}, "something else"),
        ({"after": 44, "add": "exit(0);"}, "ends before aclFinalize"),
    ],
)
def test_a_wrong_mending_is_told_by_the_report(answer, told):
    verdict = check("cpp leak", answer)
    assert not verdict and told in repr(verdict), verdict


@pytest.mark.parametrize("after", [41, 42, 43, 44])
def test_every_place_on_the_way_out_is_right(after):
    assert check("cpp leak", {"after": after, "add": "aclDestroyScalar(scalar);"})


@pytest.mark.parametrize(
    "answer",
    [
        {"after": True, "add": "x"},
        {"after": 0, "add": "x"},
        {"after": 10_000, "add": "x"},
        {"after": "43", "add": "x"},
        {"after": 43, "add": ""},
        {"after": 43, "add": 7},
        {"after": 43, "add": "x" * 1000},
        {"after": 43},
        [43, "x"],
    ],
)
def test_an_answer_that_is_no_mending_is_not_built(answer, monkeypatch):
    monkeypatch.setattr(leak, "built", None)
    assert not check("cpp leak", answer)


def test_the_listing_has_the_numbers_that_the_answer_uses():
    lines = leak.leaky().splitlines()
    for line in leak.shown().splitlines():
        number = line[:3].strip()
        if number.isdigit():
            assert line[5:] == lines[int(number) - 1]


def test_without_a_compiler_the_verdict_says_so(monkeypatch):
    def none():
        raise ToolError("there is none")

    monkeypatch.setattr("labkit.course.cpp_tools.compiler", none)
    monkeypatch.setattr("labkit.course.cpp_run._BUILT", {})
    for name, answer in (
        ("cpp order", HEAD),
        ("cpp leak", {"after": 43, "add": "aclDestroyScalar(scalar);"}),
    ):
        verdict = check(name, answer)
        assert not verdict and "needs a C++ compiler" in repr(verdict)
