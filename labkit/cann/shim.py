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

    prepare = _PREPARE.format(python=python, paths=list(paths), module=module)
    made = cffi.FFI()
    made.embedding_api("uintptr_t labkit_address(const char *name);")
    made.set_source(
        f"_{CORE}", _START % {"python": _quoted(python), "prepare": _quoted(prepare, wide=False)}
    )
    made.embedding_init_code(
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
        f"    if (!labkit_call || !labkit_alive())\n        return {lost};\n"
        f"    {body}\n}}\n"
    )


def _quoted(text: str, *, wide: bool = True) -> str:
    """A C string literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{"L" if wide else ""}"{escaped}"'


# Run once, with the GIL held, before anything else of the lab's: `ready` tells whether it can be.
_PREPARE = """\
import sys
sys.path[:0] = [path for path in {paths!r} if path not in sys.path]
try:
    import {module}, cffi
    cffi.FFI()  # it refuses a backend of another version
    ready = 1
except Exception as error:
    print(
        "labkit: no call of CANN's can be answered: these libraries were made by " + {python!r}
        + ", this process is " + sys.executable + ", which cannot import the lab: " + repr(error),
        file=sys.stderr, flush=True)
"""

# Python is started here when the process has none: with the interpreter that the tree was made
# with, so that its environment (a venv, say) is found. Only then comes cffi's part.
_START = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

__attribute__((visibility("default"))) const int labkit_simulated = 1;

static int labkit_started; /* there is a Python that these libraries fit */
static int labkit_ready;   /* 1: it can import the lab, -1: it cannot, 0: not yet known */

static int labkit_python_fits(void)
{
    char wanted[32];

    snprintf(wanted, sizeof wanted, "%%d.%%d.", PY_MAJOR_VERSION, PY_MINOR_VERSION);
    if (strncmp(Py_GetVersion(), wanted, strlen(wanted)) == 0)
        return 1;
    fprintf(stderr,
            "labkit: no call of CANN's can be answered: these libraries were made by Python "
            "%%d.%%d, this process is Python %%.7s; make a tree with this one's `labkit sdk`\n",
            PY_MAJOR_VERSION, PY_MINOR_VERSION, Py_GetVersion());
    return 0;
}

static void labkit_start(void)
{
    PyConfig config;
    PyStatus status;
    struct sigaction interrupt;

    if (Py_IsInitialized()) {
        labkit_started = labkit_python_fits();
        return;
    }
    sigaction(SIGINT, NULL, &interrupt);
    PyConfig_InitPythonConfig(&config);
    config.install_signal_handlers = 0;
    config.configure_c_stdio = 0;
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
    /* The module takes SIGINT when it is first imported. Ctrl-C is the program's own. */
    Py_XDECREF(PyImport_ImportModule("signal"));
    PyErr_Clear();
    sigaction(SIGINT, &interrupt, NULL);
    PyEval_SaveThread();
    labkit_started = 1;
}

static int labkit_prepared(void)
{
    int ready = -1;
    PyObject *names = PyDict_New();
    PyObject *done = NULL;

    if (names && PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) == 0)
        done = PyRun_String(%(prepare)s, Py_file_input, names, names);
    if (!done)
        PyErr_Print();
    else if (PyDict_GetItemString(names, "ready"))
        ready = 1;
    Py_XDECREF(done);
    Py_XDECREF(names);
    return ready;
}

/* Whether Python can still be called. In a Python process, destructors of C++ run after its end. */
__attribute__((visibility("default"))) int labkit_alive(void)
{
    static int told;

    if (Py_IsInitialized())
        return 1;
    if (!told++)
        fprintf(stderr, "labkit: a call after the end of Python, which the software NPU needs\n");
    return 0;
}

static uintptr_t labkit_address(const char *name);

__attribute__((visibility("default"))) void *labkit_function(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, labkit_start);
    if (!labkit_started || !labkit_alive())
        return 0;
    if (!labkit_ready) { /* not in labkit_start: who waits there may hold the GIL */
        PyGILState_STATE state = PyGILState_Ensure();
        if (!labkit_ready)
            labkit_ready = labkit_prepared();
        PyGILState_Release(state);
    }
    return labkit_ready == 1 ? (void *)labkit_address(name) : 0;
}
"""

_HEAD = r"""/* Written by `labkit sdk`: CANN's functions, answered by the software NPU. */
#include <stdlib.h>
#include <string.h>

#include "cann.h"

#define LABKIT_EXPORT __attribute__((visibility("default")))

LABKIT_EXPORT const int labkit_simulated = 1;

extern void *labkit_function(const char *name);
extern int labkit_alive(void);

/* new[] of C++, the program's own if it has one; NULL in a program without C++. */
extern void *_Znam(size_t bytes) __attribute__((weak));

/* An array of its own, as the real library hands out: the caller releases it with delete[]. */
__attribute__((unused)) static aclnnStatus labkit_copied(
    aclnnStatus status, int64_t **array, uint64_t *count)
{
    if (status == 0 && array && *array && count) {
        size_t bytes = *count * sizeof(int64_t);
        int64_t *copy = (_Znam ? _Znam : malloc)(bytes ? bytes : 1);
        if (!copy)
            return 561000;
        memcpy(copy, *array, bytes);
        *array = copy;
    }
    return status;
}

"""
