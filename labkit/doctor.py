"""`labkit doctor`: what is here, what works, what to do about the rest."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
from dataclasses import dataclass, field

from labkit.errors import LabError

__all__ = ["Report", "examine"]

_PACKAGES = ("numpy", "cffi", "ml_dtypes", "matplotlib", "ipywidgets", "jupyterlab", "nbval")
_VARIABLES = (
    "LABKIT_DEVICE",
    "ASCEND_HOME_PATH",
    "ASCEND_TOOLKIT_HOME",
    "ASCEND_OPP_PATH",
    "ASCEND_CUSTOM_OPP_PATH",
    "ASCEND_RT_VISIBLE_DEVICES",
)


@dataclass
class Report:
    """What was found. `usable`: whether the device that was asked for can be used."""

    usable: bool = True
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The report, a line each."""
        return "\n".join(self.lines)

    def say(self, mark: str, text: str) -> None:
        """Add a line: `ok`, `--` (not there, not needed) or `!!` (wanted and not usable)."""
        first, *more = text.splitlines()
        self.lines.append(f"{mark:<3}{first}")
        self.lines += [f"     {line}" for line in more]


def examine(kind: str | None = None) -> Report:
    """Look at Python, packages, the software NPU, CANN and the NPU.

    `kind` is the device to judge by (None: $LABKIT_DEVICE, else auto). With
    "auto" a missing NPU is no fault. Never raises for what it finds.
    """
    from labkit.host.choose import wanted_kind

    report = Report()
    try:
        asked = wanted_kind(kind)
    except LabError as error:
        report.say("!!", str(error))
        report.usable = False
        return report
    _python(report)
    sim = _try_device(report, "sim")
    npu = _npu(report, needed=asked == "npu")
    report.usable = bool({"sim": sim, "npu": npu, "auto": sim or npu}[asked])
    chosen = npu if npu and asked != "sim" else sim
    report.lines.append("")
    if report.usable:
        report.lines.append(f"device {asked}: usable; calls run on: {chosen}")
    else:
        report.lines.append(f"device {asked}: NOT usable here; see the lines marked !!")
    return report


def _python(report: Report) -> None:
    report.say(
        "ok", f"Python {platform.python_version()} on {platform.system()} ({sys.executable})"
    )
    for name in _PACKAGES:
        try:
            report.say("ok", f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            report.say("!!", f"{name} is not installed; install the lab with: python3 lab.py")
    try:
        version = importlib.metadata.version("numba")
        report.say("ok", f"numba {version}: large arrays run on one fused compiled loop")
    except importlib.metadata.PackageNotFoundError:
        report.say(
            "--", "numba is not installed (optional, faster on large arrays): pip install '.[fast]'"
        )
    browser = next(
        (
            path
            for name in ("chromium", "chromium-browser", "google-chrome")
            if (path := shutil.which(name))
        ),
        None,
    )
    report.say(
        "ok" if browser else "--",
        f"browser for the tests: {browser}"
        if browser
        else "no Chromium: browser tests are skipped",
    )
    for name in _VARIABLES:
        if name in os.environ:
            report.say("ok", f"${name} = {os.environ[name]}")


def _try_device(report: Report, kind: str) -> str:
    """Open the device and run the documentation's example on it; its name when that is right."""
    from labkit.operators import hardshrink_backward, open_device

    try:
        with open_device(kind) as device:
            call = hardshrink_backward([[0, 0], [1, 1]], [[1, 2], [3, 4]], lambd=2.0, device=device)
    except LabError as error:
        report.say("!!", f"{'NPU' if kind == 'npu' else 'software NPU'}: {error}")
        return ""
    result = [] if call.grad_input is None else call.grad_input.reshape(-1).tolist()
    right = result == [0.0, 0.0, 1.0, 1.0]
    mark = "ok" if right else "!!"
    report.say(
        mark, f"{call.device}: the example gives {result}{'' if right else ', which is wrong'}"
    )
    return call.device if right else ""


def _npu(report: Report, *, needed: bool) -> str:
    from labkit.cann import describe_search

    missing = "!!" if needed else "--"
    try:
        from labkit.cann import require_npu

        library = require_npu()
    except LabError as error:
        report.say(missing, f"NPU: {error}")
        return ""
    report.say("ok", f"CANN: {library.source}")
    for note in library.notes:
        report.say("--", note)
    if library.simulated and os.environ.get("LABKIT_ALLOW_SIMULATED") != "1":
        report.say(missing, "these libraries are the software NPU under CANN's names, not an NPU")
        return ""
    report.say("ok", str(describe_search()))
    return _try_device(report, "npu")
