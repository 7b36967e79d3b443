"""A chain as text for a terminal, 100 columns wide, in the reader's language."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.explain.chain import LAYERS, Chain, ChainStep, Port
from labkit.explain.columns import padded, width_of, wrapped
from labkit.explain.places import (
    bucket_name,
    bucket_text,
    lifetime_text,
    size_text,
    workspace_heading,
)
from labkit.explain.sources import excerpt, sources_at_hand
from labkit.explain.words import listed, parted
from labkit.language import Text
from labkit.language import gettext as _
from labkit.op.describe import contiguous_strides, shape_text

__all__ = [
    "MARKS",
    "as_text",
    "headline",
    "named_port_text",
    "port_text",
    "run_text",
    "title_text",
]

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
    met: set[str] = set()
    for layer, heading in LAYERS.items():
        steps = chain.layer(layer)
        if not steps:
            continue
        lines += ["", *_underlined(_(heading))]
        for step in steps:
            if step.state != "not reached":
                lines += _step(step, width, met)
        missed = [title_text(step) for step in steps if step.state == "not reached"]
        if missed:
            told = _("not reached: {steps}").format(steps=_(listed(missed)))
            lines += wrapped(f"  · {told}", width, "    ")
    lines += ["", *_workspace(chain, width)]
    return "\n".join(lines)


def headline(chain: Chain) -> str:
    """The chain in one line: what is launched and how much workspace, or what stopped it."""
    if not chain.ok:
        return _("stopped by {check}: {code} {name}").format(
            check=chain.failed_check, code=chain.status, name=chain.status_name
        )
    if not chain.launches:
        return _("an input is empty: success, nothing launched, workspace 0 bytes")
    return _("launches {kernels}; workspace {size}").format(
        kernels=_(listed(step.name for step in chain.launches)), size=_(size_text(chain.workspace))
    )


def run_text(chain: Chain) -> str:
    """Whether it was run, on what, and how it went."""
    run = chain.run
    if run is None:
        return _("not run: this is a plan")
    return _("run on {device}: {code} {name}, {calls} C calls").format(
        device=_(run.device), code=run.status, name=run.status_name, calls=run.calls
    )


def title_text(step: ChainStep) -> str:
    """Name and subject of a step."""
    return f"{step.name} {_(step.subject)}".rstrip() if step.subject else step.name


def port_text(port: Port) -> str:
    """A tensor as `FLOAT16 [4, 1]`, with strides, offset and storage where they are not usual."""
    if port.values is not None:
        return shape_text(port.values)
    text = f"{port.dtype} {shape_text(port.shape)}"
    if port.strides != contiguous_strides(port.shape):
        text += " " + _("strides {strides}").format(strides=shape_text(port.strides))
    if port.offset:
        text += " " + _("offset {offset}").format(offset=port.offset)
    if port.storage is not None and port.storage != port.shape:
        text += " " + _("storage {shape}").format(shape=shape_text(port.storage))
    return text


def named_port_text(port: Port) -> str:
    """A tensor with its name and what it holds."""
    if port.values is not None:
        return f"{port.name} {port_text(port)}"
    text = f"{port.name} {port_text(port)}"
    if not port.holds or port.holds == port.name:
        return text
    return _("{tensor} ({holds})").format(tensor=text, holds=_(port.holds))


def _head(chain: Chain, width: int) -> Iterator[str]:
    yield _("{operator} on {chip} ({family})").format(
        operator=chain.operator, chip=chain.soc, family=_(chain.family)
    )
    rows = [
        (name, _("null") if port is None else port_text(port))
        for name, port in zip(chain.argument_names, chain.arguments)
    ]
    rows += [("λ", _(chain.lambd)), (_("phase 1"), headline(chain))]
    if not chain.ok:
        rows.append((_("means"), _(chain.meaning)))
        rows.append((_("wrong"), _(chain.message)))
        rows.append((_("right"), _(chain.remedy)))
    rows.append((_("run"), run_text(chain)))
    if chain.run is not None:
        rows += [(_("differs"), _(text)) for text in chain.run.differs]
    for name, text in rows:
        yield from wrapped(f"  {padded(name, 11)}{text}", width, " " * 13)


def _underlined(heading: str) -> tuple[str, str]:
    return heading, "-" * width_of(heading)


def _named(name: str, value: str) -> Text:
    return Text("{name}: {value}", name=name, value=value)


def _step(step: ChainStep, width: int, met: set[str]) -> Iterator[str]:
    title, state = padded(title_text(step), 22), padded(_(step.state), 10)
    head = f"  {MARKS.get(step.state, ' ')} {title} {state} "
    yield from wrapped(f"{head} {_(step.why)}", width, " " * 38)
    yield from wrapped(f"      {_(_named(step.function, step.does))}", width, "      ")
    if step.layer in ("l0", "definition") and (step.inputs or step.outputs):
        yield from wrapped(f"      {_ports(step)}", width, "        ")
    if step.facts:
        facts = parted(_named(name, value) for name, value in step.facts)
        yield from wrapped(f"      {_(facts)}", width, "        ")
    for item in step.items:
        yield from wrapped(f"        {_(item)}", width, "          ")
    yield from _notes(step, width, met)
    yield from _sources(step, width)


def _notes(step: ChainStep, width: int, met: set[str]) -> Iterator[str]:
    again = []
    for note in step.notes:
        if not note.finding:
            yield from wrapped(f"      {_(note.text)}", width, "      ")
        elif note.finding in met and note.applies:
            again.append(note.finding)
        elif note.applies:
            met.add(note.finding)
            yield from wrapped(f"      ! {_(note.text)} [{note.finding}]", width, "        ")
    if again:
        told = _("see above: {findings}").format(findings=_(listed(again)))
        yield from wrapped(f"      ! {told}", width, "        ")


def _ports(step: ChainStep) -> str:
    out = " ; ".join(named_port_text(port) for port in step.outputs)
    if step.state in ("skipped", "redirected", "discarded"):
        return _("hands on {tensor}").format(tensor=port_text(step.outputs[0]))
    return " ; ".join(named_port_text(port) for port in step.inputs) + f" -> {out}"


def _sources(step: ChainStep, width: int) -> Iterator[str]:
    at_hand = sources_at_hand()
    for ref in step.sources:
        yield from wrapped(f"      {ref}", width, "        ")
        found = excerpt(ref) if at_hand else None
        if found is None:
            continue
        if found.remark:
            yield from wrapped(f"        ({_(found.remark)})", width, "        ")
        for number, line in enumerate(found.lines, found.first):
            yield f"        {number:>5} | {line}"


def _workspace(chain: Chain, width: int) -> Iterator[str]:
    place = chain.workspace
    yield from _underlined(_(workspace_heading(chain)))
    yield from wrapped(f"  {_(place.why)}", width, "  ")
    for bucket in place.buckets:
        text = _(_named(bucket_name(bucket), bucket_text(bucket)))
        yield from wrapped(f"  {text}", width, "    ")
        for member in bucket.members:
            yield (
                f"    {padded(_(member.holds), 44)} {member.size:>11} -> {member.taken:>11}  "
                f"{_(lifetime_text(member))}"
            )
            yield from wrapped(f"      {_(member.why)}", width, "      ")
