"""Numbers that tell: the inputs on which answers about the mask are tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.course.judge import Array, Verdict, bits, not_yet, passed
from labkit.course.show import number
from labkit.host.device import Device
from labkit.language import gettext as _
from labkit.operators import hardshrink_backward

__all__ = ["GRADS", "LAMBDAS", "judge_twin", "lambda_words", "telling_numbers"]

LAMBDAS = (0.5, 0.0, 0.3, -0.3, float("inf"), float("nan"))
GRADS = (1.0, -2.0, 3.0, -0.0, np.inf, np.nan)
_TELLING = (1.0, 0.0, 0.5, -0.5, 0.25, -1.0, -0.0, 0.3, -0.3, np.nan, np.inf, -np.inf, 1e-45)
_SPREAD = 512


def telling_numbers() -> Array:
    """float32 numbers: the telling ones, the simplest first, their neighbours, and a spread.

    The spread takes bit patterns from all over float32: every sign, every kind
    of exponent, NaN among them; the same on each run.
    """
    steps = np.arange(1, _SPREAD + 1, dtype=np.uint64)
    spread: Array = (steps * np.uint64(2654435761)).astype(np.uint32).view(np.float32)
    with np.errstate(over="ignore"):
        telling = np.array(_TELLING, np.float32)
        ends = (np.nextafter(telling, np.float32(end)) for end in (np.inf, -np.inf))
        return np.concatenate([telling, *ends, spread])


def lambda_words(lambd: float) -> str:
    """How a λ is named beside an input.

    >>> lambda_words(-0.3)
    'λ = −0.3'
    """
    return f"λ = {number(lambd)}"


def judge_twin(answer: Any, twin: Callable[..., Any], device: Device | None) -> Verdict:
    """Judge a pair (grad, x) that is to tell a wrong twin from the device, at λ = 0.5."""
    try:
        grad, x = (np.array([float(value)], np.float32) for value in answer)
    except (TypeError, ValueError):
        return not_yet(_("an answer is a pair of numbers: (grad, x)"))
    result = hardshrink_backward(grad, x, lambd=0.5, device=device).grad_input
    assert result is not None
    with np.errstate(all="ignore"):
        other = np.asarray(twin(grad, x, 0.5), np.float32)
    lines = (
        _("the device gives {value}").format(value=number(result[0])),
        _("the twin gives {value}").format(value=number(other[0])),
    )
    if bits(result)[0] == bits(other)[0]:
        return not_yet(*lines, _("this input does not tell them apart"))
    return passed(_("betrayed"), *lines)
