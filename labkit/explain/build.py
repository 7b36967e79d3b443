"""From a plan, or a call that was made, to its chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.errors import LabValueError
from labkit.explain.aclnn_layer import aclnn_steps, lambd_text
from labkit.explain.calls import plan_of_call, run_of_call
from labkit.explain.chain import Chain, Run
from labkit.explain.kernel_layer import kernel_steps
from labkit.explain.l0_layer import definition_steps, l0_steps, reached_lambd
from labkit.explain.maker import Maker
from labkit.explain.places import workspace_of
from labkit.op.plan import Plan
from labkit.op.tables import load_table

if TYPE_CHECKING:
    from labkit.host.twophase import Call

__all__ = ["build_chain", "explain"]


def explain(call_or_plan: Call | Plan) -> Chain:
    """Tell the chain of a call: every step over four layers, with its source and its reason.

    Takes a `labkit.op` plan ("not run"), or a call that was made, whose
    device, status and record are then told too. Raises `LabValueError` for
    anything else, and for an operator that the model does not know.

    >>> import labkit
    >>> from labkit.op import TensorDesc, plan_hardshrink_backward
    >>> t = TensorDesc("float32", (2, 2))
    >>> chain = labkit.explain(plan_hardshrink_backward(t, t, 0.5, t))
    >>> [step.name for step in chain.launches], chain.workspace_size
    (['HardShrinkGrad'], 512)
    """
    if isinstance(call_or_plan, Plan):
        return build_chain(call_or_plan)
    try:
        known = all(hasattr(call_or_plan, name) for name in ("operator", "arguments", "record"))
    except Exception:  # of anybody's __getattr__
        known = False
    if not known:
        raise LabValueError(
            f"explain takes a call or a plan, not {type(call_or_plan).__name__}; right would be "
            "labkit.explain(labkit.hardshrink_backward(...)) or "
            "labkit.explain(labkit.op.plan_hardshrink_backward(...))"
        )
    plan = plan_of_call(call_or_plan)
    return build_chain(plan, run_of_call(call_or_plan, plan))


def build_chain(plan: Plan, run: Run | None = None) -> Chain:
    """The chain of a plan; `run` is what a call that was made told."""
    maker = Maker(plan)
    steps = (
        *aclnn_steps(maker, reached_lambd(maker), run),
        *l0_steps(maker),
        *definition_steps(maker),
        *kernel_steps(maker),
    )
    tensors = tuple(name for name in plan.arguments if name != "lambd")
    return Chain(
        operator=plan.operator,
        soc=plan.soc.name,
        family=plan.soc.family,
        status=plan.status,
        status_name=plan.status_name,
        meaning=_meaning(plan.status),
        message=plan.fault.messages[-1].text if plan.fault and plan.fault.messages else "",
        remedy=plan.fault.remedy if plan.fault else "",
        failed_check=plan.failed_check,
        arguments=tuple(maker.argument(name) for name in tensors),
        argument_names=tensors,
        lambd=lambd_text(plan),
        result_shape=plan.result_shape,
        promoted=plan.promoted.short if plan.promoted else None,
        steps=steps,
        workspace=workspace_of(maker),
        run=run,
        plan=plan,
    )


def _meaning(status: int) -> str:
    rows = load_table("codes")["codes"]
    found = [row for row in rows if row["code"] == status and row["layer"] == "aclnn"]
    return str(found[0]["meaning"]) if found else ""
