"""Tensors and numbers as people type them on a command line."""

from __future__ import annotations

import json
import math
import os
import reprlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.errors import LabValueError
from labkit.language import gettext as _
from labkit.op.broadcast import BroadcastFault, broadcast_shapes
from labkit.op.dtypes import data_type

__all__ = ["number", "refuse_too_large", "tensor"]

_GIB = 1 << 30


def number(option: str, text: str) -> float:
    """A number, `nan` and `inf` included; `LabValueError` naming the option otherwise."""
    try:
        return float(text)
    except ValueError as error:
        raise LabValueError(
            _("{option} must be a number, not {text}").format(
                option=option, text=reprlib.repr(text)
            )
        ) from error


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
        name, _colon, shape = text.partition(":")
        return _ramp(option, name, shape)
    try:
        listed = json.loads(_json_numbers(text if text.startswith("[") else f"[{text}]"))
        _refuse_other_than_numbers(listed)
        values = np.asarray(listed, dtype=np.float64)
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise LabValueError(
            _(
                "{option}: {text} is no tensor; right would be numbers like '[[0.2, 0.5]]', "
                "dtype:shape like 'float16:4,1', or a .npy file"
            ).format(option=option, text=reprlib.repr(text))
        ) from error
    with np.errstate(all="ignore"):  # the nearest number of the dtype, as everywhere in NumPy
        return values.astype(data_type(dtype).numpy)


def _json_numbers(text: str) -> str:
    lowered = text.lower().replace("infinity", "inf").replace("nan", "NaN")
    return lowered.replace("inf", "Infinity")


def _refuse_other_than_numbers(listed: Any) -> None:
    """NumPy would take null for nan and read the text in quotes."""
    rest = [listed]
    while rest:
        item = rest.pop()
        if isinstance(item, list):
            rest += item
        elif not isinstance(item, (int, float)):
            raise ValueError(f"{item!r} is no number")


def _load(option: str, path: str) -> npt.NDArray[Any]:
    try:
        loaded = np.load(Path(path), allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        loaded.close()  # a zip of arrays, whatever its name
        why = _("it holds several arrays; right would be one")
    except Exception as error:  # bytes of anybody's: EOFError, SyntaxError, MemoryError, ...
        why = str(error).partition("\n")[0] or type(error).__name__
        if isinstance(error, OSError) and error.strerror:
            why = error.strerror
    raise LabValueError(
        _("{option}: {path} cannot be read as an array: {why}").format(
            option=option, path=path, why=why
        )
    )


def _ramp(option: str, name: str, shape: str) -> npt.NDArray[Any]:
    from labkit.explain.cli import whole_numbers

    kind = data_type(name).numpy
    try:
        sizes = whole_numbers(shape)
        if any(not 0 <= size < 2**63 for size in sizes):
            raise ValueError
    except ValueError as error:
        raise LabValueError(
            _("{option}: {shape} is no shape; right would be '4,1' (and nothing for 0-d)").format(
                option=option, shape=reprlib.repr(shape)
            )
        ) from error
    total = math.prod(sizes)
    _refuse(total * (8 + kind.itemsize))
    try:
        with np.errstate(all="ignore"):
            return np.linspace(-1, 1, total).reshape(sizes).astype(kind)
    except ValueError as error:  # more axes than NumPy has, or sizes that overflow beside a zero
        raise LabValueError(
            _(
                "{option}: NumPy holds no such array ({why}); `labkit explain` tells what CANN "
                "says of any shape"
            ).format(option=option, why=error)
        ) from error


def refuse_too_large(x: npt.NDArray[Any], grad: npt.NDArray[Any]) -> None:
    """Raise `LabValueError` where a call on two arrays cannot fit into this machine's memory.

    Three tensors are held twice, here and on the device. Linux would grant more
    than there is and end the process when it is used.
    """
    common = broadcast_shapes(x.shape, grad.shape)  # NumPy's own takes no more than 32 axes
    result = 0 if isinstance(common, BroadcastFault) else math.prod(common)  # CANN refuses a fault
    _refuse(2 * (x.nbytes + grad.nbytes + result * min(x.itemsize, grad.itemsize)))


def _refuse(need: int) -> None:
    there = _memory()
    if there is not None and need > there:
        raise LabValueError(
            _(
                "that needs {need} GiB of memory and {there} GiB are there; right would be smaller "
                "tensors, or `labkit explain`, which needs none"
            ).format(need=math.ceil(need / _GIB), there=there // _GIB)
        )


def _memory() -> int | None:
    """Bytes that this process could still get; None where the system does not tell."""
    found = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        sizes = {
            name: int(rest.split()[0])
            for name, _colon, rest in (line.partition(":") for line in lines)
        }
        found.append(1024 * (sizes["MemAvailable"] + sizes["SwapFree"]))
    except (OSError, ValueError, LookupError):
        try:
            found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        except (AttributeError, ValueError, OSError):
            return None
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            found.append(int(Path(limit).read_text(encoding="ascii")))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return min(found)
