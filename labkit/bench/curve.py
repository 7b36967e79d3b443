"""The operator's speed at every size, as a curve over a peer's: PyTorch's kernel, or NumPy.

Two lines per dtype. *Arithmetic* is `labkit.op.hardshrink_grad` into an array
that is there: what a kernel computes, on this machine's cores. *Device* is the
operator on the software NPU, its tensors resident: phase 1, phase 2 and the
wait for the stream, which the peer has no counterpart of. Both sides get the
same arrays, and their results must have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from labkit.bench.operator import Resident, inputs
from labkit.bench.table import Row, apart
from labkit.draw.speed import DTYPES, SpeedPoint, SpeedView
from labkit.errors import LabError

__all__ = ["SIZES", "curve", "peer", "reach", "row", "view"]

SIZES = tuple(1 << doublings for doublings in (12, 14, 16, 18, 20, 22, 24, 26))
"""Elements: 4 Ki to 64 Mi."""

_LAMBD = 0.5
_MOST_CALLS, _FEWEST_CALLS, _ELEMENTS_A_ROUND = 2000, 7, 1 << 24


def reach(elements: int) -> float:
    """How many times PyTorch's speed is to be reached; below 64 Ki the call's own cost counts."""
    return 1.0 if elements >= 64 * 1024 else 0.5


def peer() -> tuple[str, Callable[..., Callable[[], Any]]]:
    """The peer's name and a function that makes its call of (grad, self, out)."""
    try:
        import torch
    except ImportError:
        return "np.where", _numpy_call

    def call(*arrays: Any) -> Callable[[], Any]:
        bits = {4: np.int32, 2: np.int16}[arrays[0].itemsize]
        kind = getattr(torch, arrays[0].dtype.name)
        grad, x, out = (torch.from_numpy(array.view(bits)).view(kind) for array in arrays)
        kernel = torch.ops.aten.hardshrink_backward.grad_input
        return lambda: kernel(grad, x, _LAMBD, grad_input=out)

    return f"PyTorch ({torch.get_num_threads()} threads)", call


def _numpy_call(grad: Any, x: Any, out: Any) -> Callable[[], Any]:
    limit, zero = x.dtype.type(_LAMBD), np.zeros((), x.dtype)

    def call() -> None:
        out[...] = np.where(np.abs(x) <= limit, zero, grad)

    return call


def curve(
    sizes: Sequence[int] = SIZES,
    *,
    dtypes: Sequence[str] = DTYPES,
    rounds: int = 3,
    pause: float = 0.3,
) -> Iterator[SpeedPoint]:
    """Measure point by point: every dtype, every size, arithmetic and device.

    Raises `LabError` when the two sides do not give the same bits.
    """
    from labkit.op import hardshrink_grad

    _, call = peer()
    for dtype in dtypes:
        for elements in sizes:
            grad, x = inputs(dtype, elements)
            mine, theirs = np.empty_like(x), np.empty_like(x)
            resident = Resident(grad, x)

            def arithmetic(grad: Any = grad, x: Any = x, out: Any = mine) -> None:
                hardshrink_grad(grad, x, _LAMBD, out=out)

            calls = max(_FEWEST_CALLS, min(_MOST_CALLS, _ELEMENTS_A_ROUND // elements))
            try:
                other = call(grad, x, theirs)
                for kind, function, most in (
                    ("arithmetic", arithmetic, calls),
                    ("device", resident.operator, min(calls, 200)),
                ):
                    turns = apart(function, other, calls=most, rounds=rounds, pause=pause)
                    yield SpeedPoint(kind, dtype, elements, turns.first, turns.second, turns.ratios)
                for made in (mine, resident.result()):
                    if made.tobytes() != theirs.tobytes():
                        raise LabError(f"{elements} {dtype}: the peer's result has other bits")
            finally:
                resident.close()


def row(point: SpeedPoint, against: str) -> Row:
    """A point as a line of the table. Only the arithmetic, and only over PyTorch, has a reach."""
    names = {
        "arithmetic": "arithmetic (hardshrink_grad)",
        "device": "operator on the software NPU",
    }
    what = f"{names[point.kind]}, {point.size} {point.dtype}"
    low, high = min(point.ratios), max(point.ratios)
    mine, theirs = 1e6 * point.mine, 1e6 * point.theirs
    note = f"{mine:.1f} µs over {theirs:.1f} µs; rounds {low:.2f} to {high:.2f}"
    times = (point.mine, point.theirs)
    if point.kind != "arithmetic" or not against.startswith("PyTorch"):
        return Row(what, against, point.ratio, "x", "", None, note, times)
    need = reach(point.elements)
    return Row(what, against, point.ratio, "x", f">= {need}", point.ratio >= need, note, times)


def view(points: Sequence[SpeedPoint], against: str) -> SpeedView:
    """The points as a picture shows them, with what computes here."""
    from labkit.op.numerics import core_count, road

    needed = tuple((size, reach(size)) for size in sorted({point.elements for point in points}))
    return SpeedView(tuple(points), against, road(), core_count(), needed)
