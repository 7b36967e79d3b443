"""Words that several layers need: lists and counts, as sentences for two languages.

Each is a `Text`, English here and translated where the chain is shown.
"""

from __future__ import annotations

from collections.abc import Iterable

from labkit.language import Text

__all__ = ["COUNTED", "joined", "listed", "named_number", "parted"]

COUNTED = {
    "bucket": ("{n} bucket", "{n} buckets"),
    "buffer": ("{n} buffer", "{n} buffers"),
    "byte": ("{n} byte", "{n} bytes"),
    "core": ("{n} core", "{n} cores"),
    "element": ("{n} element", "{n} elements"),
    "finding": ("{n} finding", "{n} findings"),
    "lane": ("{n} lane", "{n} lanes"),
    "launch": ("{n} launch", "{n} launches"),
    "vector core": ("{n} vector core", "{n} vector cores"),
}
"""What is counted, for one and for several."""


def named_number(count: int, word: str) -> Text:
    """A count with its noun: `1 core`, `4 cores`, `2 launches`."""
    one, several = COUNTED[word]
    return Text(one if count == 1 else several, n=count)


def listed(words: Iterable[str]) -> str:
    """Words one after another: `a, b, c`."""
    first, *others = [*words] or [""]
    for word in others:
        first = Text("{first}, {next}", first=first, next=word)
    return first


def joined(words: Iterable[str]) -> str:
    """Words as a sentence lists them: `a, b and c`."""
    *most, last = [*words] or [""]
    return Text("{most} and {last}", most=listed(most), last=last) if most else last


def parted(parts: Iterable[str]) -> str:
    """Clauses of one sentence: `a; b; c`. Empty ones are left out."""
    first, *others = [part for part in parts if part] or [""]
    for part in others:
        first = Text("{said}; {next}", said=first, next=part)
    return first
