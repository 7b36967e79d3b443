"""What the chain panel can be asked: a call, described by menus and typed words, and a step of it.

`plan_of` turns the call into what phase 1 decides, `chain_of` has it told;
`changed` reads what was typed or chosen.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from labkit.errors import LabValueError, shown
from labkit.explain import Chain, explain
from labkit.explore.chain_call import (
    DTYPES,
    PROMOTED,
    SHAPES,
    VIEWS,
    read_shapes,
    viewed,
)
from labkit.explore.typed import (
    CHIPS,
    OPERATORS,
    chosen,
    read_chip,
    read_dtype,
    read_number,
    read_shape,
    refuse_unknown,
    shape_words,
    text_of,
)
from labkit.language import Text
from labkit.language import gettext as _
from labkit.op import Plan, plan_hardshrink, plan_hardshrink_backward
from labkit.op.broadcast import BroadcastFault, broadcast_shapes
from labkit.op.dtypes import UNDEFINED, data_type, promote_type

__all__ = ["OWN", "PRESETS", "ChainState", "chain_of", "changed", "plan_of"]

OWN = "own"
"""The preset of a call that is none of `PRESETS`."""


@dataclass(frozen=True)
class ChainState:
    """What the panel was asked to show.

    `preset` is the preset that the call is, or `OWN`; `out_dtype` may be
    `PROMOTED`; `shapes` is written as in `SHAPES`, views are names of `VIEWS`,
    `lambd` is λ as typed ("none": a null pointer), `step` counts from 1.
    """

    preset: str = "the documented example"
    operator: str = "backward"
    soc: str = CHIPS[0]
    grad_dtype: str = "float32"
    self_dtype: str = "float32"
    out_dtype: str = PROMOTED
    shapes: str = SHAPES[0]
    grad_view: str = "contiguous"
    self_view: str = "contiguous"
    out_view: str = "contiguous"
    lambd: str = "0.5"
    step: int = 1


PRESETS: dict[Text, dict[str, Any]] = {
    Text("the documented example"): {},
    Text("fp16 gradient"): {
        "grad_dtype": "float16",
        "shapes": "(4, 4) (4, 4)",
        "step": "Cast gradOutput",
    },
    Text("fp16 gradient, fp16 output"): {
        "grad_dtype": "float16",
        "out_dtype": "float16",
        "shapes": "(4, 4) (4, 4)",
        "step": "WorkspaceSize",
    },
    Text("broadcast, one shape fits already"): {
        "shapes": "(4, 4) (4,)",
        "step": "BroadcastTo gradOutput",
    },
    Text("broadcast and cast: 16 MB of workspace"): {
        "grad_dtype": "float16",
        "shapes": "(4, 1) (1, 4)",
        "step": "WorkspaceSize",
    },
    Text("gapped output"): {
        "shapes": "(4, 4) (4, 4)",
        "out_view": "rows with gaps",
        "step": "ViewCopy",
    },
    Text("transposed output"): {
        "shapes": "(4, 4) (4, 4)",
        "out_view": "transposed",
        "step": "ViewCopy",
    },
    Text("everything at once"): {
        "grad_dtype": "bfloat16",
        "self_dtype": "float16",
        "out_dtype": "bfloat16",
        "shapes": "(4, 6, 8) (6, 1)",
        "grad_view": "every second",
        "self_view": "every second",
        "out_view": "rows with gaps",
    },
    Text("an older chip, output with an offset"): {
        "soc": "Ascend910A",
        "out_view": "from offset 4",
        "step": "ViewCopy",
    },
    Text("an empty input"): {"shapes": "(0,) (5,)", "step": "CheckEmpty"},
    Text("refused: shapes"): {"shapes": "(2, 3) (4,)", "step": "CheckBroadcast"},
    Text("refused late: outside its storage"): {
        "grad_view": "outside its storage",
        "step": "Contiguous gradOutput",
    },
}
"""Calls worth a look: what differs from the first one, and the step to look at."""

_CALL = tuple(f.name for f in fields(ChainState) if f.name not in ("preset", "step"))
_MENUS: dict[str, tuple[str, ...]] = {
    "operator": OPERATORS,
    "grad_dtype": DTYPES,
    "self_dtype": DTYPES,
    "out_dtype": (PROMOTED, *DTYPES),
    "grad_view": tuple(VIEWS),
    "self_view": tuple(VIEWS),
    "out_view": tuple(VIEWS),
}


# -- from a state to what it means --------------------------------------------------------


def plan_of(state: ChainState) -> Plan:
    """What phase 1 decides about the call of a state."""
    grad_shape, self_shape, out_shape = read_shapes(state.shapes)
    grad = viewed(state.grad_dtype, grad_shape, state.grad_view)
    x = viewed(state.self_dtype, self_shape, state.self_view)
    backward = state.operator == "backward"
    meet = data_type(state.self_dtype)
    if backward:
        both = promote_type(data_type(state.grad_dtype), meet)
        meet = meet if both is UNDEFINED else both
        shape = broadcast_shapes(grad_shape, self_shape)
        out_shape = out_shape or (self_shape if isinstance(shape, BroadcastFault) else shape)
    dtype = meet.numpy_name or "float32"
    out = viewed(
        dtype if state.out_dtype == PROMOTED else state.out_dtype,
        self_shape if out_shape is None else out_shape,
        state.out_view,
    )
    number = None if state.lambd == "none" else read_number(state.lambd)[0]
    if backward:
        return plan_hardshrink_backward(grad, x, number, out, soc=state.soc)
    return plan_hardshrink(x, number, out, soc=state.soc)


@lru_cache(maxsize=64)
def _chain(call: tuple[str, ...]) -> Chain:
    fields: dict[str, Any] = dict(zip(_CALL, call))
    return explain(plan_of(ChainState(**fields)))


def chain_of(state: ChainState) -> Chain:
    """The chain of a state's call, explained."""
    return _chain(tuple(getattr(state, name) for name in _CALL))


# -- what is typed and chosen ---------------------------------------------------------------


def changed(state: ChainState, changes: dict[str, Any]) -> ChainState:
    """The state with what was typed or chosen; raises `LabValueError` where it cannot be.

    While only the call changes, the panel stays on its step: on the one of the
    same name if the new chain has it.
    """
    refuse_unknown(state, changes)
    wanted = dict(changes)
    preset = wanted.pop("preset", OWN)
    if text_of(preset) != OWN:
        base = {name: getattr(ChainState(), name) for name in _CALL}
        wanted = {**base, "step": 1, **PRESETS[Text(chosen("preset", preset, PRESETS))], **wanted}
    step = wanted.pop("step", None)
    if text_of(wanted.get("shapes")) == "":
        del wanted["shapes"]
    read: dict[str, Any] = {n: _READ.get(n, _menu)(n, value) for n, value in wanted.items()}
    new = replace(state, **read)
    chain = chain_of(new)
    place = _same_step(state, chain) if step is None else _step_number(step, chain)
    return replace(new, preset=_preset_name(new), step=place)


def _menu(name: str, value: Any) -> str:
    read = read_dtype if name.endswith("dtype") else chosen
    return read(name, value, _MENUS[name])


def _lambd(name: str, value: Any) -> str:
    if value is None or text_of(value).strip().lower() in ("none", "null"):
        return "none"
    return read_number(value)[1]


def _shapes(name: str, value: Any) -> str:
    if not isinstance(value, str):
        shapes = value if isinstance(value, (list, tuple)) else (value,)
        value = " ".join(f"({shape_words(read_shape(name, shape))})" for shape in shapes)
    text = value
    grad, own, out = read_shapes(text)
    return " ".join(str(shape) for shape in (grad, own, out) if shape is not None)


_READ: dict[str, Callable[[str, Any], str]] = {
    "soc": lambda _name, value: read_chip(value),
    "lambd": _lambd,
    "shapes": _shapes,
}


def _step_number(step: Any, chain: Chain) -> int:
    """The number of a step from its number or name."""
    text = text_of(step).strip()
    if re.fullmatch(r"[+-]?\d{1,9}", text) and 1 <= int(text) <= len(chain):
        return int(text)
    names = [item.title.lower() for item in chain]
    for fits in (str.__eq__, str.startswith):
        for number, name in enumerate(names, 1):
            if text and fits(name, text.lower()):
                return number
    raise LabValueError(
        _("there is no step {step}; right would be 1 to {count}, or a name such as {name}").format(
            step=shown(step), count=len(chain), name=chain[-1].title
        )
    )


def _same_step(state: ChainState, chain: Chain) -> int:
    """The step of another chain with the name of the one that is looked at."""
    before = chain_of(state)[state.step - 1]
    titles = [(step.layer, step.title) for step in chain]
    here = (before.layer, before.title)
    return titles.index(here) + 1 if here in titles else min(state.step, len(chain))


def _preset_name(state: ChainState) -> str:
    call = {name: getattr(state, name) for name in _CALL}
    base = {name: getattr(ChainState(), name) for name in _CALL}
    for name, differs in PRESETS.items():
        if call == {**base, **{k: v for k, v in differs.items() if k != "step"}}:
            return str(name)
    return OWN
