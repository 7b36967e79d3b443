"""The thin layer of ipywidgets around a panel: controls, the red line, the picture.

The picture is an HTML widget with an img inside, since ipywidgets' Image has
no text alternative. Nothing here has a tooltip: on a box it breaks the page.

A widget lives only while its kernel does; `static` puts a still picture beside it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from labkit.draw.html import STYLE, image
from labkit.explore.static import hiding_rule
from labkit.language import gettext as _

if TYPE_CHECKING:
    from labkit.explore.panel import Panel, Problem

__all__ = ["Controls", "Shell"]

_STYLE = (
    "<style>"
    ".labkit-error{color:var(--jp-error-color1,#b3261e);min-height:3em;line-height:1.5}"
    ".labkit-error details{display:inline-block;color:var(--jp-ui-font-color2,#555)}"
    ".labkit-error pre{font-size:90%;white-space:pre-wrap}"
    ".labkit-stale{opacity:0.55}"
    ".labkit-panel .widget-html-content{line-height:normal}"
    "{hide}"
    "</style>"
)


@dataclass
class Controls:
    """A panel's own widgets.

    `rows` are lists of widgets, one row each; `sync` puts a state into them.
    """

    rows: list[list[Any]]
    sync: Callable[[Any], None]
    listening: list[tuple[Any, Callable[[Any], None]]] = field(default_factory=list)

    def when(self, widget: Any, act: Callable[[Any], Any]) -> None:
        """Call `act` with the new value whenever the user changes a widget."""
        self.listening.append((widget, act))


class Shell:
    """The widgets of one panel. All methods run under the drawing lock."""

    def __init__(self, panel: Panel[Any]) -> None:
        self._syncing: int | None = None
        self.controls = panel.controls()
        for widget, act in self.controls.listening:
            widget.observe(self._listener(act), "value")
        wide = panel.size[0]
        self.style = widgets.HTML(STYLE + _STYLE.replace("{hide}", hiding_rule(panel)))
        self.error = widgets.HTML(layout=widgets.Layout(width=f"{wide}px", max_width="100%"))
        self.picture = widgets.HTML(
            layout=widgets.Layout(
                width=f"{wide}px", max_width="100%", min_height="0", align_self="flex-start"
            )
        )
        self.below = widgets.HTML(layout=widgets.Layout(width=f"{wide}px", max_width="100%"))
        rows = [
            widgets.HBox(row, layout=widgets.Layout(flex_flow="row wrap", width="100%"))
            for row in self.controls.rows
        ]
        self.root = widgets.VBox([self.style, *rows, self.error, self.picture, self.below])
        self.root.add_class("labkit-panel")
        self.show(panel, panel.state)

    def _listener(self, act: Callable[[Any], Any]) -> Callable[[Any], None]:
        def listen(change: Any) -> None:
            # What `show` itself puts into a widget is not the user's doing.
            if self._syncing != threading.get_ident():
                act(change["new"])

        return listen

    def show(self, panel: Panel[Any], asked: Any) -> None:
        """Show the panel's picture and problem, and `asked` in the controls (None: leave them)."""
        self._syncing = threading.get_ident()
        try:
            if asked is not None:
                self.controls.sync(asked)
        finally:
            self._syncing = None
        kind = "labkit-stale" if panel.stale else ""
        words = panel.text
        if panel.stale:
            words = _("Earlier state. {text}").format(text=panel.text)
        self.picture.value = image(panel.picture, words, *panel.size, kind) if panel.picture else ""
        self.below.value = f'<div class="{kind}">{panel.below}</div>' if panel.below else ""
        # Last: until the picture has come, the line may still say that the panel computes.
        self.error.value = problem_html(panel.problem, stale=bool(panel.picture))

    def busy(self) -> AbstractContextManager[None]:
        """Say that the panel computes, if the block takes long."""
        return announce(self._say_busy)

    def _say_busy(self) -> None:
        self.error.value = f'<div class="labkit-error" role="status">{_("computing …")}</div>'

    def close(self) -> None:
        """Close every widget, so that they leave the page and the kernel keeps none."""
        rows = [widget for row in self.controls.rows for widget in row]
        for widget in (self.root, *self.root.children, *rows):
            widget.close()

    def bundle(self, panel: Panel[Any]) -> dict[str, Any]:
        """What a cell shows: the live view, named shortly so that outputs compare."""
        shown: dict[str, Any] = dict(self.root._repr_mimebundle_())
        shown["text/plain"] = repr(panel)
        return shown


def problem_html(problem: Problem | None, *, stale: bool) -> str:
    """Two lines in red: what is wrong, and what the picture shows; the details folded away."""
    if problem is None:
        return '<div class="labkit-error"></div>'
    older = _("The picture still shows the state before.") + " " if stale else ""
    folded = ""
    if problem.details:
        inside = f"<summary>{_('details')}</summary><pre>{escape(problem.details)}</pre>"
        folded = f"<details>{inside}</details>"
    return (
        f'<div class="labkit-error" role="alert">⚠ {escape(problem.text)}<br>{older}{folded}</div>'
    )


@contextmanager
def announce(say: Callable[[], None], after: float = 0.2) -> Iterator[None]:
    """Call `say` once, from another thread, if the block takes longer than `after` seconds."""
    done = False
    lock = threading.Lock()

    def speak() -> None:
        with lock:
            if not done:
                say()

    timer = threading.Timer(after, speak)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with lock:
            done = True
