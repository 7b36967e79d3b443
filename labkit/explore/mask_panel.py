"""The mask panel: λ by slider or typed, dtype and shape by choice, the mask by the operator.

Every state runs aclnnHardshrinkBackward on the device with a gradient of ones;
the picture shows what came back.
"""

from __future__ import annotations

import re
import statistics
import time
from typing import TYPE_CHECKING, Any

from labkit.draw.html import Shown, show
from labkit.draw.mask import HEIGHT, WIDTH, MaskPicture, mask_figure
from labkit.draw.mask_view import MaskView, alt_text
from labkit.draw.png import quick_png
from labkit.errors import AclnnError, LabError
from labkit.explore.field import run_mask
from labkit.explore.mask_state import DTYPES, GRAD_DTYPES, SHAPES, MaskState, changed
from labkit.explore.panel import Panel, Problem, Rendered
from labkit.host.device import Device
from labkit.language import gettext as _
from labkit.operators import default_device

if TYPE_CHECKING:
    from labkit.explore.shell import Controls

__all__ = ["MaskPanel", "MaskState", "bench_step", "mask", "mask_picture"]

_LEAST, _MOST, _STEP = -0.5, 1.5, 0.01


def mask(
    device: Device | None = None,
    *,
    lambd: Any = 0.5,
    dtype: Any = "float32",
    grad_dtype: Any = GRAD_DTYPES[0],
    shape: Any = "(64, 64)",
    theme: str = "light",
    name: str = "mask",
    raise_errors: bool | None = None,
) -> MaskPanel:
    """Open the mask panel, which shows the elements that get their gradient.

    `device` None is the default device. The other arguments are where the
    controls start; `panel.set(lambd=0.3, dtype="float16")` moves them. Running
    the cell again replaces the panel of the same `name`.

    >>> import labkit
    >>> panel = labkit.explore.mask(lambd=0.3, dtype="float16")
    >>> panel.set(lambd=-1).state.lambd
    -1.0
    >>> panel.close()
    """
    start = {"lambd": lambd, "dtype": dtype, "grad_dtype": grad_dtype, "shape": shape}
    return MaskPanel(device, start, theme=theme, name=name, raise_errors=raise_errors)


def mask_picture(device: Device | None = None, *, theme: str = "light", **start: Any) -> Shown:
    """The picture of the mask panel, standing still; arguments as for `mask`.

    Raises what the operator or the device raises.
    """
    view = look(device or default_device(), changed(MaskState(), start))
    return show(mask_figure(view, theme), alt_text(view))


class MaskPanel(Panel[MaskState]):
    """The mask panel; see `mask`. `view` is what the picture shows, as data."""

    size = (WIDTH, HEIGHT)

    def __init__(
        self,
        device: Device | None,
        start: dict[str, Any],
        *,
        theme: str = "light",
        name: str = "mask",
        raise_errors: bool | None = None,
    ) -> None:
        self.device = device
        self.view: MaskView | None = None
        self._drawn = MaskPicture(theme)
        state = self.changed(MaskState(), start)
        super().__init__(name, state, self._rendered, raise_errors=raise_errors)

    def _rendered(self, state: MaskState) -> Rendered | Problem:
        try:
            view = look(self.device or default_device(), state)
        except AclnnError as error:
            return refusal(error)
        self._drawn.update(view)
        self.view = view
        return Rendered(self._drawn.png(), alt_text(view))

    def changed(self, state: MaskState, changes: dict[str, Any]) -> MaskState:
        """The state with what was typed or chosen; raises `LabValueError` where it cannot be."""
        return changed(state, changes)

    def controls(self) -> Controls:
        """λ as slider and box, dtype, gradient dtype, shapes."""
        from labkit.explore import widgets
        from labkit.explore.shell import Controls

        slider = widgets.slider("λ", _LEAST, _MOST, _STEP, quick=self._is_quick())
        box = widgets.box(_("λ, typed:"), 220)
        same = [(_("same as self"), GRAD_DTYPES[0]), *((name, name) for name in DTYPES)]
        menus = {
            "dtype": widgets.menu(_("self is"), DTYPES, 150),
            "grad_dtype": widgets.menu(_("grad is"), same, 190),
            "shape": widgets.menu(_("shapes"), tuple(SHAPES), 290),
        }

        def sync(state: MaskState) -> None:
            box.value = state.typed
            place = min(max(state.lambd, _LEAST), _MOST)
            # A NaN leaves the slider where it is. So does what the slider itself just said: to
            # answer it, late, would pull the handle back under the user's hand.
            if abs(place - slider.value) > _STEP / 2:
                slider.value = place
            for name, menu in menus.items():
                menu.value = getattr(state, name)

        controls = Controls([[slider, box], list(menus.values())], sync)
        controls.when(slider, lambda value: self.set(lambd=f"{value:.2f}".rstrip("0").rstrip(".")))
        for name, widget in {"lambd": box, **menus}.items():
            widgets.follow(self, controls, name, widget)
        return controls

    def _is_quick(self) -> bool:
        """Whether every move of the slider is worth a run: on the software NPU, not on an NPU."""
        try:
            return (self.device or default_device()).kind == "sim"
        except LabError:
            return False


def look(device: Device, state: MaskState) -> MaskView:
    """Run the operator for a state; depends on nothing but its arguments."""
    grad_shape, self_shape = SHAPES[state.shape]
    same = state.grad_dtype == GRAD_DTYPES[0]
    return run_mask(
        device,
        dtype=state.dtype,
        grad_dtype=state.dtype if same else state.grad_dtype,
        self_shape=self_shape,
        grad_shape=grad_shape,
        lambd=state.lambd,
        typed=state.typed,
    )


def refusal(error: AclnnError) -> Problem:
    """What a panel says when the operator refuses: the code, its name, the library's reason."""
    reason = (error.message or str(error)).strip().splitlines()[0]
    reason = re.sub(r"^(E[A-Z]\d{4}: )?(Error: )?(\w+_\d+: )?", "", reason)  # stays in the details
    return Problem(f"{error.status} {error.name}: {reason}", str(error), expected=True)


def bench_step(steps: int = 30) -> tuple[float, float]:
    """Median seconds of a slider step and of a full redraw, in turn, on the software NPU.

    A step is everything the kernel does from a new λ to the PNG: two runs of
    the backward and one of the forward operator, what changes in the picture,
    the PNG. A full redraw does the same with a new figure.
    """
    from labkit.operators import open_device

    spent: tuple[list[float], list[float]] = ([], [])
    with open_device("sim") as device:
        panel = mask(device, dtype="float16", name="mask bench", raise_errors=True)
        for step in range(steps + 3):
            lambd = 0.2 + step / 100
            start = time.perf_counter()
            panel.set(lambd=lambd)
            middle = time.perf_counter()
            canvas: Any = mask_figure(look(device, panel.state)).canvas
            quick_png(canvas.buffer_rgba())
            end = time.perf_counter()
            if step >= 3:  # the first ones draw their letters
                spent[0].append(middle - start)
                spent[1].append(end - middle)
        panel.close()
    return statistics.median(spent[0]), statistics.median(spent[1])
