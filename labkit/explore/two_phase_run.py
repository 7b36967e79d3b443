"""Running a host program up to a step on a fresh software NPU, and looking at what is there.

Everything that the picture shows is read off the software NPU after the calls:
its device memory, its executors, its streams. Nothing is drawn from a script.
"""

from __future__ import annotations

import difflib
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.course.c_examples import CALLS as TENSORS
from labkit.course.c_machine import CMachine, MadeCall
from labkit.course.c_program import CLine
from labkit.draw.numbers import number_text
from labkit.draw.two_phase_view import BlockView, CallRow, ObjectView, TwoPhaseView, WorkBar
from labkit.explore.two_phase_state import CALLS, SCENARIOS, TwoPhaseState, program_of
from labkit.explore.two_phase_words import REASONS, caption, short, verdict
from labkit.language import Text
from labkit.op.plan import Plan
from labkit.sim import SoftwareNpu
from labkit.sim.heap import FRESH

__all__ = ["look"]

_ADDRESSES = {"gradAddr": "gradOutput", "selfAddr": "self", "outAddr": "gradInput"}
_OBJECTS = ("gradOutput", "self", "gradInput", "lambd")
_SHOWN = 4


class _Watch:
    """A running program, watched between two calls."""

    def __init__(self, state: TwoPhaseState) -> None:
        self.npu = SoftwareNpu(state.soc, strict=state.strict, environ={})
        self.program = program_of(state.call, state.scenario)
        self.machine = CMachine(self.program, self.npu)
        self.made: list[MadeCall] = []
        self.bars: list[WorkBar] = []
        self.plan: Plan | None = None
        self.executor = 0
        self.message = ""

    def run(self, steps: int, *, check: bool) -> None:
        """Make the first calls; ends behind an error, with `check` behind a code as well."""
        for line in self.program.lines[:steps]:
            made = self.machine.call(line)
            self.made.append(made)
            self._look_at_work(len(self.made))
            for executor in self.npu.executors.live.values():
                self.plan, self.executor = executor.plan, executor.handle
            if made.status and not self.message:
                self.message = self.machine.api.recent_message()
            if made.error is not None or (check and made.status):
                return

    def _look_at_work(self, call: int) -> None:
        new = self.npu.log.since(len(self.bars))[: self.npu.log.total - len(self.bars)]
        self.bars += [WorkBar(entry.op_type, call) for entry in new]
        ran = len(self.npu.executed)
        waiting = sum(len(stream.queue) for stream in self.npu.runtime.all_streams())
        for place, bar in enumerate(self.bars):
            if not bar.ran and place < len(self.bars) - waiting:
                self.bars[place] = WorkBar(bar.kernel, bar.queued, call, lost=place >= ran)

    # -- what is there ------------------------------------------------------------

    def blocks(self, call: str) -> tuple[BlockView, ...]:
        """The device memory that the program's variables got, in that order."""
        dtypes = {tensor.name: tensor.array.dtype for tensor in TENSORS[call]}
        found = []
        for name, (address, size) in self.machine.memory.items():
            block = self.npu.heap.find(address)
            if block is None:
                found.append(BlockView(name, size, "freed", ""))
                continue
            if name == "workspace":
                found.append(self._workspace(address, size, block))
                continue
            data = np.array(block.view(address, size))
            values = data.view(dtypes[_ADDRESSES[name]])
            state = "result" if name == "outAddr" else "data"
            fresh = bool((data == FRESH).all())
            holds, state = ("", "poison") if fresh else (_numbers(values), state)
            found.append(BlockView(name, size, state, holds, block.canaries_intact))
        return tuple(found)

    def _workspace(self, address: int, size: int, block: Any) -> BlockView:
        members = [m for bucket in self.plan.buckets for m in bucket.members] if self.plan else []
        tensors = [member for member in members if not member.name.startswith("kernel")]
        written = 0
        for member in tensors:
            assert self.plan is not None
            start = self.plan.workspace_offsets[member.name]
            if start + member.size <= size:
                data = block.view(address + start, member.size)
                written += not bool((data == FRESH).all())
        if not tensors:
            return BlockView("workspace", size, "unused", "", block.canaries_intact)
        if not written:
            return BlockView("workspace", size, "poison", "", block.canaries_intact)
        state, holds = "scratch", f"{written} of {len(tensors)} tensors"
        return BlockView("workspace", size, state, holds, block.canaries_intact)

    def objects(self) -> tuple[ObjectView, ...]:
        """The descriptions: made, alive, destroyed."""
        live = self.npu.tensors.objects
        found = []
        for name in _OBJECTS:
            value = self.machine.values.get(name)
            state = "none"
            if value is not None:
                state = "live" if self.npu.address(value) in live else "gone"
            found.append(ObjectView(name, state))
        return tuple(found)

    def executor_words(self) -> tuple[Text, str]:
        """The executor in words, and its state."""
        if self.plan is None:
            return Text("none: phase 1 hands one out"), "none"
        live = self.npu.executors.live.get(self.executor)
        if live is None:
            words = self.npu.executors.gone[self.executor][0]
            reason = next((each for each in REASONS if each == words), Text(words))
            return Text("gone: {reason}", reason=reason), "gone"
        said = {"n": len(self.plan.launches), "bytes": self.plan.workspace_size}
        if live.repeatable:
            runs = Text(
                "repeatable, run {runs} times: {n} launches planned, {bytes} B of workspace",
                runs=live.runs,
                **said,
            )
            return runs, "live"
        return Text("alive: {n} launches planned, {bytes} B of workspace", **said), "live"


def look(state: TwoPhaseState) -> TwoPhaseView:
    """Run the program of a state and look; depends on nothing but the state."""
    watch = _Watch(state)
    check = state.strict
    watch.run(state.step, check=check)
    total, made = len(watch.program.lines), watch.made
    stopped = bool(made) and (made[-1].error is not None or (check and bool(made[-1].status)))
    executor, executor_state = watch.executor_words()
    output = watch.machine.host["outHost"]
    output_state = _output_state(output, state)
    ended = stopped or len(made) == total
    faulty = next((call for call in made if call.failed), None)
    leaks = tuple(map(watch.machine.named, watch.npu.leaks())) if len(made) == total else ()
    told, trouble = verdict(
        faulty,
        notes=tuple(map(watch.machine.named, watch.npu.notes)),
        message=watch.message,
        output=output_state,
        late=max((bar.ran for bar in watch.bars), default=0),
        leaks=leaks,
        ended=ended,
        fault=SCENARIOS[state.scenario].fault,
    )
    return TwoPhaseView(
        CALLS[state.call],
        number_text(float(watch.machine.host["lambdValue"])),
        SCENARIOS[state.scenario].words,
        state.soc,
        public=watch.npu.soc.name.startswith("Ascend950"),
        strict=state.strict,
        step=len(made),
        total=total,
        ended=len(made) if stopped else 0,
        rows=_rows(state, made, stopped),
        blocks=watch.blocks(state.call),
        objects=watch.objects(),
        executor=executor,
        executor_state=executor_state,
        bars=tuple(watch.bars),
        output="outHost",
        output_text=_numbers(output.reshape(-1)),
        output_state=output_state,
        caption=caption(made[-1]) if made else Text("No call has been made."),
        verdict=told,
        trouble=trouble,
    )


def _rows(state: TwoPhaseState, made: list[MadeCall], stopped: bool) -> tuple[CallRow, ...]:
    """The lines of the program, with those that the correct one has and this one has not."""
    lines = program_of(state.call, state.scenario).lines
    right = program_of(state.call, "correct").lines
    matcher = difflib.SequenceMatcher(None, [x.text for x in right], [x.text for x in lines], False)
    rows: list[CallRow] = []
    for kind, low, high, start, stop in matcher.get_opcodes():
        if kind != "equal":
            rows += [
                CallRow(0, short(line), "moved" if line in lines else "out")
                for line in right[low:high]
            ]
        for place in range(start, stop):
            rows.append(_row(place, lines[place], made, stopped, odd=kind != "equal"))
    return tuple(rows)


def _row(place: int, line: CLine, made: list[MadeCall], stopped: bool, *, odd: bool) -> CallRow:
    if place >= len(made):
        return CallRow(place + 1, short(line), "never" if stopped else "ahead", "", odd)
    call = made[place]
    state = "skipped" if call.returned == "skipped" else "failed" if call.failed else "done"
    returned = call.returned if call.error is None else "caught"
    return CallRow(place + 1, short(line), state, returned, odd)


def _numbers(values: npt.NDArray[Any]) -> str:
    """The first numbers, short enough for a picture."""
    told = [
        number_text(float(value)) if abs(value) < 1e4 else f"{float(value):.2e}".replace("-", "−")
        for value in values[:_SHOWN]
    ]
    return "  ".join(told) + ("  …" if values.size > _SHOWN else "")


@lru_cache(maxsize=16)
def _right_result(call: str) -> bytes:
    return program_of(call, "correct").run().result.tobytes()


def _output_state(output: npt.NDArray[Any], state: TwoPhaseState) -> str:
    data = output.tobytes()
    if not output.any():
        return "before"
    if data == _right_result(state.call):
        return "right"
    return "poison" if set(data) == {FRESH} else "wrong"
