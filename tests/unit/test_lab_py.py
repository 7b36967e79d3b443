"""lab.py decides, words and builds its commands rightly; nothing is installed here."""

import ast
import io
import json
import os
import subprocess
import sys

import pytest

import lab

WANTED = {"python": "cpython 3.12", "folder": "/lab", "project": "abc", "extras": []}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Let lab.py live in an empty folder whose name has a blank."""
    folder = tmp_path / "a lab"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[project]\n")
    monkeypatch.setattr(lab, "ROOT", folder)
    monkeypatch.setattr(lab, "VENV", folder / ".venv")
    monkeypatch.setattr(lab, "STAMP", folder / ".venv" / "lab.json")
    monkeypatch.setattr(lab, "LOG", folder / ".venv" / "lab.log")
    return folder


class Installers:
    """Stands in for venv, pip and apt: keeps their commands, fails those given an output."""

    def __init__(self):
        self.commands = []
        self.failures = {}

    def follow(self, command, environment, every=10.0):
        self.commands.append(command)
        return next((text for word, text in self.failures.items() if word in command), "")


@pytest.fixture
def installers(monkeypatch):
    installers = Installers()
    monkeypatch.setattr(lab, "follow", installers.follow)
    return installers


# --- which Python ---------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [(3, 10, 0), (3, 14, 2), (4, 0, 0)])
def test_a_new_python_will_do(version):
    assert lab.python_problem(version) == ""


def test_an_old_python_is_named_with_what_is_needed():
    text = lab.python_problem((3, 9, 18))
    assert "needs Python 3.10 or newer" in text
    assert "this is Python 3.9" in text


def test_an_old_python_can_read_the_file_as_far_as_the_message(root):
    ast.parse((root / "lab.py").read_text(encoding="utf-8"), feature_version=(3, 6))


def test_only_pythons_own_library_is_used(root):
    tree = ast.parse((root / "lab.py").read_text(encoding="utf-8"))
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module.split(".")[0])
    assert modules <= sys.stdlib_module_names


# --- what to do about .venv -----------------------------------------------------------------------


def test_without_an_environment_one_is_made():
    assert lab.decide(False, None, WANTED, False) == "make"


def test_a_finished_and_healthy_environment_is_reused():
    assert lab.decide(True, dict(WANTED), WANTED, True) == "reuse"


def test_an_environment_with_more_than_is_wanted_is_reused():
    assert lab.decide(True, {**WANTED, "extras": ["test"]}, WANTED, True) == "reuse"


def test_a_missing_extra_is_installed():
    assert lab.decide(True, dict(WANTED), {**WANTED, "extras": ["test"]}, True) == "install"


def test_a_changed_project_is_installed_again():
    assert lab.decide(True, {**WANTED, "project": "old"}, WANTED, True) == "install"


@pytest.mark.parametrize("change", [{"python": "cpython 3.11"}, {"folder": "/moved"}])
def test_an_environment_of_another_python_or_folder_is_made_anew(change):
    assert lab.decide(True, {**WANTED, **change}, WANTED, True) == "remake"


def test_a_broken_environment_is_made_anew():
    assert lab.decide(True, dict(WANTED), WANTED, False) == "remake"


def test_an_interrupted_setup_is_made_anew():
    assert lab.decide(True, {}, WANTED, False) == "remake"


def test_an_environment_that_is_not_ours_is_never_deleted():
    for healthy in (False, True):
        assert lab.decide(True, None, WANTED, healthy) == "set aside"


def test_the_stamp_changes_with_pyproject(folder):
    before = lab.wanted_stamp([])
    assert lab.wanted_stamp([]) == before
    (folder / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    assert lab.wanted_stamp([]) != before


def test_the_stamp_reads_as_written(folder):
    assert lab.read_stamp() is None
    lab.VENV.mkdir()
    assert lab.read_stamp() is None
    lab.write_stamp(lab.wanted_stamp(["test"]))
    assert lab.read_stamp() == lab.wanted_stamp(["test"])


@pytest.mark.parametrize("text", ["", "{", "[]", "\0"])
def test_a_damaged_stamp_is_an_unfinished_setup(folder, text):
    lab.VENV.mkdir()
    lab.STAMP.write_text(text)
    assert lab.read_stamp() == {}


def test_an_environment_without_a_python_is_not_healthy(folder):
    assert not lab.is_healthy({"python": lab.python_tag()})


@pytest.mark.skipif(os.name == "nt", reason="needs a program made of a text file")
@pytest.mark.parametrize(
    ("script", "healthy"),
    [("echo cpython 3.12", True), ("echo cpython 3.11", False), ("exit 1", False)],
)
def test_the_python_in_the_environment_is_asked(folder, script, healthy):
    python = lab.venv_python(lab.VENV)
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{script}\n")
    assert not lab.is_healthy(WANTED)  # not executable yet
    python.chmod(0o755)
    assert lab.is_healthy(WANTED) is healthy


# --- the whole set-up, with the installers replaced -----------------------------------------------


def test_the_first_run_makes_installs_and_stamps(folder, installers):
    lab.ensure_environment([])
    make, install = installers.commands
    assert make[1:] == ["-m", "venv", str(folder / ".venv")]
    assert install[1:4] == ["-m", "pip", "install"]
    assert install[-2:] == ["--editable", "."]
    assert lab.read_stamp() == lab.wanted_stamp([])
    overrides = folder / ".venv/share/jupyter/lab/settings/overrides.json"
    assert json.loads(overrides.read_text()) == lab.OVERRIDES


def test_the_second_run_does_nothing(folder, installers, monkeypatch):
    monkeypatch.setattr(lab, "is_healthy", lambda stamp: True)
    lab.ensure_environment(["test"])
    installers.commands.clear()
    lab.ensure_environment(["test"])
    lab.ensure_environment([])
    assert installers.commands == []


def test_the_tests_add_their_extra_to_what_is_there(folder, installers, monkeypatch):
    monkeypatch.setattr(lab, "is_healthy", lambda stamp: True)
    lab.ensure_environment([])
    installers.commands.clear()
    lab.ensure_environment(["test"])
    assert [command[-1] for command in installers.commands] == [".[test]"]
    assert lab.read_stamp()["extras"] == ["test"]


def test_a_failed_first_install_leaves_the_setup_unfinished(folder, installers, capsys):
    installers.failures["install"] = "ERROR: Connection refused"
    with pytest.raises(lab.SetupError, match="Connection refused"):
        lab.ensure_environment([])
    assert lab.read_stamp() == {}
    installers.failures.clear()
    lab.ensure_environment([])
    assert "making it anew" in capsys.readouterr().out
    assert lab.read_stamp() == lab.wanted_stamp([])


def test_a_failed_update_keeps_what_was_there(folder, installers, monkeypatch):
    monkeypatch.setattr(lab, "is_healthy", lambda stamp: True)
    lab.ensure_environment([])
    before = lab.read_stamp()
    installers.failures["install"] = "ERROR: Connection refused"
    with pytest.raises(lab.SetupError):
        lab.ensure_environment(["test"])
    assert lab.read_stamp() == before


def test_an_interrupted_install_leaves_the_setup_unfinished(folder, installers, monkeypatch):
    def interrupt(command, environment, every=10.0):
        if "install" in command:
            raise KeyboardInterrupt
        return ""

    monkeypatch.setattr(lab, "follow", interrupt)
    with pytest.raises(KeyboardInterrupt):
        lab.ensure_environment([])
    assert lab.read_stamp() == {}


def test_what_is_not_ours_is_kept_under_another_name(folder, installers):
    for content, name in [("first", ".venv.aside"), ("second", ".venv.aside-1")]:
        lab.VENV.mkdir()
        (lab.VENV / "mine.txt").write_text(content)
        lab.ensure_environment([])
        assert (folder / name / "mine.txt").read_text() == content
        assert lab.read_stamp() == lab.wanted_stamp([])
        lab.VENV.rename(folder / content)


def test_nothing_is_deleted_when_no_new_environment_can_be_made(folder, installers, monkeypatch):
    lab.VENV.mkdir()
    lab.write_stamp({})
    monkeypatch.setattr(lab, "importable", lambda module: False)
    with pytest.raises(lab.SetupError):
        lab.ensure_environment([])
    assert lab.STAMP.exists()


def test_a_folder_that_cannot_be_written_is_named(folder, installers, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(lab.VENV), "mkdir", refuse)
    with pytest.raises(lab.SetupError, match="a lab"):
        lab.ensure_environment([])


# --- making environments and running installers ---------------------------------------------------


def test_without_venv_virtualenv_is_taken(monkeypatch):
    monkeypatch.setattr(lab, "importable", lambda module: module == "virtualenv")
    command = lab.environment_command()
    assert command[1:3] == ["-m", "virtualenv"]


@pytest.mark.parametrize("present", ["", "venv"])  # Debian has venv but leaves ensurepip out
def test_without_either_the_remedy_is_said(monkeypatch, present):
    monkeypatch.setattr(lab, "importable", lambda module: module == present)
    with pytest.raises(lab.SetupError, match="apt install python3-venv"):
        lab.environment_command()


def test_pip_is_kept_inside_the_environment(monkeypatch):
    for name in ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_USER"):
        monkeypatch.setenv(name, "/elsewhere")
    monkeypatch.setenv("PIP_INDEX_URL", "the users mirror")
    environment = lab.installer_environment()
    assert environment["PIP_INDEX_URL"] == "the users mirror"
    assert environment["PIP_USER"] == "0"
    assert not {"PYTHONPATH", "PYTHONHOME", "PIP_TARGET"} & set(environment)


@pytest.mark.parametrize(
    ("output", "advice"),
    [
        ("NewConnectionError: Temporary failure in name resolution", "PIP_INDEX_URL"),
        ("ERROR: No matching distribution found for hatchling", "network"),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("error: something else", "the log shows why"),
    ],
)
def test_the_advice_fits_the_failure(output, advice):
    assert advice in lab.failure_advice(output)


def test_what_an_installer_calls_errors_is_shown():
    output = "Collecting a\n  ERROR: cannot fetch a\n  note: not a problem with pip\n"
    assert lab.gist(output) == "    ERROR: cannot fetch a"
    assert lab.gist("one\n\ntwo\n", lines=1) == "    two"


def test_an_installers_output_is_logged_and_told_of(folder, capsys):
    lab.VENV.mkdir()
    script = "print('Collecting a>=1 (from b)'); print('Installing collected packages: a, b, c')"
    assert lab.follow([sys.executable, "-c", script], dict(os.environ), every=0) == ""
    told = capsys.readouterr().out
    assert "... Collecting a>=1\n" in told
    assert "... all fetched, now unpacking 3 packages\n" in told
    assert "(from b)" in lab.LOG.read_text()


def test_an_installers_failure_gives_its_output(folder, capsys):
    lab.VENV.mkdir()
    script = "import sys; sys.exit('it broke')"
    assert "it broke" in lab.follow([sys.executable, "-c", script], dict(os.environ))


# --- the commands ---------------------------------------------------------------------------------


def test_jupyterlab_listens_on_this_machine_only_and_keeps_its_token():
    command = lab.jupyter_command("python", "/a lab", "notebooks/00.ipynb", None, True, False)
    assert command[:3] == ["python", "-m", "jupyterlab"]
    assert "--ServerApp.ip=127.0.0.1" in command
    assert "--ServerApp.root_dir=/a lab" in command
    assert "--LabApp.default_url=/lab/tree/notebooks/00.ipynb" in command
    words = " ".join(command)
    assert not any(word in words for word in ("token", "password", "--allow-root", "--no-browser"))
    assert "port" not in words


def test_jupyterlab_gets_the_options_it_was_asked_for():
    command = lab.jupyter_command("python", "/lab", "notebooks/00.ipynb", 9000, False, True)
    assert {"--ServerApp.port=9000", "--no-browser", "--allow-root"} <= set(command)


@pytest.mark.parametrize("options", [(None, True, False), (9000, False, True)])
def test_labkit_lab_starts_jupyterlab_with_the_same_command(options):
    from labkit.course import start

    where = ("python", "/a lab", "notebooks/00.ipynb")
    assert start.jupyter_command(*where, *options) == lab.jupyter_command(*where, *options)


@pytest.mark.parametrize(
    ("language", "notebook"),
    [
        (None, "notebooks/00_start_here.ipynb"),
        ("en", "notebooks/00_start_here.ipynb"),
        ("zh", "notebooks/zh/00_start_here.ipynb"),
        ("fr", "notebooks/00_start_here.ipynb"),
    ],
)
def test_the_first_notebook_speaks_the_language_that_was_asked_for(
    root, monkeypatch, language, notebook
):
    monkeypatch.delenv("LABKIT_LANG", raising=False)
    if language:
        monkeypatch.setenv("LABKIT_LANG", language)
    assert lab.start_here() == notebook and (root / notebook).is_file()


@pytest.mark.parametrize("named", [None, "elsewhere.json"])
def test_jupyterlab_is_told_where_to_remember_exercises(folder, monkeypatch, named):
    monkeypatch.setenv("LABKIT_PROGRESS", named or "")
    if named is None:
        monkeypatch.delenv("LABKIT_PROGRESS")
    seen = []
    became = lambda *command: seen.append(os.environ["LABKIT_PROGRESS"]) or 0  # noqa: E731
    monkeypatch.setattr(lab.os, "execv", became)
    monkeypatch.setattr(lab, "hand_over", became)
    monkeypatch.chdir(folder)
    lab.open_jupyterlab(None, False)
    assert set(seen) == {named or str(lab.PROGRESS)}


def test_all_tests_are_one_pytest_run():
    command = lab.test_command([])
    assert command[1:3] == ["-m", "pytest"]
    assert command[-2:] == ["tests", "notebooks"]
    assert {"--dist=loadfile", "--nbval-lax", "--nbval-current-env"} <= set(command)


def test_options_for_pytest_keep_all_tests():
    assert lab.test_command(["-k", "mask"])[-4:] == ["tests", "notebooks", "-k", "mask"]


def test_files_for_pytest_replace_all_tests():
    assert lab.test_command(["tests/unit/test_lab_py.py::test_x", "-x"])[-2:] == [
        "tests/unit/test_lab_py.py::test_x",
        "-x",
    ]
    assert "notebooks" not in lab.test_command(["tests/unit"])


def test_a_real_npu_runs_one_test_at_a_time(monkeypatch):
    monkeypatch.setenv("LABKIT_DEVICE", "npu")
    assert lab.workers() == 0
    monkeypatch.delenv("LABKIT_DEVICE")
    assert 1 <= lab.workers() <= 8


def test_a_browser_may_be_named(monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_CHROMIUM", sys.executable)
    assert lab.find_chromium() == sys.executable
    monkeypatch.setenv("LABKIT_CHROMIUM", str(tmp_path / "missing"))
    assert lab.find_chromium() is None


def test_what_the_tests_lack_is_installed_in_one_go(monkeypatch):
    ran = []
    monkeypatch.setattr(lab, "find_chromium", lambda: None)
    monkeypatch.setattr(lab, "python_header", lambda: "/nowhere/Python.h")
    monkeypatch.setattr(lab, "is_root", lambda: True)
    monkeypatch.setattr(lab.os.path, "exists", lambda path: path == "/etc/debian_version")
    have = {"apt-get": "/bin/apt-get", "cmake": "/bin/cmake"}
    monkeypatch.setattr(lab.shutil, "which", have.get)
    monkeypatch.setattr(lab, "follow", lambda command, environment: ran.append(command) or "")
    lab.ensure_packages()
    python = "libpython{}.{}-dev".format(*sys.version_info[:2])
    assert [command[1] for command in ran] == ["update", "install"]
    assert ran[1][-4:] == ["chromium", "fonts-noto-cjk", "g++", python]


def test_what_the_tests_lack_is_named_where_it_cannot_be_installed(monkeypatch, capsys):
    monkeypatch.setattr(lab, "missing_packages", lambda: ["g++", "cmake"])
    monkeypatch.setattr(lab, "is_root", lambda: False)
    monkeypatch.setattr(lab, "follow", lambda *_: pytest.fail("nothing may be installed"))
    lab.ensure_packages()
    assert "sudo apt install g++ cmake" in capsys.readouterr().out


def test_nothing_is_installed_where_everything_is_there(monkeypatch):
    monkeypatch.setattr(lab, "missing_packages", list)
    monkeypatch.setattr(lab, "follow", lambda *_: pytest.fail("there is nothing to install"))
    lab.ensure_packages()


# --- the command line -----------------------------------------------------------------------------


@pytest.fixture
def done(monkeypatch):
    """Replace everything that acts; the list says what was done."""
    done = []
    monkeypatch.setattr(lab, "ensure_environment", lambda extras: done.append(("set up", extras)))
    monkeypatch.setattr(lab, "ensure_packages", lambda: done.append("packages"))
    monkeypatch.setattr(lab, "run_operator", lambda: done.append("run") or 0)
    monkeypatch.setattr(lab, "open_jupyterlab", lambda *args: done.append(("open", *args)) or 0)
    monkeypatch.setattr(lab, "hand_over", lambda command: done.append(command[2]) or 0)
    return done


def test_no_argument_sets_up_runs_and_opens(done):
    assert lab.main([]) == 0
    assert done == [("set up", []), "run", ("open", None, True)]


def test_options_reach_jupyterlab(done):
    assert lab.main(["--no-browser", "--port", "9000"]) == 0
    assert done[-1] == ("open", 9000, False)


def test_run_only_stops_after_the_operator(done):
    assert lab.main(["--run-only"]) == 0
    assert done == [("set up", []), "run"]


@pytest.mark.parametrize("arguments", [[], ["--run-only"]])
def test_an_operator_that_fails_gives_its_exit_code(done, monkeypatch, capsys, arguments):
    monkeypatch.setattr(lab, "run_operator", lambda: 3)
    assert lab.main(arguments) == 3
    assert done == [("set up", [])]
    assert "labkit doctor" in capsys.readouterr().out


def test_the_tests_are_set_up_and_run(done):
    assert lab.main(["test", "--collect-only"]) == 0
    assert done == [("set up", ["test"]), "packages", "pytest"]


def test_the_tests_do_not_inherit_what_a_learner_set(done, monkeypatch):
    seen = []
    for name in lab.OF_A_LEARNER:
        monkeypatch.setenv(name, "zh")
    monkeypatch.setattr(lab, "hand_over", lambda command: seen.append(dict(os.environ)) or 0)
    assert lab.main(["test"]) == 0
    assert "LABKIT_LANG" in lab.OF_A_LEARNER and not seen[0].keys() & set(lab.OF_A_LEARNER)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tset"], "unknown command 'tset'"),
        (["--port", "9000", "test"], "`test` comes first"),
        (["--port", "many"], "invalid int value"),
        (["--port", "70000"], "not between 1 and 65535"),
        (["--nonsense"], "unrecognized arguments"),
    ],
)
def test_a_wrong_command_line_is_explained(done, capsys, arguments, message):
    with pytest.raises(SystemExit) as stop:
        lab.main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
    assert done == []


@pytest.mark.parametrize("arguments", [["--help"], ["test", "--help"]])
def test_help_names_both_uses(done, capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        lab.main(arguments)
    assert stop.value.code == 0
    text = capsys.readouterr().out
    for word in ("--run-only", "--no-browser", "--port", "lab.py test", "pytest"):
        assert word in text
    assert done == []


def test_a_setup_error_is_words_and_not_a_traceback(root, tmp_path):
    copy = tmp_path / "lab.py"
    copy.write_bytes((root / "lab.py").read_bytes())  # without a pyproject.toml beside it
    answer = subprocess.run(
        [sys.executable, str(copy), "--run-only"], capture_output=True, text=True, cwd=root
    )
    assert answer.returncode == 1
    assert "pyproject.toml" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert os.listdir(tmp_path) == ["lab.py"]


# --- whatever goes wrong is told in words ---------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_stdout_that_takes_nothing_stops_the_set_up_in_one_line(root):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, str(root / "lab.py"), "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": ""},
            timeout=100,
        )
    assert done.returncode == 1
    assert done.stderr.strip() == "lab.py: stdout could not be written: No space left on device"


def test_wrong_usage_is_one_line(capsys):
    with pytest.raises(SystemExit) as stop:
        lab.main(["--port", "x"])
    err = capsys.readouterr().err
    assert stop.value.code == 2 and err.startswith("lab.py: ") and err.count("\n") == 1


def test_what_nobody_thought_of_is_one_line_unless_more_is_asked_for(capsys, monkeypatch):
    def fail(_):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(lab, "main", fail)
    monkeypatch.delenv("LABKIT_DEBUG", raising=False)
    assert lab.answered([]) == 1
    err = capsys.readouterr().err.strip()
    assert "ZeroDivisionError: by zero; please report it" in err and "\n" not in err
    monkeypatch.setenv("LABKIT_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        lab.answered([])


def test_a_folder_whose_letters_the_terminal_lacks_is_told_with_replacements(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    monkeypatch.setattr(lab, "main", lambda _: lab.say("in 课程"))
    lab.answered([])
    assert raw.getvalue() == b"in ??\n"
