"""What the public arch35 kernels answered, bit for bit, by both roads of the numerics.

Left out, and counted: rows whose tiling refused the UB size, and 16-bit rows in
the saturating mode (not the default of the 950), which changes them.
"""

import numpy as np
import pytest
import vector_files
from exact import FLOATS, bits_of
from roads import ROADS, taking

from labkit.op import hardshrink, hardshrink_grad
from labkit.op.scalar import float32_from_bits

FILES = {"kernel": 405, "forward_kernel": 281}
REFUSED = {"kernel": 9, "forward_kernel": 7}
# Saturation changes bf16 in the backward operator, both 16-bit dtypes in the forward one.
SATURATED = {"kernel": ("bf16",), "forward_kernel": ("bf16", "fp16")}
NOT_COMPARED = {"kernel": 9 + 2, "forward_kernel": 7 + 4}
# No public source settles the payload of these NaNs: only where they are is compared.
OPEN_PAYLOAD = {"kernel": ("bf16",), "forward_kernel": ("bf16", "fp16")}
QUIET_NAN = {"fp16": 0x7E00, "bf16": 0x7FC0}


def refused(row):
    return "error" in row or "tiling_ret" in row


def compared(file):
    return [
        row
        for row in vector_files.rows(file)
        if not refused(row) and not (row.get("ctrl48") == 0 and row["dtype"] in SATURATED[file])
    ]


GROUPS = sorted({(file, row["dtype"], row["group"]) for file in FILES for row in compared(file)})


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize(("file", "dtype", "group"), GROUPS, ids=["-".join(g) for g in GROUPS])
def test_the_kernel_gives_the_measured_bits(file, dtype, group, road):
    rows = [row for row in compared(file) if (row["dtype"], row["group"]) == (dtype, group)]
    with taking(road):
        wrong = {row["id"]: text for row in rows for text in [difference(file, row)] if text}
    assert not wrong


def difference(file, row):
    """What is different from the measured result, or nothing."""
    dtype = vector_files.DTYPES[row["dtype"]]
    lambd = float32_from_bits(int(row["lambd_attr_bits"], 16))
    x = vector_files.input_of(row, "x").view(FLOATS[dtype])
    if file == "kernel":
        grad = vector_files.input_of(row, "grad").view(FLOATS[dtype])
        got = bits_of(hardshrink_grad(grad, x, lambd))
    else:
        got = bits_of(hardshrink(x, lambd))
    nan = vector_files.is_nan(got, dtype)
    if row["dtype"] in OPEN_PAYLOAD[file]:
        if np.count_nonzero(nan) != row["count_out_nan"]:
            return f"{np.count_nonzero(nan)} NaNs, measured {row['count_out_nan']}"
        quiet = QUIET_NAN[row["dtype"]]
        got = np.where(nan, got.dtype.type(quiet), got)
        hashed = row[f"sha256_out_nan_as_{quiet:04x}"]
    else:
        hashed = row["sha256_out"]
    if "out" in row:
        want = vector_files.patterns_of(row["out"], dtype)
        if row["dtype"] in OPEN_PAYLOAD[file]:
            want = np.where(vector_files.is_nan(want, dtype), want.dtype.type(quiet), want)
        differing = np.flatnonzero(want != got)
        if differing.size:
            at = int(differing[0])
            return f"element {at}: measured {int(want[at]):x}, got {int(got[at]):x}"
    zeros = np.count_nonzero(got == 0)
    if zeros != row["count_out_zero_bits"]:
        return f"{zeros} zeros, measured {row['count_out_zero_bits']}"
    return "" if vector_files.digest(got) == hashed else "other bits"


@pytest.mark.parametrize("file", FILES)
def test_no_kernel_vector_is_silently_left_out(file):
    rows = vector_files.rows(file)
    assert len(rows) == FILES[file]
    assert sum(map(refused, rows)) == REFUSED[file]
    assert len(compared(file)) == FILES[file] - NOT_COMPARED[file]


def test_fp16_with_a_lambda_beyond_its_range_follows_ieee_rounding():
    rows = [row for row in vector_files.rows("kernel") if "out_cpudebug_half" in row]
    assert len(rows) == 5
    for row in rows:
        assert row["dtype"] == "fp16"
        assert row["out"] != row["out_cpudebug_half"]
        assert difference("kernel", row) == ""
        assert difference("kernel", row | {"out": row["out_cpudebug_half"]}) != ""


@pytest.mark.parametrize("file", FILES)
def test_a_single_flipped_bit_in_a_vector_is_noticed(file):
    row = next(row for row in compared(file) if row["group"] == "special")
    flipped = f"{int(row['out'][0], 16) ^ 8:x}" + row["out"][1:]
    assert difference(file, row) == ""
    assert difference(file, row | {"out": flipped}) != ""
    large = next(row for row in compared(file) if row["group"] == "large")
    assert difference(file, large) == ""
    assert difference(file, large | {"lambd_attr_bits": "3f7fffff"}) != ""
