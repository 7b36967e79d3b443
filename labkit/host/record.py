"""The record of calls: what the host program said to the C interface, and what came back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.cann.calls import out_places, pointer_text, rendered_args

__all__ = ["HostCall", "out_places"]


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
            assert self._raw is not None
            self._args = rendered_args(self.name, self._raw, self._received)
            self._raw = None
        return self._args

    def __reduce__(self) -> tuple[Any, ...]:
        """As data: what was a pointer is its address as text, in a copy and in another process."""
        plain = self.result is None or isinstance(self.result, (int, str))
        result = self.result if plain else pointer_text(self.result)
        kept = (self.name, (), self.status, result, self.nanoseconds)
        return HostCall, kept, (None, {"_args": self.args, "_raw": None})

    @property
    def returned(self) -> str:
        """What came back, as text."""
        return str(self.status) if self.status is not None else pointer_text(self.result)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.args)}) = {self.returned}"

    def __repr__(self) -> str:
        return f"<HostCall {self.name} = {self.returned}>"
