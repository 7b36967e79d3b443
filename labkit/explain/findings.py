"""Where document and code part, and what running the code showed: the findings as data.

Read from `labkit/data/findings.json`; the two pages about them are written from it:

    LABKIT_LANG=en python -m labkit.explain.findings > docs/findings.md
    LABKIT_LANG=zh python -m labkit.explain.findings > docs/findings.zh.md
"""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from labkit.errors import LabValueError
from labkit.explain.chain import SourceRef
from labkit.explain.conditions import CONDITIONS
from labkit.explain.sources import parse_ref
from labkit.explain.words import joined
from labkit.language import Text, language
from labkit.language import gettext as _
from labkit.op.plan import Plan
from labkit.op.tables import load_table

__all__ = ["PRELUDE", "Finding", "finding", "findings", "measured", "run_case", "to_markdown"]

PRELUDE = """\
import numpy as np
from labkit.explain.findings import measured
from labkit.op import *
T = TensorDesc
backward, forward = plan_hardshrink_backward, plan_hardshrink
"""
"""What the cases of the findings start with."""


@dataclass(frozen=True, repr=False)
class Finding:
    """One finding.

    `kind`: "document" (a public document says otherwise), "pair" (forward and
    backward do not fit each other) or "defect". `steps` are (layer, name) of
    the steps that stand on it, `when` the condition under which a call meets
    it. `case` is Python that starts from `PRELUDE`, its last line an
    expression whose repr is `shows`. `seen` says how it was seen, `sure` how
    sure we are, `mend` what would mend it.
    """

    id: str
    kind: str
    operators: tuple[str, ...]
    title: str
    document: str
    code: str
    sources: tuple[SourceRef, ...]
    seen: str
    case: tuple[str, ...]
    shows: str
    sure: str
    mend: str
    steps: tuple[tuple[str, str], ...]
    when: str

    def applies(self, plan: Plan) -> bool:
        """Whether this call meets it."""
        return CONDITIONS[self.when](plan)

    def __repr__(self) -> str:
        return _section(self)

    def _repr_markdown_(self) -> str:
        return _section(self)


@cache
def findings() -> tuple[Finding, ...]:
    """Every finding, in the order of the document."""
    return tuple(_finding(row) for row in load_table("findings")["findings"])


def finding(name: str) -> Finding:
    """The finding with that id; raises `LabValueError` with all ids when there is none."""
    found = next((item for item in findings() if item.id == name), None)
    if found is None:
        known = ", ".join(item.id for item in findings())
        raise LabValueError(f"no finding {name!r}; known: {known}")
    return found


def _finding(row: dict[str, Any]) -> Finding:
    steps = tuple((text.partition(" ")[0], text.partition(" ")[2]) for text in row["steps"])
    return Finding(
        id=row["id"],
        kind=row["kind"],
        operators=tuple(row["operators"]),
        title=row["title"],
        document=row["document"],
        code=row["code"],
        sources=tuple(parse_ref(text) for text in row["sources"]),
        seen=row["seen"],
        case=tuple(row["case"]),
        shows=row["shows"],
        sure=row["sure"],
        mend=row["mend"],
        steps=steps,
        when=row["when"],
    )


def run_case(item: Finding) -> Any:
    """Run a finding's minimal case and return the value of its last line."""
    space: dict[str, Any] = {}
    exec(PRELUDE, space)
    exec("\n".join(item.case[:-1]), space)
    return eval(item.case[-1], space)


@cache
def measured(sequence: str) -> dict[str, Any]:
    """A scripted sequence that was run on the real framework: its calls and what came back.

    The sequences lie in `data/vectors/lifecycle.jsonl` of the project's
    checkout; raises `LabValueError` where that is missing or has no such one.
    """
    file = Path(__file__).resolve().parents[2] / "data" / "vectors" / "lifecycle.jsonl"
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
    except OSError as error:
        raise LabValueError(
            f"the measured sequences are in the project's checkout, and {file} cannot be read "
            f"({error.strerror}); get the checkout to look at {sequence!r}"
        ) from error
    found: dict[str, Any] | None = next((row for row in rows if row["id"] == sequence), None)
    if found is None:
        raise LabValueError(f"no measured sequence {sequence!r} in {file}")
    return found


_PARTS = {
    "defect": (
        Text("Defects"),
        Text("Things that go wrong in the public code, or cost more than they must."),
    ),
    "pair": (
        Text("Forward against backward"),
        Text("Places where aclnnHardshrink and aclnnHardshrinkBackward do not fit each other."),
    ),
    "document": (
        Text("Documents against code"),
        Text(
            "Places where a public document, comment or test says something else than the code "
            "does. The lab follows the code."
        ),
    ),
}


def to_markdown() -> str:
    """The text of `docs/findings.md`, or in Chinese that of `docs/findings.zh.md`."""
    out = [_introduction()]
    for kind, (heading, sentence) in _PARTS.items():
        items = [item for item in findings() if item.kind == kind]
        out.append(f"## {_(heading)}\n\n{_(sentence)}\n")
        out.extend(_section(item) for item in items)
    return "\n".join(out)


def _introduction() -> str:
    parts = [
        _("# Findings in the public code"),
        _(
            "What this lab found while it learned how `aclnnHardshrinkBackward` and "
            "`aclnnHardshrink` of CANN really work. Written for those who can mend it. Every "
            "finding has its source, how it was seen, a minimal case that runs in the lab (a test "
            "runs each one), how sure we are, and what would mend it."
        ),
        _(
            "This page is written from `labkit/data/findings.json` by `python -m "
            "labkit.explain.findings`; edit the data. A chain (`labkit.explain`, `labkit explain`) "
            "names the findings that its call meets."
        ),
        _("A case starts with"),
        f"```python\n{PRELUDE}```",
        _(
            "and shows the value of its last line. `measured(...)` reads a sequence that was run "
            'on the real framework, out of `data/vectors/lifecycle.jsonl`. "Was run" means: the '
            "unmodified public sources, compiled for x86-64, with the runtime's calls recorded; no "
            "finding was made on a chip, and none contains a measured time unless it says so."
        ),
        _(
            "Sources are cited as repository, commit, path and lines. `jbgztxdy/ops-nn` and "
            "`hicann/...` are public copies of the repositories of `cann`, cited where the lines "
            "were read there."
        ),
    ]
    return "\n\n".join(part if "```" in part else _paragraph(part) for part in parts) + "\n"


def _section(item: Finding) -> str:
    operators = {"backward": "aclnnHardshrinkBackward", "forward": "aclnnHardshrink"}
    concerned = joined(operators[name] for name in item.operators)
    case = "\n".join((*item.case, f"# {item.shows}"))
    sources = "\n".join(f"* `{ref}`" for ref in item.sources)
    told = [
        f"`{item.id}` · {_(concerned)}",
        _("**The document says:** {text}").format(text=_(item.document)),
        _("**The code does:** {text}").format(text=_(item.code)),
        _("**Seen:** {text}").format(text=_(item.seen)),
        _("**How sure:** {text}.").format(text=_(item.sure)),
        _("**What would mend it:** {text}").format(text=_(item.mend)),
    ]
    text = "\n\n".join(_paragraph(part) for part in told)
    return f"### {_(item.title)}\n\n{text}\n\n```python\n{case}\n```\n\n{sources}\n"


def _paragraph(text: str) -> str:
    """At most 100 columns; Chinese in one line, since a break in it would show as a space."""
    if language() == "zh":
        return text
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    print(to_markdown(), end="")
