"""The contract panel: put a call together, and see which check stops it.

Every state is planned with `labkit.op` on the chosen chip; no device is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.draw.dtype_cube import cube_alt_text, cube_figure, cube_pixels
from labkit.draw.html import Shown, show
from labkit.draw.png import quick_png
from labkit.draw.sheet import WIDTH
from labkit.draw.sieve import HEIGHT, sieve_figure, sieve_pixels
from labkit.draw.sieve_view import sieve_alt_text
from labkit.errors import LabValueError
from labkit.explore.contract_cube import cube_of
from labkit.explore.contract_presets import (
    DTYPES,
    LAYOUTS,
    POINTERS,
    PRESETS,
    SCALAR_CHOICES,
    VIEWS,
)
from labkit.explore.contract_sieve import sieve_of
from labkit.explore.contract_state import ContractState, changed
from labkit.explore.panel import Panel, Problem, Rendered
from labkit.explore.typed import CHIPS
from labkit.language import gettext as _
from labkit.op import Plan, plan_hardshrink, plan_hardshrink_backward
from labkit.op.contract import Fault, check_out_pointers

if TYPE_CHECKING:
    from labkit.explore.shell import Controls

__all__ = ["ContractPanel", "ContractState", "contract", "contract_picture", "dtype_cube"]


def contract(
    *,
    theme: str = "light",
    name: str = "contract",
    raise_errors: bool | None = None,
    **start: Any,
) -> ContractPanel:
    """Open the contract panel, which shows the check that stops a call.

    `start` is where the controls start: `preset` (a telling call, see
    `labkit.explore.contract_presets.PRESETS`), `operator`, `soc`, `view`
    ("checks" or "dtypes"), `grad_dtype`, `grad_shape`, `grad_layout`, the
    same for `self` and `out`, `lambd`, `lambd_dtype`, `pointers`. A dtype of
    None is a null pointer. `panel.set(...)` moves them; `panel.plan` is what
    `labkit.op` makes of the call. Running the cell again replaces the panel
    of the same `name`.

    >>> import labkit
    >>> panel = labkit.explore.contract(preset="empty")
    >>> panel.plan.status, panel.set(self_dtype="int32").plan.status
    (0, 161002)
    >>> panel.close()
    """
    return ContractPanel(start, theme=theme, name=name, raise_errors=raise_errors)


def contract_picture(*, theme: str = "light", **start: Any) -> Shown:
    """The picture of the contract panel, standing still; arguments as for `contract`."""
    sieve = sieve_of(*plan_of(changed(ContractState(), start)))
    return show(sieve_figure(sieve, theme), sieve_alt_text(sieve))


def dtype_cube(soc: str = CHIPS[0], *, theme: str = "light") -> Shown:
    """Every combination of dtypes on a chip: which are accepted, and what they compute in."""
    cube = cube_of(changed(ContractState(), {"soc": soc}).soc)
    return show(cube_figure(cube, theme), cube_alt_text(cube))


def plan_of(state: ContractState) -> tuple[Plan, Fault | None]:
    """What `labkit.op` makes of a state, and the fault of the out-pointers before it."""
    pointers = check_out_pointers(state.pointers == POINTERS[1], state.pointers == POINTERS[2])
    x, lambd, out = state.tensor("self"), state.scalar(), state.tensor("out")
    if state.operator == "forward":
        return plan_hardshrink(x, lambd, out, soc=state.soc), pointers
    grad = state.tensor("grad")
    return plan_hardshrink_backward(grad, x, lambd, out, soc=state.soc), pointers


def _combination(state: ContractState) -> tuple[str, str, str]:
    return state.grad_dtype, state.self_dtype, state.out_dtype


class ContractPanel(Panel[ContractState]):
    """The contract panel; see `contract`."""

    size = (WIDTH, HEIGHT)

    def __init__(
        self,
        start: dict[str, Any],
        *,
        theme: str = "light",
        name: str = "contract",
        raise_errors: bool | None = None,
    ) -> None:
        self._theme = theme
        state = self.changed(ContractState(), start)
        super().__init__(name, state, self._rendered, raise_errors=raise_errors)

    @property
    def plan(self) -> Plan:
        """What `labkit.op` makes of the call that is shown."""
        return plan_of(self.state)[0]

    @property
    def status(self) -> int:
        """What phase 1 returns for the call that is shown."""
        plan, pointers = plan_of(self.state)
        return plan.status if pointers is None else pointers.status

    def _rendered(self, state: ContractState) -> Rendered | Problem:
        if state.view == VIEWS[1]:
            cube, here = cube_of(state.soc), _combination(state)
            pixels = cube_pixels(cube, here, self._theme)
            return Rendered(quick_png(pixels), cube_alt_text(cube, here))
        try:
            sieve = sieve_of(*plan_of(state))
        except LabValueError as error:  # λ does not go with its dtype, though each was well chosen
            return Problem(str(error), expected=True)
        return Rendered(quick_png(sieve_pixels(sieve, self._theme)), sieve_alt_text(sieve))

    def changed(self, state: ContractState, changes: dict[str, Any]) -> ContractState:
        """The state with what was typed or chosen; raises `LabValueError` where it cannot be."""
        return changed(state, changes)

    def controls(self) -> Controls:
        """Telling calls, operator, chip, and of each argument dtype, shape and layout."""
        from labkit.explore import widgets
        from labkit.explore.shell import Controls

        presets = [(_("your own"), "own"), *((_(told), key) for key, (told, _c) in PRESETS.items())]
        pointers = tuple(zip((_("given"), *POINTERS[1:]), POINTERS))
        views = tuple(zip((_("the checks"), _("all dtypes")), VIEWS))
        made: dict[str, Any] = {
            "preset": widgets.menu(_("telling call"), presets, 325),
            "operator": widgets.operator_menu(150),
            "soc": widgets.chip_menu(),
            "view": widgets.menu(_("show"), views, 160),
            "lambd_dtype": widgets.menu("λ", SCALAR_CHOICES, 180),
            "lambd": widgets.box(_("value"), 180),
            "pointers": widgets.menu(_("where answers go"), pointers, 300),
        }
        rows = [[made[name] for name in ("preset", "operator", "view", "soc")]]
        for name, title in (("grad", "gradOutput"), ("self", "self"), ("out", "gradInput / out")):
            row = {
                f"{name}_dtype": widgets.menu(title, DTYPES, 250),
                f"{name}_shape": widgets.box(_("shape"), 240),
                f"{name}_layout": widgets.menu(_("lies"), _layouts(), 290),
            }
            made |= row
            rows.append(list(row.values()))
        rows.insert(3, [made[name] for name in ("lambd_dtype", "lambd", "pointers")])

        def sync(state: ContractState) -> None:
            widgets.show_chip(made["soc"], state.soc)
            for name, widget in made.items():
                widget.value = getattr(state, name)

        controls = Controls(rows, sync)
        for name, widget in made.items():
            widgets.follow(self, controls, name, widget)
        return controls


def _layouts() -> list[tuple[str, str]]:
    words = (
        _("row-major"),
        _("transposed"),
        _("reversed"),
        _("strided past its storage"),
        _("shifted past its storage"),
    )
    return list(zip(words, LAYOUTS))
