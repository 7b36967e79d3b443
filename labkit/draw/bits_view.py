"""What the pictures of λ's bits show, as data, and the same in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from labkit.draw.numbers import FIELDS, number_text, short_dtype
from labkit.language import Text
from labkit.language import gettext as _

__all__ = [
    "BACKWARD",
    "BOTH",
    "FORWARD",
    "OPERATORS",
    "BitsView",
    "Neighbour",
    "Pairing",
    "agreement",
    "bits_alt_text",
    "lambda_way",
    "pairing_line",
    "pattern_bits",
    "remarks",
]

BOTH, BACKWARD, FORWARD = "backward and forward", "backward", "forward"
OPERATORS = (BOTH, BACKWARD, FORWARD)

QUESTION = Text("Where exactly is λ?")


@dataclass(frozen=True)
class Pairing:
    """What was asked: dtypes, operators, and λ at its three stations.

    `typed` is λ as it was written and `value` the number Python read,
    `lambd` the float32 it became, `compared` the number that |x| is compared
    with, in the dtype `compared_in`. `other_dtype` is the gradient dtype that
    results are set beside. `device` is what ran it; `agreeing` of `total`
    results have the bits that the model predicts.
    """

    dtype: str
    grad_dtype: str
    other_dtype: str
    operator: str
    typed: str
    value: float
    lambd: float
    compared: float
    compared_in: str
    device: str
    agreeing: int
    total: int


@dataclass(frozen=True)
class Neighbour:
    """One number near ±λ and what became of it.

    `backward` says whether it got its gradient, `other` whether it got a
    gradient of the other dtype, `forward` whether the forward operator kept it.
    """

    value: float
    pattern: int
    backward: bool
    other: bool
    forward: bool


@dataclass(frozen=True)
class BitsView:
    """λ at its stations and the numbers around it, from above; `negative` mirrors `positive`."""

    asked: Pairing
    lambd_pattern: int
    compared_pattern: int
    positive: tuple[Neighbour, ...]
    negative: tuple[Neighbour, ...]

    def flips(self, one: Neighbour) -> bool:
        """Whether what is shown of a number does not agree with itself."""
        return flips(self.asked, one.backward, one.other, one.forward)

    def alive(self, one: Neighbour) -> bool:
        """Whether a number passes, by the operator that leads."""
        return one.forward if self.asked.operator == FORWARD else one.backward


def flips(asked: Pairing, backward: bool, other: bool, forward: bool) -> bool:
    """Whether the columns that are shown for a number differ."""
    if asked.operator == FORWARD:
        return False
    return backward != other or (asked.operator == BOTH and backward != forward)


def pairing_line(asked: Pairing) -> Text:
    """Which tensors meet where: the first part of the grey line."""
    own, other = short_dtype(asked.dtype), short_dtype(asked.grad_dtype)
    inside = short_dtype(asked.compared_in)
    if asked.operator == FORWARD:
        return Text("forward, self {own}, compared in {inside}", own=own, inside=inside)
    return Text(
        "self {own}, grad {other}, compared in {inside}", own=own, other=other, inside=inside
    )


def lambda_way(asked: Pairing) -> Text:
    """λ as typed, as float32, as compared."""
    compared = f"{short_dtype(asked.compared_in)} {number_text(asked.compared)}"
    ways = {"typed": asked.typed, "number": number_text(asked.lambd), "compared": compared}
    if asked.lambd < 0:
        return Text("λ typed {typed} → float32 {number} → used 0 → compared as {compared}", **ways)
    return Text("λ typed {typed} → float32 {number} → compared as {compared}", **ways)


def agreement(asked: Pairing) -> Text:
    """Whether the device gave the bits that the model predicts."""
    if asked.agreeing == asked.total:
        return Text("all {total} results have the bits the model predicts", total=asked.total)
    odd = asked.total - asked.agreeing
    return Text("{odd} of {total} results differ from the model", odd=odd, total=asked.total)


def rounding(asked: Pairing) -> Text:
    """What happened to λ between float32 and the comparison, in two or three words."""
    inside = short_dtype(asked.compared_in)
    used = 0.0 if asked.lambd < 0 else asked.lambd
    if math.isnan(asked.lambd):
        return Text("{inside}: nan stays nan", inside=inside)
    if asked.lambd < 0:
        return Text("{inside}: below 0 counts as 0", inside=inside)
    if asked.compared_in == "float32":
        return Text("{inside}: not rounded", inside=inside)
    if asked.compared == used:
        return Text("{inside}: exact", inside=inside)
    if asked.compared > used:
        return Text("{inside}: rounded up", inside=inside)
    return Text("{inside}: rounded down", inside=inside)


def remarks(asked: Pairing, flipping: float | None) -> tuple[Text, ...]:
    """What is surprising, in up to three sentences; `flipping` is a number that flips, if any."""
    found = []
    number = number_text(asked.lambd)
    if math.isnan(asked.lambd):
        found.append(Text("no comparison with nan is true: nothing is dead"))
    elif asked.lambd < 0:
        found.append(Text("a negative λ acts as 0: only ±0 is dead"))
    elif math.isinf(asked.compared) and math.isfinite(asked.lambd):
        found.append(Text("in fp16 {number} rounds to ∞", number=number))
    elif asked.compared == 0 < asked.lambd:
        found.append(Text("in fp16 {number} rounds to 0: only ±0 is dead", number=number))
    elif asked.compared_in == "float32" and asked.dtype != "float32":
        own = short_dtype(asked.dtype)
        found.append(Text("compared in fp32: λ is not rounded to {own}", own=own))
    if flipping is not None:
        told = number_text(abs(flipping))
        grad, other = short_dtype(asked.grad_dtype), short_dtype(asked.other_dtype)
        if asked.compared_in == "float16":
            found.append(
                Text(
                    "±{told} flips: a gradient of {other} would pass it, one of {grad} does not",
                    told=told,
                    other=other,
                    grad=grad,
                )
            )
            if asked.operator == BOTH:
                found.append(
                    Text(
                        "forward keeps ±{told}, backward gives it nothing: it never learns",
                        told=told,
                    )
                )
        else:
            found.append(
                Text(
                    "±{told} flips: a gradient of {grad} passes it, one of {other} would not",
                    told=told,
                    other=other,
                    grad=grad,
                )
            )
    return tuple(found)


def flipping(view: BitsView) -> float | None:
    """The magnitude that flips; never more than one does."""
    return next((abs(one.value) for one in view.positive if view.flips(one)), None)


def pattern_bits(pattern: int, dtype: str) -> str:
    """A pattern in its three fields.

    >>> pattern_bits(0x34CD, "float16")
    '0 01101 0011001101'
    """
    exponent, fraction = FIELDS[dtype]
    word = f"{pattern:0{1 + exponent + fraction}b}"
    return f"{word[0]} {word[1 : 1 + exponent]} {word[1 + exponent :]}"


def head(asked: Pairing, question: Text) -> str:
    """The question and the grey line, for ears."""
    state = [_(pairing_line(asked)), _(lambda_way(asked)), asked.device]
    return _("{question} {state}.").format(question=_(question), state=" · ".join(state))


def bits_alt_text(view: BitsView) -> str:
    """The picture in words, for those who do not see it."""
    asked = view.asked
    told = [
        head(asked, QUESTION),
        _("Bits of λ: float32 {first}; compared in {second} ({rounding}).").format(
            first=pattern_bits(view.lambd_pattern, "float32"),
            second=f"{short_dtype(asked.compared_in)} "
            f"{pattern_bits(view.compared_pattern, asked.compared_in)}",
            rounding=_(rounding(asked)),
        ),
    ]
    for sentence, side in (
        (_("Around +λ, from above: {numbers}."), view.positive),
        (_("Around −λ, mirrored: {numbers}."), view.negative),
    ):
        told.append(sentence.format(numbers=_("; ").join(_neighbour(asked, one) for one in side)))
    noted = remarks(asked, flipping(view))
    if noted:
        told.append(_("Note: {remarks}.").format(remarks=_("; ").join(map(_, noted))))
    told.append(_("Check: {agreement}.").format(agreement=_(agreement(asked))))
    return " ".join(told)


def _neighbour(asked: Pairing, one: Neighbour) -> str:
    parts = []
    if asked.operator != FORWARD:
        parts.append(_("gets its gradient") if one.backward else _("gets 0"))
        if one.other != one.backward:
            told = _("passes with grad {dtype}") if one.other else _("gets 0 with grad {dtype}")
            parts.append(told.format(dtype=short_dtype(asked.other_dtype)))
    if asked.operator != BACKWARD:
        parts.append(_("forward keeps it") if one.forward else _("forward gives 0"))
    return _("{number} (bits {bits}) {results}").format(
        number=number_text(one.value),
        bits=pattern_bits(one.pattern, asked.dtype),
        results=_(", ").join(parts),
    )
