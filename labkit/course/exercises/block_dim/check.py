"""Predict the cut: block dim, block factor and tiling key of six calls on chips of the 950."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.course.judge import Verdict, predicted
from labkit.host.device import Device
from labkit.op import tile

NOTEBOOK = 7
KIND = "predict"

_CHIPS = {72: "Ascend950PR_9599", 56: "Ascend950DT_9571", 8: "Ascend950PR_950z"}
"""A chip of the 950 family for each number of vector cores."""

CALLS: dict[str, tuple[int, str, int]] = {
    "16 fp16 on 72 cores": (16, "float16", 72),
    "73 fp32 on 72 cores": (73, "float32", 72),
    "1000 fp32 on 8 cores": (1000, "float32", 8),
    "1024 bf16 on 56 cores": (1024, "bfloat16", 56),
    "1025 bf16 on 72 cores": (1025, "bfloat16", 72),
    "a million fp16 on 56 cores": (1_000_000, "float16", 56),
}
"""Elements, dtype and cores of each call."""


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a dict of triples by the tiling model; the device plays no part."""
    if isinstance(answer, Mapping):
        answer = {k: tuple(v) if isinstance(v, list) else v for k, v in answer.items()}
    return predicted(answer, truth())


def truth() -> dict[str, tuple[int, int, int]]:
    """(block dim, block factor, tiling key) of each call."""
    cuts = {
        name: tile(total, dtype, soc=_CHIPS[cores]) for name, (total, dtype, cores) in CALLS.items()
    }
    return {name: (cut.block_dim, cut.block_factor, cut.tiling_key) for name, cut in cuts.items()}
