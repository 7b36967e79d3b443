"""The two-phase panel: a host program call by call, with the memory and the stream beside it.

Every state runs the program on a fresh software NPU, whatever the lab's
default device is: mistakes are made here on purpose, and only the software NPU
says what they are.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from labkit.draw.html import Shown, show
from labkit.draw.png import drawn, quick_png
from labkit.draw.theme import palette
from labkit.draw.two_phase import HEIGHT, WIDTH, two_phase_figure
from labkit.draw.two_phase_view import TwoPhaseView, two_phase_alt_text
from labkit.explore.panel import Panel, Rendered
from labkit.explore.two_phase_run import look
from labkit.explore.two_phase_state import (
    CALLS,
    SCENARIOS,
    TwoPhaseState,
    changed,
    look_at,
    program_of,
)
from labkit.explore.typed import CHIPS
from labkit.language import gettext as _
from labkit.language import language

if TYPE_CHECKING:
    from labkit.explore.shell import Controls

__all__ = ["TwoPhasePanel", "TwoPhaseState", "two_phase", "two_phase_picture"]


def two_phase(
    *,
    call: str = "plain",
    soc: str = CHIPS[0],
    scenario: str = "correct",
    strict: bool = True,
    step: Any = None,
    theme: str = "light",
    name: str = "two_phase",
    raise_errors: bool | None = None,
) -> TwoPhasePanel:
    """Open the two-phase panel, which steps through a host program on the software NPU.

    `call` is "plain", "mixed" or "transposed", `scenario` one of the mistakes
    (`panel.set(scenario="")` names them all), `strict` whether what is
    undefined on the real library is caught, `step` how many calls have been
    made (None: where the scenario shows). Running the cell again replaces the
    panel of the same `name`.

    >>> import labkit
    >>> panel = labkit.explore.two_phase(scenario="phase 2 twice")
    >>> panel.state.step
    16
    >>> panel.view.current.returned
    'caught'
    >>> panel.close()
    """
    start = _start(call=call, soc=soc, scenario=scenario, strict=strict, step=step)
    return TwoPhasePanel(start, theme=theme, name=name, raise_errors=raise_errors)


def two_phase_picture(*, theme: str = "light", **start: Any) -> Shown:
    """The picture of the two-phase panel, standing still; arguments as for `two_phase`."""
    view = look(changed(TwoPhaseState(), _start(**start)))
    return show(two_phase_figure(view, theme), two_phase_alt_text(view))


def _start(**given: Any) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != "step" or value is not None}


class TwoPhasePanel(Panel[TwoPhaseState]):
    """The two-phase panel; see `two_phase`. `view` is what the picture shows, as data."""

    size = (WIDTH, HEIGHT)

    def __init__(
        self,
        start: dict[str, Any],
        *,
        theme: str = "light",
        name: str = "two_phase",
        raise_errors: bool | None = None,
    ) -> None:
        self.view: TwoPhaseView | None = None
        self._colours = palette(theme)
        state = self.changed(TwoPhaseState(), start)
        super().__init__(name, state, self._rendered, raise_errors=raise_errors)

    def _rendered(self, state: TwoPhaseState) -> Rendered:
        self.view = look(state)
        figure = two_phase_figure(self.view, self._colours, quick=True)
        below = told_below(state, self.view)
        return Rendered(quick_png(drawn(figure)), two_phase_alt_text(self.view), below)

    def changed(self, state: TwoPhaseState, changes: dict[str, Any]) -> TwoPhaseState:
        """The state with what was typed or chosen; raises `LabValueError` where it cannot be."""
        return changed(state, changes)

    def move(self, steps: int) -> None:
        """Make some calls more, or fewer; no further than the program goes."""
        wanted = self._wanted
        last = len(program_of(wanted.call, wanted.scenario).lines)
        self.set(step=min(max(wanted.step + steps, 0), last))

    def controls(self) -> Controls:
        """Step by slider, box and buttons; scenario, call, chip, and how mistakes are treated."""
        from labkit.explore import widgets
        from labkit.explore.shell import Controls

        slider = widgets.slider(_("calls made"), 0, self._last(self.state), 1, 330)
        box = widgets.box(_("typed:"), 110)
        buttons = {-1: widgets.button(_("◀ back"), 80), 1: widgets.button(_("next ▶"), 80)}
        buttons[1000] = widgets.button(_("to the end"), 100)
        menus = {
            "scenario": widgets.menu(
                _("program"), [(_(each.words), key) for key, each in SCENARIOS.items()], 430
            ),
            "call": widgets.menu(
                _("tensors"), [(_(words), key) for key, words in CALLS.items()], 320
            ),
            "soc": widgets.chip_menu(),
            "strict": widgets.menu(
                _("what is undefined is"),
                [(_("caught"), True), (_("let pass, codes ignored"), False)],
                360,
            ),
        }

        def sync(state: TwoPhaseState) -> None:
            slider.max = self._last(state)
            slider.value = state.step
            box.value = str(state.step)
            widgets.show_chip(menus["soc"], state.soc)
            for name, menu in menus.items():
                menu.value = getattr(state, name)

        first = [buttons[-1], slider, buttons[1], buttons[1000], box]
        controls = Controls(
            [first, [menus["scenario"], menus["call"]], [menus["soc"], menus["strict"]]], sync
        )
        for name, widget in {"step": slider, **menus}.items():
            widgets.follow(self, controls, name, widget)
        widgets.follow(self, controls, "step", box)
        for steps, button in buttons.items():
            button.on_click(lambda _button, steps=steps: self.move(steps))
        return controls

    @staticmethod
    def _last(state: TwoPhaseState) -> int:
        return len(program_of(state.call, state.scenario).lines)


def told_below(state: TwoPhaseState, view: TwoPhaseView) -> str:
    """Under the picture: the last call in full, what it did, what the real library would do."""
    line = _("No call has been made.")
    if view.step:
        text = program_of(state.call, state.scenario).lines[view.step - 1].text
        line = f"<code>{escape(text)}</code>"
    told = [line]
    if view.step:
        told.append(escape(_(view.caption)))
    if view.verdict is not None and language() != "en":  # in English it stands in the picture
        told.append(f"<strong>{escape(_(view.verdict))}</strong>")
    if view.step >= look_at(state.call, state.scenario) or view.ended:
        told.append(f"<em>{escape(_(SCENARIOS[state.scenario].real))}</em>")
    return f'<div style="min-height:6.5em;line-height:1.5">{"<br>".join(told)}</div>'
