"""From a call to the sieve that the contract panel draws.

What stops a call is the plan's business (`labkit.op`); the order of the checks,
their sources and the findings come from the chain (`labkit.explain`), and what
each check asks from `contract_questions`.
"""

from __future__ import annotations

from dataclasses import replace

from labkit.draw.numbers import number_text
from labkit.draw.sheet import dtype_text, grouped
from labkit.draw.sieve_view import Sieve, SieveCell, SieveRow, Verdict
from labkit.explain import Chain, ChainStep, explain
from labkit.explain.aclnn_layer import CHECKS
from labkit.explain.findings import findings
from labkit.explore.contract_questions import EMPTY, L0, NULL_TEXT, Question, Questions
from labkit.language import Text
from labkit.op import Plan, Scalar, TensorDesc
from labkit.op.contract import Fault
from labkit.op.describe import shape_text
from labkit.op.status import status_name

__all__ = ["sieve_of"]

_MOST_FINDINGS = 2


def sieve_of(plan: Plan, pointers: Fault | None = None) -> Sieve:
    """The sieve of a plan; `pointers` is the fault of the two out-pointers, which comes first."""
    chain = explain(plan)
    ask = Questions(plan)
    names = CHECKS["backward" if ask.backward else "forward"]
    steps = {step.name: step for step in chain.checks}
    file = steps["CheckCommInput"].sources[0].path.rpartition("/")[2]
    stop = _stop(chain, names) if pointers is None else 0
    given = SieveCell(0, "passed", Text("workspaceSize and executor: given"), len(ask.columns))
    if pointers is not None:
        given = replace(given, state="stopped", text=pointers.messages[0].text)
    rows = [SieveRow(names[0], _source(steps[names[0]], file), (given,))]
    for place, name in enumerate(names[1:], 1):
        cells = _cells(ask.of(name), place > stop, place == stop)
        rows.append(SieveRow(name, _source(steps[name], file), cells))
    rows.append(_l0_row(ask, chain, stop == len(names)))
    ended = pointers is None and plan.ok
    verdict = _accepted(plan) if ended else _refused(pointers or plan.fault)
    return Sieve(
        plan.operator,
        f"{plan.soc.name} ({plan.soc.family})",
        file,
        ask.columns,
        tuple(_described(value) for value in plan.arguments.values()),
        tuple(rows),
        Verdict(*verdict, _document(chain, pointers)),
    )


def _stop(chain: Chain, names: tuple[str, ...]) -> int:
    """The number of the check that ends the call; behind all of them when none does."""
    ends = (s.name for s in chain.checks if s.state in ("stopped", "returned"))
    return next((names.index(name) for name in ends if name in names), len(names))


def _cells(questions: list[Question], behind: bool, here: bool) -> tuple[SieveCell, ...]:
    """The cells of a check that lies `behind` the one that ends the call, or is it."""
    cells = []
    for question in questions:
        state, text = "passed", question.seen
        if question.wrong is None:
            state = "not asked"
        elif behind:
            state = "hidden" if question.wrong else "not reached"
        elif question.wrong:
            state, behind = "stopped", True
        elif here and text is EMPTY:
            state, text, behind = "returned", Text("empty: success"), True
        cells.append(SieveCell(question.column, state, text, question.span))
    return tuple(cells)


def _l0_row(ask: Questions, chain: Chain, reached: bool) -> SieveRow:
    """The l0 operators behind the checks; which argument they stumble over, the chain tells."""
    failing = next((s for s in chain.layer("l0") if s.state == "stopped"), None)
    subject = "" if failing is None else failing.subject.removeprefix("to ")
    cells = []
    for question in ask.of(L0):
        state = "passed" if reached else "not reached"
        if question.wrong is None:
            state = "not asked"
        elif failing is not None and ask.columns[question.column] == subject:
            state, reached = "stopped", False
        cells.append(SieveCell(question.column, state, question.seen))
    source = "Contiguous … ViewCopy" if failing is None else _source(failing, "")
    return SieveRow(L0, source, tuple(cells))


def _source(step: ChainStep, file: str) -> str:
    """Where a check stands: lines of `file`, or another file with its lines."""
    first = step.sources[0]
    name = first.path.rpartition("/")[2]
    if name == file:
        return f"lines {first.lines}" if "-" in first.lines else f"line {first.lines}"
    return f"{name}:{first.lines}"


def _described(value: TensorDesc | Scalar | None) -> str:
    if value is None:
        return NULL_TEXT
    if isinstance(value, Scalar):
        return f"{number_text(float(value.to_float()))} ({value.dtype.short})"
    return f"{dtype_text(value.dtype)} {shape_text(value.shape)}"


def _refused(fault: Fault | None) -> tuple[int, str, tuple[str, ...]]:
    assert fault is not None
    codes = ", ".join(dict.fromkeys(message.code for message in fault.messages))
    lines = (
        Text("{codes}: {said}", codes=codes, said=fault.messages[-1].text),
        Text("right would be: {remedy}", remedy=fault.remedy),
    )
    return fault.status, status_name(fault.status), lines


def _accepted(plan: Plan) -> tuple[int, str, tuple[str, ...]]:
    if not plan.launches:
        nothing = Text("no kernel is launched, and the output keeps what it held")
        return plan.status, plan.status_name, (nothing,)
    scalar, used = plan.arguments["lambd"], plan.lambd
    assert isinstance(scalar, Scalar) and used is not None
    kernels = Text(
        "launches {kernels}; workspace {size} B",
        kernels=", ".join(launch.op_type for launch in plan.launches),
        size=grouped(plan.workspace_size),
    )
    value = number_text(float(used))
    if scalar.dtype.kind == "complex":
        lambd = Text("λ is used as {value}, as every complex λ is", value=value)
    else:
        lambd = Text("λ is used as float32 {value}", value=value)
    return plan.status, plan.status_name, (kernels, lambd)


def _document(chain: Chain, pointers: Fault | None) -> tuple[str, ...]:
    """What the document says where this call meets a finding; the ending step's first."""
    steps = [s for s in chain.steps if s.layer in ("L2", "l0") and s.name != "Phase2"]
    steps.sort(key=lambda step: step.state not in ("stopped", "returned"))
    wanted = [found for step in steps for found in step.findings]
    if pointers is not None:
        wanted = ["doc-null-row"]
    by_id = {item.id: item for item in findings() if item.kind != "defect"}
    met = [by_id[name] for name in dict.fromkeys(wanted) if name in by_id]
    return tuple(
        line
        for item in met[:_MOST_FINDINGS]
        for line in (
            Text("{title} ({id})", title=item.title, id=item.id),
            Text("document: {said}", said=item.document),
        )
    )
