"""The tables of facts that the operator model reads: dtypes, promotion, chips.

Source: `labkit/data/*.json`; each file names the repository, path and commit
of CANN that its numbers come from. Everything here is read once, on first use.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from labkit.errors import LabValueError, shown

__all__ = ["Soc", "find_soc", "load_table", "socs"]

_DATA = Path(__file__).resolve().parent.parent / "data"

DEFAULT_SOC = "Ascend950PR_9599"


@cache
def load_table(name: str) -> Any:
    """Read `labkit/data/<name>.json`."""
    return json.loads((_DATA / f"{name}.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Soc:
    """One chip, as the runtime's platform files describe it.

    `tiling_cores` and `tiling_ub_bytes` are what a tiling function is told:
    vector cores where cube and vector are split, else AI cores; the UB size
    less the 256 bytes that the platform class keeps back on A2 and A3.
    Sizes are bytes, `mhz` is the core clock; None where the file is silent.

    Source: cann/runtime src/platform/platform_config, cann/asc-devkit
    platform_ascendc.cpp:108-159 (commits in data/socs.json).
    """

    name: str
    short: str
    family: str
    npu_arch: int
    ai_cores: int
    vector_cores: int
    split: bool
    tiling_cores: int
    ub_bytes: int
    tiling_ub_bytes: int
    l2_bytes: int | None
    memory_bytes: int | None
    mhz: int | None
    malloc_padding: int

    @property
    def is_regbase(self) -> bool:
        """Whether the op_api code takes the register-based (arch35) road: NpuArch 3510 only."""
        return self.npu_arch == 3510

    @property
    def copies_into_contiguous_output(self) -> bool:
        """First-generation chips, where ViewCopy may be a memcpy task (aclnn ViewCopy)."""
        return self.short in ("Ascend910", "Ascend310", "Ascend310P")


@cache
def socs() -> dict[str, Soc]:
    """Every chip of the table, by the name `aclrtGetSocName` gives."""
    return {row[0]: Soc(*row) for row in load_table("socs")["socs"]}


_FAMILIES = {
    # What people say -> the chip it stands for here. "910B" in package names
    # means A2; the chip named exactly Ascend910B is a first-generation 910.
    "950": "Ascend950PR_9599",
    "ascend950": "Ascend950PR_9599",
    "910b": "Ascend910B1",
    "a2": "Ascend910B1",
    "910_93": "Ascend910_9391",
    "a3": "Ascend910_9391",
    "910": "Ascend910A",
    "ascend910": "Ascend910A",
    "310p": "Ascend310P3",
    "310b": "Ascend310B1",
}


def find_soc(name: str | None = None) -> Soc:
    """The chip of that name (exact, or a family word such as "950", "910b", "a3").

    Raises `LabValueError` with near names when there is none.
    """
    wanted = DEFAULT_SOC if name is None else name
    if not isinstance(wanted, str):
        raise LabValueError(
            f"a chip is named by a text such as {DEFAULT_SOC!r}, not {shown(wanted)}"
        )
    return _found(wanted)


@cache
def _found(wanted: str) -> Soc:
    table = socs()
    found = table.get(wanted) or table.get(_FAMILIES.get(wanted.lower(), ""))
    if found is None:
        by_case = {key.lower(): soc for key, soc in table.items()}
        found = by_case.get(wanted.lower())
    if found is None:
        import difflib

        near = difflib.get_close_matches(wanted, list(table), n=4, cutoff=0.3)
        raise LabValueError(
            f"no chip named {shown(wanted)} in the table of {len(table)}; "
            f"near: {', '.join(near) or 'none'}; or a family: {', '.join(sorted(_FAMILIES))}"
        )
    return found
