"""The dynamic loader, through cffi: open a shared library, look up an address, ask whose it is.

cffi's own `dlopen` hides three things that are needed here: the loader's plain
error text, names that no header declares, and which file an address came from
(a lookup through one library also finds what its dependencies export).

Linux only in use; importing it is safe everywhere.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["LoaderError", "SharedLibrary", "mapped_files", "origin"]

_DECLARATIONS = """
void *dlopen(const char *path, int flags);
void *dlsym(void *handle, const char *name);
char *dlerror(void);
typedef struct { const char *file; void *base; const char *symbol; void *address; } Dl_info;
int dladdr(const void *address, Dl_info *info);
"""

_MAPS = Path("/proc/self/maps")


class LoaderError(OSError):
    """The loader refused; the text is its own."""


class SharedLibrary:
    """An opened library. It stays open: device libraries do not survive being closed.

    Opened with RTLD_NOW, so that a missing symbol is an error here and not a
    dead process later, and with RTLD_LOCAL, as torch_npu does, so that its
    names stay out of everybody else's way.
    """

    def __init__(self, path: Path) -> None:
        ffi, loader = _loader()
        self.path = path
        self._handle = loader.dlopen(os.fsencode(path), os.RTLD_NOW | os.RTLD_LOCAL)
        if self._handle == ffi.NULL:
            raise LoaderError(_text(ffi, loader.dlerror()))

    def address(self, name: str) -> int:
        """Return the address of an exported name, dependencies included; 0 when there is none."""
        ffi, loader = _loader()
        return int(ffi.cast("uintptr_t", loader.dlsym(self._handle, name.encode())))


def origin(address: int) -> tuple[str, int]:
    """Return the file that an address was loaded from, and where that file begins in memory.

    `("", 0)` when the address belongs to no loaded file.
    """
    ffi, loader = _loader()
    info = ffi.new("Dl_info *")
    if not loader.dladdr(ffi.cast("void *", address), info):
        return "", 0
    return _text(ffi, info.file), int(ffi.cast("uintptr_t", info.base))


def mapped_files() -> set[Path]:
    """Return the files mapped into this process, links followed; empty where nothing tells."""
    try:
        lines = _MAPS.read_text(errors="replace").splitlines()
    except OSError:
        return set()
    return {Path(line[line.index("/") :]) for line in lines if "/" in line}


@cache
def _loader() -> tuple[Any, Any]:
    import cffi

    ffi = cffi.FFI()
    ffi.cdef(_DECLARATIONS)
    loader = ffi.dlopen(None)
    # cffi looks a function up at its first use, and that wipes dlerror's text: do it now.
    for name in ("dlopen", "dlsym", "dlerror", "dladdr"):
        getattr(loader, name)
    return ffi, loader


def _text(ffi: Any, pointer: Any) -> str:
    return "" if pointer == ffi.NULL else os.fsdecode(ffi.string(pointer))
