"""Build the checks: a function from a description to a code, against the operator model.

The descriptions are generated, and tried from the simplest on, so that the one
that is shown is the smallest that betrays the answer.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from itertools import product
from typing import Any

from labkit.course.judge import Verdict, not_yet, passed, told
from labkit.host.device import Device
from labkit.language import gettext as _
from labkit.op import Scalar, TensorDesc, plan_hardshrink_backward

NOTEBOOK = 3
KIND = "build"

_CHIPS = {
    "Ascend950PR_9599": ("bfloat16", "float32", "float16"),
    "Ascend910A": ("float32", "float16"),
}
_NAMES = ("gradOutput", "self", "gradInput")
_SHAPES = ((3,), (2, 3), (), (1,), (0,), (2, 0), (1,) * 8, (1,) * 9)
_DTYPES = ("float32", "float16", "bfloat16", "int32")
_LAMBDS = (("float32", 0.5), ("float64", -1.0), ("complex64", 2 + 1j), ("int32", 1))

Case = tuple[int, dict[str, Any], int]


def _shape_cases() -> list[Case]:
    """Every triple of shapes; the later in the list, the less simple."""
    found = []
    for places in product(range(len(_SHAPES)), repeat=3):
        tensors = {
            name: {"dtype": "float32", "shape": _SHAPES[place]}
            for name, place in zip(_NAMES, places)
        }
        found.append(_case(tensors, 0, 0, sum(places)))
    return found


def _fault_cases() -> list[Case]:
    """Null pointers and dtypes together with shapes that fit, are empty, or do not fit."""
    triples = (((3,), (3,), (3,)), ((0,), (5,), (3,)), ((2, 3), (5,), (3,)), ((1,) * 9, (3,), ()))
    found = []
    for number, shapes in enumerate(triples):
        for kinds in product((None, "float32", "int32"), repeat=3):
            tensors = {
                name: None if kind is None else {"dtype": kind, "shape": shape}
                for name, kind, shape in zip(_NAMES, kinds, shapes)
            }
            faults = sum(kind != "float32" for kind in kinds)
            for lambd, chip in product((0, 2, None), range(len(_CHIPS))):
                cost = 2 * faults + 3 * number + (lambd is None) + (lambd == 2) + chip
                found.append(_case(tensors, lambd, chip, cost))
    return found


def _dtype_cases() -> list[Case]:
    found = []
    for places in product(range(len(_DTYPES)), repeat=3):
        tensors = {
            name: {"dtype": _DTYPES[place], "shape": (3,)} for name, place in zip(_NAMES, places)
        }
        for chip, lambd in product(range(len(_CHIPS)), range(len(_LAMBDS))):
            found.append(_case(tensors, lambd, chip, sum(places) + lambd + chip))
    return found


def _case(tensors: dict[str, Any], lambd: int | None, chip: int, cost: int) -> Case:
    soc = tuple(_CHIPS)[chip]
    dtype, value = _LAMBDS[lambd or 0]
    scalar = None if lambd is None else {"dtype": dtype, "value": value}
    call = {**tensors, "lambd": scalar, "supported": _CHIPS[soc]}
    described = [
        None if call[name] is None else TensorDesc(call[name]["dtype"], call[name]["shape"])
        for name in _NAMES
    ]
    used = None if scalar is None else Scalar(value, dtype)
    plan = plan_hardshrink_backward(described[0], described[1], used, described[2], soc=soc)
    return cost, call, plan.status


@cache
def cases() -> tuple[tuple[dict[str, Any], int], ...]:
    """The calls that are tried with their codes, the simplest first."""
    found = [*_shape_cases(), *_fault_cases(), *_dtype_cases()]
    return tuple((call, status) for _cost, call, status in sorted(found, key=lambda c: c[0]))


def words(call: dict[str, Any]) -> str:
    """A call in one line."""
    told = []
    for name in ("gradOutput", "self", "lambd", "gradInput"):
        value = call[name]
        if value is None:
            told.append(f"{name} null")
        elif name == "lambd":
            told.append(f"{name} {value['dtype']}")
        else:
            told.append(f"{name} {value['dtype']} {value['shape']}")
    return ", ".join(told)


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a function that takes a call as a dict and returns the code of phase 1."""
    tried = cases()
    for call, right in tried:
        try:
            got = answer(deepcopy(call))
            same = bool(got == right)
        except Exception as error:
            return told(error) if not callable(answer) else _betrayed(call, right, error)
        if not same:
            return _betrayed(call, right, got)
    return passed(_("right for all {n} calls tried").format(n=len(tried)))


def _betrayed(call: dict[str, Any], right: int, got: Any) -> Verdict:
    if isinstance(got, Exception):
        said = _("your answer raised {kind}: {error}").format(kind=type(got).__name__, error=got)
    else:
        said = _("your function says {answer}").format(answer=repr(got)[:100])
    return not_yet(
        _("the simplest call that betrays it: {call}").format(call=words(call)),
        _("supported are {dtypes}").format(dtypes=", ".join(call["supported"])),
        _("phase 1 returns {status}").format(status=right),
        said,
    )
