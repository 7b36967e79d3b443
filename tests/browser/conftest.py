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
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def shots(tmp_path_factory) -> Path:
    """Return the folder for screenshots."""
    named = os.environ.get("LABKIT_SHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("shots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def page_on(server, chromium, shots, request):
    """Open a fresh browser page on a JupyterLab; its last sight is kept under the test's name."""
    from lab_page import LabPage

    context = chromium.new_context(viewport={"width": 1400, "height": 1000}, locale="en-US")
    page = LabPage(context.new_page(), server, shots)
    yield page
    page.shot("end-" + re.sub(r"[^\w.-]+", "-", request.node.name).strip("-"))
    context.close()
    server.end_sessions()


@pytest.fixture
def lab_page(chromium, lab_server, shots, request):
    """Open a fresh browser page on the JupyterLab of all browser tests."""
    with page_on(lab_server, chromium, shots, request) as page:
        yield page


@pytest.fixture
def lab_page_with(chromium, tmp_path, root, shots, request, skip_or_fail):
    """Return a function that opens a page on a JupyterLab with settings of its own."""
    from lab_server import running_lab

    with contextlib.ExitStack() as stack:

        def open_page(settings):
            server = stack.enter_context(running_lab(tmp_path, root / "notebooks", settings))
            return stack.enter_context(page_on(server, chromium, shots, request))

        yield open_page
