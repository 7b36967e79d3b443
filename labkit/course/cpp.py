"""The C++ host programs of notebook 09: read in pieces, changed, built and run from a cell.

    program = cpp.program("hardshrink_backward")
    program.show("Tensor")
    program.replace("lambd = 1.0f", "lambd = 2.0f").run()

The program lies in a file of the learner's: in the folder `cpp` of a copied
course, else in a temporary folder. It is read whenever `cpp.program` is called,
so what is changed there in an editor counts, and a changed program is a new
value: running a cell twice changes nothing twice. `save` writes one to the file.

What goes wrong (no compiler, a line that does not compile, a program that
falls) is no Python error but is in what comes back, and is shown by it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from labkit.cann.interface import prototypes
from labkit.course.check import Page
from labkit.course.copy import course_above
from labkit.course.cpp_calls import SideBySide, beside
from labkit.course.cpp_run import Build, Run, built
from labkit.course.cpp_tools import RUN_SECONDS, workshop
from labkit.errors import LabValueError
from labkit.language import Text
from labkit.language import gettext as _

__all__ = ["Build", "CppProgram", "Piece", "Run", "SideBySide", "beside", "program", "reset"]

_DATA = Path(__file__).resolve().parents[1] / "data" / "cpp"
_COMMENT = re.compile(r"//[^\n]*")
_GAP = re.compile(r"\n\n+(?!\s|\}|public:|private:|protected:)")
_WORD = re.compile(r"\b(?:acl\w+)(?=\()")
_NAME = re.compile(r"^(?:class|struct)\s+(\w+)|^[\w:<>*& ]*?\b(\w+)\(", re.MULTILINE)


def program(name: str) -> CppProgram:
    """The learner's program of that name; the lab's own text until it is changed.

    Raises `LabValueError` for a name that the lab has no program of.
    """
    path = _file(name)
    if not path.is_file():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_given(name), encoding="utf-8")
        except OSError:  # a course on a read-only disk
            path = Path(workshop(), path.name)
            path.write_text(_given(name), encoding="utf-8")
    return CppProgram(path.stem, path.read_text(encoding="utf-8"), path)


def reset(name: str) -> CppProgram:
    """The program as the lab gives it, which also becomes the learner's again."""
    return replace(program(name), text=_given(name)).save()


def _given(name: str) -> str:
    path = _DATA / f"{name}.cpp"
    known = sorted(each.stem for each in _DATA.glob("*.cpp"))
    if name not in known:
        raise LabValueError(f"no C++ program {name!r}; there are {', '.join(known)}")
    return path.read_text(encoding="utf-8")


def _file(name: str) -> Path:
    _given(name)
    course = course_above()
    return Path(workshop() if course is None else course / "cpp", f"{name}.cpp")


@dataclass(frozen=True)
class Piece:
    """A part of a program that stands by itself: a class or a function.

    `first` and `last` are its lines, from 1; `calls` the C functions named in
    it, each with how often.
    """

    name: str
    text: str
    first: int

    @property
    def last(self) -> int:
        """The number of its last line."""
        return self.first + self.text.count("\n")

    @property
    def calls(self) -> dict[str, int]:
        """The C functions named in it, with how often, in the order of their first use."""
        found = _WORD.findall(_COMMENT.sub("", self.text))
        return dict(Counter(name for name in found if name in prototypes()))


@dataclass(frozen=True)
class CppProgram:
    """The text of a C++ program; each change gives a new one, and the file only changes by `save`.

    `path` is the learner's file.
    """

    name: str
    text: str
    path: Path = field(repr=False, compare=False)

    # -- reading -----------------------------------------------------------------

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Its parts: what empty lines set off before a line that is not indented."""
        found, end = [], 0
        for text in _GAP.split(self.text.rstrip("\n")):
            start = self.text.index(text, end)
            end = start + len(text)
            names = _NAME.search(_COMMENT.sub("", text))
            if names:
                first = self.text.count("\n", 0, start) + 1
                found.append(Piece(names[1] or names[2], text, first))
        return tuple(found)

    def piece(self, name: str) -> Piece:
        """The part of that name; raises `LabValueError`."""
        for piece in self.pieces:
            if piece.name == name:
                return piece
        known = ", ".join(piece.name for piece in self.pieces)
        raise LabValueError(f"{self.name} has no part {name!r}; there are {known}")

    def show(self, name: str) -> Page:
        """A part of the program to end a cell with."""
        piece = self.piece(name)
        calls = [f"`{call}`" + (f" ×{n}" if n > 1 else "") for call, n in piece.calls.items()]
        told = _("lines {first} to {last}, C functions: {calls}").format(
            first=piece.first, last=piece.last, calls=", ".join(calls) or "-"
        )
        return Page(f"```c++\n{piece.text}\n```\n{told}")

    @property
    def where(self) -> str:
        """Where the learner's file lies, in words."""
        if course_above() is not None:
            return _("cpp/{name} in the folder of your course").format(name=self.path.name)
        return _("{name} in a temporary folder, which goes when this kernel stops").format(
            name=self.path.name
        )

    # -- changing ----------------------------------------------------------------

    def replace(self, old: str, new: str) -> CppProgram:
        """The program with another text at one place; `old` must stand in it exactly once."""
        self._once(old)
        return replace(self, text=self.text.replace(old, new))

    def without(self, words: str) -> CppProgram:
        """The program without the line that holds `words`."""
        return self._lines(words, lambda line: [])

    def inserted(self, code: str, *, after: str) -> CppProgram:
        """The program with lines put behind the one that holds `after`, indented like it."""

        def put(line: str) -> list[str]:
            indent = line[: len(line) - len(line.lstrip())]
            return [line, *(indent + each.strip() for each in code.strip().splitlines())]

        return self._lines(after, put)

    def _lines(self, words: str, change: Callable[[str], list[str]]) -> CppProgram:
        self._once(words)
        lines = self.text.split("\n")
        changed = [each for line in lines for each in (change(line) if words in line else [line])]
        return replace(self, text="\n".join(changed))

    def _once(self, words: str) -> None:
        if not isinstance(words, str):
            raise LabValueError(Text("{words} is no text of the program", words=repr(words)))
        count = self.text.count(words)
        if not words.strip() or "\n" in words or count != 1:
            raise LabValueError(
                Text(
                    "{words} stands in {name} {count} times; right would be part of one line that "
                    'stands there once. cpp.reset("{name}") brings the lab\'s text back',
                    words=repr(words),
                    name=self.name,
                    count=count,
                )
            )

    def save(self) -> CppProgram:
        """Make this the learner's program: write it to the file."""
        self.path.write_text(self.text, encoding="utf-8")
        return self

    # -- building and running ------------------------------------------------------

    def build(self, on: str | None = None) -> Build:
        """Compile and link it, for the device that the notebooks run on or for `on` (npu, sim)."""
        return built(self.name, self.text, on)

    def run(
        self,
        on: str | None = None,
        *,
        strict: bool = True,
        soc: str = "",
        seconds: float = RUN_SECONDS,
    ) -> Run:
        """Build it if that has not been done, and run it for at most so many seconds.

        `strict` and `soc` concern the software NPU: whether it catches what is
        undefined, and which chip it plays.
        """
        return self.build(on).run(strict=strict, soc=soc, seconds=seconds)
