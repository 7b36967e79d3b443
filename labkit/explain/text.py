"""A chain as text for a terminal, 100 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from labkit.explain.chain import LAYERS, Chain, ChainStep, Port
from labkit.explain.places import lifetime_text, size_text
from labkit.explain.sources import excerpt, sources_at_hand
from labkit.op.describe import contiguous_strides, shape_text

__all__ = ["MARKS", "as_text", "headline", "named_port_text", "port_text", "run_text"]

WIDTH = 100

MARKS = {
    "passed": "✓",
    "stopped": "✗",
    "returned": "↩",
    "not reached": "·",
    "launched": "▶",
    "discarded": "×",
    "skipped": "–",
    "redirected": "↪",
    "known": "•",
    "assumed": "?",
    "not run": "·",
    "ran": "▶",
}
"""One sign per state; the word stands beside it."""


def as_text(chain: Chain, width: int = WIDTH) -> str:
    """The whole chain; cited lines follow their step when the reader named a checkout.

    A finding is told in full where the call first meets it, later by its id.
    """
    lines = [*_head(chain, width)]
    told: set[str] = set()
    for layer, heading in LAYERS.items():
        steps = chain.layer(layer)
        if not steps:
            continue
        lines += ["", heading, "-" * len(heading)]
        for step in steps:
            if step.state != "not reached":
                lines += _step(step, width, told)
        missed = [step.title for step in steps if step.state == "not reached"]
        if missed:
            lines += _wrapped(f"  · not reached: {', '.join(missed)}", width, "    ")
    lines += ["", *_workspace(chain, width)]
    return "\n".join(lines)


def headline(chain: Chain) -> str:
    """The chain in one line: what is launched and how much workspace, or what stopped it."""
    if not chain.ok:
        return f"stopped by {chain.failed_check}: {chain.status} {chain.status_name}"
    if not chain.launches:
        return "an input is empty: success, nothing launched, workspace 0 bytes"
    names = ", ".join(step.name for step in chain.launches)
    return f"launches {names}; workspace {size_text(chain.workspace)}"


def run_text(chain: Chain) -> str:
    """Whether it was run, on what, and how it went."""
    run = chain.run
    if run is None:
        return "not run: this is a plan"
    return f"run on {run.device}: {run.status} {run.status_name}, {run.calls} C calls"


def port_text(port: Port) -> str:
    """A tensor as `FLOAT16 [4, 1]`, with strides, offset and storage where they are not usual."""
    if port.values is not None:
        return shape_text(port.values)
    text = f"{port.dtype} {shape_text(port.shape)}"
    if port.strides != contiguous_strides(port.shape):
        text += f" strides {shape_text(port.strides)}"
    if port.offset:
        text += f" offset {port.offset}"
    if port.storage is not None and port.storage != port.shape:
        text += f" storage {shape_text(port.storage)}"
    return text


def named_port_text(port: Port) -> str:
    """A tensor with its name and what it holds."""
    if port.values is not None:
        return f"{port.name} {port_text(port)}"
    told = f" ({port.holds})" if port.holds and port.holds != port.name else ""
    return f"{port.name} {port_text(port)}{told}"


def _head(chain: Chain, width: int) -> Iterator[str]:
    yield f"{chain.operator} on {chain.soc} ({chain.family})"
    rows = [
        (name, "null" if port is None else port_text(port))
        for name, port in zip(chain.argument_names, chain.arguments)
    ]
    rows += [("λ", chain.lambd), ("phase 1", headline(chain))]
    if not chain.ok:
        rows += [("means", chain.meaning), ("wrong", chain.message), ("right", chain.remedy)]
    rows.append(("run", run_text(chain)))
    if chain.run is not None:
        rows += [("differs", text) for text in chain.run.differs]
    for name, text in rows:
        yield from _wrapped(f"  {name:<11}{text}", width, " " * 13)


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [text]


def _step(step: ChainStep, width: int, told: set[str]) -> Iterator[str]:
    head = f"  {MARKS.get(step.state, ' ')} {step.title:<22} {step.state:<10} "
    yield from _wrapped(f"{head} {step.why}", width, " " * 38)
    yield from _wrapped(f"      {step.function}: {step.does}", width, "      ")
    if step.layer in ("l0", "definition") and (step.inputs or step.outputs):
        yield from _wrapped(f"      {_ports(step)}", width, "        ")
    if step.facts:
        facts = "; ".join(f"{name}: {value}" for name, value in step.facts)
        yield from _wrapped(f"      {facts}", width, "        ")
    for item in step.items:
        yield from _wrapped(f"        {item}", width, "          ")
    yield from _notes(step, width, told)
    yield from _sources(step, width)


def _notes(step: ChainStep, width: int, told: set[str]) -> Iterator[str]:
    again = []
    for note in step.notes:
        if not note.finding:
            yield from _wrapped(f"      {note.text}", width, "      ")
        elif note.finding in told and note.applies:
            again.append(note.finding)
        elif note.applies:
            told.add(note.finding)
            yield from _wrapped(f"      ! {note.text} [{note.finding}]", width, "        ")
    if again:
        yield from _wrapped(f"      ! see above: {', '.join(again)}", width, "        ")


def _ports(step: ChainStep) -> str:
    out = " ; ".join(named_port_text(port) for port in step.outputs)
    if step.state in ("skipped", "redirected", "discarded"):
        return f"hands on {port_text(step.outputs[0])}"
    return " ; ".join(named_port_text(port) for port in step.inputs) + f" -> {out}"


def _sources(step: ChainStep, width: int) -> Iterator[str]:
    at_hand = sources_at_hand()
    for ref in step.sources:
        yield from _wrapped(f"      {ref}", width, "        ")
        found = excerpt(ref) if at_hand else None
        if found is None:
            continue
        if found.remark:
            yield from _wrapped(f"        ({found.remark})", width, "        ")
        for number, line in enumerate(found.lines, found.first):
            yield f"        {number:>5} | {line}"


def _workspace(chain: Chain, width: int) -> Iterator[str]:
    place = chain.workspace
    heading = f"workspace: {size_text(place) if chain.ok else 'not given'}"
    yield heading
    yield "-" * len(heading)
    yield from _wrapped(f"  {place.why}", width, "  ")
    for bucket in place.buckets:
        text = f"  bucket {bucket.number}: {bucket.size} bytes at {bucket.offset}, {bucket.why}"
        yield from _wrapped(text, width, "    ")
        for member in bucket.members:
            yield (
                f"    {member.holds:<44} {member.size:>11} -> {member.taken:>11}  "
                f"{lifetime_text(member)}"
            )
            yield from _wrapped(f"      {member.why}", width, "      ")
