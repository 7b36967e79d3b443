"""`labkit bench`: speed as ratios, side by side in one run, medians.

Absolute times depend on the machine; a ratio against a peer that runs in turn
with the lab (A B A B ...) survives a noisy one. What is timed on the software
NPU is the host's work, never an NPU's.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

__all__ = ["Row", "run"]

_PAUSE = 0.3


@dataclass(frozen=True)
class Row:
    """One line of the table: a figure, what it is measured against, what is to be reached.

    `value` None: it could not be measured here, `note` says why.
    """

    what: str
    against: str
    value: float | None
    unit: str
    reach: str
    reached: bool | None
    note: str = ""


def run(*, quick: bool = False, as_json: bool = False) -> int:
    """Measure and print; exit code 0 also when a figure is not reached (it is a report)."""
    elements = (1 if quick else 16) * 1024 * 1024
    rounds = 5 if quick else 9
    rows: list[Row] = []
    measures: tuple[Callable[[], list[Row]], ...] = (
        lambda: operator_rows(elements, rounds),
        lambda: memory_rows(elements),
        lambda: small_call_rows(quick),
        lambda: [import_row(5 if quick else 11)],
        slider_rows,
    )
    for measure in measures:
        for row in measure():
            rows.append(row)
            if not as_json:
                _print(row)
    if as_json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    return 0


def _print(row: Row) -> None:
    value = "     -" if row.value is None else f"{row.value:6.2f}"
    mark = {True: "reached", False: "NOT reached", None: ""}[row.reached]
    print(f"{value} {row.unit:<4} {row.what}, against {row.against}; reach {row.reach}  {mark}")
    if row.note:
        print(f"            {row.note}")
    sys.stdout.flush()


def _in_turn(
    first: Callable[[], Any], second: Callable[[], Any], rounds: int
) -> tuple[float, float]:
    """Median seconds of two functions that run in turn, after a warm-up of each.

    Before each run stands a pause: a peer's worker threads go on spinning for a while after
    their work and would take a core from the one that runs next.
    """
    first(), second()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for function, kept in zip((first, second), times):
            time.sleep(_PAUSE)
            start = time.perf_counter()
            function()
            kept.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


# -- the operator on large arrays ------------------------------------------------


class _Resident:
    """Tensors that stay on the software NPU, so that only the operator is timed."""

    def __init__(self, grad: Any, self_: Any) -> None:
        from labkit.cann.interface import ffi
        from labkit.host.arrays import acl_data_type
        from labkit.operators import open_device

        self.ffi = ffi()
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

    def close(self) -> None:
        self._c("aclDestroyAclOpExecutor", self.executor[0])
        for tensor in self.tensors:
            self._c("aclDestroyTensor", tensor)
        self._c("aclDestroyScalar", self.lambd)
        for address in (*self.addresses, self.workspace):
            self._c("aclrtFree", address)
        self.device.close()


def _inputs(name: str, elements: int) -> tuple[Any, Any]:
    from labkit.op import data_type

    dtype = data_type(name).numpy
    random = np.random.default_rng(7)
    x = random.standard_normal(elements, dtype=np.float32).astype(dtype)
    return np.ones(elements, dtype), x


def operator_rows(elements: int, rounds: int) -> list[Row]:
    """The operator against PyTorch on the same cores, and against plain NumPy."""
    rows = []
    for name in ("float32", "float16", "bfloat16"):
        grad, x = _inputs(name, elements)
        resident = _Resident(grad, x)
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
    mine, theirs = _in_turn(operator, lambda: kernel(g, s, 0.5, grad_input=out), rounds)
    ratio = theirs / mine
    return Row(
        what, against, ratio, "x", ">= 1.0", ratio >= 1.0, f"{torch.get_num_threads()} threads"
    )


def _against_where(
    size: str, grad: Any, x: Any, operator: Callable[[], None], rounds: int, need: float
) -> Row:
    lambd = np.float32(0.5)
    mine, theirs = _in_turn(
        operator, lambda: np.where(np.abs(x) <= lambd, np.zeros((), x.dtype), grad), rounds
    )
    what = f"operator on the software NPU, {size}"
    ratio = theirs / mine
    return Row(what, "np.where(abs(x) <= λ, 0, g)", ratio, "x", f">= {need}", ratio >= need)


def memory_rows(elements: int) -> list[Row]:
    """Memory above inputs and output while the kernel runs, per core."""
    import tracemalloc

    from labkit.op import hardshrink_grad
    from labkit.op.numerics import core_count

    grad, x = _inputs("float32", elements)
    out = np.empty_like(x)
    hardshrink_grad(grad, x, 0.5, out=out)
    tracemalloc.start()
    hardshrink_grad(grad, x, 0.5, out=out)
    peak = tracemalloc.get_traced_memory()[1] / core_count() / 2**20
    tracemalloc.stop()
    return [
        Row("memory above inputs and output", "-", peak, "MiB", "<= 1 MiB per core", peak <= 1.0)
    ]


# -- small things ------------------------------------------------------------------


def small_call_rows(quick: bool) -> list[Row]:
    """A 4x4 call as a whole program, early and after many calls."""
    from labkit.operators import hardshrink_backward, open_device

    values = np.ones((4, 4), np.float32)
    calls = 1500 if quick else 6000
    spent = []
    with open_device("sim") as device:
        for _ in range(calls):
            start = time.perf_counter()
            hardshrink_backward(values, values, device=device)
            spent.append(time.perf_counter() - start)
    window = 500
    early = statistics.median(spent[100 : 100 + window])
    late = statistics.median(spent[-window:])
    what = "small call (4x4), whole two-phase program"
    return [
        Row(what, "-", early * 1e3, "ms", "<= 1 ms", early <= 1e-3),
        Row(
            f"same after {calls} calls",
            "the first ones",
            late / early,
            "x",
            "<= 1.2",
            late <= 1.2 * early,
        ),
    ]


def import_row(rounds: int) -> Row:
    """`import labkit` against `import numpy`, each in a fresh interpreter."""

    def seconds(module: str) -> float:
        code = (
            f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        )
        return float(done.stdout)

    seconds("labkit"), seconds("numpy")
    pairs = [(seconds("labkit"), seconds("numpy")) for _ in range(rounds)]
    mine = statistics.median(pair[0] for pair in pairs)
    theirs = statistics.median(pair[1] for pair in pairs)
    ratio = mine / theirs
    return Row("import labkit", "import numpy", ratio, "x", "<= 1.5", ratio <= 1.5)


def slider_rows() -> list[Row]:
    """One step of the mask panel's slider, kernel side, against a full redraw."""
    from labkit.explore.mask_panel import bench_step

    step, full = bench_step()
    what = "slider step to new picture, kernel side"
    return [
        Row(what, "a full redraw", step / full, "x", "<= 0.20", step / full <= 0.2),
        Row(what, "-", step * 1e3, "ms", "<= 20 ms", step <= 0.020),
    ]
