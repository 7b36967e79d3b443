"""What a notebook asks of matplotlib for its own figures changes no picture of the lab."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot as plt

import labkit
from labkit import draw, explore
from labkit.draw.theme import DRAWING

ODD = {
    "axes.grid": True,
    "axes.unicode_minus": False,
    "agg.path.chunksize": 3,
    "figure.facecolor": "red",
    "figure.frameon": False,
    "figure.subplot.left": 0.95,
    "font.size": 25.0,
    "font.stretch": "condensed",
    "font.style": "italic",
    "font.weight": "bold",
    "image.interpolation": "bilinear",
    "lines.antialiased": False,
    "lines.linestyle": "--",
    "lines.scale_dashes": False,
    "lines.solid_capstyle": "round",
    "lines.solid_joinstyle": "bevel",
    "patch.antialiased": False,
    "path.simplify": False,
    "path.sketch": (1, 100, 2),
    "path.snap": False,
    "text.antialiased": False,
    "text.hinting": "none",
    "text.usetex": True,
    "xtick.minor.visible": True,
}


@pytest.fixture(scope="module")
def dev():
    with labkit.open_device("sim", soc="950") as device:
        yield device


def both(panel: str, dev) -> tuple[bytes, bytes]:
    """The picture of a panel, standing still and opened."""
    given = (dev,) if panel in ("mask", "bits") else ()
    still = getattr(explore, f"{panel}_picture")(*given).png
    opened = getattr(explore, panel)(*given, name="settings", raise_errors=True)
    opened.close()
    return still, opened.picture


@pytest.fixture(scope="module")
def plain(dev):
    return {panel: both(panel, dev) for panel in explore.PANELS}


@pytest.mark.parametrize("panel", explore.PANELS)
def test_hand_drawn_figures_of_a_notebook_leave_the_pictures_straight(panel, dev, plain):
    with plt.xkcd():
        asked = dict(matplotlib.rcParams)
        assert both(panel, dev) == plain[panel]
        assert dict(matplotlib.rcParams) == asked


@pytest.mark.parametrize("panel", explore.PANELS)
def test_odd_settings_together_change_no_picture(panel, dev, plain):
    with matplotlib.rc_context(ODD):
        assert both(panel, dev) == plain[panel]


@pytest.mark.parametrize("setting", ODD)
def test_each_odd_setting_alone_changes_no_picture(setting, dev, plain):
    with matplotlib.rc_context({setting: ODD[setting]}):
        assert {panel: both(panel, dev) for panel in ("mask", "chain", "learning")} == {
            panel: plain[panel] for panel in ("mask", "chain", "learning")
        }


def test_the_settings_come_back_after_an_error_and_only_with_the_last_release():
    sketch = (1.0, 100.0, 2.0)
    with matplotlib.rc_context({"path.sketch": sketch, "font.size": 25.0}):
        with pytest.raises(ZeroDivisionError), DRAWING:
            with DRAWING:
                assert matplotlib.rcParams["path.sketch"] is None
            assert matplotlib.rcParams["path.sketch"] is None
            assert matplotlib.rcParams["font.size"] == 25.0  # told to every artist: left alone
            _ = 1 / 0
        assert matplotlib.rcParams["path.sketch"] == sketch


def test_a_setting_made_meanwhile_is_not_lost():
    with matplotlib.rc_context({"path.sketch": (1.0, 100.0, 2.0)}):
        with DRAWING:
            matplotlib.rcParams["font.size"] = 31.0
        assert matplotlib.rcParams["font.size"] == 31.0


def test_every_function_that_makes_a_figure_holds_the_lock():
    """Artists look some settings up when they are made."""
    found = {}
    for path in sorted(Path(draw.__file__).parent.glob("*.py")):
        for part in path.read_text(encoding="utf-8").split("\n\n\n"):
            name = re.match(r"def (\w+_figure)\(", part)
            if name and name[1] != "new_figure":
                found[name[1]] = "with DRAWING:" in part
    assert len(found) > 15
    assert all(found.values()), found
