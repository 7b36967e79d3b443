"""A chain as HTML for notebooks: collapsible steps, no script, nothing loaded.

`<details>` opens by mouse and by keyboard and stays readable where style
sheets are dropped. Everything that is not ours to write is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from labkit.explain.chain import LAYERS, BucketInfo, Chain, ChainStep, Note, Port, SourceRef
from labkit.explain.findings import finding
from labkit.explain.maker import named_number
from labkit.explain.places import lifetime_text, size_text
from labkit.explain.sources import excerpt, sources_at_hand
from labkit.explain.style import PAGE, STYLE
from labkit.explain.text import MARKS, headline, port_text, run_text

__all__ = ["as_html", "as_page"]

_TONES = {
    "passed": "check",
    "stopped": "wrong",
    "returned": "edge",
    "launched": "runs",
    "ran": "runs",
    "known": "runs",
    "redirected": "edge",
    "assumed": "edge",
}


def as_html(chain: Chain) -> str:
    """The chain as one element; cited lines are shown when the reader named a checkout."""
    parts = [
        f"<style>{STYLE}</style>",
        '<div class="labkit-chain">',
        f"<h3>{escape(chain.operator)} on {escape(chain.soc)}</h3>",
        f"<p>{escape(headline(chain))}</p>",
        _arguments(chain),
        *_failure(chain),
        f'<p class="lk-quiet">{escape(_told_by(chain))}</p>',
    ]
    if chain.run is not None and chain.run.differs:
        parts.append(f'<p class="lk-note">Differs: {escape("; ".join(chain.run.differs))}</p>')
    told: set[str] = set()
    for layer, heading in LAYERS.items():
        steps = chain.layer(layer)
        if steps:
            parts.append(f"<h4>{escape(heading)}</h4>")
            parts.extend(_step(step, told) for step in steps if step.state != "not reached")
            parts.extend(_missed(steps))
    parts.append(_workspace(chain))
    parts.append("</div>")
    return "".join(parts)


def as_page(chain: Chain) -> str:
    """A whole HTML page with the chain, light or dark as the reader's browser prefers."""
    title = f"{chain.operator} on {chain.soc}"
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{PAGE}</style></head>"
        f"<body>{as_html(chain)}</body></html>\n"
    )


def _told_by(chain: Chain) -> str:
    return f"{chain.family}. {run_text(chain)}."


def _arguments(chain: Chain) -> str:
    rows = [
        (name, "null" if port is None else port_text(port))
        for name, port in zip(chain.argument_names, chain.arguments)
    ]
    return _table(("argument", "is"), [*rows, ("λ", chain.lambd)])


def _failure(chain: Chain) -> Iterable[str]:
    if chain.ok:
        return ()
    rows = [
        ("returns", f"{chain.status} {chain.status_name}: {chain.meaning}"),
        ("wrong", chain.message),
        ("right would be", chain.remedy),
    ]
    return (_table(("phase 1", ""), rows),)


def _table(
    heads: Iterable[str], rows: Iterable[Iterable[str]], numbers: frozenset[int] = frozenset()
) -> str:
    """A table of escaped texts; `numbers` are the columns to align right."""

    def cell(tag: str, place: int, text: str) -> str:
        kind = ' class="lk-number"' if place in numbers else ""
        kind = ' class="lk-keep"' if text.startswith("launch") and len(text) < 16 else kind
        return f"<{tag}{kind}>{escape(text)}</{tag}>"

    head = "".join(cell("th", place, text) for place, text in enumerate(heads))
    body = "".join(
        f"<tr>{''.join(cell('td', place, text) for place, text in enumerate(row))}</tr>"
        for row in rows
    )
    return (
        f'<div class="lk-wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _step(step: ChainStep, told: set[str]) -> str:
    tone = _TONES.get(step.state, "dead")
    opened = " open" if step.state in ("stopped", "returned") else ""
    mark = MARKS.get(step.state, "")
    found = len(step.findings)
    surprise = f' <span class="lk-found">⚠ {named_number(found, "finding")}</span>' if found else ""
    return (
        f'<details class="lk-{tone}"{opened}><summary>'
        f"<b>{escape(step.title)}</b>"
        f'<span class="lk-state">{mark} {escape(step.state)}</span>'
        f"{escape(step.why)}{surprise}</summary>"
        f'<div class="lk-body">{"".join(_body(step, told))}</div></details>'
    )


def _body(step: ChainStep, told: set[str]) -> Iterable[str]:
    yield f"<p><code>{escape(step.function)}</code> {escape(step.does)}</p>"
    ports = [("in", port) for port in step.inputs] + [("out", port) for port in step.outputs]
    if ports:
        yield _table(
            ("", "name", "tensor or numbers", "holds", "lies in"),
            [_port_row(way, port) for way, port in ports],
        )
    if step.facts:
        yield _table(("fact", "value"), step.facts)
    if step.items:
        listed = "".join(f"<li>{escape(item)}</li>" for item in step.items)
        yield f"<ul>{listed}</ul>"
    for note in step.notes:
        if note.applies:
            yield _note(note, told)
    others = [note for note in step.notes if not note.applies]
    if others:
        listed = "; ".join(f"{note.text} ({note.finding})" for note in others)
        yield f'<p class="lk-quiet">Known here, not met by this call: {escape(listed)}</p>'
    for ref in step.sources:
        yield _source(ref)


def _port_row(way: str, port: Port) -> tuple[str, ...]:
    return (way, port.name, port_text(port), port.holds, port.place)


def _note(note: Note, told: set[str]) -> str:
    """A remark, or a finding: in full where the call first meets it, later by its title."""
    if not note.finding:
        return f'<p class="lk-note">{escape(note.text)}</p>'
    item = finding(note.finding)
    if item.id in told:
        return f'<p class="lk-note">{escape(item.title)} <code>{escape(item.id)}</code>, above</p>'
    told.add(item.id)
    return (
        f'<div class="lk-note"><b>{escape(item.title)}</b> <code>{escape(item.id)}</code>'
        f"<p>Document: {escape(item.document)}</p><p>Code: {escape(item.code)}</p>"
        f'<p class="lk-quiet">How sure: {escape(item.sure)}</p></div>'
    )


def _source(ref: SourceRef) -> str:
    text = f'<p class="lk-quiet"><code>{escape(str(ref))}</code></p>'
    found = excerpt(ref) if sources_at_hand() else None
    if found is None:
        return text
    if found.remark:
        text += f'<p class="lk-quiet">{escape(found.remark)}</p>'
    if found.lines:
        lines = "\n".join(
            f"{number:>5}  {line}" for number, line in enumerate(found.lines, found.first)
        )
        text += f"<pre>{escape(lines)}</pre>"
    return text


def _missed(steps: tuple[ChainStep, ...]) -> Iterable[str]:
    missed = [step.title for step in steps if step.state == "not reached"]
    if missed:
        yield f'<p class="lk-quiet">· not reached: {escape(", ".join(missed))}</p>'


def _workspace(chain: Chain) -> str:
    place = chain.workspace
    size = size_text(place) if chain.ok else "not given"
    parts = [f"<h4>workspace: {escape(size)}</h4>", f"<p>{escape(place.why)}</p>"]
    parts += [_bucket(bucket) for bucket in place.buckets]
    return "".join(parts)


def _bucket(bucket: BucketInfo) -> str:
    rows = [
        (
            member.holds,
            str(member.size),
            str(member.taken),
            lifetime_text(member),
            member.why,
        )
        for member in bucket.members
    ]
    table = _table(
        ("member", "bytes", "takes", "lives", "why here"), rows, numbers=frozenset((1, 2))
    )
    text = f"{bucket.size} bytes at {bucket.offset}, {bucket.why}"
    return (
        '<details class="lk-runs" open><summary>'
        f"<b>bucket {bucket.number}</b>{escape(text)}</summary>"
        f'<div class="lk-body">{table}</div></details>'
    )
