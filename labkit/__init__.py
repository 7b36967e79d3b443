"""An interactive lab around one accelerator operator: aclnnHardshrinkBackward of CANN.

    >>> import labkit
    >>> with labkit.open_device("sim") as dev:
    ...     call = labkit.hardshrink_backward([[1, 1], [1, 1]], [[0.2, 0.5], [0.6, -1]], device=dev)
    >>> call.grad_input.tolist()
    [[0.0, 0.0], [1.0, 1.0]]

`open_device` chooses between an Ascend NPU and the software NPU;
`hardshrink_backward` and `hardshrink` run the operators on NumPy arrays;
`labkit.op` tells what a call will do without running it; `labkit.explore` holds
the interactive panels. Importing `labkit` loads none of that and touches no
device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.errors import (
    AclError,
    AclnnError,
    DeviceMemoryError,
    DeviceNotAvailable,
    DeviceUseError,
    LabError,
    LabValueError,
    LeakWarning,
    LifetimeError,
    OverlapError,
)

if TYPE_CHECKING:
    from labkit.explain import explain
    from labkit.op.describe import TensorDesc
    from labkit.op.scalar import Scalar
    from labkit.operators import default_device, hardshrink, hardshrink_backward, open_device

__version__ = "0.1.0"

__all__ = [
    "AclError",
    "AclnnError",
    "DeviceMemoryError",
    "DeviceNotAvailable",
    "DeviceUseError",
    "LabError",
    "LabValueError",
    "LeakWarning",
    "LifetimeError",
    "OverlapError",
    "Scalar",
    "TensorDesc",
    "default_device",
    "explain",
    "hardshrink",
    "hardshrink_backward",
    "open_device",
]

_HOME = {
    "Scalar": "labkit.op.scalar",
    "TensorDesc": "labkit.op.describe",
    "default_device": "labkit.operators",
    "hardshrink": "labkit.operators",
    "hardshrink_backward": "labkit.operators",
    "open_device": "labkit.operators",
}
_MODULES = ("cann", "course", "explain", "explore", "host", "learn", "observe", "op", "sim")


def __getattr__(name: str) -> Any:
    import importlib

    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"labkit.{name}")
    raise AttributeError(f"module 'labkit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
