"""The errors of the lab: one base, each with a second, ordinary base.

`LabError` is what a caller catches to catch everything of the lab. The second
base (`RuntimeError`, `ValueError`, ...) lets plain Python code catch the same
error without knowing the lab.

This module is a leaf: every part of the house may import it, and it imports
nothing of the house.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "AclError",
    "AclnnError",
    "DeviceMemoryError",
    "DeviceNotAvailable",
    "DeviceUseError",
    "LabError",
    "LabValueError",
    "LeakWarning",
    "LifetimeError",
    "OverlapError",
    "StaysHere",
    "shown",
]

_LONGEST = 120


def shown(value: Any) -> str:
    """A value for a message: as Python writes it, cut where that is long.

    Nothing that a value does when it is written comes out of here: a message
    about something odd must not fail on it.

    >>> shown("sim"), shown(10**5000)
    ("'sim'", '<int>')
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:  # of anybody's __repr__; of Python's own for a number of 5,000 digits
        return f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


class LabError(Exception):
    """Base of every error that the lab raises on purpose.

    It travels: copied, pickled, raised again in another process, it is what it
    was, with its text, its attributes and its notes. An exception is remade
    from `args` alone as a rule, and that fails where `__init__` takes more.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), self.args), dict(self.__dict__)


def _remade(kind: type[LabError], args: tuple[Any, ...]) -> LabError:
    error = kind.__new__(kind, *args)
    error.args = args
    return error


class LeakWarning(UserWarning):
    """A device was closed and something that was made on it was never given back."""


class LabValueError(LabError, ValueError):
    """An argument that the lab cannot take: unknown dtype, SoC or shape, not an array."""


class DeviceNotAvailable(LabError, RuntimeError):  # noqa: N818 - a public name of the lab
    """The device that was asked for cannot be used here; the message says what is missing."""


class DeviceUseError(LabError, RuntimeError):
    """The lab's own device object was used wrongly: after close, or in a forked child."""


class StaysHere:
    """Base of what belongs to one process, such as a device: it is neither pickled nor copied."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise DeviceUseError(
            f"a {type(self).__name__} belongs to this process and cannot be pickled or copied; "
            "right would be to make another where it is needed and to pass arrays, calls and plans"
        )


class AclError(LabError, RuntimeError):
    """A runtime call (`aclInit`, `aclrt...`) returned a code other than 0.

    `status` is the code, `name` its macro name, `call` the C function, and
    `message` what `aclGetRecentErrMsg` had to say (may be empty).
    """

    def __init__(
        self, text: str, *, status: int, name: str = "", call: str = "", message: str = ""
    ) -> None:
        super().__init__(text)
        self.status = status
        self.name = name
        self.call = call
        self.message = message


class AclnnError(AclError):
    """Phase 1 or phase 2 of an aclnn operator returned a code other than 0."""


class LifetimeError(LabError, RuntimeError):
    """The software NPU caught a use that is undefined on the real library.

    A use after free, a second phase 2, a read before synchronise. `seen` is
    what the real code was observed to return there (not a contract), or None.
    """

    def __init__(self, text: str, *, seen: int | None = None) -> None:
        super().__init__(text)
        self.seen = seen


class DeviceMemoryError(LabError, RuntimeError):
    """The software NPU caught a kernel or copy outside, or badly aligned in, device memory."""


class OverlapError(LabError, ValueError):
    """Input and output share part of their memory: the result would depend on timing."""
