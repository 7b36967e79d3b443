"""The sieve and the dtype cube as pictures: nothing cut off, nothing on top of another."""

import warnings

import pytest

from labkit.draw.dtype_cube import cube_figure
from labkit.draw.sieve import HEIGHT, sieve_figure
from labkit.draw.sieve_view import STATES
from labkit.explore.contract_cube import cube_of
from labkit.explore.contract_panel import plan_of
from labkit.explore.contract_presets import PRESETS
from labkit.explore.contract_sieve import sieve_of
from labkit.explore.contract_state import ContractState, changed
from labkit.explore.typed import CHIPS
from labkit.op import socs

LONG = "2147483647, 1, 2147483647, 1, 2147483647, 3, 2147483647, 5"
STATES_SHOWN = {
    **{name: {"preset": name} for name in PRESETS},
    "long": {"grad_shape": LONG, "self_shape": LONG, "out_shape": LONG},
    "long and wrong": {"grad_shape": LONG, "self_shape": LONG + ", 7", "out_shape": LONG},
    "long and unlike": {"grad_shape": LONG, "self_shape": LONG[:-1] + "6", "out_shape": "2, 3"},
    "long strides": {
        "grad_shape": "100000, 2, 300000, 4",
        "self_shape": "100000, 2, 300000, 4",
        "out_shape": "100000, 2, 300000, 4",
        "self_layout": "strided past its storage",
    },
    "rank 25": {"self_shape": ", ".join(["10"] * 25)},
    "long names": {
        "grad_dtype": "float8_e5m2",
        "self_dtype": "complex64",
        "lambd": "0.123456789",
        "lambd_dtype": "complex64",
    },
    "eight kernels": {
        "grad_dtype": "float16",
        "self_dtype": "bfloat16",
        "out_dtype": "float16",
        "grad_shape": "2, 3",
        "self_shape": "4, 2, 3",
        "out_shape": "4, 2, 3",
        "grad_layout": "transposed",
        "self_layout": "transposed",
        "out_layout": "transposed",
    },
    "all null": {name: None for name in ("grad_dtype", "self_dtype", "lambd", "out_dtype")},
    "forward null": {"operator": "forward", "self_dtype": None},
    "forward long": {"operator": "forward", "self_shape": LONG, "out_shape": LONG},
}


def sieve(name, **more):
    return sieve_of(*plan_of(changed(ContractState(), {**STATES_SHOWN[name], **more})))


def assert_clear(figure):
    """No text leaves the figure or its letters touch those of another."""
    wide, high = figure.bbox.size
    assert (wide, high) == (940, HEIGHT)
    renderer = figure.canvas.get_renderer()
    placed = []
    for text in figure.texts:
        box = text.get_window_extent(renderer)
        assert text.get_fontsize() >= 8.5, text
        assert 6 < box.x0 and box.x1 < wide - 6 and 4 < box.y0 and box.y1 < high - 4, text
        middle, half = (box.y0 + box.y1) / 2, 0.4 * (box.y1 - box.y0)
        letters = type(box).from_extents(box.x0, middle - half, box.x1, middle + half)
        for other, neighbour in placed:
            assert not letters.overlaps(other), (text.get_text(), neighbour)
        placed.append((letters, text.get_text()))


@pytest.mark.parametrize("name", STATES_SHOWN)
def test_no_text_of_the_sieve_is_cut_off_or_touches_another(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_clear(sieve_figure(sieve(name)))


def test_the_states_above_show_every_state_of_a_question():
    seen = {cell.state for name in STATES_SHOWN for row in sieve(name).rows for cell in row.cells}
    assert seen == set(STATES)


@pytest.mark.parametrize("soc", [max(socs(), key=len), *CHIPS])
def test_every_chip_has_room_for_its_name(soc):
    assert_clear(sieve_figure(sieve("everything", soc=soc)))


@pytest.mark.parametrize("soc", ["Ascend950PR_9599", "Ascend910A", "KirinDev0000"])
def test_no_text_of_the_cube_is_cut_off_or_touches_another(soc):
    assert_clear(cube_figure(cube_of(soc)))


def test_a_text_that_ends_the_call_stands_on_a_full_ground_and_a_hidden_one_does_not():
    figure = sieve_figure(sieve("rank and shape"))
    full = [patch for patch in figure.artists if getattr(patch, "get_facecolor", None)]
    grounds = {patch.get_facecolor() for patch in full if patch.get_linestyle() != "-"}
    assert grounds == {(1.0, 1.0, 1.0, 1.0)}


def test_the_dark_palette_draws_the_same_words():
    light, dark = (sieve_figure(sieve("empty"), theme) for theme in ("light", "dark"))
    assert [t.get_text() for t in light.texts] == [t.get_text() for t in dark.texts]
    assert max(dark.get_facecolor()[:3]) < 0.2
