"""The life of executors: handed out, made repeatable, given addresses, destroyed.

Models cann/opbase aa3cd74b src/nnopbase/common/api/acl_op_api.cpp:476-507 and
composite_op/aclnn_engine/op_executor.cpp:154-200 as they were seen to run. What
the real library does by accident with an executor that is gone is undefined:
strict mode raises `LifetimeError`, lenient mode returns what was observed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from labkit.errors import LifetimeError
from labkit.sim.launches import Executor
from labkit.sim.opcache import OpCache
from labkit.sim.runtime import SUCCESS

if TYPE_CHECKING:
    from labkit.sim.npu import SoftwareNpu

__all__ = ["Executors"]

INNER = 561000
INNER_NULLPTR = 561103
_REMEMBERED = 4096


class _Arguments(threading.local):
    """What the framework keeps per thread: the argument storages of its last phase 1."""

    storages: frozenset[int] = frozenset()


class Executors:
    """The executors of one software NPU, and the op cache they come from.

    `gone` remembers the last ones that ended: why, and whether they came out
    of the cache.
    """

    def __init__(self, npu: SoftwareNpu) -> None:
        self.npu = npu
        self.live: dict[int, Executor] = {}
        self.gone: OrderedDict[int, tuple[str, bool]] = OrderedDict()
        self.arguments = _Arguments()
        self.cache = OpCache(npu.environ)

    def is_hit(self, handle: int) -> bool:
        """Whether an executor came out of the op cache."""
        executor = self.live.get(handle)
        return executor is not None and executor.hit

    def find(self, pointer: Any, call: str, *, seen: int | None) -> Executor | int:
        """The live executor behind a handle; for one that is gone, an error or `seen`."""
        handle = self.npu.address(pointer)
        executor = self.live.get(handle)
        if executor is not None:
            return executor
        if handle not in self.gone:
            raise LifetimeError(f"{call}: {handle:#x} is no executor that phase 1 gave out")
        reason, was_hit = self.gone[handle]
        if was_hit:  # its memory is not pooled: the real library was seen to crash
            seen = None
        if self.npu.strict or seen is None:
            raise LifetimeError(
                f"{call} on an executor that is gone: {reason}. On the real library this is a "
                "use after free. Call phase 1 again, or make the executor repeatable right "
                "after phase 1",
                seen=seen,
            )
        return seen

    def release(self, executor: Executor, reason: str) -> None:
        """The executor ends; `reason` is told to whoever uses it afterwards."""
        if self.live.pop(executor.handle, None) is not None:
            self.npu.drop_handle(executor.handle)
            self.gone[executor.handle] = (reason, executor.hit)
            for entry in executor.evicted:
                entry.freed = True
            made = executor.entry
            if made is not None and made.state == "new" and not executor.hit:
                self.cache.withdraw(made)
            if len(self.gone) > _REMEMBERED:
                self.gone.popitem(last=False)

    def _null(self, function: str, parameter: str) -> int:
        self.npu.messages.report_null(function, parameter)
        return INNER_NULLPTR

    def aclSetAclOpExecutorRepeatable(self, pointer: Any) -> int:
        if self.npu.address(pointer) == 0:
            return self._null("aclSetAclOpExecutorRepeatable", "executor")
        executor = self.find(pointer, "aclSetAclOpExecutorRepeatable", seen=SUCCESS)
        if isinstance(executor, int):
            return executor
        if executor.repeatable:
            return SUCCESS
        if executor.hit:
            return INNER
        copies = any(launch.core == "RTS" for launch in executor.plan.launches)
        if copies or not executor.storages <= self.arguments.storages:
            return INNER
        executor.repeatable = True
        if executor.entry is not None:
            self.cache.withdraw(executor.entry)
        return SUCCESS

    def aclDestroyAclOpExecutor(self, pointer: Any) -> int:
        handle = self.npu.address(pointer)
        if handle == 0:
            return self._null("aclDestroyAclOpExecutor", "executor")
        # After phase 2 it was seen to return 0; a second destroy aborts the process.
        destroyed = "destroyed" in self.gone.get(handle, ("", False))[0]
        executor = self.find(
            pointer, "aclDestroyAclOpExecutor", seen=None if destroyed else SUCCESS
        )
        if isinstance(executor, int):
            return executor
        if self.npu.strict:
            orphans = [
                name
                for name, tensor in executor.tensors.items()
                if executor.repeatable and not tensor.alive and tensor.handle in executor.storages
            ]
            if orphans:
                self.release(executor, "it was destroyed")
                raise LifetimeError(
                    f"{', '.join(orphans)} destroyed before the repeatable executor, whose graph "
                    "still reads the tensors; destroy the executor first",
                    seen=SUCCESS,
                )
        self.release(executor, "it was destroyed")
        return SUCCESS

    def _set_address(self, function: str, executor: Any, tensor: Any, address: Any) -> int:
        found = self.npu.tensors.tensor(tensor)
        if found is None:
            return self._null(function, "tensor")
        found.address = self.npu.address(address)  # before the executor is looked at
        if self.npu.address(executor) == 0:
            return self._null(function, "executor")
        live = self.find(executor, function, seen=SUCCESS)
        return live if isinstance(live, int) else SUCCESS

    def aclSetInputTensorAddr(self, executor: Any, index: int, tensor: Any, address: Any) -> int:
        return self._set_address("aclSetInputTensorAddr", executor, tensor, address)

    def aclSetOutputTensorAddr(self, executor: Any, index: int, tensor: Any, address: Any) -> int:
        return self._set_address("aclSetOutputTensorAddr", executor, tensor, address)

    def aclSetTensorAddr(self, executor: Any, index: int, tensor: Any, address: Any) -> int:
        return self._set_address("aclSetTensorAddr", executor, tensor, address)
