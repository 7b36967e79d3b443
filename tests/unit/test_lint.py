"""Lint and types are part of the contract: what ruff and mypy say of the project."""

import subprocess
import sys

import pytest

PYTHON = ["lab.py", "conftest.py", "labkit", "tests"]


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", *PYTHON, "notebooks"],
        ["ruff", "format", "--check", *PYTHON],
        ["mypy", "labkit"],
    ],
    ids=["ruff check", "ruff format", "mypy"],
)
def test_the_tools_have_nothing_to_say(root, command, tmp_path):
    tool, *arguments = command
    cache = ["--cache-dir", str(tmp_path)] if tool == "mypy" else ["--no-cache"]
    done = subprocess.run(
        [sys.executable, "-m", tool, *arguments, *cache],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
