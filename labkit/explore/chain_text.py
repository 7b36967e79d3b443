"""One step of a chain told below the picture: its reason, its facts, its lines of source."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from labkit.explain import LAYERS, Chain, ChainStep, SourceRef
from labkit.explain.sources import excerpt, sources_at_hand
from labkit.explain.style import STYLE
from labkit.explain.text import MARKS, named_port_text
from labkit.language import gettext as _

__all__ = ["step_html"]

_TONES = {
    "passed": "check",
    "stopped": "wrong",
    "launched": "runs",
    "known": "runs",
    "ran": "runs",
    "returned": "edge",
    "redirected": "edge",
    "assumed": "edge",
}


def step_html(chain: Chain, number: int) -> str:
    """A step, counted from 1, as one element of HTML; nothing in it is loaded or runs."""
    step = chain[number - 1]
    tone = _TONES.get(step.state, "dead")
    layer = _(LAYERS[step.layer]).partition(":")[0].partition("：")[0]
    place = _("Step {number} of {count}").format(number=number, count=len(chain))
    mark = MARKS.get(step.state, "")
    parts = [
        f'<p class="lk-quiet">{escape(place)} · {escape(layer)}</p>',
        f'<p class="lk-{tone}"><b>{escape(step.title)}</b> '
        f'<span class="lk-state">{mark} {escape(_(step.state))}</span> {escape(_(step.why))}</p>',
        f"<p><code>{escape(step.function)}</code> {escape(_(step.does))}</p>",
        *_details(step),
    ]
    return (
        f"<style>{STYLE}</style>"
        f'<div class="labkit-chain" role="status" aria-live="polite">{"".join(parts)}</div>'
    )


def _details(step: ChainStep) -> Iterator[str]:
    ports = [named_port_text(port) for port in step.inputs]
    if ports or step.outputs:
        out = ", ".join(named_port_text(port) for port in step.outputs)
        yield f"<p><code>{escape(', '.join(ports))} → {escape(out)}</code></p>"
    if step.facts:
        rows = "".join(
            f"<tr><th>{escape(_(name))}</th><td>{escape(_(value))}</td></tr>"
            for name, value in step.facts
            if value
        )
        yield f'<div class="lk-wide"><table><tbody>{rows}</tbody></table></div>'
    if step.items:
        yield f"<ul>{''.join(f'<li>{escape(_(item))}</li>' for item in step.items)}</ul>"
    for note in step.notes:
        if note.applies:
            known = f" <code>{escape(note.finding)}</code>" if note.finding else ""
            yield f'<p class="lk-note">{escape(_(note.text))}{known}</p>'
    for ref in step.sources:
        yield from _source(ref)


def _source(ref: SourceRef) -> Iterator[str]:
    yield f'<p class="lk-quiet"><code>{escape(str(ref))}</code></p>'
    found = excerpt(ref) if sources_at_hand() else None
    if found is None:
        return
    if found.remark:
        yield f'<p class="lk-quiet">{escape(found.remark)}</p>'
    if found.lines:
        lines = "\n".join(
            f"{number:>5}  {line}" for number, line in enumerate(found.lines, found.first)
        )
        yield f"<pre>{escape(lines)}</pre>"
