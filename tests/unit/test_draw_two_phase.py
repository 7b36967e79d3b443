"""The two-phase picture: every scenario fits, at every step; nothing cut off, nothing overlaps."""

import re
import warnings

import numpy as np
import pytest

from labkit.draw.two_phase import HEIGHT, two_phase_figure
from labkit.draw.two_phase_view import two_phase_alt_text
from labkit.explore.two_phase_run import look
from labkit.explore.two_phase_state import SCENARIOS, TwoPhaseState, program_of
from labkit.explore.typed import CHIPS


def states():
    """Every scenario at its fullest, and the calls and chips in turn."""
    yield TwoPhaseState(step=0)
    yield TwoPhaseState("mixed", step=14)
    for place, scenario in enumerate(SCENARIOS):
        for call, chip, strict, step in (
            ("mixed", 0, True, 16),
            ("mixed", 0, False, 33),
            ("plain", 1 + place % 4, True, 33),
            ("transposed", 1 + place % 4, False, 17),
        ):
            total = len(program_of(call, scenario).lines)
            yield TwoPhaseState(call, CHIPS[chip], scenario, strict, min(step, total))


STATES = list(states())


def texts(view):
    return [text.get_text().replace("\u202f", "") for text in two_phase_figure(view).texts]


@pytest.mark.parametrize(
    "state", STATES, ids=lambda s: f"{s.scenario}-{s.call}-{s.step}-{s.strict}"
)
def test_no_text_is_cut_off_or_small_and_no_two_texts_touch(state):
    view = look(state)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = two_phase_figure(view)
    wide, high = figure.bbox.size
    assert (wide, high) == (940, HEIGHT)
    renderer = figure.canvas.get_renderer()
    placed = []
    for text in figure.texts:
        box = text.get_window_extent(renderer)
        assert text.get_fontsize() >= 8, text
        assert 6 < box.x0 and box.x1 < wide - 6 and 0 < box.y0 and box.y1 < high, text
        middle, half = (box.y0 + box.y1) / 2, 0.4 * (box.y1 - box.y0)
        thin = type(box).from_extents(box.x0, middle - half, box.x1, middle + half)
        for other, neighbour in placed:
            assert not thin.overlaps(other), (text.get_text(), neighbour)
        placed.append((thin, text.get_text()))
    assert not any(
        "…" in text.get_text() and "CD" not in text.get_text()
        for text in figure.texts
        if re.search("[a-z]{4}", text.get_text())
    )
    alt = two_phase_alt_text(view)
    assert alt.startswith(figure.texts[0].get_text()) and "  " not in alt and "\u202f" not in alt
    assert figure.texts[0].get_text().endswith("?")


def test_the_picture_says_what_it_ran_on():
    for chip in CHIPS:
        shown = " ".join(texts(look(TwoPhaseState(soc=chip))))
        assert f"software NPU as {chip}" in shown
        assert ("not public" in shown) == (chip != CHIPS[0])


def test_the_whole_message_of_an_error_stands_in_the_picture():
    for scenario in SCENARIOS:
        view = look(TwoPhaseState("mixed", scenario=scenario, step=27))
        if view.verdict is not None:
            shown = " ".join(texts(view))
            assert all(word in shown for word in str(view.verdict).split())
            joined = " ".join(t for t in texts(view))
            assert str(view.verdict).split()[-1] in joined


def test_poison_is_seen_before_the_wait_and_the_result_after_it():
    before, after = (texts(look(TwoPhaseState(step=step))) for step in (15, 16))
    assert before.count("0xCD CD CD CD …") == 2 and after.count("0xCD CD CD CD …") == 1
    assert "0  0  7  8" in after and "0  0  7  8" not in before
    assert "nothing is waiting" in after and "nothing is waiting" not in before


def test_quick_and_careful_lettering_draw_the_same_boxes():
    view = look(TwoPhaseState("mixed", scenario="no synchronise", step=16))
    quick, careful = two_phase_figure(view, quick=True), two_phase_figure(view)
    assert len(quick.patches) == len(careful.patches)
    images = []
    for figure in (quick, careful):
        figure.canvas.draw()
        images.append(np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int))
    assert np.mean(np.abs(images[0] - images[1])) < 3


def test_the_dark_palette_draws_the_same_words():
    view = look(TwoPhaseState())
    light, dark = two_phase_figure(view), two_phase_figure(view, "dark")
    assert [t.get_text() for t in light.texts] == [t.get_text() for t in dark.texts]
    assert np.asarray(dark.get_facecolor())[:3].max() < 0.2
