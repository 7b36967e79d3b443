"""From a chain that is told to the boxes of its picture, the mark on one of them, and its words."""

from __future__ import annotations

from labkit.draw.chain import state_lines
from labkit.draw.sheet import dtype_text, grouped, plain
from labkit.draw.steps import QUESTION, StepBox, StepsView
from labkit.draw.steps_mark import Mark
from labkit.draw.workspace import bytes_text
from labkit.explain import Chain, ChainStep, Port
from labkit.language import Text
from labkit.language import gettext as _
from labkit.op.dtypes import data_type
from labkit.op.plan import Plan

__all__ = ["mark_of", "steps_alt_text", "view_of"]

_CORES = {"AICPU": "AI CPU", "RTS": "runtime copy"}


def view_of(chain: Chain) -> StepsView:
    """The boxes of a chain, one per step, in its order."""
    plan = _plan(chain)
    head = (state_lines(plan)[0], _outcome(plan))
    return StepsView(head, tuple(_box(step, plan) for step in chain), plan)


def _outcome(plan: Plan) -> Text:
    """Operator, chip, and what phase 1 answers."""
    count = len(plan.launches)
    if plan.ok:
        told = Text(
            "{launches} · workspace {size}",
            launches=Text("1 launch") if count == 1 else Text("{count} launches", count=count),
            size=bytes_text(plan.workspace_size),
        )
    else:
        told = Text(
            "{status} {name}: stopped by {check}",
            status=plan.status,
            name=plan.status_name,
            check=plan.failed_check,
        )
    return Text(
        "{operator} on {chip} · {told}", operator=plan.operator, chip=plan.soc.name, told=told
    )


def _plan(chain: Chain) -> Plan:
    assert chain.plan is not None
    return chain.plan


def _box(step: ChainStep, plan: Plan) -> StepBox:
    if step.layer == "l0":
        lane = step.subject if step.subject in ("gradOutput", "self") else ""
        if plan.operator == "aclnnHardshrink":
            lane = ""
        return StepBox("l0", step.name, step.state, lane, (_flow(step), _launched(step, plan)))
    if step.layer == "definition":
        launch = plan.launches[step.launches[0]]
        core = _CORES.get(launch.core, "")
        lines = f"{step.launches[0] + 1}", f"→ {launch.outputs[0].buffer}"
        return StepBox("definition", step.name, step.state, "", lines, core)
    if step.layer == "kernel":
        return StepBox("kernel", step.name, step.state, "", _kernel_lines(step))
    return StepBox("L2", step.name, step.state)


def _flow(step: ChainStep) -> str:
    """What comes out of an l0 operator, and in what it differs from what went in."""
    if not step.outputs:
        return step.subject if step.state == "stopped" else ""
    after = step.outputs[0]
    has = _shape(after)
    dtype = dtype_text(data_type(after.dtype))
    if step.launches and step.name in ("BroadcastTo", "Cast") and step.inputs:
        before = step.inputs[0]
        old = dtype_text(data_type(before.dtype))
        if old != dtype:
            return f"{old} → {dtype}"
        if before.shape != after.shape:
            return f"{_shape(before)} → {has}"
    return f"{dtype} {has}"


def _shape(port: Port) -> str:
    return f"[{', '.join(map(str, port.shape))}]"


def _launched(step: ChainStep, plan: Plan) -> str:
    """What an l0 operator launches, in a few letters."""
    if step.launches:
        numbers = [number + 1 for number in step.launches]
        if len(numbers) == 1:
            return f"launch {numbers[0]}"
        return f"launches {numbers[0]}–{numbers[-1]}"
    if step.state == "redirected":
        written = [n for n, x in enumerate(plan.launches, 1) if x.outputs[0].redirected]
        return f"launch {written[0]} writes it" if written else "no kernel"
    told = {"stopped": f"stopped: {plan.status}", "discarded": "planned, dropped"}
    return told.get(step.state, "" if step.state == "not reached" else "no kernel")


def _kernel_lines(step: ChainStep) -> tuple[str, ...]:
    facts = {str(name): str(value) for name, value in step.facts}
    if step.name == "Tiling" and facts:
        cores, share, tile = (
            int(facts[name].partition(" ")[0]) for name in ("blockDim", "blockFactor", "ubFactor")
        )
        first = f"key {facts['tilingKey']}, tile {tile}"
        return first, f"{cores} {'core' if cores == 1 else 'cores'}, {grouped(share)} each"
    if not step.items:
        return "", str(step.why)
    _where, colon, what = str(step.why).partition(": ")
    what = (what if colon else str(step.why)).replace(" computed", "")
    first, comma, rest = what.partition(", ")
    return ("tile 1" if colon else "", what) if not comma else (first, rest)


# -- the mark -----------------------------------------------------------------------------


def mark_of(chain: Chain, step: int) -> Mark:
    """The mark on a step (from 1), and on what belongs to it in the other layers.

    An l0 operator belongs with the kernels it launches, a launch with its l0
    operator and with what it puts into the workspace, the kernel layer with
    the launch that runs it.
    """
    marked = chain[step - 1]
    launches = set(marked.launches)
    if marked.layer == "kernel":
        launches = {
            number
            for number, launch in enumerate(_plan(chain).launches)
            if launch.op_type.startswith("HardShrink")
        }
    if marked.state == "redirected":
        launches = {n for n, x in enumerate(_plan(chain).launches) if x.outputs[0].redirected}
    related = tuple(
        number
        for number, other in enumerate(chain)
        if number != step - 1 and launches & set(other.launches)
    )
    own = tuple(sorted(launches)) if marked.layer in ("l0", "definition") else ()
    return Mark(step - 1, related, own, workspace=marked.name == "WorkspaceSize")


# -- in words -----------------------------------------------------------------------------


def steps_alt_text(chain: Chain, step: int) -> str:
    """The picture in words: the call, its steps by layer, the workspace, the step marked."""
    plan = _plan(chain)
    lines = _("; ").join([state_lines(plan, _)[0], _(_outcome(plan))])
    told = [_("{question} {lines}.").format(question=_(QUESTION), lines=lines)]
    layers = {
        "L2": _("Checks: {steps}."),
        "l0": _("l0 operators: {steps}."),
        "definition": _("Launches: {steps}."),
        "kernel": _("Kernel: {steps}."),
    }
    for layer, sentence in layers.items():
        steps = chain.layer(layer)
        if steps:
            told.append(sentence.format(steps=_("; ").join(_words(item, plan) for item in steps)))
    for number, bucket in enumerate(plan.buckets):
        names = _(", ").join(member.name for member in bucket.members)
        told.append(
            _("Bucket {number}, {size} bytes: {names}.").format(
                number=number, size=bucket.size, names=names
            )
        )
    marked = chain[step - 1]
    told.append(
        _("Marked is step {step} of {count}, {title}: {why}.").format(
            step=step, count=len(chain), title=marked.title, why=_(marked.why or marked.state)
        )
    )
    return plain(" ".join(told))


def _words(step: ChainStep, plan: Plan) -> str:
    """A step in words: title, state, and what it launches or where it runs."""
    if step.layer == "definition":
        launch = plan.launches[step.launches[0]]
        core = _CORES.get(launch.core, "AI Core")
        return f"{step.launches[0] + 1} {step.name} ({core})"
    if step.layer == "kernel":
        return f"{step.title} ({_(step.why)})"
    if step.launches:
        numbers = ", ".join(str(number + 1) for number in step.launches)
        return _("{title} makes launch {numbers}").format(title=step.title, numbers=numbers)
    return f"{step.title} ({_(step.state)})"
