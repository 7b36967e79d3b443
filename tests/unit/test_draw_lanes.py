"""Lanes over the total, and the picture of a tiling: numbers right, nothing cut off or touching."""

import warnings

import numpy as np
import pytest

from labkit.draw.cores import all_lanes
from labkit.draw.lanes import (
    LanePoint,
    Mark,
    describe_mark,
    lane_share,
    lanes_alt_text,
    lanes_figure,
)
from labkit.draw.tiling import HEIGHT, tiling_figure
from labkit.errors import LabValueError
from labkit.explore.tiling_state import CHIPS, DTYPES, MOST, OPS, TilingState, look
from labkit.op import TilingError, find_soc, run_kernel, tile
from labkit.op.cuts import by_share, lane_step

CURVES = {
    "public cut": [LanePoint(2**n, lane_share(tile(2**n, "float32"))) for n in range(32)],
    "cut by share": [
        LanePoint(2**n, lane_share(by_share(tile(2**n, "float32")))) for n in range(32)
    ],
}
STATES = {
    "start": TilingState(),
    "none": TilingState(0),
    "none forward": TilingState(0, op="hardshrink"),
    "one": TilingState(1),
    "idle core": TilingState(16, core=71),
    "last core": TilingState(1048576, core=71),
    "largest": TilingState(MOST, "bfloat16", core=71),
    "largest forward": TilingState(MOST, "float16", op="hardshrink", core=70),
    "largest on one core": TilingState(MOST, "float32", "Ascend310B1"),
    "constants": TilingState(1000, "bfloat16", op="hardshrink", core=71),
    "not public": TilingState(10_000_000, "bfloat16", "Ascend910B1", core=5),
    "few cores": TilingState(700, "float16", "Ascend950PR_950z", core=7),
    "least UB": TilingState(12_345_678, "float32", "Ascend031"),
    "half way": TilingState(524288, "float16", core=3),
}


def texts(figure):
    return [text.get_text().replace("\u202f", "") for text in figure.texts]


def placed_well(figure):
    """No text leaves the figure, none is small, no two touch; lines as high as their letters."""
    wide, high = figure.bbox.size
    renderer = figure.canvas.get_renderer()
    placed = []
    for text in figure.texts:
        box = text.get_window_extent(renderer)
        assert text.get_fontsize() >= 8, text
        assert 6 < box.x0 and box.x1 < wide - 6 and 0 < box.y0 and box.y1 < high, text
        middle, half = (box.y0 + box.y1) / 2, 0.4 * (box.y1 - box.y0)
        box = type(box).from_extents(box.x0, middle - half, box.x1, middle + half)
        for other, neighbour in placed:
            assert not box.overlaps(other), (text.get_text(), neighbour)
        placed.append((box, text.get_text()))


@pytest.mark.parametrize("name", STATES)
def test_no_text_of_a_tiling_is_cut_off_or_touches_another(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = tiling_figure(look(STATES[name]))
    assert tuple(figure.bbox.size) == (940, HEIGHT)
    placed_well(figure)
    assert not any(text.endswith("…") for text in texts(figure))


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize("op", OPS)
def test_no_text_touches_another_on_any_chip(soc, op):
    for dtype in DTYPES:
        for total in (72, 5000, 3_000_000):
            last = find_soc(soc).tiling_cores - 1
            placed_well(tiling_figure(look(TilingState(total, dtype, soc, op, last))))


def test_a_quick_picture_says_the_same_and_nearly_looks_the_same():
    view = look(TilingState(100_000, "float16", core=9))
    plain, quick = tiling_figure(view), tiling_figure(view, quick=True)
    pixels = []
    for figure in (plain, quick):
        figure.canvas.draw()
        pixels.append(np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int))
    assert quick.texts == []
    differ = np.abs(pixels[0] - pixels[1]).max(axis=-1) > 100
    assert 0 < differ.mean() < 0.02


def test_the_picture_shows_shares_lanes_cycles_and_bytes():
    shown = texts(tiling_figure(look(TilingState(4096, core=1))))
    for words in (
        "cores 0 to 70: 57 each",
        "core 71: 49",
        "core 1 starts at byte 228, 4 past a multiple of 32",
        "cores: block dim 72, block factor 57",
        "lanes of core 1: 57 wanted",
        "public cut, ub factor 4096: 1.4 % real",
        "4096 lanes",
        "cut by share, ub factor 64: 89.1 % real",
        "64 lanes",
        "all cores: 294912 lanes for 4096 elements",
        "whole core 1566, cut by share 1314",
        "model cycles",
        "UB of one core: 98816 of 253952 B used",
        "2 × 16384",
        "4096: public cut 1.4 %, cut by share 88.9 %",
    ):
        assert words in shown, shown


def test_a_tiling_that_is_not_public_is_never_called_public():
    shown = texts(tiling_figure(look(TilingState(5000, soc="Ascend910B1"))))
    assert any("tiling not public here: the 950's rule assumed" in text for text in shown)
    assert not any("public cut" in text for text in shown) and "the 950's rule" in shown


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_share_of_lanes_is_that_of_the_kernel(op, dtype):
    for total in (1, 100, 700):
        cut = tile(total, dtype, op=op, cores=3, ub_bytes=30_000)
        for each in (cut, by_share(cut)):
            x = np.zeros(total, each.dtype.numpy)
            ran = run_kernel(None if op == "hardshrink" else x, x, 0.5, each)
            assert lane_share(each) == ran.lanes_valid / ran.lanes_computed
            assert all_lanes(each).computed == ran.lanes_computed


@pytest.mark.parametrize("dtype", DTYPES)
def test_by_share_is_the_same_rule_asked_with_the_share(dtype):
    for total in (1, 64, 65, 129, 4096, 65536, 10**6, 10**8):
        public = tile(total, dtype)
        shared = by_share(public)
        assert public.ub_factor % lane_step(public) == shared.ub_factor % lane_step(public) == 0
        assert shared.block_factor == public.block_factor
        assert shared.ub_factor <= public.ub_factor
        assert shared.ub_factor >= min(public.block_factor, public.ub_factor)
        assert shared.ub_factor - public.block_factor < lane_step(public)
    assert by_share(tile(1, dtype)).ub_factor == tile(1, dtype).ub_factor == lane_step(public)


def test_by_share_of_nothing_is_nothing_and_what_does_not_fit_is_refused():
    nothing = tile(0, "float32")
    assert by_share(nothing) is nothing and lane_share(nothing) == 0
    unfit = tile(5000, "float32", ub_bytes=15_000)
    assert lane_share(unfit) == 0
    with pytest.raises(TilingError, match="cut nothing"):
        by_share(unfit)


# -- the curves alone ---------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_curves_stand_alone_with_their_names(count):
    curves = dict(
        list({**CURVES, "a cut with a long name of its own": CURVES["public cut"]}.items())[:count]
    )
    figure = lanes_figure(curves, "float32, 72 cores")
    placed_well(figure)
    assert set(curves) <= set(texts(figure))
    assert texts(figure)[0].endswith("?")


def test_curves_that_are_alike_are_drawn_once():
    shown = texts(lanes_figure({"a": CURVES["public cut"], "b": CURVES["public cut"]}))
    assert "both cuts alike" in shown and "a" not in shown


def test_the_words_of_the_curves_tell_where_one_half_is_reached():
    told = lanes_alt_text(CURVES, "float32")
    assert "public cut: 1.6 % at 1 elements, one half first at 524288," in told
    assert "cut by share: 1.6 % at 1 elements, one half first at 4096," in told
    flat = lanes_alt_text({"flat": [LanePoint(1, 0.1), LanePoint(10, 0.2)]})
    assert flat == (
        "Which share of the computed lanes is real? "
        "flat: 10.0 % at 1 elements, never one half, 20.0 % at 10."
    )


@pytest.mark.parametrize("curves", [{}, {"a": []}, {name: [LanePoint(1, 0.5)] for name in "abcd"}])
def test_no_curve_or_too_many_are_refused(curves):
    with pytest.raises(LabValueError, match="one to three curves"):
        lanes_figure(curves)


def test_a_mark_is_told_once_where_both_cuts_agree():
    assert describe_mark(Mark(16, (("a", 0.5), ("b", 0.5)))) == "16: 50.0 % with either cut"
    assert describe_mark(Mark(16, (("a", 0.5), ("b", 1.0)))) == "16: a 50.0 %, b 100.0 %"
    assert describe_mark(Mark(0, ())) == ""
