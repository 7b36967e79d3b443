"""The l0 layer and the definition layer: what launches, what does not, and why.

The plan's steps come in the order of the calls; here each gets its subject
(which tensor it works on), and the ones that a failing call never reached are
added.
"""

from __future__ import annotations

from typing import Any

from labkit.explain.aclnn_layer import stops_in_check
from labkit.explain.chain import ChainStep, Note, Port
from labkit.explain.maker import NOT_REACHED, Maker
from labkit.explain.words import joined, listed
from labkit.language import Text
from labkit.op.describe import contiguous_strides, shape_text
from labkit.op.dtypes import data_type
from labkit.op.plan import Launch, Step

__all__ = ["definition_steps", "l0_steps", "reached_lambd"]

_PORTS: dict[str, tuple[str, ...]] = {
    "HardShrinkGrad": ("gradients", "features", "backprops"),
    "HardShrink": ("self", "out"),
    "BroadcastTo": ("x", "shape", "y"),
    "Cast": ("x", "y"),
    "Transpose": ("x", "perm", "y"),
    "Slice": ("x", "offsets", "size", "y"),
    "SliceV2": ("x", "offsets", "size", "y"),
    "StridedSlice": ("x", "begin", "end", "strides", "y"),
    "AsStrided": ("x", "size", "stride", "storage_offset", "y"),
    "ViewCopy": (
        *("dst", "dst_size", "dst_stride", "dst_storage_offset"),
        *("src", "src_size", "src_stride", "src_storage_offset", "dst"),
    ),
    "CopyNpuToNpu": ("src", "dst"),
}
"""Names of the operands, inputs first, the output last."""

_CORES = {
    "AICORE": "AI Core",
    "AICPU": "AI CPU",
    "RTS": Text("no kernel: a copy task of the runtime"),
}

_RESULT = Text("result")


def _expected(maker: Maker) -> list[tuple[str, str]]:
    """The l0 operators of this call in order, each with what it works on."""
    out = maker.out_name
    if maker.operator == "forward":
        return [
            ("Contiguous", "self"),
            ("HardShrink", ""),
            ("Cast", _RESULT),
            ("ViewCopy", Text("to {name}", name=out)),
        ]
    tensors = maker.tensors
    both = [("BroadcastTo", "gradOutput"), ("BroadcastTo", "self")]
    shapes = {tensors[name].shape for name in ("gradOutput", "self") if name in tensors}
    return [
        ("Contiguous", "self"),
        ("Contiguous", "gradOutput"),
        *(both if len(shapes) > 1 else []),
        ("Cast", "gradOutput"),
        ("Cast", "self"),
        ("HardShrinkGrad", ""),
        ("Cast", _RESULT),
        ("ViewCopy", Text("to {name}", name=out)),
    ]


def _done(maker: Maker) -> list[Step]:
    """The l0 steps of the plan that were carried out."""
    plan = maker.plan
    if stops_in_check(plan):
        return []
    return list(plan.steps if plan.ok else plan.steps[:-1])


def reached_lambd(maker: Maker) -> bool:
    """Whether the call came as far as λ, which is read right before the operator itself."""
    if stops_in_check(maker.plan):
        return False
    names = [name for name, _ in _expected(maker)]
    before = next(place for place, name in enumerate(names) if name.startswith("HardShrink"))
    return len(_done(maker)) >= before


def l0_steps(maker: Maker) -> tuple[ChainStep, ...]:
    """The l0 operators: launched, skipped, redirected, stopped or not reached."""
    plan = maker.plan
    done = _done(maker)
    steps = []
    for place, (name, subject) in enumerate(_expected(maker)):
        if place < len(done):
            steps.append(_carried_out(maker, done[place], subject))
        elif place == len(done) and not stops_in_check(plan):
            steps.append(_stopped(maker, name, subject))
        else:
            steps.append(maker.step("l0", name, NOT_REACHED, subject=subject))
    return tuple(steps)


def _stopped(maker: Maker, name: str, subject: str) -> ChainStep:
    fault = maker.plan.fault
    assert fault is not None
    facts = (
        (Text("returns"), f"{fault.status} {maker.plan.status_name}"),
        (Text("right would be"), fault.remedy),
        (Text("error list"), joined(message.code for message in fault.messages)),
    )
    return maker.step("l0", name, "stopped", fault.messages[-1].text, subject=subject, facts=facts)


def _carried_out(maker: Maker, step: Step, subject: str) -> ChainStep:
    if step.launches and not maker.plan.ok:  # a failing plan keeps no launches
        dropped = Text("planned and thrown away, since a later step fails: {why}", why=step.why)
        outputs = _outputs(maker, step, [])
        return maker.step("l0", step.name, "discarded", dropped, subject=subject, outputs=outputs)
    launches = [maker.plan.launches[number] for number in step.launches]
    state = "launched" if launches else "redirected" if step.name == "ViewCopy" else "skipped"
    why = step.why
    if step.name == "BroadcastTo":
        why = _why_broadcast(maker, step)
    if launches:
        numbers = listed(str(number + 1) for number in step.launches)
        why = Text("launch {numbers}: {why}", numbers=numbers, why=why)
    return maker.step(
        "l0",
        step.name,
        state,
        why,
        subject=subject,
        inputs=_inputs(maker, step, launches, subject),
        outputs=_outputs(maker, step, launches),
        launches=step.launches,
    )


def _why_broadcast(maker: Maker, step: Step) -> Text:
    first, second = (shape_text(maker.tensors[name].shape) for name in ("gradOutput", "self"))
    if "had the shape already" in step.why:
        return Text(
            "view shapes {first} and {second} differ, so this one goes too, "
            "though it has the common shape already",
            first=first,
            second=second,
        )
    return Text(
        "view shapes {first} and {second} differ, so both inputs go {where}",
        first=first,
        second=second,
        where=step.why,
    )


def _inputs(maker: Maker, step: Step, launches: list[Launch], subject: str) -> tuple[Port, ...]:
    if step.name == "Contiguous":
        argument = maker.argument(subject)
        return () if argument is None else (argument,)
    if launches:
        names = iter(_PORTS[launches[0].op_type])
        ports = [maker.port(next(names), operand) for operand in launches[0].inputs]
        return tuple(port for port in ports if port.place != "host" and port.name != "dst")
    return ()


def _outputs(maker: Maker, step: Step, launches: list[Launch]) -> tuple[Port, ...]:
    if step.name == "ViewCopy":
        out = maker.argument(maker.out_name)
        return () if out is None else (out,)
    if launches:
        return (maker.port(_PORTS[launches[-1].op_type][-1], launches[-1].outputs[0]),)
    if step.dtype is None or step.shape is None:
        return ()
    dense = contiguous_strides(step.shape)
    holds = Text("its input, as it is")
    return (Port("result", holds, "", step.dtype.short, step.shape, dense),)


# -- definition ----------------------------------------------------------------


def definition_steps(maker: Maker) -> tuple[ChainStep, ...]:
    """The launches in launch order, each with its operands, core and own workspace."""
    return tuple(
        _launch(maker, number, launch) for number, launch in enumerate(maker.plan.launches)
    )


def _launch(maker: Maker, number: int, launch: Launch) -> ChainStep:
    names = _PORTS[launch.op_type]
    views = launch.op_type in ("ViewCopy", "AsStrided")
    inputs = tuple(
        maker.port(name, operand, as_view=views and name in ("dst", "x"))
        for name, operand in zip(names, launch.inputs)
    )
    output = maker.port(names[-1], launch.outputs[0], as_view=views and names[-1] == "dst")
    made_by = next(step for step in maker.plan.steps if number in step.launches)
    facts = [(Text("core"), _CORES[launch.core]), (Text("made by"), f"l0 {made_by.name}")]
    if launch.attrs:
        attributes = listed(f"{key} = {_attribute(key, v)}" for key, v in launch.attrs.items())
        facts.append((Text("attributes"), attributes))
    facts.append((Text("own workspace"), _own_workspace(maker, launch)))
    notes = []
    if launch.tiling_fault:
        text = Text(
            "its tiling would refuse these operands at the launch: {reason}",
            reason=launch.tiling_fault,
        )
        notes.append(Note("remark", text))
    if launch.outputs[0].redirected:
        text = Text("writes {name} directly, as ViewCopy arranged", name=maker.out_name)
        notes.append(Note("remark", text))
    return maker.step(
        "definition",
        launch.op_type,
        "launched",
        Text("launch {number} on {core}", number=number + 1, core=_CORES[launch.core]),
        subject=f"{launch.inputs[0].dtype.short}",
        inputs=inputs,
        outputs=(output,),
        launches=(number,),
        facts=tuple(facts),
        notes=tuple(notes),
    )


def _attribute(key: str, value: Any) -> str:
    return f"{value} ({data_type(value).short})" if key == "dst_type" else str(value)


def _own_workspace(maker: Maker, launch: Launch) -> str:
    if launch.workspace is not None:
        return Text("{n} bytes", n=launch.workspace)
    if launch.core != "AICORE":
        return Text("none")
    if maker.plan.soc.is_regbase:
        return Text("taken as none")
    return Text("not public for this chip, taken as none")
