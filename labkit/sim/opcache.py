"""The op cache: phase 1 of a call that was made before answers without checking anything.

Models cann/opbase aa3cd74b src/nnopbase/common/utils/op_cache.cpp as it was
seen to run. One cache per thread. An entry is made by a successful phase 1 and
becomes usable when the phase 2 of the executor that made it has ended well. A
hit hands out a light wrapper that replays the recorded launches with the
addresses of the new tensors.

The real cache has a defect that is kept here: an entry that was pushed out is
freed when the executor that pushed it out ends, whoever still needs it. Strict
mode names it.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from labkit.op.describe import TensorDesc
from labkit.op.plan import Plan
from labkit.op.scalar import Scalar

__all__ = ["Entry", "OpCache", "cache_key", "is_cacheable"]

_DEFAULT_LIMIT = 10_000
_MAX_LIMIT = 10_000_000
_DROPPED_AT_ONCE = 30


@dataclass(eq=False)
class Entry:
    """One remembered call.

    `state` is "new" until its creator has run, then "usable"; "dead" when that
    failed, was never tried, or is done again and again. `freed` when it was
    pushed out and the executor that pushed it out has ended.
    """

    plan: Plan
    state: str = "new"
    freed: bool = False


class _Entries(threading.local):
    def __init__(self) -> None:
        self.table: OrderedDict[Hashable, Entry] = OrderedDict()
        self.full_at_zero = False


def cache_key(
    operator: str,
    objects: tuple[Any, ...],
    described: tuple[TensorDesc | Scalar | None, ...],
) -> Hashable:
    """What makes two calls the same: descriptions, scalar bytes, which arguments are one object.

    `objects` are the arguments themselves, `described` what they say. Device
    addresses do not count.
    """
    first = {id(thing): place for place, thing in reversed(list(enumerate(objects)))}
    return (operator, described, tuple(first[id(thing)] for thing in objects))


def is_cacheable(plan: Plan) -> bool:
    """Whether a chain can be recorded: AI Core kernels only."""
    return all(launch.core == "AICORE" for launch in plan.launches)


@dataclass
class OpCache:
    """The caches of all threads, with the switches of the environment they were started in.

    Any value of DISABLE_L2_CACHE, the empty one too, disables;
    ACLNN_CACHE_LIMIT is the number of entries (default 10000; not a number:
    default; 0: never a hit; a negative one wraps to the maximum).
    """

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def __post_init__(self) -> None:
        self.disabled = "DISABLE_L2_CACHE" in self.environ
        self.limit = _limit(self.environ.get("ACLNN_CACHE_LIMIT"))
        self._entries = _Entries()

    def __len__(self) -> int:
        return len(self._entries.table)

    def find(self, key: Hashable) -> Entry | None:
        """A usable entry of this thread; finding it makes it the most recent."""
        if self.disabled:
            return None
        entry = self._entries.table.get(key)
        if entry is None or entry.state != "usable":
            return None
        self._entries.table.move_to_end(key)
        return entry

    def add(self, key: Hashable, plan: Plan) -> tuple[Entry | None, list[Entry]]:
        """Remember a new call: its entry, and the entries that it pushed out.

        No entry for a chain that cannot be recorded, a call whose first
        executor has not run yet, and everything after a limit of 0 was met.
        """
        table = self._entries.table
        if self.disabled or self._entries.full_at_zero or not is_cacheable(plan):
            return None, []
        known = table.get(key)
        if known is not None and known.state != "dead":
            return None, []
        table.pop(key, None)
        if self.limit == 0:
            self._entries.full_at_zero = True
            return None, []
        full = len(table) >= self.limit
        count = min(_DROPPED_AT_ONCE, len(table)) if full else 0
        dropped = [table.popitem(last=False)[1] for _ in range(count)]
        entry = table[key] = Entry(plan)
        return entry, dropped

    def withdraw(self, entry: Entry) -> None:
        """Make an entry unusable: its creator failed, was destroyed, or became repeatable."""
        entry.state = "dead"


def _limit(text: str | None) -> int:
    try:
        number = int(text) if text is not None else _DEFAULT_LIMIT
    except ValueError:
        return _DEFAULT_LIMIT
    return _MAX_LIMIT if number < 0 else min(number, _MAX_LIMIT)
