"""Pieces of workspace as lifetimes: (bytes, first launch, last launch), in order of creation.

For the exercises about the allocator. A piece that a kernel reads lives until
that kernel, so lifetimes tell all that the allocator asks.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from labkit.errors import LabValueError
from labkit.language import gettext as _
from labkit.op import Plan
from labkit.op.workspace import Member, align, allocate

__all__ = ["Piece", "first_fit_bytes", "pieces_of", "read_pieces", "workspace_bytes"]

Piece = tuple[int, int, int]

_MOST = 64


def pieces_of(plan: Plan) -> tuple[Piece, ...]:
    """What lives in the workspace of a call, in the order in which it was created."""
    members = [member for bucket in plan.buckets for member in bucket.members]
    # Of one launch the kernel's own workspace is created before its result.
    members.sort(key=lambda member: (member.start, not member.name.startswith("kernel")))
    return tuple((member.size, member.start, member.end) for member in members)


def workspace_bytes(pieces: Sequence[Piece]) -> int:
    """Bytes of workspace for the pieces, as the allocator lays them out.

    >>> workspace_bytes([(64, 0, 1), (100, 2, 2)])
    512
    """
    members = [
        Member(f"piece{number}", size, first, last, frozenset())
        for number, (size, first, last) in enumerate(pieces)
    ]
    return sum(bucket.size for bucket in allocate(members))


def first_fit_bytes(pieces: Sequence[Piece]) -> int:
    """The same with the twin's rule: the first bucket that is free, not the last."""
    buckets: list[list[int]] = []  # bytes taken, last launch of the latest piece
    for size, first, last in pieces:
        home = next((bucket for bucket in buckets if bucket[1] < first), None)
        if home is None:
            home = [0, 0]
            buckets.append(home)
        home[:] = max(home[0], align(size)), last
    return sum(taken for taken, _last in buckets)


def read_pieces(answer: Any) -> tuple[Piece, ...]:
    """The pieces of an answer; raises `LabValueError` for what cannot be a list of them."""
    try:
        pieces = []
        for _number, piece in zip(range(_MOST + 1), answer):
            size, first, last = (operator.index(part) for part in piece)
            pieces.append((size, first, last))
    except (TypeError, ValueError):
        raise LabValueError(
            _("an answer is a list of triples: (bytes, first launch, last launch)")
        ) from None
    if not 1 <= len(pieces) <= _MOST:
        raise LabValueError(_("give at least one piece, and at most {most}").format(most=_MOST))
    started = 0
    for size, first, last in pieces:
        if not 0 <= size < 2**40 or not started <= first <= last < 2**31:
            raise LabValueError(
                _(
                    "{piece} cannot be: bytes are not negative, a piece does not end before it "
                    "starts, and none starts before the one in front of it"
                ).format(piece=(size, first, last))
            )
        started = first
    return tuple(pieces)
