"""The text of a file that somebody else wrote: its encoding, and what is no text at all.

A byte order mark decides. Without one UTF-8 is tried, then GB18030, which
Chinese Windows calls GBK. GB18030 takes nearly any bytes, so it counts only
where most of what is not ASCII comes out as common Chinese characters; German
or French text of a one-byte encoding comes out as rare ones.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from pathlib import Path

from labkit.errors import LabError
from labkit.language import gettext as _

__all__ = ["Refusal", "file_words", "is_file", "read_text"]

Refusal = Callable[[str], LabError]
"""Makes the error for a file out of what is wrong with it."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def file_words(path: Path) -> str:
    """A path as it can be told: without zero bytes, and not too long to read."""
    name = str(path).replace("\0", "\\0")
    return name if len(name) <= 200 else f"...{name[-200:]}"


def is_file(path: Path, refuse: Refusal) -> bool:
    """Whether a path is a file; raises where no path can be such."""
    try:
        return path.is_file()
    except (OSError, ValueError) as fault:
        raise refuse(_why(fault)) from fault


def read_text(path: Path, refuse: Refusal) -> str:
    """The text of a file, without its byte order mark; raises with what to do instead."""
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as fault:
        raise refuse(_why(fault)) from fault
    except MemoryError as fault:
        raise refuse(_("it is larger than the memory here")) from fault
    kind = _no_text(raw)
    if kind:
        raise refuse(kind)
    mark, encoding = next((pair for pair in _MARKS if raw.startswith(pair[0])), (b"", "utf-8"))
    text = _decoded(raw[len(mark) :], encoding)
    if text is None and not mark:
        text = _chinese(raw)
    if text is None:
        raise refuse(_broken(raw, encoding if mark else ""))
    for letter in ("\0", "\ufeff"):
        if letter in text:
            raise refuse(_letter(letter, text.count("\n", 0, text.find(letter)) + 1))
    return text


def _letter(letter: str, line: int) -> str:
    if letter == "\0":
        return _(
            "line {line} has zero bytes: it is damaged, or UTF-16 without a byte order mark; "
            "right would be text in UTF-8"
        ).format(line=line)
    return _(
        "line {line} has a byte order mark inside: were two files joined? Right would be text in "
        "UTF-8"
    ).format(line=line)


def _why(fault: Exception) -> str:
    return (fault.strerror if isinstance(fault, OSError) else None) or str(fault)


def _no_text(raw: bytes) -> str:
    """What a file is by its first bytes, where that is no text."""
    if raw.startswith(b"\x1f\x8b"):
        return _("it is compressed (gzip): unpack it first, with gunzip")
    if raw.startswith(b"PK\x03\x04"):
        return _("it is a zip archive or a workbook: unpack it, or save the sheet as CSV")
    if raw.startswith(b"\xd0\xcf\x11\xe0"):
        return _("it is an old workbook: save the sheet as CSV")
    if raw.startswith(b"SQLite format 3\0"):
        return _("it is a database: msprof --export=on --type=text writes CSV")
    return ""


def _decoded(raw: bytes, encoding: str) -> str | None:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        return None


def _chinese(raw: bytes) -> str | None:
    """The text as GB18030, where most of it is common Chinese; else None."""
    text = _decoded(raw, "gb18030")
    if text is None:
        return None
    others = [letter for letter in text if ord(letter) > 127]
    common = sum(_is_common(letter) for letter in others)
    return text if 2 * common > len(others) else None


def _is_common(letter: str) -> bool:
    """A character of the first level of GB 2312, or one of its signs."""
    try:
        code = letter.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return 0xA1 <= code[0] <= 0xA3 or 0xB0 <= code[0] <= 0xD7


def _broken(raw: bytes, encoding: str) -> str:
    if encoding:
        return _(
            "its byte order mark says {encoding}, and it is not: was the file cut off?"
        ).format(encoding=encoding.removesuffix("-le").removesuffix("-be").upper())
    if b"\0" in raw:
        return _letter("\0", raw.count(b"\n", 0, raw.find(b"\0")) + 1)
    good = 0
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        good = fault.start
    return _(
        "line {line} is not UTF-8, and the file is not clearly GB18030 either; right would be "
        "UTF-8: iconv -f ENCODING -t UTF-8"
    ).format(line=raw.count(b"\n", 0, good) + 1)
