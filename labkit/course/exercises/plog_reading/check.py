"""Build a reader of the log: judged on logs of one call, of many, and of calls side by side."""

from __future__ import annotations

import random
from functools import cache
from itertools import islice
from typing import Any

from labkit.course.judge import Verdict, not_yet, passed, told
from labkit.explain.cli import tensor_desc
from labkit.host.device import Device
from labkit.language import gettext as _
from labkit.observe.plog import calls, parse
from labkit.observe.samples import log_sample
from labkit.op import plan_hardshrink, plan_hardshrink_backward
from labkit.op.plan import Plan

NOTEBOOK = 8
KIND = "build"

CALLS = (
    ("float32:4,4", "float32:4,4", "float32:4,4"),
    ("float32:3", "float32:2", "float32:3"),  # refused: the log has an error and no launch
    ("float16:4,4", "float32:4,4", "float32:4,4"),
    ("float16:4,1", "float32:1,4", "float16:4,4"),
    ("float32:4,4:1,4", "bfloat16:4,4", "float32:4,4:8,1:0:4,8"),
)
_NOISE = (
    "[INFO] OP(1,python3):2000-01-01-00:00:00.000.000 [op_kernel.h:0][NNOP][BinLoad][1] "
    "OpName:[{call}_CastAiCore] Available bin for op Cast is found",
    "[WARNING] OP(1,python3):2000-01-01-00:00:00.000.000 [op_kernel.h:0][NNOP][Launch][1] "
    "OpName:[{call}_CastAiCore] Core type: AIV.",
    "[EVENT] RUNTIME(1,python3):2000-01-01-00:00:00.000.000 [task.cc:0]1 task is done",
)
_TRIES = 120
_MOST = 1000

Log = tuple[tuple[str, ...], str]
"""The lines of a log, and the call whose launches are asked for."""


@cache
def inputs() -> tuple[Log, ...]:
    """Logs, the shortest first; the same on each run."""
    plans = _plans()
    name = plans[0].operator
    found: list[Log] = [(tuple(log_sample(plan)), f"{name}_1") for plan in plans[:4]]
    found.append((tuple(log_sample(plans[0], plans[2])), f"{name}_2"))
    draw = random.Random(8)
    for number in range(_TRIES):
        first = draw.choice((1, 1, 2, 9, 10))
        chosen = [draw.choice(plans) for _call in range(2 + number % 4)]
        logs = [list(log_sample(plan, first=first + at)) for at, plan in enumerate(chosen)]
        if number % 3 == 0:  # ten calls later: 1 is the beginning of 11
            logs.append(list(log_sample(draw.choice(plans), first=10 * first + 1)))
        asked = draw.randrange(len(chosen))
        call = f"{chosen[asked].operator}_{first + asked}"
        noise = [text.format(call=call) for text in _NOISE] if number % 2 else []
        found.append((tuple(_merged([*logs, noise], draw)), call))
    return tuple(sorted(found, key=lambda log: len(log[0])))


def _plans() -> list[Plan]:
    found = []
    for texts in CALLS:
        grad, x, out = (tensor_desc("call", text) for text in texts)
        found.append(plan_hardshrink_backward(grad, x, 0.5, out))
    half = tensor_desc("call", "float16:4,4")
    return [*found, plan_hardshrink(half, 0.5, half)]


def _merged(logs: list[list[str]], draw: random.Random) -> list[str]:
    """Calls of several threads: each keeps its order, the lines stand between one another."""
    left = [list(log) for log in logs if log]
    found = []
    while left:
        log = draw.choice(left)
        found.append(log.pop(0))
        left = [log for log in left if log]
    return found


def launches(lines: tuple[str, ...], asked: str) -> list[str]:
    """What is right, by the lab's own reader."""
    for call in calls(parse(lines)):
        if f"{call.operator}_{call.sequence}" == asked:
            return list(call.launches)
    return []


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a function from the lines of a log and the name of a call to op types."""
    for lines, asked in inputs():
        want = launches(lines, asked)
        try:
            got = answer(list(lines), asked)
            # whatever can be gone through counts as a list, and none is gone through for ever
            listed = got if isinstance(got, str) else list(islice(iter(got), _MOST))
        except Exception as error:
            return told(error)
        if not _same(listed, want):
            return not_yet(
                _("the smallest log that betrays it has {n} lines and is asked for {call}").format(
                    n=len(lines), call=asked
                ),
                *_excerpt(lines),
                _("the log says {value}").format(value=want),
                _("your answer says {value}").format(value=_short(listed)),
            )
    return passed(_("right, on all {n} logs tried").format(n=len(inputs())))


def _same(got: Any, want: list[str]) -> bool:
    try:
        return bool(got == want)
    except Exception:
        return False


def _excerpt(lines: tuple[str, ...]) -> list[str]:
    """The lines that matter most, from OpName on; not more than eight."""
    told_ = [line.partition("OpName:")[2] for line in lines if " to Launch " in line]
    return [f"    {text}" for text in told_[:8]]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
