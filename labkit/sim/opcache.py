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

    `usable` once its creator has run; `evicted_by` is the executor whose
    entry pushed it out, `freed` whether that executor has ended since.
    """

    plan: Plan
    usable: bool = False
    dead: bool = False
    evicted_by: Any = None
    freed: bool = False


class _Entries(threading.local):
    def __init__(self) -> None:
        self.table: OrderedDict[Hashable, Entry] = OrderedDict()
        self.full_at_zero = False


def cache_key(operator: str, arguments: Mapping[str, Any]) -> Hashable:
    """What makes two calls the same: descriptions, scalar bytes, which arguments are one object.

    `arguments` maps parameter names to (object, TensorDesc | Scalar) or None.
    Addresses and the storage's format do not count.
    """
    parts: list[Hashable] = [operator]
    seen: dict[int, int] = {}
    identity: list[int] = []
    for value in arguments.values():
        if value is None:
            parts.append(None)
            continue
        thing, described = value
        if isinstance(described, Scalar):
            parts.append((described.raw, described.dtype.value))
        elif isinstance(described, TensorDesc):
            parts.append(
                (
                    described.shape,
                    described.strides,
                    described.storage_shape,
                    described.dtype.value,
                    described.offset,
                    described.format,
                )
            )
            identity.append(seen.setdefault(id(thing), len(seen)))
    return (*parts, tuple(identity))


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
        if entry is None or not entry.usable or entry.dead:
            return None
        self._entries.table.move_to_end(key)
        return entry

    def add(self, key: Hashable, plan: Plan, creator: Any) -> Entry | None:
        """Remember a new call; None when it is not recorded.

        Not recorded: a chain that cannot be, a call whose first executor has
        not run yet, and everything after a limit of 0 was met.
        """
        table = self._entries.table
        if self.disabled or self._entries.full_at_zero or not is_cacheable(plan):
            return None
        known = table.get(key)
        if known is not None and not known.dead:
            return None
        table.pop(key, None)
        if self.limit == 0:
            self._entries.full_at_zero = True
            return None
        if len(table) >= self.limit:
            for _ in range(min(_DROPPED_AT_ONCE, len(table))):
                _, dropped = table.popitem(last=False)
                dropped.evicted_by = creator
        entry = table[key] = Entry(plan)
        return entry

    def withdraw(self, entry: Entry) -> None:
        """Make an entry unusable: its creator failed, was destroyed, or became repeatable."""
        entry.dead = True
        entry.usable = False


def _limit(text: str | None) -> int:
    try:
        number = int(text) if text is not None else _DEFAULT_LIMIT
    except ValueError:
        return _DEFAULT_LIMIT
    return _MAX_LIMIT if number < 0 else min(number, _MAX_LIMIT)
