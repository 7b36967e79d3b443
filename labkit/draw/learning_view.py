"""What the learning picture shows, as data, and the same in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.draw.numbers import number_text, percent, short_dtype
from labkit.language import Text
from labkit.language import gettext as _

__all__ = ["CurvePoint", "LearningView", "learning_alt_text", "remark", "state_lines"]

QUESTION = Text("What does the dead zone do to learning?")
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class CurvePoint:
    """A training at another λ, after as many steps: its error, the share of its code not 0."""

    lambd: float
    error: float
    share: float


@dataclass(frozen=True, eq=False)
class LearningView:
    """One training, looked at after some of its steps.

    `typed` is λ as written, `forward` and `backward` the numbers with which
    the two kernels compare it in `dtype`. `clean`, `noisy` and `built` are a
    stretch of the signal in `unit`, `code` the code of its windows (windows ×
    units). `fired` has a line for each step and one before the first: the
    share of all windows in which each unit fired. `died` maps a unit that is
    dead at the end to the first step from which on it never fired.
    """

    typed: str
    lambd: float
    forward: float
    backward: float
    dtype: str
    unit: str
    noise: float
    clean: Array
    noisy: Array
    built: Array
    code: Array
    fired: Array
    died: dict[int, int]
    returns: int
    error: float
    share: float
    total: int
    curve: tuple[CurvePoint, ...]

    @property
    def steps(self) -> int:
        """Steps of learning made."""
        return len(self.fired) - 1

    @property
    def units(self) -> int:
        """Units in all."""
        return int(self.fired.shape[1])

    @property
    def alive(self) -> tuple[int, int]:
        """Units that fire in some window: before the first step, and now."""
        first, last = (int(np.count_nonzero(self.fired[at])) for at in (0, -1))
        return first, last

    @property
    def not_zero(self) -> int:
        """Numbers of the code that are not 0, over all windows."""
        return round(self.share * self.total)

    @property
    def best(self) -> CurvePoint:
        """The point of the curve with the smallest error; NaN counts as none."""
        return min(self.curve, key=lambda p: math.inf if math.isnan(p.error) else p.error)


def state_lines(view: LearningView) -> tuple[Text, Text]:
    """The two grey lines under the question."""
    lambd = Text("λ typed {typed}", typed=view.typed)
    if view.lambd < 0:
        lambd = Text("λ typed {typed} → used 0", typed=view.typed)
    how = Text("compared as {number}", number=number_text(view.forward))
    if view.forward != view.backward and not math.isnan(view.forward):
        how = Text(
            "compared forward as {forward}, backward as {backward}",
            forward=number_text(view.forward),
            backward=number_text(view.backward),
        )
    dtype = short_dtype(view.dtype)
    line = Text("{lambd} · {dtype} · {how}", lambd=lambd, dtype=dtype, how=how)
    descent = Text("{steps} steps of gradient descent", steps=view.steps)
    if view.steps == 1:
        descent = Text("1 step of gradient descent")
    return (
        line,
        Text(
            "{units} units, {descent} · computed by the operator model, "
            "bit for bit what the operators give",
            units=view.units,
            descent=descent,
        ),
    )


def remark(view: LearningView) -> Text | None:
    """What is worth a look in this state, in one short sentence."""
    first, last = view.alive
    if last == 0:
        return Text("every unit is dead: no gradient is left to bring one back")
    if view.returns:
        return Text("a unit came back: look at the steps")
    if view.error < view.noise:
        return Text("closer to the recording than the noisy signal is")
    if last < first:
        return Text("the dead did not come back: their gradient is 0")
    return None


def learning_alt_text(view: LearningView) -> str:
    """The picture in words, for those who do not see it."""
    first, last = view.alive
    note = remark(view)
    born = sorted(unit for unit, step in view.died.items() if step == 0)
    later = sorted((step, unit) for unit, step in view.died.items() if step)
    told = [
        _("{question} {state}.").format(
            question=_(QUESTION), state=_("; ").join(map(_, state_lines(view)))
        ),
        _("Error {error} {unit} (root mean square); the noise has {noise}.").format(
            error=_three(view.error), unit=view.unit, noise=_three(view.noise)
        ),
        _("{count} of {total} numbers of the code are not 0, that is {share}.").format(
            count=view.not_zero, total=view.total, share=percent(view.not_zero, view.total)
        ),
        _("Of {units} units {first} fire before the first step, {last} at the end.").format(
            units=view.units, first=first, last=last
        ),
    ]
    if born:
        told.append(_("Never fired: {units}.").format(units=_(", ").join(map(str, born))))
    if later:
        dead = _(", ").join(
            _("unit {unit} at step {step}").format(unit=unit, step=step) for step, unit in later
        )
        told.append(_("Died: {dead}.").format(dead=dead))
    told.append(_("Came back: {count}.").format(count=view.returns))
    if note is not None:
        told.append(_("Note: {remarks}.").format(remarks=_(note)))
    points = _("; ").join(
        _("λ {lambd}: error {error}, not 0 {share}").format(
            lambd=number_text(point.lambd),
            error=_three(point.error),
            share=f"{100 * point.share:.1f} %",
        )
        for point in view.curve
    )
    told.append(_("After as many steps at other λ: {points}.").format(points=points))
    return " ".join(told)


def _three(value: float) -> str:
    return f"{value:.3f}"
