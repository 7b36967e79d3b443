"""What all tests share: where the project is, and whether a test may be left out."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # lab.py and labkit are tested where they lie, installed or not
    sys.path.insert(0, str(ROOT))


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the folder of the project."""
    return ROOT


@pytest.fixture(scope="session")
def skip_or_fail():
    """Return a function that skips a test for a missing tool, but fails it in CI.

    CI is where LABKIT_CI or CI is set: there everything must run.
    """

    def leave_out(reason: str) -> None:
        if any(os.environ.get(name, "") not in ("", "0", "false") for name in ("LABKIT_CI", "CI")):
            pytest.fail(f"{reason} (in CI this must not be skipped)", pytrace=False)
        pytest.skip(reason)

    return leave_out
