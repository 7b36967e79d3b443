"""Data types: CANN's names and numbers, NumPy's names, sizes, promotion and casts.

Models: cann/metadef c_types.h (the enum) and cann/opbase data_type_utils.h
(PromoteType :284-297, CanCast :267-282, CheckType :50-53); commits in
data/dtypes.json and data/promote.json.
"""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.errors import LabValueError
from labkit.op.tables import load_table

__all__ = [
    "BF16",
    "FLOAT",
    "FLOAT16",
    "UNDEFINED",
    "DataType",
    "can_cast",
    "data_type",
    "data_types",
    "message_list",
    "promote_type",
]


@dataclass(frozen=True, eq=False)
class DataType:
    """One dtype. There is one object per dtype, so `is` and `==` agree.

    `value` is the framework's number (aclDataType has the same, but -1 for
    UNDEFINED), `itemsize` bytes per element or None where the framework
    itself has no whole-byte size for it.
    """

    value: int
    name: str
    acl_name: str | None
    numpy_name: str | None
    itemsize: int | None
    kind: str

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, tuple[int]]:
        return _by_value, (self.value,)

    @property
    def message_name(self) -> str:
        """The name as CANN's own messages spell it (bf16 is DT_BFLOAT16 there)."""
        return "DT_BFLOAT16" if self.name == "DT_BF16" else self.name

    @property
    def short(self) -> str:
        """The name without prefix, e.g. FLOAT16, for tables and pictures."""
        return self.name.removeprefix("DT_")

    @property
    def acl_value(self) -> int:
        """The number in the C interface."""
        return -1 if self is UNDEFINED else self.value

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype with the same bits; LabValueError where there is none."""
        if self.numpy_name is None:
            raise LabValueError(f"{self.name} has no NumPy dtype")
        found: np.dtype[Any]
        try:
            found = np.dtype(self.numpy_name)
        except TypeError:
            import ml_dtypes

            found = np.dtype(getattr(ml_dtypes, self.numpy_name))
        return found


_ALL = tuple(DataType(*row) for row in load_table("dtypes")["dtypes"])
_VALUES = {dtype.value: dtype for dtype in _ALL}
FLOAT = _VALUES[0]
FLOAT16 = _VALUES[1]
BF16 = _VALUES[27]
UNDEFINED = _VALUES[28]
INT64 = _VALUES[9]


def _by_value(value: int) -> DataType:
    return _VALUES[value]


def data_types() -> tuple[DataType, ...]:
    """Every dtype of the framework, in the order of its numbers."""
    return _ALL


@cache
def _names() -> dict[str, DataType]:
    names: dict[str, DataType] = {}
    for dtype in _ALL:
        for key in (dtype.name, dtype.short, dtype.acl_name, dtype.numpy_name):
            if key is not None:
                names[key.upper()] = dtype
    names |= {
        "DT_BFLOAT16": BF16,
        "FP32": FLOAT,
        "FP16": FLOAT16,
        "HALF": FLOAT16,
        "SINGLE": FLOAT,
        "BOOL_": names["BOOL"],
    }
    return names


def data_type(spec: DataType | str | int | npt.DTypeLike) -> DataType:
    """The dtype meant by a NumPy dtype or name, an ACL or DT name, or its number.

    >>> data_type("bfloat16"), data_type("ACL_FLOAT"), data_type("float16")
    (DT_BF16, DT_FLOAT, DT_FLOAT16)
    """
    if isinstance(spec, DataType):
        return spec
    if isinstance(spec, np.dtype):
        return _of_numpy(spec)
    if isinstance(spec, int) and not isinstance(spec, bool):
        found = UNDEFINED if spec == -1 else _VALUES.get(spec)
        if found is None:
            raise LabValueError(f"no aclDataType has the value {spec}")
        return found
    if isinstance(spec, str):
        found = _names().get(spec.upper())
        if found is not None:
            return found
    try:
        if spec is None:  # NumPy would make float64 of it
            raise TypeError
        named = np.dtype(spec)  # type: ignore[arg-type]
    except Exception as error:  # NumPy reads "(,)" as Python does: SyntaxError and others
        raise LabValueError(
            f"{reprlib.repr(spec)} names no dtype; right would be a NumPy name (float32, float16, "
            "bfloat16) or an ACL one (ACL_FLOAT, ACL_BF16)"
        ) from error
    return _of_numpy(named)


@cache
def _of_numpy(dtype: np.dtype[Any]) -> DataType:
    found = _names().get(dtype.name.upper())
    if found is None:
        raise LabValueError(f"NumPy dtype {dtype.name} has no counterpart in CANN")
    return found


def promote_type(first: DataType, second: DataType) -> DataType:
    """The dtype in which two inputs meet; UNDEFINED when there is none.

    Not symmetric: unsigned 16, 32 and 64 bit with a complex type depend on
    which comes first.
    """
    if first is second:
        return first
    return _VALUES[load_table("promote")["table"][first.value][second.value]]


def can_cast(source: DataType, target: DataType) -> bool:
    """Whether CANN lets a result of `source` be delivered as `target`."""
    if source.kind == "complex" and target.kind != "complex":
        return False
    if source.kind == "floating" and target.kind == "integral":
        return False
    return target.kind != "bool" or source.kind == "bool"


def message_list(dtypes: tuple[DataType, ...]) -> str:
    """A dtype list as CANN prints it: a comma after every element.

    >>> message_list((FLOAT, FLOAT16))
    '[DT_FLOAT,DT_FLOAT16,]'
    """
    return "[" + "".join(f"{dtype.message_name}," for dtype in dtypes) + "]"
