"""The functions of an opened CANN, by name: which library answers, and when none does.

Operators are asked for in custom operator packages first, then in the built-in
libraries; all other functions in the aclnn framework and the runtime.

Source: the lookup order, and the rule that an operator with one phase only
counts as missing, from Ascend/op-plugin (commit
517f2e7d0f202f38b76310706cb977ca2388ad21).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from labkit.cann.dl import LoaderError, SharedLibrary, origin
from labkit.cann.find import CannInstall
from labkit.cann.interface import MissingSymbol, ffi, is_operator, phases, prototypes
from labkit.cann.packages import is_stub
from labkit.errors import LabError

__all__ = ["SIMULATED", "CannLibrary"]

SIMULATED = "labkit_simulated"
"""What the libraries of a CANN-shaped tree export when the software NPU is behind them."""


class CannLibrary:
    """The opened libraries of one CANN: a `CInterface`.

    `install` is where they are from, `opened` every file opened, in order.
    `simulated` tells that the software NPU is behind them.
    """

    def __init__(
        self,
        install: CannInstall,
        *,
        custom: Sequence[SharedLibrary],
        operators: Sequence[SharedLibrary],
        base: Sequence[SharedLibrary],
        opened: Sequence[Path],
        notes: Sequence[str],
    ) -> None:
        self.install = install
        self.opened = tuple(opened)
        self._notes = list(notes)
        self._custom = tuple(custom)
        self._operators = tuple(operators)
        self._base = tuple(base)
        self._siblings: tuple[SharedLibrary, ...] | None = None
        self._symbols: dict[str, Any] = {}
        self.simulated = any(library.address(SIMULATED) for library in self._base)

    @property
    def source(self) -> str:
        """One line saying what this is."""
        behind = " (the software NPU behind CANN's library names)" if self.simulated else ""
        return f"{self.install}{behind}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user ought to know: variables that were set, libraries that were left out."""
        return tuple(self._notes)

    def has(self, name: str) -> bool:
        """Whether `symbol(name)` would succeed."""
        try:
            self.symbol(name)
        except MissingSymbol:
            return False
        return True

    def symbol(self, name: str) -> Any:
        """Return the function as a cffi pointer typed by the header.

        Raises `MissingSymbol` when the header does not declare it or no library
        has it. An operator counts as missing in a library that has only one of
        its two phases.
        """
        if name not in self._symbols:
            prototype = prototypes().get(name)
            if prototype is None:
                raise MissingSymbol(name)
            self._symbols[name] = ffi().cast(prototype.pointer, self._address(name))
        return self._symbols[name]

    def library_of(self, name: str) -> Path:
        """Return the file that a function really comes from; `MissingSymbol` when there is none."""
        return Path(origin(int(ffi().cast("uintptr_t", self.symbol(name))))[0])

    def take_error(self) -> LabError | None:
        """Real libraries answer with status codes only: always None."""
        return None

    def _address(self, name: str) -> int:
        searched: list[str] = []
        halves: list[str] = []
        other = _other_phase(name)
        for library in self._where(name):
            searched.append(str(library.path))
            address = library.address(name)
            if not address:
                continue
            partner = library.address(other) if other else address
            if partner and origin(partner) == origin(address):
                return address
            halves.append(f"{library.path} has {name} without {other}, so it was passed over.")
            self._notes += [half for half in halves[-1:] if half not in self._notes]
        raise MissingSymbol(name, searched, detail=" ".join(halves))

    def _where(self, name: str) -> Iterable[SharedLibrary]:
        """Give custom operators before built-in ones; for the rest, framework and runtime."""
        if not is_operator(name):
            yield from self._base
            return
        yield from self._custom
        yield from self._operators
        if self.install.layout == "split":
            if self._siblings is None:
                self._siblings = tuple(_siblings(self.install, self._operators))
            yield from self._siblings


def _other_phase(name: str) -> str:
    """Return the operator's other function when the header declares it too, else nothing."""
    if not is_operator(name):
        return ""
    other = next(phase for phase in phases(name) if phase != name)
    return other if other in prototypes() else ""


def _siblings(install: CannInstall, known: Sequence[SharedLibrary]) -> Iterable[SharedLibrary]:
    """Open the other operator libraries of the split layout (`libopapi_cv.so`, ...)."""
    have = {library.path for library in known}
    for path in sorted(install.lib_dir.glob("libopapi_*.so")):
        if path not in have and not is_stub(path):
            try:
                yield SharedLibrary(path)
            except LoaderError:
                continue  # a library for other operators; the missing one is reported by name
