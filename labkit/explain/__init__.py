"""The chain of a call told: steps, source references, reasons.

    >>> import labkit
    >>> from labkit.op import TensorDesc, plan_hardshrink_backward
    >>> t = TensorDesc("float32", (2, 2))
    >>> chain = labkit.explain(plan_hardshrink_backward(t, t, 0.5, t))

The package is callable: `labkit.explain(x)` and `labkit.explain.explain(x)`
are the same, so that `import labkit.explain` does not take the function away.

chain (the data) · sources (references, and the cited lines from a checkout) ·
findings (where document and code part) · build (plan to chain; one module per
layer) · text, html, jsonform (how it is shown).
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labkit.explain.build import explain
    from labkit.explain.chain import (
        LAYERS,
        BucketInfo,
        Chain,
        ChainStep,
        MemberInfo,
        Note,
        Port,
        Run,
        SourceRef,
        Workspace,
    )
    from labkit.explain.findings import Finding, finding
    from labkit.host.twophase import Call
    from labkit.op.plan import Plan

__all__ = [
    "LAYERS",
    "BucketInfo",
    "Chain",
    "ChainStep",
    "Finding",
    "MemberInfo",
    "Note",
    "Port",
    "Run",
    "SourceRef",
    "Workspace",
    "explain",
    "finding",
]

_HOME = dict.fromkeys(__all__, "labkit.explain.chain") | {
    "Finding": "labkit.explain.findings",
    "explain": "labkit.explain.build",
    "finding": "labkit.explain.findings",
}


class _CallableModule(types.ModuleType):
    """The package itself, which can be called. Loading it loads neither NumPy nor the model."""

    def __call__(self, call_or_plan: Call | Plan) -> Chain:
        """Tell the chain of a call or a plan; see `labkit.explain.explain`."""
        from labkit.explain.build import explain

        return explain(call_or_plan)

    def __getattr__(self, name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(_HOME[name]), name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *__all__})


sys.modules[__name__].__class__ = _CallableModule
