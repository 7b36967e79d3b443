"""The mask panel in a real page: it follows the keyboard and the box, and shows what goes wrong."""

import re
import statistics

import pytest

NOTEBOOK = "01_the_gradient_mask.ipynb"
CELL = "labkit.explore.mask(lambd=0.5)"
STEPS = 10

# Times from the key to the painted picture, taken inside the page.
WATCH = """(cell) => {
    const host = cell.querySelector(".labkit-panel");
    window.labkitSteps = [];
    let pressed = 0;
    host.addEventListener("keydown", () => { pressed = performance.now(); }, true);
    const painted = () => requestAnimationFrame(() => requestAnimationFrame(() => {
        if (pressed) { window.labkitSteps.push(performance.now() - pressed); }
        pressed = 0;
    }));
    new MutationObserver((changes) => {
        const image = host.querySelector("img");
        if (!image || !changes.some((c) => c.target.contains(image))) { return; }
        image.decode().then(painted, painted);
    }).observe(host, { childList: true, subtree: true });
}"""

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


class MaskPanel:
    """The panel's cell on the page."""

    def __init__(self, lab_page):
        self.lab = lab_page
        self.page = lab_page.page
        self.cell = self.page.locator(".jp-CodeCell").filter(has_text=CELL)
        self.slider = self.cell.locator(".noUi-handle")
        self.box = self.cell.locator(".widget-text input")
        self.menus = self.cell.locator(".widget-dropdown select")
        self.pictures = self.cell.locator("img.labkit-picture:visible")
        self.error = self.cell.locator(".labkit-error[role=alert]")

    def source(self):
        return self.pictures.first.get_attribute("src")

    def words(self):
        return self.pictures.first.get_attribute("alt")

    def wait_for_another(self, before):
        self.page.wait_for_function(
            """([picture, before]) => {
                const image = picture.querySelector(".labkit-panel img.labkit-picture");
                return image && image.getAttribute("src") !== before;
            }""",
            arg=[self.cell.element_handle(), before],
        )

    def key(self, name):
        before = self.source()
        self.slider.press(name)
        self.wait_for_another(before)

    def type(self, text):
        self.box.fill(text)
        self.box.press("Enter")


@pytest.fixture
def panel(lab_page):
    lab_page.open(NOTEBOOK)
    lab_page.run_all()
    panel = MaskPanel(lab_page)
    panel.cell.scroll_into_view_if_needed()
    panel.slider.wait_for()
    return panel


def test_the_picture_follows_the_arrow_keys(panel, record_property):
    assert panel.pictures.count() == 1
    assert "λ typed 0.5 " in panel.words()
    panel.key("ArrowRight")  # the first step draws letters that were not needed before
    panel.page.evaluate(WATCH, panel.cell.element_handle())
    for step in range(STEPS):
        panel.key("ArrowRight")
        panel.page.wait_for_function("(n) => window.labkitSteps.length >= n", arg=step + 1)
    assert "λ typed 0.61 " in panel.words()
    assert panel.box.input_value() == "0.61"
    times = panel.page.evaluate("() => window.labkitSteps")
    median = statistics.median(times)
    record_property("median_ms", median)
    print(f"slider step to painted picture: median {median:.0f} ms of {sorted(map(round, times))}")
    assert median <= 1500, times  # slack for a busy machine; the figure itself is in the report
    panel.lab.shot("mask-after-keys")

    for _ in range(20):  # faster than the kernel answers: the last value is the one that counts
        panel.slider.press("ArrowLeft")
    panel.page.wait_for_function(
        "(cell) => cell.querySelector('.labkit-panel img').alt.includes('λ typed 0.41 ')",
        arg=panel.cell.element_handle(),
    )
    panel.lab.wait_idle()
    assert panel.box.input_value() == "0.41"
    assert panel.pictures.count() == 1


def test_a_typed_number_counts_and_a_word_is_an_error(panel):
    before = panel.source()
    panel.type("0.3")
    panel.wait_for_another(before)
    assert "λ typed 0.3 → float32 0.300000012" in panel.words()

    before = panel.source()
    panel.type("three")
    panel.error.wait_for()
    assert "'three', which is no number" in panel.error.inner_text()
    assert panel.source() == before
    assert "labkit-stale" in panel.pictures.first.get_attribute("class")
    panel.lab.shot("mask-after-a-word")

    panel.type("-1")
    panel.error.wait_for(state="detached")
    assert "used 0" in panel.words()


def test_a_refusal_shows_its_code_and_reason(panel):
    panel.menus.nth(0).select_option("float16")
    panel.page.wait_for_function(
        "(cell) => cell.querySelector('.labkit-panel img').alt.includes('fp16')",
        arg=panel.cell.element_handle(),
    )
    panel.menus.nth(2).select_option("grad (2, 3), self (4,)")
    panel.error.wait_for()
    assert re.search(r"161002 ACLNN_ERR_PARAM_INVALID: .*\[2, 3\].*\[4\]", panel.error.inner_text())
    assert "labkit-stale" in panel.pictures.first.get_attribute("class")
    panel.lab.shot("mask-refused")
    panel.menus.nth(2).select_option("(8, 8)")
    panel.error.wait_for(state="detached")
    assert "self and grad (8, 8)" in panel.words()


def test_there_is_one_picture_after_moves_and_a_second_run(panel):
    for _ in range(5):
        panel.key("ArrowLeft")
    before = panel.source()
    panel.cell.locator(".jp-InputArea-editor").click()
    panel.page.keyboard.press("Control+Enter")
    panel.wait_for_another(before)
    panel.lab.wait_idle()
    assert "λ typed 0.5 " in panel.words()
    for _ in range(5):
        panel.key("ArrowLeft")
    panel.page.wait_for_timeout(2500)  # longer than a still picture waits before it shows itself
    assert panel.pictures.count() == 1
    assert panel.cell.locator(".labkit-panel").count() == 1
    assert panel.lab.broken_widgets() == 0
    assert panel.lab.page_errors == []
