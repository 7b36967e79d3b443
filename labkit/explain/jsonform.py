"""A chain as JSON, and back: every dataclass becomes an object with its fields.

JSON is for programs: its sentences are English in both languages, so that they
can be compared. A sentence and its values are not kept apart in it, so text and
HTML of a chain that was read back are English wherever a sentence has values.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from typing import Any

from labkit.errors import LabValueError
from labkit.explain import chain as shapes
from labkit.explain.chain import Chain

__all__ = ["from_json", "to_dict", "to_json"]

_FORM = "labkit-chain-1"


def to_dict(chain: Chain) -> dict[str, Any]:
    """The chain's fields; without the plan, and without any line of source."""
    return {"form": _FORM, "ok": chain.ok, **_plain(chain)}


def to_json(chain: Chain, indent: int | None = None) -> str:
    """The chain as JSON text (strict: no NaN)."""
    return json.dumps(to_dict(chain), ensure_ascii=False, indent=indent, allow_nan=False)


def from_json(text: str) -> Chain:
    """The chain in a JSON text; `LabValueError` when it is none."""
    try:
        loaded = json.loads(text)
        if loaded["form"] != _FORM:
            raise KeyError(loaded["form"])
        chain: Chain = _build(Chain, loaded)
    except (ValueError, KeyError, TypeError) as error:
        raise LabValueError(f"this is not the JSON of a chain ({_FORM}): {error!r}") from error
    return chain


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            item.name: _plain(getattr(value, item.name))
            for item in dataclasses.fields(value)
            if item.compare
        }
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value


def _build(kind: type, loaded: dict[str, Any]) -> Any:
    hints = typing.get_type_hints(kind, vars(shapes))
    return kind(
        **{
            item.name: _typed(hints[item.name], loaded[item.name])
            for item in dataclasses.fields(kind)
            if item.compare
        }
    )


def _typed(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _typed(next(item for item in inner if item is not type(None)), value)
    if origin is tuple:
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else list(inner)
        return tuple(_typed(item, part) for item, part in zip(kinds, value))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _build(hint, value)
    return value
