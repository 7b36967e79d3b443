"""The carpet: every pattern at its place, counts that add up, names that do not collide."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from test_draw_bits import check_layout, device, words  # noqa: F401 - the fixture

from labkit.draw.bits_view import BACKWARD, FORWARD
from labkit.draw.carpet import CarpetPicture, carpet_figure
from labkit.draw.carpet_view import PATTERNS, carpet_alt_text, landmarks
from labkit.draw.theme import LIGHT
from labkit.explore.bits_run import look_at_all
from labkit.explore.bits_state import CARPET, BitsState, changed

STATES = {
    "start": {},
    "float32 gradient": {"grad_dtype": "float32"},
    "bfloat16": {"dtype": "bfloat16", "lambd": 0.1},
    "bfloat16, negative": {"dtype": "bfloat16", "lambd": -0.3, "grad_dtype": "float16"},
    "above half": {"lambd": 70000},
    "infinite": {"lambd": "inf"},
    "nan": {"lambd": "nan"},
    "one": {"lambd": 1},
    "nearly one": {"lambd": 0.9},
    "largest": {"lambd": 65504},
    "rounds to 0": {"lambd": "1e-8", "operator": BACKWARD},
    "forward": {"lambd": 0, "operator": FORWARD},
    "long": {"lambd": "0.30000000000000000000001", "grad_dtype": "bfloat16"},
}


def view_of(device, name):  # noqa: F811
    return look_at_all(device, changed(BitsState(picture=CARPET), STATES[name]))


@pytest.mark.parametrize("name", STATES)
def test_no_text_leaves_the_picture_or_covers_another(device, name):  # noqa: F811
    figure = carpet_figure(view_of(device, name))
    assert tuple(figure.bbox.size) == (940, 650)
    check_layout(figure, 940, 650)


@pytest.mark.parametrize("name", STATES)
def test_every_pattern_has_the_colour_of_its_fate(device, name):  # noqa: F811
    view = view_of(device, name)
    picture = CarpetPicture()
    picture.fill(view)
    pixels = picture.carpet.pixels
    assert pixels.shape == (512, 512, 4)
    assert np.array_equal(pixels[::2, ::2][view_rows(view)], colours_of(view)[view_rows(view)])


def view_rows(view):
    """The patterns that are no NaN: those of NaN are striped."""
    return ~view.is_nan.reshape(256, 256)


def colours_of(view):
    shown = {"dead": LIGHT.dead, "plus": LIGHT.passes, "minus": LIGHT.passes_negative}
    rgba = {k: [*(round(255 * part) for part in to_rgb(c)), 255] for k, c in shown.items()}
    odd = set(view.odd.tolist())
    edge = [*(round(255 * part) for part in to_rgb(LIGHT.edge)), 255]
    rows = [
        edge if n in odd else rgba["dead"] if not alive else rgba["plus" if n < 0x8000 else "minus"]
        for n, alive in enumerate(view.alive)
    ]
    return np.array(rows, np.uint8).reshape(256, 256, 4)


@pytest.mark.parametrize("name", STATES)
def test_the_counts_add_up_and_stand_in_picture_and_words(device, name):  # noqa: F811
    view = view_of(device, name)
    counts = view.counts()
    assert counts.passes + counts.nan + counts.dead == PATTERNS
    assert counts.nan == {"float16": 2046, "bfloat16": 254}[view.asked.dtype]
    shown = {text.replace("\u202f", "") for text, _ in words(carpet_figure(view))}
    assert {str(counts.dead), str(counts.nan)} <= shown
    assert f"{counts.passes} pass" in carpet_alt_text(view)


def test_the_counts_are_those_that_were_measured(device):  # noqa: F811
    # forward 38502 and backward 38500 of 65,536 stay at λ = 0.3, as run on the public kernels
    counts = view_of(device, "start").counts()
    assert counts.passes + counts.nan == 38500
    assert (counts.parted, counts.flipped) == (2, 2)
    forward = look_at_all(device, BitsState(operator=FORWARD, picture=CARPET)).counts()
    assert forward.passes + forward.nan == 38502


@pytest.mark.parametrize("name", STATES)
def test_the_landmarks_name_their_patterns_in_order(device, name):  # noqa: F811
    view = view_of(device, name)
    marks = landmarks(view)
    patterns = [pattern for pattern, _, _ in marks]
    assert patterns == sorted(patterns) and len(marks) <= 10
    assert all(words.endswith(f"{pattern:04x}") for pattern, words, _ in marks)
    told = {words.split()[0] for _, words, _ in marks}
    assert {"+0", "−0", "+∞", "−∞", "nan"} <= told
    assert [pattern for pattern, _, loud in marks if loud] == (
        [view.edge(), view.edge() | 0x8000] if view.edge() >= 0 else []
    )


def test_a_kept_picture_and_a_new_one_have_the_same_pixels(device):  # noqa: F811
    kept = CarpetPicture()
    for name in STATES:
        view = view_of(device, name)
        kept.update(view)
        figure = carpet_figure(view)
        assert np.array_equal(kept.canvas.buffer_rgba(), figure.canvas.buffer_rgba()), name


@pytest.mark.parametrize(("dtype", "pattern"), [("float16", 0x34CD), ("bfloat16", 0x3DCD)])
def test_a_pattern_s_number_is_numpy_s(device, dtype, pattern):  # noqa: F811
    view = look_at_all(device, BitsState(dtype=dtype, picture=CARPET))
    for number in (pattern, 0x8000 | pattern, 1):
        assert view.number(number) == float(np.array([number], np.uint16).view(dtype)[0])
