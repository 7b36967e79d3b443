"""Making steps: what `data/steps.json` knows of a step, joined with what this call did.

Also what several layers need: tensors as ports.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from labkit.errors import LabError
from labkit.explain.chain import ChainStep, Note, Port, SourceRef
from labkit.explain.conditions import CONDITIONS
from labkit.explain.findings import Finding, findings
from labkit.explain.sources import parse_ref
from labkit.language import Text
from labkit.op.describe import TensorDesc, contiguous_strides
from labkit.op.plan import Operand, Plan
from labkit.op.tables import load_table

__all__ = ["NOT_REACHED", "Maker", "StepInfo", "step_info"]

NOT_REACHED = "not reached"


@dataclass(frozen=True)
class StepInfo:
    """What is always true of a step: its function, its sentence, its sources."""

    function: str
    does: str
    sources: tuple[SourceRef, ...]


@cache
def _table() -> dict[tuple[str, str, str], StepInfo]:
    table = {}
    for row in load_table("steps")["steps"]:
        refs = tuple(parse_ref(text) for text in row["sources"])
        info = StepInfo(row["function"], row["does"], refs)
        for operator in row["operators"]:
            table[row["layer"], row["name"], operator] = info
    return table


def step_info(layer: str, name: str, operator: str) -> StepInfo:
    """The entry of `data/steps.json`; `operator` is "backward" or "forward"."""
    info = _table().get((layer, name, operator))
    if info is None:
        raise LabError(f"steps.json has no {operator} step {name!r} in layer {layer!r}")
    return info


@cache
def _findings_of(layer: str, name: str, operator: str) -> tuple[Finding, ...]:
    """The findings on which a step stands."""
    return tuple(
        item for item in findings() if (layer, name) in item.steps and operator in item.operators
    )


class Maker:
    """Makes the steps of one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.operator = "backward" if plan.operator == "aclnnHardshrinkBackward" else "forward"
        self.tensors = {
            name: value for name, value in plan.arguments.items() if isinstance(value, TensorDesc)
        }
        self.out_name = list(plan.arguments)[-1]
        self.written_by = {
            output.buffer: number
            for number, launch in enumerate(plan.launches)
            for output in launch.outputs
        }
        self._holds: dict[str, str] = {}
        # Several findings share a condition; each is asked once.
        self._met = {name: CONDITIONS[name](plan) for name in {item.when for item in findings()}}

    def step(self, layer: str, name: str, state: str, why: str = "", **rest: Any) -> ChainStep:
        """A step with its function, sentence, sources and findings."""
        info = step_info(layer, name, self.operator)
        notes = rest.pop("notes", ())
        return ChainStep(
            layer,
            name,
            state,
            info.function,
            info.does,
            why,
            sources=self._sources(info),
            notes=(*notes, *self._findings(layer, name, state)),
            **rest,
        )

    def _sources(self, info: StepInfo) -> tuple[SourceRef, ...]:
        """The sources that matter on this chip: arch35 code only where it is used."""
        if self.plan.soc.is_regbase:
            return info.sources
        return tuple(ref for ref in info.sources if "/arch35/" not in ref.path)

    def _findings(self, layer: str, name: str, state: str) -> tuple[Note, ...]:
        return tuple(
            Note("finding", item.title, item.id, self._met[item.when] and state != NOT_REACHED)
            for item in _findings_of(layer, name, self.operator)
        )

    def argument(self, name: str) -> Port | None:
        """A tensor argument as the caller described it; None for a null pointer."""
        desc = self.tensors.get(name)
        if desc is None:
            return None
        return self._view(name, name, desc)

    def _view(self, name: str, holds: str, desc: TensorDesc) -> Port:
        return Port(
            name,
            holds,
            "caller",
            desc.dtype.short,
            desc.shape,
            desc.strides,
            desc.offset,
            storage=desc.storage_shape,
        )

    def holds(self, buffer: str) -> str:
        """What lies in a buffer, in words."""
        found = self._holds.get(buffer)
        if found is None:
            found = self._holds[buffer] = self._holding(buffer)
        return found

    def _holding(self, buffer: str) -> str:
        if buffer in self.tensors:
            return buffer
        if buffer.startswith("kernel"):
            number = int(buffer.removeprefix("kernel"))
            kernel = self.plan.launches[number].op_type
            return Text(
                "own workspace of launch {number} ({kernel})", number=number + 1, kernel=kernel
            )
        return Text("result of launch {number}", number=self.written_by[buffer] + 1)

    def port(self, name: str, operand: Operand, *, as_view: bool = False) -> Port:
        """A kernel's operand; `as_view`: the kernel is told the caller's strides for it."""
        short = operand.dtype.short
        dense = contiguous_strides(operand.shape)
        if operand.buffer is None:
            return Port(name, "", "host", short, operand.shape, dense, values=operand.const or ())
        place = "caller" if operand.buffer in self.tensors else "workspace"
        desc = self.tensors.get(operand.buffer)
        if as_view and desc is not None:
            return self._view(name, operand.buffer, desc)
        return Port(
            name, self.holds(operand.buffer), place, short, operand.shape, dense, operand.offset
        )
