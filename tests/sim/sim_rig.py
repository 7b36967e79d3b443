"""The software NPU on a bench: its C functions called one by one, as a C program would."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.cann.interface import ffi
from labkit.op.dtypes import data_type
from labkit.op.scalar import Scalar
from labkit.sim import SoftwareNpu

A950 = "Ascend950PR_9599"
A2 = "Ascend910B1"
A3 = "Ascend910_9391"
A910 = "Ascend910A"
A310P = "Ascend310P3"
A310B = "Ascend310B1"

H2H, H2D, D2H, D2D = 0, 1, 2, 3
NULL = ffi().NULL

BACKWARD = "aclnnHardshrinkBackward"
FORWARD = "aclnnHardshrink"


class Rig:
    """One software NPU with device 0 set in this thread, and short names for its calls."""

    def __init__(self, soc: str = A950, *, strict: bool = True, **options: Any) -> None:
        self.npu = SoftwareNpu(soc, strict=strict, **options)
        self.ffi = ffi()
        assert self("aclrtSetDevice", 0) == 0

    def __call__(self, name: str, *args: Any) -> Any:
        """Call a C function; an error that it left is raised, a code is returned."""
        result = self.npu.symbol(name)(*args)
        error = self.npu.take_error()
        if error is not None:
            raise error
        return result

    def new(self, ctype: str, *init: Any) -> Any:
        return self.ffi.new(ctype, *init)

    def pointer(self, address: int) -> Any:
        return self.ffi.cast("void *", address)

    def out(self, name: str, ctype: str, *args: Any) -> Any:
        """Call a function whose first argument is an out pointer; what it received."""
        cell = self.new(f"{ctype} *")
        assert self(name, cell, *args) == 0
        return cell[0]

    def messages(self) -> list[tuple[str, tuple[str, ...]]]:
        """Code and values of what this thread's error list holds; empties it."""
        return [(entry.code, entry.values) for entry in self.npu.messages.take()]

    def codes(self) -> list[str]:
        return [code for code, _ in self.messages()]

    # -- memory ----------------------------------------------------------------

    def malloc(self, size: int) -> int:
        return self.npu.address(self.out("aclrtMalloc", "void *", size, 0))

    def free(self, address: int) -> int:
        return self("aclrtFree", self.pointer(address))

    def write(self, address: int, data: bytes) -> int:
        source = self.ffi.from_buffer(data)
        return self("aclrtMemcpy", self.pointer(address), len(data), source, len(data), H2D)

    def read(self, address: int, count: int) -> bytes:
        target = self.new("char[]", count)
        code = self("aclrtMemcpy", target, count, self.pointer(address), count, D2H)
        assert code == 0, code
        return bytes(self.ffi.buffer(target))

    def upload(self, array: np.ndarray) -> int:
        address = self.malloc(max(1, array.nbytes))
        assert self.write(address, array.tobytes()) == 0
        return address

    def download(self, address: int, shape: Any, dtype: Any) -> np.ndarray:
        kind = np.dtype(dtype)
        count = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        return np.frombuffer(self.read(address, count), kind).reshape(shape)

    # -- streams and events ----------------------------------------------------

    def stream(self) -> Any:
        return self.out("aclrtCreateStream", "aclrtStream")

    def event(self) -> Any:
        return self.out("aclrtCreateEvent", "aclrtEvent")

    def synchronize(self, stream: Any = NULL) -> int:
        return self("aclrtSynchronizeStream", stream)

    def queue_memset(self, address: int, value: int, count: int, stream: Any = NULL) -> int:
        return self("aclrtMemsetAsync", self.pointer(address), count, value, count, stream)

    # -- aclnn objects ---------------------------------------------------------

    def tensor(
        self,
        dtype: Any,
        shape: Any,
        address: int = 0,
        *,
        strides: Any = None,
        offset: int = 0,
        storage: Any = None,
    ) -> Any:
        shape = tuple(shape)
        storage = shape if storage is None else tuple(storage)
        return self(
            "aclCreateTensor",
            self.new("int64_t[]", shape),
            len(shape),
            dtype if isinstance(dtype, int) else data_type(dtype).acl_value,
            NULL if strides is None else self.new("int64_t[]", tuple(strides)),
            offset,
            2,
            self.new("int64_t[]", storage),
            len(storage),
            self.pointer(address),
        )

    def scalar(self, value: float = 0.5, dtype: Any = "float32") -> Any:
        kind = data_type(dtype)
        raw = self.new("char[]", Scalar(value, kind).raw)
        return self("aclCreateScalar", self.ffi.cast("void *", raw), kind.acl_value)

    # -- the two phases --------------------------------------------------------

    def phase1(self, *arguments: Any, op: str = BACKWARD) -> tuple[int, int, Any]:
        """Status, workspace size and executor; -1 and null where phase 1 wrote nothing."""
        size = self.new("uint64_t *", 2**64 - 1)
        executor = self.new("aclOpExecutor **")
        status = self(f"{op}GetWorkspaceSize", *arguments, size, executor)
        return status, -1 if size[0] == 2**64 - 1 else size[0], executor[0]

    def phase2(
        self,
        executor: Any,
        workspace: int = 0,
        size: int = 0,
        stream: Any = NULL,
        op: str = BACKWARD,
    ) -> int:
        return self(op, self.pointer(workspace), size, executor, stream)


class Call:
    """A backward call on small tensors, prepared up to phase 1's doorstep.

    grad is [1, 2, 3, 4], self is [0.25, 0.5, 0.75, -1], λ is 0.5: the result
    is [0, 0, 3, 4].
    """

    GRAD = np.array([1, 2, 3, 4], np.float32)
    SELF = np.array([0.25, 0.5, 0.75, -1], np.float32)
    RESULT = np.array([0, 0, 3, 4], np.float32)

    def __init__(self, rig: Rig, **out: Any) -> None:
        self.rig = rig
        self.size = self.workspace = 0
        self.addresses = {
            "grad": rig.upload(self.GRAD),
            "self": rig.upload(self.SELF),
            "out": rig.upload(np.full(16, 9, np.float32)),
        }
        self.grad = rig.tensor("float32", (4,), self.addresses["grad"])
        self.x = rig.tensor("float32", (4,), self.addresses["self"])
        self.lambd = rig.scalar(0.5)
        self.out = rig.tensor("float32", (4,), self.addresses["out"], **out)

    def phase1(self) -> tuple[int, int, Any]:
        return self.rig.phase1(self.grad, self.x, self.lambd, self.out)

    def executor(self) -> Any:
        status, self.size, executor = self.phase1()
        assert status == 0
        return executor

    def phase2(self, executor: Any, stream: Any = NULL) -> int:
        if self.size and not self.workspace:
            self.workspace = self.rig.malloc(self.size)
        return self.rig.phase2(executor, self.workspace, self.size, stream)

    def result(self) -> np.ndarray:
        return self.rig.download(self.addresses["out"], (4,), np.float32)


def in_thread(function: Callable[[], Any]) -> Any:
    """Run a function in a new thread; its result, or its error raised here."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append((True, function()))
        except BaseException as error:
            outcome.append((False, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "the thread hangs"
    good, value = outcome[0]
    if not good:
        raise value
    return value


def same_bits(have: np.ndarray, want: np.ndarray) -> bool:
    """Equal dtype, shape and every bit: the sign of zero and NaN payloads count."""
    return (
        have.dtype == want.dtype and have.shape == want.shape and have.tobytes() == want.tobytes()
    )


__all__ = [
    "A2",
    "A3",
    "A310B",
    "A310P",
    "A910",
    "A950",
    "BACKWARD",
    "D2D",
    "D2H",
    "FORWARD",
    "H2D",
    "H2H",
    "NULL",
    "Call",
    "Rig",
    "in_thread",
    "same_bits",
]
