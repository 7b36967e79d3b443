"""Running a script under msprof, in a child process.

msprof profiles a whole application, so what is to be observed is a script of
its own and not a cell of a running notebook.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from labkit.cann.find import find_cann
from labkit.errors import DeviceNotAvailable
from labkit.language import gettext as _
from labkit.observe.kernels import Observation
from labkit.observe.profile import ProfileError, read_profile

__all__ = ["find_msprof", "profile"]

_PLACES = ("tools/profiler/bin/msprof", "bin/msprof")


def find_msprof() -> Path:
    """The msprof on the path or in an installed CANN; raises `DeviceNotAvailable`."""
    found = shutil.which("msprof")
    if found:
        return Path(found)
    for install in find_cann():
        for place in _PLACES:
            if os.access(install.root / place, os.X_OK):
                return install.root / place
    raise DeviceNotAvailable(
        _(
            "no msprof on this machine: it comes with the CANN toolkit (tools/profiler/bin), and "
            "set_env.sh puts it on the path. Without an NPU, "
            "labkit.observe.observe_software(call) tells what the software NPU executed"
        )
    )


def profile(
    script: str,
    *,
    output: str | Path | None = None,
    seconds: float = 600,
    msprof: str | Path | None = None,
) -> Observation:
    """Run Python source under msprof and read what it wrote.

    The child has `LABKIT_DEVICE=npu`. `output` is a folder that keeps what
    msprof wrote, each run in a folder of its own (default: a temporary one,
    which is removed). Raises `DeviceNotAvailable` without
    msprof, `ProfileError` with the child's last words when it fails or nothing
    was written within `seconds`.
    """
    tool = Path(msprof) if msprof else find_msprof()
    with tempfile.TemporaryDirectory(prefix="labkit-profile-") as folder:
        source = Path(folder) / "observed.py"
        source.write_text(script, encoding="utf-8")
        target = (Path(output) if output else Path(folder)).resolve()
        target.mkdir(parents=True, exist_ok=True)
        target = Path(tempfile.mkdtemp(prefix="profile-", dir=target))  # alone: not an older run
        command = [str(tool), f"--output={target}", "--task-time=l1", sys.executable, str(source)]
        try:
            done = _run(command, seconds)
        except subprocess.TimeoutExpired as error:
            raise ProfileError(
                _("msprof did not end within {seconds} s").format(seconds=f"{seconds:g}")
            ) from error
        except OSError as error:
            raise ProfileError(
                _("{tool} could not be started: {error}").format(tool=tool, error=error.strerror)
            ) from error
        words = (done.stderr.strip() or done.stdout.strip())[-2000:]
        if done.returncode:
            raise ProfileError(
                _("msprof ended with {code}:").format(code=done.returncode) + f"\n{words}"
            )
        try:
            return read_profile(target)
        except ProfileError as error:
            raise ProfileError(f"{error}\n" + _("msprof said:") + f"\n{words}") from error


def _run(command: list[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a command and stop it, with the application that it started, when it takes too long."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "LABKIT_DEVICE": "npu"},
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=seconds)
        except BaseException:  # an interrupted cell must not leave the device in use either
            _stop(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _stop(process: subprocess.Popen[str]) -> None:
    """End a process and its children: a child that lives on keeps the device."""
    if sys.platform == "win32":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
