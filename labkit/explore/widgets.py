"""The widgets that panels are made of, in one look: menus, sliders, boxes to type in, buttons.

Beside every slider stands a box, since a slider's handle has no name that a
screen reader could read. A descriptive word stands in every widget itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from labkit.explore.typed import CHIPS, OPERATORS
from labkit.language import gettext as _
from labkit.op import find_soc

if TYPE_CHECKING:
    from labkit.explore.panel import Panel
    from labkit.explore.shell import Controls

__all__ = ["box", "button", "chip_menu", "follow", "menu", "operator_menu", "show_chip", "slider"]

_WIDE = {"description_width": "initial"}


def menu(words: str, options: Sequence[Any], width: int) -> Any:
    """A menu of `options` (values, or pairs of words and value), `width` CSS pixels wide."""
    return widgets.Dropdown(
        description=words, options=options, style=_WIDE, layout=widgets.Layout(width=f"{width}px")
    )


def operator_menu(width: int) -> Any:
    """A menu of the two operators, valued as `typed.OPERATORS` has them."""
    words = {"backward": _("backward"), "forward": _("forward")}
    return menu(_("operator"), [(words[name], name) for name in OPERATORS], width)


def chip_menu(chips: Sequence[str] = CHIPS, width: int = 260) -> Any:
    """A menu of chips: their names, and how many vector cores they have."""
    return menu(_("chip · cores"), [_chip_words(name) for name in chips], width)


def show_chip(chips: Any, name: str) -> None:
    """Show a chip in its menu, also one of the table that the menu did not have so far."""
    if name not in [known for _words, known in chips.options]:
        chips.options = (*chips.options, _chip_words(name))
    chips.value = name


def _chip_words(name: str) -> tuple[str, str]:
    return f"{name} · {find_soc(name).tiling_cores}", name


def box(words: str, width: int) -> Any:
    """A line to type in; what is typed counts when Enter is pressed."""
    return widgets.Text(
        description=words,
        continuous_update=False,
        style=_WIDE,
        layout=widgets.Layout(width=f"{width}px"),
    )


def slider(
    words: str, least: float, most: float, step: float, width: int = 360, *, quick: bool = True
) -> Any:
    """A slider; `quick` says whether every move counts, or only where it comes to rest.

    Whole numbers in, whole numbers out.
    """
    kind = widgets.IntSlider if isinstance(step, int) else widgets.FloatSlider
    return kind(
        description=words,
        min=least,
        max=most,
        step=step,
        readout=False,
        continuous_update=quick,
        style=_WIDE,
        # The handle at the end stands out: what follows must not lie under it.
        layout=widgets.Layout(width=f"{width - 12}px", margin="2px 14px 2px 2px"),
    )


def button(words: str, width: int = 110) -> Any:
    """A button; use `on_click` to say what it does."""
    return widgets.Button(description=words, layout=widgets.Layout(width=f"{width}px"))


def follow(panel: Panel[Any], controls: Controls, name: str, widget: Any) -> None:
    """Let the panel's state field `name` follow what the user sets in a widget."""
    controls.when(widget, lambda value: panel.set(**{name: value}))
