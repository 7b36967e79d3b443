"""Every panel in a real page: it shows, every menu works, a word is an error, axe is content.

Screenshots of each in the light and the dark theme are kept for people to look at.
"""

import pytest

from labkit.explore import PANELS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

# What axe finds in ipywidgets itself, not in what a panel adds: the handle of a slider has no
# accessible name. Beside each slider stands a box with a name, which does the same.
KNOWN = {"aria-input-field-name"}
SETTLED = """() => {
    const panels = document.querySelectorAll(".labkit-panel");
    return panels.length === 1 && !panels[0].textContent.includes("computing");
}"""


class Panel:
    """The one panel on the page."""

    def __init__(self, lab_page, name):
        lab_page.open_cell(f"import labkit\nlabkit.explore.{name}()")
        self.lab = lab_page
        self.page = lab_page.page
        self.root = self.page.locator(".labkit-panel")
        self.root.wait_for()
        self.picture = self.root.locator("img.labkit-picture")
        self.picture.first.wait_for()
        self.stale = self.root.locator("img.labkit-picture.labkit-stale")
        self.alert = self.root.locator(".labkit-error[role=alert]")

    def settle(self):
        self.lab.wait_idle()
        self.page.wait_for_function(SETTLED)

    def fault(self):
        """The traceback that a fault of the panel itself would show; None when there is none."""
        details = self.root.locator(".labkit-error details pre")
        text = details.text_content() if details.count() else ""
        return text if "Traceback" in text else None


@pytest.fixture(params=PANELS)
def panel(request, lab_page):
    return Panel(lab_page, request.param)


def test_it_shows_and_axe_is_content(panel, request):
    from axe_playwright_python.sync_playwright import Axe

    name = request.node.callspec.params["panel"]
    for theme in ("light", "dark"):
        panel.lab.theme(theme)
        panel.root.scroll_into_view_if_needed()
        panel.root.screenshot(path=panel.lab.shots / f"panel-{name}-{theme}.png")
        found = Axe().run(panel.page, context=".labkit-panel").response["violations"]
        told = [
            f"{one['id']} ({one['impact']}): {one['help']}: {node['html'][:200]}"
            for one in found
            if one["id"] not in KNOWN
            for node in one["nodes"]
        ]
        assert told == []
    panel.lab.theme("light")
    assert panel.picture.count() == 1
    assert len(panel.picture.get_attribute("alt")) > 80
    wide = panel.picture.bounding_box()["width"]
    assert wide == pytest.approx(int(panel.picture.get_attribute("width")), abs=1)
    assert panel.lab.page_errors == [] and panel.lab.broken_widgets() == 0


def test_every_menu_is_followed_and_a_refusal_has_its_reason(panel):
    # Some entries of each menu; every entry is chosen without a browser in test_explore_panels.py.
    menus = panel.root.locator("select")
    for place in range(menus.count()):
        menu = menus.nth(place)
        for option in sorted({1, menu.locator("option").count() - 1}):
            menu.select_option(index=option)
            panel.settle()
            assert panel.fault() is None
            assert panel.picture.count() == 1
        menu.select_option(index=0)
        panel.settle()
    assert panel.lab.page_errors == [] and panel.lab.broken_widgets() == 0


def test_a_word_where_a_number_belongs_is_an_error_that_goes_away(panel):
    boxes = panel.root.locator(".widget-text input:visible")
    assert boxes.count() > 0, "a panel has a box to type in"
    for place in range(boxes.count()):
        box = boxes.nth(place)
        before = box.input_value()
        box.fill("no?such thing")
        box.press("Enter")
        panel.stale.wait_for()
        panel.alert.wait_for()  # the words come after the picture, in a message of their own
        assert panel.fault() is None
        assert panel.picture.count() == 1
        box.fill(before)
        box.press("Enter")
        panel.alert.wait_for(state="detached")
    assert panel.lab.page_errors == []
