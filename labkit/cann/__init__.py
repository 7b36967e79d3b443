"""CANN's C interface: the header, finding and opening the libraries, codes and their names.

Above the interface stands the lab's one host program, below it either the real
CANN or the software NPU. This package imports nothing of the lab but its
errors and touches no device when imported. Its modules are loaded when a name
of theirs is first used, so that importing the lab stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labkit.cann.codes import CodeInfo, enum_name, explain, lookup, name_of
    from labkit.cann.find import CannInstall, describe_search, find_cann
    from labkit.cann.header import Prototype, constants, declare, ffi, prototypes
    from labkit.cann.interface import CInterface, MissingSymbol
    from labkit.cann.load import load_cann, require_npu
    from labkit.cann.opened import CannLibrary

__all__ = [
    "CInterface",
    "CannInstall",
    "CannLibrary",
    "CodeInfo",
    "MissingSymbol",
    "Prototype",
    "constants",
    "declare",
    "describe_search",
    "enum_name",
    "explain",
    "ffi",
    "find_cann",
    "load_cann",
    "lookup",
    "name_of",
    "prototypes",
    "require_npu",
]

_HOMES = {
    "codes": ("CodeInfo", "enum_name", "explain", "lookup", "name_of"),
    "find": ("CannInstall", "describe_search", "find_cann"),
    "header": ("Prototype", "constants", "declare", "ffi", "prototypes"),
    "interface": ("CInterface", "MissingSymbol"),
    "opened": ("CannLibrary",),
    "load": ("load_cann", "require_npu"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
