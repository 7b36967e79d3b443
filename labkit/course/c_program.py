"""A host program as lines of C that can be read, left out, moved and run.

A line is one call of the C interface, as it stands in a C++ host program:

    aclrtMalloc(&gradAddr, 16, ACL_MEM_MALLOC_HUGE_FIRST)
    self = aclCreateTensor(selfDim, 2, ACL_FLOAT, selfStride, 0, ...)
    if (workspaceSize > 0) aclrtFree(workspace)

That is all the C there is: names, `&names`, whole numbers, the enumerators of
`cann.h`, `nullptr`. Every pointer starts as null and every number as 0, as in a
program whose author gave each variable a value. `c_machine` runs the lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from labkit.cann.interface import prototypes
from labkit.errors import LabValueError
from labkit.language import Text

if TYPE_CHECKING:
    from labkit.course.c_machine import CRun
    from labkit.host.device import Device

__all__ = ["CLine", "CProgram", "c_line"]

_LINE = re.compile(
    r"(?:if\s*\(\s*(?P<condition>\w+)\s*>\s*0\s*\)\s*)?"
    r"(?:(?P<result>\w+)\s*=\s*)?(?P<name>\w+)\s*\((?P<args>[^()]*)\)\s*;?"
)
_ARGUMENT = re.compile(r"&?[A-Za-z_]\w*|-?\d+")


@dataclass(frozen=True)
class CLine:
    """One call: `result` is the variable it is assigned to, `condition` the one that must be > 0.

    Both are empty where the line has none; `args` are as written.
    """

    text: str
    name: str
    args: tuple[str, ...]
    result: str = ""
    condition: str = ""

    @property
    def outs(self) -> tuple[str, ...]:
        """The variables that the call may give a value."""
        return tuple(arg[1:] for arg in self.args if arg.startswith("&")) + (
            (self.result,) if self.result else ()
        )

    def __str__(self) -> str:
        return self.text


def c_line(text: str) -> CLine:
    """Read one line; raises `LabValueError` for anything but one call of the C interface.

    >>> c_line("lambd = aclCreateScalar(&lambdValue, ACL_FLOAT)").args
    ('&lambdValue', 'ACL_FLOAT')
    """
    written = " ".join(str(text).split()).rstrip("; ")
    match = _LINE.fullmatch(written)
    if match is None:
        raise LabValueError(
            Text(
                "{line} is no line of the lab's C; right would be f(a, &b, 16)", line=repr(written)
            )
        )
    prototype = prototypes().get(match["name"])
    if prototype is None:
        raise LabValueError(
            Text("{name} is no C function that the lab's header declares", name=match["name"])
        )
    args = tuple(arg.strip() for arg in match["args"].split(",")) if match["args"].strip() else ()
    wrong = [arg for arg in args if not _ARGUMENT.fullmatch(arg)]
    if wrong:
        raise LabValueError(
            Text(
                "{part} in {line} is neither a name nor a whole number",
                part=repr(wrong[0]),
                line=repr(written),
            )
        )
    if len(args) != len(prototype.params):
        raise LabValueError(
            Text(
                "{line} has {n} arguments; right would be: {prototype}",
                line=repr(written),
                n=len(args),
                prototype=str(prototype),
            )
        )
    return CLine(written, match["name"], args, match["result"] or "", match["condition"] or "")


@dataclass(frozen=True)
class CProgram:
    """Lines of C, and the host memory that they work on.

    `host` maps variables to arrays in host memory (or to one number in an
    array of its own); a run works on copies. `output` is the one that a reader
    wants to see afterwards. `names` are all variables that the program
    declares, so that a line may be left out and its variable stays null.

    A line is named by any part of its text that no other line has.
    """

    lines: tuple[CLine, ...]
    host: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    output: str = ""
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, text: str, output: str = "", **host: npt.ArrayLike) -> CProgram:
        """A program from its text, a call per line, and its host memory by name."""
        lines = tuple(c_line(line) for line in text.strip().splitlines() if line.strip())
        names = frozenset(name for line in lines for name in line.outs)
        return cls(lines, {key: np.asarray(value) for key, value in host.items()}, output, names)

    # -- changing it -------------------------------------------------------------

    def find(self, words: str) -> int:
        """The place, from 0, of the one line that has `words` in it."""
        places = [place for place, line in enumerate(self.lines) if words in line.text]
        if len(places) != 1:
            found = "; ".join(self.lines[place].text for place in places) or "-"
            raise LabValueError(
                Text(
                    "{words} must be part of exactly one line of the program, not of: {found}",
                    words=repr(words),
                    found=found,
                )
            )
        return places[0]

    def without(self, *words: str) -> CProgram:
        """The program with these lines left out."""
        gone = {self.find(each) for each in words}
        return self._with(line for place, line in enumerate(self.lines) if place not in gone)

    def inserted(self, text: str, *, after: str) -> CProgram:
        """The program with one or several new lines after another."""
        place = self.find(after) + 1
        new = [c_line(line) for line in text.strip().splitlines()]
        return self._with([*self.lines[:place], *new, *self.lines[place:]])

    def moved(self, words: str, *, after: str) -> CProgram:
        """The program with one line moved behind another."""
        return self.without(words).inserted(self.lines[self.find(words)].text, after=after)

    def replaced(self, words: str, text: str) -> CProgram:
        """The program with one line written anew."""
        place = self.find(words)
        return self._with([*self.lines[:place], c_line(text), *self.lines[place + 1 :]])

    def upto(self, words: str) -> CProgram:
        """The program up to a line, that line included."""
        return self._with(self.lines[: self.find(words) + 1])

    def _with(self, lines: Any) -> CProgram:
        chosen = tuple(lines)
        new = frozenset(name for line in chosen for name in line.outs)
        return replace(self, lines=chosen, names=self.names | new)

    # -- reading and running it ----------------------------------------------------

    def run(
        self,
        device: Device | None = None,
        *,
        soc: str | None = "950",
        strict: bool = True,
        check: bool = True,
    ) -> CRun:
        """Run it: on a fresh software NPU, or on a device that is already open.

        On a device, the lines that open and close one are skipped. `soc` and
        `strict` are those of the software NPU. With `check` the program ends
        at the first code that is not 0; without it codes are ignored.
        """
        from labkit.course.c_machine import run_program

        return run_program(self, device, soc=soc, strict=strict, check=check)

    def __str__(self) -> str:
        return "\n".join(f"{place:2} {line}" for place, line in enumerate(self.lines, 1))

    def __repr__(self) -> str:
        return f"<CProgram of {len(self.lines)} lines>"
