"""The lab's pictures: data in, matplotlib Figure out; no pyplot, no widgets, no device.

Each picture is a module: what it shows as a frozen dataclass, a function that
draws it, and a function that says the same in words.
"""

from __future__ import annotations

from labkit.draw.chain import chain_alt_text, chain_figure
from labkit.draw.cores import cores_alt_text, cores_figure
from labkit.draw.html import image, show
from labkit.draw.mask import MaskPicture, mask_figure
from labkit.draw.mask_view import MaskView, Rung, alt_text
from labkit.draw.pipeline import pipeline_alt_text, pipeline_figure
from labkit.draw.png import to_png
from labkit.draw.road import Station, road, road_alt_text, road_figure
from labkit.draw.theme import DARK, DRAWING, LIGHT, Palette, palette
from labkit.draw.ub import ub_alt_text, ub_figure
from labkit.draw.workspace import workspace_alt_text, workspace_figure

__all__ = [
    "DARK",
    "DRAWING",
    "LIGHT",
    "MaskPicture",
    "MaskView",
    "Palette",
    "Rung",
    "Station",
    "alt_text",
    "chain_alt_text",
    "chain_figure",
    "cores_alt_text",
    "cores_figure",
    "image",
    "mask_figure",
    "palette",
    "pipeline_alt_text",
    "pipeline_figure",
    "road",
    "road_alt_text",
    "road_figure",
    "show",
    "to_png",
    "ub_alt_text",
    "ub_figure",
    "workspace_alt_text",
    "workspace_figure",
]
