"""Plays the contract on a device, through the C interface, and prints what came back as JSON.

    python contract_script.py sim|npu CHIP

Run once on the software NPU in process and once through dlopen: both must print the same. Rows of
the measured host vectors go through phase 1; a few hundred whole calls with their results follow.
Addresses are numbered in the order in which they appear, as they differ from run to run.
"""

import hashlib
import itertools
import json
import re
import sys

import ml_dtypes  # noqa: F401 - bfloat16 for NumPy
import numpy as np
import vector_files

import labkit
from labkit.cann.interface import ffi
from labkit.op import data_type

ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
BYTES = 1 << 20


class Player:
    """Calls of the C interface on the device's own thread."""

    def __init__(self, device):
        self.device = device
        memory = ffi().new("void **")
        assert device.call("aclrtMalloc", memory, BYTES, 0) == 0
        self.memory = memory[0]

    def call(self, name, *args):
        return self.device.call(name, *args)

    def tensor(self, desc):
        """An aclTensor for a row's description; NULL for a null pointer."""
        if desc is None:
            return ffi().NULL
        shape, strides = desc["shape"], desc.get("strides")
        storage = desc.get("storage_shape", shape)
        return self.call(
            "aclCreateTensor",
            ffi().new("int64_t[]", shape),
            len(shape),
            data_type(desc["dtype"]).acl_value,
            ffi().NULL if strides is None else ffi().new("int64_t[]", strides),
            desc.get("offset", 0),
            desc.get("format", 2),
            ffi().new("int64_t[]", storage),
            len(storage),
            self.memory,
        )

    def scalar(self, desc):
        """An aclScalar for a row's description; NULL for a null pointer."""
        if desc is None:
            return ffi().NULL
        kind = data_type(desc["dtype"])
        if "bits" in desc:
            raw = vector_files.raw_bytes(kind, desc["bits"])
        else:
            raw = vector_files.scalar(desc).raw
        value = ffi().new("char[]", raw + bytes(16))
        return self.call("aclCreateScalar", ffi().cast("void *", value), kind.acl_value)

    def phase_1(self, row):
        """Code, workspace, message and executor of a row's phase 1; nothing is left behind."""
        told = row["in"]
        tensors = {name: self.tensor(told.get(name)) for name in ("grad", "self", "out")}
        for flag, (first, second) in vector_files._SAME.items():
            if told.get(flag):
                self.call("aclDestroyTensor", tensors[second])
                tensors[second] = tensors[first]
        lambd = self.scalar(told["lambd"])
        backward = "grad" in told
        first = [tensors["grad"]] if backward else []
        size, executor = ffi().new("uint64_t *", 12345), ffi().new("aclOpExecutor **")
        code = self.call(
            f"aclnnHardshrink{'Backward' if backward else ''}GetWorkspaceSize",
            *(*first, tensors["self"], lambd, tensors["out"]),
            ffi().NULL if told.get("null_ws") else size,
            ffi().NULL if told.get("null_executor") else executor,
        )
        message = self.call("aclGetRecentErrMsg")
        said = "" if message == ffi().NULL else ffi().string(message).decode()
        if code == 0:
            assert self.call("aclDestroyAclOpExecutor", executor[0]) == 0
        for tensor in {int(ffi().cast("uintptr_t", t)): t for t in tensors.values()}.values():
            assert self.call("aclDestroyTensor", tensor) == 0
        assert self.call("aclDestroyScalar", lambd) == 0
        return [code, size[0], executor[0] == ffi().NULL, normal(said)]


def normal(text, known=None):
    """A text with its addresses numbered, without the times and threads of messages."""
    known = {} if known is None else known
    text = re.sub(r"\d{4}-\d\d-\d\d[-\d:. ]*|PID: \d+|\[PID: \d+\]|\bTID:? \d+", "TIME", text)
    return ADDRESS.sub(lambda match: known.setdefault(match[0], f"address {len(known)}"), text)


def phase_1(device, chip):
    """Every measured row of a chip: its id, the measured code, what came back."""
    player = Player(device)
    for file in ("host", "forward_host"):
        for row in vector_files.rows(file):
            if row["in"].get("soc", vector_files.DEFAULT_SOC) == chip:
                yield [row["id"], row["out"].get("ret"), *player.phase_1(row)]
    assert device.call("aclrtFree", player.memory) == 0


def calls(device):
    """Whole calls with views, mixed dtypes and broadcasting: code, workspace, record, bits."""
    rng = np.random.default_rng(7)
    dtypes = [np.dtype(np.float32), np.dtype(np.float16), np.dtype("bfloat16")]
    shapes = [((4, 5), (4, 5)), ((4, 1), (1, 5)), ((5,), (4, 5)), ((), (3,)), ((0, 3), (1, 3))]
    views = [
        lambda a: a,
        lambda a: np.ascontiguousarray(a.T).T,
        lambda a: np.repeat(a, 2, -1)[..., ::2],
    ]
    for number, (shape, one, other, view) in enumerate(
        itertools.product(shapes, dtypes, dtypes, views)
    ):
        grad, x = (
            rng.integers(-8, 8, size).astype(np.float32).astype(dtype) / dtype.type(8)
            for size, dtype in zip(shape, (one, other))
        )
        x = view(x) if x.ndim else x
        call = labkit.hardshrink_backward(
            grad, x, lambd=0.3 + number / 100, device=device, check=False
        )
        known = {}
        record = [normal(str(entry), known) for entry in call.record]
        result = call.grad_input
        bits = None if result is None else hashlib.sha256(result.tobytes()).hexdigest()
        yield [call.status, call.workspace_size, record, bits]


def main(kind, chip):
    """Play everything and print it."""
    with labkit.open_device(kind, soc=chip) as device:
        print(json.dumps({"phase 1": list(phase_1(device, chip)), "calls": list(calls(device))}))


if __name__ == "__main__":
    main(*sys.argv[1:])
