"""Find a weight that learns for two steps and is then dead for good, judged by training it."""

from __future__ import annotations

from typing import Any

import numpy as np

from labkit.course.judge import Verdict, not_yet, passed
from labkit.course.show import number
from labkit.host.device import Device
from labkit.language import gettext as _
from labkit.learn import on_device

NOTEBOOK = 10
KIND = "separate"

LAMBD, TARGET, RATE = 0.5, 1.0, 1.5
_WANTED, _STEPS, _NEAR = 2, 40, 0.01
"""Steps to learn for, steps tried (a living weight comes twice as near with each), what is near."""


def path(start: float, device: Device | None) -> list[tuple[float, bool]]:
    """The weight before each step, and whether it got its gradient; by the device."""
    operators = on_device(device)
    w, found = np.array([start], np.float32), []
    for _step in range(_STEPS):
        error = operators.forward(w, LAMBD) - np.float32(TARGET)
        alive = bool(operators.backward(np.ones_like(w), w, LAMBD)[0])
        found.append((float(w[0]), alive))
        w = w - np.float32(RATE) * operators.backward(error, w, LAMBD)
    return found


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a number by what becomes of it."""
    try:
        with np.errstate(over="ignore"):
            start = float(np.float32(float(answer)))
    except Exception:  # whatever an answer is, it is not a number then
        start = float("nan")
    if not np.isfinite(start):
        return not_yet(_("an answer is one number, such as 0.75"))
    with np.errstate(over="ignore", invalid="ignore"):
        went = path(start, device)
    learned = next((at for at, (_w, alive) in enumerate(went) if not alive), _STEPS)
    shown = " → ".join(number(w) for w, _alive in went[: min(learned + 1, 6)])
    line = _("its way: {way}").format(way=shown + (" → …" if learned > 5 else ""))
    if learned == 0:
        return not_yet(_("it is dead from the start: its gradient is 0"), line)
    if learned == _STEPS and abs(went[-1][0] - TARGET) < _NEAR:
        return not_yet(_("it lives, and reaches the target"), line)
    if learned == _STEPS:
        told = _("it lives, and after {n} steps it is still far from the target")
        return not_yet(told.format(n=_STEPS), line)
    if learned != _WANTED:
        told = _("dead after {n}; right would be after {wanted} steps of learning")
        return not_yet(told.format(n=learned, wanted=_WANTED), line)
    return passed(_("dead after {n} steps, and it stays dead").format(n=learned), line)
