"""What the checks of exercises are built from: verdicts, comparing bits, predictions.

An exercise lives in a folder of `exercises`; its `check.py` judges answers with
what is here. What an answer gets wrong is shown at the smallest input that
betrays it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.course.show import number
from labkit.language import gettext as _

__all__ = ["Verdict", "bits", "compared", "not_yet", "passed", "predicted", "told"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Verdict:
    """What a check found; its repr is what a cell shows."""

    passed: bool
    text: str

    def __repr__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return self.passed


def passed(text: str, *lines: str) -> Verdict:
    """The answer is right: a sentence, and lines that say more."""
    return Verdict(True, "\n".join([text, *(f"  {line}" for line in lines)]))


def not_yet(*lines: str) -> Verdict:
    """The answer is not right: what betrays it, one thing a line."""
    return Verdict(False, "\n".join([_("not yet"), *(f"  {line}" for line in lines)]))


def told(error: BaseException) -> Verdict:
    """The answer raised an error."""
    return not_yet(
        _("your answer raised {kind}: {error}").format(kind=type(error).__name__, error=error)
    )


def bits(values: Array) -> Array:
    """The bit patterns of an array of numbers, as unsigned integers of the same size."""
    return values.view(f"u{values.itemsize}")


def compared(
    answer: Callable[..., Any],
    right: Callable[..., Array],
    inputs: Sequence[tuple[tuple[Any, ...], str]],
    write: Callable[[Any], str] = number,
) -> Verdict:
    """Compare two functions bit for bit; `inputs` are argument tuples with their words.

    Each tuple's first array argument names the elements: the first element that
    differs is shown. Put the simplest input first. The words of an input may
    hold `{i}`-free text only; the values of array arguments at the differing
    element are written behind it by `write`.
    """
    tried = 0
    for arguments, words in inputs:
        want = right(*arguments)
        try:
            with np.errstate(all="ignore"):
                copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
                got = np.asarray(answer(*copies))
        except Exception as error:
            return told(error)
        if got.shape != want.shape or got.dtype != want.dtype:
            return not_yet(
                _("it gave {got} where {want} was asked for").format(
                    got=f"{got.dtype} {got.shape}", want=f"{want.dtype} {want.shape}"
                )
            )
        wrong = np.flatnonzero(bits(got) != bits(want))
        tried += want.size
        if wrong.size:
            at = int(wrong[0])
            values = [a.reshape(-1)[at] for a in arguments if isinstance(a, np.ndarray)]
            return not_yet(
                _("the smallest input that betrays it: {input}").format(
                    input=words.format(*map(number, values))
                ),
                _("the device says {value}").format(value=write(want.reshape(-1)[at])),
                _("your answer says {value}").format(value=write(got.reshape(-1)[at])),
            )
    return passed(_("right, on all {n} inputs tried, bit for bit").format(n=tried))


def _same(answer: Any, truth: Any) -> bool:
    """Whether a prediction is right; what cannot be compared (an array, say) is not."""
    try:
        return bool(answer == truth)
    except Exception:
        return False


def predicted(answer: Any, truth: Mapping[str, Any]) -> Verdict:
    """Compare a dict of predictions with what happens; the first that differs is shown.

    The right value of a wrong prediction is not given away, only which one it is.
    """
    if not isinstance(answer, Mapping):
        # Keys may hold commas of their own.
        return not_yet(
            _("an answer is a dict with these keys: {keys}").format(keys=" · ".join(truth))
        )
    missing = [key for key in truth if key not in answer or answer[key] is None]
    right = [key for key in truth if key not in missing and _same(answer[key], truth[key])]
    wrong = [key for key in truth if key not in missing and key not in right]
    score = _("{right} of {all} predictions are right").format(right=len(right), all=len(truth))
    if not missing and not wrong:
        return passed(score)
    lines = [score]
    if wrong:
        lines.append(_("look again at: {key}").format(key=wrong[0]))
    if missing:
        lines += [_("still open:"), *(f"  {key}" for key in missing)]
    return not_yet(*lines)
