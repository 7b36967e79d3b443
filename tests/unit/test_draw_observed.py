"""The pictures of notebook 08: both sides of a comparison, and where the time goes."""

import dataclasses
import re

import pytest
from layout import laid_out
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

import labkit
from labkit.draw.observed import MOST, Observed, observed_alt_text, observed_figure
from labkit.draw.theme import LIGHT
from labkit.draw.time_stack import CallTime, seconds_text, time_alt_text, time_figure
from labkit.observe import Observation, ObservedKernel, calls, observe_log, read_profile
from labkit.observe.pictures import comparison_picture, comparison_view, time_picture
from labkit.observe.plog import parse
from labkit.observe.samples import log_sample, write_sample
from labkit.observe.timing import Timing
from labkit.op import TensorDesc, plan_hardshrink_backward


def plan(grad, x, out, soc="Ascend950PR_9599"):
    return plan_hardshrink_backward(
        TensorDesc(*grad), TensorDesc(*x), 0.5, TensorDesc(*out), soc=soc
    )


MIXED = plan(("float16", (4, 1)), ("float32", (1, 4)), ("float32", (4, 4)))
PLAIN = plan(("float32", (4, 1)), ("float32", (1, 4)), ("float32", (4, 4)))
EMPTY = plan(("float32", (0, 2)), ("float32", (0, 2)), ("float32", (0, 2)))
RANK_8 = plan(
    ("float16", (128, 1, 64, 1, 32, 1, 16, 1)),
    ("float32", (1, 2, 1, 64, 1, 8, 1, 8)),
    ("bfloat16", (128, 2, 64, 64, 32, 8, 16, 8)),
)
LONGEST = plan(
    ("bfloat16", (6, 4, 5, 3), (0, 2, 40, 10), 0, (4000,)),
    ("float16", (6, 4, 5, 1), (400, 2, 40, 10), 0, (4000,)),
    ("bfloat16", (6, 4, 5, 3), (200, 40, 7, 1), 0, (4000,)),
)
FIRST_GENERATION = plan(
    ("float16", (3, 2)),
    ("float16", (3, 2)),
    ("float32", (3, 2), None, 0, (12,)),
    soc="Ascend910A",
)


@pytest.fixture(scope="module")
def profile_of(tmp_path_factory):
    def made(what, variant="block num"):
        folder = tmp_path_factory.mktemp("profile")
        write_sample(folder, what, variant=variant)
        return read_profile(folder)

    return made


def changed(observed):
    """Another block dim, another dtype, and a kernel that nobody predicted."""
    last = dataclasses.replace(observed.kernels[-1], block_dim=8, input_dtypes=("FLOAT16", "FLOAT"))
    extra = ObservedKernel("ViewCopy", core="AICPU", task_type="AI_CPU")
    files = ", ".join(f"op_summary_slice_{n}_20261202101010.csv" for n in range(9))
    return Observation(f"msprof: {files}", (*observed.kernels[:-1], last, extra), True)


VIEWS = {
    "same": lambda p: comparison_view(MIXED, p(MIXED)),
    "missing": lambda p: comparison_view(MIXED, p(PLAIN)),
    "extra": lambda p: comparison_view(PLAIN, p(MIXED)),
    "differs": lambda p: comparison_view(MIXED, changed(p(MIXED))),
    "rank 8": lambda p: comparison_view(RANK_8, p(RANK_8, "old")),
    "rank 8 differs": lambda p: comparison_view(RANK_8, changed(p(RANK_8))),
    "longest": lambda p: comparison_view(LONGEST, p(LONGEST)),
    "nothing": lambda p: comparison_view(EMPTY, Observation("nothing", (), True)),
    "all missing": lambda p: comparison_view(MIXED, Observation("nothing", (), True)),
    "log": lambda p: comparison_view(MIXED, observe_log(calls(parse(log_sample(MIXED)))[0])),
    "runtime copy": lambda p: comparison_view(FIRST_GENERATION, p(FIRST_GENERATION)),
    "many": lambda p: comparison_view(MIXED, many(p), calls=99),
}


def many(profile_of):
    observed = profile_of(MIXED)
    return dataclasses.replace(observed, kernels=observed.kernels * 98 + observed.kernels[:2])


@pytest.mark.parametrize("name", VIEWS)
def test_every_comparison_is_well_laid_out_and_told(profile_of, name):
    view = VIEWS[name](profile_of)
    figure = observed_figure(view)
    assert figure.bbox.width == 940
    laid_out(figure)
    alt = observed_alt_text(view)
    assert alt.startswith(figure.texts[0].get_text()) and alt.endswith(".") and "  " not in alt
    assert f"{sum(row.predicted is not None for row in view.rows)} predicted" in alt


def test_a_difference_is_orange_on_both_sides_and_said(profile_of):
    view = VIEWS["differs"](profile_of)
    orange = [
        text.get_text()
        for text in observed_figure(view).texts
        if to_hex(text.get_color()) == LIGHT.edge
    ]
    assert {"block dim 16", "block dim 8", "≠", "differs", "extra", "not predicted"} <= set(orange)
    assert "FLOAT16 (4, 4), FLOAT (4, 4)" in orange and "AI_VECTOR_CORE" not in orange
    alt = observed_alt_text(view)
    assert "block dim predicted 16, observed 8" in alt
    assert "5 ViewCopy: observed, not predicted." in alt and "2 differ" in alt


def test_a_missing_kernel_leaves_an_empty_place_beside_what_was_predicted(profile_of):
    view = VIEWS["missing"](profile_of)
    row = view.rows[2]
    assert (row.op_type, row.verdict, row.observed) == ("Cast", "missing", None)
    assert row.predicted == ("", "AICORE", "FLOAT16 (4, 4)", "FLOAT (4, 4)")
    dashed = [
        box
        for box in observed_figure(view).get_children()
        if isinstance(box, Rectangle) and to_hex(box.get_edgecolor()) == LIGHT.edge
    ]
    assert len(dashed) == 1


def test_what_is_no_measurement_is_marked_in_the_picture(profile_of):
    for observed, marked in ((profile_of(MIXED), True), (changed(profile_of(MIXED)), False)):
        texts = [t.get_text() for t in observed_figure(comparison_view(MIXED, observed)).texts]
        assert ("not a measurement" in texts) is marked


def test_of_many_kernels_those_that_differ_are_drawn(profile_of):
    view = VIEWS["many"](profile_of)
    assert len(view.rows) == 99 * 4 and view.differing == 2
    texts = [text.get_text() for text in observed_figure(view).texts]
    assert texts.count("missing") == 2 and f"{99 * 4 - MOST} more kernels, not drawn" in texts


def test_what_no_profile_shows_is_counted(profile_of):
    told = observed_alt_text(VIEWS["runtime copy"](profile_of))
    assert "copy tasks of the runtime: 1" in told and "13 steps of L2" in told
    assert "outputs redirected: 1" in observed_alt_text(VIEWS["same"](profile_of))


def test_a_comparison_is_shown_with_its_words(profile_of):
    shown = comparison_picture(MIXED, profile_of(MIXED))
    assert shown.png.startswith(b"\x89PNG") and repr(shown) == shown.alt
    assert isinstance(VIEWS["same"](profile_of), Observed)


def test_the_words_are_told_in_chinese(profile_of, monkeypatch):
    view = VIEWS["differs"](profile_of)
    monkeypatch.setenv("LABKIT_LANG", "zh")
    told = observed_alt_text(view)
    assert re.search(r"预测为 ?16，观测为 ?8", told)
    assert not re.search(r"\b(predicted|observed|differs)\b", told)


# -- time ---------------------------------------------------------------------------------

TIMES = {
    "software": (
        CallTime(16, "fp32", 51e-6, 82e-6, 66e-6, None),
        CallTime(1 << 22, "fp32", 99e-6, 0.1e-3, 1.7e-3, None),
    ),
    "npu": (
        CallTime(16, "fp32", 8e-6, 9e-6, 21e-6, 2e-6),
        CallTime(1 << 34, "bf16", 8e-6, 9e-6, 1.5, 1.49),
    ),
    "all host": (CallTime(1, "fp16", 0.01, 0.02, 1e-9, 1e-9),),
    "all wait": (CallTime(2**40, "fp16", 1e-9, 1e-9, 99.0, 98.0),),
    "kernel longer than all": (CallTime(9, "fp16", 1e-6, 1e-6, 1e-6, 9.0),),
    "zero": (CallTime(9, "fp16", 0.0, 0.0, 0.0, None),),
}


@pytest.mark.parametrize("name", TIMES)
def test_every_time_stack_is_well_laid_out(name):
    figure = time_figure(TIMES[name], "a device")
    laid_out(figure)
    wide = figure.bbox.width
    for box in figure.get_children():
        if isinstance(box, Rectangle) and box is not figure.patch:
            assert box.get_x() >= 0 and box.get_x() + box.get_width() <= 812 / wide
    alt = time_alt_text(TIMES[name], "a device")
    assert alt.startswith("Where does the time of a call go?") and alt.endswith(".")


def test_a_kernel_that_was_not_measured_has_no_time():
    figure = time_figure(TIMES["software"], "software NPU")
    texts = [text.get_text() for text in figure.texts]
    assert texts.count("kernel: not measured") == 2
    assert any(text.startswith("Grey: the software NPU computes on this CPU") for text in texts)
    assert "kernel not measured" in time_alt_text(TIMES["software"], "software NPU")
    assert "kernel 1.49 s" in [t.get_text() for t in time_figure(TIMES["npu"], "NPU").texts]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 ns"), (2e-9, "2 ns"), (1e-6, "1.00 µs"), (0.123, "123 ms"), (61.0, "61.0 s")],
)
def test_times_have_three_digits(seconds, text):
    assert seconds_text(seconds) == text


def timing(device, elements):
    return Timing(device, "float32", elements, 3, 1e-5, 2e-5, 3e-5, None, 12 * elements)


def test_timings_of_one_device_make_a_picture():
    shown = time_picture([timing("a", 16), timing("a", 1024)])
    assert "16 fp32: phase 1 10.0 µs, phase 2 20.0 µs, wait 30.0 µs" in shown.alt
    for wrong in ([], [timing("a", 1), timing("b", 1)]):
        with pytest.raises(labkit.LabValueError, match="of one device"):
            time_picture(wrong)
