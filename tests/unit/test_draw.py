"""The pictures: their words, their two ways of drawing, and that they touch nothing of yours."""

import io
import subprocess
import sys
import warnings

import matplotlib
import numpy as np
import pytest
from matplotlib.transforms import Bbox
from PIL import Image

import labkit
from labkit.draw import (
    DARK,
    LIGHT,
    MaskPicture,
    MaskView,
    Rung,
    mask_alt_text,
    mask_figure,
    palette,
    road,
    road_alt_text,
    road_figure,
    show,
    to_png,
)
from labkit.draw.numbers import bits_text, number_text, percent
from labkit.draw.png import quick_png
from labkit.draw.stamp import Lettering


def view(lambda_=0.3, dtype="float16", n=16, **changes):
    """A state as a device could have answered it, without one."""
    kind = np.dtype(dtype)
    down, across = np.mgrid[0:n, 0:n] / n
    x = (np.round(64 * np.sin(5 * down + 3 * across)) / 64).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        compared = float(kind.type(max(lambda_, 0.0) if lambda_ == lambda_ else lambda_))
    with np.errstate(invalid="ignore"):
        live = ~(np.abs(x) <= compared)
    near = [compared + step / 1024 for step in (3, 2, 1, 0, -1, -2, -3)]
    rungs = tuple(
        Rung(value, bits_text(kind.type(value)), not abs(value) <= compared, abs(value) > lambda_)
        for value in near
    )
    fields = {
        "dtype": dtype,
        "grad_dtype": dtype,
        "self_shape": (n, n),
        "grad_shape": (n, n),
        "typed": str(lambda_),
        "lambd": float(np.float32(lambda_)),
        "compared": compared,
        "compared_in": dtype,
        "device": "software NPU as Ascend950PR_9599",
        "x": x,
        "live": live,
        "rungs": rungs,
        "agreeing": n * n,
    }
    return MaskView(**(fields | changes))


def drawn(figure):
    return np.asarray(figure.canvas.buffer_rgba())[..., :3]


STATES = [
    view(0.3),
    view(0.5, "float32", 64),
    view(-0.25),
    view(0.0),
    view(float("nan")),
    view(float("inf")),
    view(70000.0),
    view(0.5, n=3, agreeing=7),
    view(0.123456789, grad_dtype="float32", grad_shape=(16, 1)),
    view(
        -1.2345678901234567e-300,
        "float32",
        typed="-1.2345678901234567e-300",
        lambd=-1.23456789e-30,
        grad_dtype="bfloat16",
        self_shape=(1, 256),
        grad_shape=(256, 256),
    ),
]


# -- one state, two ways of drawing ------------------------------------------------


@pytest.mark.parametrize(("theme", "states"), [("light", STATES), ("dark", STATES[:2])])
def test_redrawing_what_changed_gives_the_pixels_of_a_full_drawing(theme, states):
    picture = MaskPicture(theme)
    picture.update(STATES[-1])
    for state in states:
        picture.update(state)
        assert np.array_equal(picture.pixels(), drawn(mask_figure(state, theme)))


def test_the_quick_png_holds_the_same_pixels_as_the_tight_one():
    figure = mask_figure(STATES[0])
    quick, tight = quick_png(figure.canvas.buffer_rgba()), to_png(figure)
    assert len(tight) < len(quick)
    a, b = (np.asarray(Image.open(io.BytesIO(png)).convert("RGB")) for png in (quick, tight))
    assert np.array_equal(a, b)


def boxes(picture):
    """Yield the rectangle of ink of every text in a picture, and the text."""
    renderer = picture.canvas.get_renderer()
    for part in picture.changing:
        if isinstance(part, Lettering) and part.pixels is not None:
            rows, columns = np.nonzero(part.pixels[..., 3])
            box = part.get_window_extent()
            top = box.y1
            yield (
                Bbox(
                    [
                        [box.x0 + columns.min(), top - rows.max() - 1],
                        [box.x0 + columns.max() + 1, top - rows.min()],
                    ]
                ),
                part.text,
            )
    ticks = [
        label
        for axes in picture.plots.values()
        for axis in (axes.xaxis, axes.yaxis)
        for label in axis.get_ticklabels()
        if label.get_visible()
    ]
    for text in (*picture.figure.texts, *ticks):
        if text.get_text():
            yield text.get_window_extent(renderer), text.get_text()


def test_no_text_is_cut_off_and_no_two_texts_touch():
    picture = MaskPicture()
    for state in STATES:
        picture.update(state)
        wide, high = picture.figure.bbox.size
        placed = list(boxes(picture))
        for box, text in placed:
            assert box.x0 > 0 and box.x1 < wide and box.y0 > 0 and box.y1 < high, text
        for number, (box, text) in enumerate(placed):
            for other, neighbour in placed[:number]:
                assert not box.overlaps(other), (text, neighbour)


# -- what the pictures leave alone ---------------------------------------------------


def test_global_settings_are_neither_read_nor_written():
    plain = drawn(mask_figure(STATES[0])).copy()
    before = dict(matplotlib.rcParams)
    try:
        matplotlib.rcParams.update(
            {
                "axes.grid": True,
                "axes.facecolor": "black",
                "axes.unicode_minus": False,
                "figure.autolayout": True,
                "figure.facecolor": "red",
                "font.family": "serif",
                "font.size": 25.0,
                "lines.antialiased": False,
                "lines.linewidth": 9.0,
                "text.usetex": True,
                "xtick.direction": "in",
                "xtick.minor.visible": True,
                "ytick.labelsize": 30,
            }
        )
        asked = dict(matplotlib.rcParams)
        assert np.array_equal(drawn(mask_figure(STATES[0])), plain)
        stations = road([])
        to_png(road_figure(stations))
        assert dict(matplotlib.rcParams) == asked
    finally:
        matplotlib.rcParams.update(before)


def test_drawing_loads_neither_pyplot_nor_widgets_nor_a_device():
    code = (
        "import sys, labkit.draw; "
        "print([m for m in ('matplotlib.pyplot', 'ipywidgets', 'labkit.host', 'labkit.sim',"
        " 'IPython') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_no_letter_is_missing_and_nothing_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for state in STATES:
            MaskPicture().update(state)


# -- words ------------------------------------------------------------------------


def test_the_words_of_a_picture_name_the_state_and_what_came_out():
    words = mask_alt_text(STATES[0])
    for part in ("fp16", "(16, 16)", "λ typed 0.3", "0.300000012", "0.300048828", "software NPU"):
        assert part in words
    assert "get their gradient" in words
    assert "0 01101 0011001101" in words


@pytest.mark.parametrize(
    ("lambd", "told"),
    [
        (-0.25, "a negative λ acts as 0: only ±0 is dead"),
        (0.0, "λ is 0: only ±0 is dead"),
        (float("nan"), "no comparison with nan is true: nothing is dead"),
        (float("inf"), "|x| ≤ ∞: everything but nan is dead"),
        (70000.0, "in fp16 70000 rounds to ∞"),
        (0.3, "forward keeps it, but it gets no gradient"),
    ],
)
def test_what_is_surprising_about_a_state_is_said(lambd, told):
    assert told in mask_alt_text(view(lambd))


def test_a_device_that_differs_from_the_model_is_told_on():
    assert "2 of 9 results differ from the model" in mask_alt_text(STATES[7]).lower()


def test_a_shown_picture_has_its_words_as_alt_and_as_text():
    shown = show(mask_figure(STATES[0]), 'a "picture" & its words')
    bundle = shown._repr_mimebundle_()
    assert 'alt="a &quot;picture&quot; &amp; its words"' in bundle["text/html"]
    assert bundle["text/plain"] == 'a "picture" & its words' == repr(shown)
    assert "data:image/png;base64," in bundle["text/html"]


def test_a_theme_is_light_or_dark():
    assert palette("light") is LIGHT and palette("dark") is DARK
    with pytest.raises(labkit.LabValueError, match="'light' or 'dark'"):
        palette("blue")


def contrast(first, second):
    """The contrast of two colours as accessibility guidelines measure it, 1 to 21."""

    def brightness(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((brightness(first), brightness(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_what_is_written_stands_out_from_the_ground(colours):
    for name in ("ink", "muted", "passes", "edge", "check", "dead_ink"):
        assert contrast(getattr(colours, name), colours.ground) >= 4.4, name
    assert contrast(colours.passes, colours.dead) >= 3


def test_numbers_are_written_as_they_are():
    assert number_text(np.float32(0.1)) == "0.100000001"
    assert number_text(1e-45) == "1e−45"
    assert number_text(float("nan")) == "nan"
    assert percent(1, 10**6) == "< 0.1 %" and percent(10**6 - 1, 10**6) == "> 99.9 %"
    assert percent(0, 5) == "0.0 %" and percent(5, 5) == "100.0 %"


# -- the road of one call -------------------------------------------------------------


@pytest.fixture(scope="module")
def whole_road():
    with labkit.open_device("sim") as device:
        labkit.hardshrink_backward([[0, 0], [1, 1]], [[1, 2], [3, 4]], lambd=2, device=device)
    return device.record


def test_every_c_call_stands_at_one_station(whole_road):
    stations = road(whole_road)
    assert sum(station.count for station in stations) == len(whole_road) > 20
    counts = {station.name: station.count for station in stations}
    assert counts["phase 1"] == counts["phase 2"] == counts["wait"] == counts["read back"] == 1
    assert counts["describe"] == 4
    assert all(station.count for station in stations)
    assert not any(station.failed for station in stations)


def test_the_road_starts_and_stops_with_the_library(whole_road):
    stations = road(whole_road)
    assert stations[0].calls[0][0] == "aclInit"
    assert stations[-1].calls[-1][0] == "aclFinalize"


def test_a_refused_call_ends_at_phase_1():
    with labkit.open_device("sim") as device:
        call = labkit.hardshrink_backward(
            np.ones((2, 3), np.float32), np.ones(4, np.float32), device=device, check=False
        )
    stations = {station.name: station for station in road(call.record)}
    assert stations["phase 1"].failed == 161002
    assert not any(stations[name].count for name in ("workspace", "phase 2", "wait", "read back"))
    assert stations["give back"].count
    assert "refused with 161002" in road_alt_text(tuple(stations.values()))


def test_the_road_in_words_names_every_function(whole_road):
    words = road_alt_text(road(whole_road))
    assert f"{len(whole_road)} C calls" in words
    assert all(call.name in words for call in whole_road)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_road_is_drawn_with_nothing_cut_off(whole_road, theme):
    figure = road_figure(road(whole_road), theme)
    to_png(figure)
    wide, high = figure.bbox.size
    for text in figure.texts:
        box = text.get_window_extent()
        assert box.x0 >= 0 and box.x1 <= wide and box.y0 >= 0 and box.y1 <= high, text.get_text()
