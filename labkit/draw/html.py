"""A picture as HTML: with a text alternative, readable under JupyterLab's light and dark theme."""

from __future__ import annotations

import base64
from html import escape
from typing import Any

from matplotlib.figure import Figure

from labkit.draw.png import to_png

__all__ = ["STYLE", "Shown", "image", "show"]

STYLE = (
    "<style>"
    ".labkit-picture{display:block;max-width:100%;height:auto;border-radius:6px}"
    '[data-jp-theme-light="false"] .labkit-picture{filter:invert(0.93) hue-rotate(180deg)}'
    "</style>"
)
"""Turns pictures over under the dark theme: black on white becomes white on black, hues stay."""


def image(png: bytes, alt: str, width: int, height: int, extra_class: str = "") -> str:
    """An img element with the PNG inside; `width` and `height` in CSS pixels keep its place."""
    data = base64.b64encode(png).decode("ascii")
    kind = f"labkit-picture {extra_class}".strip()
    return (
        f'<img class="{kind}" width="{width}" height="{height}" '
        f'style="aspect-ratio:{width}/{height}" alt="{escape(alt)}" '
        f'src="data:image/png;base64,{data}">'
    )


class Shown:
    """A picture to end a notebook cell with: the figure as an image, its words as its text."""

    def __init__(self, figure: Figure, alt: str) -> None:
        self.png = to_png(figure)
        self.alt = alt
        wide, high = figure.get_size_inches() * figure.dpi
        self.size = (round(wide), round(high))

    def __repr__(self) -> str:
        return self.alt

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {
            "text/html": STYLE + image(self.png, self.alt, *self.size),
            "text/plain": self.alt,
        }


def show(figure: Figure, alt: str) -> Shown:
    """Wrap a figure of the lab for a notebook; `alt` is its text alternative."""
    return Shown(figure, alt)
