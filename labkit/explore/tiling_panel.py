"""The tiling panel: how many elements, of what, on which chip; and what each core makes of it.

Nothing runs: the cut is computed by `labkit.op.tile`, the pipes by the cost
model of `labkit.op.schedule`.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, Any

from labkit.draw.html import Shown, show
from labkit.draw.lanes import MOST_DOUBLINGS
from labkit.draw.png import drawn, quick_png
from labkit.draw.sheet import WIDTH
from labkit.draw.tiling import HEIGHT, tiling_figure
from labkit.draw.tiling_text import tiling_alt_text
from labkit.draw.tiling_view import TilingView
from labkit.explore.panel import Panel, Rendered
from labkit.explore.tiling_state import CHIPS, DTYPES, OPS, TilingState, changed, look
from labkit.language import gettext as _
from labkit.op import find_soc

if TYPE_CHECKING:
    from labkit.explore.shell import Controls

__all__ = ["TilingPanel", "TilingState", "tiling", "tiling_picture"]

_PER_DOUBLING = 4
"""Steps of the slider from one power of two to the next."""


def tiling(
    *,
    theme: str = "light",
    name: str = "tiling",
    raise_errors: bool | None = None,
    **start: Any,
) -> TilingPanel:
    """Open the tiling panel, which shows how the work reaches the cores.

    The other arguments are where the controls start: `total` (elements, also
    as "2^20" or "1e6"), `dtype`, `soc`, `op` ("hardshrink_grad" or
    "hardshrink") and `core` (the core looked at); `panel.set(...)` takes the
    same ones. No device is needed.

    >>> import labkit
    >>> panel = labkit.explore.tiling(total=4096)
    >>> panel.view.tiling.block_dim, panel.view.tiling.ub_factor
    (72, 4096)
    >>> panel.set(total=16, core=15).view.tiling.block_dim
    16
    >>> panel.close()
    """
    return TilingPanel(start, theme=theme, name=name, raise_errors=raise_errors)


def tiling_picture(*, theme: str = "light", **start: Any) -> Shown:
    """The picture of the tiling panel, standing still; arguments as for `tiling`."""
    view = look(changed(TilingState(), start))
    return show(tiling_figure(view, theme), tiling_alt_text(view))


class TilingPanel(Panel[TilingState]):
    """The tiling panel; see `tiling`."""

    size = (WIDTH, HEIGHT)

    def __init__(
        self,
        start: dict[str, Any],
        *,
        theme: str = "light",
        name: str = "tiling",
        raise_errors: bool | None = None,
    ) -> None:
        self.theme = theme
        state = self.changed(TilingState(), start)
        super().__init__(name, state, self._rendered, raise_errors=raise_errors)

    @property
    def view(self) -> TilingView:
        """What the picture shows, as data."""
        return look(self.state)

    def _rendered(self, state: TilingState) -> Rendered:
        return render(state, self.theme)

    def changed(self, state: TilingState, changes: dict[str, Any]) -> TilingState:
        """The state with what was typed or chosen; raises `LabValueError` where it cannot be."""
        return changed(state, changes)

    def controls(self) -> Controls:
        """Elements as slider and box, dtype, operator, chip, the core as slider and box."""
        from labkit.explore import widgets
        from labkit.explore.shell import Controls

        elements = widgets.slider(_("elements (log)"), 0, _PER_DOUBLING * MOST_DOUBLINGS, 1, 420)
        core = widgets.slider(_("core"), 0, 71, 1)
        boxes = {
            "total": widgets.box(_("elements, typed:"), 260),
            "core": widgets.box(_("core, typed:"), 180),
        }
        menus = {
            "dtype": widgets.menu(_("dtype"), DTYPES, 170),
            "op": widgets.menu(_("operator"), OPS, 230),
            "soc": widgets.chip_menu(CHIPS),
        }

        def sync(state: TilingState) -> None:
            # The slider stays where it is while it means this total: to answer it, late, would
            # pull the handle back under the user's hand.
            if state.total and _total(elements.value) != state.total:
                elements.value = round(_PER_DOUBLING * log2(state.total))
            boxes["total"].value = str(state.total)
            boxes["core"].value = str(state.core)
            core.max = find_soc(state.soc).tiling_cores - 1
            core.value = state.core
            widgets.show_chip(menus["soc"], state.soc)
            for name, menu in menus.items():
                menu.value = getattr(state, name)

        controls = Controls(
            [[elements, boxes["total"]], list(menus.values()), [core, boxes["core"]]], sync
        )
        controls.when(elements, lambda step: self.set(total=_total(step)))
        widgets.follow(self, controls, "core", core)
        for name, widget in {**boxes, **menus}.items():
            widgets.follow(self, controls, name, widget)
        return controls


def render(state: TilingState, theme: str = "light") -> Rendered:
    """The picture of a state and its words; depends on nothing else."""
    view = look(state)
    return Rendered(quick_png(drawn(tiling_figure(view, theme, quick=True))), tiling_alt_text(view))


def _total(step: int) -> int:
    """The elements of a step of the slider: powers of two and numbers between, evenly in log."""
    return round(2 ** (step / _PER_DOUBLING))
