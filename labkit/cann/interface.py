"""CANN's C interface as Python sees it: the header, its prototypes, and who may stand behind it.

`cann.h` beside this file declares the interface once. From it come the cffi
types (`ffi`), the list of functions (`prototypes`) and the numbers
(`constants`). A `CInterface` is anything that answers with a typed function
pointer for a name: the libraries of an installed CANN, or the software NPU.

Nothing here opens a library or touches a device; the header is parsed on first
use, because parsing costs more than the rest of the import.

Sources: the public headers of cann/runtime (`include/external/acl`, commit
681ef7610df13c8128982901142a2c869ddbb53e), cann/opbase (`include/aclnn`, commit
aa3cd74b7f6d772acd64ff48292a7e65a9bc8142) and cann/ops-nn (commit
e5c3fa9327ea95ba26d06227e746923580d10921).
"""

from __future__ import annotations

import difflib
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from labkit.errors import DeviceNotAvailable, LabError, LabValueError

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
    "signature_of",
]

HEADER = Path(__file__).with_name("cann.h")
"""The one declaration of the interface."""

INCLUDE_DIR = Path(__file__).with_name("include")
"""What a C or C++ compiler gets as `-I`: wrappers with CANN's own file names."""

_PHASE_1 = "GetWorkspaceSize"


@dataclass(frozen=True)
class Prototype:
    """One C function: its name, return type and `(type, name)` of each parameter in order.

    Types are spelled as in the header, `const` included.
    """

    name: str
    returns: str
    params: tuple[tuple[str, str], ...]

    @property
    def signature(self) -> str:
        """The function type for `ffi().callback`, e.g. `int(void * *, size_t, ...)`.

        cffi resolves typedefs and drops `const`: `aclError` reads `int` here.
        """
        return signature_of(self)

    def __str__(self) -> str:
        args = ", ".join(f"{ctype} {name}" for ctype, name in self.params) or "void"
        return f"{self.returns} {self.name}({args})"


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
        """Hand over, once, an error to be raised after the last call.

        The software NPU cannot raise through C, so it leaves the error here.
        Real libraries have none: always None.
        """


class MissingSymbol(DeviceNotAvailable):
    """A C function that was asked for is not there.

    `symbol` is its name, `searched` the libraries looked into (empty when the
    header does not declare it, so that nothing was searched).
    """

    def __init__(self, symbol: str, searched: Iterable[str] = (), *, detail: str = "") -> None:
        self.symbol = symbol
        self.searched = tuple(searched)
        super().__init__(_missing_text(symbol, self.searched, detail))


def ffi() -> Any:
    """Return the `cffi.FFI` that has the header loaded; always the same object."""
    return _header().ffi


def prototypes() -> Mapping[str, Prototype]:
    """Every declared function by name, in header order; `declare` adds to it."""
    return MappingProxyType(_header().prototypes)


def constants() -> Mapping[str, int]:
    """Every number the header names: enumerators, status codes, flags."""
    return MappingProxyType(_header().constants)


def declare(c_source: str) -> None:
    """Add C declarations to the interface, e.g. another operator's two functions.

    All types of the header may be used. The libraries are not asked: a declared
    `aclnn...` function is looked up by its name in the operator library when it
    is first wanted. The same text again does nothing. Raises `LabValueError`,
    and changes nothing, when the text cannot be parsed or contradicts an
    earlier declaration.

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


def signature_of(prototype: Prototype) -> str:
    """Spell a prototype as the function type that `ffi().callback` takes."""
    params = ", ".join(ctype for ctype, _ in prototype.params) or "void"
    pointer: str = ffi().typeof(f"{prototype.returns}(*)({params})").cname
    return pointer.replace("(*)", "", 1)


def is_operator(name: str) -> bool:
    """Whether a function belongs to the operator library (`aclnn...`, not its init or end)."""
    return name.startswith("aclnn") and name not in ("aclnnInit", "aclnnFinalize")


def phases(name: str) -> tuple[str, str]:
    """Both functions of the operator that `name` belongs to: phase 1, phase 2."""
    stem = name.removesuffix(_PHASE_1)
    return stem + _PHASE_1, stem


# ---- reading the header -------------------------------------------------------------------

_LOCK = threading.RLock()
_CACHE: list[_Header] = []

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_CPLUSPLUS = re.compile(r"^[ \t]*#[ \t]*ifdef[ \t]+__cplusplus\b.*?^[ \t]*#[ \t]*endif[^\n]*", re.M | re.S)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(0[xX][0-9a-fA-F]+|-?\d+)[ \t]*$", re.M)
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*$", re.M)
_ENUMERATOR = re.compile(r"\benum\b[^{};]*\{([^}]*)\}")
_FUNCTION = re.compile(r"(?P<returns>.*[\s*])(?P<name>[A-Za-z_]\w*)\s*\((?P<params>[^()]*)\)", re.S)
_PARAM = re.compile(r"(?P<type>.*[\s*])(?P<name>[A-Za-z_]\w*)", re.S)
_TYPE_WORDS = frozenset("void char short int long float double signed unsigned bool const".split())


class _Header:
    """The parsed header and what was declared on top of it."""

    def __init__(self) -> None:
        self.ffi: Any = None
        self.prototypes: dict[str, Prototype] = {}
        self.constants: dict[str, int] = {}
        self.texts: list[str] = []
        self.add(HEADER.read_text(encoding="utf-8"))

    def add(self, source: str) -> None:
        text, defines = _plain(source)
        key = " ".join(text.split())
        if key in self.texts:
            return
        found = _functions(text)
        for name, prototype in found.items():
            known = self.prototypes.get(name, prototype)
            if known != prototype:
                raise LabValueError(
                    f"{name} is already declared differently: {known}. It cannot become {prototype}."
                )
        if self.texts:
            self._load(_new_ffi(self.texts), text)  # a dry run: a failed cdef would leave half
        else:
            self.ffi = _new_ffi(())
        self._load(self.ffi, text)
        self.texts.append(key)
        self.prototypes.update(found)
        self.constants.update(defines)
        self.constants.update(self._enumerators(text))

    @staticmethod
    def _load(target: Any, text: str) -> None:
        import cffi

        try:
            target.cdef(text)
        except (cffi.CDefError, cffi.FFIError) as error:
            reason = str(error).splitlines()
            raise LabValueError(
                f"these C declarations cannot be read: {' '.join(reason)[:400]}"
            ) from error

    def _enumerators(self, text: str) -> dict[str, int]:
        library = self.ffi.dlopen(None)  # the process itself; only cffi's own constants are read
        names = [
            item.split("=")[0].strip()
            for body in _ENUMERATOR.findall(text)
            for item in body.split(",")
        ]
        return {name: int(getattr(library, name)) for name in names if name}


def _new_ffi(texts: Iterable[str]) -> Any:
    import cffi

    made = cffi.FFI()
    for text in texts:
        made.cdef(text)
    return made


def _header() -> _Header:
    if not _CACHE:
        with _LOCK:
            if not _CACHE:
                _CACHE.append(_Header())
    return _CACHE[0]


def _plain(source: str) -> tuple[str, dict[str, int]]:
    """Strip what is not a declaration; return the rest and the numeric #defines."""
    text = _CPLUSPLUS.sub("", _COMMENT.sub(" ", source))
    defines = {name: int(value, 0) for name, value in _DEFINE.findall(text)}
    return _DIRECTIVE.sub("", text), defines


def _functions(text: str) -> dict[str, Prototype]:
    """Find the prototypes in declarations without comments or directives."""
    found: dict[str, Prototype] = {}
    for statement in re.sub(r"\{[^}]*\}", "", text).split(";"):
        words = statement.strip()
        if "(" not in words or words.startswith("typedef"):
            continue
        match = _FUNCTION.fullmatch(words)
        if match is None:
            raise LabValueError(f"not a prototype the lab can read: {' '.join(words.split())}")
        name = match["name"]
        found[name] = Prototype(name, _spell(match["returns"]), _params(name, match["params"]))
    return found


def _params(function: str, text: str) -> tuple[tuple[str, str], ...]:
    if text.strip() in ("", "void"):
        return ()
    params = []
    for item in text.split(","):
        match = _PARAM.fullmatch(item.strip())
        if match is None or match["name"] in _TYPE_WORDS:
            raise LabValueError(f"{function}: every parameter needs a type and a name: {item!r}")
        params.append((_spell(match["type"]), match["name"]))
    return tuple(params)


def _spell(ctype: str) -> str:
    """Write a C type as CANN's headers do: `const aclTensor* const*`."""
    stars = re.sub(r"\s*\*\s*", "*", " ".join(ctype.split()).removeprefix("extern "))
    return re.sub(r"\*(?=\w)", "* ", stars)


def _missing_text(symbol: str, searched: tuple[str, ...], detail: str) -> str:
    known = prototypes()
    lines = [f"{symbol} was not found."]
    exact = [name for name in known if name.lower() == symbol.lower() and name != symbol]
    close = exact or difflib.get_close_matches(symbol, known, n=1, cutoff=0.85)
    if symbol not in known:
        lines.append("The lab's header does not declare it (labkit.cann.declare adds prototypes).")
        if close:
            lines.append(f"CANN spells it {close[0]}: names are exact, upper and lower case count.")
    if searched:
        lines.append("Searched: " + ", ".join(searched) + ".")
        if is_operator(symbol):
            lines.append(
                "Likely cause: the operator is newer than the CANN installed here, or the ops "
                "package (Ascend-cann-<chip>-ops, holding libopapi_nn.so) is not installed."
            )
        else:
            lines.append(
                "Likely cause: the CANN installed here is older or newer than this function."
            )
    if detail:
        lines.append(detail)
    return " ".join(lines)
