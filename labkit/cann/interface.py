"""CANN's C interface: who may stand behind the prototypes, and what they promise.

`cann.h` beside this file declares the interface once. A `CInterface` is
anything that answers with a typed function pointer for a name: the libraries of
an installed CANN (`load`), or the software NPU, whose Python callbacks have the
very same types.

The names of `header` are offered here too, so that a user of the interface
needs this one module: `ffi`, `prototypes`, `constants`, `declare`.

Sources: the public headers of cann/runtime (`include/external/acl`, commit
681ef7610df13c8128982901142a2c869ddbb53e), cann/opbase (`include/aclnn`, commit
aa3cd74b7f6d772acd64ff48292a7e65a9bc8142) and cann/ops-nn (commit
e5c3fa9327ea95ba26d06227e746923580d10921).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, Protocol

from labkit.cann.header import (
    HEADER,
    INCLUDE_DIR,
    Prototype,
    constants,
    declare,
    ffi,
    prototypes,
)
from labkit.errors import DeviceNotAvailable, LabError

__all__ = [
    "HEADER",
    "INCLUDE_DIR",
    "CInterface",
    "MissingSymbol",
    "Prototype",
    "constants",
    "declare",
    "ffi",
    "is_operator",
    "phases",
    "prototypes",
]

_PHASE_1 = "GetWorkspaceSize"


class CInterface(Protocol):
    """Whatever stands behind the prototypes: real libraries or the software NPU."""

    @property
    def source(self) -> str:
        """One line saying what this is."""

    def has(self, name: str) -> bool:
        """Whether `symbol(name)` would succeed."""

    def symbol(self, name: str) -> Any:
        """Return the function as a cffi pointer typed by the header.

        Raises `MissingSymbol` for a function that is not declared or not there.
        """

    def take_error(self) -> LabError | None:
        """Hand over, once, the error that is to be raised after the last call.

        The software NPU cannot raise through C, so it leaves its error here.
        Real libraries have none: always None.
        """


class MissingSymbol(DeviceNotAvailable):
    """A C function that was asked for is not there.

    `symbol` is its name, `searched` the libraries looked into (empty when the
    header does not declare it, so that nothing was searched).
    """

    def __init__(
        self,
        symbol: str,
        searched: Iterable[str] = (),
        *,
        detail: str = "",
        cause: str | None = None,
    ) -> None:
        self.symbol = symbol
        self.searched = tuple(searched)
        super().__init__(_missing_text(symbol, self.searched, detail, cause))


def is_operator(name: str) -> bool:
    """Whether a function belongs to the operator library: `aclnn...`, not its init or end."""
    return name.startswith("aclnn") and name not in ("aclnnInit", "aclnnFinalize")


def phases(name: str) -> tuple[str, str]:
    """Both functions of the operator that `name` belongs to: phase 1, phase 2."""
    stem = name.removesuffix(_PHASE_1)
    return stem + _PHASE_1, stem


def _missing_text(symbol: str, searched: tuple[str, ...], detail: str, cause: str | None) -> str:
    known = prototypes()
    said = [f"{symbol} was not found."]
    if symbol not in known:
        said.append("The lab's header does not declare it; labkit.cann.declare adds prototypes.")
        same = [name for name in known if name.lower() == symbol.lower()]
        for near in (same or difflib.get_close_matches(symbol, known, n=1, cutoff=0.85))[:1]:
            said.append(f"CANN's spelling is {near}: upper and lower case count.")
    if searched:
        said.append(f"Searched: {', '.join(searched)}.")
        if cause is None:
            cause = (
                "Likely cause: the operator is newer than the CANN installed here, or the ops "
                "package for this chip (it brings libopapi_nn.so) is not installed."
                if is_operator(symbol)
                else "Likely cause: the CANN installed here is of a release without this function."
            )
        said.append(cause)
    return " ".join([*said, detail]).rstrip()
