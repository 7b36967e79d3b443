"""A JupyterLab of the test's own: a copy of the notebooks, no setting of the user."""

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

import lab

START_SECONDS = 120
STOP_SECONDS = 30

SETTINGS = {
    # Cells far out of sight are rendered too, so that a test sees the whole notebook.
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
    **lab.OVERRIDES,
}


@dataclass(frozen=True)
class LabServer:
    """A running JupyterLab: where it answers, its token, and the folder that it serves."""

    url: str
    token: str
    folder: Path

    def ask(self, path: str, method: str = "GET") -> object:
        """Ask the server's REST interface; returns what its JSON says."""
        request = urllib.request.Request(
            self.url + path, method=method, headers={"Authorization": f"token {self.token}"}
        )
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(request, timeout=30) as answer:
            return json.loads(answer.read() or "null")

    def add_notebook(self, name: str, *sources: str) -> str:
        """Put a notebook with these code cells beside the course's; returns its name."""
        book = new_notebook(
            cells=[new_code_cell(source) for source in sources],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        )
        nbformat.write(book, self.folder / "notebooks" / name)
        return name

    def end_sessions(self) -> None:
        """Shut down the kernels of all open notebooks."""
        for session in self.ask("api/sessions"):
            self.ask(f"api/sessions/{session['id']}", "DELETE")


def free_port() -> int:
    """Find a port that is free now; JupyterLab takes a later one if it no longer is."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def private_environment(home: Path, settings: dict[str, dict]) -> dict[str, str]:
    """Point everything that Jupyter reads or writes for a user into a folder of the test."""
    places = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
        "MPLCONFIGDIR": "matplotlib",
    }
    environment = {name: value for name, value in os.environ.items() if name != "LABKIT_LANG"}
    for name, folder in places.items():
        (home / folder).mkdir(parents=True, exist_ok=True)
        environment[name] = str(home / folder)
    for name, values in {**SETTINGS, **settings}.items():
        path = home / "settings" / f"{name.replace(':', '/')}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")
    return environment


def wait_until_it_answers(process: subprocess.Popen, home: Path, folder: Path) -> LabServer:
    """Read from Jupyter's runtime file where the server listens, and wait for its first answer."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError, ValueError, KeyError):
            text = (home / "runtime" / f"jpserver-{process.pid}.json").read_text(encoding="utf-8")
            info = json.loads(text)
            server = LabServer(info["url"], info["token"], folder)
            server.ask("api/status")
            return server
        time.sleep(0.1)
    log = (home / "server.log").read_text(encoding="utf-8", errors="replace")
    raise RuntimeError(f"JupyterLab did not start within {START_SECONDS} s:\n{log[-3000:]}")


@contextlib.contextmanager
def running_lab(
    home: Path, notebooks: Path, settings: dict[str, dict] | None = None
) -> Iterator[LabServer]:
    """Run JupyterLab, as lab.py starts it, on a copy of the notebooks, with a user's settings."""
    folder = home / "course"
    shutil.copytree(
        notebooks,
        folder / "notebooks",
        ignore=shutil.ignore_patterns(".*", "conftest.py", "__pycache__"),
    )
    command = lab.jupyter_command(
        sys.executable,
        str(folder),
        "notebooks",
        port=free_port(),
        browser=False,
        root=lab.is_root(),
    )
    command.append(f"--IdentityProvider.token={secrets.token_hex(16)}")
    command.append("--LabApp.expose_app_in_browser=True")  # for LabPage
    environment = private_environment(home, settings or {})
    with open(home / "server.log", "wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            server = wait_until_it_answers(process, home, folder)
            yield server
            with contextlib.suppress(OSError):
                server.ask("api/shutdown", "POST")
                process.wait(STOP_SECONDS)
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
