"""What the picture of shapes and views shows, as data, and the same in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labkit.draw.sheet import grouped, plain
from labkit.draw.slots import slots
from labkit.draw.tape import Tape, tape_words
from labkit.language import Text
from labkit.language import gettext as _
from labkit.op.describe import TensorDesc
from labkit.op.plan import Plan

__all__ = [
    "QUESTION",
    "Axis",
    "BroadcastView",
    "broadcast_alt_text",
    "ending",
    "remarks",
    "state_line",
]

QUESTION = Text("Where does each element lie, and what does that cost?")


@dataclass(frozen=True)
class Axis:
    """One axis of the aligned shapes; None where a shape has no such axis.

    `result` is None where the sizes do not meet.
    """

    grad: int | None
    own: int | None
    result: int | None


@dataclass(frozen=True)
class BroadcastView:
    """What the picture shows: a plan, its three tensors, and the axes of the inputs aligned.

    `expressions` are how NumPy would make gradOutput, self and gradInput.
    """

    plan: Plan
    expressions: tuple[str, str, str]
    axes: tuple[Axis, ...]

    @property
    def tensors(self) -> dict[str, TensorDesc]:
        """gradOutput, self and gradInput by name."""
        named = self.plan.arguments.items()
        return {name: value for name, value in named if isinstance(value, TensorDesc)}

    @property
    def tapes(self) -> tuple[Tape, ...]:
        """The three tensors with what each of their views costs."""
        return tuple(
            Tape(name, desc, expression, *_outcome(self, name))
            for (name, desc), expression in zip(self.tensors.items(), self.expressions)
        )

    @property
    def shapes_differ(self) -> bool:
        """Whether the view shapes of the inputs differ in any way, rank included."""
        return any(axis.grad != axis.own for axis in self.axes)

    @property
    def fitting(self) -> tuple[str, ...]:
        """Inputs that have the common shape already, and pass BroadcastTo all the same."""
        if not self.plan.launches or not self.shapes_differ:
            return ()
        common = self.plan.result_shape
        return tuple(n for n in ("gradOutput", "self") if self.tensors[n].shape == common)

    @property
    def empty(self) -> bool:
        """Whether an input is empty, which ends phase 1 before shapes are compared."""
        return self.plan.ok and not self.plan.launches


def _outcome(view: BroadcastView, name: str) -> tuple[str, str]:
    """What l0 makes of one tensor's view, in few words, and the colour of that."""
    plan = view.plan
    if view.empty:
        return Text("nothing to do"), "muted"
    if name == "gradInput" and any(axis.result is None for axis in view.axes):
        return Text("no common shape: given that of self"), "muted"
    (slot,) = (s for s in slots(plan) if s.operand == name and s.name in ("Contiguous", "ViewCopy"))
    if slot.kind == "launched":
        return " → ".join(slot.kernels), "passes" if slot.core == "AICORE" else "edge"
    if slot.kind == "refused":
        return Text("refused: {status}", status=plan.status), "edge"
    if slot.kind == "redirected":
        return Text("contiguous: written directly"), "check"
    return (Text("contiguous: no kernel"), "check") if slot.kind == "skipped" else ("", "muted")


def state_line(view: BroadcastView) -> Text:
    """The grey line under the question."""
    plan = view.plan
    values: dict[str, Any] = {"chip": plan.soc.name}
    if not plan.ok:
        values |= {"status": plan.status, "name": plan.status_name}
        return Text("float32 on {chip} · {status} {name}", **values)
    values |= {"n": len(plan.launches), "bytes": grouped(plan.workspace_size)}
    if plan.soc.is_regbase or not plan.launches:
        return Text("float32 on {chip} · launches: {n} · workspace: {bytes} B", **values)
    return Text(
        "float32 on {chip} · launches: {n} · workspace: {bytes} B "
        "(kernels not public here: their own workspace taken as none)",
        **values,
    )


def ending(view: BroadcastView) -> tuple[Text, str]:
    """The last line, and the palette's colour for it."""
    plan = view.plan
    if not plan.ok:
        values = {"status": plan.status, "name": plan.status_name, "check": plan.failed_check}
        return Text("{status} {name} at {check}: nothing launches", **values), "edge"
    if view.empty:
        return Text("0 ACLNN_SUCCESS, nothing launches, gradInput is not touched"), "check"
    order = " → ".join(launch.op_type for launch in plan.launches)
    return Text("launched in this order: {kernels}", kernels=order), "passes"


def remarks(view: BroadcastView) -> tuple[Text, ...]:
    """What is worth a sentence in this state; for below the picture and for its words."""
    plan = view.plan
    if not plan.ok:
        values = {"status": plan.status, "name": plan.status_name, "reason": plan.message}
        return (Text("{status} {name}: {reason}", **values),)
    if view.empty:
        return (
            Text("An input is empty: phase 1 succeeds before it compares any shape, 0 kernels."),
        )
    told = []
    if view.fitting:
        told.append(
            Text(
                "The shapes differ, so both inputs pass BroadcastTo, even {name}, "
                "which has the common shape already.",
                name=view.fitting[0],
            )
        )
    elif view.shapes_differ:
        told.append(Text("The shapes differ, so both inputs pass BroadcastTo."))
    told += [word for tape in view.tapes for word in _about(tape)]
    if any(launch.core == "AICPU" for launch in plan.launches):
        told.append(
            Text(
                "The ViewCopy kernel of {chip} does not know this stride pattern: "
                "the AI CPU copies.",
                chip=plan.soc.name,
            )
        )
    if any(launch.core == "RTS" for launch in plan.launches):
        told.append(
            Text(
                "On {chip} a contiguous output whose storage goes on behind it is filled "
                "by a device copy.",
                chip=plan.soc.name,
            )
        )
    return tuple(told)


def _about(tape: Tape) -> list[Text]:
    desc, name = tape.desc, tape.name
    if name == "gradInput" and not desc.fits_storage:
        return [Text("gradInput leaves its storage, and no check of phase 1 notices.")]
    if tape.mood == "check" and desc.offset and desc.size:
        return [Text("{name} is contiguous; its offset costs nothing.", name=name)]
    shared = any(t == 0 and s > 1 for t, s in zip(desc.strides, desc.shape))
    if shared and not desc.is_empty:
        return [Text("{name} reads the same storage elements again and again.", name=name)]
    return []


def broadcast_alt_text(view: BroadcastView) -> str:
    """The picture in words."""
    plan = view.plan
    told = [_(QUESTION), _(state_line(view))]
    for tape in view.tapes:
        told.append(tape_words(tape.name, tape.desc, written=tape.name == "gradInput"))
        told += [_(tape.outcome)] if tape.outcome else []
    if not view.empty and plan.result_shape is not None:
        told.append(_("Together the shapes give {shape}.").format(shape=list(plan.result_shape)))
    told.append(_(ending(view)[0]))
    told += [_(remark) for remark in remarks(view)]
    ended = (".", "。", "?", "？")
    sentences = (
        line if line.endswith(ended) else _("{sentence}.").format(sentence=line) for line in told
    )
    return plain(" ".join(sentences))
