"""A real signal to learn from, the windows it is cut into, and noise that is the same everywhere.

Used in notebook 10, "A real signal". Where the signal comes from and under
which licence: `labkit/data/signals/README.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.errors import LabValueError

__all__ = ["Signal", "cut", "ecg", "noise"]

Array = npt.NDArray[np.float64]

_FILE = Path(__file__).parents[1] / "data" / "signals" / "ecg.txt"
_ZERO, _PER_MILLIVOLT, _RATE = 1024, 200, 360


@dataclass(frozen=True, eq=False)
class Signal:
    """Samples with their unit, how many there are in a second, and where they come from."""

    values: Array
    unit: str
    rate: int
    source: str

    @property
    def seconds(self) -> float:
        """How long the signal lasts."""
        return self.values.size / self.rate


@cache
def ecg() -> Signal:
    """Twenty seconds of an electrocardiogram in millivolts, 360 samples a second, read-only.

    >>> ecg().values.size, ecg().unit
    (7200, 'mV')
    """
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    raw = " ".join(line for line in lines if not line.startswith("#")).split()
    values = (np.array(raw, np.float64) - _ZERO) / _PER_MILLIVOLT
    values.flags.writeable = False
    source = "MIT-BIH Arrhythmia Database, record 208, lead MLII, 22:15 to 22:35 (ODC-By 1.0)"
    return Signal(values, "mV", _RATE, source)


def cut(values: npt.ArrayLike, length: int) -> Array:
    """Windows of `length` samples, one after the other; what does not fill a window is left out.

    >>> cut([1, 2, 3, 4, 5], 2)
    array([[1., 2.],
           [3., 4.]])
    """
    samples: Any = np.asarray(values, np.float64)
    if samples.ndim != 1 or not 1 <= length <= samples.size:
        raise LabValueError(
            f"a window of {length} samples cannot be cut from an array of shape {samples.shape}"
        )
    count = samples.size // length
    windows: Array = samples[: count * length].reshape(count, length)
    return windows


def noise(shape: tuple[int, ...], rms: float, seed: int = 0) -> Array:
    """White noise of root mean square `rms` (nearly), the same on every machine.

    Made by NumPy's older generator: its stream is promised never to change,
    that of the newer one is not.
    """
    return rms * np.random.RandomState(seed).standard_normal(shape)
