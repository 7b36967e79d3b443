"""λ by hand: a slider for the usual values and a box for any, kept together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.explore import widgets
from labkit.language import gettext as _

if TYPE_CHECKING:
    from labkit.explore.panel import Panel
    from labkit.explore.shell import Controls

__all__ = ["LambdaRow"]


class LambdaRow:
    """A slider from `least` to `most` and the box beside it.

    They follow, and set, a state's `lambd` (the number) and `typed` (how it was written).
    """

    def __init__(self, least: float, most: float, step: float, *, quick: bool = True) -> None:
        self.step = step
        self.slider = widgets.slider("λ", least, most, step, quick=quick)
        self.box = widgets.box(_("λ, typed:"), 220)

    def sync(self, state: Any) -> None:
        """Show the λ of a state."""
        self.box.value = state.typed
        place = min(max(state.lambd, self.slider.min), self.slider.max)
        # A NaN leaves the slider where it is. So does what the slider itself just said: to
        # answer it, late, would pull the handle back under the user's hand.
        if abs(place - self.slider.value) > self.step / 2:
            self.slider.value = place

    def follow(self, panel: Panel[Any], controls: Controls) -> None:
        """Let the panel follow the slider and the box."""
        controls.when(self.slider, lambda value: panel.set(lambd=_short(value)))
        widgets.follow(panel, controls, "lambd", self.box)


def _short(value: float) -> str:
    """A slider's value as people would type it: 0.3, not 0.30 or 0.30000000000000004."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
