"""Find the place in a C++ program where something is not given back, and mend it there.

Judged by building and running the mended program: the software NPU names at
aclFinalize what was never destroyed, and at once what is destroyed twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from labkit.course.cpp_run import Run, built
from labkit.course.judge import Verdict, not_yet, passed
from labkit.host.device import Device
from labkit.language import gettext as _

NOTEBOOK = 9
KIND = "separate"
_LONGEST = 200
_SECONDS = 15


@cache
def leaky() -> str:
    """The program."""
    return Path(__file__).with_name("leak.cpp").read_text(encoding="utf-8")


def shown() -> str:
    """The function with the mistake, its lines numbered as in the file, and what a run tells."""
    lines = leaky().splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("static int countLive"))
    last = lines.index("}", first)
    listing = [f"{at + 1:3}  {lines[at]}".rstrip() for at in range(first, last + 1)]
    return "\n".join([*listing, "", repr(_run(leaky()))])


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a line number and a statement; it runs on a software NPU, whatever the device."""
    if not isinstance(answer, Mapping) or not {"after", "add"} <= {*answer}:
        return not_yet(_("an answer is a dict with these keys: {keys}").format(keys="after, add"))
    after, add = answer["after"], answer["add"]
    lines = leaky().splitlines()
    if isinstance(after, bool) or not isinstance(after, int) or not 0 < after <= len(lines):
        return not_yet(
            _("{key} must be the number of a line, 1 to {count}").format(
                key="after", count=len(lines)
            )
        )
    if not isinstance(add, str) or not add.strip() or len(add) > _LONGEST:
        return not_yet(_("{key} must be a C++ statement, as a text").format(key="add"))
    lines.insert(after, f'#line 1 "my_fix"\n{add.strip()}\n#line {after + 1} "leak.cpp"')
    build = built("leak", "\n".join(lines) + "\n", "sim")
    if build.done is None:
        return not_yet(_("this exercise needs a C++ compiler"), build.why)
    if not build.ok:
        said = build.done.errors.splitlines()
        first = next((line for line in said if "error" in line), repr(build))
        return not_yet(_("the compiler says:"), first)
    run, before = build.run(seconds=_SECONDS), _run(leaky())
    if run.errors or run.code != 0:
        return not_yet(run.errors.splitlines()[0] if run.errors else run.ending)
    if not any(call.name == "aclFinalize" for call in run.calls or ()):
        return not_yet(
            _("the program ends before aclFinalize, where the software NPU looks for what is left")
        )
    if run.output != before.output:
        return not_yet(_("nothing is left, but the program now prints something else"))
    return passed(_("nothing is left, and the program prints what it printed"))


def _run(text: str) -> Run:
    return built("leak", text, "sim").run(seconds=_SECONDS)
