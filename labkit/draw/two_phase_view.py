"""What the two-phase picture shows, as data, and the same in words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from labkit.language import Text
from labkit.language import gettext as _

__all__ = [
    "QUESTION",
    "BlockView",
    "CallRow",
    "ObjectView",
    "TwoPhaseView",
    "WorkBar",
    "state_line",
    "two_phase_alt_text",
]

QUESTION = Text("What has happened by now, and what has not?")


@dataclass(frozen=True)
class CallRow:
    """One line of the program.

    `number` is its place, 0 for a line that this scenario leaves out. `state`
    is "done", "ahead", "failed", "skipped" (its condition was false),
    "never" (the program ended before it), "out" or "moved" (it stands
    elsewhere now). `odd` marks what the correct program does not have there.
    """

    number: int
    text: str
    state: str
    returned: str = ""
    odd: bool = False


@dataclass(frozen=True)
class BlockView:
    """A block of device memory.

    `state` is "poison" (never written), "unused" (nor ever will be), "data",
    "result", "scratch" or "freed"; `holds` what is in it, as text.
    """

    name: str
    size: int
    state: str
    holds: str
    canaries: bool = True


@dataclass(frozen=True)
class ObjectView:
    """An aclTensor or aclScalar: `state` is "none" (not made yet), "live" or "gone"."""

    name: str
    state: str


@dataclass(frozen=True)
class WorkBar:
    """A kernel in the stream: queued by one call, run during another (0: not yet).

    `lost` tells that it went out of the queue without having run well.
    """

    kernel: str
    queued: int
    ran: int = 0
    lost: bool = False


@dataclass(frozen=True)
class TwoPhaseView:
    """A host program after `step` of its `total` calls.

    `call` and `scenario` are the words of the menus, `lambd` is λ as written,
    `chip` the chip and `public` whether its kernels are, `strict` whether the
    undefined is caught, `ended` the call behind which the program ended early
    (0: it did not). `executor` is its state in words and `executor_state` one
    of "none", "live", "gone". `output` names the host array that is to receive
    the result, `output_text` holds its numbers and `output_state` is "before",
    "right", "poison" or "wrong". `caption` says what the last call did,
    `verdict` what is wrong or, at the end, whether all is well; `trouble`
    whether the verdict is a bad one.
    """

    call: Text
    lambd: str
    scenario: Text
    chip: str
    public: bool
    strict: bool
    step: int
    total: int
    ended: int
    rows: tuple[CallRow, ...]
    blocks: tuple[BlockView, ...]
    objects: tuple[ObjectView, ...]
    executor: Text
    executor_state: str
    bars: tuple[WorkBar, ...]
    output: str
    output_text: str
    output_state: str
    caption: Text
    verdict: Text | None
    trouble: bool

    @property
    def current(self) -> CallRow | None:
        """The row of the last call made; None before the first."""
        made = (row for row in self.rows if row.number == self.step > 0)
        return next(made, None)

    @property
    def queue(self) -> tuple[str, ...]:
        """The kernels that wait in the stream."""
        return tuple(bar.kernel for bar in self.bars if not bar.ran and not bar.lost)


BLOCK_WORDS = {
    "poison": Text("poison: nobody has written it"),
    "unused": Text("poison: no kernel of this call uses it"),
    "data": Text("an input, copied in"),
    "result": Text("written by a kernel"),
    "scratch": Text("intermediate results"),
    "freed": Text("freed"),
}

OUTPUT_WORDS = {
    "before": Text("as it was before the program"),
    "right": Text("the right result"),
    "poison": Text("poison: read before a kernel wrote it"),
    "wrong": Text("not the result"),
}


def state_line(view: TwoPhaseView) -> tuple[Text, ...]:
    """The grey lines: what runs where, and how mistakes are treated."""
    mode = (
        Text("the undefined is caught")
        if view.strict
        else Text("the undefined is let pass, codes ignored")
    )
    where = Text("software NPU as {chip}", chip=view.chip)
    if not view.public:
        where = Text("{where}, scratch not public: taken as none", where=where)
    first = Text(
        "call {step} of {total} · {call}, λ = {lambd} · {scenario}",
        step=view.step,
        total=view.total,
        call=view.call,
        lambd=view.lambd,
        scenario=view.scenario,
    )
    return first, Text("{where} · {mode}", where=where, mode=mode)


def two_phase_alt_text(view: TwoPhaseView) -> str:
    """The picture in words, for those who do not see it."""
    told = [f"{_(QUESTION)} {' · '.join(map(_, state_line(view)))}."]
    row = view.current
    if row is None:
        told.append(_("No call has been made."))
    else:
        told.append(
            _("Last call: {number} {text}, returned {returned}. {caption}").format(
                number=row.number, text=row.text, returned=row.returned, caption=_(view.caption)
            )
        )
    out = [each.text for each in view.rows if each.state in ("out", "moved")]
    if out:
        told.append(_("Left out or moved: {lines}.").format(lines=_("; ").join(out)))
    if view.blocks:
        blocks = _("; ").join(map(_block_text, view.blocks))
        told.append(_("Device memory: {blocks}.").format(blocks=blocks))
    for state, words in (("live", _("Descriptions alive: {names}.")), ("gone", "")):
        names = [each.name for each in view.objects if each.state == state]
        if names:
            words = words or _("Descriptions destroyed: {names}.")
            told.append(words.format(names=_(", ").join(names)))
    told.append(_("Executor: {executor}.").format(executor=_(view.executor)))
    told.append(_("Stream: {work}.").format(work=_work_text(view)))
    told.append(
        _("On the host, {name} is {values}: {words}.").format(
            name=view.output, values=view.output_text, words=_(OUTPUT_WORDS[view.output_state])
        )
    )
    if view.verdict:
        told.append(_(view.verdict))
    return re.sub(" +", " ", " ".join(told))


def _block_text(block: BlockView) -> str:
    holds = f" ({block.holds})" if block.holds else ""
    words = _("{name}, {size} bytes, {words}{holds}").format(
        name=block.name, size=block.size, words=_(BLOCK_WORDS[block.state]), holds=holds
    )
    return words if block.canaries else _("{words}, canaries overwritten").format(words=words)


def _work_text(view: TwoPhaseView) -> str:
    if not view.bars:
        return _("empty")
    told = []
    for bar in view.bars:
        said = {"kernel": bar.kernel, "queued": bar.queued, "ran": bar.ran}
        if bar.lost:
            told.append(_("{kernel} queued by call {queued}, failed in {ran}").format(**said))
        elif bar.ran:
            told.append(_("{kernel} queued by call {queued}, run in {ran}").format(**said))
        else:
            told.append(_("{kernel} queued by call {queued}, waiting").format(**said))
    return _("; ").join(told)
