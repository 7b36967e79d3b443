"""Plays one scripted sequence of lifecycle.jsonl on the software NPU, through its C interface."""

from __future__ import annotations

import re
import threading
from typing import Any

from labkit.errors import LabError, LifetimeError
from labkit.op.dtypes import data_type
from labkit.sim import SoftwareNpu

NAMED_BYTES = 4096
WORKSPACE_BYTES = 64 * 1024 * 1024


class Script:
    """One machine, with the names that a sequence uses for addresses, tensors and executors."""

    def __init__(self, sequence: dict[str, Any], *, strict: bool) -> None:
        env = sequence.get("env", {})
        self.npu = SoftwareNpu(
            sequence["soc"],
            strict=strict,
            kernel_workspaces="auto" if sequence["kernel_workspaces"] == "950" else "none",
            **({"environ": env} if env else {}),
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
            size = WORKSPACE_BYTES if name.startswith("ws") else NAMED_BYTES
            assert self.call("aclrtMalloc", out, size, 0) == 0
            self.addresses[name] = self.npu.address(out[0])
        return self.ffi.cast("void *", self.addresses[name])

    def named(self, address: int) -> str:
        for name, start in self.addresses.items():
            size = WORKSPACE_BYTES if name.startswith("ws") else NAMED_BYTES
            if start <= address < start + size:
                return name if address == start else f"{name}+{address - start}"
        return "null" if address == 0 else hex(address)

    def stream(self, name: str | None) -> Any:
        if name is None:
            return self.ffi.NULL
        if name not in self.streams:
            out = self.ffi.new("void **")
            assert self.call("aclrtCreateStream", out) == 0
            self.streams[name] = out[0]
        return self.streams[name]

    # -- steps -----------------------------------------------------------------

    def play(self, step: list[Any]) -> dict[str, Any]:
        verb, *args = step
        before = set(self.npu.executors.live)
        logged = len(self.npu.log)
        result = getattr(self, f"do_{verb}")(*args)
        launched = list(self.npu.log)[logged:]
        if verb == "phase2" and launched:
            result["launched"] = [self._launch(entry) for entry in launched]
        gone = before - set(self.npu.executors.live)
        if gone:
            by_handle = {self.npu.address(p): n for n, p in self.executors.items()}
            result["destroyed"] = [by_handle[handle] for handle in sorted(gone)]
        return result

    def _launch(self, entry: Any) -> list[Any]:
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
        if "bits" in desc:
            raw = int(desc["bits"], 16).to_bytes(kind.itemsize or 8, "little")
        else:
            from labkit.op.scalar import Scalar

            raw = Scalar(float(desc["value"]), kind).raw
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
        tensor = lambda name: self.ffi.NULL if name is None else self.tensors[name]  # noqa: E731
        size = self.ffi.new("uint64_t *", 12345)
        executor = self.ffi.new("aclOpExecutor **")
        status = self.call(
            "aclnnHardshrinkBackwardGetWorkspaceSize",
            tensor(grad),
            tensor(self_),
            self.ffi.NULL if lambd is None else self.scalars[lambd],
            tensor(out),
            self.ffi.NULL if null == "null_ws" else size,
            self.ffi.NULL if null == "null_executor" else executor,
        )
        if status:
            untouched = size[0] == 12345 and executor[0] == self.ffi.NULL
            word = "untouched" if untouched else "changed"
            return {"ret": status, "ws": word, "executor": word}
        self.sizes[size_name] = size[0]
        self.executors[executor_name] = executor[0]
        hit = getattr(self.npu.executors, "is_hit", lambda handle: False)
        kind = "cache_hit" if hit(self.npu.address(executor[0])) else "new"
        return {"ret": 0, "ws": size[0], "executor": kind}

    def do_phase2(
        self, workspace: Any, size: Any, executor: str | None, stream: str | None
    ) -> dict[str, Any]:
        status = self.call(
            "aclnnHardshrinkBackward",
            self.address(workspace),
            self.sizes[size] if isinstance(size, str) else size,
            self.ffi.NULL if executor is None else self.executors[executor],
            self.stream(stream),
        )
        return {"ret": status}

    def do_repeatable(self, executor: str | None) -> dict[str, Any]:
        pointer = self.ffi.NULL if executor is None else self.executors[executor]
        return {"ret": self.call("aclSetAclOpExecutorRepeatable", pointer)}

    def do_destroy(self, executor: str | None) -> dict[str, Any]:
        pointer = self.ffi.NULL if executor is None else self.executors[executor]
        return {"ret": self.call("aclDestroyAclOpExecutor", pointer)}

    def _set(self, function: str, executor: str, index: int, tensor: str, address: Any) -> Any:
        return {
            "ret": self.call(
                function,
                self.executors[executor],
                index,
                self.tensors[tensor],
                self.address(address),
            )
        }

    def do_set_input(self, *args: Any) -> Any:
        return self._set("aclSetInputTensorAddr", *args)

    def do_set_output(self, *args: Any) -> Any:
        return self._set("aclSetOutputTensorAddr", *args)

    def do_set_tensor(self, *args: Any) -> Any:
        return self._set("aclSetTensorAddr", *args)

    def do_set_raw(self, tensor: str, address: Any) -> Any:
        args = (self.tensors[tensor], self.address(address))
        return {"ret": self.call("aclSetRawTensorAddr", *args)}

    def do_destroy_tensor(self, name: str) -> Any:
        return {"ret": self.call("aclDestroyTensor", self.tensors[name])}

    def do_destroy_scalar(self, name: str) -> Any:
        return {"ret": self.call("aclDestroyScalar", self.scalars[name])}

    def do_inject(self, kernel: str, code: int | None) -> Any:
        name = {"memcpy": "CopyNpuToNpu"}.get(kernel, kernel)
        if kernel.startswith("GetWorkspace:"):
            self.npu.faults.fail_prepare(kernel.partition(":")[2], code)
        else:
            self.npu.faults.fail_launcher(name, code)
        return {}

    def do_inject_rt(self, after: int | None, code: int = 507011) -> Any:
        if after is None:
            self.npu.faults.cancel_launch()
        else:
            self.npu.faults.fail_runtime_launch(after, code)
        return {}

    def do_thread(self, steps: list[Any]) -> Any:
        results: list[Any] = []

        def run() -> None:
            self.call("aclrtSetDevice", 0)
            for step in steps:  # of a thread's steps only the returned values were recorded
                played = self.play(step)
                results.append({key: played[key] for key in ("ret", "ws", "executor") if key in played})

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        return {"steps": results}

    def do_sleep(self, seconds: float) -> Any:
        return {}

    def do_errs(self) -> Any:
        return {"messages": [_message(entry) for entry in self.npu.messages.take()]}

    def do_errmsg(self) -> Any:
        pointer = self.call("aclGetRecentErrMsg")
        text = self.ffi.string(pointer).decode()
        found = re.findall(r"E[A-Z]?\d{4}", text)
        return {"codes_in_text": {code: found.count(code) for code in dict.fromkeys(found)}}


def _message(entry: Any) -> dict[str, Any]:
    fields = dict(entry.fields)
    if "reason" in fields:
        fields["shapes_in_reason"] = re.findall(r"\[[^]]*\]", fields.pop("reason"))
    if fields:
        return {"code": entry.code, **fields}
    return {"code": entry.code, "values": list(entry.values)}


__all__ = ["LabError", "LifetimeError", "Script"]
