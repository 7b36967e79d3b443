"""The chain panel without a browser: what it shows is what the plan and the chain say."""

import dataclasses
import re

import numpy as np
import pytest

import labkit
from labkit.draw.steps import HEIGHT, WIDTH, member_boxes, step_boxes, steps_figure
from labkit.draw.steps_mark import Mark, StepsPicture
from labkit.explore import chain_picture, open_panels
from labkit.explore.chain_call import DTYPES, PROMOTED, SHAPES, VIEWS, read_shapes, viewed
from labkit.explore.chain_state import OWN, PRESETS, ChainState, chain_of, changed, plan_of
from labkit.explore.chain_view import mark_of, view_of
from labkit.explore.typed import CHIPS
from labkit.op import TensorDesc, plan_hardshrink_backward

LARGEST = {
    "shapes": "(6, 4, 5, 3, 1, 2, 2, 2) (5, 3, 1, 2, 2, 1)",
    "grad_dtype": "bfloat16",
    "self_dtype": "float16",
    "out_dtype": "bfloat16",
    "grad_view": "every second",
    "self_view": "every second",
    "out_view": "every second",
    "lambd": "0.123456789012345678",
}
STATES = {
    **{str(name): {"preset": name} for name in PRESETS},
    **{f"view {view}": {"grad_view": view, "out_view": view} for view in VIEWS},
    **{f"chip {chip}": {"soc": chip, "grad_dtype": "float16"} for chip in CHIPS},
    "largest": LARGEST,
    "long": {**LARGEST, "soc": "a2", "self_view": "transposed"},
    "forward": {"operator": "forward", "self_view": "transposed", "out_dtype": "float16"},
    "rank 9": {"shapes": SHAPES[-1]},
    "huge": {"shapes": "(1048576, 1048575) (1,)", "grad_dtype": "float16", "out_dtype": "bfloat16"},
    "nothing": {"grad_view": "null pointer", "self_view": "null pointer", "lambd": None},
}


@pytest.fixture(scope="module")
def one_panel():
    panel = labkit.explore.chain(name="tested chain", raise_errors=True)
    yield panel
    panel.close()


@pytest.fixture
def panel(one_panel):
    """The panel, at its start again."""
    one_panel.raise_errors = True
    one_panel.set(preset="the documented example", step=1)
    assert one_panel.state == ChainState()
    return one_panel


def controls(panel):
    """The widgets of a panel by name."""
    rows = panel.shell.controls.rows
    names = [
        ("preset", "operator", "soc"),
        ("grad_dtype", "grad_view", "self_dtype", "self_view", "lambd"),
        ("out_dtype", "out_view", "shapes", "typed"),
        ("slider", "step", "back", "next"),
    ]
    return {name: widget for row, line in zip(rows, names) for name, widget in zip(line, row)}


# -- what it shows is what the plan says --------------------------------------------------


def test_the_chain_is_that_of_a_direct_call(panel):
    panel.set(
        grad_dtype="float16", shapes="(4, 1) (1, 4)", out_view="rows with gaps", lambd=-2, soc="a2"
    )
    out = TensorDesc("float32", (4, 4), (8, 1), 0, (4, 8))
    direct = plan_hardshrink_backward(
        TensorDesc("float16", (4, 1)), TensorDesc("float32", (1, 4)), -2.0, out, soc="910b"
    )
    assert panel.chain == labkit.explain(direct)
    names = [launch.op_type for launch in direct.launches]
    assert names == ["BroadcastTo", "BroadcastTo", "Cast", "HardShrinkGrad", "ViewCopy"]
    for number, name in enumerate(names, 1):
        assert f"{number} {name} (AI Core)" in panel.text
    assert f"workspace {direct.workspace_size} B" in panel.text


@pytest.mark.parametrize("name", STATES)
def test_every_state_is_drawn_inside_the_picture_and_without_overlaps(panel, name):
    panel.set(**STATES[name])
    view = view_of(panel.chain)
    figure = steps_figure(view)
    renderer = figure.canvas.get_renderer()
    placed = []
    for text in figure.texts:
        box = text.get_window_extent(renderer)
        assert text.get_fontsize() >= 8, text
        assert 6 < box.x0 and box.x1 < WIDTH - 6 and 0 < box.y0 and box.y1 < HEIGHT, text
        for other, neighbour in placed:
            assert not box.overlaps(other), (text.get_text(), neighbour)
        middle, half = (box.y0 + box.y1) / 2, 0.4 * (box.y1 - box.y0)
        placed.append((type(box).from_extents(box.x0, middle - half, box.x1, middle + half), text))
    assert len(view.boxes) == len(panel.chain) == len(step_boxes(view))
    for left, top, wide, high in (
        *step_boxes(view),
        *(box for _, box in member_boxes(view.plan)),
    ):
        assert left > 4 and top > 4 and left + wide < WIDTH - 4 and top + high < HEIGHT - 4
        assert wide > 20 and high > 10


@pytest.mark.parametrize("name", [*map(str, PRESETS), "long", "forward", "nothing"])
def test_every_step_of_every_state_is_marked_and_told(panel, name):
    panel.set(**STATES[name], step=1)
    seen = set()
    for number, step in enumerate(panel.chain, 1):
        panel.set(step=number)
        assert panel.step is step and panel.state.step == number
        assert f"Step {number} of {len(panel.chain)}" in panel.below
        assert f"<b>{step.title}</b>" in panel.below and step.function in panel.below
        assert all(ref.lines in panel.below for ref in step.sources)
        assert f"step {number} of {len(panel.chain)}, {step.title}" in panel.text
        seen.add(panel.picture)
    assert len(seen) == len(panel.chain)


def test_the_mark_of_an_l0_operator_takes_its_launches_along():
    chain = chain_of(changed(ChainState(), {"preset": "broadcast and cast: 16 MB of workspace"}))
    titles = [step.title for step in chain]
    mark = mark_of(chain, titles.index("Cast gradOutput") + 1)
    assert [chain[n].title for n in mark.related] == ["Cast FLOAT16"] and mark.launches == (2,)
    mark = mark_of(chain, titles.index("ViewCopy to gradInput") + 1)
    assert {chain[n].name for n in mark.related} == {"HardShrinkGrad"}
    mark = mark_of(chain, titles.index("Tiling") + 1)
    assert {chain[n].name for n in mark.related} == {"HardShrinkGrad"} and mark.launches == ()
    assert mark_of(chain, titles.index("WorkspaceSize") + 1).workspace


def test_a_mark_changes_only_pixels_around_its_box():
    view = view_of(chain_of(ChainState()))
    picture = StepsPicture()
    picture.update(view)
    plain = picture.pixels().astype(int)
    picture.update(view, Mark(3))
    changed_at = np.argwhere(np.any(picture.pixels() != plain, axis=2))
    left, top, wide, high = step_boxes(view)[3]
    (row0, column0), (row1, column1) = changed_at.min(axis=0), changed_at.max(axis=0)
    assert top - 6 <= row0 and row1 <= top + high + 6
    assert left - 6 <= column0 and column1 <= left + wide + 6
    picture.update(view)
    assert np.array_equal(picture.pixels(), plain)


def test_the_dark_palette_draws_the_same_words():
    view = view_of(chain_of(ChainState()))
    light, dark = steps_figure(view), steps_figure(view, "dark")
    assert [t.get_text() for t in light.texts] == [t.get_text() for t in dark.texts]
    assert np.asarray(dark.get_facecolor())[:3].max() < 0.2


# -- presets, views, shapes ----------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_call_with_a_step_to_look_at(panel, name):
    panel.set(preset=name)
    assert panel.state.preset == name
    wanted = PRESETS[name].get("step", "CheckCommInput")
    assert panel.step.title.startswith(wanted)
    assert panel.set(step=1).state.preset == name
    assert panel.set(lambd="0.25").state.preset == OWN


def test_the_presets_show_what_they_promise():
    def launches(name):
        plan = plan_of(changed(ChainState(), {"preset": name}))
        return [launch.op_type for launch in plan.launches], plan.workspace_size, plan.status

    assert launches("fp16 gradient") == (["Cast", "HardShrinkGrad"], 16778240, 0)
    assert launches("fp16 gradient, fp16 output")[1] == 33555968
    assert launches("broadcast and cast: 16 MB of workspace")[1] == 16779264
    assert launches("gapped output") == (["HardShrinkGrad", "ViewCopy"], 1024, 0)
    assert launches("transposed output")[0] == ["HardShrinkGrad", "Transpose"]
    older = launches("an older chip, output with an offset")
    assert older[0] == ["HardShrinkGrad", "CopyNpuToNpu"]
    assert launches("refused: shapes") == ([], 0, 161002)
    assert launches("refused late: outside its storage") == ([], 0, 561103)
    assert launches("an empty input") == ([], 0, 0)


@pytest.mark.parametrize("view", [view for view in VIEWS if view != "null pointer"])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (2, 3, 4), (0,), (3, 0, 2), (1, 1)])
def test_a_view_lies_in_its_storage_as_numpy_would_have_it(view, shape):
    desc = viewed("float32", shape, view)
    assert desc.shape == shape
    if view != "outside its storage" and 0 not in shape:
        assert desc.fits_storage
        low, high = desc.reach
        storage = np.zeros(desc.storage_size, np.float32)
        strides = [4 * stride for stride in desc.strides]
        placed = np.lib.stride_tricks.as_strided(storage[desc.offset :], shape, strides)
        assert placed.shape == shape and 0 <= low <= high < desc.storage_size


@pytest.mark.parametrize(
    ("typed", "shapes"),
    [
        ("(4, 1) (1, 4)", ((4, 1), (1, 4), None)),
        ("4,1; 1,4", ((4, 1), (1, 4), None)),
        ("[2, 2]", ((2, 2), (2, 2), None)),
        ("()", ((), (), None)),
        ("grad (2, 3), self (3,), out (2, 3)", ((2, 3), (3,), (2, 3))),
        ("4x1; 4", ((4, 1), (4,), None)),
    ],
)
def test_shapes_are_read_as_people_type_them(panel, typed, shapes):
    assert read_shapes(typed) == shapes
    controls(panel)["typed"].value = typed
    assert read_shapes(panel.state.shapes) == shapes and panel.error == ""


@pytest.mark.parametrize(
    "typed",
    ["four", "(4, -1)", "(4.5,)", "(1,) (1,) (1,) (1,)", "(9999999999999,)", f"({'1,' * 13})"],
)
def test_what_is_no_shape_is_refused_and_the_good_picture_stays(panel, typed):
    before = panel.picture, panel.state, panel.below
    with pytest.raises(labkit.LabValueError, match="are no shapes; right would be"):
        panel.set(shapes=typed)
    assert "are no shapes" in panel.error and panel.stale
    assert (panel.picture, panel.state, panel.below) == before


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ({"step": 0}, "right would be 1 to 26"),
        ({"step": 27}, "right would be 1 to 26"),
        ({"step": "Sliced"}, "or a name such as CopyOut"),
        ({"step": ""}, "or a name"),
        ({"grad_dtype": "complex64"}, "float32; float16; bfloat16"),
        ({"grad_dtype": "letters"}, "float32; float16; bfloat16"),
        ({"out_view": "upside down"}, "contiguous; from offset 4"),
        ({"soc": "Ascend"}, "no chip named"),
        ({"lambd": "three"}, "right would be 0.3"),
        ({"preset": "mine"}, "the documented example"),
        ({"operator": "sideways"}, "backward; forward"),
    ],
)
def test_what_cannot_be_says_what_is_right(panel, wrong, right):
    before = panel.state
    with pytest.raises(labkit.LabValueError, match=re.escape(right)):
        panel.set(**wrong)
    assert panel.state == before and panel.error


# -- the walk ---------------------------------------------------------------------------------


def test_slider_box_and_buttons_walk_together(panel):
    widgets = controls(panel)
    widgets["slider"].value = 7
    assert (panel.state.step, widgets["step"].value) == (7, "7")
    widgets["next"].click()
    assert (panel.state.step, widgets["slider"].value) == (8, 8)
    widgets["back"].click()
    widgets["back"].click()
    assert panel.state.step == 6
    widgets["step"].value = "viewcopy"
    assert panel.step.name == "ViewCopy"
    assert widgets["step"].value == str(panel.state.step) == str(widgets["slider"].value)
    panel.set(step=1).go(-5)
    assert panel.state.step == 1
    panel.go(1000)
    assert panel.state.step == len(panel.chain) == widgets["slider"].max


def test_the_walk_stays_on_its_step_while_the_call_changes(panel):
    panel.set(step="Cast gradOutput")
    assert panel.step.state == "skipped"
    controls(panel)["grad_dtype"].value = "float16"
    assert (panel.step.title, panel.step.state) == ("Cast gradOutput", "launched")
    panel.set(shapes="(4, 1) (1, 4)")
    assert panel.step.title == "Cast gradOutput"
    panel.set(step="CopyOut").set(soc="910")  # whose kernel is not public: one step for all
    assert panel.state.step == len(panel.chain)


def test_a_refused_call_is_shown_as_far_as_it_came(panel):
    controls(panel)["shapes"].value = "(2, 3) (4,)"
    assert panel.error == "" and not panel.stale
    assert "161002 ACLNN_ERR_PARAM_INVALID: stopped by CheckBroadcast" in panel.text
    assert "CheckBroadcast (stopped)" in panel.text and "CheckShape (not reached)" in panel.text
    panel.set(step="CheckBroadcast")
    assert "right would be" in panel.below and "EZ1007" in panel.below
    panel.set(shapes="(2, 2)", grad_view="outside its storage", step="Contiguous gradOutput")
    assert "561103" in panel.text and panel.step.state == "stopped"


def test_the_gradient_is_greyed_out_for_the_forward_operator(panel):
    widgets = controls(panel)
    widgets["operator"].value = "forward"
    assert widgets["grad_dtype"].disabled and widgets["grad_view"].disabled
    assert panel.chain.operator == "aclnnHardshrink"
    widgets["operator"].value = "backward"
    assert not widgets["grad_dtype"].disabled


def test_what_is_typed_stands_in_the_menus_where_they_have_it(panel):
    widgets = controls(panel)
    widgets["typed"].value = "4,4;4"
    assert widgets["shapes"].value == "(4, 4) (4,)" == widgets["typed"].value
    widgets["typed"].value = "(3, 3)"
    assert widgets["shapes"].value == "" and widgets["preset"].value == OWN
    widgets["lambd"].value = "none"
    assert panel.chain.failed_check == "CheckNotNull"
    assert widgets["out_dtype"].value == PROMOTED and set(DTYPES) >= {"float32", "int32"}


def test_the_step_is_told_below_live_and_standing_still(panel, monkeypatch):
    panel.set(preset="fp16 gradient")
    assert panel.below in panel.shell.below.value
    assert 'role="status"' in panel.below and "math/cast/op_api/cast.cpp:380-394" in panel.below
    assert "doc-one-dtype" in panel.below
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw: shown.append(bundle))
    panel._ipython_display_()
    assert panel.below in shown[1]["text/html"]


def test_the_lines_of_source_are_shown_when_they_are_at_hand(panel, monkeypatch, tmp_path):
    file = tmp_path / "ops-math" / "math" / "cast" / "op_api" / "cast.cpp"
    file.parent.mkdir(parents=True)
    file.write_text("\n" * 379 + "const aclTensor *Cast(<made up>)\n", encoding="utf-8")
    monkeypatch.setenv("LABKIT_CANN_SRC", str(tmp_path))
    panel.set(preset="fp16 gradient")
    assert "const aclTensor *Cast(&lt;made up&gt;)" in panel.below


def test_two_panels_of_one_name_are_one():
    first = labkit.explore.chain(name="twice")
    second = labkit.explore.chain(name="twice", preset="gapped output")
    assert first.closed and second in open_panels() and first not in open_panels()
    second.close()


def test_a_picture_can_stand_still():
    shown = chain_picture(preset="gapped output")
    assert "ViewCopy" in shown.alt and shown.png.startswith(b"\x89PNG")
    assert shown.size == (WIDTH, HEIGHT)


def test_the_state_is_frozen_and_every_field_can_be_set(panel):
    assert ChainState.__dataclass_params__.frozen
    for item in dataclasses.fields(ChainState):
        panel.set(**{item.name: getattr(panel.state, item.name)})
    assert panel.state == ChainState()
