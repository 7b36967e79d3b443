"""The checks of phase 1, in the order in which the code makes them.

Models aclnn_hardshrink_backward.cpp:53-185 and aclnn_hardshrink.cpp:52-109
(cann/ops-nn e5c3fa93): which fault wins when there are several is part of the
contract. The two operators differ on purpose: backward checks rank before
shape and lets an empty input pass before any shape is compared; forward
compares shapes first.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.language import Text
from labkit.op.broadcast import BroadcastFault, broadcast_shapes
from labkit.op.describe import TensorDesc, shape_text
from labkit.op.dtypes import BF16, FLOAT, FLOAT16, DataType, message_list
from labkit.op.scalar import Scalar
from labkit.op.status import ACLNN_ERR_PARAM_INVALID, ACLNN_ERR_PARAM_NULLPTR
from labkit.op.tables import Soc

__all__ = [
    "MAX_RANK",
    "Fault",
    "Message",
    "backward_dtypes",
    "check_backward",
    "check_forward",
    "check_out_pointers",
    "forward_dtypes",
]

MAX_RANK = 8
_BACKWARD_BF16_ARCHS = (2201, 3510)
_FORWARD_NO_BF16 = ("Ascend910", "Ascend310P")


@dataclass(frozen=True)
class Message:
    """One entry of the framework's error list: code, named or positional values, text.

    The text is the lab's own; the code and the values are CANN's. Texts and
    remedies are `Text`: English here, and in the reader's language where they
    are shown.
    """

    code: str
    values: tuple[str, ...]
    text: str
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Fault:
    """The check that stopped a call.

    `check` names the step (as the chain shows it), `status` is what phase 1
    returns, `messages` what aclGetRecentErrMsg will have, `remedy` what would
    be right.
    """

    check: str
    status: int
    messages: tuple[Message, ...]
    remedy: str

    @property
    def text(self) -> str:
        """What was wrong and what would be right, in one line."""
        said = next((m.text for m in reversed(self.messages) if m.text), self.check)
        return Text("{said}; {remedy}", said=said, remedy=self.remedy) if self.remedy else said


def backward_dtypes(soc: Soc) -> tuple[DataType, ...]:
    """Dtypes that aclnnHardshrinkBackward takes on a chip (chosen by NpuArch)."""
    return (BF16, FLOAT, FLOAT16) if soc.npu_arch in _BACKWARD_BF16_ARCHS else (FLOAT, FLOAT16)


def forward_dtypes(soc: Soc) -> tuple[DataType, ...]:
    """Dtypes that aclnnHardshrink takes on a chip (chosen by SoC version, not NpuArch).

    So 310B takes bf16 forward and refuses it backward.
    """
    return (FLOAT, FLOAT16) if soc.short in _FORWARD_NO_BF16 else (FLOAT, FLOAT16, BF16)


def _message(text: str, *values: str) -> Message:
    return Message("EZ1001", values, text)


def _null(name: str) -> Text:
    return Text("{name} is a null pointer", name=name)


def check_out_pointers(workspace_size_null: bool, executor_null: bool) -> Fault | None:
    """Check, before anything else, where phase 1 is to put its two answers."""
    if not (workspace_size_null or executor_null):
        return None
    missing = "workspaceSize" if workspace_size_null else "executor"
    return Fault(
        "CheckCommInput",
        ACLNN_ERR_PARAM_NULLPTR,
        (_message(_null(missing), "workspaceSize", "executor"),),
        Text("phase 1 needs the addresses of workspaceSize and of executor"),
    )


def _check_null(named: dict[str, TensorDesc | Scalar | None]) -> Fault | None:
    for name, value in named.items():
        if value is None:
            return Fault(
                "CheckNotNull",
                ACLNN_ERR_PARAM_NULLPTR,
                (_message(_null(name), name),),
                Text(
                    "pass a created {kind} as {name}",
                    kind="aclScalar" if name == "lambd" else "aclTensor",
                    name=name,
                ),
            )
    return None


def _check_dtype(named: dict[str, TensorDesc], allowed: tuple[DataType, ...]) -> Fault | None:
    for name, desc in named.items():
        if desc.dtype not in allowed:
            listed = message_list(allowed)
            return Fault(
                "CheckDtypeValid",
                ACLNN_ERR_PARAM_INVALID,
                (
                    _message(
                        Text(
                            "{name} has dtype {dtype}, which is not in {listed}",
                            name=name,
                            dtype=desc.dtype.message_name,
                            listed=listed,
                        ),
                        name,
                        desc.dtype.message_name,
                        listed,
                    ),
                ),
                Text("use one of the listed dtypes (which ones depends on the chip)"),
            )
    return None


def _check_rank(named: dict[str, TensorDesc]) -> Fault | None:
    for name, desc in named.items():
        if len(desc.shape) > MAX_RANK:
            return Fault(
                "CheckMaxDim",
                ACLNN_ERR_PARAM_INVALID,
                (
                    _message(
                        Text(
                            "{name} has {rank} dimensions, more than {most}",
                            name=name,
                            rank=len(desc.shape),
                            most=MAX_RANK,
                        ),
                        name,
                        str(MAX_RANK),
                    ),
                ),
                Text(
                    "at most {most} dimensions; merge axes that lie one after another",
                    most=MAX_RANK,
                ),
            )
    return None


def _shape_fault(
    name: str, expected: tuple[int, ...], actual: tuple[int, ...], remedy: str
) -> Fault:
    want, have = shape_text(expected), shape_text(actual)
    said = Text("{name} should have shape {want} but has {have}", name=name, want=want, have=have)
    return Fault("CheckShape", ACLNN_ERR_PARAM_INVALID, (_message(said, name, want, have),), remedy)


def check_backward(
    grad_output: TensorDesc | None,
    self: TensorDesc | None,
    lambd: Scalar | None,
    grad_input: TensorDesc | None,
    soc: Soc,
    op_name: str = "aclnnHardshrinkBackward_0",
) -> Fault | tuple[int, ...] | None:
    """The checks of the backward operator, first failure wins.

    Returns the fault, or the broadcast shape, or None when an input is empty
    (then phase 1 succeeds at once and gradInput is never looked at further).
    Order: null (gradOutput, self, lambd, gradInput), dtype (gradOutput, self,
    gradInput; λ's dtype is never checked), rank, empty, broadcast, shape.
    """
    fault = _check_null(
        {"gradOutput": grad_output, "self": self, "lambd": lambd, "gradInput": grad_input}
    )
    if fault is not None:
        return fault
    assert grad_output is not None and self is not None and grad_input is not None
    tensors = {"gradOutput": grad_output, "self": self, "gradInput": grad_input}
    fault = _check_dtype(tensors, backward_dtypes(soc)) or _check_rank(tensors)
    if fault is not None:
        return fault
    if grad_output.is_empty or self.is_empty:
        return None
    shape = broadcast_shapes(grad_output.shape, self.shape)
    if isinstance(shape, BroadcastFault):
        return _broadcast_fault(shape, grad_output, self, op_name)
    if shape != grad_input.shape:
        remedy = Text("gradInput must have exactly the broadcast shape of gradOutput and self")
        return _shape_fault("gradInput", shape, grad_input.shape, remedy)
    return shape


def _broadcast_fault(
    fault: BroadcastFault, grad_output: TensorDesc, self: TensorDesc, op_name: str
) -> Fault:
    first, second = shape_text(grad_output.shape), shape_text(self.shape)
    larger, other = shape_text(fault.larger), shape_text(fault.other)
    inner = Message(
        "EZ1007",
        (),
        Text("{name}: {reason}", name=op_name, reason=fault.reason),
        (
            ("paraName", larger),
            ("opName", op_name),
            ("dim", str(fault.dim)),
            ("reason", f"{larger} {other}"),
        ),
    )
    outer = _message(
        Text("gradOutput {first} and self {second} do not broadcast", first=first, second=second),
        "gradOutput",
        first,
        "self",
        second,
    )
    remedy = Text("aligned at the last axis, sizes must be equal or one of them 1")
    return Fault("CheckBroadcast", ACLNN_ERR_PARAM_INVALID, (inner, outer), remedy)


def check_forward(
    self: TensorDesc | None, lambd: Scalar | None, out: TensorDesc | None, soc: Soc
) -> Fault | tuple[int, ...] | None:
    """The checks of the forward operator, first failure wins; returns as `check_backward`.

    Order: null (self, lambd, out), dtype (self, out), equal shapes, rank of
    self, empty. An empty tensor excuses nothing here.
    """
    fault = _check_null({"self": self, "lambd": lambd, "out": out})
    if fault is not None:
        return fault
    assert self is not None and out is not None
    fault = _check_dtype({"self": self, "out": out}, forward_dtypes(soc))
    if fault is not None:
        return fault
    if self.shape != out.shape:
        remedy = Text("out must have exactly the shape of self; rank counts too")
        return _shape_fault("out", self.shape, out.shape, remedy)
    fault = _check_rank({"self": self})
    if fault is not None:
        return fault
    return None if self.is_empty else self.shape
