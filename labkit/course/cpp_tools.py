"""Compiling and running a C++ host program: against which CANN, by which compiler, for how long.

There are two things to build against: the CANN of this machine, or a tree with
the software NPU in it (`labkit.sim.sdk`), made once in a temporary folder and
gone with this process. Nothing that is said here names a folder of the machine.

Command lines: the guides of cann/ops-nn (commit
e5c3fa9327ea95ba26d06227e746923580d10921), where `-lopapi_nn -lopapi_math` stands
since operators are split by repository (8.5), and the one `-lopapi` before.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO

from labkit.cann.find import CannInstall, search_cann
from labkit.errors import LabError
from labkit.host.choose import wanted_kind
from labkit.kernelspec import KernelError, environment_of
from labkit.language import gettext as _
from labkit.operators import default_device
from labkit.sim.sdk import MARK, SdkError, write_sdk

__all__ = ["Finished", "ToolError", "Toolkit", "compile_program", "run_program", "toolkit"]

COMPILE_SECONDS = 120
RUN_SECONDS = 20
_MOST_TEXT = 20_000
_DAY = 86_400
_FOLDERS = re.compile(r"(?<![\w.$])/(?:[\w.+-]+/)+")
_OBJECT = re.compile(r"\bcc\w{6}\.o\b")


class ToolError(LabError, RuntimeError):
    """Something that is needed to build or run is not here; the message says what and how to."""


@dataclass(frozen=True)
class Toolkit:
    """A CANN to build against: its folder, the libraries to link, the environment to run in.

    `simulated`: the libraries are the software NPU.
    """

    root: Path
    libraries: tuple[str, ...]
    simulated: bool
    environ: Mapping[str, str] = field(repr=False)

    def command(self, compiler: str, name: str) -> list[str]:
        """The documented command line for `name`.cpp, in the folder that the file lies in."""
        return [
            *(compiler, "-std=c++17", f"{name}.cpp"),
            *(f"-I{self.root}/include", f"-L{self.root}/lib64"),
            *(f"-l{library}" for library in self.libraries),
            *("-o", name),
        ]


@dataclass(frozen=True)
class Finished:
    """A process that ended: its code (negative: a signal), and what it wrote.

    `stopped` is after how many seconds it was stopped, 0 when it ended by itself.
    """

    code: int
    output: str
    errors: str
    stopped: float = 0


def toolkit(on: str | None = None) -> Toolkit:
    """The CANN of a kind of device: "npu", "sim", or None for what the notebooks run on.

    Raises `ToolError` or `DeviceNotAvailable` with what is missing.
    """
    kind = wanted_kind(on)
    if kind == "auto":
        kind = default_device().kind
    return _tree() if kind == "sim" else _installed()


@cache
def _tree() -> Toolkit:
    folder = Path(workshop(), "software-npu")
    try:
        root = write_sdk(folder).root
    except SdkError as error:
        raise ToolError(str(error)) from error
    environ = {
        "ASCEND_HOME_PATH": str(root),
        "ASCEND_TOOLKIT_HOME": str(root),
        "ASCEND_OPP_PATH": str(root / "opp"),
        "LD_LIBRARY_PATH": str(root / "lib64"),
        "LABKIT_SOC": "Ascend950PR_9599",  # the same for everybody, whatever is set outside
        "LABKIT_DEVICE_COUNT": "1",
        "LABKIT_FAST": "0",  # a few numbers need no compiled loop, and this starts sooner
    }
    return Toolkit(root, ("opapi_nn", "opapi_math", "ascendcl", "nnopbase"), True, environ)


def _installed() -> Toolkit:
    install = search_cann().chosen
    if install is None:
        raise ToolError(_("there is no CANN to build against; labkit doctor says what is missing"))
    operators = ("opapi_nn", "opapi_math") if install.layout == "split" else ("opapi",)
    runtime = "ascendcl" if install.find_library("libascendcl.so") else "acl_rt"
    simulated = (install.root / MARK).is_file()
    return Toolkit(
        install.root, (*operators, runtime, "nnopbase"), simulated, _environment(install)
    )


def _environment(install: CannInstall) -> dict[str, str]:
    """What CANN's own script sets; the paths alone where there is no script to ask."""
    if install.set_env is not None:
        with contextlib.suppress(KernelError):  # it says so when it was sourced before
            return environment_of(install.set_env)
    paths = [str(install.lib_dir), os.environ.get("LD_LIBRARY_PATH", "")]
    found = {
        "ASCEND_HOME_PATH": str(install.root),
        "LD_LIBRARY_PATH": os.pathsep.join(path for path in paths if path),
    }
    if install.opp_path is not None:
        found["ASCEND_OPP_PATH"] = str(install.opp_path)
    return found


@cache
def workshop() -> str:
    """A folder for trees, programs and their output; it goes when this process goes."""
    _sweep(Path(tempfile.gettempdir()))
    kept = tempfile.TemporaryDirectory(
        prefix=f"labkit-cpp-{os.getpid()}-", ignore_cleanup_errors=True
    )
    _KEPT.append(kept)
    return kept.name


def _sweep(place: Path) -> None:
    """Remove the folders of processes that were killed, and so left them, a day ago or more."""
    for folder in place.glob("labkit-cpp-*-*"):
        with contextlib.suppress(OSError, ValueError):
            old = time.time() - folder.stat().st_mtime > _DAY
            if old and os.name == "posix" and not _alive(int(folder.name.split("-")[2])):
                shutil.rmtree(folder, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def compiler() -> str:
    """The C++ compiler: $CXX, g++, clang++ or c++. Raises `ToolError` when there is none."""
    for name in (os.environ.get("CXX", ""), "g++", "clang++", "c++"):
        if name and shutil.which(name):
            return name
    raise ToolError(
        _(
            "there is no C++ compiler (g++, clang++) on this machine. Debian or Ubuntu: {how}"
        ).format(how="apt install g++")
    )


def compile_program(text: str, name: str, folder: Path, kit: Toolkit) -> tuple[str, Finished]:
    """Compile in `folder`; returns the command as a reader would type it, and what came of it."""
    (folder / f"{name}.cpp").write_text(text, encoding="utf-8")
    command = kit.command(compiler(), name)
    done = _finished(command, folder, {"LC_ALL": "C.UTF-8"}, COMPILE_SECONDS)
    shown = " ".join([Path(command[0]).name, *command[1:]])
    return shown.replace(str(kit.root), "$ASCEND_HOME_PATH"), Finished(
        done.code, _clean(done.output, kit), _clean(done.errors, kit), done.stopped
    )


def run_program(
    folder: Path,
    words: list[str],
    kit: Toolkit,
    *,
    strict: bool,
    soc: str,
    seconds: float,
    log: Path,
) -> Finished:
    """Run a program of `folder`, its name and arguments in `words`, for `seconds` at most."""
    environ = {**kit.environ, "LABKIT_CALL_LOG": str(log)}
    environ["LABKIT_STRICT"] = "1" if strict else "0"
    if soc:
        environ["LABKIT_SOC"] = soc
    # Also a program that writes for ever, or falls, leaves no more than a few megabytes.
    limits = 'ulimit -c 0; ulimit -f 20000; exec "$@"'
    done = _finished(
        ["sh", "-c", limits, "sh", f"./{words[0]}", *words[1:]], folder, environ, seconds
    )
    return Finished(done.code, done.output, _clean(done.errors, kit), done.stopped)


def _finished(
    command: list[str], folder: Path, environ: Mapping[str, str], seconds: float
) -> Finished:
    """Run a command to its end or to the end of its time, with everything it has started."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        stopped = 0.0
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            stopped = seconds
        finally:
            if process.poll() is None:  # also when the learner interrupts the cell
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return Finished(process.returncode, _text(output), _text(errors), stopped)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_MOST_TEXT).decode("utf-8", errors="replace")


def _clean(text: str, kit: Toolkit) -> str:
    """What a tool said, without the folders of this machine."""
    text = text.replace(str(kit.root), "$ASCEND_HOME_PATH")
    return _OBJECT.sub("main.o", _FOLDERS.sub("", text))
