"""CANN's version: read from an installation, and put in order.

Releases are called `8.3.RC1`, `8.2.RC1.alpha003`, `8.5.0`, `9.1.0.beta` or
`9.1.0-beta.1`. The trap: as plain text, and for many tools, `9.1.0.beta` comes
after `9.1.0`, though it came out before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

__all__ = ["first_key", "read_version", "version_key"]

# What a word after the numbers means. A word that is not listed counts as the
# least finished: of an unknown build and a release, take the release.
_RANKS = {"alpha": 1, "beta": 2, "rc": 3}
_FINAL = (4, 0)
_PATCH = 5

_READ_AT_MOST = 1 << 16  # bytes; the version files are a few lines


def version_key(text: str) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """Return what to sort versions by: early release to late.

    >>> sorted(["9.1.0", "9.1.0.beta", "8.3.RC1", "8.3.RC1.alpha003"], key=version_key)
    ['8.3.RC1.alpha003', '8.3.RC1', '9.1.0.beta', '9.1.0']
    """
    numbers: list[int] = []
    stages: list[tuple[int, int]] = []
    for word, digits in re.findall(r"([A-Za-z]*)[.\-_]?(\d*)", text):
        if word:
            stages.append((_RANKS.get(word.lower(), 0), int(digits or 0)))
        elif digits and stages:
            stages.append((_PATCH, int(digits)))
        elif digits:
            numbers.append(int(digits))
    while numbers and numbers[-1] == 0:  # 9.1 and 9.1.0 are the same release
        numbers.pop()
    return tuple(numbers), (*stages, _FINAL)


def read_version(root: Path) -> str:
    """Find the release that is installed in `root`; empty when no file and no name tells.

    Looks at `<arch>-linux/ascend_toolkit_install.info`, `version.cfg` (up to
    8.x), `share/info/<package>/version.info` (9.x), then at the directory name.
    """
    for path in _matches(root, "*-linux/ascend_toolkit_install.info"):
        if found := first_key(path, ("version",)):
            return found
    if found := _bracketed(first_key(root / "version.cfg", _CFG_KEYS)):
        return found
    packages = _matches(root, "share/info/*/version.info")
    for path in sorted(packages, key=lambda item: (item.parent.name != "runtime", item)):
        if found := first_key(path, ("version_dir", "version")):
            return found
    name = os.path.basename(os.path.realpath(root)).removeprefix("cann-")
    return name if name[:1].isdigit() else ""


def first_key(path: Path, keys: Iterable[str]) -> str:
    """Return the value of the first of `keys` in a file of `key=value` lines.

    Upper and lower case of keys do not matter. Empty when the file cannot be
    read or says nothing of the kind; a file never makes this fail.
    """
    found: dict[str, str] = {}
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(_READ_AT_MOST)
    except (OSError, ValueError):
        return ""
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and not key.lstrip().startswith("#"):
            found.setdefault(key.strip().lower(), value.strip().strip("\"'"))
    return next((found[key.lower()] for key in keys if found.get(key.lower())), "")


_CFG_KEYS = ("toolkit_running_version", "runtime_running_version", "opp_running_version")


def _bracketed(value: str) -> str:
    """Take the release out of `[7.6.0.1.220:8.0.0]`, an inner and an outer version."""
    return value.strip("[] ").rpartition(":")[2].removeprefix("CANN-")


def _matches(root: Path, pattern: str) -> list[Path]:
    try:
        return sorted(root.glob(pattern))
    except (OSError, ValueError):
        return []
