"""The record of calls: what the host program said to the C interface, and what came back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.cann.codes import enum_name, enums
from labkit.cann.interface import ffi, prototypes

__all__ = ["HostCall", "out_places"]

_POINTER_OUT = ("**", "uint64_t*", "uint32_t*", "int32_t*", "size_t*", "float*")


def out_places(name: str) -> tuple[int, ...]:
    """Which arguments of a C function are out pointers whose value is worth showing."""
    return tuple(
        place
        for place, (ctype, _) in enumerate(prototypes()[name].params)
        if not ctype.startswith("const") and ctype.replace(" ", "").endswith(_POINTER_OUT)
    )


class HostCall:
    """One call of a C function.

    `name` is the C function, `args` its arguments rendered for a reader (out
    pointers with the value they received), `status` the code it returned (None
    for a function that returns something else, then in `result`), and
    `nanoseconds` the time it took on the host.
    """

    __slots__ = ("_args", "_raw", "_received", "name", "nanoseconds", "result", "status")

    def __init__(
        self,
        name: str,
        raw: Sequence[Any],
        status: int | None,
        result: Any,
        nanoseconds: int,
        received: Mapping[int, Any] | None = None,
    ) -> None:
        self.name = name
        self.status = status
        self.result = result
        self.nanoseconds = nanoseconds
        self._raw: Sequence[Any] | None = raw
        self._received = received or {}
        self._args: tuple[str, ...] | None = None

    @property
    def args(self) -> tuple[str, ...]:
        """The arguments as text, `name=value` each, rendered when first looked at."""
        if self._args is None:
            prototype = prototypes()[self.name]
            assert self._raw is not None
            counts = {
                name: value
                for (_, name), value in zip(prototype.params, self._raw)
                if name.endswith("Num") or name == "size"
            }
            self._args = tuple(
                f"{name}=&{_pointer(self._received[place])}"
                if place in self._received
                else f"{name}={_render(ctype, name, value, counts)}"
                for place, ((ctype, name), value) in enumerate(zip(prototype.params, self._raw))
            )
            self._raw = None
        return self._args

    @property
    def returned(self) -> str:
        """What came back, as text."""
        return str(self.status) if self.status is not None else _pointer(self.result)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.args)}) = {self.returned}"

    def __repr__(self) -> str:
        return f"<HostCall {self.name} = {self.returned}>"


def _pointer(value: Any) -> str:
    types = ffi()
    if not isinstance(value, types.CData):
        return str(value)
    address = int(types.cast("uintptr_t", value))
    return "null" if address == 0 else f"{address:#x}"


def _render(ctype: str, name: str, value: Any, counts: dict[str, Any]) -> str:
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
        return _pointer(value) if count is None else str(list(value[0:count]))
    if spelled == "constchar*":
        return repr(types.string(value).decode(errors="replace"))
    return _pointer(value)
