"""Whatever a panel's field is given: it is shown, or refused in words."""

from __future__ import annotations

import importlib
import random
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from odd import name_of, odd

import labkit
from labkit import explore
from labkit.errors import LabError, LabValueError


def _state(panel: str) -> tuple[Any, Any]:
    module = importlib.import_module(f"labkit.explore.{panel}_state")
    name = f"{panel.replace('_', '')}state"
    found = next(value for key, value in vars(module).items() if key.lower() == name)
    return found(), module.changed


def escaped(panel: str, changes: dict[str, Any]) -> str:
    state, changed = _state(panel)
    try:
        changed(state, changes)
    except LabValueError as error:
        assert str(error).strip()
    except Exception as error:
        told = ", ".join(f"{name}={name_of(value)}" for name, value in changes.items())
        return f"{panel}({told}): {type(error).__name__}: {error}"[:300]
    return ""


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("panel", explore.PANELS)
def test_every_field_takes_or_refuses_every_odd_object(panel, language, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", language)
    state, _ = _state(panel)
    found = [escaped(panel, {f.name: value}) for f in fields(state) for value in odd()]
    assert not [text for text in found if text]


@pytest.mark.parametrize("panel", explore.PANELS)
def test_several_odd_fields_at_once(panel):
    draw = random.Random(panel)
    names = [f.name for f in fields(_state(panel)[0])]
    objects = odd()
    found = [
        escaped(panel, {name: draw.choice(objects) for name in draw.sample(names, 2)})
        for _ in range(150)
    ]
    assert not [text for text in found if text]


@pytest.fixture
def dev():
    with labkit.open_device("sim", soc="950") as device:
        yield device


@pytest.mark.parametrize("panel", ["mask", "bits", "contract", "chain", "tiling", "learning"])
def test_an_open_panel_shows_the_words_and_keeps_its_picture(panel, dev, monkeypatch):
    monkeypatch.delenv("LABKIT_RAISE", raising=False)
    make = getattr(explore, panel)
    opened = make(dev) if panel in ("mask", "bits") else make()
    before = opened.picture, opened.state
    fields_of = {f.name for f in fields(opened.state)}
    for name, value in (
        ("lambd", 10**400),
        ("lambd", np.ma.masked),
        ("lambd", []),
        ("soc", []),
        ("soc", {}),
        ("dtype", np.ones(2)),
        ("total", 10**5000),
    ):
        if name in fields_of:
            opened.set(**{name: value})
            assert opened.error and opened.stale, (name, name_of(value))
            assert (opened.picture, opened.state) == before
    opened.close()


@pytest.mark.parametrize("panel", explore.PANELS)
def test_a_panel_is_not_opened_with_what_it_cannot_show(panel, dev):
    derived = ("typed", "preset", "pair")
    name = next(f.name for f in fields(_state(panel)[0]) if f.name not in derived)
    for value in (10**5000, object(), np.ma.masked):
        with pytest.raises(LabError):
            getattr(explore, panel)(**{name: value})
        with pytest.raises(LabError):
            getattr(explore, f"{panel}_picture")(**{name: value})


@pytest.mark.parametrize("panel", ["mask", "bits"])
def test_a_device_that_is_none_is_refused_in_words(panel):
    with pytest.raises(LabValueError, match="no device"):
        getattr(explore, f"{panel}_picture")("sim")


@pytest.mark.parametrize("panel", explore.PANELS)
def test_an_unknown_field_of_a_still_picture_is_named(panel):
    with pytest.raises((LabError, TypeError), match="colour"):
        getattr(explore, f"{panel}_picture")(colour="red")
