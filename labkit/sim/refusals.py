"""What strict mode refuses before phase 2 queues anything.

The real library looks at none of this: it would read freed memory, write past
a workspace that is too small, or give a result that depends on timing.
"""

from __future__ import annotations

from labkit.errors import DeviceMemoryError, LifetimeError, OverlapError
from labkit.sim.heap import Heap, HeapFault
from labkit.sim.kernels import Task, overlaps, writes_twice
from labkit.sim.launches import Executor

__all__ = ["refuse_undefined"]

_DATA_ALIGNMENT = 32


def refuse_undefined(
    heap: Heap, executor: Executor, tasks: list[Task], base: int, size: int
) -> None:
    """Raise for whatever the real library would do undefined things with.

    `base` and `size` are the workspace given to phase 2. `LifetimeError` for
    what was destroyed or freed, `DeviceMemoryError` for what is not there, too
    small or not aligned, `OverlapError` for input and output that overlap.
    """
    need = executor.plan.workspace_size
    for name, tensor in executor.tensors.items():
        if not tensor.alive and tensor.handle in executor.storages and not executor.hit:
            raise LifetimeError(
                f"{name} was destroyed before phase 2; the executor still needs it. "
                "Destroy tensors after phase 2",
                seen=0,
            )
        address = executor.captured[name] if executor.hit else tensor.address
        if tensor.handle in executor.storages and address % _DATA_ALIGNMENT:
            raise DeviceMemoryError(
                f"the data address {address:#x} of {name} is not aligned to {_DATA_ALIGNMENT} bytes"
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
        _check_range(heap, base, need, "the workspace")
    for task in tasks:
        _refuse_task(heap, task)


def _refuse_task(heap: Heap, task: Task) -> None:
    for access, verb in (*((read, "reads") for read in task.reads), (task.writes, "writes")):
        start, nbytes = access.span
        if nbytes:
            _check_range(heap, start, nbytes, f"{task.op_type} {verb}")
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


def _check_range(heap: Heap, start: int, nbytes: int, what: str) -> None:
    try:
        heap.check(start, nbytes, what)
    except HeapFault as fault:
        raise (LifetimeError if fault.freed else DeviceMemoryError)(str(fault)) from None
