"""Every panel, driven through every value of every control without a browser."""

import pytest

import labkit
from labkit import explore
from labkit.explore import PANELS


def sample(slider):
    """Values over a slider's range, both ends included."""
    kind = type(slider.value)
    span = slider.max - slider.min
    return [kind(slider.min + span * part) for part in (0, 0.25, 0.5, 1)]


def values_of(widget):
    """What a user can set a widget to; nothing for a widget without a value of its own."""
    if hasattr(widget, "_options_full"):
        return [value for _, value in widget._options_full]
    if hasattr(widget, "max") and hasattr(widget, "min"):
        return sample(widget)
    return []


@pytest.fixture(scope="module", params=PANELS)
def panel(request):
    with labkit.open_device("sim"):
        panel = getattr(explore, request.param)(raise_errors=True)
        yield panel
        panel.close()


def test_every_value_of_every_control_shows_what_a_fresh_panel_shows(panel):
    fresh = getattr(explore, panel.name)(name="fresh", raise_errors=True)
    tried = 0
    for row in panel.shell.controls.rows:
        for widget in row:
            start = getattr(widget, "value", None)
            for value in values_of(widget):
                widget.value = value
                tried += 1
                if panel.problem is not None:
                    assert panel.problem.expected, panel.problem.details
                    assert panel.error
                    continue
                fresh._wanted = panel.state
                fresh.set()
                assert panel.picture == fresh.picture, panel.state
                assert panel.text == fresh.text
                assert panel.shell.picture.value.count("<img") == 1
            if values_of(widget):
                widget.value = start
    fresh.close()
    assert tried >= 8


def test_it_shows_one_picture_of_a_stable_size_with_words(panel):
    panel.set()
    assert panel.picture[:4] == b"\x89PNG"
    wide, high = (int.from_bytes(panel.picture[at : at + 4], "big") for at in (16, 20))
    assert (wide, high) == panel.size
    assert len(panel.text) > 80


def test_it_speaks_chinese_where_that_is_asked_for(panel, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    other = getattr(explore, panel.name)(name="chinese", raise_errors=True)
    words = [getattr(w, "description", "") for row in other.shell.controls.rows for w in row]
    other.close()
    assert any("\u4e00" <= letter <= "\u9fff" for letter in "".join(words) + other.text)


def test_a_field_that_is_not_there_is_named(panel):
    with pytest.raises(labkit.LabValueError, match="no nonsense here; this panel has"):
        panel.set(nonsense=1)
    panel.set()
