"""The bits panel: λ as typed, as float32 and as compared, and what that does around ±λ.

Every state runs the operators on the device: on the ten numbers around ±λ, or
on all 65,536 patterns of a 16-bit dtype.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.draw.bits import HEIGHT, WIDTH, BitsPicture, bits_figure
from labkit.draw.bits_view import BitsView, bits_alt_text
from labkit.draw.carpet import CarpetPicture, carpet_figure
from labkit.draw.carpet_view import CarpetView, carpet_alt_text
from labkit.draw.html import Shown, show
from labkit.draw.theme import DRAWING
from labkit.errors import LabValueError
from labkit.explore.bits_run import look_around, look_at_all
from labkit.explore.bits_state import (
    AROUND,
    CARPET,
    DTYPES,
    OPERATORS,
    PICTURES,
    BitsState,
    changed,
)
from labkit.explore.device_panel import DevicePanel
from labkit.explore.panel import Problem, Rendered
from labkit.explore.typed import SAME
from labkit.host.device import Device
from labkit.language import gettext as _
from labkit.operators import device_or_default

if TYPE_CHECKING:
    from labkit.explore.shell import Controls

__all__ = ["BitsPanel", "BitsState", "bits", "bits_picture"]


def bits(
    device: Device | None = None,
    *,
    lambd: Any = 0.3,
    dtype: Any = "float16",
    grad_dtype: Any = SAME,
    operator: str = OPERATORS[0],
    picture: str = AROUND,
    theme: str = "light",
    name: str = "bits",
    raise_errors: bool | None = None,
) -> BitsPanel:
    """Open the bits panel, which shows where λ lies between the numbers of a dtype.

    `picture` is "around λ" or "all 65,536 patterns"; `operator` "backward and
    forward", "backward" or "forward". `device` None is the default device.
    The arguments are where the controls start; `panel.set(grad_dtype="float32")`
    moves them. Running the cell again replaces the panel of the same `name`.

    >>> import labkit
    >>> panel = labkit.explore.bits(lambd=0.3, dtype="float16")
    >>> panel.view.asked.compared
    0.300048828125
    >>> panel.set(grad_dtype="float32").view.asked.compared
    0.30000001192092896
    >>> panel.close()
    """
    start = {
        "lambd": lambd,
        "dtype": dtype,
        "grad_dtype": grad_dtype,
        "operator": operator,
        "picture": picture,
    }
    return BitsPanel(device, start, theme=theme, name=name, raise_errors=raise_errors)


def bits_picture(device: Device | None = None, *, theme: str = "light", **start: Any) -> Shown:
    """The picture of the bits panel, standing still; arguments as for `bits`.

    Raises what the operator or the device raises, and `LabValueError` for a
    carpet of a dtype with more than 65,536 patterns.
    """
    view = look(device_or_default(device), changed(BitsState(), start))
    if isinstance(view, Problem):
        raise LabValueError(view.text)
    if isinstance(view, CarpetView):
        return show(carpet_figure(view, theme), carpet_alt_text(view))
    return show(bits_figure(view, theme), bits_alt_text(view))


def look(device: Device, state: BitsState) -> BitsView | CarpetView | Problem:
    """Run the operators for a state; depends on nothing but its arguments."""
    if state.picture != CARPET:
        return look_around(device, state)
    if state.dtype == "float32":
        return Problem(
            _(
                "float32 has 4,294,967,296 patterns, too many for a carpet; "
                "right would be float16 or bfloat16 for self"
            ),
            expected=True,
        )
    return look_at_all(device, state)


class BitsPanel(DevicePanel[BitsState]):
    """The bits panel; see `bits`. `view` is what the picture shows, as data."""

    size = (WIDTH, HEIGHT)

    def __init__(
        self,
        device: Device | None,
        start: dict[str, Any],
        *,
        theme: str = "light",
        name: str = "bits",
        raise_errors: bool | None = None,
    ) -> None:
        self.view: BitsView | CarpetView | None = None
        with DRAWING:
            self._around = BitsPicture(theme)
            self._carpet = CarpetPicture(theme)
        state = self.changed(BitsState(), start)
        super().__init__(name, state, device, raise_errors=raise_errors)

    def drawn(self, device: Device, state: BitsState) -> Rendered | Problem:
        """Run the operators for a state and draw what came back."""
        view = look(device, state)
        if isinstance(view, Problem):
            return view
        self.view = view
        if isinstance(view, CarpetView):
            self._carpet.update(view)
            return Rendered(self._carpet.png(), carpet_alt_text(view))
        self._around.update(view)
        return Rendered(self._around.png(), bits_alt_text(view))

    def changed(self, state: BitsState, changes: dict[str, Any]) -> BitsState:
        """The state with what was typed or chosen; raises `LabValueError` where it cannot be."""
        return changed(state, changes)

    def controls(self) -> Controls:
        """λ as slider and box, self's and the gradient's dtype, the operators, the picture."""
        from labkit.explore import widgets
        from labkit.explore.lambda_row import LambdaRow
        from labkit.explore.shell import Controls

        lambd = LambdaRow(-0.5, 1.5, 0.01, quick=self.is_quick())
        same = [(_("same as self"), SAME), *((name, name) for name in DTYPES)]
        operators = dict(zip(OPERATORS, (_("both"), _("backward"), _("forward"))))
        pictures = dict(zip(PICTURES, (_("the numbers around λ"), _("all 65,536 patterns"))))
        menus = {
            "dtype": widgets.menu(_("self is"), DTYPES, 150),
            "grad_dtype": widgets.menu(_("grad is"), same, 190),
            "operator": widgets.menu(_("operators"), _pairs(operators), 190),
            "picture": widgets.menu(_("picture"), _pairs(pictures), 260),
        }

        def sync(state: BitsState) -> None:
            lambd.sync(state)
            for name, menu in menus.items():
                menu.value = getattr(state, name)

        controls = Controls([[lambd.slider, lambd.box], list(menus.values())], sync)
        lambd.follow(self, controls)
        for name, widget in menus.items():
            widgets.follow(self, controls, name, widget)
        return controls


def _pairs(words: dict[str, str]) -> list[tuple[str, str]]:
    return [(told, value) for value, told in words.items()]
