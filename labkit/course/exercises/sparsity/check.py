"""Predict how sparse a code is and who can still learn: counts, and the units of a small code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from labkit.course.judge import Verdict, predicted
from labkit.host.device import Device
from labkit.learn import model

NOTEBOOK = 10
KIND = "predict"

NUMBERS = (-1.5, -0.75, -0.5, -0.3, -0.0, 0.25, 0.300048828125, 0.5, 0.75, float("nan"))
CODE = ((1.5, 0.5, -1.0, 0.25), (0.0, -0.5, 1.0, -2.0), (-0.75, 0.875, 0.5, 0.0))
"""What three windows gave four units."""

CASES = (("0.5", "float32"), ("0.3", "float16"), ("-1", "float32"))
UNITS = "units that can learn at λ = 1"


def truth() -> dict[str, Any]:
    """Every answer, asked of the model of the operators."""
    operators = model()
    found: dict[str, Any] = {}
    for written, dtype in CASES:
        u = np.array(NUMBERS, dtype)
        code = operators.forward(u, float(written))
        back = operators.backward(np.ones_like(u), u, float(written))
        where = f"at λ = {written.replace('-', '−')}, {dtype}"
        found[f"not 0 {where}"] = int(np.count_nonzero(code))
        found[f"get a gradient {where}"] = int(np.count_nonzero(back))
    u = np.array(CODE, np.float32)
    back = operators.backward(np.ones_like(u), u, 1.0)
    found[UNITS] = [int(unit) for unit in np.flatnonzero(back.any(axis=0))]
    return found


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a dict from question to number, and to the units as a list in any order."""
    if not isinstance(answer, Mapping):
        return predicted(answer, truth())
    return predicted({**answer, UNITS: _units(answer.get(UNITS))}, truth())


def _units(given: Any) -> Any:
    """Units in order, whatever they were collected in; what is no collection stays as it is."""
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes, Mapping)):
        return given
    sized = given if hasattr(given, "__len__") else ()  # a generator may never end
    try:
        return sorted(int(unit) for unit in sized)
    except Exception:  # whatever else was collected is no list of units
        return given
