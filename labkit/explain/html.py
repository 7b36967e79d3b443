"""A chain as HTML for notebooks, in the reader's language: collapsible steps, no script.

`<details>` opens by mouse and by keyboard and stays readable where style
sheets are dropped. Nothing is loaded. Everything that is not ours to write is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from labkit.explain.chain import LAYERS, BucketInfo, Chain, ChainStep, Note, Port, SourceRef
from labkit.explain.findings import finding
from labkit.explain.places import bucket_name, bucket_text, lifetime_text, workspace_heading
from labkit.explain.sources import excerpt, sources_at_hand
from labkit.explain.style import PAGE, STYLE
from labkit.explain.text import MARKS, headline, port_text, run_text, title_text
from labkit.explain.words import listed, named_number, parted
from labkit.language import Text, language
from labkit.language import gettext as _

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
        f"<h3>{escape(_title(chain))}</h3>",
        f"<p>{escape(headline(chain))}</p>",
        _arguments(chain),
        *_failure(chain),
        f'<p class="lk-quiet">{escape(_told_by(chain))}</p>',
    ]
    if chain.run is not None and chain.run.differs:
        differs = _("Differs: {what}").format(what=_(parted(chain.run.differs)))
        parts.append(f'<p class="lk-note">{escape(differs)}</p>')
    met: set[str] = set()
    for layer, heading in LAYERS.items():
        steps = chain.layer(layer)
        if steps:
            parts.append(f"<h4>{escape(_(heading))}</h4>")
            parts.extend(_step(step, met) for step in steps if step.state != "not reached")
            parts.extend(_missed(steps))
    parts.append(_workspace(chain))
    parts.append("</div>")
    return "".join(parts)


def as_page(chain: Chain) -> str:
    """A whole HTML page with the chain, light or dark as the reader's browser prefers."""
    spoken = {"en": "en", "zh": "zh-CN"}[language()]
    return (
        f'<!DOCTYPE html><html lang="{spoken}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(_title(chain))}</title><style>{PAGE}</style></head>"
        f"<body>{as_html(chain)}</body></html>\n"
    )


def _title(chain: Chain) -> str:
    return _("{operator} on {chip}").format(operator=chain.operator, chip=chain.soc)


def _told_by(chain: Chain) -> str:
    return _("{family}. {run}.").format(family=_(chain.family), run=run_text(chain))


def _arguments(chain: Chain) -> str:
    rows = [
        (name, _("null") if port is None else port_text(port))
        for name, port in zip(chain.argument_names, chain.arguments)
    ]
    return _table((_("argument"), _("is")), [*rows, ("λ", _(chain.lambd))])


def _failure(chain: Chain) -> Iterable[str]:
    if chain.ok:
        return ()
    returned = Text(
        "{name}: {value}", name=f"{chain.status} {chain.status_name}", value=chain.meaning
    )
    rows = [
        (_("returns"), _(returned)),
        (_("wrong"), _(chain.message)),
        (_("right would be"), _(chain.remedy)),
    ]
    return (_table((_("phase 1"), ""), rows),)


def _table(
    heads: Iterable[str],
    rows: Iterable[Iterable[str]],
    numbers: frozenset[int] = frozenset(),
    kept: int = -1,
) -> str:
    """A table of escaped texts: columns of `numbers` are aligned right, `kept` is not wrapped."""

    def cell(tag: str, place: int, text: str) -> str:
        kind = ' class="lk-number"' if place in numbers else ""
        kind = ' class="lk-keep"' if place == kept and tag == "td" else kind
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


def _step(step: ChainStep, met: set[str]) -> str:
    tone = _TONES.get(step.state, "dead")
    opened = " open" if step.state in ("stopped", "returned") else ""
    mark = MARKS.get(step.state, "")
    found = len(step.findings)
    told = escape(_(named_number(found, "finding")))
    surprise = f' <span class="lk-found">⚠ {told}</span>' if found else ""
    return (
        f'<details class="lk-{tone}"{opened}><summary>'
        f"<b>{escape(title_text(step))}</b>"
        f'<span class="lk-state">{mark} {escape(_(step.state))}</span>'
        f"{escape(_(step.why))}{surprise}</summary>"
        f'<div class="lk-body">{"".join(_body(step, met))}</div></details>'
    )


def _body(step: ChainStep, met: set[str]) -> Iterable[str]:
    yield f"<p><code>{escape(_(step.function))}</code> {escape(_(step.does))}</p>"
    ports = [(_("input"), port) for port in step.inputs]
    ports += [(_("output"), port) for port in step.outputs]
    if ports:
        yield _table(
            ("", _("name"), _("tensor or numbers"), _("holds"), _("lies in")),
            [_port_row(way, port) for way, port in ports],
        )
    if step.facts:
        yield _table((_("fact"), _("value")), [(_(name), _(value)) for name, value in step.facts])
    if step.items:
        yield f"<ul>{''.join(f'<li>{escape(_(item))}</li>' for item in step.items)}</ul>"
    for note in step.notes:
        if note.applies:
            yield _note(note, met)
    others = [
        Text("{title} ({finding})", title=note.text, finding=note.finding)
        for note in step.notes
        if not note.applies
    ]
    if others:
        told = _("Known here, not met by this call: {findings}").format(findings=_(parted(others)))
        yield f'<p class="lk-quiet">{escape(told)}</p>'
    for ref in step.sources:
        yield _source(ref)


def _port_row(way: str, port: Port) -> tuple[str, ...]:
    return (way, port.name, port_text(port), _(port.holds), _(port.place))


def _note(note: Note, met: set[str]) -> str:
    """A remark, or a finding: in full where the call first meets it, later by its title."""
    if not note.finding:
        return f'<p class="lk-note">{escape(_(note.text))}</p>'
    item = finding(note.finding)
    title, name = escape(_(item.title)), escape(item.id)
    if item.id in met:
        return f'<p class="lk-note">{title} <code>{name}</code>{escape(_(", above"))}</p>'
    met.add(item.id)
    document = _("Document: {text}").format(text=_(item.document))
    code = _("Code: {text}").format(text=_(item.code))
    sure = _("How sure: {text}").format(text=_(item.sure))
    return (
        f'<div class="lk-note"><b>{title}</b> <code>{name}</code>'
        f"<p>{escape(document)}</p><p>{escape(code)}</p>"
        f'<p class="lk-quiet">{escape(sure)}</p></div>'
    )


def _source(ref: SourceRef) -> str:
    text = f'<p class="lk-quiet"><code>{escape(str(ref))}</code></p>'
    found = excerpt(ref) if sources_at_hand() else None
    if found is None:
        return text
    if found.remark:
        text += f'<p class="lk-quiet">{escape(_(found.remark))}</p>'
    if found.lines:
        lines = "\n".join(
            f"{number:>5}  {line}" for number, line in enumerate(found.lines, found.first)
        )
        text += f"<pre>{escape(lines)}</pre>"
    return text


def _missed(steps: tuple[ChainStep, ...]) -> Iterable[str]:
    missed = [title_text(step) for step in steps if step.state == "not reached"]
    if missed:
        told = _("not reached: {steps}").format(steps=_(listed(missed)))
        yield f'<p class="lk-quiet">· {escape(told)}</p>'


def _workspace(chain: Chain) -> str:
    place = chain.workspace
    heading = _(workspace_heading(chain))
    parts = [f"<h4>{escape(heading)}</h4>", f"<p>{escape(_(place.why))}</p>"]
    parts += [_bucket(bucket) for bucket in place.buckets]
    return "".join(parts)


def _bucket(bucket: BucketInfo) -> str:
    rows = [
        (
            _(member.holds),
            str(member.size),
            str(member.taken),
            _(lifetime_text(member)),
            _(member.why),
        )
        for member in bucket.members
    ]
    heads = (_("member"), _("bytes"), _("takes"), _("lives"), _("why here"))
    table = _table(heads, rows, numbers=frozenset((1, 2)), kept=3)
    text = _(bucket_text(bucket))
    return (
        '<details class="lk-runs" open><summary>'
        f"<b>{escape(_(bucket_name(bucket)))}</b>{escape(text)}</summary>"
        f'<div class="lk-body">{table}</div></details>'
    )
