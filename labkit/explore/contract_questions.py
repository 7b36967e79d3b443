"""Each check of phase 1, opened into the questions that it asks, argument by argument.

The order of the checks is `labkit.explain.aclnn_layer.CHECKS`, and what stops a
call is the plan's business; here every question of every check is answered,
those too that the call never reaches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from labkit.draw.sheet import dtype_text
from labkit.language import Text
from labkit.op import Plan, Scalar, TensorDesc
from labkit.op.broadcast import BroadcastFault, broadcast_shapes
from labkit.op.contract import MAX_RANK, backward_dtypes, forward_dtypes
from labkit.op.describe import shape_text
from labkit.op.dtypes import UNDEFINED, promote_type

__all__ = ["EMPTY", "L0", "NULL_TEXT", "Question", "Questions"]

L0 = "l0 operators"
"""The row behind the checks."""

NULL_TEXT, EMPTY = Text("null"), Text("empty")
_MISS = Text("taken as a miss; a hit would return here, unchecked")


@dataclass(frozen=True)
class Question:
    """What a check sees in the argument of `column`, or in `span` arguments at once.

    `wrong` tells whether the check ends a call with that; None when it does not ask.
    """

    column: int
    seen: str
    wrong: bool | None = False
    span: int = 1


class Questions:
    """The questions of one call: what each check sees in each argument, and what is wrong there."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.backward = "gradOutput" in plan.arguments
        self.columns = tuple(plan.arguments)
        self.tensors = {
            name: value
            for name, value in plan.arguments.items()
            if name != "lambd" and not isinstance(value, Scalar)
        }
        self.out = self.columns[-1]

    def of(self, check: str) -> list[Question]:
        """The questions of a check, in the order in which they are asked."""
        asked: dict[str, Callable[[], list[Question]]] = {
            "OpCache": lambda: [self._all(_MISS)],
            "CreateExecutor": lambda: [self._all(Text("made"))],
            "CheckNotNull": self._nulls,
            "CheckDtypeValid": self._dtypes,
            "CheckMaxDim": self._ranks,
            "CheckPromoteType": self._promote,
            "CheckEmpty": self._empty,
            "CheckBroadcast": self._broadcast,
            "CheckShape": self._shape,
            L0: self._views,
        }
        return asked[check]()

    def _all(self, seen: str) -> Question:
        return Question(0, seen, span=len(self.columns))

    def _each(
        self, names: tuple[str, ...], seen: Callable[[TensorDesc], tuple[str, bool | None]]
    ) -> list[Question]:
        found = []
        for name in names:
            tensor = self.tensors[name]
            told = (NULL_TEXT, None) if tensor is None else seen(tensor)
            found.append(Question(self.columns.index(name), *told))
        return found

    def _inputs(self) -> tuple[TensorDesc, ...] | None:
        """The tensors that go in; None when one of them is null."""
        found = [tensor for name, tensor in self.tensors.items() if name != self.out]
        there = tuple(tensor for tensor in found if tensor is not None)
        return there if len(there) == len(found) else None

    def _nulls(self) -> list[Question]:
        return [
            Question(at, NULL_TEXT if value is None else Text("given"), value is None)
            for at, value in enumerate(self.plan.arguments.values())
        ]

    def _dtypes(self) -> list[Question]:
        allowed = (backward_dtypes if self.backward else forward_dtypes)(self.plan.soc)
        asked = self._each(
            tuple(self.tensors), lambda t: (dtype_text(t.dtype), t.dtype not in allowed)
        )
        return [*asked, Question(self.columns.index("lambd"), Text("not asked"), None)]

    def _ranks(self) -> list[Question]:
        def seen(tensor: TensorDesc) -> tuple[str, bool]:
            return Text("rank {rank}", rank=len(tensor.shape)), len(tensor.shape) > MAX_RANK

        return self._each(tuple(self.tensors) if self.backward else ("self",), seen)

    def _promote(self) -> list[Question]:
        inputs = self._inputs()
        if inputs is None:
            return [Question(0, NULL_TEXT, None, 2)]
        grad, x = (tensor.dtype for tensor in inputs)
        meet = promote_type(grad, x)
        dtypes = {"first": dtype_text(grad), "second": dtype_text(x)}
        if meet is UNDEFINED:
            return [Question(0, Text("{first} with {second}: no dtype", **dtypes), None, 2)]
        told = Text("{first} with {second}: {common}", common=dtype_text(meet), **dtypes)
        return [Question(0, told, span=2)]

    def _empty(self) -> list[Question]:
        asked = ("gradOutput", "self") if self.backward else ("self",)
        return self._each(asked, lambda t: (EMPTY if t.is_empty else Text("not empty"), False))

    def _common(self) -> tuple[int, ...] | None:
        """The shape that the output must have; None where there is none."""
        inputs = self._inputs()
        if inputs is None:
            return None
        shapes = [tensor.shape for tensor in inputs]
        found = broadcast_shapes(*shapes) if self.backward else shapes[0]
        return None if isinstance(found, BroadcastFault) else found

    def _broadcast(self) -> list[Question]:
        inputs, common = self._inputs(), self._common()
        if inputs is None:
            return [Question(0, NULL_TEXT, None, 2)]
        first, second = (shape_text(tensor.shape) for tensor in inputs)
        both = {"first": first, "second": second}
        if common is None:
            return [Question(0, Text("no common shape: {first} with {second}", **both), True, 2)]
        told = Text("{first} with {second}: {common}", common=shape_text(common), **both)
        return [Question(0, told, span=2)]

    def _shape(self) -> list[Question]:
        common = self._common()

        def seen(tensor: TensorDesc) -> tuple[str, bool | None]:
            have = shape_text(tensor.shape)
            if common is None:
                return have, None
            if tensor.shape == common:
                return have, False
            return Text("{have} is not {right}", have=have, right=shape_text(common)), True

        return self._each((self.out,), seen)

    def _views(self) -> list[Question]:
        def seen(tensor: TensorDesc) -> tuple[str, bool]:
            if not tensor.fits_storage and not tensor.is_empty:
                return Text("leaves its storage"), False
            return Text("row-major") if tensor.is_contiguous else Text("strided view"), False

        inputs = ("self", "gradOutput") if self.backward else ("self",)
        return self._each((*inputs, self.out), seen)
