"""The host program: open a device, describe arrays, call an operator in two phases, record it.

It knows only CANN's C interface (`labkit.cann`), so it is the same program on
the NPU and on the software NPU.
"""

from __future__ import annotations

from labkit.host.arrays import TensorView
from labkit.host.device import Device
from labkit.host.record import HostCall
from labkit.host.twophase import Call, Output, RawScalar, call_operator

__all__ = [
    "Call",
    "Device",
    "HostCall",
    "Output",
    "RawScalar",
    "TensorView",
    "call_operator",
]
