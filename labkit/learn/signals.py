"""A real signal to learn from, the windows it is cut into, and noise that is the same everywhere.

Used in notebook 10, "A real signal". Where the signal comes from and under
which licence: `labkit/data/signals/README.md`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.errors import LabValueError, shown
from labkit.op.arrays import refuse_masked
from labkit.op.asked import count, instance, number

__all__ = ["Signal", "cut", "ecg", "noise"]

Array = npt.NDArray[np.float64]

_FILE = Path(__file__).parents[1] / "data" / "signals" / "ecg.txt"
_MOST = 2**28
"""More noise than that is a mistake."""

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
    row: Any = samples("values", values)
    length = count("length", length)
    if row.ndim != 1 or not 1 <= length <= row.size:
        raise LabValueError(
            f"a window of {shown(length)} samples cannot be cut from an array of shape {row.shape}"
        )
    rows = row.size // length
    windows: Array = row[: rows * length].reshape(rows, length)
    return windows


def noise(shape: tuple[int, ...], rms: float, seed: int = 0) -> Array:
    """White noise of root mean square `rms` (nearly), the same on every machine.

    Made by NumPy's older generator: its stream is promised never to change,
    that of the newer one is not.
    """
    sizes = [count("a size of shape", n) for n in instance("shape", shape, tuple, "a tuple")]
    if count("seed", seed) >= 2**32 or math.prod(sizes) > _MOST or len(sizes) > 32:
        raise LabValueError(
            f"seed {shown(seed)} and shape {shown(shape)}; right would be a seed below 2^32 and at "
            f"most {_MOST:,} samples"
        )
    return number("rms", rms) * np.random.RandomState(seed).standard_normal(sizes)


def samples(name: str, values: Any) -> Array:
    """Numbers as float64; raises `LabValueError` for what is none."""
    refuse_masked(name, values)
    try:
        if isinstance(values, Sequence) and len(values) > _MOST:
            raise ValueError(f"more than {_MOST:,} samples")
        return np.asarray(values, np.float64)
    except Exception as error:  # of anybody's __array__ and __float__
        raise LabValueError(
            f"{name} is {shown(values)}; right would be numbers, or an array of NumPy"
        ) from error
