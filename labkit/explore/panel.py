"""What all panels share: a frozen state, a pure render, one lock, and errors that are seen.

A panel is driven from a notebook cell (`panel.set(...)`), by its widgets, or
by a test, and all three take the same way: a request gets a number, waits for
the drawing lock, and is dropped when a later one has come meanwhile. JupyterLab
runs widget callbacks on a thread of their own while a cell may be busy, so
nothing here relies on a thread.

Everything is there without ipywidgets: state, picture, text, error. The
widgets are `shell.Shell`, made when the panel is first displayed.
"""

from __future__ import annotations

import os
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from labkit.draw.theme import DRAWING
from labkit.errors import LabValueError, StaysHere
from labkit.explore.typed import refuse_unknown
from labkit.language import gettext as _

if TYPE_CHECKING:
    from labkit.explore.shell import Controls, Shell

__all__ = ["Panel", "Problem", "Rendered", "open_panels"]

State = TypeVar("State")

_OPEN: dict[str, Panel[Any]] = {}
_MADE: Counter[str] = Counter()
_REGISTRY = threading.Lock()


@dataclass(frozen=True)
class Rendered:
    """What a state looks like: a PNG, the same in words, and what is told below it (HTML)."""

    picture: bytes
    text: str
    below: str = ""


@dataclass(frozen=True)
class Problem:
    """Why a request shows no picture of its own.

    `text` is the red line, `details` is folded away below it (a traceback, or
    empty). `expected` problems are part of the lesson, such as a status that
    the operator is meant to return; others are raised in tests.
    """

    text: str
    details: str = ""
    expected: bool = False


class Panel(StaysHere, Generic[State]):
    """A picture that follows a state.

    `state` is the last one shown well, `picture` its PNG, `text` its text
    alternative, `below` the HTML under it, `error` the red line or "", `stale`
    whether the picture is older than what was asked. `render` turns a state into a `Rendered`, or
    into a `Problem` when the operator refuses; it must depend on nothing but
    the state. `raise_errors` raises what goes wrong as well as showing it;
    None means when LABKIT_RAISE is 1.

    A panel with the name of an open one closes and replaces it, so a cell
    may be run again.
    """

    size = (940, 560)
    """CSS pixels of the picture."""

    def __init__(
        self,
        name: str,
        state: State,
        render: Callable[[State], Rendered | Problem],
        *,
        raise_errors: bool | None = None,
    ) -> None:
        self.name = name
        self.state = state
        self.picture = b""
        self.text = ""
        self.below = ""
        self.problem: Problem | None = None
        self.raise_errors = raise_errors
        self.closed = False
        self._render = render
        self._wanted = state
        self._asked = 0
        self._counting = threading.Lock()
        self._shell: Shell | None = None
        with _REGISTRY:
            before = _OPEN.pop(name, None)
            _OPEN[name] = self
            _MADE[name] += 1
            self.number = _MADE[name]
        if before is not None:
            before.close()
        try:
            self.set()
        except BaseException:
            self.close()
            raise

    # -- asking ------------------------------------------------------------------

    def set(self, **changes: Any) -> Panel[State]:
        """Change fields of the state and show the result; returns the panel.

        A value that cannot be right is shown as an error, and the last good
        picture stays, marked stale.
        """
        asked: State | LabValueError
        with self._counting:
            self._asked += 1
            number = self._asked
            try:
                asked = self._wanted = self._with(changes)
            except LabValueError as error:
                asked = error
        self._answer(number, asked)
        return self

    def _with(self, changes: dict[str, Any]) -> State:
        refuse_unknown(self._wanted, changes)
        return self.changed(self._wanted, changes)

    def changed(self, state: State, changes: dict[str, Any]) -> State:
        """The state with changes; a panel overrides this to read and check what is typed."""
        return replace(state, **changes)  # type: ignore[type-var]

    def _answer(self, number: int, wanted: State | LabValueError) -> None:
        failure: BaseException | None = None
        result: Rendered | Problem
        with DRAWING:
            if number != self._asked or self.closed:
                return  # a later request waits for the lock: its answer is the one to show
            if isinstance(wanted, LabValueError):
                failure, result = wanted, Problem(_words(wanted))
            else:
                try:
                    with self._busy():
                        result = self._render(wanted)
                except Exception as error:
                    failure = error
                    first = str(error).strip().splitlines() or [""]
                    result = Problem(f"{type(error).__name__}: {first[0]}", traceback.format_exc())
            if isinstance(result, Rendered):
                self.state = wanted  # type: ignore[assignment]
                self.picture, self.text, self.below = result.picture, result.text, result.below
                self.problem = None
            else:
                self.problem = result
            if self._shell is not None:
                self._shell.show(self, None if isinstance(wanted, LabValueError) else wanted)
        if failure is not None and self._raises():
            raise failure

    def _busy(self) -> Any:
        from contextlib import nullcontext

        return nullcontext() if self._shell is None else self._shell.busy()

    def _raises(self) -> bool:
        if self.raise_errors is None:
            return os.environ.get("LABKIT_RAISE") == "1"
        return self.raise_errors

    # -- what is shown -------------------------------------------------------------

    @property
    def error(self) -> str:
        """The red line; empty when all is well."""
        return "" if self.problem is None else self.problem.text

    @property
    def stale(self) -> bool:
        """Whether the picture shows an earlier state than the one asked for."""
        return self.problem is not None

    def controls(self) -> Controls:
        """The panel's widgets; called once, when the panel is first displayed."""
        raise NotImplementedError

    @property
    def shell(self) -> Shell:
        """The panel's face of widgets, made when first asked for; needs ipywidgets."""
        with DRAWING:
            if self._shell is None:
                from labkit.explore.shell import Shell

                self._shell = Shell(self)
            return self._shell

    def close(self) -> None:
        """Take the panel off the page; twice is once. The last picture stays readable."""
        with _REGISTRY:
            if _OPEN.get(self.name) is self:
                del _OPEN[self.name]
        self.closed = True
        with DRAWING:
            shell, self._shell = self._shell, None
            if shell is not None:
                shell.close()

    def __repr__(self) -> str:
        return f"<{self.name} panel>"

    def _ipython_display_(self) -> None:
        from labkit.explore.static import display_panel

        display_panel(self)


def _words(error: LabValueError) -> str:
    """What an error says, in the language of this process where its sentence is a `Text`."""
    first = error.args[0] if len(error.args) == 1 else error
    return _(first) if isinstance(first, str) else str(error)


def open_panels() -> tuple[Panel[Any], ...]:
    """The panels that are open, in the order in which they were opened."""
    with _REGISTRY:
        return tuple(_OPEN.values())
