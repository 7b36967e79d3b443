"""`labkit lab`: the course in a folder of the learner's own, opened in JupyterLab."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from labkit.course.copy import copy_course, course_above, reset
from labkit.language import gettext as _
from labkit.language import language

__all__ = ["FOLDER", "first_notebook", "jupyter_command", "run_lab"]

FOLDER = "hardshrink-course"
"""The folder that is made where none is named."""
_FIRST = "00_start_here.ipynb"


def run_lab(options: argparse.Namespace) -> int:
    """Do what the command line says; returns the exit code."""
    chosen = language()  # a language that is not there is told before anything is copied
    folder = Path(options.folder or course_above() or FOLDER).absolute()
    if options.reset is not None:
        print(reset(folder, options.reset))
        return 0
    print(copy_course(folder))
    first = first_notebook(folder, chosen)
    if options.copy_only:
        opens = _("start with {notebook}; labkit lab {folder} opens it")
        print(opens.format(notebook=first, folder=options.folder or folder))
        return 0
    starting = _("Starting JupyterLab; its address follows. Ctrl-C in this window stops it.")
    print(starting, flush=True)
    command = jupyter_command(
        sys.executable, str(folder), first, options.port, not options.no_browser, _is_root()
    )
    if os.name == "posix":  # signals then reach JupyterLab itself
        os.chdir(folder)
        os.execv(sys.executable, command)
    return subprocess.run(command, cwd=folder, check=False).returncode


def first_notebook(folder: Path, chosen: str) -> str:
    """The notebook to open first, by its name within the folder, in a language if it is there."""
    name = f"{chosen}/{_FIRST}"
    return name if (folder / name).is_file() else _FIRST


def jupyter_command(
    python: str, folder: str, notebook: str, port: int | None, browser: bool, root: bool
) -> list[str]:
    """The command that starts JupyterLab: on this machine only, with its token.

    lab.py, which cannot import this, builds the same.
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
    command += [f"--ServerApp.port={port}"] if port is not None else []
    command += [] if browser else ["--no-browser"]
    return command + (["--allow-root"] if root else [])


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
