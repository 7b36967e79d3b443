"""What a profile of a call cannot show: checks, idle steps, outputs pointed elsewhere.

A profile lists kernels. That a Cast was not needed, that an output was written
without a copy, that a copy was a task of the runtime and no kernel: none of it
leaves a line. Only the source, or the log, tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.explain.build import explain
from labkit.observe.compare import plan_that_ran
from labkit.op.plan import Plan

if TYPE_CHECKING:
    from labkit.host.twophase import Call

__all__ = ["Unseen", "unseen"]


@dataclass(frozen=True)
class Unseen:
    """The steps of a call by whether op_summary has a line for them.

    `kernels` have one. `checks` are the steps of L2, `skipped` the l0
    operators that launched nothing, `redirected` those that pointed a kernel
    at the caller's memory, `copies` the copy tasks of the runtime.
    """

    kernels: tuple[str, ...]
    checks: tuple[str, ...]
    skipped: tuple[str, ...]
    redirected: tuple[str, ...]
    copies: tuple[str, ...]


def unseen(call: Call | Plan) -> Unseen:
    """Sort the steps of a call; raises `LabValueError` for one that failed."""
    plan = plan_that_ran(call)
    chain = explain(plan)

    def l0(state: str) -> tuple[str, ...]:
        return tuple(step.title for step in chain.layer("l0") if step.state == state)

    return Unseen(
        kernels=tuple(launch.op_type for launch in plan.launches if launch.core != "RTS"),
        checks=tuple(step.name for step in chain.layer("L2")),
        skipped=l0("skipped"),
        redirected=l0("redirected"),
        copies=tuple(launch.op_type for launch in plan.launches if launch.core == "RTS"),
    )
