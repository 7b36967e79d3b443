"""Name the line that was left out, from what such a program shows.

A program is known by its symptom: the first call that fails, the numbers on the
host, what is left at the end. The answer is right if leaving that line out
shows the same, so where two lines have one symptom both are right.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from labkit.cann.codes import name_of
from labkit.course.c_examples import backward_program
from labkit.course.c_program import CProgram
from labkit.course.judge import Verdict, not_yet, passed
from labkit.host.device import Device
from labkit.language import gettext as _
from labkit.language import language

NOTEBOOK = 2
KIND = "separate"
LEFT_OUT = {
    "A": "aclrtMemcpy(outHost",
    "B": "aclrtSynchronizeStream",
    "C": "aclrtMemcpy(selfAddr",
    "D": "aclrtSetDevice",
    "E": "aclnnHardshrinkBackward(workspace",
    "F": "aclrtMalloc(&workspace",
}


def symptoms() -> str:
    """What the six programs show, a paragraph each."""
    program = backward_program()
    return "\n".join(
        f"{letter}  " + "\n   ".join(symptom(program.find(words)))
        for letter, words in LEFT_OUT.items()
    )


def symptom(place: int) -> tuple[str, ...]:
    """What the program without one line shows on a device that lets pass what is undefined."""
    return _told(place, language())


@lru_cache(maxsize=128)
def _told(place: int, chosen: str) -> tuple[str, ...]:
    program = backward_program()
    lines = tuple(line for at, line in enumerate(program.lines) if at != place)
    run = CProgram(lines, program.host, program.output, program.names).run(strict=False)
    told = [f"outHost: {run.result_text}"]
    failed = run.failed
    if failed is not None:
        code = f"{failed.status} {name_of(failed.status or 0)}"
        return _("{call} returned {code}").format(call=failed.line.name, code=code), *told
    left = (_("left: {leak}").format(leak=leak) for leak in run.leaks)
    return _("every call returned 0"), *told, *left


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a dict from letters to line numbers; the device plays no part."""
    if not isinstance(answer, Mapping):
        keys = ", ".join(LEFT_OUT)
        return not_yet(_("an answer is a dict with these keys: {keys}").format(keys=keys))
    program = backward_program()
    count = len(program.lines)
    right, wrong, missing = 0, "", []
    for letter, words in LEFT_OUT.items():
        number = answer.get(letter)
        if number is None:
            missing.append(letter)
        elif isinstance(number, bool) or not isinstance(number, int) or not 0 < number <= count:
            wrong = wrong or _("{letter} must be the number of a line, 1 to {count}").format(
                letter=letter, count=count
            )
        elif symptom(number - 1) == symptom(program.find(words)):
            right += 1
        elif not wrong:
            seen = _("; ").join(symptom(number - 1))
            wrong = _("{letter} is not line {number}: without that one, {seen}").format(
                letter=letter, number=number, seen=seen
            )
    score = _("{right} of {all} programs are explained").format(right=right, all=len(LEFT_OUT))
    if right == len(LEFT_OUT):
        return passed(score)
    lines = [score, *([wrong] if wrong else [])]
    if missing:
        lines.append(_("still open: {keys}").format(keys=", ".join(missing)))
    return not_yet(*lines)
