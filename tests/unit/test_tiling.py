"""The cut over cores and UB: the worked examples, what fits, what is refused."""

import numpy as np
import pytest

from labkit.errors import LabError
from labkit.op import TilingError, socs, tile

KIB248, KIB192 = 253952, 196608

WORKED = [  # N, dtype, key, block factor, cores, last core, ub factor, loops, last tile; 72 cores
    (1, "float32", 0, 1, 1, 1, 64, 1, 1),
    (16, "float32", 0, 1, 16, 1, 64, 1, 1),
    (16, "float16", 1, 1, 16, 1, 128, 1, 1),
    (16, "bfloat16", 27, 1, 16, 1, 64, 1, 1),
    (1000, "float32", 0, 14, 72, 6, 1024, 1, 14),
    (1024, "float16", 1, 15, 69, 4, 1024, 1, 15),
    (1025, "float32", 256, 15, 69, 5, 1088, 1, 15),
    (1025, "float16", 257, 15, 69, 5, 1152, 1, 15),
    (1025, "bfloat16", 283, 15, 69, 5, 1088, 1, 15),
    (4096, "float32", 256, 57, 72, 49, 4096, 1, 57),
    (1048576, "float32", 256, 14564, 72, 14532, 9856, 2, 4708),
    (1048576, "float16", 257, 14564, 72, 14532, 19712, 1, 14564),
    (1048576, "bfloat16", 283, 14564, 72, 14532, 11840, 2, 2724),
    (10_000_000, "float32", 256, 138889, 72, 138881, 9856, 15, 905),
    (10_000_000, "float16", 257, 138889, 72, 138881, 19712, 8, 905),
    (10_000_000, "bfloat16", 283, 138889, 72, 138881, 11840, 12, 8649),
]


@pytest.mark.parametrize("row", WORKED, ids=[f"{row[0]}-{row[1]}" for row in WORKED])
def test_a_worked_example_of_the_950(row):
    total, dtype, key, block, cores, last_core, ub, loops, last_tile = row
    cut = tile(total, dtype)
    assert (cut.tiling_key, cut.block_factor, cut.block_dim) == (key, block, cores)
    assert (cut.core_length(cores - 1), cut.ub_factor) == (last_core, ub)
    tiles = cut.tiles_of(0)
    assert (len(tiles), tiles[-1][1]) == (loops, last_tile)
    assert sum(cut.core_length(core) for core in range(cores)) == total


@pytest.mark.parametrize(
    ("dtype", "bytes_used"), [("float32", 237792), ("float16", 239008), ("bfloat16", 238304)]
)
def test_the_ub_of_a_full_tile_is_what_the_kernel_allocates(dtype, bytes_used):
    cut = tile(10_000_000, dtype)
    assert cut.ub_used == sum(buffer.total for buffer in cut.buffers) == bytes_used
    assert cut.fits


@pytest.mark.parametrize("ub", [KIB248, KIB192])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("total", [1, 1023, 1024, 1025, 10**6, 2**40])
@pytest.mark.parametrize("op", ["hardshrink_grad", "hardshrink"])
def test_the_planned_buffers_never_exceed_the_budget(op, total, dtype, ub):
    cut = tile(total, dtype, op=op, ub_bytes=ub, cores=48)
    assert cut.fits and cut.ub_used <= ub


def test_double_buffering_starts_above_1024_elements_of_the_total():
    assert [tile(n, "float32").double_buffer for n in (1023, 1024, 1025)] == [False, False, True]


def test_an_oversized_tile_is_refused_with_the_numbers():
    with pytest.raises(TilingError, match=r"needs \d+ bytes .*gradQueue 2 x .*has 253952"):
        tile(10**6, "float32").with_tile(20_000)


def test_a_better_cut_can_be_designed_and_computes_fewer_lanes():
    public = tile(4096, "float32")
    better = public.with_tile(64)
    assert (public.ub_factor, better.ub_factor) == (4096, 64)
    assert better.block_dim == 72 and better.fits


def test_a_share_that_needs_more_cores_than_there_are_is_refused():
    with pytest.raises(TilingError, match="cores"):
        tile(4096, "float32").with_tile(64, block_factor=1)


def test_lambda_is_clamped_once_more_in_the_backward_tiling_only():
    assert tile(4, "float32", lambd=-0.5).lambd == 0
    assert tile(4, "float32", op="hardshrink", lambd=-0.5).lambd == np.float32(-0.5)
    assert np.isnan(tile(4, "float32", lambd=float("nan")).lambd)


@pytest.mark.parametrize("wrong", [{"cores": 0}, {"ub_bytes": 0}])
def test_a_chip_without_cores_or_ub_is_refused(wrong):
    with pytest.raises(TilingError):
        tile(4, "float32", **wrong)


def test_only_the_three_dtypes_are_cut():
    with pytest.raises(TilingError, match="FLOAT, FLOAT16 and BF16"):
        tile(4, "int32")


@pytest.mark.parametrize("wrong", [{"op": "relu"}, {"soc": "nothing"}])
def test_an_unknown_operator_or_chip_is_the_labs_error(wrong):
    with pytest.raises(LabError):
        tile(4, "float32", **wrong)


def test_a_small_ub_passes_the_backward_tiling_and_fails_the_forward_one():
    assert not tile(5000, "float32", ub_bytes=16384).fits
    with pytest.raises(TilingError):
        tile(5000, "float32", op="hardshrink", ub_bytes=1024)


def test_every_chip_with_vector_cores_can_cut_any_size_at_once():
    for soc in socs().values():
        if soc.tiling_cores:
            cut = tile(2**40, "float16", soc=soc)
            assert cut.block_dim * cut.block_factor >= 2**40
            assert cut.public == soc.is_regbase
