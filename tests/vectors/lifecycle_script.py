"""Plays one scripted sequence of lifecycle.jsonl on the software NPU, through its C interface.

A sequence names its tensors, scalars, executors, streams and addresses; a step
is a verb with arguments. What a step returns is compared with what the real
framework returned for it.
"""

from __future__ import annotations

import inspect
import re
import threading
from typing import Any

from vector_files import raw_bytes

from labkit.op import Scalar, data_type
from labkit.sim import SoftwareNpu

NAMED_BYTES = 4096
WORKSPACE_BYTES = 64 * 1024 * 1024
UNTOUCHED = 12345

HAS_OP_CACHE = "environ" in inspect.signature(SoftwareNpu).parameters
"""Whether the software NPU has the op cache, which reads its switches from an environment."""


class Script:
    """One machine, with the names that a sequence uses for addresses, tensors and executors."""

    def __init__(self, sequence: dict[str, Any], *, strict: bool) -> None:
        # Without an op cache every phase 1 is a miss, whatever the switches say.
        switches = {"environ": sequence.get("env", {})} if HAS_OP_CACHE else {}
        self.npu = SoftwareNpu(
            sequence["soc"],
            strict=strict,
            kernel_workspaces="auto" if sequence["kernel_workspaces"] == "950" else "none",
            **switches,
        )
        self.ffi = self.npu.ffi
        self.addresses: dict[str, int] = {}
        self.tensors: dict[str, Any] = {}
        self.scalars: dict[str, Any] = {}
        self.sizes: dict[str, int] = {}
        self.executors: dict[str, Any] = {}
        self.streams: dict[str, Any] = {}
        self.call("aclrtSetDevice", 0)
        for name, desc in sequence["tensors"].items():
            self.do_tensor(name, desc)
        for name, desc in sequence["scalars"].items():
            self.do_scalar(name, desc)

    def call(self, name: str, *args: Any) -> Any:
        """Call a C function; raises what the software NPU wants raised."""
        result = self.npu.symbol(name)(*args)
        error = self.npu.take_error()
        if error is not None:
            raise error
        return result

    # -- names -----------------------------------------------------------------

    def address(self, name: Any) -> Any:
        """The device address that a sequence calls by a name; numbers stay numbers."""
        if name is None:
            return self.ffi.NULL
        if not isinstance(name, str):
            return self.ffi.cast("void *", name)
        if name not in self.addresses:
            out = self.ffi.new("void **")
            assert self.call("aclrtMalloc", out, self.bytes_of(name), 0) == 0
            self.addresses[name] = self.npu.address(out[0])
        return self.ffi.cast("void *", self.addresses[name])

    def bytes_of(self, name: str) -> int:
        """How much memory stands behind a named address."""
        return WORKSPACE_BYTES if name.startswith("ws") else NAMED_BYTES

    def named(self, address: int) -> str:
        """An address as the vectors write it: name, name+bytes, null, or a number."""
        for name, start in self.addresses.items():
            if start <= address < start + self.bytes_of(name):
                return name if address == start else f"{name}+{address - start}"
        return "null" if address == 0 else hex(address)

    def stream(self, name: str | None) -> Any:
        """The stream of that name; None is the null stream."""
        if name is None:
            return self.ffi.NULL
        if name not in self.streams:
            out = self.ffi.new("void **")
            assert self.call("aclrtCreateStream", out) == 0
            self.streams[name] = out[0]
        return self.streams[name]

    # -- steps -----------------------------------------------------------------

    def play(self, step: list[Any]) -> dict[str, Any]:
        """Play one step; returns what the vectors record of it."""
        verb, *args = step
        before = set(self.npu.executors.live)
        logged = len(self.npu.log)
        queued = self.queue_lengths()
        result = getattr(self, f"do_{verb}")(*args)
        if verb == "phase2":
            self.add_launches(result, logged, queued)
        gone = before - set(self.npu.executors.live)
        if gone and verb != "thread":  # of a thread's steps only what they returned was recorded
            by_handle = {self.npu.address(p): n for n, p in self.executors.items()}
            result["destroyed"] = [by_handle[handle] for handle in sorted(gone)]
        return result

    def add_launches(self, result: dict[str, Any], logged: int, queued: dict[str, int]) -> None:
        """Add what phase 2 launched, and on which stream."""
        launched = list(self.npu.log)[logged:]
        if not launched:
            return
        result["launched"] = [self.launch(entry) for entry in launched]
        now = self.queue_lengths()
        grown = [name for name, length in now.items() if length > queued.get(name, 0)]
        if grown:
            (result["stream"],) = grown

    def queue_lengths(self) -> dict[str, int]:
        """How many pieces of work wait on each named stream ("null": the default one)."""
        runtime = self.npu.runtime
        named = {None: "null"} | {name: name for name in self.streams}
        streams = {shown: runtime.stream_of(self.stream(name)) for name, shown in named.items()}
        return {shown: len(stream.queue) for shown, stream in streams.items()}

    def launch(self, entry: Any) -> list[Any]:
        """One entry of the launch log as the vectors write it."""
        op = "memcpyAsync" if entry.op_type == "CopyNpuToNpu" else entry.op_type
        row = [op, entry.core, [self.named(a) for a in entry.addresses]]
        return row if entry.state == "queued" else [*row, entry.state]

    def do_tensor(self, name: str, desc: dict[str, Any]) -> dict[str, Any]:
        shape, strides = desc["shape"], desc.get("strides")
        storage = desc.get("storage_shape", shape)
        new = self.ffi.new
        self.tensors[name] = self.call(
            "aclCreateTensor",
            new("int64_t[]", shape),
            len(shape),
            data_type(desc["dtype"]).acl_value,
            self.ffi.NULL if strides is None else new("int64_t[]", strides),
            desc.get("offset", 0),
            desc.get("format", 2),
            new("int64_t[]", storage),
            len(storage),
            self.address(desc.get("addr", name)),
        )
        return {"null": self.tensors[name] == self.ffi.NULL}

    def do_scalar(self, name: str, desc: dict[str, Any]) -> dict[str, Any]:
        kind = data_type(desc["dtype"])
        raw = (
            raw_bytes(kind, desc["bits"])
            if "bits" in desc
            else Scalar(float(desc["value"]), kind).raw
        )
        value = self.ffi.new("char[]", raw + b"\0" * 16)
        pointer = self.call("aclCreateScalar", self.ffi.cast("void *", value), kind.acl_value)
        self.scalars[name] = pointer
        return {"null": pointer == self.ffi.NULL}

    def do_phase1(
        self,
        grad: str | None,
        self_: str | None,
        lambd: str | None,
        out: str | None,
        size_name: str,
        executor_name: str,
        null: str = "",
    ) -> dict[str, Any]:
        size = self.ffi.new("uint64_t *", UNTOUCHED)
        executor = self.ffi.new("aclOpExecutor **")
        status = self.call(
            "aclnnHardshrinkBackwardGetWorkspaceSize",
            self.given(self.tensors, grad),
            self.given(self.tensors, self_),
            self.given(self.scalars, lambd),
            self.given(self.tensors, out),
            self.ffi.NULL if null == "null_ws" else size,
            self.ffi.NULL if null == "null_executor" else executor,
        )
        if status:
            return {
                "ret": status,
                "ws": "untouched" if size[0] == UNTOUCHED else "changed",
                "executor": "untouched" if executor[0] == self.ffi.NULL else "changed",
            }
        self.sizes[size_name] = size[0]
        self.executors[executor_name] = executor[0]
        hit = HAS_OP_CACHE and self.npu.executors.is_hit(self.npu.address(executor[0]))
        return {"ret": 0, "ws": size[0], "executor": "cache_hit" if hit else "new"}

    def given(self, table: dict[str, Any], name: str | None) -> Any:
        """The object of that name in a table; None is the null pointer."""
        return self.ffi.NULL if name is None else table[name]

    def do_phase2(
        self, workspace: Any, size: Any, executor: str | None, stream: str | None
    ) -> dict[str, Any]:
        status = self.call(
            "aclnnHardshrinkBackward",
            self.address(workspace),
            self.sizes[size] if isinstance(size, str) else size,
            self.given(self.executors, executor),
            self.stream(stream),
        )
        return {"ret": status}

    def do_repeatable(self, executor: str | None) -> dict[str, Any]:
        pointer = self.given(self.executors, executor)
        return {"ret": self.call("aclSetAclOpExecutorRepeatable", pointer)}

    def do_destroy(self, executor: str | None) -> dict[str, Any]:
        pointer = self.given(self.executors, executor)
        return {"ret": self.call("aclDestroyAclOpExecutor", pointer)}

    def set_address(
        self, function: str, executor: str | None, index: int, tensor: str | None, address: Any
    ) -> dict[str, Any]:
        pointer = self.given(self.executors, executor)
        target = self.given(self.tensors, tensor)
        return {"ret": self.call(function, pointer, index, target, self.address(address))}

    def do_set_input(self, *args: Any) -> dict[str, Any]:
        return self.set_address("aclSetInputTensorAddr", *args)

    def do_set_output(self, *args: Any) -> dict[str, Any]:
        return self.set_address("aclSetOutputTensorAddr", *args)

    def do_set_tensor(self, *args: Any) -> dict[str, Any]:
        return self.set_address("aclSetTensorAddr", *args)

    def do_set_raw(self, tensor: str | None, address: Any) -> dict[str, Any]:
        target = self.given(self.tensors, tensor)
        return {"ret": self.call("aclSetRawTensorAddr", target, self.address(address))}

    def do_destroy_tensor(self, name: str) -> dict[str, Any]:
        return {"ret": self.call("aclDestroyTensor", self.tensors[name])}

    def do_destroy_scalar(self, name: str) -> dict[str, Any]:
        return {"ret": self.call("aclDestroyScalar", self.scalars[name])}

    def do_inject(self, kernel: str, code: int | None) -> dict[str, Any]:
        if kernel.startswith("GetWorkspace:"):
            self.npu.faults.fail_prepare(kernel.partition(":")[2], code)
        else:
            name = "CopyNpuToNpu" if kernel == "memcpy" else kernel
            self.npu.faults.fail_launcher(name, code)
        return {}

    def do_inject_rt(self, after: int | None, code: int = 507011) -> dict[str, Any]:
        if after is None:
            self.npu.faults.cancel_launch()
        else:
            self.npu.faults.fail_runtime_launch(after, code)
        return {}

    def do_thread(self, steps: list[Any]) -> dict[str, Any]:
        results: list[Any] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                self.call("aclrtSetDevice", 0)
                for step in steps:  # of a thread's steps only the returned values were recorded
                    played = self.play(step)
                    kept = ("ret", "ws", "executor")
                    results.append({key: played[key] for key in kept if key in played})
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        if errors:
            raise errors[0]
        return {"steps": results}

    def do_sleep(self, seconds: float) -> dict[str, Any]:
        return {}

    def do_errs(self) -> dict[str, Any]:
        return {"messages": [message(entry) for entry in self.npu.messages.take()]}

    def do_errmsg(self) -> dict[str, Any]:
        text = self.ffi.string(self.call("aclGetRecentErrMsg")).decode()
        found = re.findall(r"E[A-Z]?\d{4}", text)
        return {"codes_in_text": {code: found.count(code) for code in dict.fromkeys(found)}}


def message(entry: Any) -> dict[str, Any]:
    """An entry of the error list as the vectors write it: code and values, no text."""
    fields = dict(entry.fields)
    if "reason" in fields:
        fields["shapes_in_reason"] = re.findall(r"\[[^]]*\]", fields.pop("reason"))
    return {"code": entry.code, **(fields or {"values": list(entry.values)})}
