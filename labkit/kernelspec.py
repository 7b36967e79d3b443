"""`labkit kernel install`: a Jupyter kernel that starts with CANN's environment.

What `set_env.sh` sets must be there when a process starts: the dynamic linker
reads `LD_LIBRARY_PATH` once. A JupyterLab that was started from a desktop, a
service or a hub has not sourced the script. So the script is run once in a
child shell, and what it changes goes into the `env` of a kernel specification,
which Jupyter gives to every kernel of that name.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.cann import advice
from labkit.cann.find import search_cann
from labkit.errors import DeviceNotAvailable, LabError, LabValueError

__all__ = ["KernelError", "environment_of", "install", "remove", "specification"]

NAME = "hardshrink-npu"
_SHELL_OWN = {"_", "SHLVL", "PWD", "OLDPWD"}
_LISTS = ("LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "CMAKE_PREFIX_PATH")
"""Variables to which set_env.sh adds folders of its CANN's."""
_SECONDS = 60


class KernelError(LabError, RuntimeError):
    """The kernel could not be installed; the message says why and what to do."""


def environment_of(script: Path, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables that sourcing a `set_env.sh` adds or changes.

    `environ` is the environment to start from (default: this process's).
    Raises `KernelError` when the script fails, takes too long or changes nothing.
    """
    base = dict(os.environ if environ is None else environ)
    shell = shutil.which("bash")
    if shell is None:
        raise KernelError("no bash on this machine; set_env.sh is written for it")
    if not script.is_file():
        raise KernelError(f"there is no {script}; right would be the set_env.sh of a CANN")
    try:
        done = subprocess.run(
            [shell, "-c", '. "$1" >&2 && exec env -0', "bash", str(script)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=base,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise KernelError(f"{script} had not ended after {_SECONDS} seconds") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[-500:]
        raise KernelError(f"{script} failed ({done.returncode}): {said or 'it said nothing'}")
    entries = (entry.partition("=") for entry in os.fsdecode(done.stdout).split("\0"))
    after = {name: value for name, _, value in entries if name}
    changed = {
        name: value
        for name, value in after.items()
        if base.get(name) != value and name not in _SHELL_OWN
    }
    if not changed:
        raise KernelError(
            f"{script} changes nothing: it is empty, or it was sourced before this command was "
            "started. The kernel inherits it then, if Jupyter is started from the same shell"
        )
    return changed


def specification(script: Path, *, device: str = "npu", display_name: str = "") -> dict[str, Any]:
    """The kernel specification as Jupyter reads it from kernel.json.

    `device` is what `LABKIT_DEVICE` is to be in the kernel. The environment is
    taken without what this process has sourced already, so that the kernel
    does not depend on where the command was run. Raises `KernelError` for a
    script that is not a CANN's, such as that of another package of Ascend's.
    """
    env = environment_of(script, _not_sourced(script))
    if not env.get("ASCEND_HOME_PATH"):
        raise KernelError(f"{script} sets no ASCEND_HOME_PATH; right would be CANN's set_env.sh")
    return {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": display_name or "Python 3 (Ascend NPU)",
        "language": "python",
        "interrupt_mode": "signal",
        "metadata": {"debugger": True},
        "env": {**env, "LABKIT_DEVICE": device},
    }


def _not_sourced(script: Path) -> dict[str, str]:
    """The environment of this process without what a set_env.sh has put there.

    A script that finds its folders in a list leaves the list as it is, and the
    kernel would lack them.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith("ASCEND")}
    homes = [os.environ.get(name) for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")]
    beside = (
        [script.parent] if any((script.parent / n).is_dir() for n in ("lib64", "latest")) else []
    )
    roots = {os.path.realpath(path) for path in (*beside, *homes) if path}
    for name in _LISTS:
        if name in env:
            kept = [part for part in env[name].split(os.pathsep) if not _inside(part, roots)]
            env[name] = os.pathsep.join(kept)
            if not kept:
                del env[name]
    return env


def _inside(path: str, roots: set[str]) -> bool:
    real = os.path.realpath(path) if path else ""
    return any(real == root or real.startswith(f"{root}{os.sep}") for root in roots)


def install(
    *,
    name: str = NAME,
    script: str | Path | None = None,
    device: str = "npu",
    display_name: str = "",
    prefix: str | None = None,
    user: bool = False,
) -> Path:
    """Install the kernel; returns its folder. The same name again replaces it.

    A kernel of that name that is not the lab's stays: `KernelError`.

    `script` is the `set_env.sh` (default: that of the CANN which the lab would
    take). It goes to `prefix`, for the `user`, or, as is the default, into the
    environment that Python runs in. Raises `DeviceNotAvailable` when there is
    no CANN, `KernelError` for what Jupyter or the script says.
    """
    from jupyter_client.kernelspec import KernelSpecManager

    if user and prefix:
        raise LabValueError("a kernel goes to one place: right would be user or prefix, not both")
    spec = _spec(name)
    if spec is not None and not _ours(spec):
        raise KernelError(f"the kernel {name!r} is not one of the lab's; choose another name")
    found = specification(_script(script), device=device, display_name=display_name)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kernel.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
        try:
            where = KernelSpecManager().install_kernel_spec(
                folder, name, user=user, prefix=None if user else prefix or sys.prefix
            )
        except (OSError, ValueError) as error:
            raise KernelError(f"Jupyter could not install the kernel {name!r}: {error}") from error
    return Path(where)


def remove(name: str = NAME) -> Path:
    """Remove a kernel that `install` made; returns the folder that is gone."""
    from jupyter_client.kernelspec import KernelSpecManager

    spec = _spec(name)
    if spec is None:
        raise KernelError(f"there is no kernel {name!r}")
    if not _ours(spec):
        raise KernelError(f"the kernel {name!r} is not one of the lab's; it stays")
    return Path(KernelSpecManager().remove_kernel_spec(name.lower()))


def _spec(name: str) -> Any:
    """The specification of an installed kernel, or None. Jupyter keeps names in lower case."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        return KernelSpecManager().get_kernel_spec(name.lower())
    except NoSuchKernel:
        return None


def _ours(spec: Any) -> bool:
    return "LABKIT_DEVICE" in spec.env


def _script(given: str | Path | None) -> Path:
    if given is not None:
        return Path(given).expanduser().absolute()
    search = search_cann()
    if search.chosen is None:
        raise DeviceNotAvailable(f"No usable CANN on this machine. {advice.for_search(search)}")
    if search.chosen.set_env is None:
        raise DeviceNotAvailable(
            f"{search.chosen} has no set_env.sh; name one with --set-env, or source it and start "
            "Jupyter from that shell"
        )
    return search.chosen.set_env
