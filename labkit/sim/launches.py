"""What the two phases work on: the operators known, executors, what was launched and done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, TypeVar

from labkit.op.aclnn import plan_hardshrink, plan_hardshrink_backward
from labkit.op.plan import Plan
from labkit.sim.opcache import Entry
from labkit.sim.tensors import TensorObject

__all__ = ["OPERATORS", "Executor", "LaunchRecord", "Log", "OperatorModel"]

Item = TypeVar("Item")


@dataclass(frozen=True)
class OperatorModel:
    """An aclnn operator that the software NPU knows.

    `parameters` names its parameters in order, the scalars among them
    (`scalars`); `plan` takes the descriptors in that order (None for null) and
    the keywords `soc` and `kernel_workspaces` of `plan_hardshrink_backward`.
    `revision` tells apart what was added under one name, one after the other.
    """

    name: str
    parameters: tuple[str, ...]
    plan: Callable[..., Plan]
    scalars: tuple[str, ...] = ("lambd",)
    revision: int = 0


OPERATORS: dict[str, OperatorModel] = {
    "aclnnHardshrinkBackward": OperatorModel(
        "aclnnHardshrinkBackward",
        ("gradOutput", "self", "lambd", "gradInput"),
        plan_hardshrink_backward,
    ),
    "aclnnHardshrink": OperatorModel("aclnnHardshrink", ("self", "lambd", "out"), plan_hardshrink),
}


@dataclass(frozen=True)
class LaunchRecord:
    """One launch that phase 2 made: kernel, core, device addresses, how it went.

    `state` is "queued", "launch-failed" (the launcher refused) or
    "runtime-failed" (the runtime did).
    """

    op_type: str
    core: str
    addresses: tuple[int, ...]
    state: str = "queued"
    stream: int = 0


class Log(Generic[Item]):
    """The last entries, and how many there ever were."""

    def __init__(self, limit: int = 10_000) -> None:
        self.total = 0
        self._entries: deque[Item] = deque(maxlen=limit)

    def append(self, entry: Item) -> None:
        """Add an entry."""
        self.total += 1
        self._entries.append(entry)

    def since(self, total: int) -> list[Item]:
        """The entries made after there were `total`, as far as they are still kept."""
        count = min(self.total - total, len(self._entries))
        return list(islice(reversed(self._entries), count))[::-1]

    def __iter__(self) -> Iterator[Item]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


@dataclass(eq=False)
class Executor:
    """An aclOpExecutor: a plan bound to tensors.

    `hit` marks the light wrapper of an op-cache hit, whose addresses were
    captured in phase 1. `entry` is the cache entry that it made or hit,
    `recorded` whether a run of it can be replayed, `evicted` the entries that
    its own entry pushed out.
    """

    handle: int
    operator: str
    plan: Plan
    tensors: dict[str, TensorObject]
    captured: dict[str, int]
    repeatable: bool = False
    runs: int = 0
    storages: frozenset[int] = field(default_factory=frozenset)
    hit: bool = False
    entry: Entry | None = None
    recorded: bool = False
    evicted: list[Entry] = field(default_factory=list)
