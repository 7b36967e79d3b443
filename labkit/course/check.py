"""Exercises that check themselves, against the device and not against a formula.

An answer is tried on chosen inputs, the telling ones first, and then on bit
patterns spread over all of float32. What it gets wrong is shown at the
smallest input that betrays it: a single element, the simplest one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.course import answers
from labkit.course.show import number
from labkit.errors import LabValueError
from labkit.host.device import Device
from labkit.operators import hardshrink_backward

__all__ = ["Verdict", "check", "exercises", "solution"]

Array = npt.NDArray[Any]

_LAMBDAS = (0.5, 0.0, 0.3, -0.3, float("inf"), float("nan"))
_TELLING = (1.0, 0.0, 0.5, -0.5, 0.25, -1.0, -0.0, 0.3, -0.3, np.nan, np.inf, -np.inf, 1e-45)
_GRADS = (1.0, -2.0, 3.0, -0.0, np.inf, np.nan)
_SPREAD = 512

_TRIED: set[str] = set()


@dataclass(frozen=True)
class Verdict:
    """What a check found; its repr is what a cell shows."""

    passed: bool
    text: str

    def __repr__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return self.passed


@dataclass(frozen=True)
class _Exercise:
    judge: Callable[[Any, Device | None], Verdict]
    solved: Any


def exercises() -> tuple[str, ...]:
    """The names of the exercises."""
    return tuple(_EXERCISES)


def check(name: str, answer: Any, device: Device | None = None) -> Verdict:
    """Try an answer to an exercise on a device (None: the default one).

    Raises `LabValueError` for an exercise that is not there.
    """
    exercise = _exercise(name)
    _TRIED.add(name)
    return exercise.judge(answer, device)


def solution(name: str) -> Verdict:
    """An answer that passes, with its reason; shown once you have tried your own."""
    exercise = _exercise(name)
    if name not in _TRIED:
        return Verdict(False, f"{name}: try your own answer first, then ask again")
    if callable(exercise.solved):
        return Verdict(True, inspect.getsource(exercise.solved).rstrip())
    return Verdict(True, f"{exercise.solved[0]}\n{exercise.solved[1]}")


def _exercise(name: str) -> _Exercise:
    if name not in _EXERCISES:
        raise LabValueError(f"no exercise {name!r}; there are {', '.join(_EXERCISES)}")
    return _EXERCISES[name]


# -- functions to build ------------------------------------------------------------


def _spread() -> Array:
    """Bit patterns all over float32: every sign, exponent and NaN, the same on each run."""
    steps = np.arange(1, _SPREAD + 1, dtype=np.uint64)
    patterns: Array = (steps * np.uint64(2654435761)).astype(np.uint32)
    return patterns


def _numbers() -> Array:
    """The telling numbers, their neighbours on both sides, and the spread."""
    with np.errstate(over="ignore"):
        telling = np.array(_TELLING, np.float32)
        ends = (np.nextafter(telling, np.float32(end)) for end in (np.inf, -np.inf))
        return np.concatenate([telling, *ends, _spread().view(np.float32)])


def _judge_mask(answer: Any, device: Device | None) -> Verdict:
    def right(_: Array, x: Array, lambd: float) -> Array:
        result = hardshrink_backward(np.ones_like(x), x, lambd=lambd, device=device).grad_input
        assert result is not None
        return np.not_equal(result, 0)

    def asked(_: Array, x: Array, lambd: float) -> Any:
        return answer(x, lambd)

    return _try("mask", asked, right, (1.0,), lambda value: "yes" if value else "no", bool)


def _judge_backward(answer: Any, device: Device | None) -> Verdict:
    def right(grad: Array, x: Array, lambd: float) -> Array:
        result: Array | None = hardshrink_backward(grad, x, lambd=lambd, device=device).grad_input
        assert result is not None
        return result

    return _try("backward", answer, right, _GRADS, number, np.float32)


def _try(
    name: str,
    answer: Callable[..., Any],
    right: Callable[[Array, Array, float], Array],
    grads: tuple[float, ...],
    write: Callable[[Any], str],
    kind: Any,
) -> Verdict:
    """Compare two functions of (grad, x, λ) element by element, bit by bit."""
    x = _numbers()
    tried = 0
    for lambd in _LAMBDAS:
        for gradient in grads:
            grad = np.full(x.shape, gradient, np.float32)
            want = right(grad, x, lambd)
            try:
                with np.errstate(all="ignore"):
                    got = np.asarray(answer(grad.copy(), x.copy(), lambd))
            except Exception as error:
                return _not_yet(name, [f"it raised {type(error).__name__}: {error}"])
            if got.shape != want.shape or got.dtype != np.dtype(kind):
                have, need = f"{got.dtype} {got.shape}", f"{np.dtype(kind)} {want.shape}"
                return _not_yet(name, [f"it gave {have} where {need} was asked for"])
            wrong = np.flatnonzero(_bits(got) != _bits(want))
            tried += x.size
            if wrong.size:
                at = int(wrong[0])
                given = f"x = {number(x[at])}, λ = {number(lambd)}"
                if len(grads) > 1:
                    given = f"grad = {number(gradient)}, {given}"
                return _not_yet(
                    name,
                    [
                        f"the smallest input that betrays it: {given}",
                        f"the device says {write(want[at])}",
                        f"your answer says {write(got[at])}",
                    ],
                )
    return Verdict(True, f"{name}: right, on all {tried} inputs tried, bit for bit")


def _bits(values: Array) -> Array:
    return values.view(f"u{values.itemsize}")


def _not_yet(name: str, lines: list[str]) -> Verdict:
    return Verdict(False, "\n".join([f"{name}: not yet", *(f"  {line}" for line in lines)]))


# -- wrong twins to betray -----------------------------------------------------------


def _judge_twin(name: str, twin: Callable[..., Any]) -> Callable[[Any, Device | None], Verdict]:
    def judge(answer: Any, device: Device | None) -> Verdict:
        try:
            grad, x = (np.array([float(value)], np.float32) for value in answer)
        except (TypeError, ValueError):
            return _not_yet(name, ["an answer is a pair of numbers: (grad, x)"])
        result = hardshrink_backward(grad, x, lambd=0.5, device=device).grad_input
        assert result is not None
        with np.errstate(all="ignore"):
            other = np.asarray(twin(grad, x, 0.5), np.float32)
        told = [f"the device gives {number(result[0])}", f"the twin gives   {number(other[0])}"]
        if _bits(result)[0] == _bits(other)[0]:
            return _not_yet(name, [*told, "this input does not tell them apart"])
        return Verdict(True, "\n".join([f"{name}: betrayed", *(f"  {line}" for line in told)]))

    return judge


_EXERCISES = {
    "mask": _Exercise(_judge_mask, answers.mask),
    "backward": _Exercise(_judge_backward, answers.backward),
    "twin of mask": _Exercise(
        _judge_twin("twin of mask", answers.strict_twin), answers.STRICT_ANSWER
    ),
    "twin of select": _Exercise(
        _judge_twin("twin of select", answers.multiplying_twin), answers.MULTIPLYING_ANSWER
    ),
}
