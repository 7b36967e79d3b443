"""Which device: the argument, else $LABKIT_DEVICE, else what is there.

`auto` takes the NPU only when it really answers; an explicit `npu` never
becomes anything else. The software NPU is handed in by the face, since the
host program knows only the C interface.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from labkit.cann.interface import CInterface, ffi
from labkit.cann.load import require_npu
from labkit.errors import AclError, DeviceNotAvailable, LabError, LabValueError, shown
from labkit.host.capi import CApi
from labkit.host.device import Device, fork_refusal, forked

__all__ = ["KINDS", "open_device_on", "wanted_kind"]

KINDS = ("npu", "sim", "auto")


def wanted_kind(kind: str | None) -> str:
    """The kind of device asked for: the argument, else $LABKIT_DEVICE, else "auto"."""
    if kind is not None and not isinstance(kind, str):
        raise LabValueError(f"kind is {shown(kind)}; right would be one of {', '.join(KINDS)}")
    asked = kind or os.environ.get("LABKIT_DEVICE") or "auto"
    if asked not in KINDS:
        where = "kind" if kind else "$LABKIT_DEVICE"
        raise LabValueError(f"{where} is {asked!r}; right would be one of {', '.join(KINDS)}")
    return asked


def open_device_on(
    kind: str,
    index: int,
    soc: str | None,
    software: Callable[[], CInterface],
    fits: Callable[[str], bool],
    stream: int | None = None,
) -> Device:
    """Open the device of that kind; `software` makes the software NPU when it is wanted.

    `fits` tells whether a chip, by its name, is the `soc` that was asked for.
    """
    if stream is not None and (not isinstance(stream, int) or stream < 0):
        raise LabValueError(f"stream must be an aclrtStream as a number, not {shown(stream)}")
    if kind == "sim":
        why = "the software NPU was asked for"
        return Device(software(), kind="sim", index=index, why=why, stream=stream)
    if forked():
        raise DeviceNotAvailable(fork_refusal())
    if kind == "npu":
        return _open_npu(index, soc, fits, "the NPU was asked for", stream)
    if stream is not None:  # it is of one library, so which one must be said
        raise LabValueError("a stream goes with a device kind: right would be kind='npu'")
    try:
        return _open_npu(index, soc, fits, "an NPU answered", None)
    except LabError as error:
        reason = str(error).splitlines()[0].split(". ")[0].rstrip(".")
    if not reason[1:2].isupper():  # a sentence is to go on, but CANN is a name
        reason = reason[:1].lower() + reason[1:]
    return Device(software(), kind="sim", index=index, why=reason)


def _open_npu(
    index: int, soc: str | None, fits: Callable[[str], bool], why: str, stream: int | None
) -> Device:
    library = require_npu()
    if library.simulated and os.environ.get("LABKIT_ALLOW_SIMULATED") != "1":
        raise DeviceNotAvailable(
            f"{library.source} is not an NPU. Use the device kind 'sim', or unset ASCEND_HOME_PATH"
        )
    device: Any = None
    try:
        device = Device(library, kind="npu", index=index, why=why, stream=stream)
    except AclError as error:
        raise DeviceNotAvailable(_refused(library, index, error)) from error
    if soc is not None and not fits(device.soc):
        have = device.soc
        device.close()
        raise DeviceNotAvailable(
            f"{soc} was asked for, but NPU {index} is {have or 'a chip without a name'}; leave "
            "soc out, or use the software NPU to see what another chip would do"
        )
    return device  # type: ignore[no-any-return]


def _refused(library: CInterface, index: int, error: AclError) -> str:
    count = _device_count(library)
    lines = [f"{library.source} was opened, but the device did not: {error}"]
    if error.call == "aclrtSetDevice" and count is not None and index >= count:
        there = f"There are {count} devices, numbered from 0" if count else "There is no device"
        lines.append(f"{there}; {index} was asked for.")
    lines.append("Check the driver and the device with: npu-smi info")
    return "\n".join(lines)


def _device_count(library: CInterface) -> int | None:
    count = ffi().new("uint32_t *")
    try:
        status = CApi(library).call("aclrtGetDeviceCount", count)
    except LabError:
        return None
    return int(count[0]) if status == 0 else None
