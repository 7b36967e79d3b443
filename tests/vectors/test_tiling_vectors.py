"""What the real tiling functions answered, number for number."""

import math

import pytest
import vector_files

from labkit.op import TilingError, tile
from labkit.op.scalar import Scalar, float32_bits

OPERATORS = {"tiling": "hardshrink_grad", "forward_tiling": "hardshrink"}
FAILED = 4294967295
# Three shapes that do not agree: the tiling's own check, not its arithmetic.
THREE_SHAPES = {"tiling": 6, "forward_tiling": 0}
NO_ATTRIBUTE = "3f000000"  # the forward tiling then takes 0.5


def cut(file, given, cores, ub):
    dtype = vector_files.DTYPES.get(given["dtype"]) or int(given["dtype"])
    bits = int(given.get("lambd_bits", NO_ATTRIBUTE), 16)
    total = math.prod(given.get("shape", given.get("self_shape", [])))
    lambd = Scalar(raw=bits.to_bytes(4, "little"))
    return tile(total, dtype, op=OPERATORS[file], cores=cores, ub_bytes=ub, lambd=lambd)


def answer(tiling):
    return {
        "totalNum": tiling.total_num,
        "blockFactor": tiling.block_factor,
        "ubFactor": tiling.ub_factor,
        "lambd_bits": f"{float32_bits(tiling.lambd):08x}",
        "blockDim": tiling.block_dim,
        "tilingKey": tiling.tiling_key,
        "bufferMode": int(tiling.double_buffer),
    }


@pytest.mark.parametrize("file", OPERATORS)
def test_every_measured_tiling_is_equal(file):
    left_out, wrong = 0, {}
    for row in vector_files.rows(file):
        given, measured = row["in"], row["out"]
        if "grad_shape" in given:
            left_out += 1
            continue
        try:
            got = answer(cut(file, given, given["cores"], given["ub"]))
        except TilingError:
            got = FAILED
        want = FAILED if measured["ret"] else measured["tiling"]
        if want != FAILED:
            want = {key: want[key] for key in answer(tile(1, "float32")) if key in want}
        if got != want and got != {**got, **(want if want != FAILED else {"no": 1})}:
            wrong[row["id"]] = (want, got)
    assert wrong == {}
    assert left_out == THREE_SHAPES[file]


@pytest.mark.parametrize(("file", "kernel_file"), [("tiling", "kernel")])
def test_the_tilings_of_the_kernel_vectors_are_equal_too(file, kernel_file):
    for row in vector_files.rows(kernel_file):
        if not row.get("tiling"):
            continue
        given = {
            "dtype": row["dtype"],
            "shape": [row["n"]],
            "lambd_bits": row["lambd_attr_bits"],
        }
        got = answer(cut(file, given, row["cores"], row["ub"]))
        assert {key: got[key] for key in row["tiling"]} == row["tiling"], row["id"]
