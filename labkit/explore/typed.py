"""What is typed and chosen, read: numbers, counts, shapes, dtypes, chips, the words of a menu.

Every reader takes what people type and what code passes. What it cannot read
is a `LabValueError` that names the field and says what would be right.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

import numpy as np

from labkit.errors import LabValueError, shown
from labkit.language import gettext as _
from labkit.op import find_soc
from labkit.op.describe import element_count
from labkit.op.dtypes import data_type

__all__ = [
    "CHIPS",
    "OPERATORS",
    "SAME",
    "chosen",
    "read_chip",
    "read_complex",
    "read_count",
    "read_drawn_shape",
    "read_dtype",
    "read_number",
    "read_shape",
    "refuse_unknown",
    "shape_words",
    "text_of",
    "whole",
    "with_lambd",
]

Shape = tuple[int, ...]

CHIPS = (
    *("Ascend950PR_9599", "Ascend910B1", "Ascend910_9391"),
    *("Ascend910A", "Ascend310P3", "Ascend310B1"),
)
"""One chip of each family, for menus; any other of the table may be set by name."""

OPERATORS = ("backward", "forward")
SAME = "same as self"
"""The gradient's dtype where it is that of self."""

MOST_AXES = 25
"""As many axes as a shape of the framework holds (cann/metadef exe_graph/runtime/shape.h:25)."""

DRAWN_AXES = 12
"""As many axes as a picture has room for."""

_ABSURD = 10**40
"""Stands for all numbers above it: too many of whatever is counted, and still written out."""

_LONGEST = 24
"""What is typed longer than this has no room in a picture."""


# -- words of a menu -------------------------------------------------------------------


def chosen(name: str, value: Any, known: Iterable[str]) -> str:
    """The value, if it is one of those known.

    >>> chosen("operator", "forward", OPERATORS)
    'forward'
    """
    words = tuple(known)
    if not isinstance(value, str) or value not in words:
        raise LabValueError(
            _("{name} is {value}; right would be one of: {known}").format(
                name=name, value=shown(value), known="; ".join(words)
            )
        )
    return str(value)


def refuse_unknown(state: Any, changes: dict[str, Any]) -> None:
    """Raise `LabValueError` for a change of a field that a state does not have."""
    known = [item.name for item in fields(state)]
    unknown = [name for name in changes if name not in known]
    if unknown:
        raise LabValueError(
            _("no {unknown} here; this panel has {known}").format(
                unknown=", ".join(unknown), known=", ".join(known)
            )
        )


def read_dtype(name: str, value: Any, known: Iterable[str]) -> str:
    """A dtype by the word that a menu has for it; takes NumPy's dtypes and CANN's names too.

    >>> read_dtype("dtype", "ACL_FLOAT16", ("float32", "float16"))
    'float16'
    """
    words = tuple(known)
    if not (isinstance(value, str) and value in words):
        try:
            found = data_type(value)
            value = found.numpy_name or found.short
        except LabValueError:
            pass  # not among the choices either, and these are told
    return chosen(name, value, words)


def read_chip(value: Any) -> str:
    """The name of a chip, or of the one that stands for a family such as "910b"."""
    return find_soc(value).name


# -- numbers -----------------------------------------------------------------------------


def read_number(value: Any) -> tuple[float, str]:
    """λ as a number and how it is written; takes what people type: −1, 1e-8, nan, ∞.

    >>> read_number("−0.5"), read_number(0.25)
    ((-0.5, '−0.5'), (0.25, '0.25'))
    """
    if isinstance(value, str):
        written = value.strip()
        try:
            number = float(_plain(written))
        except ValueError:
            raise _no_number(written) from None
        return number, _as_written(written, number)
    return (number := _as_number(value, float)), repr(number)


def _as_number(value: Any, kind: Callable[[Any], Any]) -> Any:
    try:
        if isinstance(value, (np.ma.MaskedArray, bytes)):
            raise TypeError
        return kind(value)
    except Exception as error:  # of anybody's __float__, and OverflowError
        told = _("λ must be a number, not {value}").format(value=shown(value))
        raise LabValueError(told) from error


def with_lambd(changes: dict[str, Any]) -> dict[str, Any]:
    """Changes of a state with λ read: `lambd` is the number, `typed` how it was written.

    >>> with_lambd({"lambd": "−1", "dtype": "float16"})
    {'lambd': -1.0, 'dtype': 'float16', 'typed': '−1'}
    """
    wanted = dict(changes)
    if "lambd" in wanted:
        wanted["lambd"], wanted["typed"] = read_number(wanted["lambd"])
    elif "typed" in wanted:
        raise LabValueError(_("set lambd; what was typed follows from it"))
    return wanted


def read_complex(value: Any) -> tuple[complex, str]:
    """λ as `read_number` reads it, or a complex number such as 2+1j; real where it can be.

    >>> read_complex(" −0.5 "), read_complex(2 + 1j)
    ((-0.5, '−0.5'), ((2+1j), '2+1j'))
    """
    if not isinstance(value, str):
        number = _as_number(value, complex)
        return read_complex(repr(number if number.imag else number.real))
    written = value.strip().strip("()")
    plain = _plain(written)
    try:
        number = complex(float(plain)).real
    except ValueError:
        try:
            number = complex(f"{plain[:-1]}j" if plain.endswith("i") else plain)
        except ValueError:
            raise _no_number(written) from None
    return number, _as_written(written, number)


def _plain(written: str) -> str:
    return written.replace("−", "-").replace("∞", "inf")


def _as_written(written: str, number: complex) -> str:
    """What was typed, or the number anew where a picture has no room or no letters for it."""
    fits = _plain(written).isascii() and len(written) <= _LONGEST
    return written if fits else repr(number).strip("()")


def _no_number(written: str) -> LabValueError:
    told = _("λ is {written}, which is no number; right would be 0.3, −1, 1e-8, nan or inf")
    return LabValueError(told.format(written=repr(written[:40])))


_COUNT = re.compile(
    r"(?P<base>\d+)(?:(?:\^|\*\*)(?P<power>\d{1,3})|e\+?(?P<zeros>\d{1,3}))?", re.IGNORECASE
)


def whole(value: Any) -> int:
    """A whole number that code passes; -1 for what is none."""
    try:
        number = -1 if isinstance(value, (bool, np.bool_)) else int(operator.index(value))
    except Exception:  # of anybody's __index__
        return -1
    return min(number, _ABSURD) if number >= 0 else -1


def text_of(value: Any) -> str:
    """The value as text, whatever it does when it is written."""
    try:
        return str(value)
    except Exception:
        return shown(value)


def read_count(name: str, value: Any, such_as: str = "0, 1 or 2") -> int:
    """A whole number, 0 or more, as people type it: 4096, 4 096, 1_000_000, 2^20, 1e6.

    >>> read_count("total", "2^20"), read_count("total", "1 000")
    (1048576, 1000)
    """
    written = re.sub(r"[\s_,\u202f]", "", value) if isinstance(value, str) else ""
    found = _COUNT.fullmatch(written) if len(written) <= 20 and written.isascii() else None
    if found:
        base, power = int(found["base"]), int(found["power"] or 1)
        count = int(base**power) * int(10 ** int(found["zeros"] or 0))
    else:
        count = whole(value)
    if count >= 0:
        return min(count, _ABSURD)
    told = _("{name} is {value}; right would be a whole number such as {such_as}")
    raise LabValueError(told.format(name=name, value=shown(value), such_as=such_as))


# -- shapes ------------------------------------------------------------------------------


def read_shape(name: str, value: Any) -> Shape:
    """A shape; takes (4, 1), 4, "4, 1", "[4, 1]", "4x1", and "" or "()" for 0-d.

    >>> read_shape("self", "4 × 1"), read_shape("self", 3), read_shape("self", "")
    ((4, 1), (3,), ())
    """
    if isinstance(value, str):
        text = re.sub(r"^\((.*)\)$|^\[(.*)\]$", r"\1\2", value.strip())
        text = re.sub(r"\s*[,，、]?\s*$", "", text)  # behind the last size a comma may stand
        parts = re.split(r"\s*[,;x×*，、]\s*|\s+", text.strip()) if text else []
    elif isinstance(value, (list, tuple)):
        parts = [size if isinstance(size, str) else str(whole(size)) for size in value]
    else:
        parts = [str(whole(value))]
    sizes = [int(part) if re.fullmatch(r"[0-9]{1,13}", part) else -1 for part in parts]
    if len(sizes) > MOST_AXES or any(size < 0 for size in sizes):
        raise LabValueError(
            _(
                "{name} is {value}, which is no shape; right would be whole numbers "
                "such as 4, 1, or nothing for 0-d"
            ).format(name=name, value=shown(value))
        )
    return tuple(sizes)


def read_drawn_shape(name: str, value: Any) -> Shape:
    """A shape, as `read_shape` reads it, that a picture has room for."""
    shape = read_shape(name, value)
    if len(shape) > DRAWN_AXES or element_count([size or 1 for size in shape]) > 2**40:
        raise LabValueError(
            _("{name} is too large; right would be at most {axes} axes and 2^40 elements").format(
                name=name, axes=DRAWN_AXES
            )
        )
    return shape


def shape_words(shape: Shape) -> str:
    """A shape as a box shows it: the sizes of its axes, nothing for 0-d."""
    return ", ".join(map(str, shape))
