"""Status codes and enumerators by name, with what they mean and what to do.

The tables are `labkit/data/codes.json` (every code of the acl, runtime, aclnn
and graph engine headers) and `labkit/data/enums.json` (the enumerations of
`cann.h`). They are read on first use.

The first digit of a code says whose business it is: 1 the caller or the
environment, 2 resources or hardware support, 3 the state of a service, 5 the
inside of CANN. The next two digits say which layer speaks: 00 and 48 acl,
07 runtime, 61 aclnn, 45 graph engine.

Sources: cann/runtime `include/external/acl` (commit
681ef7610df13c8128982901142a2c869ddbb53e) and cann/opbase `opdev/op_errno.h`
(commit aa3cd74b7f6d772acd64ff48292a7e65a9bc8142).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from labkit.errors import LabValueError

__all__ = [
    "CodeInfo",
    "code_of",
    "codes",
    "enum_name",
    "enum_value",
    "enums",
    "explain",
    "lookup",
    "name_of",
]

_DATA = Path(__file__).resolve().parent.parent / "data"

_KINDS = {
    "1": "a mistake of the caller or a fault of the environment",
    "2": "a lack of resources, or something this hardware does not support",
    "3": "an unfit state of a service",
    "5": "an internal error of CANN",
}
_LAYERS = {"00": "acl", "48": "acl", "07": "runtime", "61": "aclnn", "45": "graph engine"}


@dataclass(frozen=True)
class CodeInfo:
    """One status code under one name.

    `layer` is "acl", "runtime", "aclnn", "graph engine" or, for a number that
    fits none of them, "unknown". `remedy` says what to do; it is empty for
    success and where the lab has no advice better than the meaning.
    """

    code: int
    name: str
    layer: str
    meaning: str
    remedy: str

    @property
    def kind(self) -> str:
        """Whose business it is, told by the first digit; empty for success."""
        return _kind(self.code)


@cache
def codes() -> tuple[CodeInfo, ...]:
    """Return the whole table, by number; several names of one number, the usual one first."""
    return tuple(CodeInfo(**row) for row in _read("codes.json")["codes"])


@cache
def enums() -> Mapping[str, Mapping[str, int]]:
    """Return the enumerations of the header: type name to (enumerator to value)."""
    table: Mapping[str, Mapping[str, int]] = _read("enums.json")["enums"]
    return table


def lookup(code: int, layer: str = "") -> CodeInfo:
    """Find a code. One that is in no header gets the name UNKNOWN.

    `layer` chooses among the names that share a number: 0 is ACL_SUCCESS, or
    ACLNN_SUCCESS with "aclnn".
    """
    names = _by_code().get(int(code), ())
    for info in names:
        if info.layer == layer:
            return info
    return names[0] if names else _unknown(int(code))


def name_of(code: int, layer: str = "") -> str:
    """Name a code, e.g. 161002 is "ACLNN_ERR_PARAM_INVALID"; "UNKNOWN" for a stranger."""
    return lookup(code, layer).name


def code_of(name: str) -> int:
    """Return the number of a code, the way back from `name_of`; `LabValueError` if unknown."""
    for info in codes():
        if info.name == name:
            return info.code
    raise LabValueError(f"no status code is called {name!r}")


def explain(code: int) -> str:
    """Tell a code in one line: number, name, meaning, what to do."""
    info = lookup(code)
    advice = f" What to do: {info.remedy}" if info.remedy else ""
    return f"{info.code} {info.name}: {info.meaning}.{advice}"


def enum_name(enum: str, value: int) -> str:
    """Name a value: `enum_name("aclDataType", 0)` is "ACL_FLOAT".

    The number itself, as text, for a value without a name. Of two names of
    one value the last declared is taken (CANN adds the right spelling there).
    Raises `LabValueError` for an enumeration that the header does not declare.
    """
    return _names(enum).get(int(value), str(int(value)))


def enum_value(enum: str, name: str) -> int:
    """Return the value of an enumerator; `LabValueError` when there is none of that name."""
    try:
        return _enum(enum)[name]
    except KeyError:
        raise LabValueError(f"{enum} has no enumerator {name!r}") from None


def _read(name: str) -> Any:
    return json.loads((_DATA / name).read_text(encoding="utf-8"))


@cache
def _by_code() -> dict[int, tuple[CodeInfo, ...]]:
    table: dict[int, tuple[CodeInfo, ...]] = {}
    for info in codes():
        table[info.code] = (*table.get(info.code, ()), info)
    return table


def _enum(enum: str) -> Mapping[str, int]:
    try:
        return enums()[enum]
    except KeyError:
        raise LabValueError(f"the header declares no enumeration {enum!r}") from None


@cache
def _names(enum: str) -> dict[int, str]:
    return {value: name for name, value in _enum(enum).items()}


def _kind(code: int) -> str:
    digits = str(code)
    return _KINDS.get(digits[0], "") if len(digits) == 6 else ""


def _unknown(code: int) -> CodeInfo:
    digits = str(code)
    known_shape = len(digits) == 6 and digits[0] in _KINDS
    layer = _LAYERS.get(digits[1:3], "unknown") if known_shape else "unknown"
    meaning = "a code that is in none of the headers the lab knows"
    if _kind(code):
        meaning += f"; by its first digit {_kind(code)}"
    return CodeInfo(code, "UNKNOWN", layer, meaning, "Read aclGetRecentErrMsg and the log.")
