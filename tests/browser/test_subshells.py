"""A panel while a cell is busy, under both ways in which JupyterLab can deliver its messages.

By default JupyterLab sends them to a thread of the kernel's own, so that a panel answers while a
cell runs; older versions, other front ends and a setting for classes do not. The panel must be
right in both.
"""

import pytest
from lab_page import LabPage

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

SETTING = "@jupyterlab/apputils-extension:kernels-settings"
BUSY = "import pathlib, time\nwhile not pathlib.Path('go').exists():\n    time.sleep(0.05)"
ALT = "(words) => document.querySelector('.labkit-panel img')?.alt.includes(words)"


def panel_page(lab_page_with, way: str) -> LabPage:
    lab = lab_page_with({SETTING: {"commsOverSubshells": way}})
    lab.open_cell("import labkit\nlabkit.explore.mask(lambd=0.5)")
    # JupyterLab makes the thread when the first message goes out, and that one still takes the
    # cells' way: so move once before a cell is busy.
    lab.page.locator(".noUi-handle").press("ArrowLeft")
    lab.page.wait_for_function(ALT, arg="λ typed 0.49 ")
    lab.wait_idle()
    return lab


@pytest.mark.parametrize("way", ["perCommTarget", "disabled"])
def test_moves_made_while_a_cell_is_busy_count(lab_page_with, way):
    lab = panel_page(lab_page_with, way)
    page = lab.page
    lab.keep_busy(BUSY)
    page.wait_for_timeout(300)
    for _ in range(10):
        page.locator(".noUi-handle").press("ArrowRight")
    if way == "perCommTarget":
        page.wait_for_function(ALT, arg="λ typed 0.59 ")
    assert lab.is_busy()
    assert page.locator(".labkit-panel img").count() == 1
    (lab.server.folder / "notebooks" / "go").touch()
    page.wait_for_function("() => window.labkitDone")
    page.wait_for_function(ALT, arg="λ typed 0.59 ")
    lab.wait_idle()
    assert page.locator(".labkit-panel img").count() == 1
    assert page.locator(".widget-text input").input_value() == "0.59"
    assert lab.page_errors == [] and lab.broken_widgets() == 0


def test_a_panel_and_a_cell_that_draws_do_not_disturb_each_other(lab_page_with):
    lab = panel_page(lab_page_with, "perCommTarget")
    lab.keep_busy(
        "import matplotlib\nmatplotlib.use('agg')\nimport matplotlib.pyplot as plt\n"
        "from labkit.draw.theme import DRAWING\n"
        "for n in range(12):\n    with DRAWING:\n"
        "        figure, axes = plt.subplots()\n        axes.plot(range(n + 2))\n"
        "        figure.canvas.draw()\n        plt.close(figure)\n"
    )
    for _ in range(10):
        lab.page.locator(".noUi-handle").press("ArrowRight")
    lab.page.wait_for_function("() => window.labkitDone")
    lab.page.wait_for_function(ALT, arg="λ typed 0.59 ")
    assert lab.page.locator(".labkit-panel img").count() == 1
    assert lab.page.locator(".labkit-error[role=alert]").count() == 0
