#!/usr/bin/env python3
"""Set up the hardshrink lab and open it, with nothing but Python.

    python3 lab.py               set up, run the operator once, open JupyterLab
    python3 lab.py --run-only    set up, run the operator once, stop
    python3 lab.py test          set up for the tests and run all of them

Everything is installed into `.venv` beside this file and nowhere else (what only the tests use
excepted, see `ensure_packages`). The file `.venv/lab.json` says what is installed; it is written
last, so an interrupted set-up is seen and made anew by the next run. Only Python's own library is
used here, because this file runs before anything is installed.
"""

import argparse
import contextlib
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

OLDEST_PYTHON = (3, 10)


def python_problem(version: tuple) -> str:
    """Say why this version of Python will not do; empty when it will."""
    if tuple(version[:2]) >= OLDEST_PYTHON:
        return ""
    return "The lab needs Python {}.{} or newer; this is Python {}.{} ({}).\n{}".format(
        *OLDEST_PYTHON,
        *version[:2],
        sys.executable,
        "Install a newer one and start lab.py with it, for example: python3.12 lab.py",
    )


if python_problem(sys.version_info):  # before any line that an old Python cannot run
    print(python_problem(sys.version_info), file=sys.stderr)
    sys.exit(2)

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STAMP = VENV / "lab.json"
LOG = VENV / "lab.log"
START_HERE = {
    "en": "notebooks/00_start_here.ipynb",
    "zh": "notebooks/zh/00_start_here.ipynb",
}
PROGRESS = ROOT / "progress.json"

# Modules whose presence shows that what the stamp promises is still there.
MODULES = {"": ["pip", "labkit", "jupyterlab"], "test": ["pytest", "nbval", "xdist", "playwright"]}

# Settings of a learner that the tests must not inherit: stored outputs depend on them.
OF_A_LEARNER = ("LABKIT_LANG", "LABKIT_PROGRESS", "LABKIT_SOLUTIONS")

# JupyterLab's defaults in this environment: no question about news, no look for updates.
OVERRIDES = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}
}


class SetupError(Exception):
    """The lab could not be set up; the message says what failed and what to try."""


def say(text: str = "") -> None:
    """Print a line at once, also into a pipe; where none can be printed the set-up stops."""
    try:
        print(text, flush=True)
    except OSError as error:  # what Python still holds must not fail again when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SetupError(f"stdout could not be written: {error.strerror}") from error


# --- what is wanted, what is there, what to do about it -------------------------------------------


def python_tag() -> str:
    """Name the running Python as far as an environment depends on it, e.g. `cpython 3.11`."""
    return f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}"


def wanted_stamp(extras: list[str]) -> dict:
    """Describe the environment that this folder, this Python and these extras ask for."""
    project = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    return {
        "python": python_tag(),
        "folder": str(ROOT),
        "project": project,
        "extras": sorted(extras),
    }


def read_stamp() -> dict | None:
    """Read the stamp: empty when the set-up was not finished, None when `.venv` is not ours."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(stamp: dict) -> None:
    """Write the stamp; an empty one marks a set-up under way."""
    STAMP.write_text(json.dumps(stamp, indent=1) + "\n", encoding="utf-8")


def decide(exists: bool, stamp: dict | None, wanted: dict, healthy: bool) -> str:
    """Choose what to do: `make`, `remake`, `install`, `reuse`, or `set aside` what is not ours."""
    if not exists:
        return "make"
    if stamp is None:
        return "set aside"
    if not healthy or any(stamp.get(key) != wanted[key] for key in ("python", "folder")):
        return "remake"
    if stamp.get("project") != wanted["project"]:
        return "install"
    return "reuse" if set(wanted["extras"]) <= set(stamp.get("extras", [])) else "install"


def venv_python(venv: Path, system: str = os.name) -> Path:
    """Name the Python inside an environment."""
    return venv / ("Scripts/python.exe" if system == "nt" else "bin/python")


def is_healthy(stamp: dict) -> bool:
    """Ask the Python in `.venv` whether it runs and has what the stamp promises."""
    modules = [name for extra in ["", *stamp.get("extras", [])] for name in MODULES.get(extra, [])]
    question = (
        "import importlib.util, sys\n"
        "print(sys.implementation.name, '%d.%d' % sys.version_info[:2])\n"
        f"sys.exit(not all(map(importlib.util.find_spec, {modules!r})))"
    )
    try:
        answer = subprocess.run(
            [str(venv_python(VENV)), "-I", "-c", question],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return answer.returncode == 0 and answer.stdout.strip() == stamp.get("python")


# --- running other programs -----------------------------------------------------------------------


def installer_environment() -> dict[str, str]:
    """Copy the environment, without the settings that would lead pip out of `.venv`."""
    environment = dict(os.environ, PIP_USER="0", PYTHONUNBUFFERED="1")
    for name in ("PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT"):
        environment.pop(name, None)
    return environment


def shorten(line: str) -> str:
    """Keep of an installer's line what tells a reader how far it is, if anything."""
    line = line.strip()
    if line.startswith("Successfully"):
        return ""
    if line.startswith("Installing collected packages"):
        return f"all fetched, now unpacking {line.count(',') + 1} packages"
    return line.split(" (from ")[0][:72]


def follow(command: list[str], environment: dict[str, str], every: float = 10.0) -> str:
    """Run a command with its output going to the log; show a line of it now and then.

    Returns the empty string when all went well, else the output.
    """
    told = time.monotonic()
    output = []
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    with open(LOG, "a", encoding="utf-8") as log, process:
        try:
            for line in process.stdout:
                output.append(line)
                log.write(line)
                news = shorten(line)
                if news and (news.startswith("all fetched") or time.monotonic() - told > every):
                    say(f"  ... {news}")
                    told = time.monotonic()
        except BaseException:
            process.kill()
            raise
    return "" if process.returncode == 0 else "".join(output) or "(no output)"


def hand_over(command: list[str]) -> int:
    """Run a command in this terminal until it ends by itself; Ctrl-C is for the command."""
    process = subprocess.Popen(command, cwd=ROOT)
    signal.signal(signal.SIGTERM, lambda *_: process.send_signal(signal.SIGINT))
    while process.poll() is None:
        with contextlib.suppress(KeyboardInterrupt):
            process.wait()
    return process.returncode


def failure_advice(output: str) -> str:
    """Say what to try, judging by what an installer printed."""
    text = output.lower()
    if "no space left" in text:
        return "The disk is full. Free about 1 GB and start lab.py again."
    network = ("connection", "resolution", "timed out", "proxy", "ssl", "no matching distribution")
    if any(word in text for word in network):
        return (
            "The packages could not be fetched. Check the network and start lab.py again.\n"
            "Behind a proxy set HTTPS_PROXY, for a mirror set PIP_INDEX_URL; from a folder of\n"
            "wheels set PIP_NO_INDEX=1 and PIP_FIND_LINKS=/that/folder."
        )
    return "Start lab.py again; when it fails in the same way, the log shows why."


def gist(output: str, lines: int = 8) -> str:
    """Keep what an installer calls errors, or else the end of its output; indented."""
    said = [line.strip()[:200] for line in output.splitlines() if line.strip()]
    errors = [line for line in said if line.startswith(("ERROR:", "E:"))]
    return "\n".join(f"    {line}" for line in (errors or said)[-lines:])


# --- the environment ------------------------------------------------------------------------------


def importable(module: str) -> bool:
    """Tell whether this Python has a module."""
    return importlib.util.find_spec(module) is not None


def environment_command() -> list[str]:
    """Choose how to make an environment with what this Python brings."""
    if importable("venv") and importable("ensurepip"):
        # Not sys.executable: lab.py may be running on the Python of the very .venv to be remade.
        python = getattr(sys, "_base_executable", None) or sys.executable
        return [python, "-m", "venv", str(VENV)]
    if importable("virtualenv"):
        return [sys.executable, "-m", "virtualenv", str(VENV)]
    raise SetupError(
        "This Python cannot make environments: its modules venv and ensurepip are missing.\n"
        "On Debian and Ubuntu: sudo apt install python3-venv   (or python{}.{}-venv)\n"
        "Anywhere: {} -m pip install virtualenv".format(*sys.version_info[:2], sys.executable)
    )


def set_aside() -> None:
    """Rename a `.venv` that lab.py did not make; nothing of it is lost."""
    numbers = iter(range(1, 1000))
    name = VENV.with_name(".venv.aside")
    while os.path.lexists(name):
        name = VENV.with_name(f".venv.aside-{next(numbers)}")
    say(f"A .venv that lab.py did not make is here; it is kept as {name.name}.")
    VENV.rename(name)


def make_environment() -> None:
    """Make `.venv`, marked from its first moment as ours and unfinished."""
    command = environment_command()
    say(f"Making the environment {VENV} ...")
    VENV.mkdir()
    write_stamp({})
    output = follow(command, installer_environment())
    if output:
        raise SetupError(f"The environment could not be made:\n{gist(output)}")


def install_command(extras: list[str]) -> list[str]:
    """Build the command that installs the project, editable, with the extras."""
    project = f".[{','.join(extras)}]" if extras else "."
    options = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    return [str(venv_python(VENV)), "-m", "pip", "install", *options, "--editable", project]


def write_overrides() -> None:
    """Put our defaults for JupyterLab into `.venv`; the user's own settings win over them."""
    folder = VENV / "share" / "jupyter" / "lab" / "settings"
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(OVERRIDES, indent=1) + "\n"
    (folder / "overrides.json").write_text(text, encoding="utf-8")


def install(before: dict, wanted: dict) -> None:
    """Install the project into `.venv` and write the stamp, last."""
    what = "JupyterLab, NumPy, Matplotlib" + (", the test tools" if wanted["extras"] else "")
    say(f"Installing the lab and what it needs ({what}).")
    say("The first time this takes one to three minutes, most of it downloads ...")
    start = time.monotonic()
    write_stamp({})
    output = follow(install_command(wanted["extras"]), installer_environment())
    if output:
        write_stamp(before)  # pip fetches everything before it changes anything
        raise SetupError(
            f"pip could not install the lab. It says:\n{gist(output)}\n\n"
            f"{failure_advice(output)}\nThe whole log: {LOG}"
        )
    write_overrides()
    write_stamp(wanted)
    say(f"Installed in {time.monotonic() - start:.0f} s.")


def ensure_environment(extras: list[str]) -> None:
    """Bring `.venv` to what is wanted, doing as little as possible."""
    try:
        stamp = read_stamp()
        wanted = wanted_stamp(extras)
        healthy = bool(stamp) and is_healthy(stamp)
        todo = decide(os.path.lexists(VENV), stamp, wanted, healthy)
        if todo == "reuse":
            say(f"The environment {VENV} is ready.")
            return
        say(f"Found Python {'.'.join(map(str, sys.version_info[:3]))} at {sys.executable}")
        if todo == "set aside":
            set_aside()
        if todo == "remake":
            say("The .venv here is unfinished, broken, moved or of another Python: making it anew.")
            environment_command()  # complains, if it must, before anything is deleted
            shutil.rmtree(VENV)
        if todo == "install":
            wanted["extras"] = sorted({*wanted["extras"], *stamp["extras"]})
        else:
            stamp = {}
            make_environment()
        install(stamp, wanted)
    except OSError as error:
        raise SetupError(
            f"{error}\nlab.py must lie in the lab's own folder and be able to write there: {ROOT}"
        ) from error


# --- the operator and JupyterLab ------------------------------------------------------------------


def is_root() -> bool:
    """Tell whether this is the superuser of a POSIX system."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def run_operator() -> int:
    """Run the documentation's example once and show what it prints."""
    say("\nRunning aclnnHardshrinkBackward once (labkit run):\n")
    return hand_over([str(venv_python(VENV)), "-m", "labkit", "run"])


def start_here() -> str:
    """Name the notebook to open first, in the language that LABKIT_LANG asks for."""
    return START_HERE.get(os.environ.get("LABKIT_LANG", "").strip(), START_HERE["en"])


def jupyter_command(
    python: str, folder: str, notebook: str, port: int | None, browser: bool, root: bool
) -> list[str]:
    """Build the command that starts JupyterLab: on this machine only, with its token.

    `labkit lab` builds the same; a test compares them.
    """
    command = [
        python,
        "-m",
        "jupyterlab",
        "--log-level=WARN",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.default_url=/lab/tree/{notebook}",
        "--ServerApp.answer_yes=True",  # Ctrl-C stops it at once
    ]
    if port is not None:
        command.append(f"--ServerApp.port={port}")
    if not browser:
        command.append("--no-browser")
    if root:
        command.append("--allow-root")
    return command


def open_jupyterlab(port: int | None, browser: bool) -> int:
    """Become JupyterLab (POSIX) or run it (Windows) until it is stopped."""
    python = str(venv_python(VENV))
    command = jupyter_command(python, str(ROOT), start_here(), port, browser, is_root())
    os.environ.setdefault("LABKIT_PROGRESS", str(PROGRESS))  # where exercises are remembered
    say("\nStarting JupyterLab; its address follows. Ctrl-C in this window stops it.")
    if os.name == "posix":  # signals then reach JupyterLab itself
        os.chdir(ROOT)
        os.execv(python, command)
    return hand_over(command)


# --- the tests ------------------------------------------------------------------------------------


def find_chromium() -> str | None:
    """Find a Chromium for the browser tests; $LABKIT_CHROMIUM names one outright."""
    named = os.environ.get("LABKIT_CHROMIUM")
    if named:
        return shutil.which(named)
    names = ["chromium", "google-chrome", "google-chrome-stable", "chromium-browser"]
    names += ["chrome", "microsoft-edge", "msedge"]
    places = [
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    ]
    for base in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"):
        folder = os.environ.get(base)
        if folder:
            places.append(os.path.join(folder, "Google", "Chrome", "Application", "chrome.exe"))
            places.append(os.path.join(folder, "Microsoft", "Edge", "Application", "msedge.exe"))
    return next(filter(None, map(shutil.which, names + places)), None)


def python_header() -> str:
    """Say where the C header of the environment's Python would be."""
    return os.path.join(sysconfig.get_paths()["include"], "Python.h")


def missing_packages() -> list[str]:
    """List the Debian packages of what the tests use and this machine lacks.

    A browser, with a font for the Chinese notebooks; and for the C++ programs a compiler, CMake
    and the header and library of Python.
    """
    python = "python{}.{}".format(*sys.version_info[:2])
    there = {
        ("chromium", "fonts-noto-cjk"): find_chromium(),
        ("g++",): shutil.which("g++"),
        ("cmake",): shutil.which("cmake"),
        (f"lib{python}-dev",): os.path.exists(python_header()),
    }
    return [name for names, found in there.items() if not found for name in names]


def ensure_packages() -> None:
    """Install what the tests use, where we may; a failure is for the tests to tell."""
    packages = missing_packages()
    if not packages:
        return
    apt = shutil.which("apt-get")
    if not (apt and is_root() and os.path.exists("/etc/debian_version")):
        say("Some tests need more than is here and will say so. On Debian:")
        say(f"sudo apt install {' '.join(packages)}")
        return
    say(f"Installing with apt-get for the tests: {', '.join(packages)} (under a minute) ...")
    start = time.monotonic()
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    output = follow([apt, "update"], environment) or follow(
        [apt, "install", "-y", "--no-install-recommends", *packages], environment
    )
    if output:
        say(f"apt-get failed:\n{gist(output)}")
    else:
        say(f"Installed in {time.monotonic() - start:.0f} s.")


def workers() -> int:
    """Count the test processes: one a core, eight at most; one in all for a real NPU."""
    if os.environ.get("LABKIT_DEVICE") == "npu":
        return 0
    usable = getattr(os, "sched_getaffinity", None)
    cores = len(usable(0)) if usable else os.cpu_count() or 1
    return min(cores, 8)


def test_command(arguments: list[str]) -> list[str]:
    """Build the one pytest command for all tests, notebooks included.

    Files named in the arguments replace the whole; a notebook stays within one process, whose
    kernel holds its variables.
    """
    names = [argument.split("::")[0] for argument in arguments if not argument.startswith("-")]
    paths = [] if any((ROOT / name).exists() for name in names) else ["tests", "notebooks"]
    return [
        str(venv_python(VENV)),
        "-m",
        "pytest",
        f"--numprocesses={workers()}",
        "--dist=loadfile",
        "--nbval-lax",
        "--nbval-current-env",
        "--nbval-sanitize-with=tests/nbval_sanitize.cfg",
        "--nbval-cell-timeout=60",
        "--nbval-kernel-startup-timeout=120",
        *paths,
        *arguments,
    ]


def run_tests(arguments: list[str]) -> int:
    """Set up for the tests and run them; returns pytest's exit code."""
    ensure_environment(["test"])
    ensure_packages()
    command = test_command(arguments)
    for name in OF_A_LEARNER:
        os.environ.pop(name, None)
    say(f"\nRunning the tests: {' '.join(command[1:])}\n")
    return hand_over(command)


# --- the command line -----------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    """Tells in one line what is wrong."""

    def error(self, message: str):
        """End with exit code 2."""
        self.exit(2, f"{self.prog}: {' '.join(message.split())[:300]} (more: {self.prog} --help)\n")

    def print_help(self, file=None) -> None:
        """Print as argparse does, but not past a stdout that cannot be written."""
        say(self.format_help().rstrip())


def make_parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = Parser(
        prog="lab.py",
        usage="lab.py [--run-only] [--no-browser] [--port N]\n"
        "       lab.py test [PYTEST ARGUMENTS]",
        description="Set up the hardshrink lab beside this file, run the operator once and open "
        "JupyterLab at the first notebook. A second run starts in seconds.",
        epilog="`lab.py test` sets up for the tests and runs all of them; what follows `test` "
        "goes to pytest, e.g. `lab.py test -k mask` or `lab.py test tests/unit`. LABKIT_LANG=zh "
        "opens the Chinese course.",
    )
    parser.add_argument("command", nargs="?", metavar="test", help="run the tests instead")
    parser.add_argument(
        "--run-only", action="store_true", help="stop after the operator ran, with its exit code"
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="start JupyterLab without opening a browser"
    )
    parser.add_argument(
        "--port",
        type=int,
        metavar="N",
        help="JupyterLab's port (8888, or the next that is free)",
    )
    return parser


def main(arguments: list[str]) -> int:
    """Do what the command line says; returns the exit code."""
    parser = make_parser()
    if arguments[:1] == ["test"] and arguments[1:] not in (["-h"], ["--help"]):
        return run_tests(arguments[1:])
    options = parser.parse_args(arguments)
    if options.command == "test":
        parser.error("`test` comes first, then the arguments for pytest: lab.py test ...")
    if options.command is not None:
        parser.error(f"unknown command {options.command!r}; there is only `test`, or none at all")
    if options.port is not None and not 0 < options.port < 65536:
        parser.error(f"--port {options.port} is not between 1 and 65535")

    ensure_environment([])
    code = run_operator()
    if code:
        say(f"\nThe operator did not run (exit code {code}). What works here and what does not:")
        say(f'    "{venv_python(VENV)}" -m labkit doctor')
    if code or options.run_only:
        return code
    return open_jupyterlab(options.port, not options.no_browser)


def stop(*_) -> None:
    """Leave on SIGTERM as on Ctrl-C, so that a running installer is ended too."""
    raise KeyboardInterrupt


def answered(arguments: list[str]) -> int:
    """Run `main`; whatever goes wrong is told in words and in the exit code."""
    if sys.stdout is not None:  # a terminal that lacks a letter of a folder's name shows ?
        sys.stdout.reconfigure(errors="replace")
    try:
        return main(arguments)
    except SetupError as problem:
        print(f"\nlab.py: {problem}", file=sys.stderr)
    except KeyboardInterrupt:
        print("\nStopped. The next run puts right what was not finished.", file=sys.stderr)
        return 130
    except Exception as error:
        if os.environ.get("LABKIT_DEBUG", "") not in ("", "0"):
            raise
        print(
            f"\nlab.py: an error that the lab did not expect, {type(error).__name__}: {error}; "
            "please report it (LABKIT_DEBUG=1 shows where it is)",
            file=sys.stderr,
        )
    return 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    sys.exit(answered(sys.argv[1:]))
