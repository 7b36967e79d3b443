"""Small things a user waits for: a 4x4 call, the import, one step of a slider."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import numpy as np

from labkit.bench.table import Row

__all__ = ["import_row", "slider_rows", "small_call_rows"]


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
