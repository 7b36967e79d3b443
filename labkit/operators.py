"""The lab's own calls: open a device, run the two operators on NumPy arrays.

This is the face of the package (`labkit` re-exports it): it joins the host
program, the software NPU and the operator model, which know little of one
another.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.cann.codes import explain
from labkit.cann.interface import CInterface, phases
from labkit.errors import AclnnError, DeviceUseError, LabValueError, shown
from labkit.host.choose import open_device_on, wanted_kind
from labkit.host.device import Device, fork_refusal, forked
from labkit.host.twophase import Call, Output, RawScalar, call_operator
from labkit.op.aclnn import BACKWARD, FORWARD, plan_hardshrink, plan_hardshrink_backward
from labkit.op.arrays import TooManyAxes, as_array, refuse_masked
from labkit.op.broadcast import broadcast_shapes
from labkit.op.contract import MAX_RANK
from labkit.op.describe import TensorDesc
from labkit.op.dtypes import FLOAT, UNDEFINED, data_type, promote_type
from labkit.op.scalar import as_scalar
from labkit.op.tables import find_soc, socs

__all__ = ["default_device", "hardshrink", "hardshrink_backward", "open_device"]

Array = npt.NDArray[Any]
Given = Array | TensorDesc | None

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
        raise LabValueError(f"index must be a device number from 0, not {shown(index)}")

    def fits(chip: str) -> bool:
        if soc is None or chip == soc:
            return True
        return soc not in socs() and chip in socs() and socs()[chip].short == find_soc(soc).short

    if npu is not None and not isinstance(npu, _software_npu()):
        raise LabValueError(f"npu is {shown(npu)}; right would be a labkit.sim.SoftwareNpu")
    if npu is not None and ((asked == "npu" and kind) or not fits(npu.soc.name)):
        raise LabValueError(
            f"npu is a {npu.source}; that does not go with kind={kind!r}, soc={soc!r}"
        )

    def software() -> CInterface:
        made: CInterface = npu or _software_npu()(
            soc, strict=strict, kernel_workspaces=kernel_workspaces
        )
        return made

    return open_device_on("sim" if npu is not None else asked, index, soc, software, fits, stream)


def _software_npu() -> Any:
    from labkit.sim import SoftwareNpu  # not before a software NPU is wanted

    return SoftwareNpu


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

    Arrays go in as views over their base storage, whatever their strides, with
    the dtype they have; so do those of other libraries that lie in the host's
    memory. Plain numbers, also in lists, become float32. None is a null pointer. λ is a
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
    tensors = {"gradOutput": _given("grad_output", grad_output), "self": _given("self", self)}
    return _call(BACKWARD, tensors, "gradInput", lambd, out, out_dtype, device, check)


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
    tensors = {"self": _given("self", self)}
    return _call(FORWARD, tensors, "out", lambd, out, out_dtype, device, check)


def _given(name: str, value: Any) -> Given:
    """An argument as an array; only described where it has more axes than NumPy holds."""
    if value is None:
        return None
    try:
        return as_array(name, value)
    except TooManyAxes as error:
        return TensorDesc(error.dtype, error.shape)


def _call(
    operator: str,
    tensors: dict[str, Given],
    result: str,
    lambd: Any,
    out: Any,
    out_dtype: Any,
    device: Device | None,
    check: bool,
) -> Call:
    """Run an operator on arguments as they were given; `result` names its output."""
    scalar = None if lambd is None else as_scalar(lambd)
    output = _output(out, out_dtype, [a for a in tensors.values() if a is not None])
    dev = device_or_default(device)
    if isinstance(output, TensorDesc) or any(isinstance(a, TensorDesc) for a in tensors.values()):
        return _refused(dev, operator, {**tensors, "lambd": scalar, result: output}, check)
    raw = None if scalar is None else RawScalar(scalar.raw, scalar.dtype.acl_value)
    return call_operator(dev, operator, {**tensors, "lambd": raw, result: output}, check=check)


def device_or_default(device: Any) -> Device:
    """The device that was given, or the default one for None; raises `LabValueError`."""
    if device is None:
        return default_device()
    if not isinstance(device, Device):
        raise LabValueError(
            f"device is {shown(device)}, which is no device; right would be one that "
            'labkit.open_device gives, such as labkit.open_device("sim"), or None'
        )
    if device.closed:
        device.run(lambda: None)  # refuses in its own words
    return device


def _refused(device: Device, operator: str, arguments: dict[str, Any], check: bool) -> Call:
    """What phase 1 answers to an array that NumPy cannot hold, and that so reaches no device."""
    described = {
        name: TensorDesc(array.dtype, array.shape) if isinstance(array, np.ndarray) else array
        for name, array in (
            (name, value.array if isinstance(value, Output) else value)
            for name, value in arguments.items()
        )
    }
    plan = (
        plan_hardshrink_backward(*described.values(), soc=device.soc)
        if operator == BACKWARD
        else plan_hardshrink(*described.values(), soc=device.soc)
    )
    first = phases(operator)[0]
    error = AclnnError(
        f"{first} returns {explain(plan.status)}\n{plan.message}",
        status=plan.status,
        name=plan.status_name,
        call=first,
        message=plan.message,
    )
    if check:
        raise error
    call = Call(operator, device.name, device.soc, {}, on_npu=device.is_npu, launches=())
    call.status, call.message, call.error = plan.status, plan.message, error
    return call


def _output(out: Any, out_dtype: Any, inputs: list[Array | TensorDesc]) -> Output | TensorDesc:
    if out is not None:
        if out_dtype is not None:
            raise LabValueError("give out or out_dtype, not both")
        refuse_masked("out", out)
        if not isinstance(out, np.ndarray):
            raise LabValueError(
                f"out must be a NumPy array to write into, not {shown(out)}; right would be one "
                "over the same memory, such as x.numpy() or np.asarray(x)"
            )
        if not out.flags.writeable:
            raise LabValueError("out is read-only; give a writable array")
        return Output(np.asarray(out), keep=True)  # a subclass might write in its own way
    # Where shapes or dtypes do not go together the operator itself must say so.
    shape = reduce(_met, [array.shape for array in inputs]) if inputs else ()
    dtype = _result_dtype(out_dtype, inputs)
    try:
        return Output(np.empty(shape, dtype), keep=False)
    except (ValueError, MemoryError) as error:
        if len(shape) > MAX_RANK:
            return TensorDesc(dtype, shape)
        raise LabValueError(
            f"the result would have the shape {shown(list(shape))}, for which there is no memory"
        ) from error


def _met(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    common = broadcast_shapes(first, second)
    return common if isinstance(common, tuple) else second


def _result_dtype(out_dtype: Any, inputs: list[Array | TensorDesc]) -> np.dtype[Any]:
    if out_dtype is not None:
        return data_type(out_dtype).numpy
    if not inputs:
        return FLOAT.numpy
    kinds = [data_type(array.dtype) for array in inputs]
    promoted = kinds[0] if len(kinds) == 1 else promote_type(*kinds)
    return (kinds[0] if promoted is UNDEFINED else promoted).numpy
