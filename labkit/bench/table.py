"""What every measurement of `labkit bench` shares: a line of the table, two ways to take turns."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["Row", "Turns", "apart", "in_turn", "print_row"]

_PAUSE = 0.3
"""Seconds: a peer's threads go on spinning for a while after their work and would take a core."""


@dataclass(frozen=True)
class Row:
    """One line of the table: a figure, what it is measured against, what is to be reached.

    `value` None: it could not be measured here, `note` says why. `unit` "x"
    is a speed over the peer's, else it is what the value is counted in.
    `seconds` are the medians of the two sides, where there are two.
    """

    what: str
    against: str
    value: float | None
    unit: str
    reach: str
    reached: bool | None
    note: str = ""
    seconds: tuple[float, float] | None = None

    def noted(self, note: str) -> Row:
        """The same line with another note."""
        return replace(self, note=note)


def print_row(row: Row) -> None:
    """Print a line, its note under it, at once: a reader waits for the next one."""
    value = "     -" if row.value is None else f"{row.value:6.2f}"
    mark = {True: "reached", False: "NOT reached", None: ""}[row.reached]
    reach = f"; reach {row.reach}" if row.reach else ""
    print(f"{value} {row.unit:<4} {row.what}, against {row.against}{reach}  {mark}".rstrip())
    if row.note:
        print(f"            {row.note}")
    sys.stdout.flush()


def in_turn(
    first: Callable[[], Any], second: Callable[[], Any], rounds: int
) -> tuple[float, float]:
    """Median seconds of two functions that run in turn (A B A B), after a warm-up of each.

    A pause stands before each run.
    """
    first(), second()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for function, kept in zip((first, second), times):
            time.sleep(_PAUSE)
            kept.append(_seconds(function))
    return statistics.median(times[0]), statistics.median(times[1])


@dataclass(frozen=True)
class Turns:
    """Two sides measured apart: medians in seconds, and the second over the first, by rounds."""

    first: float
    second: float
    ratios: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """How many times as fast the first side is: the median of the rounds."""
        return statistics.median(self.ratios)


def apart(
    first: Callable[[], Any],
    second: Callable[[], Any],
    *,
    calls: int,
    rounds: int,
    pause: float = _PAUSE,
) -> Turns:
    """Time `calls` runs of each side in one go, after a pause and a run that does not count.

    For what takes microseconds: in turn, each side would meet the caches as
    the other one left them, and threads that are waking or spinning.
    """
    first(), second()
    rows = []
    for _ in range(rounds):
        medians = []
        for function in (first, second):
            time.sleep(pause)
            function()
            medians.append(statistics.median(_seconds(function) for _ in range(calls)))
        rows.append(medians)
    mine, theirs = (statistics.median(row[side] for row in rows) for side in (0, 1))
    return Turns(mine, theirs, tuple(theirs / mine for mine, theirs in rows))


def _seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
