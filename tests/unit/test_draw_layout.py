"""The five pictures of the operator: nothing cut off, nothing on top of another, nothing global."""

import gc
import warnings
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib import _pylab_helpers
from matplotlib.figure import Figure

from labkit.draw.chain import chain_alt_text, chain_figure
from labkit.draw.cores import cores_alt_text, cores_figure
from labkit.draw.pipeline import opening, pipeline_alt_text, pipeline_figure
from labkit.draw.ub import ub_alt_text, ub_figure
from labkit.draw.workspace import workspace_alt_text, workspace_figure
from labkit.op import TensorDesc, plan_hardshrink, plan_hardshrink_backward, tile
from labkit.op.schedule import CostModel, schedule
from labkit.op.workspace import Bucket, Member


def plan(grad, x, out, lambd=0.5, soc="950"):
    return plan_hardshrink_backward(
        TensorDesc(*grad), TensorDesc(*x), lambd, TensorDesc(*out), soc=soc
    )


STRIDED = plan(
    ("float16", (4, 6, 8), (96, 1, 12), 0, (1000,)),
    ("bfloat16", (4, 6, 8), (200, 16, 2), 3, (1000,)),
    ("float16", (4, 6, 8), (48, 1, 6), 0, (4, 8, 6)),
    0.3,
)
CUT = TensorDesc("bfloat16", (6, 4, 5, 3), (0, 2, 40, 10), 0, (4000,))
LONGEST = plan_hardshrink_backward(
    CUT,
    TensorDesc("float16", (6, 4, 5, 1), (400, 2, 40, 10), 0, (4000,)),
    0.123456789,
    TensorDesc("bfloat16", (6, 4, 5, 3), (200, 40, 7, 1), 0, (4000,)),
)
PLANS = {
    "four launches": plan(("float16", (4, 1)), ("float32", (1, 4)), ("float32", (4, 4))),
    "one launch": plan(("float32", (2, 2)), ("float32", (2, 2)), ("float32", (2, 2))),
    "empty": plan(("float32", (0, 2)), ("float32", (0, 2)), ("float32", (0, 2))),
    "refused": plan(("float32", (3, 2)), ("float32", (2, 2)), ("float32", (2, 2))),
    "null": plan_hardshrink_backward(None, None, None, None),
    "eight launches": STRIDED,
    "longest": LONGEST,
    "outside": plan(
        ("float32", (3, 2), (1, 50), 0, (6,)), ("float32", (3, 2)), ("float32", (3, 2))
    ),
    "dropped": plan(("float32", (3, 1)), ("float16", (3, 2)), ("float32", (3, 2), (-2, 1), 4)),
    "first generation": plan(
        ("float16", (3, 2)), ("float16", (3, 2)), ("float32", (3, 2), None, 0, (12,)), soc="910"
    ),
    "AI CPU": plan(
        ("float16", (3, 2), (-2, 1), 4),
        ("float16", (3, 2)),
        ("float32", (3, 2), (-4, 1), 8, (12,)),
        -1.0,
        "910b",
    ),
    "forward": plan_hardshrink(
        TensorDesc("float16", (4, 6), (1, 4)), float("nan"), TensorDesc("float32", (4, 6))
    ),
    "rank 8": plan(
        ("float16", (128, 1, 64, 1, 32, 1, 16, 1)),
        ("float32", (1, 2, 1, 64, 1, 8, 1, 8)),
        ("bfloat16", (128, 2, 64, 64, 32, 8, 16, 8)),
    ),
}
EIGHT = replace(
    STRIDED,
    buckets=tuple(
        Bucket(n * 2**37, 2**37, (Member(f"tensor{n}", 2**37 - 32, min(n, 7), 7, frozenset()),))
        for n in range(8)
    ),
)
TILINGS = {
    "4096": tile(4096, "float32"),
    "none": tile(0, "float32"),
    "one": tile(1, "float16"),
    "hundred": tile(100, "float32"),
    "ten million": tile(10_000_000, "bfloat16"),
    "huge": tile(2**40, "float16", op="hardshrink"),
    "huge fp32": tile(2**40, "float32"),
    "forward": tile(4096, "bfloat16", op="hardshrink"),
    "forward none": tile(0, "float32", op="hardshrink"),
    "one core": tile(3000, "float32", cores=1),
    "999 cores": tile(2**30 + 7, "float16", cores=999),
    "not public": tile(2**22, "float32", soc="910b"),
    "too large": replace(tile(2**20, "float32"), ub_factor=16384),
    "too small a UB": tile(5000, "float32", ub_bytes=15000),
    "small UB": tile(5000, "float32", ub_bytes=20000),
}
SLOW = CostModel(vector_rate=16)


def pipeline(name, core=0, model=None):
    tiling = TILINGS[name]
    timed = schedule(opening(tiling, core), core, model)
    return (
        pipeline_figure(timed, tiling, core=core),
        pipeline_alt_text(timed, tiling, core=core),
    )


PLAIN = ("null", "outside", "dropped", "empty")  # as workspaces these are all one sentence
PICTURES = {
    **{("chain", k): lambda p=p: (chain_figure(p), chain_alt_text(p)) for k, p in PLANS.items()},
    **{
        ("workspace", k): lambda p=p: (workspace_figure(p), workspace_alt_text(p))
        for k, p in {**PLANS, "eight buckets": EIGHT}.items()
        if k not in PLAIN
    },
    **{("cores", k): lambda t=t: (cores_figure(t), cores_alt_text(t)) for k, t in TILINGS.items()},
    **{("ub", k): lambda t=t: (ub_figure(t), ub_alt_text(t)) for k, t in TILINGS.items()},
    **{
        ("pipeline", k): lambda k=k: pipeline(k)
        for k in ("4096", "one", "none", "ten million", "huge", "not public")
    },
    ("pipeline", "held back"): lambda: pipeline("ten million", 3, SLOW),
    ("pipeline", "idle core"): lambda: pipeline("hundred", 71),
}


@pytest.mark.parametrize("name", PICTURES, ids=" of ".join)
def test_no_text_is_cut_off_or_small_and_no_two_texts_touch(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure, alt = PICTURES[name]()
    wide, high = figure.bbox.size
    assert wide == 940
    renderer = figure.canvas.get_renderer()
    placed = []
    for text in figure.texts:
        box = text.get_window_extent(renderer)
        assert text.get_fontsize() >= 8, text
        assert 6 < box.x0 and box.x1 < wide - 6 and 0 < box.y0 and box.y1 < high, text
        for other, neighbour in placed:
            assert not box.overlaps(other), (text.get_text(), neighbour)
        # line boxes are taller than letters; rows may be as near as their letters are
        middle, half = (box.y0 + box.y1) / 2, 0.4 * (box.y1 - box.y0)
        placed.append((type(box).from_extents(box.x0, middle - half, box.x1, middle + half), text))
    assert figure.texts[0].get_text().endswith("?")
    assert alt.startswith(figure.texts[0].get_text()) and alt.endswith(".") and ".." not in alt
    assert "\u202f" not in alt and "  " not in alt


SOME = [("chain", "eight launches"), ("workspace", "eight launches"), ("cores", "4096")]
SOME += [("ub", "too large"), ("pipeline", "held back")]


def pixels(name):
    figure = PICTURES[name]()[0]
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba()).copy()


@pytest.mark.parametrize("name", SOME, ids=" of ".join)
def test_global_settings_are_neither_read_nor_written(name):
    plain = pixels(name)
    with matplotlib.rc_context():
        matplotlib.rcParams.update(
            {
                "font.family": "serif",
                "font.size": 25.0,
                "figure.facecolor": "red",
                "lines.antialiased": False,
                "lines.linewidth": 9.0,
                "lines.dash_capstyle": "round",
                "patch.antialiased": False,
                "patch.linewidth": 7.0,
                "text.usetex": True,
            }
        )
        asked = dict(matplotlib.rcParams)
        assert np.array_equal(pixels(name), plain)
        assert dict(matplotlib.rcParams) == asked


def test_the_dark_palette_draws_the_same_words():
    for draw, data in (
        (chain_figure, STRIDED),
        (workspace_figure, STRIDED),
        (cores_figure, TILINGS["4096"]),
        (ub_figure, TILINGS["4096"]),
    ):
        light, dark = draw(data), draw(data, "dark")
        assert [t.get_text() for t in light.texts] == [t.get_text() for t in dark.texts]
        assert np.asarray(dark.get_facecolor())[:3].max() < 0.2


def test_no_figure_is_known_to_pyplot_or_kept():
    chain_figure(STRIDED)
    gc.collect()
    known = len(_pylab_helpers.Gcf.figs)
    before = sum(isinstance(thing, Figure) for thing in gc.get_objects())
    for _ in range(3):
        chain_figure(STRIDED)
    gc.collect()
    assert sum(isinstance(thing, Figure) for thing in gc.get_objects()) <= before
    assert len(_pylab_helpers.Gcf.figs) == known
