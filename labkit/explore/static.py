"""How a panel stands in a notebook: live where widgets live, else as a picture with a note.

A widget lives only while its kernel does. GitHub, an export to HTML and a
notebook that was only opened have none. So the cell shows two things: the
live panel, and its picture as plain HTML. Only one is seen: the live panel
carries a style rule that hides the still picture, which waits two seconds for
that rule before it appears. Where style sheets are dropped, widgets are too,
and the picture appears at once.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any

from labkit.draw.html import STYLE, image
from labkit.language import Text
from labkit.language import gettext as _

if TYPE_CHECKING:
    from labkit.explore.panel import Panel

__all__ = ["display_panel", "hiding_rule", "still"]

_WAIT = (
    "<style>@keyframes labkit-wait{from{visibility:hidden;max-height:0}"
    "to{visibility:visible;max-height:2000px}}"
    ".labkit-still{animation:labkit-wait 2s step-end;overflow:hidden}</style>"
)
_NOTE = Text("A still picture of this panel. Run the cell in JupyterLab to move its controls.")
_NO_WIDGETS = Text("This panel needs ipywidgets to be moved by hand: pip install ipywidgets")


def _name(panel: Panel[Any]) -> str:
    return f"labkit-still-{re.sub(r'[^a-z0-9]+', '-', panel.name.lower())}-{panel.number}"


def hiding_rule(panel: Panel[Any]) -> str:
    """The style rule by which a live panel hides its still picture."""
    return f".{_name(panel)}{{display:none}}"


def still(panel: Panel[Any], note: Text = _NOTE) -> dict[str, str]:
    """The panel as a picture: HTML with a note, and the words of the picture as text."""
    picture = image(panel.picture, panel.text, *panel.size) if panel.picture else ""
    problem = f"<p><strong>{escape(panel.error)}</strong></p>" if panel.error else ""
    inside = f"<p>{_(note)}</p>{problem}{picture}{panel.below}"
    html = f'<div class="labkit-still {_name(panel)}">{inside}</div>'
    return {"text/html": STYLE + _WAIT + html, "text/plain": panel.text or panel.error}


def display_panel(panel: Panel[Any]) -> None:
    """Show a panel at the end of a notebook cell."""
    import IPython.display

    display: Any = IPython.display.display
    try:
        live = panel.shell.bundle(panel)
    except ImportError:
        display(still(panel, _NO_WIDGETS), raw=True)
        return
    display(live, raw=True)
    display(still(panel), raw=True)
