"""The learning panel: a small model of a real signal, trained through the operator at any λ.

No device is needed: the trainings use the kernels' arithmetic (`labkit.op`),
whose bits are those of the operators. Notebook 10 shows that they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.draw.html import Shown, show
from labkit.draw.learning import HEIGHT, WIDTH, LearningPicture, learning_figure
from labkit.draw.learning_view import LearningView, learning_alt_text
from labkit.draw.theme import DRAWING
from labkit.explore.learning_state import DTYPES, MOST_STEPS, LearningState, changed, look
from labkit.explore.panel import Panel, Rendered
from labkit.language import gettext as _

if TYPE_CHECKING:
    from labkit.explore.shell import Controls

__all__ = ["LearningPanel", "LearningState", "learning", "learning_picture"]


def learning(
    *,
    theme: str = "light",
    name: str = "learning",
    raise_errors: bool | None = None,
    **start: Any,
) -> LearningPanel:
    """Open the learning panel, which shows what the dead zone does to a model that learns.

    The other arguments are where the controls start: `lambd`, `dtype`
    ("float32" or "float16", that of the operators) and `steps` (0 to 120);
    `panel.set(...)` takes the same ones. Running the cell again replaces the
    panel of the same `name`.

    >>> import labkit
    >>> panel = labkit.explore.learning(lambd=1)
    >>> panel.view.alive
    (15, 11)
    >>> panel.set(lambd=0.25).view.alive
    (16, 16)
    >>> panel.close()
    """
    return LearningPanel(start, theme=theme, name=name, raise_errors=raise_errors)


def learning_picture(*, theme: str = "light", **start: Any) -> Shown:
    """The picture of the learning panel, standing still; arguments as for `learning`."""
    view = look(changed(LearningState(), start))
    return show(learning_figure(view, theme), learning_alt_text(view))


class LearningPanel(Panel[LearningState]):
    """The learning panel; see `learning`. `view` is what the picture shows, as data."""

    size = (WIDTH, HEIGHT)

    def __init__(
        self,
        start: dict[str, Any],
        *,
        theme: str = "light",
        name: str = "learning",
        raise_errors: bool | None = None,
    ) -> None:
        with DRAWING:
            self._picture = LearningPicture(theme)
        state = self.changed(LearningState(), start)
        super().__init__(name, state, self._rendered, raise_errors=raise_errors)

    @property
    def view(self) -> LearningView:
        """What the picture shows, as data."""
        return look(self.state)

    def _rendered(self, state: LearningState) -> Rendered:
        view = look(state)
        self._picture.update(view)
        return Rendered(self._picture.png(), learning_alt_text(view))

    def changed(self, state: LearningState, changes: dict[str, Any]) -> LearningState:
        """The state with what was typed or chosen; raises `LabValueError` where it cannot be."""
        return changed(state, changes)

    def controls(self) -> Controls:
        """λ as slider and box, the operators' dtype, the steps as slider and box."""
        from labkit.explore import widgets
        from labkit.explore.lambda_row import LambdaRow
        from labkit.explore.shell import Controls

        lambd = LambdaRow(0.0, 3.0, 0.05)
        dtype = widgets.menu(_("operators in"), DTYPES, 210)
        steps = widgets.slider(_("steps"), 0, MOST_STEPS, 1)
        typed = widgets.box(_("steps, typed:"), 180)

        def sync(state: LearningState) -> None:
            lambd.sync(state)
            dtype.value = state.dtype
            steps.value, typed.value = state.steps, str(state.steps)

        controls = Controls([[lambd.slider, lambd.box, dtype], [steps, typed]], sync)
        lambd.follow(self, controls)
        for field, widget in (("dtype", dtype), ("steps", steps), ("steps", typed)):
            widgets.follow(self, controls, field, widget)
        return controls
