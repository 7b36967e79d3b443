"""The bits picture: strips are the bits, nothing is cut off or covered, both ways draw the same."""

from dataclasses import replace

import matplotlib
import numpy as np
import pytest

import labkit
from labkit.draw.bit_strip import GAP, bit_strip, cell_left, strip_width
from labkit.draw.bits import BitsPicture, bits_figure
from labkit.draw.bits_view import BACKWARD, FORWARD
from labkit.draw.theme import DARK, LIGHT
from labkit.explore.bits_run import look_around
from labkit.explore.bits_state import BitsState, changed

STATES = {
    "start": {},
    "float32 gradient": {"grad_dtype": "float32"},
    "bfloat16": {"dtype": "bfloat16", "lambd": 0.1},
    "bfloat16, negative": {"dtype": "bfloat16", "lambd": -0.3, "grad_dtype": "float16"},
    "tiny float32": {"dtype": "float32", "lambd": "-0.123456789e-38"},
    "large float32": {"dtype": "float32", "lambd": "3.40282346e38"},
    "long": {"dtype": "float32", "lambd": "0.1234567890123456789012"},
    "above half": {"lambd": 70000},
    "infinite": {"lambd": "inf"},
    "nan": {"lambd": "nan"},
    "rounds to 0": {"lambd": "1e-8", "operator": BACKWARD},
    "forward": {"lambd": 0, "operator": FORWARD},
    "least": {"lambd": "6e-8"},
}


@pytest.fixture(scope="module")
def device():
    with labkit.open_device("sim") as device:
        yield device


def view_of(device, name):
    return look_around(device, changed(BitsState(), STATES[name]))


def words(figure):
    """Every line of text with its box, the ones that stay and the ones that change."""
    renderer = figure.canvas.get_renderer()
    found = [(t.get_text(), t.get_window_extent(renderer)) for t in figure.texts]
    for part in figure.artists:
        if getattr(part, "text", ""):
            box = part.get_window_extent()
            pad = round(part.face[1] * 100 / 72 * 0.3)  # kept beside the letters
            box = type(box).from_extents(box.x0 + pad, box.y0, box.x1 - pad, box.y1)
            found.append((part.text, box))
    return found


def check_layout(figure, wide, high):
    placed = []
    for text, box in words(figure):
        assert 6 < box.x0 and box.x1 < wide - 6 and 0 < box.y0 and box.y1 < high, text
        middle = (box.y0 + box.y1) / 2
        core = type(box).from_extents(box.x0, middle - 4, box.x1, middle + 4)
        for other, neighbour in placed:
            if {text, neighbour} & {"●", "▲"}:
                continue  # a mark stands among its words
            assert not core.overlaps(other), (text, neighbour)
        placed.append((core, text))


@pytest.mark.parametrize("name", STATES)
def test_no_text_leaves_the_picture_or_covers_another(device, name):
    figure = bits_figure(view_of(device, name))
    assert tuple(figure.bbox.size) == (940, 650)
    check_layout(figure, 940, 650)


def test_a_kept_picture_and_a_new_one_have_the_same_pixels(device):
    kept = BitsPicture()
    for name in STATES:
        view = view_of(device, name)
        kept.update(view)
        figure = bits_figure(view)
        assert np.array_equal(kept.canvas.buffer_rgba(), figure.canvas.buffer_rgba()), name


def test_every_state_is_told_apart_by_its_picture(device):
    pictures = {
        np.asarray(bits_figure(view_of(device, n)).canvas.buffer_rgba()).tobytes() for n in STATES
    }
    assert len(pictures) == len(STATES)


def test_global_settings_are_not_read(device):
    view = view_of(device, "start")
    plain = np.asarray(bits_figure(view).canvas.buffer_rgba()).copy()
    with matplotlib.rc_context():
        matplotlib.rcParams.update(
            {"font.family": "serif", "patch.linewidth": 7.0, "patch.antialiased": False}
        )
        assert np.array_equal(bits_figure(view).canvas.buffer_rgba(), plain)


def test_dark_and_light_say_the_same(device):
    view = view_of(device, "start")
    light, dark = bits_figure(view), bits_figure(view, "dark")
    assert [text for text, _ in words(light)] == [text for text, _ in words(dark)]
    assert np.asarray(dark.get_facecolor())[:3].max() < 0.2


def test_a_difference_from_the_model_is_told_in_the_colour_of_surprise(device):
    view = view_of(device, "start")
    picture = BitsPicture()
    picture.fill(replace(view, asked=replace(view.asked, agreeing=29)))
    assert picture.check.text == "✗ 1 of 30 results differ from the model"
    assert picture.check.colour == LIGHT.edge
    picture.fill(view)
    assert picture.check.text.startswith("✓") and picture.check.colour == LIGHT.check


# -- strips -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "pattern"), [("float16", 0x34CD), ("bfloat16", 0x8001), ("float32", 0x3E99999A)]
)
def test_a_strip_fills_the_boxes_of_the_ones(dtype, pattern):
    cell, high = 11, 17
    strip = bit_strip(pattern, dtype, LIGHT, cell=cell, high=high, aligned=False)
    width = {"float16": 16, "bfloat16": 16, "float32": 32}[dtype]
    assert strip.shape == (high, strip_width(dtype, cell, False), 4)
    assert strip.shape[1] == width * cell + 2 * GAP
    grey = tuple(int(LIGHT.dead[i : i + 2], 16) for i in (1, 3, 5))
    read = ""
    for field in ("sign", "exponent", "fraction"):
        left = cell_left(field, dtype, cell, False)
        while left + cell <= strip.shape[1] and strip[0, left, 3]:
            read += "1" if tuple(strip[1, left + 1, :3]) == grey else "0"
            left += cell
    assert read == f"{pattern:0{width}b}"


def test_strips_line_up_where_exponent_and_fraction_meet():
    lefts = {cell_left("fraction", dtype, 17) for dtype in ("float32", "float16", "bfloat16")}
    assert len(lefts) == 1


def test_ghosts_make_a_half_as_wide_as_a_float32():
    half = bit_strip(0x34CD, "float16", LIGHT, cell=17, high=22, ghosts=13)
    full = bit_strip(0x3E99999A, "float32", LIGHT, cell=17, high=22)
    assert half.shape == full.shape
    dark = bit_strip(0x34CD, "float16", DARK, cell=17, high=22, ghosts=13)
    assert not np.array_equal(half, dark)
