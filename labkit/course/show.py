"""Printing for notebooks: fixed widths and a fixed order, so that outputs can be compared.

A checked cell prints through here. What it prints is the same on the software
NPU and on hardware: no addresses, no times, no device.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.draw.html import show as picture
from labkit.draw.numbers import bits_text, number_text
from labkit.draw.road import Station

__all__ = ["bits", "mask_rows", "number", "picture", "row", "stations", "table"]


def number(value: Any) -> str:
    """A number with nine significant digits; zeros carry their sign.

    >>> number(0.25), number(-0.0), number(0.0), number(float("nan"))
    ('0.25', '−0', '+0', 'nan')
    """
    text = number_text(float(value))
    return "+0" if text == "0" else text


def bits(value: Any) -> str:
    """The bits of a NumPy number: sign, exponent, fraction.

    >>> bits(np.float16(0.3))
    '0 01101 0011001101'
    """
    return bits_text(value)


def row(values: npt.ArrayLike) -> str:
    """The numbers of an array on one line, each as `number` writes it.

    >>> row(np.array([1.0, -0.0, np.inf], np.float32))
    '1  −0  inf'
    """
    return "  ".join(number(value) for value in np.asarray(values).reshape(-1))


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table in plain text, columns as wide as their widest entry.

    Floats are written by `number`, booleans as yes and no, all else by `str`.

    >>> print(table(["x", "passes"], [[0.5, False], [-0.75, True]]))
    x      passes
    -----  ------
    0.5    no
    −0.75  yes
    """
    lines = [[str(title) for title in head], *([_cell(value) for value in line] for line in rows)]
    widths = [max(_columns(line[column]) for line in lines) for column in range(len(head))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(
            text + " " * (width - _columns(text)) for text, width in zip(line, widths)
        ).rstrip()
        for line in lines
    )


def _columns(text: str) -> int:
    """The columns that a text takes where letters have one width: Chinese takes two each."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _cell(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)) or type(value).__module__ == "ml_dtypes":
        return number(value)
    return str(value)


def mask_rows(live: npt.ArrayLike) -> str:
    """A mask as rows of 1 (gets its gradient) and 0 (does not); one line per row.

    >>> print(mask_rows([[True, False], [False, False]]))
    1 0
    0 0
    """
    mask = np.atleast_2d(np.asarray(live)).astype(bool)
    return "\n".join(" ".join("1" if cell else "0" for cell in line) for line in mask)


def stations(road: Iterable[Station]) -> str:
    """The stations of a road with their C calls, one numbered line each."""
    rows = []
    for place, station in enumerate(road, 1):
        calls = ", ".join(f"{n} ×{count}" if count > 1 else n for n, count in station.calls)
        rows.append([place, station.name, station.purpose, calls or "-"])
    return table(["", "station", "what for", "C calls"], rows)
