"""The panels: pictures that follow what you set.

`mask()` shows which elements get their gradient, `two_phase()` steps through
the host program, `contract()` puts a call through the checks, `broadcast()`
shows shapes and views over storage, `chain()` what a call launches, `bits()`
where λ lies between its neighbours, `tiling()` how the work reaches the cores.

A panel works without ipywidgets too (`panel.set(...)`, `panel.picture`); they
are loaded when a panel is first displayed. Each panel is loaded when it is
first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from labkit.explore.field import field
from labkit.explore.panel import Panel, open_panels

if TYPE_CHECKING:
    from labkit.explore.mask_panel import MaskPanel, mask, mask_picture

__all__ = ["PANELS", "MaskPanel", "Panel", "field", "mask", "mask_picture", "open_panels"]

PANELS = ("mask",)
"""The names of the panels: each is a function of this package."""

_HOME = {
    "MaskPanel": "mask_panel",
    "mask": "mask_panel",
    "mask_picture": "mask_panel",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
