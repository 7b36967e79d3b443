"""Lines for a terminal, in which a Chinese character is two columns wide.

Text without such characters is wrapped as `textwrap` does it. Chinese may be
broken between any two characters, but a line neither begins with a closing
mark nor ends with an opening one.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from unicodedata import east_asian_width

__all__ = ["padded", "width_of", "wrapped"]

_CLOSING = "，。、；：？！）》」』】”’…"
_OPENING = "（《「『【“‘"
_WIDE = re.compile(r"[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\uffe6]")
"""Where wide characters lie: a text without any of these needs no look into the tables."""


def width_of(text: str) -> int:
    """Columns that a text takes in a terminal.

    >>> width_of("λ = 0.5"), width_of("死区"), width_of("✓ 通过")
    (7, 4, 6)
    """
    if not _WIDE.search(text):
        return len(text)
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def padded(text: str, columns: int) -> str:
    """The text with spaces behind it, up to so many columns."""
    return text + " " * (columns - width_of(text))


def wrapped(text: str, width: int, indent: str) -> list[str]:
    """The text in lines of at most `width` columns; `indent` stands before all but the first.

    A word that is wider than a line stays whole.
    """
    if not _WIDE.search(text):
        return textwrap.wrap(
            text,
            width,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [text]
    lines: list[str] = []
    line, fresh = "", True
    for piece in _pieces(text):
        if fresh and lines and piece.isspace():
            continue
        if not fresh and width_of(line) + width_of(piece.rstrip()) > width:
            lines.append(line.rstrip())
            line, fresh = indent, True
            piece = piece.lstrip()
        line += piece
        fresh = fresh and not piece.strip()
    return [*lines, line.rstrip()]


def _pieces(text: str) -> Iterator[str]:
    """The smallest parts between which a line may be broken, in order."""
    piece = ""
    for character in text:
        if piece and _breaks(piece[-1], character):
            yield piece
            piece = ""
        piece += character
    yield piece


def _breaks(before: str, after: str) -> bool:
    """Whether a line may end between two characters."""
    if after in _CLOSING or before in _OPENING:
        return False
    if before.isspace() != after.isspace():
        return True
    return east_asian_width(before) in "WF" or east_asian_width(after) in "WF"
