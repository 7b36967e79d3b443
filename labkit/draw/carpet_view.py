"""What the carpet shows, as data, and the same in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labkit.draw.bits_view import BACKWARD, BOTH, FORWARD, Pairing, agreement, flips, head
from labkit.draw.numbers import number_text, short_dtype
from labkit.draw.sheet import plain
from labkit.language import Text
from labkit.language import gettext as _

__all__ = [
    "PATTERNS",
    "QUESTION",
    "SIGN",
    "CarpetView",
    "Counts",
    "carpet_alt_text",
    "fate",
    "landmarks",
    "odd_number",
]

PATTERNS = 65_536
QUESTION = Text("What becomes of all 65,536 numbers?")
SIGN = 0x8000
INFINITY = {"float16": 0x7C00, "bfloat16": 0x7F80}


@dataclass(frozen=True)
class Counts:
    """How many of the patterns belong to what.

    `passes` counts numbers that pass and `nan` the NaN that do; `parted` those
    on which forward and backward differ, `flipped` those on which the other
    gradient dtype makes a difference.
    """

    passes: int
    nan: int
    dead: int
    parted: int
    flipped: int


@dataclass(frozen=True, eq=False)
class CarpetView:
    """What the operators made of every pattern, in the order of the patterns.

    `backward`, `other` and `forward` are bool arrays of 65,536: whether the
    pattern got its gradient, got one of the other dtype, was kept forward.
    """

    asked: Pairing
    backward: npt.NDArray[np.bool_]
    other: npt.NDArray[np.bool_]
    forward: npt.NDArray[np.bool_]

    @property
    def alive(self) -> npt.NDArray[np.bool_]:
        """What passes, by the operator that leads."""
        return self.forward if self.asked.operator == FORWARD else self.backward

    @property
    def is_nan(self) -> npt.NDArray[np.bool_]:
        """Which patterns are NaN."""
        magnitudes = np.arange(PATTERNS) & ~SIGN
        above: npt.NDArray[np.bool_] = magnitudes > INFINITY[self.asked.dtype]
        return above

    @property
    def odd(self) -> npt.NDArray[np.intp]:
        """The patterns on which the columns that are shown differ."""
        suspects = (self.backward != self.other) | (self.backward != self.forward)
        columns = (self.backward, self.other, self.forward)
        return np.array(
            [
                at
                for at in np.flatnonzero(suspects)
                if flips(self.asked, *(bool(column[at]) for column in columns))
            ],
            np.intp,
        )

    def counts(self) -> Counts:
        """The numbers beside the carpet."""
        alive, nan = self.alive, self.is_nan
        return Counts(
            passes=int(np.count_nonzero(alive & ~nan)),
            nan=int(np.count_nonzero(alive & nan)),
            dead=int(np.count_nonzero(~alive)),
            parted=int(np.count_nonzero(self.forward != self.backward)),
            flipped=int(np.count_nonzero(self.backward != self.other)),
        )

    def edge(self) -> int:
        """The highest positive pattern that is dead; -1 when none is."""
        dead = np.flatnonzero(~self.alive[:SIGN])
        return int(dead[-1]) if dead.size else -1

    def number(self, pattern: int) -> float:
        """The value of a pattern."""
        bits = np.array([pattern], np.uint32 if self.asked.dtype == "bfloat16" else np.uint16)
        with np.errstate(invalid="ignore"):
            if self.asked.dtype == "bfloat16":
                return float((bits << 16).view(np.float32)[0])
            return float(bits.view(np.float16)[0])


def fate(view: CarpetView, pattern: int) -> str:
    """What became of one pattern, in the columns that are shown."""
    asked = view.asked
    told = []
    if asked.operator != FORWARD:
        told.append("grad" if view.backward[pattern] else "0")
        other = "grad" if view.other[pattern] else "0"
        told.append(f"{short_dtype(asked.other_dtype)}: {other}")
    if asked.operator != BACKWARD:
        told.append(f"forward: {'x' if view.forward[pattern] else '0'}")
    return " · ".join(told)


def odd_number(view: CarpetView) -> float | None:
    """The magnitude on which the columns differ, if there is one."""
    odd = view.odd
    return abs(view.number(int(odd[0]))) if odd.size else None


def landmarks(view: CarpetView) -> list[tuple[int, str, bool]]:
    """Patterns worth a name, from above, with the name and whether it is λ."""
    infinity = INFINITY[view.asked.dtype]
    one = 0x3C00 if view.asked.dtype == "float16" else 0x3F80
    edge = view.edge()
    found = []
    for sign, plus in ((0, "+"), (SIGN, "−")):
        half = [
            (0, f"{plus}0", False),
            (infinity, f"{plus}∞", False),
            (infinity + 1, "nan", False),
        ]
        if abs(one - edge) > 256:  # else its name would stand beside that of λ
            half.append((one, f"{plus}1", False))
        if edge >= 0:
            half.append((edge, f"to {plus}λ", True))
        found += [
            (sign | pattern, f"{words}  {sign | pattern:04x}", loud)
            for pattern, words, loud in sorted(half)
        ]
    return found


def carpet_alt_text(view: CarpetView) -> str:
    """The picture in words, for those who do not see it."""
    asked, counts = view.asked, view.counts()
    told = [
        head(asked, QUESTION),
        _("Of {all} patterns {passes} pass, {nan} NaN pass, {dead} get 0.").format(
            all=PATTERNS, passes=counts.passes, nan=counts.nan, dead=counts.dead
        ),
    ]
    edge = view.edge()
    if edge >= 0:
        told.append(
            _("The largest dead number is ±{number}, pattern {pattern}.").format(
                number=number_text(view.number(edge)), pattern=f"{edge:04x}"
            )
        )
    if asked.operator == BOTH:
        told.append(_("Forward and backward differ on {count}.").format(count=counts.parted))
    if asked.operator != FORWARD:
        told.append(
            _("A gradient of {dtype} would give another result on {count}.").format(
                dtype=short_dtype(asked.other_dtype), count=counts.flipped
            )
        )
    if view.odd.size:
        told.append(
            _("These are: {numbers}.").format(
                numbers=_(", ").join(number_text(view.number(int(at))) for at in view.odd[:4])
            )
        )
    told.append(_("Check: {agreement}.").format(agreement=_(agreement(asked))))
    return plain(" ".join(told))
