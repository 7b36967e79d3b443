"""Exercises that check themselves: `check`, `hint`, `solution`.

An answer is judged by what the operator does and not by a stored result. What
it gets wrong is shown at the smallest input that betrays it.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import Any

from labkit.course.exercise import Exercise, exercise
from labkit.course.judge import Verdict
from labkit.course.progress import note, states
from labkit.host.device import Device
from labkit.language import gettext as _

__all__ = ["Page", "Verdict", "check", "hint", "solution"]

_HINTS: Counter[str] = Counter()


class Page:
    """Markdown to end a cell with; its repr is the same text."""

    def __init__(self, markdown: str) -> None:
        self.markdown = markdown

    def __repr__(self) -> str:
        return self.markdown

    def _repr_markdown_(self) -> str:
        return self.markdown


def check(name: str, answer: Any, device: Device | None = None) -> Verdict:
    """Try an answer to an exercise on a device (None: the default one).

    Raises `LabValueError` for an exercise that is not there; whatever the
    answer itself raises is part of the verdict.
    """
    asked = exercise(name)
    verdict: Verdict = asked.judge(answer, device)
    if verdict.passed or not _is_stub(asked):
        note(asked.name, "solved" if verdict.passed else "tried")
    return Verdict(verdict.passed, f"{asked.name}: {verdict.text}")


def _is_stub(asked: Exercise) -> bool:
    """Whether the cell that runs is the exercise's stub as it was given: that is no try yet."""
    shell: Any = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    cells = [] if shell is None else shell.user_ns.get("In") or []
    return bool(cells) and str(cells[-1]).strip() == asked.stub


def hint(name: str, number: int | None = None) -> Page:
    """A hint for an exercise: the next one, or hint `number` of three."""
    asked = exercise(name)
    hints = asked.hints()
    if number is None:
        _HINTS[asked.name] += 1
        number = _HINTS[asked.name]
    number = min(max(number, 1), len(hints))
    head = _("Hint {number} of {all}").format(number=number, all=len(hints))
    return Page(f"**{head}.** {hints[number - 1]}")


def solution(name: str) -> Page:
    """The solved cell and why it is right; shown once you have tried your own.

    LABKIT_SOLUTIONS=1 shows it at once: the instructor's switch.
    """
    asked = exercise(name)
    if asked.name not in states() and os.environ.get("LABKIT_SOLUTIONS") != "1":
        told = _("try your own answer first, then ask again")
        return Page(f"{asked.name}: {told}")
    return Page(f"```python\n{asked.solution}\n```\n\n{asked.explained()}")
