"""A call of the C interface as text: its arguments by name, out pointers with what they received.

The record of the lab's own calls and the call log of the software NPU both
write calls through here, so that a reader can lay one beside the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.cann.codes import enum_name, enums
from labkit.cann.interface import ffi, prototypes

__all__ = ["out_places", "pointer_text", "rendered_args"]

_POINTER_OUT = ("**", "uint64_t*", "uint32_t*", "int32_t*", "size_t*", "float*")
_LONGEST = 1024  # a program may give any count; no array of the interface is longer


def out_places(name: str) -> tuple[int, ...]:
    """Which arguments of a C function are out pointers whose value is worth showing."""
    return tuple(
        place
        for place, (ctype, _) in enumerate(prototypes()[name].params)
        if not ctype.startswith("const") and ctype.replace(" ", "").endswith(_POINTER_OUT)
    )


def rendered_args(name: str, raw: Sequence[Any], received: Mapping[int, Any]) -> tuple[str, ...]:
    """The arguments of a call, `name=value` each.

    `received` maps the places of out pointers to what the call put there.
    """
    params = prototypes()[name].params
    counts = {
        param: value
        for (_, param), value in zip(params, raw)
        if param.endswith("Num") or param == "size"
    }
    return tuple(
        f"{param}=&{pointer_text(received[place])}"
        if place in received
        else f"{param}={_rendered(ctype, param, value, counts)}"
        for place, ((ctype, param), value) in enumerate(zip(params, raw))
    )


def pointer_text(value: Any) -> str:
    """An address as text, null by its name; anything else as Python writes it."""
    types = ffi()
    if not isinstance(value, types.CData):
        return str(value)
    address = int(types.cast("uintptr_t", value))
    return "null" if address == 0 else f"{address:#x}"


def _rendered(ctype: str, name: str, value: Any, counts: Mapping[str, Any]) -> str:
    types = ffi()
    if isinstance(value, int):
        return enum_name(ctype, value) if ctype in enums() else str(value)
    if not isinstance(value, types.CData):
        return str(value)
    if value == types.NULL:
        return "null"
    spelled = ctype.replace(" ", "")
    if spelled == "constint64_t*":
        # A stride has as many numbers as the view has dimensions.
        count = counts.get(f"{name}Num", next(iter(counts.values()), None))
        known = isinstance(count, int) and 0 <= count <= _LONGEST
        return str(list(value[0:count])) if known else pointer_text(value)
    if spelled == "constchar*":
        return repr(types.string(value).decode(errors="replace"))
    return pointer_text(value)
