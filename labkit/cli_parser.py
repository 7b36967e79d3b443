"""The parser of the command line: argparse, in one line where something is wrong, in two languages.

argparse asks Python's `gettext` for its own words. While a command line is
read, `argparse_words` lets `gettext` find them in the lab's table.
"""

from __future__ import annotations

import argparse
import contextlib
import gettext
import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from labkit.language import gettext as _

__all__ = ["ARGPARSE", "Parser", "argparse_words"]

ARGPARSE = (
    "usage: ",
    "positional arguments",
    "options",
    "%(heading)s:",
    "show this help message and exit",
    "argument %(argument_name)s: %(message)s",
    "unrecognized arguments: %s",
    "not allowed with argument %s",
    "ignored explicit argument %r",
    "the following arguments are required: %s",
    "one of the arguments %s is required",
    "expected one argument",
    "expected at most one argument",
    "expected at least one argument",
    "ambiguous option: %(option)s could match %(matches)s",
    "invalid %(type)s value: %(value)r",
    "invalid choice: %(value)r (choose from %(choices)s)",
)
"""What argparse says to a user, in Python 3.10 to 3.14, where the lab's options can call for it."""

_LONGEST = 300


class _Words(gettext.NullTranslations):
    def gettext(self, message: str) -> str:
        return _(message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return _(msgid1 if n == 1 else msgid2)


@contextlib.contextmanager
def argparse_words() -> Iterator[None]:
    """Let Python's own `gettext` answer from the lab's table, in the language of this process."""
    kept, words = gettext.translation, _Words()
    gettext.translation = lambda *_, **__: words  # type: ignore[assignment]
    try:
        yield
    finally:
        gettext.translation = kept


class Parser(argparse.ArgumentParser):
    """Translates descriptions and helps; tells in one line what is wrong."""

    def add_argument(self, *names: Any, **how: Any) -> Any:
        """As argparse's, with `help` in the language of this process."""
        if how.get("help"):
            how["help"] = _(how["help"])
        return super().add_argument(*names, **how)

    def format_help(self) -> str:
        """As argparse's, with the description in the language of this process."""
        if self.description:
            self.description = _(self.description)
        return super().format_help()

    def print_help(self, file: Any = None) -> None:
        """As argparse's, which says nothing where its help could not be written."""
        print(self.format_help(), end="", file=file)

    def parse_args(self, args: Sequence[str], namespace: Any = None) -> Any:  # type: ignore[override]
        """As argparse's, but no argument is empty: `Path("")` would be the working folder."""
        self._refuse_nothing(args)
        return super().parse_args(args, namespace)

    def _refuse_nothing(self, words: Sequence[str]) -> None:
        for before, word in zip(["", *words], words):
            name = word if re.fullmatch(r"--[a-z-]+=", word) else before
            if word == "" or name is word:
                empty = _("the argument after {name} is empty; right would be a value, or neither")
                self.error(empty.format(name=name.rstrip("=") or self.prog))
            if "\0" in word:
                self.error(
                    _("{word} has a NUL character, which no name has").format(word=ascii(word))
                )

    def error(self, message: str) -> NoReturn:
        """End with exit code 2 and one line."""
        said = " ".join(message.split())
        said = said if len(said) <= _LONGEST else f"{said[:_LONGEST]} ..."
        told = _("{said} (more: {command})").format(said=said, command=f"{self.prog} --help")
        self.exit(2, f"{self.prog}: {told}\n")
