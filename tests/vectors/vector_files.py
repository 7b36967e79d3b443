"""The measured vectors as the tests need them: rows, arrays, descriptors, scalars.

The format and how far each figure can be trusted is told in data/vectors/README.md.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from exact import BITS, FLOATS, INFINITY, MAGNITUDE

from labkit.op import DataType, Plan, Scalar, TensorDesc, data_type
from labkit.op import plan_hardshrink as _plan_forward
from labkit.op import plan_hardshrink_backward as _plan_backward

FOLDER = Path(__file__).resolve().parents[2] / "data" / "vectors"
DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
DEFAULT_SOC = "Ascend950PR_9599"

Row = dict[str, Any]
Array = np.ndarray[Any, Any]


@cache
def rows(file: str) -> tuple[Row, ...]:
    """Every row of `<file>.jsonl`, in its order."""
    lines = (FOLDER / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(json.loads(line) for line in lines)


def row(file: str, identity: str) -> Row:
    """The row with that id."""
    return next(entry for entry in rows(file) if entry["id"] == identity)


# -- kernel vectors ------------------------------------------------------------


def patterns_of(text: str, dtype: str) -> Array:
    """Elements written one after another, each as its hex pattern."""
    digits = BITS[dtype].itemsize * 2
    found = [int(text[i : i + digits], 16) for i in range(0, len(text), digits)]
    return np.array(found, BITS[dtype])


def generated(generator: Row, count: int, dtype: str) -> Array:
    """The patterns of a generator (64-bit wrap-around; modes bits, unit, near, iota)."""
    bits = BITS[dtype]
    if generator["mode"] == "iota":
        return np.arange(count, dtype=bits)
    with np.errstate(over="ignore"):
        i = np.arange(1, count + 1, dtype=np.uint64)
        z = np.uint64(generator["seed"]) + i * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    if generator["mode"] == "bits":
        return z.astype(bits)
    if generator["mode"] == "unit":
        half = {"float32": 1 << 23, "float16": 1 << 10, "bfloat16": 1 << 7}[dtype]
        whole = (z & np.uint64(2 * half - 1)).astype(np.int64) - half
        return (whole / half).astype(np.float32).astype(FLOATS[dtype]).view(bits)
    if generator["mode"] == "near":
        steps = (z % np.uint64(17)).astype(np.int64) - 8
        sign = (z >> np.uint64(63)).astype(np.int64) << (8 * bits.itemsize - 1)
        return ((int(generator["center"], 16) + steps) | sign).astype(bits)
    raise ValueError(f"unknown generator {generator}")


def input_of(entry: Row, name: str) -> Array:
    """The patterns of `x` or `grad`, as written and as generated, which must agree."""
    dtype = DTYPES[entry["dtype"]]
    written = patterns_of(entry[name], dtype) if name in entry else None
    made = None
    if "gen" in entry:
        made = generated(entry["gen"].get(name, entry["gen"]), entry["n"], dtype)
    if written is not None and made is not None:
        assert np.array_equal(written, made), f"{entry['id']}: the generator is wrong"
    found = made if written is None else written
    assert found is not None and found.size == entry["n"], entry["id"]
    if f"sha256_{name}" in entry:
        assert digest(found) == entry[f"sha256_{name}"], f"{entry['id']}: {name} is wrong"
    return found


def digest(patterns: Array) -> str:
    """sha256 of the little-endian bytes."""
    little = patterns.astype(patterns.dtype.newbyteorder("<"), copy=False)
    return hashlib.sha256(little.tobytes()).hexdigest()


def is_nan(patterns: Array, dtype: str) -> Array:
    """Where the patterns are NaNs."""
    return (patterns & BITS[dtype].type(MAGNITUDE[dtype])) > INFINITY[dtype]


# -- host vectors --------------------------------------------------------------


def tensor(desc: Row | None) -> TensorDesc | None:
    """The descriptor of a row (null strides mean the row-major ones); None is the null pointer."""
    if desc is None:
        return None
    return TensorDesc(
        desc["dtype"],
        desc["shape"],
        desc.get("strides"),
        desc.get("offset", 0),
        desc.get("storage_shape"),
        desc.get("format", 2),
    )


def scalar(desc: Row | None) -> Scalar | None:
    """The λ of a row, from its bits where it has them; None is the null pointer."""
    if desc is None:
        return None
    kind = data_type(desc["dtype"])
    if "bits" in desc:
        return Scalar(raw=raw_bytes(kind, desc["bits"]), dtype=kind)
    value = desc["value"]
    return Scalar(float(value) if isinstance(value, str) else value, kind)


def raw_bytes(kind: DataType, bits: str) -> bytes:
    """The bytes of a scalar written as hex digits, most significant first."""
    return int(bits, 16).to_bytes(kind.itemsize or 8, "little")


def plan(entry: Row, *, kernel_workspaces: str = "none") -> Plan:
    """What phase 1 decides for a row of host.jsonl or forward_host.jsonl."""
    told, made = entry["in"], {}
    for name in ("grad", "self", "out"):
        made[name] = tensor(told.get(name))
    for flag, (first, second) in _SAME.items():
        if told.get(flag):  # one tensor object given twice
            made[second] = made[first]
    # A scalar that could not be created is a null pointer to phase 1.
    lambd = None if entry["out"].get("create_failed") else scalar(told["lambd"])
    options = {"soc": told.get("soc", DEFAULT_SOC), "kernel_workspaces": kernel_workspaces}
    if "grad" in told:
        return _plan_backward(made["grad"], made["self"], lambd, made["out"], **options)
    return _plan_forward(made["self"], lambd, made["out"], **options)


_SAME = {
    "same_self_out": ("self", "out"),
    "same_grad_out": ("grad", "out"),
    "same_grad_self": ("grad", "self"),
}
