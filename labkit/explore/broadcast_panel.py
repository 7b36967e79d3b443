"""The broadcast panel: two shapes and three views by choice or typed, and what the call launches.

Everything is planned by `labkit.op`; no device is needed.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.draw.broadcast import HEIGHT, broadcast_figure
from labkit.draw.broadcast_view import BroadcastView, broadcast_alt_text, remarks
from labkit.draw.html import Shown, show
from labkit.draw.png import drawn, quick_png
from labkit.draw.sheet import WIDTH
from labkit.draw.tape import tape_alt_text, tape_figure
from labkit.explore.broadcast_state import PAIRS, TYPED, BroadcastState, changed, look
from labkit.explore.broadcast_views import INPUT_KINDS, KINDS, OUTPUT_KINDS
from labkit.explore.panel import Panel, Problem, Rendered
from labkit.explore.typed import CHIPS, shape_words
from labkit.language import gettext as _
from labkit.op import TensorDesc
from labkit.views import describe

if TYPE_CHECKING:
    from labkit.explore.shell import Controls

__all__ = ["BroadcastPanel", "broadcast", "broadcast_picture", "render", "tape"]


def broadcast(
    grad_shape: Any = (4, 4),
    self_shape: Any = (4, 4),
    *,
    grad_view: str = "contiguous",
    self_view: str = "transposed",
    out_view: str = "contiguous",
    soc: str = CHIPS[0],
    theme: str = "light",
    name: str = "broadcast",
    raise_errors: bool | None = None,
) -> BroadcastPanel:
    """Open the broadcast panel, which shows where elements lie and what that costs.

    Shapes and views are where the controls start; `panel.set(self_view="columns")`
    moves them. Running the cell again replaces the panel of the same `name`.

    >>> import labkit
    >>> panel = labkit.explore.broadcast((4, 4), (4,))
    >>> [launch.op_type for launch in panel.view.plan.launches]
    ['BroadcastTo', 'BroadcastTo', 'HardShrinkGrad']
    >>> panel.close()
    """
    start = {
        "grad_shape": grad_shape,
        "self_shape": self_shape,
        "grad_view": grad_view,
        "self_view": self_view,
        "out_view": out_view,
        "soc": soc,
    }
    return BroadcastPanel(start, theme=theme, name=name, raise_errors=raise_errors)


def broadcast_picture(*, theme: str = "light", **start: Any) -> Shown:
    """The picture of the broadcast panel, standing still; arguments as for `broadcast`."""
    view = look(changed(BroadcastState(), start))
    return show(broadcast_figure(view, theme), broadcast_alt_text(view))


def tape(view: Any, expression: str = "", *, theme: str = "light") -> Shown:
    """A picture of the memory that a view reads: a NumPy array, or a `TensorDesc`.

    >>> import labkit, numpy as np
    >>> labkit.explore.tape(np.zeros((2, 3), np.float32).T, "x.T").size
    (940, 168)
    """
    desc = view if isinstance(view, TensorDesc) else describe(np.asarray(view))
    words = expression or "x"
    return show(tape_figure(desc, words, theme), tape_alt_text(desc, words))


def render(state: BroadcastState, theme: str = "light") -> Rendered:
    """The picture of a state, its words, and the sentences below it."""
    return _rendered(look(state), theme)


def _rendered(view: BroadcastView, theme: str) -> Rendered:
    picture = quick_png(drawn(broadcast_figure(view, theme, quick=True)))
    return Rendered(picture, broadcast_alt_text(view), _below(view))


def _below(view: BroadcastView) -> str:
    told = [escape(_(remark)) for remark in remarks(view)]
    kind = "labkit-remarks" if view.plan.ok else "labkit-remarks labkit-error"
    return f'<div class="{kind}" role="status">{"<br>".join(told)}</div>'


class BroadcastPanel(Panel[BroadcastState]):
    """The broadcast panel; see `broadcast`. `view` is what the picture shows, as data."""

    size = (WIDTH, HEIGHT)

    def __init__(
        self,
        start: dict[str, Any],
        *,
        theme: str = "light",
        name: str = "broadcast",
        raise_errors: bool | None = None,
    ) -> None:
        self.view: BroadcastView
        self._theme = theme
        state = changed(BroadcastState(), start)
        super().__init__(name, state, self._render_state, raise_errors=raise_errors)

    def _render_state(self, state: BroadcastState) -> Rendered | Problem:
        view = look(state)
        rendered = _rendered(view, self._theme)
        self.view = view
        return rendered

    def changed(self, state: BroadcastState, changes: dict[str, Any]) -> BroadcastState:
        """The state with what was typed or chosen; raises `LabValueError` where it cannot be."""
        return changed(state, changes)

    def controls(self) -> Controls:
        """A row for the call as a whole, then one for each input: its shape and its view."""
        from labkit.explore import widgets
        from labkit.explore.shell import Controls

        pairs = [*((words, words) for words in PAIRS), (_("as typed"), TYPED)]
        pair = widgets.menu(_("shapes"), pairs, 300)
        chip = widgets.chip_menu()
        boxes = {
            "grad_shape": widgets.box(_("grad shape, typed:"), 300),
            "self_shape": widgets.box(_("self shape, typed:"), 300),
        }
        views = {
            "grad_view": widgets.menu(_("grad lies"), _kinds(INPUT_KINDS), 300),
            "self_view": widgets.menu(_("self lies"), _kinds(INPUT_KINDS), 300),
            "out_view": widgets.menu(_("gradInput lies"), _kinds(OUTPUT_KINDS), 300),
        }

        def sync(state: BroadcastState) -> None:
            pair.value = state.pair
            widgets.show_chip(chip, state.soc)
            for name, box in boxes.items():
                box.value = shape_words(getattr(state, name))
            for name, menu in views.items():
                menu.value = getattr(state, name)

        rows = [
            [pair, views["out_view"], chip],
            [boxes["grad_shape"], views["grad_view"]],
            [boxes["self_shape"], views["self_view"]],
        ]
        controls = Controls(rows, sync)
        for name, widget in {"pair": pair, "soc": chip, **boxes, **views}.items():
            widgets.follow(self, controls, name, widget)
        return controls


def _kinds(names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(_(KINDS[name][0]), name) for name in names]
