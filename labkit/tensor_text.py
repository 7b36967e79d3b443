"""Tensors and numbers as people type them on a command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.errors import LabValueError
from labkit.op.dtypes import data_type

__all__ = ["number", "tensor"]


def number(option: str, text: str) -> float:
    """A number, `nan` and `inf` included; `LabValueError` naming the option otherwise."""
    try:
        return float(text)
    except ValueError as error:
        raise LabValueError(f"{option} must be a number, not {text!r}") from error


def tensor(option: str, text: str, dtype: str) -> npt.NDArray[Any]:
    """The array that a text means.

    Numbers (`[[0.2, 0.5], [0.6, -1]]`, `0.2,0.5`, `nan`) take `dtype`;
    `float16:4,1` is a ramp from -1 to 1 of that dtype and shape (`float32:`
    is 0-d); a path that ends in .npy is loaded as it is.
    """
    text = text.strip()
    if text.endswith(".npy"):
        return _load(option, text)
    if ":" in text and not text.startswith("["):
        name, _, shape = text.partition(":")
        return _ramp(option, name, shape)
    try:
        listed = json.loads(_json_numbers(text if text.startswith("[") else f"[{text}]"))
        values = np.asarray(listed, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise LabValueError(
            f"{option}: {text!r} is no tensor; right would be numbers like '[[0.2, 0.5]]', "
            "dtype:shape like 'float16:4,1', or a .npy file"
        ) from error
    with np.errstate(over="ignore"):
        return values.astype(data_type(dtype).numpy)


def _json_numbers(text: str) -> str:
    lowered = text.lower().replace("infinity", "inf").replace("nan", "NaN")
    return lowered.replace("inf", "Infinity")


def _load(option: str, path: str) -> npt.NDArray[Any]:
    try:
        loaded: npt.NDArray[Any] = np.load(Path(path), allow_pickle=False)
    except (OSError, ValueError) as error:
        raise LabValueError(f"{option}: {path} cannot be read as an array: {error}") from error
    return loaded


def _ramp(option: str, name: str, shape: str) -> npt.NDArray[Any]:
    from labkit.explain.cli import whole_numbers

    try:
        sizes = whole_numbers(shape)
        if any(size < 0 for size in sizes):
            raise ValueError
    except ValueError as error:
        raise LabValueError(
            f"{option}: {shape!r} is no shape; right would be '4,1' (and nothing for 0-d)"
        ) from error
    total = int(np.prod(sizes, dtype=np.int64))
    return np.linspace(-1, 1, total).reshape(sizes).astype(data_type(name).numpy)
