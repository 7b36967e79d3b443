"""Fixtures for tests in a real browser: JupyterLab, Chromium, and a page that joins them.

LABKIT_CHROMIUM names the browser to use; LABKIT_SHOTS a folder for the screenshots.
"""

import contextlib
import os
import re
from pathlib import Path

import pytest

import lab

CHROMIUM_OPTIONS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory, root, skip_or_fail):
    """Run one JupyterLab for all browser tests of this process."""
    from lab_server import running_lab

    if lab.find_chromium() is None:
        skip_or_fail("no Chromium or Chrome here; LABKIT_CHROMIUM names one")
    with running_lab(tmp_path_factory.mktemp("jupyter"), root / "notebooks") as server:
        yield server


@pytest.fixture(scope="module")
def chromium(skip_or_fail):
    """Run Chromium; for one module only, since Playwright occupies the thread's event loop."""
    executable = lab.find_chromium()
    if executable is None:
        skip_or_fail("no Chromium or Chrome here; LABKIT_CHROMIUM names one")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        skip_or_fail("Playwright is not installed; it is in the extra `test`")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable,
            chromium_sandbox=not lab.is_root(),  # Chromium refuses its sandbox to root
            args=CHROMIUM_OPTIONS,
            timeout=120_000,
        )
        # One profile for all pages, as a learner has: JupyterLab's scripts are fetched once.
        yield browser.new_context(viewport={"width": 1400, "height": 1000}, locale="en-US")
        browser.close()


@pytest.fixture(scope="session")
def shots(tmp_path_factory) -> Path:
    """Return the folder for screenshots."""
    named = os.environ.get("LABKIT_SHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("shots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def kept_sight(page, request):
    """Lend a page to a test; its last sight is kept under the test's name, and all is closed."""
    yield page
    page.shot("end-" + re.sub(r"[^\w.-]+", "-", request.node.name).strip("-"))
    page.close()


@pytest.fixture(scope="module")
def one_lab_page(chromium, lab_server, shots):
    """Open one browser page for a module: JupyterLab takes longer to load than most tests."""
    from lab_page import LabPage

    page = LabPage(chromium.new_page(), lab_server, shots)
    yield page
    page.page.close()


@pytest.fixture
def lab_page(one_lab_page, request):
    """Give a page with nothing open in it, on the JupyterLab of all browser tests."""
    with kept_sight(one_lab_page, request) as page:
        yield page


@pytest.fixture
def lab_page_with(chromium, tmp_path, root, shots, request, skip_or_fail):
    """Return a function that opens a page on a JupyterLab with settings of its own."""
    from lab_page import LabPage
    from lab_server import running_lab

    with contextlib.ExitStack() as stack:

        def open_page(settings):
            server = stack.enter_context(running_lab(tmp_path, root / "notebooks", settings))
            page = LabPage(stack.enter_context(chromium.new_page()), server, shots)
            return stack.enter_context(kept_sight(page, request))

        yield open_page
