"""What the contract panel was asked: a call as it is typed and chosen, and its descriptors."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from labkit.errors import LabValueError
from labkit.explore.contract_presets import (
    DTYPES,
    LAYOUTS,
    NULL,
    POINTERS,
    PRESETS,
    SCALAR_CHOICES,
    VIEWS,
)
from labkit.explore.typed import (
    CHIPS,
    OPERATORS,
    chosen,
    read_chip,
    read_complex,
    read_dtype,
    read_shape,
    shape_words,
    text_of,
)
from labkit.language import gettext as _
from labkit.op import Scalar, TensorDesc
from labkit.op.describe import contiguous_strides, element_count

__all__ = ["ContractState", "changed"]

_TENSORS = ("grad", "self", "out")


@dataclass(frozen=True)
class ContractState:
    """A call as it is typed and chosen.

    Of each tensor a dtype (or "null"), the sizes of its axes as text ("" is
    0-d) and how it lies in its storage; λ as text with its dtype (or "null").
    `preset` names the telling call that this is, or is "own".
    """

    preset: str = "plain"
    operator: str = "backward"
    soc: str = CHIPS[0]
    view: str = "checks"
    grad_dtype: str = "float32"
    grad_shape: str = "2, 3"
    grad_layout: str = LAYOUTS[0]
    self_dtype: str = "float32"
    self_shape: str = "3"
    self_layout: str = LAYOUTS[0]
    lambd: str = "0.5"
    lambd_dtype: str = "float32"
    out_dtype: str = "float32"
    out_shape: str = "2, 3"
    out_layout: str = LAYOUTS[0]
    pointers: str = POINTERS[0]

    def tensor(self, name: str) -> TensorDesc | None:
        """The tensor "grad", "self" or "out"; None for a null pointer."""
        dtype = getattr(self, f"{name}_dtype")
        if dtype == NULL:
            return None
        shape = tuple(int(size) for size in re.findall(r"\d+", getattr(self, f"{name}_shape")))
        return _laid_out(dtype, shape, getattr(self, f"{name}_layout"))

    def scalar(self) -> Scalar | None:
        """λ as an aclScalar; None for a null pointer.

        Raises `LabValueError` for a number that a scalar of this dtype cannot hold.
        """
        if self.lambd_dtype == NULL:
            return None
        number = read_complex(self.lambd)[0]
        if isinstance(number, complex) and not self.lambd_dtype.startswith("complex"):
            raise LabValueError(
                _("λ is {typed}, which a {dtype} scalar cannot hold; choose complex64").format(
                    typed=self.lambd, dtype=self.lambd_dtype
                )
            )
        return Scalar(number, self.lambd_dtype)


def _laid_out(dtype: str, shape: tuple[int, ...], layout: str) -> TensorDesc:
    """A tensor of that shape, lying in its storage as `layout` says."""
    dense = contiguous_strides(shape)
    if layout == LAYOUTS[1] and len(shape) > 1:
        storage = (*shape[:-2], shape[-1], shape[-2])
        strides = contiguous_strides(storage)
        turned = (*strides[:-2], strides[-1], strides[-2])
        return TensorDesc(dtype, shape, turned, storage_shape=storage)
    if layout == LAYOUTS[2] and shape:
        last = max(shape[-1] - 1, 0)
        return TensorDesc(dtype, shape, (*dense[:-1], -1), last, shape)
    if layout == LAYOUTS[3]:
        return TensorDesc(dtype, shape, tuple(2 * step for step in dense), storage_shape=shape)
    if layout == LAYOUTS[4]:
        return TensorDesc(dtype, shape, offset=element_count(shape), storage_shape=shape)
    return TensorDesc(dtype, shape)


def changed(state: ContractState, changes: dict[str, Any]) -> ContractState:
    """The state with what was typed or chosen; raises `LabValueError` where it cannot be."""
    wanted = dict(changes)
    preset = wanted.pop("preset", "own" if _touches_the_call(wanted) else state.preset)
    if text_of(preset) != state.preset or "preset" in changes:
        state = _at_preset(state, preset)
    for name in _TENSORS:
        if f"{name}_dtype" in wanted:
            wanted[f"{name}_dtype"] = _dtype(f"{name}_dtype", wanted, DTYPES)
        if f"{name}_shape" in wanted:
            wanted[f"{name}_shape"] = _shape(f"{name}_shape", wanted)
    if "lambd_dtype" in wanted:
        wanted["lambd_dtype"] = _dtype("lambd_dtype", wanted, SCALAR_CHOICES)
    if "lambd" in wanted:
        if wanted["lambd"] is None:
            wanted["lambd"], wanted["lambd_dtype"] = state.lambd, NULL
        wanted["lambd"] = read_complex(wanted["lambd"])[1]
    if "soc" in wanted:
        wanted["soc"] = read_chip(wanted["soc"])
    for name, known in _MENUS.items():
        if name in wanted:
            wanted[name] = chosen(name, wanted[name], known)
    return replace(state, **wanted)


_MENUS = {
    "operator": OPERATORS,
    "view": VIEWS,
    "pointers": POINTERS,
    **{f"{name}_layout": LAYOUTS for name in _TENSORS},
}


def _touches_the_call(changes: dict[str, Any]) -> bool:
    return bool(set(changes) - {"soc", "view"})


def _at_preset(state: ContractState, preset: Any) -> ContractState:
    if text_of(preset) == "own":
        return replace(state, preset="own")
    fresh = ContractState(view=state.view, soc=state.soc)
    found = PRESETS[chosen("preset", preset, ("own", *PRESETS))]
    return replace(fresh, preset=preset, **found[1])


def _dtype(name: str, wanted: dict[str, Any], known: tuple[str, ...]) -> str:
    return NULL if wanted[name] is None else read_dtype(name, wanted[name], known)


def _shape(name: str, wanted: dict[str, Any]) -> str:
    return shape_words(read_shape(name, wanted[name]))
