"""The broadcast panel without a browser: every control, what it plans, errors that are seen."""

import json

import numpy as np
import pytest

import labkit
from labkit.draw.sheet import grouped
from labkit.explore import open_panels
from labkit.explore.broadcast_panel import render
from labkit.explore.broadcast_state import (
    PAIRS,
    TYPED,
    BroadcastState,
    changed,
    look,
)
from labkit.explore.broadcast_views import INPUT_KINDS, KINDS, OUTPUT_KINDS, lay_out
from labkit.explore.typed import CHIPS
from labkit.op import TensorDesc, plan_hardshrink_backward
from labkit.op.broadcast import broadcast_shapes
from labkit.views import describe


@pytest.fixture(scope="module")
def one_panel():
    panel = labkit.explore.broadcast(name="tested", raise_errors=True)
    yield panel
    panel.close()


@pytest.fixture
def panel(one_panel):
    """The panel, at its start again."""
    one_panel.raise_errors = True
    start = BroadcastState()
    one_panel.set(**{name: getattr(start, name) for name in vars(start)})
    assert one_panel.state == start and not one_panel.stale
    return one_panel


def controls(panel):
    names = (
        ("pair", "out_view", "soc"),
        ("grad_shape", "grad_view"),
        ("self_shape", "self_view"),
    )
    rows = zip(names, panel.shell.controls.rows, strict=True)
    return {name: widget for words, row in rows for name, widget in zip(words, row, strict=True)}


# -- what it shows is what the operator plans ------------------------------------------


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("soc", CHIPS)
def test_what_is_shown_is_the_plan_of_these_descriptors(pair, soc):
    grad, own = PAIRS[pair]
    view = look(changed(BroadcastState(), {"pair": pair, "soc": soc, "self_view": "contiguous"}))
    common = broadcast_shapes(grad, own)
    out = common if isinstance(common, tuple) else own
    tensors = [TensorDesc("float32", shape) for shape in (grad, own, out)]
    assert view.plan == plan_hardshrink_backward(tensors[0], tensors[1], 0.5, tensors[2], soc=soc)
    if isinstance(common, tuple):
        assert tuple(axis.result for axis in view.axes) == common
    else:
        assert None in [axis.result for axis in view.axes]


EXPRESSIONS = {
    "contiguous": lambda: np.zeros((3, 4), np.float32),
    "offset": lambda: np.zeros((6, 4), np.float32)[2:-1],
    "transposed": lambda: np.zeros((4, 3), np.float32).T,
    "columns": lambda: np.zeros((3, 7), np.float32)[..., 1:-2],
    "columns transposed": lambda: np.zeros((4, 6), np.float32)[..., 1:-2].T,
    "every second": lambda: np.zeros((3, 8), np.float32)[..., ::2],
    "every second row": lambda: np.zeros((6, 4), np.float32)[::2],
    "every second of each": lambda: np.zeros((6, 8), np.float32)[::2, ::2],
    "reversed": lambda: np.zeros((3, 4), np.float32)[..., ::-1],
    "broadcast": lambda: np.broadcast_to(np.zeros((1, 4), np.float32), (3, 4)),
    "windows": lambda: np.lib.stride_tricks.sliding_window_view(np.zeros(6, np.float32), 4),
}


@pytest.mark.parametrize("kind", EXPRESSIONS)
def test_a_kind_of_view_is_what_numpy_makes_of_its_expression(kind):
    words, desc = lay_out(kind, (3, 4))
    assert desc == describe(EXPRESSIONS[kind]())
    assert words.startswith(("x", "broadcast_to(x", "sliding_window_view(x"))


def test_only_one_kind_leaves_its_storage_and_every_kind_keeps_its_shape():
    for kind in KINDS:
        for shape in ((), (1,), (5,), (3, 4), (2, 1, 3), (0, 3), (2, 3, 4, 5)):
            _, desc = lay_out(kind, shape)
            assert desc.shape == shape
            if kind != "outside" and not desc.is_empty:
                assert desc.fits_storage, (kind, shape)
    assert not lay_out("outside", (3, 4))[1].fits_storage


def test_describe_tells_what_a_call_tells_the_c_interface():
    x = np.zeros((4, 6), np.float32)[1:, ::2]
    told = labkit.hardshrink_backward(x, x).arguments["self"]
    desc = describe(x)
    assert desc.strides == told.strides == (6, 2)
    assert (desc.offset, desc.storage_shape) == (told.offset, told.storage_shape) == (6, (4, 6))


# -- the controls ------------------------------------------------------------------------


def test_every_value_of_every_menu_is_shown_without_an_error(panel):
    seen = set()
    for name, widget in controls(panel).items():
        for value in [option[1] if isinstance(option, tuple) else option for option in _of(widget)]:
            widget.value = value
            assert not panel.error and panel.picture.startswith(b"\x89PNG"), (name, value)
            shown = getattr(panel.state, name)
            assert value == TYPED or shown == value or ", ".join(map(str, shown)) == value
            seen.add(panel.text)
    assert len(seen) > 30


def _of(widget):
    return getattr(widget, "options", ["2, 1, 3"])


def test_what_is_typed_moves_the_pair_and_the_pair_what_is_typed(panel):
    widgets = controls(panel)
    widgets["self_shape"].value = "[1, 4]"
    widgets["grad_shape"].value = "4×1"
    assert panel.state.pair == widgets["pair"].value == "grad (4, 1), self (1, 4)"
    assert (widgets["grad_shape"].value, widgets["self_shape"].value) == ("4, 1", "1, 4")
    widgets["grad_shape"].value = "4, 2"
    assert panel.state.pair == widgets["pair"].value == TYPED
    widgets["pair"].value = "grad (), self (1,)"
    assert (widgets["grad_shape"].value, widgets["self_shape"].value) == ("", "1")


def test_a_chip_outside_the_menu_can_be_set_by_name(panel):
    panel.set(soc="Ascend950DT_9571")
    assert controls(panel)["soc"].value == panel.view.plan.soc.name == "Ascend950DT_9571"
    assert panel.set(soc="a3").state.soc == "Ascend910_9391"


def test_every_state_is_reached_by_set_too(panel):
    panel.set(grad_shape=(2, 3), self_shape=3, self_view="every second", out_view="columns")
    assert panel.state.grad_shape == (2, 3) and panel.state.self_shape == (3,)
    assert [launch.op_type for launch in panel.view.plan.launches] == [
        "Slice",
        "BroadcastTo",
        "BroadcastTo",
        "HardShrinkGrad",
        "ViewCopy",
    ]


# -- what is told ------------------------------------------------------------------------


def test_the_words_tell_the_numbers_of_the_views_the_launches_and_the_workspace(panel):
    panel.set(self_view="columns")
    plan = panel.view.plan
    assert "launched in this order: Slice → HardShrinkGrad." in panel.text
    assert f"workspace: {plan.workspace_size} B" in panel.text
    assert "strides [7, 1] · offset 1 · storage shape [4, 7]" in panel.text
    assert "storage elements 1, 2, 3, 4, 8, 9" in panel.text
    assert grouped(plan.workspace_size) == "16\u202f778\u202f240"


def test_an_input_that_fits_and_is_broadcast_all_the_same_is_named(panel):
    panel.set(grad_shape=(4, 4), self_shape=(4,))
    assert "even gradOutput, which has the common shape already" in panel.below
    panel.set(grad_shape=(4, 1), self_shape=(1, 4))
    assert "even" not in panel.below and "both inputs pass BroadcastTo" in panel.below
    panel.set(grad_shape=(1,), self_shape=())
    assert panel.view.fitting == ("gradOutput",)


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({"pair": "grad (2, 3), self (4,)"}, 161002, "do not broadcast"),
        ({"pair": "grad (6,), self of 9 axes"}, 161002, "9 dimensions"),
        ({"self_view": "reversed"}, 561103, "negative stride"),
        ({"grad_view": "outside"}, 561103, "storage"),
        ({"out_view": "reversed"}, 561103, "negative stride"),
    ],
)
def test_a_refused_call_is_pictured_with_code_name_and_reason(panel, changes, status, reason):
    panel.set(self_view="contiguous").set(**changes)
    assert not panel.error and not panel.view.plan.ok
    name = {161002: "ACLNN_ERR_PARAM_INVALID", 561103: "ACLNN_ERR_INNER_NULLPTR"}[status]
    for told in (panel.below, panel.text):
        assert f"{status} {name}" in told and reason in told
    assert "labkit-error" in panel.below


def test_an_empty_input_succeeds_and_the_shapes_are_not_said_to_meet(panel):
    panel.set(pair="grad (0, 3), self (5,)")
    assert panel.view.empty and "0 ACLNN_SUCCESS" in panel.text
    assert "Together the shapes" not in panel.text


def test_the_ai_cpu_and_the_device_copy_are_told(panel):
    panel.set(out_view="every second of each", soc="Ascend910B1")
    assert "the AI CPU copies" in panel.below
    panel.set(out_view="offset", soc="Ascend910A")
    assert "device copy" in panel.below and "costs nothing" not in panel.below


def test_the_words_can_be_chinese(panel, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    panel.set(grad_shape=(4, 4), self_shape=(4,))
    assert panel.text.startswith("每个元素位于哪里") and "launched" not in panel.text
    assert "包括已经是公共shape的gradOutput" in panel.below


# -- errors ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"grad_shape": "four"}, "grad_shape is 'four', which is no shape; right would be"),
        ({"self_shape": "-1, 4"}, "self_shape is '-1, 4'"),
        ({"self_shape": 2.5}, "self_shape is 2.5"),
        ({"self_shape": None}, "self_shape is None"),
        ({"grad_shape": "9" * 13}, "too large; right would be at most 12 axes"),
        ({"grad_shape": (1,) * 13}, "too large; right would be at most 12 axes"),
        ({"self_view": "diagonal"}, "self_view is 'diagonal'; right would be one of: contiguous"),
        ({"out_view": "broadcast"}, "out_view is 'broadcast'"),
        ({"pair": "x"}, "pair is 'x'"),
        ({"soc": "Ascend1"}, "Ascend1"),
        ({"dtype": "float16"}, "no dtype here"),
    ],
)
def test_what_cannot_be_is_shown_in_red_and_raised_when_asked(panel, changes, told):
    before = panel.state, panel.picture
    with pytest.raises(labkit.LabValueError):
        panel.set(**changes)
    assert told in panel.error and panel.stale
    assert (panel.state, panel.picture) == before
    panel.raise_errors = False
    panel.set(**changes)
    assert told in panel.shell.error.value.replace("&#x27;", "'")
    panel.set(self_view="columns")
    assert not panel.error and not panel.stale


# -- one panel of a name -----------------------------------------------------------------


def test_a_panel_opened_again_replaces_the_one_before():
    first = labkit.explore.broadcast(name="twice")
    second = labkit.explore.broadcast((2, 3), (3,), name="twice")
    assert first.closed and not second.closed
    assert [p for p in open_panels() if p.name == "twice"] == [second]
    second.close()


def test_the_same_state_gives_the_same_pixels_and_a_theme_other_ones():
    state = changed(BroadcastState(), {"self_view": "columns"})
    assert render(state).picture == render(state).picture != render(state, "dark").picture


def test_kinds_of_outputs_are_kinds_of_inputs():
    assert set(OUTPUT_KINDS) < set(INPUT_KINDS) == set(KINDS)


def test_the_still_picture_is_that_of_the_panel_in_words():
    shown = labkit.explore.broadcast_picture(self_view="every second")
    assert repr(shown) == render(changed(BroadcastState(), {"self_view": "every second"})).text
    assert json.dumps(repr(shown)).count("StridedSlice") == 2
