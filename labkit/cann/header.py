"""The header, read: cffi types, prototypes and numbers out of `cann.h`.

`cann.h` declares CANN's C interface once, in C. This module gives it to cffi
and finds in it what cffi keeps to itself: the parameter names, the `const`s,
the list of functions. There is no second list to keep in step.

Parsing happens on first use, not at import: it costs some 0.1 s.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from labkit.errors import LabValueError

__all__ = ["HEADER", "INCLUDE_DIR", "Prototype", "constants", "declare", "ffi", "prototypes"]

HEADER = Path(__file__).with_name("cann.h")
"""The one declaration of the interface."""

INCLUDE_DIR = Path(__file__).with_name("include")
"""What a C or C++ compiler gets as `-I`: wrappers with CANN's own file names."""


@dataclass(frozen=True)
class Prototype:
    """One C function: its name, return type and `(type, name)` of each parameter in order.

    Types are spelled as in CANN's headers, `const` included.
    """

    name: str
    returns: str
    params: tuple[tuple[str, str], ...]

    @property
    def pointer(self) -> str:
        """The type of a pointer to the function, for `ffi().cast`: `int(*)(void * *, ...)`.

        cffi resolves the typedefs and drops `const`: `aclError` reads `int` here.
        """
        params = ", ".join(self.types[1:]) or "void"
        spelled: str = ffi().typeof(f"{self.returns}(*)({params})").cname
        return spelled

    @property
    def signature(self) -> str:
        """The type of the function, for `ffi().callback`: `int(void * *, size_t, ...)`."""
        return self.pointer.replace("(*)", "", 1)

    @property
    def types(self) -> tuple[str, ...]:
        """Return type and parameter types, without the parameter names."""
        return (self.returns, *(ctype for ctype, _ in self.params))

    def __str__(self) -> str:
        args = ", ".join(f"{ctype} {name}" for ctype, name in self.params) or "void"
        return f"{self.returns} {self.name}({args})"


def ffi() -> Any:
    """Return the `cffi.FFI` that has the header loaded; always the same object."""
    return _header().ffi


def prototypes() -> Mapping[str, Prototype]:
    """Every declared function by name, in header order; `declare` adds to it."""
    return MappingProxyType(_header().prototypes)


def constants() -> Mapping[str, int]:
    """Every number that the header names: enumerators, status codes, flags."""
    return MappingProxyType(_header().constants)


def declare(c_source: str) -> None:
    """Add C declarations to the interface, e.g. another operator's two functions.

    All types of the header may be used. No library is asked: a declared
    `aclnn...` function is looked up by its name, in the operator library, when
    it is first wanted. The same declaration again does nothing. Raises
    `LabValueError`, and changes nothing, when the text cannot be parsed or
    contradicts an earlier declaration.

    >>> declare('''
    ... aclnnStatus aclnnReluGetWorkspaceSize(const aclTensor* self, aclTensor* out,
    ...                                       uint64_t* workspaceSize, aclOpExecutor** executor);
    ... aclnnStatus aclnnRelu(void* workspace, uint64_t workspaceSize,
    ...                       aclOpExecutor* executor, aclrtStream stream);
    ... ''')
    >>> prototypes()["aclnnRelu"].params[3]
    ('aclrtStream', 'stream')
    """
    header = _header()
    with _LOCK:
        header.add(c_source)


_LOCK = threading.RLock()
_CACHE: list[_Header] = []

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_CPLUSPLUS = re.compile(r"^[ \t]*#[ \t]*ifdef[ \t]+__cplusplus\b.*?#[ \t]*endif[^\n]*", re.M | re.S)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(0[xX][\da-fA-F]+|\d+)[ \t]*$", re.M)
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*$", re.M)
_STATEMENT = re.compile(r"((?:[^{};]|\{[^}]*\})+)(?:;|$)")
_ENUM = re.compile(r"(?:typedef )?enum (?P<tag>\w*) ?\{[^}]*\} ?(?P<alias>\w*)")
_FUNCTION = re.compile(r"(?P<returns>.*[ *])(?P<name>[A-Za-z_]\w*) ?\((?P<params>[^()]*)\)")
_PARAM = re.compile(r"(?P<type>.*[ *])(?P<name>[A-Za-z_]\w*)")
_TYPE_WORDS = frozenset("void char short int long float double signed unsigned bool const".split())


class _Header:
    """The parsed header and what was declared on top of it."""

    def __init__(self) -> None:
        self.ffi: Any = _new_ffi("")
        self.prototypes: dict[str, Prototype] = {}
        self.constants: dict[str, int] = {}
        self._statements: dict[str, None] = {}  # what cffi was given; in order, as keys
        self.add(HEADER.read_text(encoding="utf-8"))

    def add(self, source: str) -> None:
        text, defines = _plain(source)
        fresh: dict[str, Prototype | None] = {}
        for match in _STATEMENT.finditer(text):
            statement = " ".join(match[1].split())
            if statement and statement not in self._statements:
                prototype = _function(statement)
                if prototype is None or self._is_new(prototype):
                    fresh[statement] = prototype
        _refuse_other_numbers(self.constants, defines)
        if fresh:
            if self._statements:  # rehearse: a cdef that fails half-way keeps its first half
                _load(_new_ffi(_joined(self._statements)), _joined(fresh))
            _load(self.ffi, _joined(fresh))
        self._statements.update(dict.fromkeys(fresh))
        self.prototypes.update({found.name: found for found in fresh.values() if found})
        self.constants.update(defines)
        for statement in fresh:
            self.constants.update(_enumerators(self.ffi, statement))

    def _is_new(self, prototype: Prototype) -> bool:
        """Whether a function is not yet declared; parameter names alone make no difference."""
        known = self.prototypes.get(prototype.name)
        if known is None:
            return True
        if known.types != prototype.types:
            raise LabValueError(f"already declared as: {known}. It cannot become: {prototype}.")
        return False


def _header() -> _Header:
    with _LOCK:
        if not _CACHE:
            _CACHE.append(_Header())
        return _CACHE[0]


def _new_ffi(text: str) -> Any:
    import cffi

    made = cffi.FFI()
    made.cdef(text)
    return made


def _joined(statements: Iterable[str]) -> str:
    return "".join(f"{statement};\n" for statement in statements)


def _load(target: Any, text: str) -> None:
    import cffi

    try:
        target.cdef(text)
    except (cffi.CDefError, cffi.FFIError) as error:
        reason = " ".join(str(error).split())[:400]
        raise LabValueError(f"these C declarations cannot be taken: {reason}") from error


def _plain(source: str) -> tuple[str, dict[str, int]]:
    """Strip what is not a declaration; return the rest and the numeric #defines."""
    text = _CPLUSPLUS.sub("", _COMMENT.sub(" ", source))
    defines = {name: int(value, 0) for name, value in _DEFINE.findall(text)}
    return _DIRECTIVE.sub("", text), defines


def _refuse_other_numbers(known: Mapping[str, int], defines: Mapping[str, int]) -> None:
    for name, value in defines.items():
        if known.get(name, value) != value:
            raise LabValueError(f"{name} is already {known[name]}. It cannot become {value}.")


def _enumerators(types: Any, statement: str) -> dict[str, int]:
    """Find the numbers of an enum that has a name of its own."""
    match = _ENUM.fullmatch(statement)
    name = match and (match["alias"] or (match["tag"] and f"enum {match['tag']}"))
    return dict(types.typeof(name).relements) if name else {}


def _function(statement: str) -> Prototype | None:
    """Read one statement (single blanks) as a prototype; None for a type."""
    if "(" not in statement or statement.startswith("typedef "):
        return None
    match = _FUNCTION.fullmatch(statement)
    if match is None:
        raise LabValueError(f"not a prototype that the lab can read: {statement}")
    params = _params(match["name"], match["params"].strip())
    return Prototype(match["name"], _spell(match["returns"]), params)


def _params(function: str, text: str) -> tuple[tuple[str, str], ...]:
    if text in ("", "void"):
        return ()
    params = []
    for item in text.split(","):
        match = _PARAM.fullmatch(item.strip())
        if match is None or match["name"] in _TYPE_WORDS:
            raise LabValueError(
                f"{function}: a parameter needs a type and a name, not {item.strip()!r}"
            )
        params.append((_spell(match["type"]), match["name"]))
    return tuple(params)


def _spell(ctype: str) -> str:
    """Write a C type as CANN's headers do: `const aclTensor* const*`."""
    stars = re.sub(r"\s*\*\s*", "*", ctype.strip().removeprefix("extern "))
    return re.sub(r"\*(?=\w)", "* ", stars)
