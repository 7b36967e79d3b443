"""The cut over cores as a picture: shares, idle cores, lanes valid against computed."""

import numpy as np
import pytest

from labkit.draw.cores import cores_alt_text, cores_figure, lanes_of, shares
from labkit.op import run_kernel, tile


def texts(figure):
    return [text.get_text().replace("\u202f", "") for text in figure.texts]


@pytest.mark.parametrize("op", ["hardshrink_grad", "hardshrink"])
@pytest.mark.parametrize("total", [0, 1, 64, 100, 1025, 30001])
def test_shares_and_lanes_are_those_of_the_kernel(op, total):
    for dtype in ("float32", "float16"):
        tiling = tile(total, dtype, op=op, cores=5, ub_bytes=30000)
        runs = shares(tiling)
        cores = [
            (core, run.elements) for run in runs for core in range(run.first, run.first + run.count)
        ]
        assert cores == [(core, tiling.core_length(core)) for core in range(5)]
        x = np.zeros(total, dtype)
        ran = run_kernel(None if op == "hardshrink" else x, x, 0.5, tiling)
        lanes = [lanes_of(tiling, core) for core in range(5)]
        assert sum(lane.valid for lane in lanes) == ran.lanes_valid == total
        assert sum(lane.computed for lane in lanes) == ran.lanes_computed
        assert [lane.tiles for lane in lanes] == [
            len(tiling.tiles_of(core)) if n else 0 for core, n in cores
        ]


def test_4096_elements_make_72_cores_compute_the_whole_tile():
    tiling = tile(4096, "float32")
    shown = texts(cores_figure(tiling))
    for words in ("cores 0 to 70: 57 each", "core 71: 49", "57 of 4096", "4096 of 294912"):
        assert words in shown
    assert shown[-1].startswith("72 lanes are computed for each real element: the tile is cut by")
    alt = cores_alt_text(tiling)
    assert "Cores 0 to 70: 57 each. Core 71: 49." in alt
    assert "Lanes of core 71: 49 of 4096, 1.2 % real, in 1 tile." in alt


def test_idle_cores_huge_totals_and_tiles_that_do_not_fit():
    assert "cores 16 to 71: no work" in texts(cores_figure(tile(16, "float32")))
    assert "cores 0 to 71: no work" in texts(cores_figure(tile(0, "float32")))
    huge = tile(2**40, "float16", op="hardshrink")
    assert "in 1463861 tiles" in cores_alt_text(huge)
    assert texts(cores_figure(huge))[-1] == "✓ only 3520 lanes compute nothing real"
    unfit = texts(cores_figure(tile(5000, "float32", ub_bytes=15000)))
    assert unfit[-1].endswith("does not fit: the kernel cannot run")
    assert "950's rule assumed" in cores_alt_text(tile(10, "float32", soc="910b"))
