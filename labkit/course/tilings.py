"""Telling work to cut: the totals, dtypes and chips on which answers about tiling are tried."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from labkit.language import gettext as _
from labkit.op import Tiling, find_soc, tile

__all__ = ["Work", "telling_work"]

SOC = "Ascend950PR_9599"
_TOTALS = (1, 16, 64, 65, 72, 73, 128, 129, 145, 1000, 1024, 1025, 4096, 4097, 9856, 65536, 10**7)
_DTYPES = ("float32", "float16", "bfloat16")
_EDGE = 3
"""Totals on either side of the largest tile."""


@dataclass(frozen=True)
class Work:
    """So many elements of a dtype for so many cores with so much UB each."""

    total: int
    dtype: str
    cores: int
    ub_bytes: int

    @property
    def public(self) -> Tiling:
        """The cut of the public tiling."""
        return tile(self.total, self.dtype, cores=self.cores, ub_bytes=self.ub_bytes)

    def arguments(self) -> tuple[int, str, int, int]:
        """Total, dtype, cores, UB bytes: what an answer is called with."""
        return self.total, self.dtype, self.cores, self.ub_bytes

    def words(self) -> str:
        """How the work is named in a verdict."""
        return _("{total} elements of {dtype}, {cores} cores, {ub} bytes of UB").format(
            total=self.total, dtype=self.dtype, cores=self.cores, ub=self.ub_bytes
        )


def telling_work(seed: int = 7, spread: int = 200) -> Iterator[Work]:
    """Work on which wrong cuts part from the public one, the smallest first, then a spread.

    The spread takes cores and UB from all over, the same on each run.
    """
    chip = find_soc(SOC)
    whole = chip.tiling_cores, chip.tiling_ub_bytes
    caps = {tile(2**40, dtype).ub_factor for dtype in _DTYPES}
    near = {cap + step for cap in caps for step in range(-_EDGE, _EDGE + 1)}
    for total in sorted({*_TOTALS, *near}):
        for dtype in _DTYPES:
            yield Work(total, dtype, *whole)
    chosen = random.Random(seed)
    for _number in range(spread):
        total = round(2 ** chosen.uniform(0, 34))
        cores, ub = chosen.randint(1, 96), chosen.randrange(20_000, 300_000, 32)
        yield Work(total, chosen.choice(_DTYPES), cores, ub)
