"""The chain as data: steps over four layers, each with its source and its reason.

Everything in here is plain and frozen (texts, numbers, tuples), so a chain can
be compared, drawn, and turned into JSON and back. `build` makes it from a plan;
`text`, `html` and `jsonform` show it. Its sentences are English, most of them as
`Text`, so that text and HTML can tell them in the reader's language.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, overload

from labkit.language import Text
from labkit.op.plan import Plan

__all__ = [
    "LAYERS",
    "BucketInfo",
    "Chain",
    "ChainStep",
    "MemberInfo",
    "Note",
    "Port",
    "Run",
    "SourceRef",
    "Workspace",
]

LAYERS = {
    "L2": Text("aclnn (L2): the checks of phase 1, λ, workspace, phase 2"),
    "l0": Text("l0 operators: each launches kernels, or has a reason not to"),
    "definition": Text("operator definition and graph: what is launched, in launch order"),
    "kernel": Text("kernel with tiling: how the work is cut and what a core does"),
}
"""The four layers, as the documentation names them, with what the chain shows of each."""


@dataclass(frozen=True)
class SourceRef:
    """Lines of a public source file.

    `lines` is a range ("53-62") or one line ("161"); `anchor` is a word that
    stands in those lines and finds them again in another commit.

    >>> ref = SourceRef("cann/opbase", "src/a.cpp", "22-29", "aa3cd74b7f6d")
    >>> str(ref), ref.first, ref.last
    ('cann/opbase aa3cd74b src/a.cpp:22-29', 22, 29)
    """

    repository: str
    path: str
    lines: str
    commit: str
    anchor: str = ""

    @property
    def first(self) -> int:
        """Number of the first line."""
        return int(self.lines.partition("-")[0])

    @property
    def last(self) -> int:
        """Number of the last line."""
        return int(self.lines.rpartition("-")[2])

    def __str__(self) -> str:
        return f"{self.repository} {self.commit[:8]} {self.path}:{self.lines}"


@dataclass(frozen=True)
class Note:
    """Something to know about a step.

    `kind` is "finding" (a place where document and code part, or a defect;
    `finding` is its id) or "remark". `applies` tells whether this very call
    meets it.
    """

    kind: str
    text: str
    finding: str = ""
    applies: bool = True


@dataclass(frozen=True)
class Port:
    """A tensor, or a list of host-side integers, that goes into a step or comes out of it.

    `name` is its name in the operator's definition or signature, `holds` what
    lies there ("gradOutput", "result of launch 1"), `place` where ("caller",
    "workspace", "host"). Shape, strides and offset count elements; `values`
    are the integers of a host-side operand, `storage` the storage shape of an
    argument.
    """

    name: str
    holds: str
    place: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    values: tuple[int, ...] | None = None
    storage: tuple[int, ...] | None = None


@dataclass(frozen=True)
class ChainStep:
    """One step of the chain.

    `layer` is a key of `LAYERS`; `subject` what the step works on, where a
    name alone does not tell; `state` one of passed, stopped, returned, not
    reached, launched, discarded, skipped, redirected, known, assumed, ran, not
    run. `does` says what the step does in any call, `why` what it did in this
    one. `launches` count from 0; `facts` are names with values, `items` details.
    """

    layer: str
    name: str
    state: str
    function: str
    does: str
    why: str = ""
    subject: str = ""
    sources: tuple[SourceRef, ...] = ()
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    launches: tuple[int, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    items: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def title(self) -> str:
        """Name and subject."""
        return f"{self.name} {self.subject}".rstrip()

    @property
    def findings(self) -> tuple[str, ...]:
        """Ids of the findings that this call meets here."""
        return tuple(note.finding for note in self.notes if note.finding and note.applies)


@dataclass(frozen=True)
class MemberInfo:
    """One tensor of the workspace.

    `size` bytes take `taken` bytes (32 more, rounded up to 512); it lives
    from launch `start` to launch `end`, both counted from 0 and inclusive.
    `why` says why it lies in this bucket.
    """

    name: str
    holds: str
    size: int
    taken: int
    start: int
    end: int
    why: str


@dataclass(frozen=True)
class BucketInfo:
    """A piece of workspace that its members use one after another."""

    number: int
    offset: int
    size: int
    members: tuple[MemberInfo, ...]
    why: str


@dataclass(frozen=True)
class Workspace:
    """The workspace of a call: its size, its buckets, and why it is that large."""

    size: int
    buckets: tuple[BucketInfo, ...]
    why: str


@dataclass(frozen=True)
class Run:
    """What a call that was made has to say about itself.

    `calls` counts its C calls; `launches` are the kernels that the device
    reported, or None where it reports none; `differs` lists where the call
    and the model part.
    """

    device: str
    status: int
    status_name: str
    workspace_size: int
    calls: int
    launches: tuple[str, ...] | None
    message: str = ""
    differs: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Chain:
    """A call, explained.

    A sequence of `ChainStep`; `str()` is text for a terminal, a notebook shows
    it as HTML, `repr()` is one line. `status`, `meaning`, `message`, `remedy`
    and `failed_check` are those of phase 1; `run` is None for a plan, which was
    not run. `plan` is what the chain was made from, and not part of its value.
    """

    operator: str
    soc: str
    family: str
    status: int
    status_name: str
    meaning: str
    message: str
    remedy: str
    failed_check: str | None
    arguments: tuple[Port | None, ...]
    argument_names: tuple[str, ...]
    lambd: str
    result_shape: tuple[int, ...] | None
    promoted: str | None
    steps: tuple[ChainStep, ...]
    workspace: Workspace
    run: Run | None = None
    plan: Plan | None = field(default=None, compare=False)

    @property
    def ok(self) -> bool:
        """Whether phase 1 succeeds."""
        return self.status == 0

    @property
    def checks(self) -> tuple[ChainStep, ...]:
        """The steps of the aclnn layer."""
        return self.layer("L2")

    @property
    def launches(self) -> tuple[ChainStep, ...]:
        """The launches in launch order; `name` is the op type."""
        return tuple(step for step in self.layer("definition") if step.launches)

    @property
    def workspace_size(self) -> int:
        """Bytes of workspace that phase 1 asks for."""
        return self.workspace.size

    @property
    def findings(self) -> tuple[str, ...]:
        """Ids of the findings that this call meets, in the order of its steps."""
        return tuple(dict.fromkeys(found for step in self.steps for found in step.findings))

    def layer(self, name: str) -> tuple[ChainStep, ...]:
        """The steps of one layer: "L2", "l0", "definition" or "kernel"."""
        return tuple(step for step in self.steps if step.layer == name)

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[ChainStep]:
        return iter(self.steps)

    @overload
    def __getitem__(self, place: int) -> ChainStep: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[ChainStep, ...]: ...
    def __getitem__(self, place: int | slice) -> ChainStep | tuple[ChainStep, ...]:
        return self.steps[place]

    def __repr__(self) -> str:
        names = ", ".join(step.name for step in self.launches) or "nothing"
        return (
            f"<Chain of {self.operator} on {self.soc}: {self.status} {self.status_name}, "
            f"launches {names}, workspace {self.workspace_size} bytes>"
        )

    def __str__(self) -> str:
        from labkit.explain.text import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from labkit.explain.html import as_html

        return as_html(self)

    def to_dict(self) -> dict[str, Any]:
        """The chain as dictionaries, lists, texts and numbers, without any line of source."""
        from labkit.explain.jsonform import to_dict

        return to_dict(self)

    def to_json(self, indent: int | None = None) -> str:
        """`to_dict` as JSON text; `Chain.from_json` reads it."""
        from labkit.explain.jsonform import to_json

        return to_json(self, indent)

    @classmethod
    def from_json(cls, text: str) -> Chain:
        """The chain that `to_json` wrote, equal to the one it came from."""
        from labkit.explain.jsonform import from_json

        return from_json(text)
