"""The kernel vectors once more, instruction by instruction, in changing legal orders."""

import numpy as np
import pytest
import test_kernel_vectors as measured
import vector_files
from exact import FLOATS, bits_of

from labkit.op import run_kernel, tile
from labkit.op.scalar import float32_from_bits

ORDERS = ("program", "early", "late", 7)
GROUPS = sorted(
    {(file, row["dtype"]) for file in measured.FILES for row in measured.compared(file)}
)


def result(file, row, order):
    dtype = vector_files.DTYPES[row["dtype"]]
    op = "hardshrink_grad" if file == "kernel" else "hardshrink"
    cut = tile(row["n"], dtype, op=op, cores=row["cores"], ub_bytes=row["ub"])
    x = vector_files.input_of(row, "x").view(FLOATS[dtype])
    grad = None
    if file == "kernel":
        grad = vector_files.input_of(row, "grad").view(FLOATS[dtype])
    lambd = float32_from_bits(int(row["lambd_attr_bits"], 16))
    return bits_of(run_kernel(grad, x, lambd, cut, order=order).out)


@pytest.mark.parametrize(("file", "dtype"), GROUPS, ids=["-".join(group) for group in GROUPS])
def test_the_instructions_give_the_measured_bits(file, dtype):
    rows = [row for row in measured.compared(file) if row["dtype"] == dtype]
    wrong = []
    for number, row in enumerate(rows):
        got = result(file, row, ORDERS[number % len(ORDERS)])
        hashed = row["sha256_out"]
        if dtype in measured.OPEN_PAYLOAD[file]:
            quiet = measured.QUIET_NAN[dtype]
            nan = vector_files.is_nan(got, vector_files.DTYPES[dtype])
            got = np.where(nan, got.dtype.type(quiet), got)
            hashed = row[f"sha256_out_nan_as_{quiet:04x}"]
        if vector_files.digest(got) != hashed:
            wrong.append(row["id"])
    assert rows and wrong == []
