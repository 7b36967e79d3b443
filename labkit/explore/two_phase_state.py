"""What the two-phase panel can be asked: the calls, the chips, the mistakes, the step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from labkit.course.c_examples import backward_program
from labkit.course.c_program import CProgram
from labkit.errors import LabValueError, shown
from labkit.explore.typed import CHIPS, chosen, read_chip, read_count
from labkit.language import Text

__all__ = [
    "CALLS",
    "SCENARIOS",
    "Scenario",
    "TwoPhaseState",
    "changed",
    "look_at",
    "program_of",
]

CALLS = {
    "plain": Text("2×2 fp32"),
    "mixed": Text("fp16 (4, 1) with fp32 (1, 4)"),
    "transposed": Text("2×2 fp32 into a transposed view"),
}

_PHASE_1 = "GetWorkspaceSize"
_PHASE_2 = "aclnnHardshrinkBackward(workspace"
_WAIT = "aclrtSynchronizeStream"
_READ = "aclrtMemcpy(outHost"


@dataclass(frozen=True)
class Scenario:
    """A program that differs from the correct one in one thing.

    `change` makes it; `look` names the (last) line behind which the difference shows;
    `real` says what the real library does there, as far as that is known; `fault`
    tells a mistake from a variation that is right too.
    """

    words: Text
    change: Callable[[CProgram], CProgram]
    look: str
    real: Text
    fault: bool = True


def _repeatable(program: CProgram) -> CProgram:
    second = "\n".join(
        line.text for line in program.lines if _WAIT in line.text or _PHASE_2 in line.text
    )
    program = program.inserted("aclSetAclOpExecutorRepeatable(executor)", after=_PHASE_1)
    program = program.inserted("aclDestroyAclOpExecutor(executor)", after=_READ)
    return program.inserted(second, after=_WAIT)


SCENARIOS = {
    "correct": Scenario(
        Text("the correct program"),
        lambda p: p,
        _PHASE_2,
        Text("An NPU may start on the queue at once; what is certain is known after the wait."),
        fault=False,
    ),
    "no synchronise": Scenario(
        Text("no synchronise before the copy back"),
        lambda p: p.without(_WAIT),
        _READ,
        Text("On an NPU the copy races with the kernels: old bytes, new ones, or some of both."),
    ),
    "workspace freed early": Scenario(
        Text("the workspace freed before the synchronise"),
        lambda p: p.moved("aclrtFree(workspace)", after=_PHASE_2),
        "aclrtFree(workspace)",
        Text("On an NPU the next aclrtMalloc may hand out memory that kernels still write to."),
    ),
    "input freed early": Scenario(
        Text("an input freed before the synchronise"),
        lambda p: p.moved("aclrtFree(gradAddr)", after=_PHASE_2),
        "aclrtFree(gradAddr)",
        Text("On an NPU the kernel reads whatever lies there when it runs."),
    ),
    "phase 2 twice": Scenario(
        Text("phase 2 twice with one executor"),
        lambda p: p.inserted(p.lines[p.find(_PHASE_2)].text, after=_PHASE_2),
        _PHASE_2,
        Text(
            "The real library reads the freed executor: it was seen to return 161001 without a "
            "message and to free the block once more. That is luck, not a promise."
        ),
    ),
    "workspace null": Scenario(
        Text("no workspace allocated"),
        lambda p: p.without("aclrtMalloc(&workspace"),
        _PHASE_2,
        Text("The real library refuses in the same way, and deletes the executor."),
    ),
    "workspace too small": Scenario(
        Text("a workspace of 32 bytes"),
        lambda p: p.replaced(
            "aclrtMalloc(&workspace",
            "if (workspaceSize > 0) aclrtMalloc(&workspace, 32, ACL_MEM_MALLOC_HUGE_FIRST)",
        ),
        _PHASE_2,
        Text("The real library cannot know how large the block is; kernels write past its end."),
    ),
    "tensor destroyed early": Scenario(
        Text("a tensor destroyed before phase 2"),
        lambda p: p.moved("aclDestroyTensor(self)", after=_PHASE_1),
        _PHASE_2,
        Text("On the real library this ran and looked right, while it read freed memory."),
    ),
    "executor destroyed early": Scenario(
        Text("the executor destroyed before phase 2"),
        lambda p: p.inserted("aclDestroyAclOpExecutor(executor)", after=_PHASE_1),
        _PHASE_2,
        Text("The real library reads the freed executor; it was seen to return 161001."),
    ),
    "phase 2 left out": Scenario(
        Text("phase 2 left out"),
        lambda p: p.without(_PHASE_2),
        _READ,
        Text(
            "The executor stays, and a thread of the real library that ends like this waits "
            "59 seconds at its end."
        ),
    ),
    "tensor never destroyed": Scenario(
        Text("the output tensor never destroyed"),
        lambda p: p.without("aclDestroyTensor(gradInput)"),
        "aclFinalize",
        Text("The real library reports nothing; the host's memory grows call by call."),
    ),
    "repeatable": Scenario(
        Text("a repeatable executor, phase 2 twice"),
        _repeatable,
        _READ,
        Text("Made for loops: checks and planning are paid once, phase 2 as often as you like."),
        fault=False,
    ),
}


@dataclass(frozen=True)
class TwoPhaseState:
    """What the panel was asked to show.

    `call` is a key of `CALLS`, `soc` names the chip, `scenario` a key of
    `SCENARIOS`; `strict` whether what is undefined is caught; `step` how many
    calls have been made.
    """

    call: str = "plain"
    soc: str = CHIPS[0]
    scenario: str = "correct"
    strict: bool = True
    step: int = 15


@lru_cache(maxsize=len(CALLS) * len(SCENARIOS))
def program_of(call: str, scenario: str) -> CProgram:
    """The program of a scenario."""
    return SCENARIOS[scenario].change(backward_program(call))


def look_at(call: str, scenario: str) -> int:
    """How many calls have been made where a scenario shows what it is about."""
    lines = program_of(call, scenario).lines
    return max(n for n, line in enumerate(lines, 1) if SCENARIOS[scenario].look in line.text)


def changed(state: TwoPhaseState, changes: dict[str, Any]) -> TwoPhaseState:
    """The state with what was typed or chosen; raises `LabValueError` where it cannot be.

    Another scenario moves the step to where it shows, unless a step is given too.
    """
    wanted = dict(changes)
    for name, known in (("call", CALLS), ("scenario", SCENARIOS)):
        if name in wanted:
            wanted[name] = chosen(name, wanted[name], known)
    if "soc" in wanted:
        wanted["soc"] = read_chip(wanted["soc"])
    if "strict" in wanted and not isinstance(wanted["strict"], bool):
        raise LabValueError(
            Text("strict is True or False, not {value}", value=shown(wanted["strict"]))
        )
    if "step" in wanted:
        wanted["step"] = read_count("step", wanted["step"])
    new = replace(state, **wanted)
    total = len(program_of(new.call, new.scenario).lines)
    if "step" not in wanted:
        moved = new.scenario != state.scenario
        step = look_at(new.call, new.scenario) if moved else min(new.step, total)
        return replace(new, step=step)
    if not 0 <= new.step <= total:
        raise LabValueError(
            Text("step is {step}; this program has {total} calls", step=new.step, total=total)
        )
    return new
