"""C sources of shared libraries with CANN's names, behind which Python answers.

One library, `liblabkit_npu.so`, holds a Python interpreter (cffi's embedding
mode) and knows one function: the address that stands behind a name of the
interface. The others carry CANN's file names and CANN's functions; each looks
up its address on its first call and jumps there. So a program is linked and
loaded exactly as with the real libraries, every symbol in the library that
really holds it, and all of them reach one and the same object.

Sources: which library holds which function, from the interface documentation
of cann/runtime (commit 681ef7610df13c8128982901142a2c869ddbb53e) and the build files of
cann/opbase (commit aa3cd74b7f6d772acd64ff48292a7e65a9bc8142).
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from labkit.cann.header import Prototype
from labkit.cann.interface import is_operator

__all__ = ["CORE", "core_source", "library_of", "shim_source"]

CORE = "labkit_npu"
"""Name of the library with the interpreter: `lib<CORE>.so`."""

_RUNTIME = ("aclrt", "aclsys", "aclInit", "aclFinalize", "aclGetRecentErrMsg")
_RUNTIME_ALSO = {
    "aclDataTypeSize",
    "aclFloat16ToFloat",
    "aclFloatToFloat16",
    "aclGetCannAttribute",
    "aclGetDeviceCapability",
}
# These hand out an array that the caller releases with C++ delete[]; Python keeps what it hands
# out, so the library copies it first.
_HANDS_OUT = {"aclGetViewShape", "aclGetStorageShape", "aclGetViewStrides"}


def library_of(name: str) -> str:
    """The library that holds a function: "runtime", "nnopbase" or "operators".

    >>> library_of("aclrtMalloc"), library_of("aclCreateTensor"), library_of("aclnnHardshrink")
    ('runtime', 'nnopbase', 'operators')
    """
    if is_operator(name):
        return "operators"
    return "runtime" if name.startswith(_RUNTIME) or name in _RUNTIME_ALSO else "nnopbase"


def core_source(python: str, paths: Iterable[str], module: str) -> str:
    """The C source of the core library; cffi writes the embedding part.

    `python` is the interpreter whose environment the library is to have when
    the process has no Python of its own, `paths` what is put in front of
    `sys.path`, `module` the module whose `address(name)` answers.
    """
    import cffi

    made = cffi.FFI()
    made.embedding_api("uintptr_t labkit_address(const char *name);")
    made.set_source(f"_{CORE}", _START % {"python": _quoted(python)})
    made.embedding_init_code(
        f"import sys\n"
        f"sys.path[:0] = [path for path in {list(paths)!r} if path not in sys.path]\n"
        f"from _{CORE} import ffi\n"
        f"import {module} as behind\n"
        f"@ffi.def_extern(error=0)\n"
        f"def labkit_address(name):\n"
        f"    return behind.address(ffi.string(name).decode())\n"
    )
    return _emitted(made)


def _emitted(made: Any) -> str:
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = Path(folder) / "core.c"
        made.emit_c_code(str(path))  # it says on stdout that it does
        return path.read_text(encoding="utf-8")


def shim_source(functions: Iterable[Prototype]) -> str:
    """The C source of a library that has these functions and passes every call on."""
    return _HEAD + "\n".join(_function(prototype) for prototype in functions)


def _function(prototype: Prototype) -> str:
    types = ", ".join(ctype for ctype, _ in prototype.params) or "void"
    params = ", ".join(f"{ctype} {name}" for ctype, name in prototype.params) or "void"
    names = [name for _, name in prototype.params]
    call = f"labkit_call({', '.join(names)})"
    lost = {"aclError": "500000", "aclnnStatus": "561000"}.get(prototype.returns, "0")
    body = f"return {call};"
    if prototype.name in _HANDS_OUT:
        body = f"return labkit_copied({call}, {names[1]}, {names[2]});"
    return (
        f"LABKIT_EXPORT {prototype.returns} {prototype.name}({params})\n{{\n"
        f"    static {prototype.returns} (*labkit_call)({types});\n"
        f"    if (!labkit_call)\n"
        f"        labkit_call = ({prototype.returns} (*)({types}))"
        f'labkit_function("{prototype.name}");\n'
        f"    if (!labkit_call)\n        return {lost};\n"
        f"    {body}\n}}\n"
    )


def _quoted(text: str) -> str:
    """A C string of wide characters."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'L"{escaped}"'


# Before cffi's part starts Python, start it here when there is none: with the interpreter that
# the tree was made with, so that its environment (a venv, say) is found.
_START = r"""
#include <pthread.h>
#include <stdio.h>
#include <string.h>

__attribute__((visibility("default"))) const int labkit_simulated = 1;

static int labkit_ready;

static void labkit_start(void)
{
    PyConfig config;
    PyStatus status;

    if (Py_IsInitialized()) {
        labkit_ready = 1;
        return;
    }
    PyConfig_InitPythonConfig(&config);
    config.install_signal_handlers = 0;
    config.parse_argv = 0;
    status = PyConfig_SetString(&config, &config.program_name, %(python)s);
    if (!PyStatus_Exception(status))
        status = PyConfig_SetString(&config, &config.executable, %(python)s);
    if (!PyStatus_Exception(status))
        status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status)) {
        fprintf(stderr, "labkit: Python did not start: %%s\n",
                status.err_msg ? status.err_msg : "no reason given");
        return;
    }
    PyEval_SaveThread();
    labkit_ready = 1;
}

static uintptr_t labkit_address(const char *name);

__attribute__((visibility("default"))) void *labkit_function(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    void *found = 0;

    pthread_once(&once, labkit_start);
    if (labkit_ready)
        found = (void *)labkit_address(name);
    if (!found)
        fprintf(stderr, "labkit: nothing stands behind %%s\n", name);
    return found;
}
"""

_HEAD = r"""/* Written by `labkit sdk`: CANN's functions, answered by the software NPU. */
#include <stdlib.h>
#include <string.h>

#include "cann.h"

#define LABKIT_EXPORT __attribute__((visibility("default")))

LABKIT_EXPORT const int labkit_simulated = 1;

extern void *labkit_function(const char *name);

/* What delete[] of C++ may release: an array of its own, as the real library hands out. */
__attribute__((unused)) static aclnnStatus labkit_copied(
    aclnnStatus status, int64_t **array, uint64_t *count)
{
    if (status == 0 && array && *array && count) {
        size_t bytes = *count * sizeof(int64_t);
        int64_t *copy = malloc(bytes ? bytes : 1);
        if (!copy)
            return 561000;
        memcpy(copy, *array, bytes);
        *array = copy;
    }
    return status;
}

"""
