"""One fused loop over bit patterns, compiled by numba: the optional fast road.

Imported only when numba is installed; the same bits as the NumPy road in
numerics.py, and the tests run both. The compiled code is cached beside this
file (or in numba's own cache folder) so that only the first call waits.

The loop has no branch, and its zero has the width of the elements: with
Python's 0 numba compares in 64 bits, and LLVM does not vectorise it. It starts
where a cache line of the output does: memory that NumPy hands out starts 16
bytes after one, and a store over two lines costs twice.

Large results are written past the caches ("non-temporal" stores). An ordinary
store first reads the cache line that it is going to overwrite, a quarter of all
memory traffic here, and memory is what this operator waits for.
"""

from __future__ import annotations

import atexit
import os
import threading
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import njit, prange, types
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic, overload

__all__ = ["parallel", "serial"]

_PID = os.getpid()


@atexit.register
def _wait_for_compiler() -> None:
    """Let a thread end its compiling: inside LLVM it would outlive Python and abort the process.

    A forked child has the lock as it was, and not the thread that would give it back.
    """
    if os.getpid() == _PID:
        with global_compiler_lock:
            pass


_LINE = 64
"""Bytes of a cache line: what one step of the streaming loop handles."""

_STREAM_FROM = 4 * 1024 * 1024
"""Bytes of result from which on it will not be found in the caches again anyway."""

_turn = threading.Lock()
"""Held by the one call that uses numba's threads: not every threading layer stands two."""

_threads = {"usable": True}

_CORES = numba.config.NUMBA_NUM_THREADS


def serial(values: Any, x: Any, limit: int, out: Any) -> None:
    """Write `values` where x's magnitude pattern is above `limit`, else zero bits.

    The three are 1-d, contiguous and of one dtype: float32, uint32 or uint16.
    """
    try:
        _serial(values, x, limit, out)
    except TypeError:
        _again(_serial)(values, x, limit, out)


def parallel(values: Any, x: Any, limit: int, out: Any) -> bool:
    """Do as `serial` on all cores; False when numba's threads cannot be had, and nothing is done.

    They cannot in a forked child (GNU OpenMP ends such a process) and while another call has
    them: then the cores are busy anyway.
    """
    if _CORES == 1 or not _threads["usable"] or not _turn.acquire(False):
        return False
    try:
        _parallel(values, x, limit, out, _CORES)
    except TypeError:
        _again(_parallel)(values, x, limit, out, _CORES)
    finally:
        _turn.release()
    return True


def _again(kernel: Any) -> Any:
    """A compiled function without what numba's cache had of it.

    Two processes that compile at the same time may write under one name of that cache. What
    was compiled for another dtype refuses the arrays before it writes anything. What these
    functions call has no cache of its own, which could be mixed up in its turn.
    """
    kernel.recompile()
    return kernel


def _in_child() -> None:
    _threads["usable"] = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def _bits(array: Any) -> Any:
    """The patterns of an array's elements; known to compiled code alone."""
    raise NotImplementedError


@overload(_bits)
def _bits_of(array: Any) -> Any:
    unsigned = {16: np.uint16, 32: np.uint32}[array.dtype.bitwidth]

    def bits(array: Any) -> Any:
        return array.view(unsigned)

    return bits


@njit(nogil=True, cache=True, boundscheck=False)
def _serial(values: Any, x: Any, limit: int, out: Any) -> None:
    values, x, out = _bits(values), _bits(x), _bits(out)
    first = _ragged(out)
    _plain(values[:first], x[:first], limit, out[:first])
    _plain(values[first:], x[first:], limit, out[first:])


@njit(nogil=True, cache=True, boundscheck=False, parallel=True)
def _parallel(values: Any, x: Any, limit: int, out: Any, cores: int) -> None:
    for core in prange(cores):
        _share(_bits(values), _bits(x), limit, _bits(out), core, cores)


@njit(nogil=True, boundscheck=False)
def _share(values: Any, x: Any, limit: int, out: Any, core: int, cores: int) -> None:
    """What one of the cores does: whole cache lines of `out`; the first one its start as well."""
    lanes = _LINE // out.itemsize
    first = _ragged(out)
    lines = -(-(out.size - first) // (cores * lanes)) * lanes
    a = min(first + core * lines, out.size)
    b = min(a + lines, out.size)
    if core == 0:
        _plain(values[:first], x[:first], limit, out[:first])
    if out.nbytes >= _STREAM_FROM:
        stop = a + (b - a) // lanes * lanes
        mask = out.dtype.type((1 << (8 * out.itemsize - 1)) - 1)
        _whole_lines(values, x, mask, out.dtype.type(limit), out, a, stop)
        a = stop
    _plain(values[a:b], x[a:b], limit, out[a:b])


@njit(nogil=True, boundscheck=False)
def _ragged(out: Any) -> Any:
    """Elements before the first cache line that `out` has from its start."""
    return min(-(out.ctypes.data // out.itemsize) % (_LINE // out.itemsize), out.size)


@njit(nogil=True, boundscheck=False)
def _plain(values: Any, x: Any, limit: int, out: Any) -> None:
    mask = out.dtype.type((1 << (8 * out.itemsize - 1)) - 1)
    top = out.dtype.type(limit)
    zero = out.dtype.type(0)
    for i in range(out.size):
        out[i] = values[i] if (x[i] & mask) > top else zero


def _lines(
    context: Any, values: Any, x: Any, mask: Any, limit: Any, out: Any, first: Any, stop: Any
) -> Any:
    """The loop over whole lines, in LLVM's terms: numba has no word for such a store."""
    bits = x.dtype.bitwidth
    lanes = _LINE * 8 // bits
    signature = types.void(values, x, mask, limit, out, first, stop)

    def generate(target: Any, builder: Any, _signature: Any, args: Any) -> Any:
        arrays = zip((values, x, out), (args[0], args[1], args[4]))
        read, compared, written = (
            target.make_array(kind)(target, builder, array).data for kind, array in arrays
        )
        line = ir.VectorType(ir.IntType(bits), lanes)
        mask_line, limit_line = (_everywhere(builder, line, value) for value in args[2:4])
        entry = builder.block
        loop = builder.append_basic_block("line")
        done = builder.append_basic_block("done")
        builder.cbranch(builder.icmp_signed("<", args[5], args[6]), loop, done)

        builder.position_at_end(loop)
        place = builder.phi(args[5].type)
        place.add_incoming(args[5], entry)

        def at(base: Any) -> Any:
            return builder.bitcast(builder.gep(base, [place]), line.as_pointer())

        magnitude = builder.and_(builder.load(at(compared), align=bits // 8), mask_line)
        alive = builder.icmp_unsigned(">", magnitude, limit_line)
        kept = builder.load(at(read), align=bits // 8)
        result = builder.select(alive, kept, ir.Constant(line, [0] * lanes))
        store = builder.store(result, at(written), align=_LINE)
        hint = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
        store.set_metadata("nontemporal", hint)
        following = builder.add(place, ir.Constant(place.type, lanes))
        place.add_incoming(following, loop)
        builder.cbranch(builder.icmp_signed("<", following, args[6]), loop, done)

        builder.position_at_end(done)
        builder.fence("seq_cst")  # such stores are seen late by others without it
        return target.get_dummy_value()

    return signature, generate


_whole_lines: Any = intrinsic(_lines)


def _everywhere(builder: Any, line: Any, value: Any) -> Any:
    """A vector with one value in all lanes."""
    unset = ir.Constant(line, ir.Undefined)
    single = builder.insert_element(unset, value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), line.count), [0] * line.count)
    return builder.shuffle_vector(single, unset, zeros)
