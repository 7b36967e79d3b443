"""An operator of your own on the software NPU: what has to be written, and where it is put.

An aclnn operator is four things:

* two C prototypes, for whoever calls it (`labkit.cann.declare`),
* phase 1: checks, then l0 operators, then the workspace (`labkit.op.aclnn.plan_operator`),
* for each op type of its own a kernel that computes (a function on arrays),
* its name in the tables of the device, which is what `add_operator` does.

Phase 2, memory, streams, the op cache and the messages are the framework's, as
in CANN. Used in notebook 10, "Bring your own operator".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count

from labkit.cann.interface import phases, prototypes
from labkit.errors import LabValueError
from labkit.op.plan import Plan
from labkit.sim.kernels import KERNELS, Kernel
from labkit.sim.launches import OPERATORS, OperatorModel

__all__ = ["add_operator", "remove_operator"]

_BUILT_IN = frozenset(OPERATORS)
_BUILT_IN_KERNELS = frozenset(KERNELS)
_REVISIONS = count(1)
"""So that the op cache never takes an older plan of a name for the newest one."""


def add_operator(name: str, plan: Callable[..., Plan], kernels: Mapping[str, Kernel]) -> None:
    """Let every software NPU of this process answer for the aclnn operator `name`.

    Its prototypes must be declared; they say which parameters are tensors and
    which are scalars. `plan(*descriptors, soc=..., kernel_workspaces=...)` is
    phase 1 on a chip (a `Soc`): it gets a `TensorDesc` or `Scalar` for each parameter, None for a
    null pointer, and returns a `Plan`. `kernels` maps each new op type to a
    function `(inputs, attrs, out)` that reads arrays and writes `out`.

    Adding a name again replaces what was there. Raises `LabValueError` for an
    operator or kernel that the lab itself models, and for what is not declared.
    """
    declared = prototypes().get(phases(name)[0])
    if declared is None or name not in prototypes():
        raise LabValueError(f"{name} is not declared; labkit.cann.declare takes its two prototypes")
    taken = sorted({name} & _BUILT_IN | set(kernels) & _BUILT_IN_KERNELS)
    if taken:
        raise LabValueError(f"{', '.join(taken)} is the lab's own; choose another name")
    kinds = {key: ctype.replace(" ", "") for ctype, key in declared.params[:-2]}
    others = [key for key, kind in kinds.items() if "aclTensor*" not in kind and not _scalar(kind)]
    if others:
        raise LabValueError(f"{name}: the software NPU takes tensors and scalars, not {others}")
    OPERATORS[name] = OperatorModel(
        name,
        tuple(kinds),
        plan,
        tuple(key for key, kind in kinds.items() if _scalar(kind)),
        next(_REVISIONS),
    )
    KERNELS.update(kernels)


def remove_operator(name: str) -> None:
    """Take back what `add_operator` did for a name; nothing happens when there is no such operator.

    Its kernels stay, since another operator may launch them.
    """
    if name not in _BUILT_IN:
        OPERATORS.pop(name, None)


def _scalar(kind: str) -> bool:
    return kind == "constaclScalar*"
