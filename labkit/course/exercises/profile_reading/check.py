"""Read profiles: which of five calls made each of four, and which line of one cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from labkit.course.judge import Verdict, predicted
from labkit.explain.cli import tensor_desc
from labkit.host.device import Device
from labkit.observe import Comparison, compare, read_profile
from labkit.op import plan_hardshrink_backward

NOTEBOOK = 8
KIND = "predict"

SOC = "Ascend950PR_9599"
CALLS = {
    "plain": ("float32:4,1", "float32:1,4", "float32:4,4"),
    "fp16 gradient": ("float16:4,1", "float32:1,4", "float32:4,4"),
    "fp16 output": ("float32:4,1", "float32:1,4", "float16:4,4"),
    "two halves": ("float16:4,4", "bfloat16:4,4", "float32:4,4"),
    "gapped output": ("float32:4,4", "float16:4,4", "float32:4,4:8,1:0:4,8"),
}
"""The calls as `labkit explain` takes them: gradOutput, self, gradInput."""
PROFILES = ("A", "B", "C", "D")
WRONG = "wrong line of D"
_FOLDER = Path(__file__).parent


@cache
def truth() -> dict[str, Any]:
    """For each profile the call that differs least from it; and the line of D that differs."""
    found: dict[str, Any] = {}
    for name in PROFILES:
        compared = {call: _compared(name, call) for call in CALLS}
        found[name] = min(CALLS, key=lambda call: len(compared[call].differences))
    (line,) = _compared("D", found["D"]).differences
    found[WRONG] = int(line.kernel.split()[0])
    return found


def _compared(profile: str, call: str) -> Comparison:
    grad, x, out = (tensor_desc(call, text) for text in CALLS[call])
    plan = plan_hardshrink_backward(grad, x, 0.5, out, soc=SOC)
    return compare(plan, read_profile(_FOLDER / f"{profile}.csv"))


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a dict of call names and a line number; the device plays no part."""
    if isinstance(answer, Mapping):
        answer = {k: v.strip() if isinstance(v, str) else v for k, v in answer.items()}
    return predicted(answer, truth())
