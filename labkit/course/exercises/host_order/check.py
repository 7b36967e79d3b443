"""Put the lines of a host program in order: judged by running that very order.

It runs on fresh software NPUs that catch what is undefined, on two chips and
with two layouts of the output, so that a workspace given back too early is
noticed: with a dense output no kernel looks at it.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

from labkit.cann.codes import name_of
from labkit.course.c_examples import forward_program
from labkit.course.c_machine import AROUND, CRun
from labkit.course.c_program import CLine, CProgram, c_line
from labkit.course.judge import Verdict, not_yet, passed, told
from labkit.errors import LabValueError
from labkit.host.device import Device
from labkit.language import gettext as _

NOTEBOOK = 2
KIND = "build"
CHIPS = ("Ascend950PR_9599", "Ascend910B1")
_LIMIT = 100


def given() -> tuple[CLine, ...]:
    """The lines that are to be put in order."""
    return tuple(line for line in forward_program().lines if line.name not in AROUND)


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a list of lines (or one text of lines); the device plays no part."""
    lines = _read(answer)
    if isinstance(lines, Verdict):
        return lines
    want, have = Counter(line.text for line in given()), Counter(line.text for line in lines)
    if want != have:
        missing, strange = list((want - have).elements()), list((have - want).elements())
        words = [_("missing: {line}").format(line=text) for text in missing[:1]]
        words += [
            _("once too often, or not of this program: {line}").format(line=text)
            for text in strange[:1]
        ]
        return not_yet(*words)
    for transposed in (False, True):
        whole = forward_program(transposed=transposed)
        right = whole.run(soc=CHIPS[0]).result
        for chip in CHIPS:
            run = _around(whole, lines).run(soc=chip)
            wrong = _wrong(run, right)
            if wrong:
                where = _("with a transposed out") if transposed else _("with a dense out")
                return not_yet(_("on {chip}, {where}:").format(chip=chip, where=where), *wrong)
    return passed(_("this order works: nothing is read too early, nothing is left behind"))


def _read(answer: Any) -> tuple[CLine, ...] | Verdict:
    """The lines of an answer, or why it is none."""
    try:
        texts = answer.strip().splitlines() if isinstance(answer, str) else islice(answer, _LIMIT)
        found = [text.strip().rstrip(",") for text in texts if text.strip()]
    except (TypeError, AttributeError):
        return not_yet(_("an answer is a list of lines, each a text"))
    except Exception as error:
        return told(error)
    try:
        return tuple(c_line(text) for text in found)
    except LabValueError as error:
        return not_yet(_(error.args[0]))


def _around(whole: CProgram, lines: tuple[CLine, ...]) -> CProgram:
    """The program that opens the device, runs these lines, and closes it."""
    first = [line for line in whole.lines[:3]]
    return CProgram((*first, *lines, *whole.lines[-3:]), whole.host, whole.output, whole.names)


def _wrong(run: CRun, right: Any) -> list[str]:
    """What betrays an order, a line each; nothing when it works."""
    failed = run.failed
    if failed is not None:
        said = failed.words or _("it returned {code} {name}").format(
            code=failed.status, name=name_of(failed.status or 0)
        )
        return [_("the first line that fails: {line}").format(line=failed.line), said]
    if run.result.tobytes() != right.tobytes():
        return [
            _("every call returned 0, but {name} is {values}").format(
                name=run.output, values=run.result_text
            )
        ]
    return [_("left behind: {leak}").format(leak=leak) for leak in run.leaks[:1]]
