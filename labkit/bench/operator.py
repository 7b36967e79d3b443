"""The operator on large arrays: against PyTorch's kernel, plain NumPy, and one copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.bench.table import Row, in_turn

__all__ = ["Resident", "call_rows", "inputs", "memory_rows", "operator_rows"]


class Resident:
    """Tensors that stay on the software NPU, so that only the operator is timed.

    `grad` and `self_` are 1-d, contiguous, of one dtype and size; λ is 0.5.
    """

    def __init__(self, grad: Any, self_: Any) -> None:
        from labkit.cann.interface import ffi
        from labkit.host.arrays import acl_data_type
        from labkit.operators import open_device

        self.ffi = ffi()
        self.like = grad
        self.device = open_device("sim")
        self.api = self.device.api
        self.addresses = [self._put(array) for array in (grad, self_)]
        self.addresses.append(self._malloc(grad.nbytes))
        kind, new = acl_data_type(grad.dtype), self.ffi.new
        dims = new("int64_t[]", [grad.size])
        self.tensors = [
            self._c("aclCreateTensor", dims, 1, kind, self.ffi.NULL, 0, 2, dims, 1, address)
            for address in self.addresses
        ]
        self.lambd = self._c("aclCreateScalar", self.ffi.cast("void *", new("float *", 0.5)), 0)
        self.size, self.executor = new("uint64_t *"), new("aclOpExecutor **")
        self._phase1()
        self.workspace = self._malloc(max(1, self.size[0]))

    def _c(self, name: str, *args: Any) -> Any:
        return self.device.call(name, *args)

    def _malloc(self, size: int) -> Any:
        out = self.ffi.new("void **")
        self.device.run(lambda: self.api.check("aclrtMalloc", out, size, 0))
        return out[0]

    def _put(self, array: Any) -> Any:
        address = self._malloc(array.nbytes)
        source = self.ffi.cast("void *", array.ctypes.data)
        self._c("aclrtMemcpy", address, array.nbytes, source, array.nbytes, 1)
        return address

    def _phase1(self) -> None:
        grad, x, out = self.tensors
        name = "aclnnHardshrinkBackwardGetWorkspaceSize"
        args = (grad, x, self.lambd, out, self.size, self.executor)
        self.device.run(lambda: self.api.check(name, *args))

    def operator(self) -> None:
        """Phase 1, phase 2, synchronise."""

        def both() -> None:
            self.api.check(
                "aclnnHardshrinkBackward",
                self.workspace,
                self.size[0],
                self.executor[0],
                self.device.stream,
            )
            self.api.check("aclrtSynchronizeStream", self.device.stream)
            self._phase1()

        self.device.run(both)

    def result(self) -> Any:
        """The output, copied from the device."""
        out = np.empty(self.like.shape, self.like.dtype)
        place = self.ffi.cast("void *", out.ctypes.data)
        self._c("aclrtMemcpy", place, out.nbytes, self.addresses[-1], out.nbytes, 2)
        return out

    def close(self) -> None:
        """Give everything back to the device, and the device."""
        self._c("aclDestroyAclOpExecutor", self.executor[0])
        for tensor in self.tensors:
            self._c("aclDestroyTensor", tensor)
        self._c("aclDestroyScalar", self.lambd)
        for address in (*self.addresses, self.workspace):
            self._c("aclrtFree", address)
        self.device.close()


def inputs(name: str, elements: int) -> tuple[Any, Any]:
    """A gradient of ones and a normal `self`, 1-d, in the dtype of that name."""
    from labkit.op import data_type

    dtype = data_type(name).numpy
    random = np.random.default_rng(7)
    x = random.standard_normal(elements, dtype=np.float32).astype(dtype)
    return np.ones(elements, dtype), x


def operator_rows(elements: int, rounds: int) -> list[Row]:
    """The operator against PyTorch on the same cores, and against plain NumPy."""
    rows = []
    for name in ("float32", "float16", "bfloat16"):
        grad, x = inputs(name, elements)
        resident = Resident(grad, x)
        size = f"{elements >> 20} Mi {name}"
        try:
            rows.append(_against_torch(size, name, grad, x, resident.operator, rounds))
            if name != "bfloat16":
                need = 4.0 if name == "float32" else 8.0
                rows.append(_against_where(size, grad, x, resident.operator, rounds, need))
        finally:
            resident.close()
    return rows


def _against_torch(
    size: str, name: str, grad: Any, x: Any, operator: Callable[[], None], rounds: int
) -> Row:
    what, against = f"operator on the software NPU, {size}", "PyTorch's kernel"
    try:
        import torch
    except ImportError:
        return Row(what, against, None, "x", ">= 1.0", None, "PyTorch is not installed here")
    kind = getattr(torch, name)
    bits = {4: torch.int32, 2: torch.int16}[x.itemsize]
    raw = {4: np.int32, 2: np.int16}[x.itemsize]
    g, s = (torch.from_numpy(a.view(raw)).view(bits).view(kind) for a in (grad, x))
    out = torch.empty_like(g)
    kernel = torch.ops.aten.hardshrink_backward.grad_input
    mine, theirs = in_turn(operator, lambda: kernel(g, s, 0.5, grad_input=out), rounds)
    ratio = theirs / mine
    note = f"{torch.get_num_threads()} threads"
    return Row(what, against, ratio, "x", ">= 1.0", ratio >= 1.0, note, seconds=(mine, theirs))


def _against_where(
    size: str, grad: Any, x: Any, operator: Callable[[], None], rounds: int, need: float
) -> Row:
    lambd = np.float32(0.5)
    mine, theirs = in_turn(
        operator, lambda: np.where(np.abs(x) <= lambd, np.zeros((), x.dtype), grad), rounds
    )
    what = f"operator on the software NPU, {size}"
    ratio = theirs / mine
    return Row(
        what,
        "np.where(abs(x) <= λ, 0, g)",
        ratio,
        "x",
        f">= {need}",
        ratio >= need,
        seconds=(mine, theirs),
    )


def call_rows(elements: int, rounds: int) -> list[Row]:
    """The whole two-phase program, from NumPy arrays to a NumPy array, in copies of the input."""
    from labkit.operators import hardshrink_backward, open_device

    grad, x = inputs("float32", elements)
    there = np.empty_like(x)
    with open_device("sim") as device:
        mine, copy = in_turn(
            lambda: hardshrink_backward(grad, x, lambd=0.5, device=device),
            lambda: np.copyto(there, x),
            rounds,
        )
    what = f"whole two-phase call, {elements >> 20} Mi float32"
    taken = mine / copy
    note = "it copies two arrays to the device and one back"
    return [
        Row(what, "one copy", taken, "cop.", "<= 5", taken <= 5, note, seconds=(mine, copy)),
    ]


def memory_rows(elements: int) -> list[Row]:
    """Memory above inputs and output while the kernel runs, per core."""
    import tracemalloc

    from labkit.op import hardshrink_grad
    from labkit.op.numerics import core_count

    grad, x = inputs("float32", elements)
    out = np.empty_like(x)
    hardshrink_grad(grad, x, 0.5, out=out)
    tracemalloc.start()
    hardshrink_grad(grad, x, 0.5, out=out)
    peak = tracemalloc.get_traced_memory()[1] / core_count() / 2**20
    tracemalloc.stop()
    return [
        Row("memory above inputs and output", "-", peak, "MiB", "<= 1 MiB per core", peak <= 1.0)
    ]
