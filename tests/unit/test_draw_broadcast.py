"""The picture of shapes, views and launches: it shows the plan, and nothing is cut or crowded."""

import itertools

import matplotlib
import numpy as np
import pytest
from layout import laid_out

from labkit.draw.broadcast import HEIGHT, broadcast_figure
from labkit.draw.broadcast_view import broadcast_alt_text, remarks
from labkit.draw.slots import slots
from labkit.explore.broadcast_state import PAIRS, BroadcastState, changed, look
from labkit.explore.broadcast_views import INPUT_KINDS, OUTPUT_KINDS
from labkit.explore.typed import CHIPS

LARGE = {"grad_shape": "2,3,1,4,1,2,1,1000000", "self_shape": "1,3,5,1,2,1,1,1"}
STATES = {
    **{pair: {"pair": pair} for pair in PAIRS},
    **{f"self {kind}": {"self_view": kind} for kind in INPUT_KINDS},
    **{f"out {kind}": {"out_view": kind, "soc": "Ascend910B1"} for kind in OUTPUT_KINDS},
    **{f"out offset on {soc}": {"out_view": "offset", "soc": soc} for soc in CHIPS},
    "largest": {**LARGE, "self_view": "windows", "grad_view": "every second of each"},
    "largest, 910": {**LARGE, "out_view": "transposed", "soc": "Ascend910A"},
    "twelve axes": {"grad_shape": (1,) * 12, "self_shape": (100,) * 6},
    "0-d": {"grad_shape": "", "self_shape": "", "grad_view": "offset"},
    "three kernels": {
        "grad_shape": (3, 4, 4),
        "self_shape": (4, 4),
        "grad_view": "columns transposed",
        "self_view": "every second",
        "out_view": "every second of each",
        "soc": "Ascend910_9391",
    },
    "wide sizes": {"grad_shape": "1000000000, 1", "self_shape": "1, 1000"},
}


def view_of(name):
    return look(changed(BroadcastState(), STATES[name]))


@pytest.mark.parametrize("name", STATES)
def test_no_text_is_cut_off_and_no_two_texts_touch(name):
    view = view_of(name)
    figure = broadcast_figure(view)
    assert tuple(figure.bbox.size) == (940, HEIGHT)
    laid_out(figure)
    assert all(text.get_fontsize() >= 8 for text in figure.texts)
    told = broadcast_alt_text(view)
    assert figure.texts[0].get_text().endswith("?") and told.endswith(".")
    assert told.startswith(figure.texts[0].get_text())
    assert ".." not in told and "  " not in told and "\u202f" not in told


def words(name):
    return [text.get_text() for text in broadcast_figure(view_of(name)).texts]


@pytest.mark.parametrize("name", STATES)
def test_the_boxes_name_every_launch_once_and_in_order(name):
    view = view_of(name)
    launched = [
        (number, kernel)
        for slot in slots(view.plan)
        if slot.kind == "launched"
        for number, kernel in zip(slot.numbers, slot.kernels)
    ]
    assert launched == list(enumerate(launch.op_type for launch in view.plan.launches))
    shown = words(name)
    for number, kernel in launched:
        assert f"{number + 1}  {kernel}" in shown


def test_every_view_of_both_inputs_can_meet_every_output():
    for grad, out in itertools.product(INPUT_KINDS, OUTPUT_KINDS):
        view = look(changed(BroadcastState(), {"grad_view": grad, "out_view": out, "soc": "910b"}))
        kinds = [slot.kind for slot in slots(view.plan)]
        assert len(kinds) == 6 and ("refused" in kinds) == (not view.plan.ok)


def test_a_step_that_fails_stands_where_it_failed():
    view = view_of("self reversed")
    assert slots(view.plan)[0].kind == "refused"
    state = {"self_view": "columns", "grad_view": "outside"}
    kinds = [s.kind for s in slots(look(changed(BroadcastState(), state)).plan)]
    assert kinds[:2] == ["dropped", "refused"] and "launched" not in kinds
    view = view_of("grad (2, 3), self (4,)")
    assert {slot.kind for slot in slots(view.plan)} == {"unreached"}


def test_a_stretched_size_says_to_what_and_a_failing_one_with_what():
    assert "1 → 4" in words("grad (4, 1), self (1, 4)")
    assert "· → 4" in words("grad (4, 4), self (4,)")
    assert "161002: 3 meets 4, and neither is 1" in words("grad (2, 3), self (4,)")
    assert "not compared" in words("grad (0, 3), self (5,)")
    assert "161002: more than 8 axes" in words("grad (6,), self of 9 axes")


def test_the_input_that_fits_is_marked_in_its_box_and_told():
    view = view_of("grad (4, 4), self (4,)")
    assert view.fitting == ("gradOutput",)
    assert any("gradOutput" in remark for remark in remarks(view))
    assert sum(text.startswith("it had the shape") for text in words("grad (4, 4), self (4,)")) == 1
    assert view_of("grad (4, 1), self (1, 4)").fitting == ()


def test_an_output_outside_its_storage_is_told_though_the_call_succeeds():
    view = look(changed(BroadcastState(), {"out_view": "outside", "soc": "910b"}))
    assert view.plan.ok
    assert "gradInput leaves its storage, and no check of phase 1 notices." in remarks(view)


def test_quick_drawing_says_the_same_and_no_global_setting_counts():
    view = view_of("three kernels")

    def pixels(**options):
        figure = broadcast_figure(view, **options)
        figure.canvas.draw()
        return np.asarray(figure.canvas.buffer_rgba()).copy()

    plain = pixels(quick=True)
    with matplotlib.rc_context({"font.size": 25.0, "lines.linewidth": 9.0, "patch.linewidth": 7.0}):
        assert np.array_equal(pixels(quick=True), plain)
    near = np.abs(pixels().astype(int) - plain.astype(int)).mean()
    assert near < 8
