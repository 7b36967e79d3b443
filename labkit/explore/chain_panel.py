"""The chain panel: any call, what phase 1 makes of it, and a walk through its steps.

Nothing runs: the picture is what `labkit.op` plans and `labkit.explain` tells.
The picture shows every step over four layers with the workspace; the step that
is looked at is marked there and told below, with its reason and its source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.draw.html import Shown, show
from labkit.draw.sheet import WIDTH
from labkit.draw.steps import HEIGHT, steps_figure
from labkit.draw.steps_mark import StepsPicture
from labkit.explain import Chain, ChainStep
from labkit.explore.chain_call import DTYPES, PROMOTED, SHAPES, VIEWS
from labkit.explore.chain_state import OWN, PRESETS, ChainState, chain_of, changed
from labkit.explore.chain_text import step_html
from labkit.explore.chain_view import mark_of, steps_alt_text, view_of
from labkit.explore.panel import Panel, Rendered
from labkit.language import gettext as _

if TYPE_CHECKING:
    from labkit.explore.shell import Controls

__all__ = ["ChainPanel", "ChainState", "chain", "chain_picture"]


def chain(
    *,
    theme: str = "light",
    name: str = "chain",
    raise_errors: bool | None = None,
    **start: Any,
) -> ChainPanel:
    """Open the chain panel, which shows what a call will launch, step by step.

    The other arguments are where the controls start, such as
    `preset="gapped output"`, `grad_dtype="float16"`, `shapes="(4, 1) (1, 4)"`,
    `out_view="transposed"`, `soc="910b"` or `step="ViewCopy"`;
    `panel.set(...)` takes the same ones. No device is needed.

    >>> import labkit
    >>> panel = labkit.explore.chain(grad_dtype="float16", shapes="(4, 1) (1, 4)")
    >>> [step.name for step in panel.chain.launches]
    ['BroadcastTo', 'BroadcastTo', 'Cast', 'HardShrinkGrad']
    >>> panel.set(step="Cast gradOutput").step.why
    'launch 3: FLOAT16 to FLOAT (promoted dtype of the inputs)'
    >>> panel.close()
    """
    return ChainPanel(start, theme=theme, name=name, raise_errors=raise_errors)


def chain_picture(*, theme: str = "light", **start: Any) -> Shown:
    """The picture of the chain panel without a mark, standing still; arguments as for `chain`."""
    state = changed(ChainState(), start)
    found = chain_of(state)
    return show(steps_figure(view_of(found), theme), steps_alt_text(found, state.step))


class ChainPanel(Panel[ChainState]):
    """The chain panel; see `chain`. `chain` and `step` are what it shows, as data."""

    size = (WIDTH, HEIGHT)

    def __init__(
        self,
        start: dict[str, Any],
        *,
        theme: str = "light",
        name: str = "chain",
        raise_errors: bool | None = None,
    ) -> None:
        self._picture = StepsPicture(theme)
        state = self.changed(ChainState(), start)
        super().__init__(name, state, self._rendered, raise_errors=raise_errors)

    @property
    def chain(self) -> Chain:
        """The chain of the call that is shown."""
        return chain_of(self.state)

    @property
    def step(self) -> ChainStep:
        """The step that is marked and told."""
        return self.chain[self.state.step - 1]

    def _rendered(self, state: ChainState) -> Rendered:
        found = chain_of(state)
        self._picture.update(view_of(found), mark_of(found, state.step))
        return Rendered(
            self._picture.png(), steps_alt_text(found, state.step), step_html(found, state.step)
        )

    def changed(self, state: ChainState, changes: dict[str, Any]) -> ChainState:
        """The state with what was typed or chosen; raises `LabValueError` where it cannot be."""
        return changed(state, changes)

    def go(self, by: int) -> None:
        """Step on by that many steps, as far as the chain goes."""
        place = min(max(self.state.step + by, 1), len(self.chain))
        self.set(step=place)

    def controls(self) -> Controls:
        """Preset, operator, chip; dtype and view of each tensor; shapes and λ; the step."""
        from labkit.explore import widgets
        from labkit.explore.shell import Controls

        presets = [(_("your own call"), OWN), *((_(name), str(name)) for name in PRESETS)]
        views = [(_(name), str(name)) for name in VIEWS]
        dtypes = [(_("promoted"), PROMOTED), *((name, name) for name in DTYPES)]
        pairs = [(_("as typed"), ""), *((text, text) for text in SHAPES)]
        menus = {
            "preset": widgets.menu(_("call"), presets, 330),
            "operator": widgets.operator_menu(170),
            "soc": widgets.chip_menu(),
            "grad_dtype": widgets.menu(_("grad is"), DTYPES, 145),
            "grad_view": widgets.menu(_("lies"), views, 180),
            "self_dtype": widgets.menu(_("self is"), DTYPES, 140),
            "self_view": widgets.menu(_("lies"), views, 180),
            "out_dtype": widgets.menu(_("out is"), dtypes, 150),
            "out_view": widgets.menu(_("lies"), views, 180),
            "shapes": widgets.menu(_("shapes"), pairs, 235),
        }
        boxes = {
            "shapes": widgets.box(_("shapes, typed:"), 265),
            "lambd": widgets.box(_("λ, typed:"), 160),
            "step": widgets.box(_("step, typed:"), 210),
        }
        slider = widgets.slider(_("step"), 1, 40, 1)
        back, onward = widgets.button(_("◀ back")), widgets.button(_("next ▶"))
        back.on_click(lambda _button: self.go(-1))
        onward.on_click(lambda _button: self.go(1))

        def sync(state: ChainState) -> None:
            widgets.show_chip(menus["soc"], state.soc)
            for name, menu in menus.items():
                value = getattr(state, name)
                menu.value = value if name != "shapes" or value in SHAPES else ""
            for name, box in boxes.items():
                box.value = str(getattr(state, name))
            slider.max = len(chain_of(state))
            slider.value = state.step
            for name in ("grad_dtype", "grad_view"):
                menus[name].disabled = state.operator == "forward"

        inputs = ("grad_dtype", "grad_view", "self_dtype", "self_view")
        rows = [
            [menus[name] for name in ("preset", "operator", "soc")],
            [*(menus[name] for name in inputs), boxes["lambd"]],
            [menus["out_dtype"], menus["out_view"], menus["shapes"], boxes["shapes"]],
            [slider, boxes["step"], back, onward],
        ]
        controls = Controls(rows, sync)
        for name, menu in menus.items():
            widgets.follow(self, controls, name, menu)
        for name, box in boxes.items():
            widgets.follow(self, controls, name, box)
        widgets.follow(self, controls, "step", slider)
        return controls
