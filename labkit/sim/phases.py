"""The two phases of an aclnn operator on the software NPU.

Models cann/opbase aa3cd74b composite_op/aclnn_engine/op_executor.cpp as it was
seen to run. Phase 1 plans (labkit.op) and binds the plan to the tensors; phase
2 resolves addresses and queues the launches one by one. A non-repeatable
executor dies with its phase 2, good or bad.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.errors import DeviceMemoryError, LifetimeError
from labkit.op.contract import Message, check_out_pointers
from labkit.op.plan import Launch, Operand, Plan
from labkit.sim.executors import INNER, INNER_NULLPTR
from labkit.sim.heap import HeapFault
from labkit.sim.kernels import Task
from labkit.sim.launches import Executor, LaunchRecord, OperatorModel
from labkit.sim.opcache import cache_key
from labkit.sim.refusals import refuse_undefined
from labkit.sim.runtime import SUCCESS
from labkit.sim.streams import Stream, Work
from labkit.sim.tensors import ScalarObject, TensorObject

if TYPE_CHECKING:
    from labkit.sim.npu import SoftwareNpu

__all__ = ["Phases"]

PARAM_NULLPTR = 161001
RUNTIME_ERROR = 361001


class Phases:
    """Phase 1 and phase 2 of every operator that the software NPU knows."""

    def __init__(self, npu: SoftwareNpu) -> None:
        self.npu = npu
        self.executors = npu.executors
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
            find = npu.tensors.scalar if parameter in model.scalars else npu.tensors.tensor
            objects[parameter] = find(pointer)
        tensors = {key: obj for key, obj in objects.items() if isinstance(obj, TensorObject)}
        self.executors.arguments.storages = frozenset(obj.handle for obj in tensors.values())
        described = [
            None if obj is None else obj.desc if isinstance(obj, TensorObject) else obj.value
            for obj in objects.values()
        ]
        known_as = f"{model.name} {model.revision}" if model.revision else model.name
        key = cache_key(known_as, tuple(objects.values()), tuple(described))
        entry = self.executors.cache.find(key)
        if entry is not None:
            executor = self._bind(model, entry.plan, tensors)
            executor.hit, executor.entry = True, entry
            return self._hand_out(executor, size_out, executor_out)
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
        executor.entry, executor.evicted = self.executors.cache.add(key, plan)
        return self._hand_out(executor, size_out, executor_out)

    def _hand_out(self, executor: Executor, size_out: Any, executor_out: Any) -> int:
        size_out[0] = executor.plan.workspace_size
        executor_out[0] = self.npu.pointer("aclOpExecutor *", executor.handle)
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
        self.executors.live[executor.handle] = executor
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
        executor = self.executors.find(pointer, f"{model.name} (phase 2)", seen=PARAM_NULLPTR)
        if isinstance(executor, int):
            return executor
        base = npu.address(workspace)
        if base == 0 and size > 0:
            npu.messages.report(
                "EZ1001", f"workspace is a null pointer but its size is {size}", "workspace"
            )
            self.executors.release(executor, "phase 2 got a null workspace and released it")
            return PARAM_NULLPTR
        if executor.entry is not None and executor.entry.freed:
            self.executors.release(executor, "its op-cache entry was freed")
            raise LifetimeError(
                f"{model.name} (phase 2): the op-cache entry that this executor stands on was "
                "pushed out of a full cache and freed when the executor that pushed it out "
                "ended. On the real library this is a use after free (ACLNN_CACHE_LIMIT is "
                f"{self.executors.cache.limit}); raise it, or run phase 2 right after phase 1"
            )
        code = INNER
        try:
            tasks = [
                self._task(executor, number, launch, base)
                for number, launch in enumerate(executor.plan.launches)
            ]
            if npu.strict:
                refuse_undefined(npu.heap, executor, tasks, base, size)
            code = self._run(executor, tasks, stream)
        finally:
            self._settle_entry(executor, code)
            if not executor.repeatable:
                self.executors.release(executor, "phase 2 has run, which releases it")
        executor.runs += 1
        return code

    def _run(self, executor: Executor, tasks: list[Task], stream: Any) -> int:
        """Launch, or replay the record of an earlier run.

        A replay that fails is not reported: everything is launched anew.
        """
        if executor.hit or executor.recorded:
            code = self._launch_all(executor, tasks, stream, replay=True)
            if executor.hit or code == SUCCESS:
                return code
        code = self._launch_all(executor, tasks, stream)
        executor.recorded = code == SUCCESS and executor.entry is not None
        return code

    def _settle_entry(self, executor: Executor, code: int) -> None:
        """The creator's run decides about its cache entry; a hit's does not."""
        if executor.hit or executor.entry is None:
            return
        if code == SUCCESS and not executor.repeatable:
            executor.entry.state = "usable"
        else:
            self.executors.cache.withdraw(executor.entry)

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
        # A cache hit captured every address in phase 1.
        fixed = executor.hit or (operand.redirected and not executor.repeatable)
        address = executor.captured[operand.buffer] if fixed else tensor.address
        return address + operand.offset * (operand.dtype.itemsize or 0)

    def _launch_all(
        self, executor: Executor, tasks: list[Task], stream: Any, *, replay: bool = False
    ) -> int:
        npu = self.npu
        queue = npu.runtime.stream_of(stream)
        for launch, task in zip(executor.plan.launches, tasks):
            code = 0 if replay else npu.faults.launcher_code(launch.op_type)
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
                if replay:
                    npu.messages.report("EZ9903", "a recorded launch was not repeated")
                    npu.messages.report("EZ9903", "the replay of a recorded run ended early")
                    return RUNTIME_ERROR
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


_EXCEPTION = {"AICORE": 507035, "AICPU": 507018, "RTS": 507013}
"""What synchronise reports when a task touches memory that is not there."""


def _prepared_as(launch: Launch) -> str:
    return f"{launch.l0}AiCore" if launch.l0.startswith("HardShrink") else launch.l0
