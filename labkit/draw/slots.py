"""The six l0 operators that shapes and views decide about, and what became of each in a plan.

Contiguous and BroadcastTo of both inputs, the operator itself, ViewCopy; the
casts are left to the picture of the chain.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.op.plan import Plan, Step

__all__ = ["Slot", "slots"]

_ORDER = (
    ("Contiguous", "self"),
    ("Contiguous", "gradOutput"),
    ("BroadcastTo", "gradOutput"),
    ("BroadcastTo", "self"),
    ("HardShrinkGrad", "both"),
    ("ViewCopy", "gradInput"),
)
"""The order in which phase 1 calls them (aclnn_hardshrink_backward.cpp:188-227)."""


@dataclass(frozen=True)
class Slot:
    """One l0 operator in the plan of a call.

    `kind` is "launched", "skipped" (no kernel), "redirected" (the kernel
    before writes the output), "refused", "dropped" (its kernels were planned,
    then a later step failed) or "unreached". `numbers` count its kernels
    among all launches, from 0. `core` is where the last of them runs.
    """

    name: str
    operand: str
    kind: str
    kernels: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    note: str = ""
    core: str = "AICORE"

    @property
    def alarming(self) -> bool:
        """Whether the note is one to look at twice."""
        return self.kind == "refused" or self.core != "AICORE"


def slots(plan: Plan) -> tuple[Slot, ...]:
    """What became of the six."""
    inputs = [plan.arguments[name] for name in ("gradOutput", "self")]
    differ = getattr(inputs[0], "shape", None) != getattr(inputs[1], "shape", None)
    left = [step for step in plan.steps if step.layer == "l0"]
    if not plan.ok and left:
        left = left[:-1]  # the last is the one that failed
    inside = bool(left) or (plan.fault is not None and plan.steps[-1].layer == "l0")
    failed = plan.ok
    found = []
    for name, operand in _ORDER:
        if not inside:
            found.append(Slot(name, operand, "unreached", note="not reached"))
            continue
        if name == "BroadcastTo" and not differ:
            found.append(Slot(name, operand, "skipped", note="not called: equal shapes"))
            continue
        step = next((step for step in left if step.name == name), None)
        if step is not None:
            left.remove(step)
            found.append(_slot(plan, step, operand))
        elif not failed:
            failed = True
            note = _REFUSED.get(str(plan.failed_check), "refused")
            found.append(Slot(name, operand, "refused", note=note))
        else:
            found.append(Slot(name, operand, "unreached", note="not reached"))
    return tuple(found)


_REFUSED = {
    "Contiguous": "the view leaves its storage",
    "AsStrided": "AsStrided: its tiling refuses the view",
    "ViewCopy": "ViewCopy: its tiling refuses the view",
}


def _slot(plan: Plan, step: Step, operand: str) -> Slot:
    if not step.launches:
        if step.name == "ViewCopy":
            return Slot(
                step.name, operand, "redirected", note="no kernel: the one before writes it"
            )
        return Slot(step.name, operand, "skipped", note="no kernel: contiguous")
    if not plan.ok:
        return Slot(step.name, operand, "dropped", numbers=step.launches, note="planned, dropped")
    made = [plan.launches[number] for number in step.launches]
    core = made[-1].core
    where = {"AICPU": "on the AI CPU", "RTS": "a copy task"}
    return Slot(
        step.name,
        operand,
        "launched",
        tuple(launch.op_type for launch in made),
        step.launches,
        where.get(core, ""),
        core,
    )
