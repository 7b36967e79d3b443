"""Write the C++ lines between phase 1 and the end: judged by building and running them.

They are run on three inputs that differ in the workspace which phase 1 asks
for: a little that no kernel looks at, 16 MiB that kernels use, and nothing at
all. The software NPU catches what is undefined and names what is left.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labkit.course.cpp_run import Build, Run, built
from labkit.course.judge import Verdict, not_yet, passed
from labkit.host.device import Device
from labkit.language import gettext as _

NOTEBOOK = 9
KIND = "build"
INPUTS = {"dense": "0 0 1 1", "mixed": " ".join(["0 0 1 1"] * 4), "empty": ""}
"""The inputs, and what the program is to print for each."""

_HOLE = "    // ---- your lines ----\n"
_LONGEST = 10_000
_SECONDS = 15


def frame() -> str:
    """The program with a hole in it."""
    return Path(__file__).with_name("frame.cpp").read_text(encoding="utf-8")


def shown() -> str:
    """The function with the hole, as a reader needs it."""
    text = frame()
    return text[text.index("static void compute(") : text.index("int main(")].rstrip()


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a text of C++ lines; they run on a software NPU, whatever the device."""
    if not isinstance(answer, str) or len(answer) > _LONGEST:
        return not_yet(_("an answer is a text of C++ lines"))
    before, after = frame().split(_HOLE)
    below = before.count("\n") + 2
    text = f'{before}#line 1 "my_lines"\n{answer.strip()}\n#line {below} "frame.cpp"\n{after}'
    build = built("frame", text, "sim")
    if not build.ok:
        return not_yet(*_not_built(build))
    for name, result in INPUTS.items():
        wrong = _wrong(build.run(name, seconds=_SECONDS), result)
        if wrong:
            return not_yet(_("on the {name} input:").format(name=name), *wrong)
    return passed(
        _("right on all {n} inputs, nothing is used too early, nothing is left").format(
            n=len(INPUTS)
        )
    )


def _not_built(build: Build) -> list[str]:
    if build.done is None:
        return [_("this exercise needs a C++ compiler"), build.why]
    said = build.done.errors.splitlines()
    first = next((line for line in said if "error" in line), said[0] if said else build.why)
    return [_("the compiler says:"), first]


def _wrong(run: Run, result: str) -> list[str]:
    """What betrays the lines, a line each; nothing when they work."""
    if run.errors:
        return [run.errors.splitlines()[0]]
    if run.code != 0:
        return [run.ending]
    if run.output.strip() != result:
        return [_("no code but 0, and it printed: {values}").format(values=run.output.strip())]
    return []
