"""The workspace: which tensors live in it, for how long, and at which offset.

Models cann/opbase aa3cd74b composite_op/mem_mgr/memory_allocator.cpp,
common/utils/kernel_graph.cpp:198-239 and op_executor.cpp:608-625. The allocator
looks for the first bucket that fits but takes the *last* one, since its loop does
not stop; the worked totals show it.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Bucket", "Member", "align", "allocate"]


def align(size: int) -> int:
    """Bytes that a tensor of `size` bytes takes: 32 more, rounded up to 512; never 0.

    >>> align(0), align(480), align(481)
    (512, 512, 1024)
    """
    return (size + 32 + 511) & ~511


@dataclass(frozen=True)
class Member:
    """One tensor of the workspace.

    `name` is the buffer's name in the plan; `start` and `end` are launch
    numbers (first writer, last reader, both inclusive); `read_by_producer`
    holds the names that the producing kernel reads.
    """

    name: str
    size: int
    start: int
    end: int
    read_by_producer: frozenset[str]


@dataclass(frozen=True)
class Bucket:
    """A piece of workspace that several tensors use one after another."""

    offset: int
    size: int
    members: tuple[Member, ...]


def _fits(previous: Member, member: Member) -> bool:
    return previous.end < member.start and previous.name not in member.read_by_producer


def allocate(members: list[Member]) -> tuple[Bucket, ...]:
    """Put the members, in order of creation, into buckets; buckets lie one after another.

    A bucket takes a new member when its latest one is dead before the new one
    is born and is not read by the kernel that writes it.
    """
    buckets: list[list[Member]] = []
    for member in members:
        home = next((b for b in reversed(buckets) if _fits(b[-1], member)), None)
        if home is None:
            buckets.append([member])
        else:
            home.append(member)
    result, offset = [], 0
    for bucket in buckets:
        size = max(align(member.size) for member in bucket)
        result.append(Bucket(offset, size, tuple(bucket)))
        offset += size
    return tuple(result)
