"""Two sequences of names laid side by side so that as many as can be stand beside their like.

That is a longest common subsequence. It is found with a row of bits for each
element of the second sequence, a whole row at a time (Hyyrö's way: Bit-parallel
LCS-length computation revisited, 2004), so the worst case of 20,000 names on
each side takes a fraction of a second. What both sides share at their
beginning or end is taken off before, and so are names that one side has only.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from math import isqrt

__all__ = ["Places", "align", "align_finely"]

Places = list[tuple[int | None, int | None]]
"""Pairs of places in both sequences; None where an element stands on one side only."""


def align_finely(
    fine: tuple[Sequence[int], Sequence[int]], left: Sequence[str], right: Sequence[str]
) -> Places:
    """As `align`, but what is the same by the finer labels stands together first."""
    found: Places = []
    a = b = 0
    for i, j in [*align(*fine), (len(left), len(right))]:
        if i is None or j is None:
            continue
        between = align(left[a:i], right[b:j]) if a < i or b < j else []
        found += [(x if x is None else a + x, y if y is None else b + y) for x, y in between]
        if i < len(left):
            found.append((i, j))
        a, b = i + 1, j + 1
    return found


def align(left: Sequence[Hashable], right: Sequence[Hashable]) -> Places:
    """Places of both sides in order; None where a name stands on the other side only.

    >>> align("abcd", "bcx")
    [(0, None), (1, 0), (2, 1), (3, None), (None, 2)]
    """
    begin, end = _shared(left, right)
    a = range(begin, len(left) - end)
    b = range(begin, len(right) - end)
    both = {left[i] for i in a} & {right[j] for j in b}
    kept_a, kept_b = [i for i in a if left[i] in both], [j for j in b if right[j] in both]
    pairs = [(i, i) for i in range(begin)]
    found = _common([left[i] for i in kept_a], [right[j] for j in kept_b])
    pairs += [(kept_a[i], kept_b[j]) for i, j in found]
    pairs += [(len(left) - k, len(right) - k) for k in range(end, 0, -1)]
    return list(_filled(pairs, len(left), len(right)))


def _shared(left: Sequence[Hashable], right: Sequence[Hashable]) -> tuple[int, int]:
    """How many are the same at the beginning and at the end; the longer of them comes first."""
    most = min(len(left), len(right))
    begin = end = 0
    while begin < most and left[begin] == right[begin]:
        begin += 1
    while end < most and left[-1 - end] == right[-1 - end]:
        end += 1
    if begin >= end:
        return begin, min(end, most - begin)
    return min(begin, most - end), end


def _filled(
    pairs: list[tuple[int, int]], left: int, right: int
) -> Iterator[tuple[int | None, int | None]]:
    """The pairs, with what stands alone before each of them."""
    i = j = 0
    for a, b in [*pairs, (left, right)]:
        yield from ((place, None) for place in range(i, a))
        yield from ((None, place) for place in range(j, b))
        if (a, b) != (left, right):
            yield a, b
        i, j = a + 1, b + 1


def _common(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The pairs of a longest common subsequence.

    Bit i of row j is 0 where a[:i+1] has one more in common with b[:j] than
    a[:i] has. Rows are kept at every so many steps and made again from there.
    """
    masks = {
        name: int("".join("1" if name == other else "0" for other in reversed(a)), 2)
        for name in set(a)
    }
    full = (1 << len(a)) - 1

    def rows(row: int, begin: int) -> Iterator[int]:
        for name in islice(b, begin, None):
            shared = row & masks.get(name, 0)
            row = ((row + shared) | (row - shared)) & full
            yield row

    step = isqrt(len(b)) + 1
    kept = [full]
    for place, row in enumerate(rows(full, 0), 1):
        if place % step == 0:
            kept.append(row)
    found = []
    i, j = len(a), len(b)
    while i and j:
        block = (j - 1) // step
        near = [kept[block], *islice(rows(kept[block], block * step), step)]
        while i and j > block * step:
            if near[j - block * step] >> (i - 1) & 1:
                i -= 1
                continue
            j -= 1
            if near[j - block * step] >> (i - 1) & 1:
                i -= 1
                found.append((i, j))
    return found[::-1]
