"""The two phases of the software NPU, and the life of an executor.

Models cann/opbase aa3cd74b composite_op/aclnn_engine/op_executor.cpp as it was
seen to run. Phase 1 plans (labkit.op) and binds the plan to the tensors; phase
2 resolves addresses and queues the launches one by one. A non-repeatable
executor dies with its phase 2, good or bad. What the real library does by
accident after that is undefined: strict mode raises `LifetimeError`, lenient
mode returns what was observed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from labkit.errors import DeviceMemoryError, LifetimeError, OverlapError
from labkit.op.aclnn import plan_hardshrink, plan_hardshrink_backward
from labkit.op.contract import Message, check_out_pointers
from labkit.op.plan import Launch, Operand, Plan
from labkit.sim.heap import HeapFault
from labkit.sim.kernels import Task, overlaps, writes_twice
from labkit.sim.runtime import SUCCESS
from labkit.sim.streams import Stream, Work
from labkit.sim.tensors import ScalarObject, TensorObject

if TYPE_CHECKING:
    from labkit.sim.npu import SoftwareNpu

__all__ = ["OPERATORS", "Executor", "Executors", "LaunchLog", "LaunchRecord", "OperatorModel"]

PARAM_NULLPTR = 161001
RUNTIME_ERROR = 361001
INNER = 561000
INNER_NULLPTR = 561103
_DATA_ALIGNMENT = 32


@dataclass(frozen=True)
class OperatorModel:
    """An aclnn operator that the software NPU knows.

    `tensors` names its parameters in order, the scalar among them; `plan`
    takes the descriptors in that order (None for null) and the keywords of
    `plan_hardshrink_backward`.
    """

    name: str
    parameters: tuple[str, ...]
    plan: Callable[..., Plan]


OPERATORS: dict[str, OperatorModel] = {
    "aclnnHardshrinkBackward": OperatorModel(
        "aclnnHardshrinkBackward",
        ("gradOutput", "self", "lambd", "gradInput"),
        plan_hardshrink_backward,
    ),
    "aclnnHardshrink": OperatorModel("aclnnHardshrink", ("self", "lambd", "out"), plan_hardshrink),
}


@dataclass(frozen=True)
class LaunchRecord:
    """One launch that phase 2 made: kernel, core, device addresses, how it went.

    `state` is "queued", "launch-failed" (the launcher refused) or
    "runtime-failed" (the runtime did).
    """

    op_type: str
    core: str
    addresses: tuple[int, ...]
    state: str = "queued"
    stream: int = 0


class LaunchLog:
    """The last launches, and how many there ever were."""

    def __init__(self, limit: int = 10_000) -> None:
        self.total = 0
        self._entries: deque[LaunchRecord] = deque(maxlen=limit)

    def append(self, entry: LaunchRecord) -> None:
        """Add a launch."""
        self.total += 1
        self._entries.append(entry)

    def since(self, total: int) -> list[LaunchRecord]:
        """The launches made after there were `total`, as far as they are still kept."""
        count = min(self.total - total, len(self._entries))
        return list(islice(reversed(self._entries), count))[::-1]

    def __iter__(self) -> Iterator[LaunchRecord]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


@dataclass(eq=False)
class Executor:
    """An aclOpExecutor: a plan bound to tensors."""

    handle: int
    operator: str
    plan: Plan
    tensors: dict[str, TensorObject]
    captured: dict[str, int]
    repeatable: bool = False
    dead: str = ""
    runs: int = 0
    storages: frozenset[int] = field(default_factory=frozenset)


class _Thread(threading.local):
    """What the framework keeps per thread: the argument storages of its last phase 1."""

    arguments: frozenset[int] = frozenset()


class Executors:
    """Phase 1, phase 2 and the calls on executors."""

    def __init__(self, npu: SoftwareNpu) -> None:
        self.npu = npu
        self.live: dict[int, Executor] = {}
        self.gone: OrderedDict[int, str] = OrderedDict()
        self.thread = _Thread()
        self.sequence = 0

    # -- phase 1 ---------------------------------------------------------------

    def phase1(self, model: OperatorModel, *args: Any) -> int:
        """`aclnn...GetWorkspaceSize`: check, plan, and hand out an executor."""
        npu = self.npu
        *pointers, size_out, executor_out = args
        fault = check_out_pointers(size_out == npu.null, executor_out == npu.null)
        if fault is not None:
            self._report(fault.messages, "")
            return fault.status
        name = f"{model.name}_{self.sequence}"
        self.sequence += 1
        objects: dict[str, TensorObject | ScalarObject | None] = {}
        for parameter, pointer in zip(model.parameters, pointers):
            find = npu.tensors.scalar if parameter == "lambd" else npu.tensors.tensor
            objects[parameter] = find(pointer)
        tensors = {key: obj for key, obj in objects.items() if isinstance(obj, TensorObject)}
        self.thread.arguments = frozenset(obj.handle for obj in tensors.values())
        described = [
            None if obj is None else obj.desc if isinstance(obj, TensorObject) else obj.value
            for obj in objects.values()
        ]
        plan = model.plan(*described, soc=npu.soc, kernel_workspaces=npu.kernel_workspaces)
        if not plan.ok:
            self._report(plan.messages, name)
            return plan.status
        self._refuse_negative_sizes(tensors)
        for launch in plan.launches:
            if npu.faults.prepare_code(launch.op_type):
                npu.messages.report("EZ9999", f"{launch.l0}: not prepared", _prepared_as(launch))
                return INNER_NULLPTR
        executor = self._bind(model, plan, tensors)
        size_out[0] = plan.workspace_size
        executor_out[0] = npu.pointer("aclOpExecutor *", executor.handle)
        return SUCCESS

    def _refuse_negative_sizes(self, tensors: dict[str, TensorObject]) -> None:
        """No public source settles what a negative size does; it cannot be run."""
        for name, tensor in tensors.items():
            if any(size < 0 for size in tensor.desc.shape):
                raise DeviceMemoryError(f"{name} {tensor.desc} has a negative size")

    def _bind(self, model: OperatorModel, plan: Plan, tensors: dict[str, TensorObject]) -> Executor:
        used = {
            operand.buffer
            for launch in plan.launches
            for operand in (*launch.inputs, *launch.outputs)
        }
        executor = Executor(
            self.npu.new_handle("aclOpExecutor"),
            model.name,
            plan,
            tensors,
            {name: tensor.address for name, tensor in tensors.items()},
            storages=frozenset(t.handle for name, t in tensors.items() if name in used),
        )
        self.live[executor.handle] = executor
        return executor

    def _report(self, messages: tuple[Message, ...], name: str) -> None:
        for message in messages:
            fields = tuple(
                (key, name if key == "opName" else value) for key, value in message.fields
            )
            planned = dict(message.fields).get("opName", "")
            text = message.text.replace(planned, name, 1) if planned else message.text
            self.npu.messages.add(Message(message.code, message.values, text, fields))

    # -- phase 2 ---------------------------------------------------------------

    def phase2(
        self, model: OperatorModel, workspace: Any, size: int, pointer: Any, stream: Any
    ) -> int:
        """`aclnn...`: queue the planned launches; releases a non-repeatable executor."""
        npu = self.npu
        if npu.address(pointer) == 0:
            npu.messages.report("EZ1001", "executor is a null pointer", "executor")
            return PARAM_NULLPTR
        executor = self._executor(pointer, f"{model.name} (phase 2)", seen=PARAM_NULLPTR)
        if isinstance(executor, int):
            return executor
        base = npu.address(workspace)
        if base == 0 and size > 0:
            npu.messages.report(
                "EZ1001", f"workspace is a null pointer but its size is {size}", "workspace"
            )
            self._release(executor, "phase 2 got a null workspace and released it")
            return PARAM_NULLPTR
        try:
            tasks = [
                self._task(executor, number, launch, base)
                for number, launch in enumerate(executor.plan.launches)
            ]
            if npu.strict:
                self._refuse(executor, tasks, base, size)
            code = self._launch_all(executor, tasks, stream)
        finally:
            if not executor.repeatable:
                self._release(executor, "phase 2 has run, which releases it")
        executor.runs += 1
        return code

    def _task(self, executor: Executor, number: int, launch: Launch, base: int) -> Task:
        inputs = [
            self._address(executor, operand, base)
            for operand in launch.inputs
            if operand.const is None
        ]
        output = self._address(executor, launch.outputs[0], base)
        own = None
        if launch.workspace is not None:
            own = base + executor.plan.workspace_offsets[f"kernel{number}"]
        return Task.of(launch, inputs, output, own)

    def _address(self, executor: Executor, operand: Operand, base: int) -> int:
        assert operand.buffer is not None
        tensor = executor.tensors.get(operand.buffer)
        if tensor is None:
            return base + executor.plan.workspace_offsets[operand.buffer]
        # A redirected output was resolved in phase 1; only repeat mode looks again.
        fixed = operand.redirected and not executor.repeatable
        address = executor.captured[operand.buffer] if fixed else tensor.address
        return address + operand.offset * (operand.dtype.itemsize or 0)

    def _launch_all(self, executor: Executor, tasks: list[Task], stream: Any) -> int:
        npu = self.npu
        queue = npu.runtime.stream_of(stream)
        for launch, task in zip(executor.plan.launches, tasks):
            code = npu.faults.launcher_code(launch.op_type)
            if code or launch.tiling_fault:
                code = code or INNER_NULLPTR
                return self._launcher_failed(task, code, queue)
            code = queue if isinstance(queue, int) else npu.faults.launch_code()
            if code:
                at = 0 if isinstance(queue, int) else queue.handle
                npu.log.append(
                    LaunchRecord(task.op_type, task.core, task.addresses, "runtime-failed", at)
                )
                npu.messages.report("EZ9903", f"the runtime refused a launch: {code}", str(code))
                npu.messages.report(
                    "EZ9903", f"{task.op_type} was not launched", task.op_type, str(RUNTIME_ERROR)
                )
                return RUNTIME_ERROR
            assert isinstance(queue, Stream)
            npu.log.append(
                LaunchRecord(task.op_type, task.core, task.addresses, stream=queue.handle)
            )
            self._queue(queue, executor.operator, task)
        return SUCCESS

    def _launcher_failed(self, task: Task, code: int, queue: Stream | int) -> int:
        npu = self.npu
        at = 0 if isinstance(queue, int) else queue.handle
        state = "launch-failed" if task.core == "AICORE" else "queued"
        addresses = () if task.core == "AICORE" else task.addresses
        npu.log.append(LaunchRecord(task.op_type, task.core, addresses, state, at))
        if task.core == "RTS":
            npu.messages.report("EZ9999", f"the copy failed: {code}", "CopyNpuToNpuOp", str(code))
            npu.messages.report(
                "EZ9903", "CopyToNpu was not launched", "CopyToNpu", str(RUNTIME_ERROR)
            )
            return RUNTIME_ERROR
        npu.messages.report("EZ9999", f"{task.op_type} was not launched", task.op_type, str(code))
        return code

    def _queue(self, queue: Stream, operator: str, task: Task) -> None:
        npu = self.npu

        def run() -> int:
            code = npu.faults.execution_code(task.op_type)
            if code:
                return code
            try:
                task.run(npu.heap)
            except HeapFault as fault:
                return npu.device_fault(fault, _EXCEPTION[task.core], f"{operator}: ")
            npu.executed.append(task)
            return SUCCESS

        queue.push(Work(f"{operator}: {task.op_type}", run, task.reads, (task.writes,)))

    def _refuse(self, executor: Executor, tasks: list[Task], base: int, size: int) -> None:
        """Strict mode: name what the real library would do undefined things with."""
        need = executor.plan.workspace_size
        for name, tensor in executor.tensors.items():
            if not tensor.alive and tensor.handle in executor.storages:
                raise LifetimeError(
                    f"{name} was destroyed before phase 2; the executor still needs it. "
                    "Destroy tensors after phase 2",
                    seen=SUCCESS,
                )
            if tensor.handle in executor.storages and tensor.address % _DATA_ALIGNMENT:
                raise DeviceMemoryError(
                    f"the data address {tensor.address:#x} of {name} is not aligned to "
                    f"{_DATA_ALIGNMENT} bytes"
                )
        if need and size < need:
            raise DeviceMemoryError(
                f"phase 1 asked for {need} bytes of workspace, phase 2 was given {size}; "
                "the kernels would write outside it"
            )
        if need and base % _DATA_ALIGNMENT:
            raise DeviceMemoryError(
                f"the workspace address {base:#x} is not aligned to {_DATA_ALIGNMENT} bytes"
            )
        if need:
            self._check_range(base, need, "the workspace")
        for task in tasks:
            self._refuse_task(task)

    def _refuse_task(self, task: Task) -> None:
        for access, verb in (*((read, "reads") for read in task.reads), (task.writes, "writes")):
            start, nbytes = access.span
            if nbytes:
                self._check_range(start, nbytes, f"{task.op_type} {verb}")
        if task.core == "RTS":
            return
        for read in task.reads:
            same = read.span == task.writes.span and read.strides == task.writes.strides
            if not same and overlaps(read, task.writes):
                raise OverlapError(
                    f"{task.op_type} would write memory that it also reads, shifted against "
                    "itself; input and output must be the same memory or apart"
                )
        if writes_twice(task.writes):
            raise OverlapError(
                f"{task.op_type} would write some output elements twice (stride 0 or overlapping "
                "rows); which value stays is undefined"
            )

    def _check_range(self, start: int, nbytes: int, what: str) -> None:
        try:
            self.npu.heap.check(start, nbytes, what)
        except HeapFault as fault:
            raise (LifetimeError if fault.freed else DeviceMemoryError)(str(fault)) from None

    # -- executors -------------------------------------------------------------

    def _executor(self, pointer: Any, call: str, *, seen: int | None) -> Executor | int:
        handle = self.npu.address(pointer)
        executor = self.live.get(handle)
        if executor is not None:
            return executor
        reason = self.gone.get(handle)
        if reason is None:
            raise LifetimeError(f"{call}: {handle:#x} is no executor that phase 1 gave out")
        if self.npu.strict or seen is None:
            raise LifetimeError(
                f"{call} on an executor that is gone: {reason}. On the real library this is a "
                "use after free. Call phase 1 again, or make the executor repeatable right "
                "after phase 1",
                seen=seen,
            )
        return seen

    def _release(self, executor: Executor, reason: str) -> None:
        executor.dead = reason
        if self.live.pop(executor.handle, None) is not None:
            self.npu.drop_handle(executor.handle)
            self.gone[executor.handle] = reason
            if len(self.gone) > 4096:
                self.gone.popitem(last=False)

    def _null(self, function: str, parameter: str) -> int:
        self.npu.messages.report(
            "EZ1011",
            f"{function}: {parameter} is a null pointer",
            functionName=function,
            paraName=parameter,
        )
        return INNER_NULLPTR

    def aclSetAclOpExecutorRepeatable(self, pointer: Any) -> int:
        if self.npu.address(pointer) == 0:
            return self._null("aclSetAclOpExecutorRepeatable", "executor")
        executor = self._executor(pointer, "aclSetAclOpExecutorRepeatable", seen=SUCCESS)
        if isinstance(executor, int):
            return executor
        if executor.repeatable:
            return SUCCESS
        copies = any(launch.core == "RTS" for launch in executor.plan.launches)
        if copies or not executor.storages <= self.thread.arguments:
            return INNER
        executor.repeatable = True
        return SUCCESS

    def aclDestroyAclOpExecutor(self, pointer: Any) -> int:
        handle = self.npu.address(pointer)
        if handle == 0:
            return self._null("aclDestroyAclOpExecutor", "executor")
        # After phase 2 it was seen to return 0; a second destroy aborts the process.
        destroyed = "destroyed" in self.gone.get(handle, "")
        executor = self._executor(
            pointer, "aclDestroyAclOpExecutor", seen=None if destroyed else SUCCESS
        )
        if isinstance(executor, int):
            return executor
        if self.npu.strict:
            lost = [
                name
                for name, tensor in executor.tensors.items()
                if executor.repeatable and not tensor.alive and tensor.handle in executor.storages
            ]
            if lost:
                self._release(executor, "it was destroyed")
                raise LifetimeError(
                    f"{', '.join(lost)} destroyed before the repeatable executor, whose graph "
                    "still reads the tensors; destroy the executor first",
                    seen=SUCCESS,
                )
        self._release(executor, "it was destroyed")
        return SUCCESS

    def _set_address(self, function: str, executor: Any, tensor: Any, address: Any) -> int:
        found = self.npu.tensors.tensor(tensor)
        if found is None:
            return self._null(function, "tensor")
        found.address = self.npu.address(address)  # before the executor is looked at
        if self.npu.address(executor) == 0:
            return self._null(function, "executor")
        live = self._executor(executor, function, seen=SUCCESS)
        return live if isinstance(live, int) else SUCCESS

    def aclSetInputTensorAddr(self, executor: Any, index: int, tensor: Any, address: Any) -> int:
        return self._set_address("aclSetInputTensorAddr", executor, tensor, address)

    def aclSetOutputTensorAddr(self, executor: Any, index: int, tensor: Any, address: Any) -> int:
        return self._set_address("aclSetOutputTensorAddr", executor, tensor, address)

    def aclSetTensorAddr(self, executor: Any, index: int, tensor: Any, address: Any) -> int:
        return self._set_address("aclSetTensorAddr", executor, tensor, address)


_EXCEPTION = {"AICORE": 507035, "AICPU": 507018, "RTS": 507013}
"""What synchronise reports when a task touches memory that is not there."""


def _prepared_as(launch: Launch) -> str:
    return f"{launch.l0}AiCore" if launch.l0.startswith("HardShrink") else launch.l0
