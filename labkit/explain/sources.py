"""Where every step comes from, and the cited lines when the sources are at hand.

A reference is written `repository path:lines#anchor` in the data files. The
lines themselves are never stored in the project: they are read, when the chain
is shown, from a checkout that the reader names.

    LABKIT_OPS_NN     a checkout of ops-nn
    LABKIT_CANN_SRC   a folder that holds ops-nn, opbase, ops-math, asc-devkit,
                      runtime and metadef side by side
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from labkit.errors import LabError
from labkit.explain.chain import SourceRef
from labkit.explain.words import parted
from labkit.language import Text

__all__ = ["REPOSITORIES", "Excerpt", "excerpt", "parse_ref", "sources_at_hand"]

REPOSITORIES = {
    "ops-nn": "e5c3fa9327ea95ba26d06227e746923580d10921",
    "opbase": "aa3cd74b7f6d772acd64ff48292a7e65a9bc8142",
    "ops-math": "c41933244c31e44fd496e3bb3212164f8c48c214",
    "asc-devkit": "82b89a15f26329511fc7fbc807d5132a1f9b4ba7",
    "runtime": "681ef7610df13c8128982901142a2c869ddbb53e",
    "metadef": "786891c02e5a7f509c6ffffd854e33ddefe3527c",
}
"""The repositories of cann and the commit of each that the references are of."""

_REF = re.compile(
    r"(?P<repository>[\w./-]+?)(?:@(?P<commit>[0-9a-f]{8,40}))? "
    r"(?P<path>\S+?):(?P<lines>\d+(?:-\d+)?)(?:#(?P<anchor>.+))?"
)
_LONGEST = 60
"""Lines shown of one reference."""

_LARGEST = 8 * 1024 * 1024
"""Bytes of a source file that are read; CANN's are far smaller."""


@cache
def parse_ref(text: str) -> SourceRef:
    """The reference that a line of the data files means.

    A short repository name stands for cann/<name> at the commit of
    `REPOSITORIES`; a full name carries its own commit.

    >>> str(parse_ref("opbase src/nnopbase/x.cpp:22-29#IsReusable"))
    'cann/opbase aa3cd74b src/nnopbase/x.cpp:22-29'
    """
    match = _REF.fullmatch(text)
    if match is None:
        raise LabError(f"no source reference: {text!r}")
    repository, commit = match["repository"], match["commit"]
    if commit is None:
        commit = REPOSITORIES.get(repository, "")
        repository = f"cann/{repository}"
    if not commit:
        raise LabError(f"{text!r} names neither a known repository nor a commit")
    return SourceRef(repository, match["path"], match["lines"], commit, match["anchor"] or "")


@dataclass(frozen=True)
class Excerpt:
    """The cited lines as a checkout has them, or why there are none.

    `first` is the number of the first line shown; `remark` tells when the
    checkout is of another commit, or lines moved, or nothing could be read.
    """

    ref: SourceRef
    lines: tuple[str, ...]
    first: int
    remark: str


def sources_at_hand(environ: Mapping[str, str] | None = None) -> bool:
    """Whether the reader named a checkout."""
    names = os.environ if environ is None else environ
    return any(names.get(name) for name in ("LABKIT_OPS_NN", "LABKIT_CANN_SRC"))


def excerpt(ref: SourceRef, environ: Mapping[str, str] | None = None) -> Excerpt | None:
    """The lines of a reference from the reader's checkout; None when none is named for it.

    Never raises for what is wrong with a checkout: the remark says it.
    """
    names = os.environ if environ is None else environ
    root = _checkout(ref, names)
    if root is None:
        return None
    if not root.is_dir():
        return Excerpt(ref, (), ref.first, Text("there is no folder {folder}", folder=root))
    remark = _commit_remark(ref, root)
    try:
        lines = _read(root, ref.path)
    except (OSError, ValueError) as error:
        # What this module raised is a sentence of ours; the rest is the system's.
        reason = next((said for said in error.args if isinstance(said, Text)), str(error))
        unread = Text("{path} cannot be read: {reason}", path=ref.path, reason=reason)
        return Excerpt(ref, (), ref.first, parted((unread, remark)))
    first, last, moved = _find(ref, lines)
    if first > len(lines):
        short = Text("{path} has only {n} lines here", path=ref.path, n=len(lines))
        return Excerpt(ref, (), ref.first, parted((short, remark)))
    shown = lines[first - 1 : min(last, len(lines), first + _LONGEST - 1)]
    if len(shown) < min(last, len(lines)) - first + 1:
        cut = Text("the first {shown} of {all} lines", shown=_LONGEST, all=last - first + 1)
        moved = parted((moved, cut))
    return Excerpt(ref, tuple(shown), first, parted((moved, remark)))


def _checkout(ref: SourceRef, names: Mapping[str, str]) -> Path | None:
    """The folder that the reader named for the reference's repository."""
    home = ref.repository.rpartition("/")[2]
    if home == "ops-nn" and names.get("LABKIT_OPS_NN"):
        return Path(names["LABKIT_OPS_NN"]).expanduser()
    if names.get("LABKIT_CANN_SRC"):
        return Path(names["LABKIT_CANN_SRC"]).expanduser() / home
    return None


def _read(root: Path, path: str) -> list[str]:
    """The lines of a file inside the checkout; OSError or ValueError when it is none."""
    base = root.resolve()
    file = (base / path).resolve()
    if not file.is_relative_to(base):
        raise ValueError(Text("it lies outside the checkout"))
    if not file.is_file():
        raise ValueError(Text("there is no such file"))
    if file.stat().st_size > _LARGEST:
        raise ValueError(Text("it is too large for a source file"))
    data = file.read_bytes()
    if b"\0" in data[:4096]:
        raise ValueError(Text("it is no text"))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("gb18030", errors="replace")
    return [_printable(line) for line in text.splitlines()]


def _printable(line: str) -> str:
    """A line without characters that would steer a terminal."""
    return "".join(c if c.isprintable() else "\ufffd" for c in line.expandtabs(4)).rstrip()


def _find(ref: SourceRef, lines: list[str]) -> tuple[int, int, str]:
    """First and last line to show, and what to say when that is not where they were."""
    first, last = ref.first, ref.last
    if not ref.anchor or any(ref.anchor in line for line in lines[first - 1 : last]):
        return first, last, ""
    places = [number for number, line in enumerate(lines, 1) if ref.anchor in line]
    if not places:
        lost = Text(
            "{anchor} no longer stands in this file; lines as cited", anchor=repr(ref.anchor)
        )
        return first, last, lost
    # The anchor stands at the head of what is cited, so the range moves with it.
    nearest = min(places, key=lambda number: abs(number - first))
    start = max(1, nearest - (1 if last > first else 0))
    return start, start + last - first, Text("found again at line {number}", number=nearest)


def _commit_remark(ref: SourceRef, root: Path) -> str:
    commit = _head(root.resolve())
    if commit is None:
        return Text("the commit of this checkout is not known")
    if commit.startswith(ref.commit) or ref.commit.startswith(commit):
        return ""
    return Text(
        "this checkout is at {here}, the reference is of {cited}",
        here=commit[:8],
        cited=ref.commit[:8],
    )


def _head(root: Path) -> str | None:
    """The commit that is checked out, read from git's own files; None when there is none."""
    try:
        git = root / ".git"
        if git.is_file():
            git = (root / git.read_text(encoding="utf-8").partition(":")[2].strip()).resolve()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref:"):
            return head if re.fullmatch(r"[0-9a-f]{40,64}", head) else None
        name = head.partition(":")[2].strip()
        common = git / "commondir"
        shared = git / common.read_text(encoding="utf-8").strip() if common.is_file() else git
        for folder in (git, shared):
            if (folder / name).is_file():
                return (folder / name).read_text(encoding="utf-8").strip() or None
        for line in (shared / "packed-refs").read_text(encoding="utf-8").splitlines():
            commit, _, packed = line.partition(" ")
            if packed == name:
                return commit
    except (OSError, ValueError):
        return None
    return None
