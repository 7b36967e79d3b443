"""What the mask panel can be asked: its state, and what may be typed and chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from labkit.errors import LabValueError
from labkit.language import gettext as _
from labkit.op.dtypes import data_type

__all__ = ["DTYPES", "GRAD_DTYPES", "SHAPES", "MaskState", "changed", "read_number"]

DTYPES = ("float32", "float16", "bfloat16")
GRAD_DTYPES = ("same as self", *DTYPES)
SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "(8, 8)": ((8, 8), (8, 8)),
    "(64, 64)": ((64, 64), (64, 64)),
    "(256, 256)": ((256, 256), (256, 256)),
    "grad (64, 1), self (64, 64)": ((64, 1), (64, 64)),
    "grad (64, 64), self (1, 64)": ((64, 64), (1, 64)),
    "grad (2, 3), self (4,)": ((2, 3), (4,)),
}
"""Shapes of grad and self by the words of the menu. The last pair does not broadcast."""


@dataclass(frozen=True)
class MaskState:
    """What the panel was asked to show.

    `lambd` is the number, `typed` how it was written; `dtype` that of self;
    `grad_dtype` one of `GRAD_DTYPES`, `shape` a key of `SHAPES`.
    """

    lambd: float = 0.5
    typed: str = "0.5"
    dtype: str = "float32"
    grad_dtype: str = GRAD_DTYPES[0]
    shape: str = "(64, 64)"


def changed(state: MaskState, changes: dict[str, Any]) -> MaskState:
    """The state with what was typed or chosen; raises `LabValueError` where it cannot be."""
    wanted = dict(changes)
    if "lambd" in wanted:
        wanted["lambd"], wanted["typed"] = read_number(wanted["lambd"])
    elif "typed" in wanted:
        raise LabValueError(_("set lambd; what was typed follows from it"))
    if "dtype" in wanted:
        wanted["dtype"] = _chosen("dtype", _dtype_name(wanted["dtype"]), DTYPES)
    if "grad_dtype" in wanted:
        kind = _dtype_name(wanted["grad_dtype"])
        kind = GRAD_DTYPES[0] if kind == "same" else kind
        wanted["grad_dtype"] = _chosen("grad_dtype", kind, GRAD_DTYPES)
    if "shape" in wanted:
        wanted["shape"] = _chosen("shape", str(wanted["shape"]), tuple(SHAPES))
    return replace(state, **wanted)


def read_number(value: Any) -> tuple[float, str]:
    """A number and how it is written; takes what people type: −1, 1e-8, nan, ∞.

    >>> read_number("−0.5"), read_number(0.25)
    ((-0.5, '−0.5'), (0.25, '0.25'))
    """
    if isinstance(value, str):
        written = value.strip()
        try:
            number = float(written.replace("−", "-").replace("∞", "inf"))
            plain = written.translate({ord("−"): "-", ord("∞"): "i"}).isascii()
            # What a picture has no room or no letters for is written anew.
            return number, written if plain and len(written) <= 24 else repr(number)
        except ValueError:
            raise LabValueError(
                _(
                    "λ is {written}, which is no number; right would be 0.3, −1, 1e-8, nan or inf"
                ).format(written=repr(written))
            ) from None
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        told = _("λ must be a number, not {value}").format(value=repr(value))
        raise LabValueError(told) from error
    return number, repr(number)


def _dtype_name(value: Any) -> str:
    if value in (*GRAD_DTYPES, "same"):
        return str(value)
    try:
        return str(data_type(value).numpy.name)
    except LabValueError:
        return str(value)  # not among the choices either, which then says what is


def _chosen(name: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise LabValueError(
            _("{name} is {value}; right would be one of: {known}").format(
                name=name, value=repr(value), known="; ".join(known)
            )
        )
    return value
