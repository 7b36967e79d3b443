"""Which launch of a prediction a kernel that was seen stands for: by device and stream, in order.

Work on two devices, or on two streams, has no order between them. So each pair
of device and stream is laid beside the prediction on its own, and the calls are
counted for each pair. Where the pairs together hold as many whole calls as were
asked for, the calls are taken as spread over them, and a note says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labkit.errors import LabValueError
from labkit.language import Text
from labkit.language import gettext as _
from labkit.observe.align import align_finely
from labkit.observe.fields import alike, seen_key
from labkit.observe.kernels import Observation, ObservedKernel, count_text
from labkit.op.plan import Launch, Plan

__all__ = ["MOST", "Match", "Side", "both_sides"]

MOST = 2_000_000
"""More kernels are not predicted: so many calls are a slip of the keyboard."""


@dataclass(frozen=True, slots=True)
class Match:
    """A launch and the kernel that was seen for it; one of them may be None.

    `number` counts within the device and stream, from 1.
    """

    number: int
    launch: Launch | None
    kernel: ObservedKernel | None

    @property
    def op_type(self) -> str:
        """The op type of whichever is there."""
        return (self.launch or self.kernel).op_type  # type: ignore[union-attr]


@dataclass(frozen=True)
class Side:
    """What stands on one device and stream; `where` is empty where there is only one."""

    where: str
    calls: int
    matches: tuple[Match, ...]
    notes: tuple[str, ...] = ()


def both_sides(plan: Plan, observed: Observation, calls: int) -> tuple[Side, ...]:
    """The launches of so many calls beside the kernels seen that belong to the operator.

    A copy task of the runtime is no kernel, and no op_summary lists it.
    """
    if calls < 1:
        raise LabValueError(
            _("calls is {n}; right would be at least 1").format(n=count_text(calls))
        )
    once = [launch for launch in plan.launches if launch.core != "RTS"]
    kernels = [x for x in observed.of(plan.operator).kernels if x.core != "RTS"]
    places = _places(kernels)
    keys = sorted(places, key=lambda key: [(part is not None, part or 0) for part in key])
    counts = [_whole_calls(once, places[key]) for key in keys]
    spread = len(keys) > 1 and all(counts) and sum(counts) == calls
    if not spread and calls * len(once) * max(1, len(keys)) > MOST:
        raise LabValueError(
            _(
                "{n} calls on each of {pairs} pairs of device and stream are more than {most} "
                "kernels; right would be fewer calls, or one device and stream"
            ).format(n=count_text(calls), pairs=max(1, len(keys)), most=MOST)
        )
    matcher = _Matcher(plan, once)
    if len(keys) < 2:
        seen = places[keys[0]] if keys else []
        return (Side("", calls, matcher.matches(calls, seen), _notes(once, seen, calls)),)
    return tuple(
        Side(
            _where(*key),
            count if spread else calls,
            matcher.matches(count if spread else calls, places[key]),
            () if spread else _notes(once, places[key], calls),
        )
        for key, count in zip(keys, counts)
    )


_Key = tuple[int | None, int | None]


def _places(kernels: Sequence[ObservedKernel]) -> dict[_Key, list[ObservedKernel]]:
    """The kernels of each device and stream.

    One of which either is not told belongs to the only pair that it can belong to.
    """
    told = dict.fromkeys((kernel.device, kernel.stream) for kernel in kernels)
    whole = [key for key in told if None not in key]
    home: dict[_Key, _Key] = {}
    for key in told:
        if None not in key:
            home[key] = key
            continue
        fits = [pair for pair in whole if all(a in (None, b) for a, b in zip(key, pair))]
        home[key] = fits[0] if len(fits) == 1 else key
    places: dict[_Key, list[ObservedKernel]] = {}
    for kernel in kernels:
        places.setdefault(home[kernel.device, kernel.stream], []).append(kernel)
    return places


def _where(device: int | None, stream: int | None) -> Text:
    if device is None and stream is None:
        return Text("device and stream not told")
    if device is None:
        return Text("stream {stream}", stream=stream)
    if stream is None:
        return Text("device {device}", device=device)
    return Text("device {device}, stream {stream}", device=device, stream=stream)


class _Matcher:
    """Lays kernels beside launches: those that are alike first, then those of one op type."""

    def __init__(self, plan: Plan, once: Sequence[Launch]) -> None:
        self.plan, self.once = plan, once
        kinds: dict[object, int] = {}
        self.kinds = [kinds.setdefault(_kind(launch), len(kinds)) for launch in once]
        self.labels: dict[object, int] = {}

    def matches(self, calls: int, kernels: Sequence[ObservedKernel]) -> tuple[Match, ...]:
        """The launches of so many calls and the kernels of one device and stream."""
        calls = min(calls, MOST)  # also where a call launches nothing
        launches = [*self.once] * calls
        fine = self.kinds * calls, [self._label(kernel) for kernel in kernels]
        names = [launch.op_type for launch in launches], [kernel.op_type for kernel in kernels]
        return tuple(
            Match(number, None if a is None else launches[a], None if b is None else kernels[b])
            for number, (a, b) in enumerate(align_finely(fine, *names), 1)
        )

    def _label(self, kernel: ObservedKernel) -> int:
        """The kind of launch that a kernel is like; -1 for none, or where it may be several."""
        key = seen_key(kernel)
        if key not in self.labels:
            like = {
                kind
                for kind, launch in zip(self.kinds, self.once)
                if alike(launch, kernel, self.plan)
            }
            self.labels[key] = like.pop() if len(like) == 1 else -1
        return self.labels[key]


def _kind(launch: Launch) -> object:
    """Launches of one kind cannot be told apart in a profile."""
    tensors = [operand for operand in launch.inputs if operand.const is None]
    told = [[(x.shape, x.dtype.short) for x in side] for side in (tensors, launch.outputs)]
    return launch.op_type, launch.core, repr(told)


def _whole_calls(once: Sequence[Launch], kernels: Sequence[ObservedKernel]) -> int:
    """Of how many calls these are the kernels; 0 where they are not those of whole calls."""
    times, left = divmod(len(kernels), len(once)) if once else (0, 0)
    names = [launch.op_type for launch in once]
    return times if not left and [x.op_type for x in kernels] == names * times else 0


def _notes(
    once: Sequence[Launch], kernels: Sequence[ObservedKernel], calls: int
) -> tuple[str, ...]:
    """What is wrong with the whole rather than with a kernel."""
    if once and not kernels:
        return (Text("the source has no kernel of this operator at all"),)
    times = _whole_calls(once, kernels)
    if times > 1 and times != calls:
        return (Text("these are the kernels of {n} calls: compare with calls={n}", n=times),)
    return ()
