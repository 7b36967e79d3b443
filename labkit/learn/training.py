"""Gradient descent, with a book kept of every unit: how often it fired at every step.

Used in notebook 10, "Life and death", and by the learning panel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.errors import LabValueError
from labkit.learn.coder import Operators, first_weights, matrix, slope
from labkit.op.asked import count, number

__all__ = ["Training", "train"]

Array = npt.NDArray[Any]

_MOST = 10**6
"""Steps: the weights of each are kept."""


@dataclass(frozen=True, eq=False)
class Training:
    """What became of a model.

    `errors`, `shares`, `fired` and `path` have an entry for every step, and
    one before the first: the error (root mean square over all samples), the
    share of the code that is not 0, for each unit the share of windows in
    which it fired, and the weights.
    """

    errors: Array
    shares: Array
    fired: Array
    path: Array

    @property
    def steps(self) -> int:
        """Steps that were made."""
        return len(self.errors) - 1

    @property
    def weights(self) -> Array:
        """The weights at the end, units × samples."""
        last: Array = self.path[-1]
        return last

    @property
    def alive(self) -> Array:
        """For each unit whether it fires in some window at the end."""
        live: Array = self.fired[-1] > 0
        return live

    def until(self, step: int) -> Training:
        """The same training, stopped after so many steps."""
        if count("step", step) > self.steps:
            raise LabValueError(f"step {step}; right would be 0 to {self.steps}")
        end = step + 1
        return Training(self.errors[:end], self.shares[:end], self.fired[:end], self.path[:end])

    def deaths(self) -> dict[int, int]:
        """The units that are dead at the end, with the step from which on they never fired.

        0 says that a unit never fired at all.
        """
        found = {}
        for unit in np.flatnonzero(~self.alive):
            last = np.flatnonzero(self.fired[:, unit] > 0)
            found[int(unit)] = int(last[-1]) + 1 if last.size else 0
        return found

    def returns(self) -> int:
        """How often a unit that was dead in one step fired in the next."""
        live = self.fired > 0
        return int(np.count_nonzero(live[1:] & ~live[:-1]))


def train(
    windows: Array,
    clean: Array,
    lambd: float,
    operators: Operators,
    *,
    units: int = 16,
    steps: int = 120,
    rate: float = 0.05,
    dtype: Any = np.float32,
    seed: int = 0,
) -> Training:
    """Learn `units` patterns that put `clean` together from `windows`, by plain gradient descent.

    Every step sees all windows, so nothing here is drawn by chance but the
    first patterns, and those are fixed by `seed`.
    """
    steps, rate = count("steps", steps), number("rate", rate)
    if steps > _MOST:
        raise LabValueError(f"steps is {steps}; right would be 0 to {_MOST:,}")
    if not 0 < rate < float("inf"):
        raise LabValueError(f"rate {rate}; right would be a finite number above 0")
    windows, clean = matrix("windows", windows), matrix("clean", clean)
    weights = first_weights(units, windows.shape[1], seed)
    errors, shares, fired, path = [], [], [], []
    for _ in range(steps + 1):
        now = slope(weights, windows, clean, lambd, operators, dtype)
        live = now.code != 0
        errors.append((2 * now.loss / windows.shape[1]) ** 0.5)
        shares.append(np.count_nonzero(live) / live.size)
        fired.append(np.count_nonzero(live, axis=0) / len(live))
        path.append(weights)
        weights = weights - rate * now.gradient
    return Training(np.array(errors), np.array(shares), np.array(fired), np.array(path))
