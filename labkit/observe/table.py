"""A CSV file as it was found: separator, columns by name, cells with their place.

The separator is the one that gives the most columns that are known: a comma, a
semicolon or a TAB, as spreadsheets write them. In files with semicolons or TABs
a decimal comma is possible: the numbers of the file decide, all of them, and
with one that fits neither way the file is refused.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from labkit.errors import LabError
from labkit.language import gettext as _
from labkit.observe.columns import column_key, is_absent, number
from labkit.observe.text import file_words, read_text

__all__ = ["ProfileError", "Row", "Table", "read_table", "unreadable"]

_Value = TypeVar("_Value")


class ProfileError(LabError, ValueError):
    """A profile that cannot be read; the message names the file and what would be right."""


class Table:
    """Column names and lines of one file."""

    def __init__(self, file: Path, head: list[str], lines: list[tuple[int, list[str]]]) -> None:
        self.file, self.head, self.lines = file, head, lines
        self.comma = False
        self.places: dict[str, int] = {}
        for place, name in enumerate(head):
            self.places.setdefault(column_key(name), place)

    def has(self, *names: str) -> bool:
        """Whether one of these columns is there."""
        return any(column_key(name) in self.places for name in names)

    def place(self, *names: str) -> int | None:
        """Where the first of these columns is that is there."""
        found = (self.places.get(column_key(name)) for name in names)
        return next((place for place in found if place is not None), None)

    def rows(self) -> Iterator[Row]:
        """The lines, one after the other."""
        for number_, cells in self.lines:
            yield Row(self, number_, cells)


class Row:
    """One line; a cell is read by the places of its column."""

    __slots__ = ("cells", "number", "table")

    def __init__(self, table: Table, number_: int, cells: list[str]) -> None:
        self.table, self.number, self.cells = table, number_, cells

    def text(self, place: int | None) -> str:
        """A cell's text; empty where there is no such column or nothing was taken."""
        cell = "" if place is None else self.cells[place].strip()
        return "" if is_absent(cell) else cell

    def read(self, place: int | None, reader: Callable[..., _Value | None]) -> _Value | None:
        """A cell's value; raises `ProfileError` with file, line and column."""
        if place is None:
            return None
        try:
            return reader(self.cells[place].strip(), comma=self.table.comma)
        except ValueError as error:
            raise self.refused(place, str(error)) from error

    def refused(self, place: int, why: str) -> ProfileError:
        """What to raise for a cell."""
        return ProfileError(
            _("{file}, line {line}, column {column}, has {cell}: {why}").format(
                file=self.table.file.name,
                line=self.number,
                column=self.table.head[place],
                cell=_short(self.cells[place].strip()),
                why=why,
            )
        )


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else f"{cell[:40]}...")


def unreadable(file: Path, why: str) -> ProfileError:
    """What to raise for a file that is no CSV."""
    return ProfileError(
        _("{file} cannot be read as CSV: {error}").format(file=file_words(file), error=why)
    )


def read_table(file: Path, known: Iterable[str], numbers: Iterable[str] = ()) -> Table:
    """Read a CSV whose columns are, or should be, among those known.

    `numbers` are the columns that hold numbers, by which a decimal comma is
    found out. Raises `ProfileError`.
    """
    text = read_text(file, partial(unreadable, file))
    named = re.match(r'"?sep=(.)"?\r?\n', text)  # a spreadsheet's own first line
    if not text.strip():
        raise ProfileError(
            _("{file} is empty; right would be a line of column names first").format(file=file.name)
        )
    separator = named[1] if named else _separator(text, {column_key(name) for name in known})
    head, lines = _lines(file, text, separator, skip=bool(named))
    table = Table(file, head, lines)
    _once(table, known)
    if separator != ",":
        table.comma = _decimal_comma(table, numbers)
    return table


def _separator(text: str, known: set[str]) -> str:
    first = text.lstrip("\r\n").split("\n", 1)[0].rstrip("\r")
    names = {
        mark: sum(column_key(name.strip(' "')) in known for name in first.split(mark))
        for mark in (",", ";", "\t")
    }
    return max(names, key=lambda mark: names[mark])  # the comma where nothing is known


def _lines(
    file: Path, text: str, separator: str, *, skip: bool
) -> tuple[list[str], list[tuple[int, list[str]]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    head: list[str] = []
    lines: list[tuple[int, list[str]]] = []
    end = 0
    try:
        for cells in reader:
            begin, end = end + 1, reader.line_num
            if (skip and begin == 1) or not any(cells) or not any(map(str.strip, cells)):
                continue
            if end > begin:
                raise _open_quote(file, begin)
            if not head:
                head = [name.strip() for name in cells]
                while head and not head[-1]:
                    head.pop()
                continue
            if len(cells) != len(head):
                cells = _fitting(file, begin, cells, len(head))
            lines.append((begin, cells))
    except csv.Error as error:
        raise ProfileError(
            _("{file}, line {line}, cannot be read as CSV: {error}").format(
                file=file.name, line=end + 1, error=error
            )
        ) from error
    if text.count('"') % 2:
        odd = (n for n, line in enumerate(text.splitlines(), 1) if line.count('"') % 2)
        raise _open_quote(file, next(odd, end))
    return head, lines


def _open_quote(file: Path, line: int) -> ProfileError:
    return ProfileError(
        _('{file}, line {line}, has a quote (") that is not closed: was the file cut off?').format(
            file=file.name, line=line
        )
    )


def _fitting(file: Path, line: int, cells: list[str], columns: int) -> list[str]:
    """A line without the empty cells behind its last column."""
    if len(cells) < columns:
        raise ProfileError(
            _(
                "{file}, line {number}, has {n} values for {columns} columns: was the file cut off?"
            ).format(file=file.name, number=line, n=len(cells), columns=columns)
        )
    if any(cell.strip() for cell in cells[columns:]):
        raise ProfileError(
            _(
                "{file}, line {number}, has {n} values for {columns} columns: a value with the "
                "separator in it stands in quotes"
            ).format(file=file.name, number=line, n=len(cells), columns=columns)
        )
    return cells[:columns]


def _once(table: Table, known: Iterable[str]) -> None:
    """Raise where a column that is read is there twice."""
    keys = [column_key(name) for name in table.head]
    for name in known:
        if keys.count(column_key(name)) > 1:
            raise ProfileError(
                _("{file} has the column {column} twice; right would be once").format(
                    file=table.file.name, column=name
                )
            )


def _decimal_comma(table: Table, numbers: Iterable[str]) -> bool:
    """Whether the numbers of a file have a decimal comma: where only that reads them all.

    Where both ways read them all, a comma anywhere decides for it, since these
    are files of places where the comma is the decimal sign.
    """
    places = [table.place(name) for name in numbers]
    cells = {
        cells[place].strip() for _n, cells in table.lines for place in places if place is not None
    }
    point, comma = _all_read(cells, comma=False), _all_read(cells, comma=True)
    if point and comma:
        return any("," in cell for cell in cells)
    return comma


def _all_read(cells: Iterable[str], **how: Any) -> bool:
    try:
        for cell in cells:
            number(cell, **how)
    except ValueError:
        return False
    return True
