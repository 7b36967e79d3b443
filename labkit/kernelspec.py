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


class KernelError(LabError, RuntimeError):
    """The kernel could not be installed; the message says why and what to do."""


def environment_of(script: Path, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables that sourcing a `set_env.sh` adds or changes.

    `environ` is the environment to start from (default: this process's).
    Raises `KernelError` when the script fails or changes nothing.
    """
    base = dict(os.environ if environ is None else environ)
    shell = shutil.which("bash")
    if shell is None:
        raise KernelError("no bash on this machine; set_env.sh is written for it")
    if not script.is_file():
        raise KernelError(f"there is no {script}; right would be the set_env.sh of a CANN")
    done = subprocess.run(
        [shell, "-c", '. "$1" >&2 && exec env -0', "bash", str(script)],
        capture_output=True,
        env=base,
        timeout=60,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[-500:]
        raise KernelError(f"{script} failed ({done.returncode}): {said or 'it said nothing'}")
    entries = (entry.partition("=") for entry in done.stdout.decode(errors="replace").split("\0"))
    after = {name: value for name, _, value in entries if name}
    changed = {
        name: value
        for name, value in after.items()
        if base.get(name) != value and name not in _SHELL_OWN
    }
    if not changed:
        raise KernelError(
            f"{script} changes nothing: it was sourced before this command was started. The "
            "kernel inherits it then, if Jupyter is started from the same shell"
        )
    return changed


def specification(script: Path, *, device: str = "npu", display_name: str = "") -> dict[str, Any]:
    """The kernel specification as Jupyter reads it from kernel.json.

    `device` is what `LABKIT_DEVICE` is to be in the kernel. The environment is
    taken without what this process has sourced already, so that the kernel
    does not depend on where the command was run.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ASCEND")}
    return {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": display_name or "Python 3 (Ascend NPU)",
        "language": "python",
        "interrupt_mode": "signal",
        "metadata": {"debugger": True},
        "env": {**environment_of(script, clean), "LABKIT_DEVICE": device},
    }


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

    `script` is the `set_env.sh` (default: that of the CANN which the lab would
    take). It goes to `prefix`, for the `user`, or, as is the default, into the
    environment that Python runs in. Raises `DeviceNotAvailable` when there is
    no CANN, `KernelError` for what Jupyter or the script says.
    """
    from jupyter_client.kernelspec import KernelSpecManager

    if user and prefix:
        raise LabValueError("a kernel goes to one place: right would be user or prefix, not both")
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
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    manager = KernelSpecManager()
    try:
        spec = manager.get_kernel_spec(name)
    except NoSuchKernel as error:
        raise KernelError(f"there is no kernel {name!r}") from error
    if "LABKIT_DEVICE" not in spec.env:
        raise KernelError(f"the kernel {name!r} is not one of the lab's; it stays")
    return Path(manager.remove_kernel_spec(name))


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
