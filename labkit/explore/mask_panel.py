"""The mask panel: λ by slider or typed, dtype and shape by choice, the mask by the operator.

Every state runs aclnnHardshrinkBackward on the device with a gradient of ones;
the picture shows what came back.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

from labkit.draw.html import Shown, show
from labkit.draw.mask import HEIGHT, WIDTH, MaskPicture, mask_figure
from labkit.draw.mask_view import MaskView, mask_alt_text
from labkit.draw.png import drawn, quick_png
from labkit.draw.theme import DRAWING
from labkit.explore.device_panel import DevicePanel
from labkit.explore.field import run_mask
from labkit.explore.mask_state import DTYPES, SHAPES, MaskState, changed
from labkit.explore.panel import Rendered
from labkit.explore.typed import SAME
from labkit.host.device import Device
from labkit.language import gettext as _
from labkit.operators import device_or_default

if TYPE_CHECKING:
    from labkit.explore.shell import Controls

__all__ = ["MaskPanel", "MaskState", "bench_step", "mask", "mask_picture"]


def mask(
    device: Device | None = None,
    *,
    lambd: Any = 0.5,
    dtype: Any = "float32",
    grad_dtype: Any = SAME,
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
    view = look(device_or_default(device), changed(MaskState(), start))
    return show(mask_figure(view, theme), mask_alt_text(view))


class MaskPanel(DevicePanel[MaskState]):
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
        self.view: MaskView | None = None
        with DRAWING:
            self._picture = MaskPicture(theme)
        state = self.changed(MaskState(), start)
        super().__init__(name, state, device, raise_errors=raise_errors)

    def drawn(self, device: Device, state: MaskState) -> Rendered:
        """Run the operator for a state and draw what came back."""
        view = look(device, state)
        self._picture.update(view)
        self.view = view
        return Rendered(self._picture.png(), mask_alt_text(view))

    def changed(self, state: MaskState, changes: dict[str, Any]) -> MaskState:
        """The state with what was typed or chosen; raises `LabValueError` where it cannot be."""
        return changed(state, changes)

    def controls(self) -> Controls:
        """λ as slider and box, dtype, gradient dtype, shapes."""
        from labkit.explore import widgets
        from labkit.explore.lambda_row import LambdaRow
        from labkit.explore.shell import Controls

        lambd = LambdaRow(-0.5, 1.5, 0.01, quick=self.is_quick())
        same = [(_("same as self"), SAME), *((name, name) for name in DTYPES)]
        menus = {
            "dtype": widgets.menu(_("self is"), DTYPES, 150),
            "grad_dtype": widgets.menu(_("grad is"), same, 190),
            "shape": widgets.menu(_("shapes"), tuple(SHAPES), 290),
        }

        def sync(state: MaskState) -> None:
            lambd.sync(state)
            for name, menu in menus.items():
                menu.value = getattr(state, name)

        controls = Controls([[lambd.slider, lambd.box], list(menus.values())], sync)
        lambd.follow(self, controls)
        for name, widget in menus.items():
            widgets.follow(self, controls, name, widget)
        return controls


def look(device: Device, state: MaskState) -> MaskView:
    """Run the operator for a state; depends on nothing but its arguments."""
    grad_shape, self_shape = SHAPES[state.shape]
    same = state.grad_dtype == SAME
    return run_mask(
        device,
        dtype=state.dtype,
        grad_dtype=state.dtype if same else state.grad_dtype,
        self_shape=self_shape,
        grad_shape=grad_shape,
        lambd=state.lambd,
        typed=state.typed,
    )


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
            quick_png(drawn(mask_figure(look(device, panel.state))))
            end = time.perf_counter()
            if step >= 3:  # the first ones draw their letters
                spent[0].append(middle - start)
                spent[1].append(end - middle)
        panel.close()
    return statistics.median(spent[0]), statistics.median(spent[1])
