"""What the learning panel can be asked, and the trainings that answer it.

Every training is gradient descent from the same first patterns on the same
windows, so the one with 40 steps is the beginning of the one with 120. What
was computed is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.draw.learning_view import CurvePoint, LearningView
from labkit.errors import LabValueError
from labkit.explore.typed import read_count, read_dtype, read_number
from labkit.language import gettext as _
from labkit.learn import Training, cut, ecg, model, noise, slope, train
from labkit.op import lambd_as_compared
from labkit.op.scalar import as_scalar

__all__ = ["DTYPES", "MOST_STEPS", "LearningState", "changed", "look", "windows"]

DTYPES = ("float32", "float16")
MOST_STEPS = 120
LENGTH, UNITS, RATE, NOISE = 60, 16, 0.05, 0.15
"""Samples of a window, units, how far a step goes, and root mean square of the noise in mV."""

SHOWN = 12
"""Windows of the stretch that is drawn: two seconds."""

LAMBDAS = tuple(step / 4 for step in range(13))
"""Where the curves over λ have their points."""


@dataclass(frozen=True)
class LearningState:
    """What the panel was asked to show.

    `lambd` is the number, `typed` how it was written; `dtype` is that in which
    the operators run, `steps` how long the model learns.
    """

    lambd: float = 1.0
    typed: str = "1"
    dtype: str = "float32"
    steps: int = MOST_STEPS


def changed(state: LearningState, changes: dict[str, Any]) -> LearningState:
    """The state with what was typed or chosen; raises `LabValueError` where it cannot be."""
    wanted = dict(changes)
    if "lambd" in wanted:
        wanted["lambd"], wanted["typed"] = read_number(wanted["lambd"])
    elif "typed" in wanted:
        raise LabValueError(_("set lambd; what was typed follows from it"))
    if "dtype" in wanted:
        wanted["dtype"] = read_dtype("dtype", wanted["dtype"], DTYPES)
    if "steps" in wanted:
        wanted["steps"] = read_count("steps", wanted["steps"], f"0, 60 or {MOST_STEPS}")
        if wanted["steps"] > MOST_STEPS:
            told = _("steps is {steps}; this panel learns for 0 to {most} steps")
            raise LabValueError(told.format(steps=wanted["steps"], most=MOST_STEPS))
    return replace(state, **wanted)


@lru_cache(maxsize=1)
def windows() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The windows of the signal: as recorded, and with noise."""
    clean = cut(ecg().values, LENGTH)
    return clean, clean + noise(clean.shape, NOISE, seed=1)


@lru_cache(maxsize=32)
def training(bits: int, dtype: str) -> Training:
    """One training; λ as the bits of its float32, so that NaN is equal to itself."""
    clean, noisy = windows()
    return train(
        noisy,
        clean,
        _lambda(bits),
        model(),
        units=UNITS,
        steps=MOST_STEPS,
        rate=RATE,
        dtype=np.dtype(dtype),
    )


@lru_cache(maxsize=len(DTYPES))
def curve(dtype: str) -> tuple[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]], ...]:
    """Errors and shares, step by step, of the trainings at the points of the curves."""
    made = (training(_bits(lambd), dtype) for lambd in LAMBDAS)
    return tuple((one.errors, one.shares) for one in made)


def _bits(lambd: float) -> int:
    return int(np.asarray(as_scalar(lambd).to_float(), np.float32).view(np.uint32))


def _lambda(bits: int) -> float:
    return float(np.uint32(bits).view(np.float32))


def look(state: LearningState) -> LearningView:
    """Train for a state and tell what came of it; depends on nothing but the state."""
    clean, noisy = windows()
    bits = _bits(state.lambd)
    lambd = _lambda(bits)
    made = training(bits, state.dtype).until(state.steps)
    now = slope(made.weights, noisy, clean, lambd, model(), np.dtype(state.dtype))
    signal = ecg()
    used = max(lambd, 0.0) if lambd == lambd else lambd
    return LearningView(
        typed=state.typed,
        lambd=lambd,
        forward=used,
        backward=lambd_as_compared(state.dtype, state.lambd),
        dtype=state.dtype,
        unit=signal.unit,
        noise=NOISE,
        clean=clean[:SHOWN].reshape(-1),
        noisy=noisy[:SHOWN].reshape(-1),
        built=now.built[:SHOWN].reshape(-1),
        code=now.code[:SHOWN],
        fired=made.fired,
        died=made.deaths(),
        returns=made.returns(),
        error=float(made.errors[-1]),
        share=float(made.shares[-1]),
        total=now.code.size,
        curve=tuple(
            CurvePoint(at, float(errors[state.steps]), float(shares[state.steps]))
            for at, (errors, shares) in zip(LAMBDAS, curve(state.dtype))
        ),
    )
