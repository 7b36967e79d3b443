"""English or Chinese: what panels, explanations and exercises say, through one table.

Sentences stand in the code in English, marked by `_`, as is usual with gettext:

    _("{n} elements get their gradient").format(n=20)

The table is `data/zh/*.json`, from the English sentence to the Chinese one; a
file per part of the house keeps it readable. A test fails when a sentence has
no translation, when a translation has no sentence, and when the two name
different placeholders. What CANN itself says (its messages, its names) is
never translated, and figures keep to symbols and English.

A sentence that is made far from where it is shown is a `Text`: English to
everything that reads it, and still translatable by `_`.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from labkit.errors import LabValueError

__all__ = ["LANGUAGES", "Text", "gettext", "language", "table"]

LANGUAGES = ("en", "zh")


class Text(str):
    """A sentence with values in it, which remembers both.

    >>> reason = Text("{n} bytes are too few", n=3)
    >>> reason, reason.template, reason.values
    ('3 bytes are too few', '{n} bytes are too few', {'n': 3})
    """

    __slots__ = ("template", "values")
    template: str
    values: dict[str, Any]

    def __new__(cls, template: str, **values: Any) -> Text:
        """Put the values into the template's places, which have names."""
        self = str.__new__(cls, template.format_map(values) if values else template)
        self.template = template
        self.values = values
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (self.template, self.values)


def _remade(template: str, values: dict[str, Any]) -> Text:
    return Text(template, **values)


def language() -> str:
    """The language of this process: `LABKIT_LANG`, else Chinese in a folder named zh.

    The second rule makes the notebooks of `notebooks/zh` speak Chinese wherever
    they are opened, since a kernel works in its notebook's folder. Raises
    `LabValueError` for a language that is not there.
    """
    wanted = os.environ.get("LABKIT_LANG", "").strip()
    if not wanted:
        try:
            return "zh" if os.getcwd().endswith(("/zh", "\\zh")) else "en"
        except OSError:  # the folder was removed under us
            return "en"
    if wanted not in LANGUAGES:
        raise LabValueError(f"LABKIT_LANG is {wanted!r}; right would be {' or '.join(LANGUAGES)}")
    return wanted


@lru_cache(maxsize=len(LANGUAGES))
def table(chosen: str) -> dict[str, str]:
    """All sentences of a language by their English; empty for English itself."""
    found: dict[str, str] = {}
    if chosen == "en":
        return found
    for file in sorted((Path(__file__).parent / "data" / chosen).glob("*.json")):
        found.update(json.loads(file.read_text(encoding="utf-8")))
    return found


def gettext(text: str) -> str:
    """The sentence in the language of this process; English where the table has none."""
    words = table(language())
    return _said(text, words) if words else str(text)


def _said(text: str, words: dict[str, str]) -> str:
    if not isinstance(text, Text):
        return words.get(text, text)
    values = {
        name: _said(value, words) if isinstance(value, str) else value
        for name, value in text.values.items()
    }
    return words.get(text.template, text.template).format(**values)
