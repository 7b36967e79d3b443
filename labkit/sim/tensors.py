"""The aclnn meta objects of the software NPU: tensors, scalars, arrays, lists.

Models cann/opbase aa3cd74b src/nnopbase/common/api/acl_op_api.cpp. Creating
checks almost nothing, as there; destroying frees the description, never the
device memory; destroying a list destroys its members.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.errors import LifetimeError
from labkit.op.describe import TensorDesc
from labkit.op.dtypes import UNDEFINED, DataType, data_type, data_types
from labkit.op.scalar import SCALAR_DTYPES, Scalar

if TYPE_CHECKING:
    from labkit.sim.npu import SoftwareNpu

__all__ = ["ArrayObject", "ScalarObject", "TensorObject", "Tensors"]

SUCCESS = 0
PARAM_NULLPTR = 161001
PARAM_INVALID = 161002
INNER_NULLPTR = 561103


@dataclass(eq=False)
class TensorObject:
    """An aclTensor: its description and the device address of its storage."""

    handle: int
    desc: TensorDesc
    address: int
    alive: bool = True


@dataclass(eq=False)
class ScalarObject:
    """An aclScalar; the value was copied when it was created."""

    handle: int
    value: Scalar
    alive: bool = True


@dataclass(eq=False)
class ArrayObject:
    """An array or list object; `items` are numbers or the member objects."""

    handle: int
    kind: str
    items: tuple[Any, ...]
    alive: bool = True


# Descriptions are frozen, and programs repeat them: the same one is made once.
_describe = lru_cache(maxsize=1024)(TensorDesc)

_BY_VALUE = {dtype.acl_value: dtype for dtype in data_types()}


class Tensors:
    """Descriptions and their handles."""

    def __init__(self, npu: SoftwareNpu) -> None:
        self.npu = npu
        self.objects: dict[int, TensorObject | ScalarObject | ArrayObject] = {}
        self._given: dict[int, list[Any]] = {}

    # -- handles ---------------------------------------------------------------

    def tensor(self, pointer: Any) -> TensorObject | None:
        """The tensor behind a handle, None for null; a stale handle raises."""
        found: TensorObject | None = self._find(pointer, TensorObject, "aclTensor")
        return found

    def scalar(self, pointer: Any) -> ScalarObject | None:
        """The scalar behind a handle, None for null; a stale handle raises."""
        found: ScalarObject | None = self._find(pointer, ScalarObject, "aclScalar")
        return found

    def _find(self, pointer: Any, kind: type[Any], name: str) -> Any:
        handle = self.npu.address(pointer)
        if handle == 0:
            return None
        found = self.objects.get(handle)
        # Arrays and lists are one class here and five kinds in CANN.
        if not isinstance(found, kind) or (kind is ArrayObject and found.kind != name):
            raise LifetimeError(
                f"{handle:#x} is no live {name}: it was destroyed, or was never created here"
            )
        return found

    def _forget(self, found: TensorObject | ScalarObject | ArrayObject) -> None:
        found.alive = False
        del self.objects[found.handle]
        self._given.pop(found.handle, None)
        self.npu.drop_handle(found.handle)

    def _destroy(self, pointer: Any, kind: type[Any], name: str) -> int:
        found = self._find(pointer, kind, name)
        if found is not None:
            self._forget(found)
        return SUCCESS

    # -- tensors ---------------------------------------------------------------

    def aclCreateTensor(
        self,
        view_dims: Any,
        view_count: int,
        dtype: int,
        stride: Any,
        offset: int,
        storage_format: int,
        storage_dims: Any,
        storage_count: int,
        data: Any,
    ) -> Any:
        npu = self.npu
        null = npu.null
        if (view_dims == null and view_count) or (storage_dims == null and storage_count):
            return null
        kind = _BY_VALUE.get(dtype, UNDEFINED)
        if kind is UNDEFINED:
            npu.messages.report("E18888", "a tensor with an undefined dtype was created")
        unpack = npu.ffi.unpack
        desc = _describe(
            kind,
            tuple(unpack(view_dims, view_count)) if view_count else (),
            None if stride == null else tuple(unpack(stride, view_count)) if view_count else (),
            offset,
            tuple(unpack(storage_dims, storage_count)) if storage_count else (),
            storage_format,
        )
        handle = npu.new_handle("aclTensor")
        self.objects[handle] = TensorObject(handle, desc, npu.address(data))
        return npu.pointer("aclTensor *", handle)

    def aclDestroyTensor(self, tensor: Any) -> int:
        return self._destroy(tensor, TensorObject, "aclTensor")

    def _integers(self, tensor: Any, values: Any, count: Any, field: str) -> int:
        null = self.npu.null
        found = self.tensor(tensor)
        if found is None or values == null or count == null:
            return PARAM_NULLPTR
        numbers = getattr(found.desc, field)
        # The real call hands out a new array that the caller owns. Here it
        # lives as long as the tensor, since Python cannot give away memory.
        array = self.npu.ffi.new("int64_t[]", list(numbers) or [0])
        self._given.setdefault(found.handle, []).append(array)
        values[0], count[0] = array, len(numbers)
        return SUCCESS

    def aclGetViewShape(self, tensor: Any, dims: Any, count: Any) -> int:
        return self._integers(tensor, dims, count, "shape")

    def aclGetStorageShape(self, tensor: Any, dims: Any, count: Any) -> int:
        return self._integers(tensor, dims, count, "storage_shape")

    def aclGetViewStrides(self, tensor: Any, strides: Any, count: Any) -> int:
        return self._integers(tensor, strides, count, "strides")

    def _get(self, tensor: Any, out: Any, value: Any) -> int:
        found = self.tensor(tensor)
        if found is None or out == self.npu.null:
            return PARAM_NULLPTR
        out[0] = value(found)
        return SUCCESS

    def aclGetViewOffset(self, tensor: Any, offset: Any) -> int:
        return self._get(tensor, offset, lambda t: t.desc.offset)

    def aclGetFormat(self, tensor: Any, format: Any) -> int:
        return self._get(tensor, format, lambda t: t.desc.format)

    def aclGetDataType(self, tensor: Any, dtype: Any) -> int:
        return self._get(tensor, dtype, lambda t: t.desc.dtype.acl_value)

    def aclGetRawTensorAddr(self, tensor: Any, address: Any) -> int:
        return self._get(tensor, address, lambda t: self.npu.pointer("void *", t.address))

    def aclSetRawTensorAddr(self, tensor: Any, address: Any) -> int:
        found = self.tensor(tensor)
        if found is None:
            self.npu.messages.report_null("aclSetRawTensorAddr", "tensor")
            return PARAM_NULLPTR
        found.address = self.npu.address(address)
        return SUCCESS

    # -- scalars ---------------------------------------------------------------

    def aclCreateScalar(self, value: Any, dtype: int) -> Any:
        npu = self.npu
        if value == npu.null:
            return npu.null
        kind = _BY_VALUE.get(dtype, UNDEFINED)
        if kind.name not in SCALAR_DTYPES:
            self._report_scalar_dtype(kind, dtype)
            return npu.null
        raw = bytes(npu.ffi.buffer(npu.ffi.cast("char *", value), kind.itemsize))
        handle = npu.new_handle("aclScalar")
        self.objects[handle] = ScalarObject(handle, Scalar(raw=raw, dtype=kind))
        return npu.pointer("aclScalar *", handle)

    def _report_scalar_dtype(self, kind: DataType, number: int) -> None:
        allowed = ", ".join(f"{n}({data_type(n).value})" for n in SCALAR_DTYPES)
        self.npu.messages.report(
            "EZ1006",
            f"aclCreateScalar takes no {kind.name}",
            dataType=f"{kind.name}({number})",
            dtypeRange=f"[{allowed}]",
            opName="",
        )
        self.npu.messages.report("EZ9999", "the scalar could not be created")

    def aclDestroyScalar(self, scalar: Any) -> int:
        return self._destroy(scalar, ScalarObject, "aclScalar")

    # -- arrays and lists ------------------------------------------------------

    def _array(self, kind: str, value: Any, size: int) -> Any:
        npu = self.npu
        if value == npu.null and size:
            return npu.null
        items = tuple(npu.ffi.unpack(value, size)) if size else ()
        handle = npu.new_handle(kind)
        self.objects[handle] = ArrayObject(handle, kind, items)
        return npu.pointer(f"{kind} *", handle)

    def aclCreateIntArray(self, value: Any, size: int) -> Any:
        return self._array("aclIntArray", value, size)

    def aclCreateFloatArray(self, value: Any, size: int) -> Any:
        return self._array("aclFloatArray", value, size)

    def aclCreateBoolArray(self, value: Any, size: int) -> Any:
        return self._array("aclBoolArray", value, size)

    def aclCreateTensorList(self, value: Any, size: int) -> Any:
        return self._array("aclTensorList", value, size)

    def aclCreateScalarList(self, value: Any, size: int) -> Any:
        return self._array("aclScalarList", value, size)

    def aclDestroyIntArray(self, array: Any) -> int:
        return self._destroy(array, ArrayObject, "aclIntArray")

    def aclDestroyFloatArray(self, array: Any) -> int:
        return self._destroy(array, ArrayObject, "aclFloatArray")

    def aclDestroyBoolArray(self, array: Any) -> int:
        return self._destroy(array, ArrayObject, "aclBoolArray")

    def aclDestroyTensorList(self, array: Any) -> int:
        return self._destroy_list(array, "aclTensorList", self.aclDestroyTensor)

    def aclDestroyScalarList(self, array: Any) -> int:
        return self._destroy_list(array, "aclScalarList", self.aclDestroyScalar)

    def _destroy_list(self, array: Any, kind: str, destroy: Any) -> int:
        found = self._find(array, ArrayObject, kind)
        if found is not None:
            self._forget(found)
            for member in found.items:
                destroy(member)
        return SUCCESS

    def _size(self, array: Any, kind: str, size: Any) -> int:
        found = self._find(array, ArrayObject, kind)
        if found is None or size == self.npu.null:
            return PARAM_NULLPTR
        size[0] = len(found.items)
        return SUCCESS

    def aclGetIntArraySize(self, array: Any, size: Any) -> int:
        return self._size(array, "aclIntArray", size)

    def aclGetFloatArraySize(self, array: Any, size: Any) -> int:
        return self._size(array, "aclFloatArray", size)

    def aclGetBoolArraySize(self, array: Any, size: Any) -> int:
        return self._size(array, "aclBoolArray", size)

    def aclGetTensorListSize(self, array: Any, size: Any) -> int:
        return self._size(array, "aclTensorList", size)

    def aclGetScalarListSize(self, array: Any, size: Any) -> int:
        return self._size(array, "aclScalarList", size)

    # -- helpers ---------------------------------------------------------------

    def aclDataTypeSize(self, dtype: int) -> int:
        kind = _BY_VALUE.get(dtype, UNDEFINED)
        return kind.itemsize or 0

    def aclFloat16ToFloat(self, value: int) -> float:
        return float(np.uint16(value).view(np.float16))

    def aclFloatToFloat16(self, value: float) -> int:
        with np.errstate(over="ignore"):
            return int(np.float16(np.float32(value)).view(np.uint16))
