"""What to do when CANN cannot be used: the loader's and the search's findings, told as advice.

Sources of the diagnoses: vllm-project/vllm-ascend issues 1440 (driver not
mounted) and 262 (`set_env.sh` not sourced), Ascend/pytorch issue 99 and
Ascend/samples issue 21 (releases mixed).
"""

from __future__ import annotations

import re
from pathlib import Path

from labkit.cann.find import BASE_LIBRARY, CannInstall, Search
from labkit.cann.packages import DRIVER_LIBRARY

__all__ = ["WITHOUT_NPU", "for_loader_error", "for_search", "missing_dependency"]

WITHOUT_NPU = "Without an NPU the software NPU runs the same program: device sim."

_NOT_FOUND = re.compile(r"^([^\s/:]+): cannot open shared object file")
_SYSTEM_VERSION = re.compile(r"version `((?:GLIBC|GLIBCXX|CXXABI)_[\w.]+)' not found")


def missing_dependency(text: str) -> str:
    """Return the bare name of the library that the loader did not find, or nothing."""
    match = _NOT_FOUND.match(text)
    return match[1] if match else ""


def for_loader_error(text: str, install: CannInstall) -> str:
    """Say what to do about what the loader said."""
    missing = missing_dependency(text)
    system = _SYSTEM_VERSION.search(text)
    if missing == DRIVER_LIBRARY:
        return (
            "The driver's library is not to be found: install the NPU driver, or, in a container, "
            "mount /usr/local/Ascend/driver and pass in /dev/davinci0, /dev/davinci_manager, "
            "/dev/devmm_svm and /dev/hisi_hdc."
        )
    if missing:
        return _source(install)
    if system:
        return f"This CANN was built for a newer Linux ({system[1]}): use a newer system or image."
    if "undefined symbol" in text or re.search(r"version `.*' not found", text):
        return (
            "Packages of different CANN releases are mixed: install toolkit and ops package of one "
            "release, and see that LD_LIBRARY_PATH names one CANN only."
        )
    if "static TLS" in text:
        return "Use the NPU before other large libraries are imported: restart, NPU first."
    if "ELF" in text or "file too short" in text:
        return "The file is damaged or for another processor: install the package again."
    return _source(install)


def for_search(search: Search) -> str:
    """Say what is missing, by what a search found, and the command that mends it."""
    installs = search.installs
    if not installs:
        return (
            "CANN is not installed where the lab looks. Install the CANN toolkit and the ops "
            "package for the chip, e.g. `bash Ascend-cann-toolkit_<version>_linux-<arch>.run "
            "--install`, or set ASCEND_HOME_PATH to where it is."
        )
    first = installs[0]
    if first.stub:
        return (
            f"{first.lib_dir} holds stubs to link with, not libraries to run. Install the whole "
            "CANN toolkit and the NPU driver, then source its set_env.sh."
        )
    if BASE_LIBRARY in first.missing or len(first.missing) > 1:
        return f"{first.root} is incomplete: install the CANN toolkit and the ops package again."
    return (
        f"{first.root} lacks {', '.join(first.missing)}. Install the ops package of the same "
        f"release ({first.version or 'see its version files'}) for the chip, e.g. `bash "
        "Ascend-cann-<chip>-ops_<version>_linux-<arch>.run --install`."
    )


def _source(install: CannInstall) -> str:
    script = install.set_env or Path(install.root, "set_env.sh")
    return (
        f"Run `source {script}`, then start Python (or Jupyter) again from that shell. For a "
        "Jupyter that is started otherwise: labkit kernel install"
    )
