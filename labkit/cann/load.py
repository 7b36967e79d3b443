"""Opening an installed CANN: its libraries, in the right order, by absolute path.

A Jupyter kernel is often started without `set_env.sh`, and changing
`LD_LIBRARY_PATH` inside a running process has no effect. So every library is
opened by its absolute path, dependencies first: the loader then finds them
already there. The order is driver, runtime, `libdummy_tls.so`, aclnn framework,
mathematics, custom operators, operators.

Two libraries are never opened from here: `libacl_rt_impl.so`, which ends the
process when it does not find the runtime, and whichever of `libopapi_nn.so` and
`libopapi.so` is not in use, as the two must not be used together.

Sources: library roles and the warning about `libopapi.so` from the operator
list of cann/ops-nn (commit e5c3fa9327ea95ba26d06227e746923580d10921); the forwarder
and the stubs from cann/runtime (commit 681ef7610df13c8128982901142a2c869ddbb53e).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from pathlib import Path

from labkit.cann import advice
from labkit.cann.dl import LoaderError, SharedLibrary, mapped_files
from labkit.cann.find import (
    BASE_LIBRARY,
    RUNTIME_LIBRARIES,
    SINGLE_LIBRARY,
    SPLIT_LIBRARY,
    CannInstall,
    search_cann,
)
from labkit.cann.opened import CannLibrary
from labkit.cann.packages import DRIVER_LIBRARY, custom_op_libraries, driver_dirs, is_stub
from labkit.errors import DeviceNotAvailable

__all__ = ["CannLibrary", "load_cann", "require_npu"]

_FORWARDER = "libacl_rt_impl.so"
_NAMES = {*RUNTIME_LIBRARIES, BASE_LIBRARY, SPLIT_LIBRARY, SINGLE_LIBRARY}


def load_cann(install: CannInstall, environ: MutableMapping[str, str] | None = None) -> CannLibrary:
    """Open the libraries of `install`.

    Before the first library is opened, `ASCEND_HOME_PATH` and
    `ASCEND_OPP_PATH` are set in `environ` (default: this process's) when they
    are not; `notes` says so. Raises `DeviceNotAvailable`, with the loader's
    words and what to do, when a library is missing, is a stub, or does not
    load. Opening calls no function of CANN and touches no device.
    """
    if not sys.platform.startswith("linux"):
        raise DeviceNotAvailable(
            f"CANN's libraries exist for Linux only, this is {sys.platform}. {advice.WITHOUT_NPU}"
        )
    env = os.environ if environ is None else environ
    if install.stub:
        raise _stub(install.lib_dir)
    if install.missing:
        raise DeviceNotAvailable(
            f"{install} lacks {', '.join(install.missing)} in {install.lib_dir}: install the CANN "
            "toolkit and the ops package of one release."
        )
    notes, added = _set_environment(install, env)
    notes += _strangers(install)
    before = mapped_files()
    try:
        library = _Opening(install, env).opened_library(notes)
        for path in sorted(mapped_files() - before):
            if is_stub(path):  # the loader followed LD_LIBRARY_PATH to a dependency in devlib
                raise _stub(path)
        return library
    except DeviceNotAvailable:
        for name in added:
            del env[name]
        raise


def require_npu(
    environ: MutableMapping[str, str] | None = None, roots: Sequence[Path] | None = None
) -> CannLibrary:
    """Find CANN and open it, or say what is missing and the command that mends it.

    Takes the first installation that is complete; there is no second try with
    another one, as two releases in one process do not mix. Raises
    `DeviceNotAvailable`. Says nothing of devices: `aclInit` and
    `aclrtGetDeviceCount` do. `environ` and `roots` as in `find_cann`.
    """
    search = search_cann(environ, roots)
    if search.chosen is None:
        raise DeviceNotAvailable(
            f"No usable CANN on this machine. {advice.for_search(search)}\n"
            f"{advice.WITHOUT_NPU}\n{search}"
        )
    return load_cann(search.chosen, environ)


class _Opening:
    """One try at opening an installation: what is open so far, and where to look."""

    def __init__(self, install: CannInstall, env: Mapping[str, str]) -> None:
        self.install = install
        self.env = env
        self.opened: list[Path] = []
        self.notes: list[str] = []
        base = install.lib_dir
        roots = (Path("/usr/local/Ascend"), install.root.parent, install.root.parent.parent)
        self.drivers = driver_dirs(env, roots)
        self.folders = (base, *self.drivers)
        unused = SINGLE_LIBRARY if install.layout == "split" else SPLIT_LIBRARY
        self.never = {_FORWARDER, unused}

    def opened_library(self, notes: Iterable[str]) -> CannLibrary:
        install = self.install
        for folder in self.drivers:
            if os.path.isfile(folder / DRIVER_LIBRARY) and self.try_open(folder / DRIVER_LIBRARY):
                break
        runtime = self.must_open(*RUNTIME_LIBRARIES)
        self.try_open(install.lib_dir / "libdummy_tls.so")
        framework = self.must_open(BASE_LIBRARY)
        mathematics = self.try_open(install.lib_dir / "libopapi_math.so")
        custom = [
            opened
            for path in custom_op_libraries(self.env, install.opp_path)
            if (opened := self.try_open(path))
        ]
        operators = [self.must_open(SPLIT_LIBRARY, SINGLE_LIBRARY)]
        if mathematics:
            operators.append(mathematics)
        return CannLibrary(
            install,
            custom=custom,
            operators=operators,
            base=(framework, runtime),
            opened=self.opened,
            notes=(*notes, *self.notes),
        )

    def must_open(self, *names: str) -> SharedLibrary:
        """Open the first of these that the installation has; every failure is final."""
        path = self.install.find_library(*names)
        assert path is not None  # `install.missing` was empty
        try:
            return self.open(path)
        except LoaderError as error:
            raise DeviceNotAvailable(
                f"{path} does not load. The loader says: {error}. "
                f"{advice.for_loader_error(str(error), self.install)}"
            ) from error

    def try_open(self, path: Path) -> SharedLibrary | None:
        """Open a library that is not always there; a failure becomes a note."""
        if not os.path.isfile(path):
            return None
        try:
            return self.open(path)
        except LoaderError as error:
            self.notes.append(f"{path} was left out. The loader says: {error}.")
            return None

    def open(self, path: Path, wanted_by: tuple[str, ...] = ()) -> SharedLibrary:
        """Open a library, after whatever it needs that lies in the known directories."""
        if is_stub(path):
            raise _stub(path)
        while True:
            try:
                library = SharedLibrary(path)
            except LoaderError as error:
                name = advice.missing_dependency(str(error))
                needed = self.find(name)
                if needed is None or name in wanted_by or needed in self.opened:
                    raise
                self.open(needed, (*wanted_by, name))
            else:
                self.opened.append(path)
                return library

    def find(self, name: str) -> Path | None:
        if not name or name in self.never:
            return None
        paths = (folder / name for folder in self.folders)
        return next((path for path in paths if os.path.isfile(path)), None)


def _set_environment(
    install: CannInstall, env: MutableMapping[str, str]
) -> tuple[list[str], list[str]]:
    """Set what aclnn reads with getenv and nobody has set; return notes and the names set."""
    notes: list[str] = []
    added: list[str] = []
    wanted = {"ASCEND_HOME_PATH": install.root, "ASCEND_OPP_PATH": install.opp_path}
    for name, path in wanted.items():
        if path is None:
            notes.append(
                f"{install.root} has no opp directory: kernels will not be found (561107)."
            )
        elif not env.get(name):
            env[name] = str(path)
            added.append(name)
            notes.append(f"{name} was not set; now it is {path}.")
    if str(install.lib_dir) not in env.get("LD_LIBRARY_PATH", "").split(":"):
        notes.append(
            f"LD_LIBRARY_PATH does not name {install.lib_dir}: what CANN opens by bare name may "
            "not be found. Starting from a shell that sourced set_env.sh avoids that, as does a "
            "Jupyter kernel made by: labkit kernel install"
        )
    home = env.get("ASCEND_HOME_PATH", "")
    if os.path.realpath(home) != os.path.realpath(install.root):
        notes.append(
            f"ASCEND_HOME_PATH is {home}, but the libraries come from {install.root}: "
            "aclnn looks for kernels by the variable."
        )
    return notes, added


def _strangers(install: CannInstall) -> list[str]:
    """Name CANN libraries that are in this process already and are not this installation's."""
    return [
        f"{path} is loaded already (torch_npu?): two CANN releases in one process do not mix."
        for path in sorted(mapped_files())
        if path.name in _NAMES and path != Path(os.path.realpath(install.lib_dir / path.name))
    ]


def _stub(path: Path) -> DeviceNotAvailable:
    return DeviceNotAvailable(
        f"{path} is a stub to link with (devlib): every call would answer 100039. set_env.sh adds "
        "it when it finds no driver. Install the NPU driver, or in a container mount "
        f"/usr/local/Ascend/driver, then source set_env.sh again. {advice.WITHOUT_NPU}"
    )
