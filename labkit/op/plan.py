"""What phase 1 decides about a call: steps, launches, workspace; frozen data.

The builder that fills it in is `l0.py`; the two operators are `aclnn.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from labkit.op.contract import Fault, Message
from labkit.op.describe import TensorDesc, element_count
from labkit.op.dtypes import DataType
from labkit.op.scalar import Scalar
from labkit.op.status import ACLNN_SUCCESS, status_name
from labkit.op.tables import Soc
from labkit.op.workspace import Bucket

__all__ = ["Launch", "Operand", "Plan", "Step"]


@dataclass(frozen=True)
class Operand:
    """One input or output of a kernel.

    `buffer` is an argument's name (gradOutput, self, gradInput, out), the
    name of a workspace tensor, or None for host-side integers, which are then
    in `const`. The kernel sees `shape` row-major from `offset` elements
    behind the buffer's start. `redirected` marks an output that would have
    been a workspace tensor but was pointed at the caller's memory.
    """

    buffer: str | None
    dtype: DataType
    shape: tuple[int, ...]
    offset: int = 0
    const: tuple[int, ...] | None = None
    redirected: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes that the kernel touches when it takes the operand row-major."""
        return element_count(self.shape) * (self.dtype.itemsize or 0)


@dataclass(frozen=True)
class Launch:
    """One kernel launch.

    `core` is AICORE, AICPU or RTS (a copy task of the runtime). `workspace`
    is the kernel's own workspace in bytes, None when it has no entry.
    `l0` names the l0 operator that made it. `tiling_fault` is set when the
    kernel's tiling would refuse these operands.
    """

    op_type: str
    core: str
    l0: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    workspace: int | None = None
    tiling_fault: str = ""


@dataclass(frozen=True)
class Step:
    """One step of phase 1: a check or an l0 operator.

    `skipped` tells that it launched nothing, `why` says why it did or did
    not; `dtype` and `shape` describe its result; `launches` are the numbers
    of the kernels that it made (of a plan that fails later, of kernels that
    then are dropped).
    """

    name: str
    layer: str
    skipped: bool
    why: str
    dtype: DataType | None = None
    shape: tuple[int, ...] | None = None
    launches: tuple[int, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Everything that phase 1 decides for one call.

    `status` is what phase 1 returns; on failure `fault` tells the check, and
    launches, workspace and result are empty. `lambd` is λ as the kernel gets
    it. `messages` is what the error list gains.
    """

    operator: str
    soc: Soc
    arguments: Mapping[str, TensorDesc | Scalar | None]
    status: int
    fault: Fault | None
    steps: tuple[Step, ...]
    launches: tuple[Launch, ...]
    buckets: tuple[Bucket, ...]
    result_shape: tuple[int, ...] | None
    promoted: DataType | None
    lambd: np.float32 | None

    @property
    def status_name(self) -> str:
        """The status by name, e.g. ACLNN_SUCCESS."""
        return status_name(self.status)

    @property
    def failed_check(self) -> str | None:
        """The check that stopped the call, or None."""
        return self.fault.check if self.fault else None

    @property
    def message(self) -> str:
        """What was wrong and what would be right; empty on success."""
        return self.fault.text if self.fault else ""

    @property
    def messages(self) -> tuple[Message, ...]:
        """Entries that phase 1 adds to the error list."""
        return self.fault.messages if self.fault else ()

    @property
    def ok(self) -> bool:
        """Whether phase 1 succeeds."""
        return self.status == ACLNN_SUCCESS

    @cached_property
    def workspace_size(self) -> int:
        """Bytes of workspace that phase 1 asks for."""
        return sum(bucket.size for bucket in self.buckets)

    @cached_property
    def workspace_offsets(self) -> Mapping[str, int]:
        """Byte offset of every workspace tensor; a kernel's own workspace is `kernel<number>`."""
        return {member.name: bucket.offset for bucket in self.buckets for member in bucket.members}
