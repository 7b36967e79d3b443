"""What stands beside CANN: custom operator packages, the driver, the device nodes.

A custom operator package is a vendor's own build of operators. aclnn takes an
operator from there before it takes the built-in one. The driver brings
`libascend_hal.so`, without which the runtime library does not load.

Sources: `ASCEND_CUSTOM_OPP_PATH` and `vendors/config.ini` as read by
Ascend/op-plugin (commit 517f2e7d0f202f38b76310706cb977ca2388ad21); driver
directories and `/etc/ascend_install.info` as in `set_env.sh` of cann/runtime
(commit 681ef7610df13c8128982901142a2c869ddbb53e).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from labkit.cann.versions import first_key

__all__ = [
    "DRIVER_LIBRARY",
    "INSTALL_INFO",
    "custom_op_libraries",
    "custom_op_places",
    "device_nodes",
    "driver_dirs",
    "is_stub",
]

DRIVER_LIBRARY = "libascend_hal.so"
INSTALL_INFO = Path("/etc/ascend_install.info")

_CUSTOM_LIBRARY = Path("op_api", "lib", "libcust_opapi.so")


def custom_op_places(
    environ: Mapping[str, str], opp_path: Path | None = None
) -> list[tuple[str, Path]]:
    """List where custom operator libraries are due: `(what names it, path)`, in loading order.

    First the entries of `ASCEND_CUSTOM_OPP_PATH`, then the vendors of
    `load_priority` in `vendors/config.ini` under `ASCEND_OPP_PATH`, or under
    `opp_path` when that variable is not set. The files need not exist.
    """
    places = [
        ("$ASCEND_CUSTOM_OPP_PATH", Path(entry) / _CUSTOM_LIBRARY)
        for entry in environ.get("ASCEND_CUSTOM_OPP_PATH", "").split(":")
        if entry
    ]
    opp = Path(environ["ASCEND_OPP_PATH"]) if environ.get("ASCEND_OPP_PATH") else opp_path
    if opp is not None:
        config = opp / "vendors" / "config.ini"
        for name in first_key(config, ("load_priority",)).split(","):
            vendor = name.strip()
            if vendor not in ("", ".", "..") and Path(vendor).name == vendor:
                places.append((str(config), opp / "vendors" / vendor / _CUSTOM_LIBRARY))
    return places


def custom_op_libraries(environ: Mapping[str, str], opp_path: Path | None = None) -> list[Path]:
    """Return the custom operator libraries that exist, in the order in which they are asked."""
    found = [path for _, path in custom_op_places(environ, opp_path) if os.path.isfile(path)]
    return list(dict.fromkeys(found))


def driver_dirs(
    environ: Mapping[str, str],
    roots: Iterable[Path],
    install_info: Path = INSTALL_INFO,
) -> list[Path]:
    """Return the directories of the driver's libraries that exist here.

    `roots` are Ascend directories that may hold a `driver`; `install_info` is
    the file in which the driver's installer left its own. Directories on
    `LD_LIBRARY_PATH` count when they hold the driver library, unless it is a
    stub.
    """
    bases = [Path(root) for root in roots]
    if recorded := first_key(install_info, ("Driver_Install_Path_Param",)):
        bases.insert(0, Path(recorded))
    lib64 = [base / "driver" / "lib64" for base in bases]
    candidates = [base / part for base in lib64 for part in ("", "driver", "common")]
    for entry in environ.get("LD_LIBRARY_PATH", "").split(":"):
        if entry and os.path.isfile(os.path.join(entry, DRIVER_LIBRARY)):
            candidates.append(Path(entry))
    found = [path for path in candidates if os.path.isdir(path) and not is_stub(path)]
    return list(dict.fromkeys(found))


def device_nodes(dev: Path = Path("/dev")) -> list[Path]:
    """Return the device nodes of the NPUs that this process can see, `/dev/davinci0` and on."""
    try:
        names = os.listdir(dev)
    except OSError:
        return []
    numbers = [name.removeprefix("davinci") for name in names if name.startswith("davinci")]
    return [dev / f"davinci{n}" for n in sorted(int(n) for n in numbers if n.isdecimal())]


def is_stub(path: Path) -> bool:
    """Whether a path lies, links followed, in `devlib`: libraries to link with, not to run."""
    return "devlib" in Path(path).parts or "devlib" in Path(os.path.realpath(path)).parts
