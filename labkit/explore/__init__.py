"""The panels: pictures that follow what you set.

`mask()` shows which elements get their gradient. A panel works without
ipywidgets too (`panel.set(...)`, `panel.picture`); they are loaded when a
panel is first displayed.
"""

from __future__ import annotations

from labkit.explore.field import field
from labkit.explore.mask import MaskPanel, mask, mask_picture
from labkit.explore.panel import Panel, open_panels

__all__ = ["MaskPanel", "Panel", "field", "mask", "mask_picture", "open_panels"]
