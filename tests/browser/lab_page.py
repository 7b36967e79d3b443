"""One page of JupyterLab, and what a test does with it. No sleeps: every wait has a condition."""

from pathlib import Path

from lab_server import LabServer
from playwright.sync_api import Locator, Page

PATIENCE = 120_000  # milliseconds; for a slow machine with two cores

# The notebook in front, by JupyterLab's own objects (the server exposes them for the tests).
PANEL = "const panel = window.jupyterapp?.shell.currentWidget;"
IS_IDLE = f"""() => {{
    {PANEL}
    const session = panel?.sessionContext;
    return Boolean(panel?.context?.isReady && session?.isReady
        && session.session?.kernel?.connectionStatus === "connected"
        && session.session.kernel.status === "idle");
}}"""
RUN_ALL = """async () => {
    const run = (name) => window.jupyterapp.commands.execute("notebook:" + name);
    window.labkitRan = false;
    await run("clear-all-cell-outputs");
    run("run-all-cells").finally(() => { window.labkitRan = true; });
}"""
WIDGETS_ARE_SHOWN = """() => !Array.from(document.querySelectorAll(".jp-OutputArea-output"))
    .some((output) => output.textContent.includes("Loading widget"))"""
CELLS = f"""() => {{ {PANEL} return panel.context.model.toJSON().cells; }}"""
CLOSE_ALL = """() => {
    for (const widget of Array.from(window.jupyterapp.shell.widgets("main"))) {
        if (widget.context) widget.context.model.dirty = false;  // or it asks whether to save
        widget.close();
    }
}"""
ALL_CLOSED = "() => !document.querySelector('.jp-NotebookPanel')"
OPEN = """(path) => window.jupyterapp.commands.execute("docmanager:open", {path})"""
EXECUTE = f"""(code) => {{
    {PANEL}
    window.labkitDone = false;
    panel.sessionContext.session.kernel.requestExecute({{code}}).done
        .finally(() => {{ window.labkitDone = true; }});
}}"""
SET_THEME = """(light) => window.jupyterapp.commands.execute(
    "apputils:change-theme", {theme: light ? "JupyterLab Light" : "JupyterLab Dark"})"""
THEME_IS_SHOWN = """(light) => document.body.dataset.jpThemeLight === String(light)
    && !document.querySelector("#jupyterlab-splash")"""


class LabPage:
    """A browser page with JupyterLab in it, and what went wrong on it so far."""

    def __init__(self, page: Page, server: LabServer, shots: Path) -> None:
        self.page = page
        self.server = server
        self.shots = shots
        self.page_errors: list[str] = []  # exceptions that nothing caught
        self.console_errors: list[str] = []  # what was logged as an error; JupyterLab logs some too
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.page_errors.append(error.stack or str(error)))
        page.on("console", self._note)

    def _note(self, message) -> None:
        if message.type == "error":
            self.console_errors.append(f"{message.text} ({message.location.get('url', '')})")

    def open(self, notebook: str) -> None:
        """Open a notebook, named as within notebooks/, and wait for its kernel.

        JupyterLab is loaded by the first; a later one takes its place, as from the file browser.
        """
        if self.page.url == "about:blank":
            self.page.goto(
                f"{self.server.url}lab/tree/notebooks/{notebook}?reset&token={self.server.token}"
            )
        else:
            self.page.evaluate(OPEN, f"notebooks/{notebook}")
        self.page.locator(".jp-NotebookPanel:visible .jp-Cell").first.wait_for()
        self.wait_idle()

    def close(self) -> None:
        """Close what is open, end its kernels, and forget what went wrong.

        After an error, or where closing fails, JupyterLab itself is left as well, for the next
        test to load it anew.
        """
        closed = False
        try:
            self.page.evaluate(CLOSE_ALL)
            self.page.wait_for_function(ALL_CLOSED)
            closed = not self.page_errors
        finally:
            if not closed:
                self.page.goto("about:blank")
        self.server.end_sessions()
        self.page_errors.clear()
        self.console_errors.clear()

    def wait_idle(self) -> None:
        """Wait until the kernel has nothing to do."""
        self.page.wait_for_function(IS_IDLE)

    def run_all(self) -> None:
        """Clear all outputs, run all cells, wait for the last and for every widget to show."""
        self.page.evaluate(RUN_ALL)
        self.page.wait_for_function("() => window.labkitRan")
        self.wait_idle()
        self.page.wait_for_function(WIDGETS_ARE_SHOWN)

    def open_cell(self, source: str) -> None:
        """Open a notebook of one cell and run it."""
        self.open(self.server.add_notebook("one-cell.ipynb", source))
        self.run_all()

    def keep_busy(self, code: str) -> None:
        """Let the kernel execute code as a cell would, and do not wait for it."""
        self.page.evaluate(EXECUTE, code)

    def is_busy(self) -> bool:
        """Tell whether the code of `keep_busy` still runs."""
        return not self.page.evaluate("() => window.labkitDone")

    def code_cells(self) -> list[dict]:
        """Return the code cells as the notebook file would have them now."""
        return [cell for cell in self.page.evaluate(CELLS) if cell["cell_type"] == "code"]

    def cells_not_run(self) -> list[str]:
        """Return the sources of the cells that have no execution count."""
        return [cell["source"] for cell in self.code_cells() if cell["execution_count"] is None]

    def error_outputs(self) -> list[str]:
        """Return the errors that cells ended with, but for cells that are meant to."""
        return [
            f"{output['ename']}: {output['evalue']}"
            for cell in self.code_cells()
            if "raises-exception" not in cell["metadata"].get("tags", [])
            for output in cell["outputs"]
            if output["output_type"] == "error"
        ]

    def broken_widgets(self) -> int:
        """Count the widgets in whose place the page shows an error."""
        outputs = self.page.locator(".jp-OutputArea-output")
        texts = ("javascript error", "Error displaying widget", "Error creating widget")
        return sum(outputs.get_by_text(text).count() for text in texts)

    def output(self, cell: int) -> Locator:
        """Return the output area of a cell, counted from 0 over all cells."""
        return self.page.locator(f".jp-Cell[data-windowed-list-index='{cell}'] .jp-OutputArea")

    def theme(self, name: str) -> None:
        """Switch to the `light` or the `dark` theme, for this page and later ones."""
        light = {"light": True, "dark": False}[name]
        self.page.evaluate(SET_THEME, light)
        self.page.wait_for_function(THEME_IS_SHOWN, arg=light)

    def shot(self, name: str) -> Path:
        """Save what the page shows as NAME.png; returns where."""
        path = self.shots / f"{name}.png"
        self.page.screenshot(path=path)
        return path
