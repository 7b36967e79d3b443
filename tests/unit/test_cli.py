"""The command line answers in words whatever it is given, wherever it writes."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from labkit import cli_streams
from labkit.cli import main

MORE_AXES = (33, 64) if int(np.__version__.partition(".")[0]) >= 2 else ()
"""Ranks that only NumPy 2 holds."""

LONG = "n" * 300
DEEP = "[" * 2000 + "]" * 2000


@pytest.fixture(autouse=True)
def simulated(monkeypatch, tmp_path):
    """The software NPU, a folder of the test's own, and nothing of the learner's."""
    for name in ("LABKIT_LANG", "LABKIT_DEBUG", "LABKIT_PROGRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LABKIT_DEVICE", "sim")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def answer(capsys):
    """Run the command here; gives exit code, stdout and stderr."""

    def run(*words):
        try:
            code = main(list(words))
        except SystemExit as stop:
            code = stop.code
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def in_words(code, err):
    """One line, an exit code of a refusal, and no error that nobody thought of."""
    assert code in (1, 2), err
    assert len(err.splitlines()) == 1 and len(err) < 700, err
    assert err.startswith("labkit") and "did not expect" not in err, err
    return err


# -- what is typed -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", ["4 4", "(,)", "1e-5", "i4,i4", "f4,", "(2,)f4", "O", "V8", "U9999999999", "["]
)
def test_an_odd_dtype_is_refused(answer, dtype):
    for words in (
        ["run", "--self", "1,2", "--dtype", dtype],
        ["run", "--out-dtype", dtype],
        ["explain", "--lambd-dtype", dtype],
        ["explain", "--self", f"{dtype}:2"],
    ):
        code, out, err = answer(*words)
        assert out == ""
        in_words(code, err)


@pytest.mark.parametrize(
    "text", [DEEP, "[null]", '["1"]', "[{}]", f"[{10**400}]", "[[1],[2,3]]", "}"]
)
def test_a_text_that_is_no_tensor_is_refused(answer, text):
    code, _, err = answer("run", "--self", text)
    assert "--self" in in_words(code, err) and "right would be numbers" in err


@pytest.mark.parametrize("text", ["nan", "[NaN, Infinity, -Infinity]", "1e999"])
def test_numbers_that_are_not_finite_are_numbers(answer, text):
    code, out, err = answer("run", "--self", text, "--grad", text)
    assert (code, err) == (0, "") and out.startswith("result[0] is: ")


def test_an_empty_argument_is_refused_and_not_taken_for_none(answer):
    for words in (["run", "--self", ""], ["run", "--self="], ["explain", "--out", ""]):
        code, _, err = answer(*words)
        assert (code, "empty" in in_words(code, err)) == (2, True)
    for words in (["lab", ""], ["sdk", ""], ["observe", ""], ["notebooks", ""]):
        assert in_words(*answer(*words)[::2])
    assert os.listdir() == []


@pytest.mark.parametrize("shape", ["99999999999", "100000,1000000", "9" * 30, "4,4,4,99999999999"])
def test_what_no_memory_holds_is_refused_and_explained_all_the_same(answer, shape):
    code, _, err = answer("run", "--self", f"float32:{shape}")
    in_words(code, err)
    assert ("explain" in err) == (len(shape) < 30)
    if len(shape) < 30:
        code, out, _ = answer("explain", "--self", f"float32:{shape}")
        assert code == 0 and "HardShrinkGrad" in out


def test_two_small_tensors_that_broadcast_to_a_huge_one_are_refused_before_they_run(answer):
    code, _, err = answer("run", "--self", "float32:1000000,1", "--grad", "float32:1,1000000")
    assert "GiB of memory" in in_words(code, err)
    assert answer("run", "--self", "float32:0,99999999999")[0] == 0


def test_memory_that_ends_midway_is_words(answer, monkeypatch):
    def none_left(*_):
        raise MemoryError

    monkeypatch.setattr("labkit.operators.open_device", none_left)
    code, _, err = answer("run")
    assert "memory" in in_words(code, err)


# -- files -------------------------------------------------------------------------------


@pytest.fixture
def arrays(tmp_path):
    """Files that are called .npy, by what is wrong with them."""
    plain = io.BytesIO()
    np.save(plain, np.ones((4, 4), np.float32))
    whole = plain.getvalue()
    pickled, several, huge = io.BytesIO(), io.BytesIO(), bytearray(whole)
    np.save(pickled, np.array([{}, None], object), allow_pickle=True)
    np.savez(several, a=np.ones(2), b=np.ones(2))
    huge[8:10] = (60000).to_bytes(2, "little")
    head = b"\x93NUMPY\x01\x00"
    claimed = b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999,), }\n"
    nested = b"(" * 9000 + b")" * 9000
    bad = {
        "empty": b"",
        "short": whole[:-3],
        "header only": whole[:40],
        "text": b"1,2,3",
        "pickled": pickled.getvalue(),
        "several": several.getvalue(),
        "huge header": bytes(huge),
        "claims more": head + len(claimed).to_bytes(2, "little") + claimed,
        "nested": head + len(nested).to_bytes(2, "little") + nested,
    }
    for name, data in bad.items():
        (tmp_path / f"{name}.npy").write_bytes(data)
    (tmp_path / "folder.npy").mkdir()
    return [f"{name}.npy" for name in (*bad, "folder", "missing", LONG)]


def test_a_broken_file_is_refused_by_its_name(answer, arrays):
    for name in arrays:
        code, _, err = answer("run", "--self", name)
        assert name in in_words(code, err)
        assert answer("run", "--grad", name)[0] == 1


@pytest.mark.parametrize(
    "array",
    [
        np.array(["a"]),
        np.zeros(3, "i4,f4"),
        np.zeros(3, "V0"),
        np.zeros(3, "M8[s]"),
        np.zeros(3, ">f4"),
        *(np.zeros((1,) * rank, np.float32) for rank in (9, 32, *MORE_AXES)),
    ],
    ids=lambda array: f"{array.dtype.str} of {array.ndim} axes",
)
def test_an_array_that_the_operator_cannot_take_is_refused(answer, array):
    np.save("x.npy", array)
    code, _, err = answer("run", "--self", "x.npy", "--grad", "x.npy")
    in_words(code, err)


def test_a_fortran_array_is_a_view_like_any_other(answer):
    np.save("x.npy", np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)))
    code, out, _ = answer("run", "--self", "x.npy", "--grad", "x.npy")
    assert code == 0
    values = [float(line.split(": ")[1]) for line in out.splitlines() if line.startswith("result")]
    assert values == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", [LONG, f"{LONG}/x", "a\0b", "file/below", "/proc/x/y", "file"])
def test_a_name_that_cannot_be_is_words_for_every_command(answer, tmp_path, name):
    (tmp_path / "file").write_text("x")
    for words in (
        ["lab", name, "--copy-only"],
        ["lab", name, "--reset", "all"],
        ["lab", "mine", "--reset", name],
        ["sdk", name],
        ["explain", "--html", f"{name}/x"],
        ["kernel", "install", "--set-env", name],
        ["notebooks", f"{name}.ipynb"],
    ):
        code, _, err = answer(*words)
        assert code in (1, 2) and err and "did not expect" not in err, (words, err)
    assert sorted(os.listdir()) == ["file"] and (tmp_path / "file").read_text() == "x"
    code, _, err = answer("observe", name)
    assert code in (1, 2) and len(err.splitlines()) == 1


# -- everything at once ------------------------------------------------------------------

VALUES = (
    *("", "0", "-1", "1e400", "nan", "٣", "9" * 5000, "1_0", "--", "-", "=", "none", "λ", "\udcff"),
    *("[1,2]", "[]", "[[]]", "[[[", "1,2,,", "null", "{}", DEEP, "float16:4,1", "float32:", ":"),
    *(
        "bfloat16:2x3",
        "float32:4:-1:3",
        "complex64:2",
        "int4:3",
        "bool:0",
        "string:2",
        "float32:0,5",
    ),
    *("float32:" + "1," * 70, "float64:99999999999999999999", "float32:4::1,2", "x.npy", LONG),
    *(
        "a\0b",
        "4 4",
        "(,)",
        "float16",
        "int32",
        "complex64",
        "Ascend910A",
        "950",
        "310b",
        "%s",
        "{x}",
    ),
    *("/dev/null/x", ".", "zh/03", "npu", "sim", "65536", "-0.0", "2+1j", "\n\x1b[31m", " "),
)
OPTIONS = {
    "run": "--dtype --lambd --grad --self --out-dtype --forward --record --json --soc --index",
    "explain": "--grad --self --out --lambd --lambd-dtype --soc --forward --json",
    "observe": "--grad --self --lambd --calls --fields --json nowhere",
    "doctor": "--device nonsense",
    "sdk": "--layout --compiler file",
    "kernel": "--name --display-name --device --user --set-env install remove",
    "lab": "--port --reset nowhere",
    "bench": "--quick --json --picture nowhere",
    "notebooks": "--check --translated --on --keep --report nowhere.ipynb",
    "": "--version --help --nonsense run explain",
}
FLAGS = {
    *("--forward", "--record", "--json", "--fields", "--user", "--check", "--translated"),
    "--quick",
}


def test_nothing_that_is_typed_is_an_error_that_nobody_thought_of(answer, tmp_path, monkeypatch):
    chance = random.Random(12)
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setattr("labkit.sim.sdk._write", lambda *_: pytest.fail("no folder was right"))
    (tmp_path / "file").write_text("x")
    wrong, ended = [], set()
    for _ in range(700):
        command = chance.choice(list(OPTIONS))
        words = [command] if command else []
        for name in chance.choices(OPTIONS[command].split(), k=chance.randint(0, 4)):
            words.append(name)
            if name.startswith("--") and name not in FLAGS and chance.random() < 0.95:
                words.append(chance.choice(VALUES))
        if command == "kernel" and words[1:2] != ["remove"]:
            words = [*words, "--set-env", "nowhere"]
        if command in ("sdk", "lab", "notebooks", "observe", "doctor", "bench"):
            words.append({"sdk": "file", "doctor": "nonsense"}.get(command, "nowhere"))
        if command == "lab":
            words += ["--reset", "nothing"]
        try:
            code, out, err = answer(*words)
        except BaseException as error:
            wrong.append((words, repr(error)))
            continue
        ended.add(code)
        if code not in (0, 1, 2) or "did not expect" in err or "Traceback" in err:
            wrong.append((words, code, err[-200:]))
        elif code and not (out or err):
            wrong.append((words, code, "nothing was said"))
    assert wrong == [] and ended == {0, 1, 2}


# -- stdout and stderr -------------------------------------------------------------------


def labkit(*words, cwd=None, shell="", **environment):
    """Run the command in a process of its own; `shell` is what leads its streams elsewhere."""
    command = ["sh", "-c", f'"$@" {shell}', "sh", sys.executable, "-m", "labkit", *words]
    return subprocess.run(
        command,
        capture_output=True,
        cwd=cwd,
        timeout=120,
        env={**os.environ, "PYTHONUNBUFFERED": "", **environment},
    )


posix = pytest.mark.skipif(os.name != "posix", reason="a shell of POSIX leads the streams")


@posix
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("where", [">&-", ">/dev/full"])
@pytest.mark.parametrize("words", [["run"], ["run", "--help"]], ids=" ".join)
def test_a_stdout_that_takes_nothing_is_one_line_and_1(words, where, unbuffered):
    done = labkit(*words, shell=where, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 1
    assert b"could not be written to stdout" in done.stderr and done.stderr.count(b"\n") == 1


@posix
def test_without_a_stderr_the_answer_and_the_code_are_the_same():
    assert labkit("run", shell="2>&-").stdout.startswith(b"result[0] is: 0.000000\n")
    for where in ("2>&-", "2>/dev/full", "2>&- >&-"):
        done = labkit("run", "--self", "[null]", shell=where)
        assert (done.returncode, done.stdout) == (1, b"")


@posix
def test_a_file_that_is_written_while_stdout_is_closed_holds_the_file_alone(tmp_path):
    done = labkit("explain", "--html", "page.html", cwd=tmp_path, shell=">&-")
    assert (done.returncode, done.stderr) == (0, b"wrote page.html\n")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1", "utf-16", "ascii:strict"])
def test_an_encoding_without_the_letters_gets_text_with_replacements(monkeypatch, encoding):
    for words in (
        *(["run", "--help"], ["explain", "--help"], ["observe", "--help"], ["lab", "--help"]),
        *(["explain"], ["lab", "课程", "--copy-only"], ["lab", "课程", "--copy-only"]),
    ):
        for language in ("en", "zh"):
            raw = io.BytesIO()
            name, _, errors = encoding.partition(":")
            stream = io.TextIOWrapper(raw, encoding=name, errors=errors or "strict")
            monkeypatch.setenv("LABKIT_LANG", language)
            monkeypatch.setattr(sys, "stdout", stream)
            try:
                code = main(words)
            except SystemExit as stop:
                code = stop.code
            stream.flush()
            assert code == 0 and len(raw.getvalue()) > 40


@posix
def test_ctrl_c_while_a_kernel_runs_is_130_and_no_traceback():
    # Where tests run in the background the shell has SIGINT ignored, and children inherit that.
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    ready = "import labkit.cli; print('ready', flush=True); "
    call = "raise SystemExit(labkit.cli.main(['run', '--self', 'float32:60000000']))"
    running = subprocess.Popen(
        [sys.executable, "-c", listen + ready + call],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdout.readline() == b"ready\n"
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=120)
    assert (running.returncode, err) == (130, b"labkit: stopped\n")


@posix
def test_the_encoding_that_python_is_told_is_no_traceback(tmp_path):
    done = labkit("lab", "课程", "--copy-only", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and done.stderr == b"" and b"the course is in " in done.stdout
    assert (tmp_path / "课程" / "00_start_here.ipynb").is_file()
    done = labkit("run", "--help", PYTHONIOENCODING="cp1252")
    assert (done.returncode, done.stderr) == (0, b"") and b"? (default 0.5" in done.stdout


# -- the folder and the environment ------------------------------------------------------


@posix
def test_a_call_runs_where_the_working_folder_was_deleted(tmp_path):
    there = 'mkdir gone && cd gone && rmdir ../gone && "$@"'
    for words, code, told in (
        (["run"], 0, ""),
        (["explain"], 0, ""),
        (["lab"], 1, "the working folder was deleted"),
        (["run", "--self", "x.npy"], 1, "x.npy cannot be read"),
    ):
        command = ["sh", "-c", there, "sh", sys.executable, "-m", "labkit", *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
        assert done.returncode == code and told in done.stderr
        assert done.stderr.count("\n") == bool(code)


def test_odd_variables_are_named(answer, monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_DEVICE", "foo")
    code, _, err = answer("run")
    assert "$LABKIT_DEVICE is 'foo'" in in_words(code, err)
    monkeypatch.setenv("LABKIT_DEVICE", "sim")
    monkeypatch.setenv("LABKIT_LANG", "xx")
    for words in (["run"], ["--help"], ["lab"], ["notebooks", "x"], ["nonsense"]):
        code, _, err = answer(*words)
        assert "LABKIT_LANG is 'xx'; right would be en or zh" in in_words(code, err)


# -- the last resort ---------------------------------------------------------------------


def failing(error):
    def answer():
        raise error

    return answer


def test_what_nobody_thought_of_is_one_line_that_asks_for_a_report(capsys, monkeypatch):
    assert cli_streams.answered(failing(ZeroDivisionError("by\nzero"))) == 1
    err = capsys.readouterr().err
    assert "ZeroDivisionError: by zero; please report it" in err and err.count("\n") == 1
    monkeypatch.setenv("LABKIT_DEBUG", "1")
    assert cli_streams.answered(failing(ZeroDivisionError())) == 1
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_is_130_and_a_file_is_named(capsys):
    assert cli_streams.answered(failing(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == "labkit: stopped\n"
    assert cli_streams.answered(failing(OSError(36, "File name too long", "nnn"))) == 1
    assert capsys.readouterr().err == "labkit: nnn: File name too long\n"


# -- Chinese -----------------------------------------------------------------------------


def test_helps_option_errors_and_the_course_speak_chinese(answer, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    for words in ([], *([command] for command in OPTIONS if command)):
        code, out, _ = answer(*words, "--help")
        assert code == 0 and out.startswith("用法：labkit") and "选项" in out
        assert "show this" not in out and "the " not in out.replace("the env", "")
    assert answer("run", "--nonsense")[2].startswith("labkit: 无法识别的参数：--nonsense")
    assert "无效的选择：'foo'" in answer("run", "--device", "foo")[2]
    assert "缺少以下参数：DIR" in answer("sdk")[2]
    assert "应当有一个值" in answer("run", "--self")[2]
    assert "不在1到65535之间" in answer("lab", "--port", "0")[2]
    assert "不是张量" in answer("run", "--self", "[null]")[2]
    assert answer("lab", "mine", "--copy-only")[1].startswith("课程在")


def test_pythons_own_gettext_is_as_it_was(answer):
    import gettext

    before = gettext.translation
    assert answer("--help")[0] == 0 and answer("run", "--nonsense")[0] == 2
    assert gettext.translation is before
