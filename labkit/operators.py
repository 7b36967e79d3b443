"""The lab's own calls: open a device, run the two operators on NumPy arrays.

This is the face of the package (`labkit` re-exports it): it joins the host
program, the software NPU and the operator model, which know little of one
another.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.cann.interface import CInterface
from labkit.errors import DeviceUseError, LabValueError
from labkit.host.choose import open_device_on, wanted_kind
from labkit.host.device import Device, fork_refusal, forked
from labkit.host.twophase import Call, Output, RawScalar, call_operator
from labkit.op.dtypes import FLOAT, UNDEFINED, data_type, promote_type
from labkit.op.scalar import Scalar, as_scalar
from labkit.op.tables import find_soc, socs

__all__ = ["default_device", "hardshrink", "hardshrink_backward", "open_device"]

_DEFAULT: dict[str, Device] = {}
_LOCK = threading.Lock()


def open_device(
    kind: str | None = None,
    index: int = 0,
    soc: str | None = None,
    *,
    strict: bool = True,
    kernel_workspaces: str | Mapping[str, int] = "auto",
    npu: Any = None,
    stream: int | None = None,
) -> Device:
    """Open a device; use it in a `with` block or close it.

    `kind` is "npu", "sim" or "auto" (None: $LABKIT_DEVICE, else auto). "auto"
    takes the NPU when one really answers; an explicit "npu" raises
    `DeviceNotAvailable` saying what is missing. `soc` is the chip that the
    software NPU plays (a name of `labkit.op.socs()`, or a family: "950",
    "910b", "a3", "910"); for the NPU it is what the chip must be. `strict`,
    `kernel_workspaces`: see `labkit.sim.SoftwareNpu`; `npu` is a
    `SoftwareNpu` to open a device on, so that several may share one machine.
    `stream` is an aclrtStream of another library in this process, as a number
    (of torch_npu: `torch_npu.npu.current_stream().npu_stream`); the device
    works on it, waits for it, and leaves it alive.

    >>> import labkit
    >>> with labkit.open_device("sim", soc="910b") as dev:
    ...     dev.name
    'software NPU as Ascend910B1'
    """
    asked = wanted_kind(kind)
    if not isinstance(index, int) or not 0 <= index < 2**31:
        raise LabValueError(f"index must be a device number from 0, not {index!r}")

    def fits(chip: str) -> bool:
        if soc is None or chip == soc:
            return True
        return soc not in socs() and chip in socs() and socs()[chip].short == find_soc(soc).short

    if npu is not None and ((asked == "npu" and kind) or not fits(npu.soc.name)):
        raise LabValueError(
            f"npu is a {npu.source}; that does not go with kind={kind!r}, soc={soc!r}"
        )

    def software() -> CInterface:
        from labkit.sim import SoftwareNpu

        made: CInterface = npu or SoftwareNpu(
            soc, strict=strict, kernel_workspaces=kernel_workspaces
        )
        return made

    return open_device_on("sim" if npu is not None else asked, index, soc, software, fits, stream)


def default_device() -> Device:
    """The device used when none is given: chosen as by `open_device()`, opened once, kept open."""
    if forked():
        raise DeviceUseError(fork_refusal())
    asked = wanted_kind(None)
    with _LOCK:
        device = _DEFAULT.get(asked)
        if device is None or device.closed:
            device = _DEFAULT[asked] = open_device(asked)
        return device


def hardshrink_backward(
    grad_output: npt.ArrayLike | None,
    self: npt.ArrayLike | None,
    *,
    lambd: Any = 0.5,
    out: npt.NDArray[Any] | None = None,
    out_dtype: Any = None,
    device: Device | None = None,
    check: bool = True,
) -> Call:
    """Run aclnnHardshrinkBackward: grad_output where |self| > λ, else +0.

    Arrays go in as views over their base storage, whatever their strides; a
    list or plain number becomes float32. None is a null pointer. λ is a
    number, a `Scalar`, or None. `out` is written in place (strided arrays
    too, gaps untouched); without it the result has the broadcast shape and
    `out_dtype`, or the promoted dtype. Raises `AclnnError` with CANN's code
    for whatever the operator refuses; with `check=False` the call is returned
    with that status instead.

    >>> import labkit
    >>> call = labkit.hardshrink_backward([1.0, 1.0], [0.5, -0.6], lambd=0.5)
    >>> call.grad_input
    array([0., 1.], dtype=float32)
    """
    grad, x = _array("grad_output", grad_output), _array("self", self)
    result = _output(out, out_dtype, [a for a in (grad, x) if a is not None])
    arguments = {
        "gradOutput": grad,
        "self": x,
        "lambd": _lambd(lambd),
        "gradInput": result,
    }
    return call_operator(
        device or default_device(), "aclnnHardshrinkBackward", arguments, check=check
    )


def hardshrink(
    self: npt.ArrayLike | None,
    *,
    lambd: Any = 0.5,
    out: npt.NDArray[Any] | None = None,
    out_dtype: Any = None,
    device: Device | None = None,
    check: bool = True,
) -> Call:
    """Run aclnnHardshrink (forward): self where |self| > λ, else +0.

    Arguments as for `hardshrink_backward`; the result is `Call.out`.
    """
    x = _array("self", self)
    result = _output(out, out_dtype, [] if x is None else [x])
    arguments = {"self": x, "lambd": _lambd(lambd), "out": result}
    return call_operator(device or default_device(), "aclnnHardshrink", arguments, check=check)


def _array(name: str, value: Any) -> npt.NDArray[Any] | None:
    if value is None or isinstance(value, np.ndarray):
        return value
    if isinstance(value, np.generic):
        return np.asarray(value)
    try:
        return np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise LabValueError(f"{name} must be an array of numbers, not {value!r}") from error


def _lambd(value: Any) -> RawScalar | None:
    if value is None:
        return None
    scalar: Scalar = as_scalar(value)
    return RawScalar(scalar.raw, scalar.dtype.acl_value)


def _output(out: npt.NDArray[Any] | None, out_dtype: Any, inputs: list[npt.NDArray[Any]]) -> Output:
    if out is not None:
        if out_dtype is not None:
            raise LabValueError("give out or out_dtype, not both")
        if not isinstance(out, np.ndarray):
            raise LabValueError(f"out must be a NumPy array to write into, not {out!r}")
        if not out.flags.writeable:
            raise LabValueError("out is read-only; give a writable array")
        return Output(out, keep=True)
    # Where shapes or dtypes do not go together the operator itself must say so.
    try:
        shape = np.broadcast_shapes(*(array.shape for array in inputs))
    except ValueError:
        shape = inputs[-1].shape
    return Output(np.empty(shape, _result_dtype(out_dtype, inputs)), keep=False)


def _result_dtype(out_dtype: Any, inputs: list[npt.NDArray[Any]]) -> np.dtype[Any]:
    if out_dtype is not None:
        return data_type(out_dtype).numpy
    if not inputs:
        return FLOAT.numpy
    kinds = [data_type(array.dtype) for array in inputs]
    promoted = kinds[0] if len(kinds) == 1 else promote_type(*kinds)
    return (kinds[0] if promoted is UNDEFINED else promoted).numpy
