"""`labkit sdk DIR`: a CANN-shaped tree whose libraries are the software NPU.

    DIR/set_env.sh   sets what CANN's own sets
    DIR/include/     acl/acl.h, aclnn/acl_meta.h, aclnnop/aclnn_hardshrink_backward.h, ...
    DIR/lib64/       libascendcl.so, libacl_rt.so, libnnopbase.so, libopapi_math.so,
                     libopapi_nn.so, and liblabkit_npu.so behind them
    DIR/README.md    says what it is

A host program written for CANN builds against it with the documented command
line and runs. Every library exports `labkit_simulated`, so that nobody, the lab
included, takes it for an NPU. The tree is made in a temporary folder inside
DIR, and what was there before is replaced when all of it is ready; it needs a C
compiler and Python's headers.

Linux only, as CANN is. The tree belongs to the Python environment that made
it: the libraries start that interpreter; a process that is a Python itself must
be of the same release and able to import the lab.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from labkit.cann.header import HEADER, INCLUDE_DIR
from labkit.cann.interface import Prototype, prototypes
from labkit.cann.shim import CORE, core_source, library_of, shim_source
from labkit.errors import LabError, LabValueError
from labkit.sim.npu import SoftwareNpu

__all__ = ["LIBRARIES", "MARK", "Sdk", "SdkError", "write_sdk"]

LIBRARIES = {
    "libascendcl.so": "runtime",
    "libacl_rt.so": "runtime",
    "libnnopbase.so": "nnopbase",
    "libopapi_nn.so": "operators",
    "libopapi_math.so": "",  # other operators live there; a program may link it all the same
}
"""The libraries with CANN's names, and what each holds."""

MARK = "labkit-sdk"
"""The file that marks a tree as one of the lab's, so that it may be replaced.

It is there from the beginning, and locked by the run that writes: one that was killed halfway
leaves a folder that the next one may take.
"""

_PACKAGE = Path(__file__).resolve().parents[1]


class SdkError(LabError, RuntimeError):
    """The tree could not be made; the message says what is missing and how to get it."""


@dataclass(frozen=True)
class Sdk:
    """A tree that was written: where, and its libraries in the order in which they were built."""

    root: Path
    libraries: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.root}: CANN's headers and libraries, with the software NPU behind them.\n"
            f"  source {shlex.quote(f'{self.root}/set_env.sh')}\n"
            '  g++ -std=c++17 main.cpp -I"$ASCEND_HOME_PATH"/include \\\n'
            '      -L"$ASCEND_HOME_PATH"/lib64 \\\n'
            "      -lopapi_nn -lopapi_math -lascendcl -lnnopbase -o main && ./main"
        )


def write_sdk(folder: str | Path, *, layout: str = "split", compiler: str | None = None) -> Sdk:
    """Write the tree into `folder`, which is new, empty, or a tree of the lab's before.

    `layout` "single" makes one `libopapi.so`, as CANN had up to 8.3, instead of
    `libopapi_nn.so` and `libopapi_math.so`. `compiler` is the C compiler
    (default: $CC, cc, gcc or clang). Raises `SdkError` for what is missing on
    this machine and `LabValueError` for a folder that holds something else;
    then nothing is written.
    """
    try:
        root = Path(folder).expanduser().absolute()
    except RuntimeError as error:
        raise LabValueError(f"{folder}: {error}") from error
    if layout not in ("split", "single"):
        raise LabValueError(f"layout is {layout!r}; right would be split or single")
    _refuse_folder(root)
    build = _Build(compiler)
    try:
        with _alone_in(root):
            work = Path(tempfile.mkdtemp(dir=root, prefix=".new-"))
            try:
                names = _write(work, layout, build)
                _exchange(root, work)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise SdkError(f"{root} could not be written: {error}") from error
    return Sdk(root, names)


def _refuse_folder(root: Path) -> None:
    try:
        held = os.listdir(root)
    except FileNotFoundError as error:
        if root.is_symlink():
            raise LabValueError(f"{root} is a link that leads nowhere") from error
        return
    except NotADirectoryError as error:
        wrong = next(path for path in (root, *root.parents) if path.exists())
        raise LabValueError(
            f"{wrong} is not a folder; right would be a new or empty one"
        ) from error
    except OSError as error:
        raise SdkError(f"{root} cannot be read: {error.strerror}") from error
    if held and not (root / MARK).is_file():
        raise LabValueError(
            f"{root} holds other files, which would be lost; right would be a new or empty folder"
        )


@contextlib.contextmanager
def _alone_in(root: Path) -> Iterator[None]:
    """Make the folder and its mark, and let one run at a time write; a failure undoes both."""
    made = [path for path in (root, *root.parents) if not path.exists()]
    root.mkdir(parents=True, exist_ok=True)
    mark = root / MARK
    fresh = not mark.exists()
    handle = os.open(mark, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        with contextlib.suppress(OSError):  # a file system may have no locks
            os.lockf(handle, os.F_LOCK, 0)
        yield
    except BaseException:
        with contextlib.suppress(OSError):  # somebody put something there
            if fresh:
                mark.unlink()
            for path in made:
                path.rmdir()
        raise
    finally:
        os.close(handle)


def _exchange(root: Path, work: Path) -> None:
    """Put what is in `work` in place of what is in `root`; folder and mark stay the same ones."""
    old = work / "replaced"
    fresh = sorted(os.listdir(work), key=lambda name: (name == "set_env.sh", name))
    old.mkdir()
    for name in os.listdir(root):
        if name not in (work.name, MARK):
            os.rename(root / name, old / name)
    for name in fresh:
        os.rename(work / name, root / name)
    (root / MARK).write_text("A tree made by `labkit sdk`; it may be replaced as a whole.\n")


class _Build:
    """The C compiler with what it needs to know of this Python."""

    def __init__(self, compiler: str | None) -> None:
        if not sys.platform.startswith("linux"):
            raise SdkError(f"the libraries can be built on Linux only; this is {sys.platform}")
        wanted = [compiler] if compiler else [os.environ.get("CC", ""), "cc", "gcc", "clang"]
        commands = [_command(words) for words in wanted if words]
        found = [command for command in commands if shutil.which(command[0])]
        if not found:
            asked = f"no C compiler {compiler!r}" if compiler else "no C compiler (cc, gcc, clang)"
            raise SdkError(f"{asked} on this machine. On Debian or Ubuntu: apt install gcc")
        self.compiler = found[0]
        self.include = sysconfig.get_paths()["include"]
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        if not (Path(self.include) / "Python.h").is_file():
            raise SdkError(
                f"Python's headers are missing ({self.include}/Python.h). On Debian or Ubuntu: "
                f"apt install libpython{version}-dev; a Python of conda or pyenv brings them"
            )
        self.python = _python_library(version)

    def shared_library(self, target: Path, source: str, *flags: str) -> None:
        """Compile one shared library."""
        code = target.with_suffix(".c")
        code.write_text(source, encoding="utf-8")
        command = [
            *(*self.compiler, "-shared", "-fPIC", "-O1", "-fvisibility=hidden", "-pthread"),
            *("-o", str(target), str(code), f"-Wl,-soname,{target.name}", "-Wl,-rpath,$ORIGIN"),
            *flags,
        ]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        code.unlink()
        if done.returncode:
            raise SdkError(
                f"{shlex.join(self.compiler)} could not build {target.name}:\n"
                f"{done.stderr.strip()[-2000:] or f'it ended with {done.returncode}'}"
            )


def _command(words: str) -> list[str]:
    """A compiler as it is given: a file, or a command with options, as $CC may be."""
    if shutil.which(words):
        return [words]
    try:
        return shlex.split(words) or [words]
    except ValueError:
        return [words]


def _python_library(version: str) -> tuple[str, ...]:
    """Linker flags for Python's shared library."""
    folder = sysconfig.get_config_var("LIBDIR") or ""
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    abi = f"{version}{getattr(sys, 'abiflags', '')}"  # "t" of a free-threaded one, for instance
    name = f"libpython{abi}.so"
    for place in (Path(folder), Path(folder) / multiarch, Path(sys.base_prefix) / "lib"):
        if (place / name).exists():
            return (f"-L{place}", f"-lpython{abi}", "-Xlinker", "-rpath", "-Xlinker", str(place))
    raise SdkError(
        f"this Python has no shared library ({name}), so a C program cannot start it. On Debian or "
        f"Ubuntu: apt install libpython{version}-dev; with pyenv: "
        f"PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install ..."
    )


def _write(root: Path, layout: str, build: _Build) -> tuple[str, ...]:
    _headers(root / "include")
    lib = root / "lib64"
    lib.mkdir()
    core = core_source(sys.executable, [str(_PACKAGE.parent)], "labkit.sim.entry")
    build.shared_library(lib / f"lib{CORE}.so", core, f"-I{build.include}", *build.python, "-ldl")
    behind = (f"-I{root / 'include'}", f"-L{lib}", f"-l{CORE}", "-Wl,--no-as-needed")
    held = _held()
    libraries = dict(LIBRARIES)
    if layout == "single":
        libraries = {n: part for n, part in libraries.items() if not n.startswith("libopapi_")}
        libraries["libopapi.so"] = "operators"
    for name, part in libraries.items():
        build.shared_library(lib / name, shim_source(held.get(part, [])), *behind)
    _identity(root)
    return (f"lib{CORE}.so", *libraries)


def _held() -> dict[str, list[Prototype]]:
    """The functions that the software NPU answers, by the library that holds them."""
    held: dict[str, list[Prototype]] = {}
    npu = SoftwareNpu()
    for name, prototype in prototypes().items():
        if npu.has(name):
            held.setdefault(library_of(name), []).append(prototype)
    return held


def _headers(include: Path) -> None:
    shutil.copytree(INCLUDE_DIR, include)
    for path in include.rglob("*.h"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('"../../cann.h"', '"../cann.h"'), encoding="utf-8")
    shutil.copyfile(HEADER, include / "cann.h")


def _identity(root: Path) -> None:
    """What says what this is: to people, to the lab, and to programs that look for CANN."""
    (root / "opp").mkdir()
    (root / "README.md").write_text(_README, encoding="utf-8")
    (root / "set_env.sh").write_text(_SET_ENV, encoding="utf-8")
    info = root / f"{platform.machine()}-linux" / "ascend_toolkit_install.info"
    info.parent.mkdir()
    info.write_text("package_name=labkit software NPU\nversion=0.0.0-simulated\n")


_README = """\
# Not CANN: the software NPU of the hardshrink lab

These are CANN's C headers for host programs, written anew, and shared libraries with CANN's names.
Behind them is a software NPU in Python. No kernel of CANN and no NPU is involved.

    source set_env.sh
    g++ -std=c++17 main.cpp -I"$ASCEND_HOME_PATH"/include -L"$ASCEND_HOME_PATH"/lib64 \\
        -lopapi_nn -lopapi_math -lascendcl -lnnopbase -o main
    ./main

| variable | means |
|---|---|
| `LABKIT_SOC` | the chip, `Ascend950PR_9599` when not set |
| `LABKIT_STRICT` | `0` lets pass what the real library would let pass |
| `LABKIT_DEVICE_COUNT` | how many devices there are, 1 when not set |
| `LABKIT_CALL_LOG` | a file that gets a line of JSON for each C call: name, arguments, status |

What a program does wrong with memory and executors is told on stderr. Every library exports the
symbol `labkit_simulated`.
"""

_SET_ENV = """\
# Source this file (bash, zsh or sh): what builds and programs read of CANN's own set_env.sh.
if [ -n "${BASH_SOURCE:-}" ]; then
    labkit_sdk=$(CDPATH='' cd -- "$(dirname -- "$BASH_SOURCE")" && pwd)
elif [ -n "${ZSH_VERSION:-}" ]; then
    labkit_sdk=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
else
    labkit_sdk=${LABKIT_SDK:-$(pwd)} # another shell cannot tell where this file is
fi
if [ ! -e "$labkit_sdk/lib64/liblabkit_npu.so" ]; then
    echo "set_env.sh: $labkit_sdk is not the tree; go there first, or set LABKIT_SDK" >&2
    unset labkit_sdk
    return 1
fi
export ASCEND_HOME_PATH="$labkit_sdk"
export ASCEND_TOOLKIT_HOME="$labkit_sdk"
export ASCEND_OPP_PATH="$labkit_sdk/opp"
export LD_LIBRARY_PATH="$labkit_sdk/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export CMAKE_PREFIX_PATH="$labkit_sdk${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
unset labkit_sdk
"""
