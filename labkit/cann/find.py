"""Finding CANN: which installations this machine has, and where the lab looked.

The order of preference is: `$ASCEND_HOME_PATH`, `$ASCEND_TOOLKIT_HOME`, then in
the system's, the user's and the conda environment's `Ascend` directory first
`cann` (CANN 8.5 and later), then `ascend-toolkit/latest` (up to 8.3; also in
images of 9.x). Where such a link is missing, the versions beside it count,
latest release first.

Nothing is opened here, no environment is changed, and nothing that is broken or
unreadable makes a search fail: it becomes a line of the report.

Sources: `set_env.sh` of cann/runtime (commit
681ef7610df13c8128982901142a2c869ddbb53e); install layouts as in the guides of
cann/ops-nn (commit e5c3fa9327ea95ba26d06227e746923580d10921) and of
vllm-project/vllm-ascend (commit 182b75ea84ff13ece27b57391331ef8935410aea).
"""

from __future__ import annotations

import os
import platform
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.cann.packages import (
    DRIVER_LIBRARY,
    INSTALL_INFO,
    custom_op_places,
    device_nodes,
    driver_dirs,
    is_stub,
)
from labkit.cann.versions import read_version, version_key

__all__ = [
    "BASE_LIBRARY",
    "RUNTIME_LIBRARIES",
    "SINGLE_LIBRARY",
    "SPLIT_LIBRARY",
    "CannInstall",
    "Place",
    "Search",
    "describe_search",
    "find_cann",
    "search_cann",
]

RUNTIME_LIBRARIES = ("libacl_rt.so", "libascendcl.so")
"""The runtime library, by its present and by its older name."""

BASE_LIBRARY = "libnnopbase.so"
"""The aclnn framework: tensors, scalars, executors."""

SPLIT_LIBRARY = "libopapi_nn.so"
"""The operator's library since operators are split by repository (8.5 and later)."""

SINGLE_LIBRARY = "libopapi.so"
"""One library for all operators (up to 8.3)."""

_SYSTEM = (Path("/usr/local/Ascend"),)
_ALL = (*RUNTIME_LIBRARIES, BASE_LIBRARY, SPLIT_LIBRARY, SINGLE_LIBRARY)


@dataclass(frozen=True)
class CannInstall:
    """One CANN on this machine.

    `layout` is "split" (`libopapi_nn.so`), "single" (`libopapi.so`) or "none"
    (no operator library: the ops package is missing). `version` is empty when
    nothing tells it. `found_by` says what led here. `stub` marks libraries
    under `devlib`, which link but do nothing.
    """

    root: Path
    lib_dir: Path
    layout: str
    version: str
    found_by: str
    stub: bool
    opp_path: Path | None
    set_env: Path | None

    def find_library(self, *names: str) -> Path | None:
        """Return the first of these libraries that is there."""
        paths = (self.lib_dir / name for name in names)
        return next((path for path in paths if os.path.isfile(path)), None)

    @property
    def missing(self) -> tuple[str, ...]:
        """What the operator needs and this installation lacks."""
        wanted = (RUNTIME_LIBRARIES, (BASE_LIBRARY,), (SPLIT_LIBRARY, SINGLE_LIBRARY))
        return tuple(" or ".join(names) for names in wanted if self.find_library(*names) is None)

    @property
    def usable(self) -> bool:
        """Whether all libraries are there and none is a stub; says nothing of a device."""
        return not self.stub and not self.missing

    def __str__(self) -> str:
        return f"CANN {self.version or '(version unknown)'} in {self.root}"


@dataclass(frozen=True)
class Place:
    """One place that was looked at, why, and what was found there."""

    path: str
    why: str
    finding: str
    install: CannInstall | None = None


@dataclass(frozen=True)
class Search:
    """All that a search saw."""

    places: tuple[Place, ...]
    custom: tuple[Place, ...]
    drivers: tuple[Path, ...]
    devices: tuple[Path, ...]

    @property
    def installs(self) -> tuple[CannInstall, ...]:
        """The installations, the preferred one first."""
        return tuple(place.install for place in self.places if place.install is not None)

    @property
    def chosen(self) -> CannInstall | None:
        """The first installation that has everything, or None."""
        return next((install for install in self.installs if install.usable), None)

    def __str__(self) -> str:
        lines = ["Places searched for CANN:"]
        lines += [f"  {place.path or place.why}: {place.finding}" for place in self.places]
        lines.append("Custom operator libraries:")
        lines += [
            f"  {place.path}: {place.finding} (from {place.why})" for place in self.custom
        ] or ["  none named"]
        lines.append(f"Driver directories (for {DRIVER_LIBRARY}):")
        lines += [f"  {path}" for path in self.drivers] or ["  none"]
        nodes = ", ".join(str(path) for path in self.devices)
        lines.append(f"Device nodes: {nodes or 'none (/dev/davinci0 and on)'}")
        return "\n".join(lines)


def find_cann(
    environ: Mapping[str, str] | None = None, roots: Sequence[Path] | None = None
) -> list[CannInstall]:
    """Return the CANN installations of this machine, the preferred one first.

    `environ` stands for the environment (default: this process's), `roots` for
    the system-wide Ascend directories (default: `/usr/local/Ascend`). Unusable
    installations are in the list too: see `stub` and `missing`.
    """
    return list(search_cann(environ, roots).installs)


def describe_search(
    environ: Mapping[str, str] | None = None, roots: Sequence[Path] | None = None
) -> str:
    """Tell, in lines of text, every place that is looked at and what is or is not there."""
    return str(search_cann(environ, roots))


def search_cann(
    environ: Mapping[str, str] | None = None,
    roots: Sequence[Path] | None = None,
    *,
    install_info: Path = INSTALL_INFO,
    dev: Path = Path("/dev"),
) -> Search:
    """Look everywhere for CANN, its custom operators, its driver and its devices."""
    env = os.environ if environ is None else environ
    system = tuple(Path(root) for root in (_SYSTEM if roots is None else roots))
    seen: dict[str, str] = {}
    places = tuple([_look(path, why, seen) for path, why in _candidates(env, system)])
    installs = [place.install for place in places if place.install is not None]
    first = next((install for install in installs if install.usable), next(iter(installs), None))
    custom = custom_op_places(env, first.opp_path if first else None)
    return Search(
        places=places,
        custom=tuple(
            Place(str(path), why, "there" if os.path.isfile(path) else "named, but not there")
            for why, path in custom
        ),
        drivers=tuple(driver_dirs(env, system, install_info)),
        devices=tuple(device_nodes(dev)),
    )


def _candidates(env: Mapping[str, str], system: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Give `(path, why)` in order; an empty path stands for a variable that is not set."""
    for variable in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        yield env.get(variable, ""), f"${variable}"
    bases = [(path, "the system's") for path in system]
    for variable, owner in (("HOME", "the user's"), ("CONDA_PREFIX", "the conda environment's")):
        if env.get(variable):
            bases.append((Path(env[variable]) / "Ascend", owner))
    for base, owner in bases:
        for folder, link, prefix in (
            (base, "cann", "cann-"),
            (base / "ascend-toolkit", "latest", ""),
        ):
            yield str(folder / link), f"{owner} {link}"
            if not os.path.isdir(folder / link):
                for name in _version_dirs(folder, prefix):
                    yield str(folder / name), f"{owner} {name}, as {link} is missing"


def _version_dirs(folder: Path, prefix: str) -> list[str]:
    """List directories called `<prefix><version>`, the latest release first."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    stems = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
    versions = [
        stem for stem in stems if stem[:1].isdigit() and os.path.isdir(folder / (prefix + stem))
    ]
    return [prefix + stem for stem in sorted(versions, key=version_key, reverse=True)]


def _look(path: str, why: str, seen: dict[str, str]) -> Place:
    """Look at one candidate; `seen` remembers real paths, so that links do not count twice."""
    if not path:
        return Place("", why, "not set")
    real = os.path.realpath(path)
    try:
        is_dir = stat.S_ISDIR(os.stat(path).st_mode)
    except FileNotFoundError:
        gone = os.path.islink(path)
        return Place(path, why, "a link that leads nowhere" if gone else "no such directory")
    except OSError as error:
        return Place(path, why, f"cannot be read ({error.strerror})")
    if not is_dir:
        return Place(path, why, "not a directory")
    if real in seen:
        return Place(path, why, f"the same as {seen[real]}")
    seen[real] = path
    install = _inspect(Path(path), why)
    if install is None:
        shut = not os.access(path, os.X_OK)
        lacks = f"a directory, but without lib64/{' or '.join(RUNTIME_LIBRARIES)}"
        return Place(path, why, "a directory that may not be entered" if shut else lacks)
    return Place(path, why, _verdict(install), install)


def _inspect(root: Path, why: str) -> CannInstall | None:
    """Describe the CANN in `root`; None when there is none."""
    arch = f"{platform.machine()}-linux"
    folders = ("lib64", f"{arch}/lib64", "devlib", f"{arch}/devlib")
    for lib_dir in (root / folder for folder in folders):
        held = [name for name in _ALL if os.path.isfile(lib_dir / name)]
        if held:
            break
    else:
        return None
    layout = "split" if SPLIT_LIBRARY in held else "single" if SINGLE_LIBRARY in held else "none"
    opps = (root / name for name in ("opp_latest", "opp"))
    scripts = [root / "set_env.sh", root / "bin" / "setenv.bash"]
    if root.parent.name == "ascend-toolkit":
        scripts.insert(1, root.parent / "set_env.sh")
    return CannInstall(
        root=root,
        lib_dir=lib_dir,
        layout=layout,
        version=read_version(root),
        found_by=why,
        stub=is_stub(lib_dir) or any(is_stub(lib_dir / name) for name in held),
        opp_path=next((path for path in opps if os.path.isdir(path)), None),
        set_env=next((path for path in scripts if os.path.isfile(path)), None),
    )


def _verdict(install: CannInstall) -> str:
    if install.stub:
        return f"only compile-time stubs, in {install.lib_dir}"
    said = f"CANN {install.version or '(version unknown)'}, libraries in {install.lib_dir}"
    return f"{said}, lacks {', '.join(install.missing)}" if install.missing else said
