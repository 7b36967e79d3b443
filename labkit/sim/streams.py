"""Streams and events: work is queued, and runs when somebody waits for it.

Nothing of a stream's work happens before a synchronise (or a query, which lets
one more piece run, as time would). So a result read too early is poison here
and not right by luck, as it might be on a quick device.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from labkit.sim.kernels import Access

__all__ = ["Event", "Stream", "Work"]

_QUEUE_LIMIT = 4096


@dataclass
class Work:
    """One queued piece: a kernel, a copy, a memset, an event.

    `run` returns the code that synchronise will report (0: fine). `ends` marks
    the record of an event: it runs though the work before it failed, or whoever
    asks for the event would ask for ever.
    """

    what: str
    run: Callable[[], int]
    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()
    ends: bool = False


@dataclass(eq=False)
class Event:
    """An aclrtEvent; `done_ns` is the host clock when its record ran, else None."""

    handle: int
    done_ns: int | None = None
    stream: Stream | None = None
    recorded: bool = False
    records: int = 0
    ready_unrecorded: bool = False


@dataclass(eq=False)
class Stream:
    """An aclrtStream: a queue of work in a context."""

    handle: int
    context: int
    queue: deque[Work] = field(default_factory=deque)
    failure: int = 0
    failed_work: str = ""

    def push(self, work: Work) -> None:
        """Queue a piece; a full queue lets the oldest run, as the task queue of a device does."""
        self.queue.append(work)
        if len(self.queue) > _QUEUE_LIMIT:
            self.step()

    def step(self) -> None:
        """Run the oldest piece. After a failure the rest of the queue is dropped."""
        if not self.queue:
            return
        work = self.queue.popleft()
        try:
            code = work.run()
        except Exception:
            self.drop()
            raise
        if code:
            if not self.failure:
                self.failure, self.failed_work = code, work.what
            self.drop()

    def drop(self) -> None:
        """Forget what is queued; its events end all the same."""
        dropped = list(self.queue)
        self.queue.clear()
        for work in dropped:
            if work.ends:
                work.run()

    def drain(self) -> int:
        """Run everything; returns (and forgets) the code of the first failure."""
        while self.queue:
            self.step()
        return self.take_failure()

    def take_failure(self) -> int:
        """The code of the first failure since somebody asked, or 0."""
        code, self.failure = self.failure, 0
        return code

    def run_until(self, event: Event) -> None:
        """Run until an event of this stream is recorded."""
        while self.queue and event.done_ns is None:
            self.step()


def record(event: Event, number: int) -> int:
    """What the queued record does: note the time, unless the event was recorded again since."""
    if number == event.records:
        event.done_ns = time.perf_counter_ns()
    return 0
