"""The tiling panel without a browser: what it shows is the cut, every control, errors seen."""

import numpy as np
import pytest

import labkit
from labkit.explore import open_panels, tiling_picture
from labkit.explore.tiling_panel import TilingState, render
from labkit.explore.tiling_state import CHIPS, DTYPES, MOST, OPS, look
from labkit.op import TilingError, find_soc, run_kernel, socs, tile
from labkit.op.cuts import by_share
from labkit.op.schedule import schedule


@pytest.fixture(scope="module")
def one_panel():
    panel = labkit.explore.tiling(name="tested", raise_errors=True)
    yield panel
    panel.close()


@pytest.fixture
def panel(one_panel):
    """The panel, at its start again."""
    one_panel.raise_errors = True
    one_panel.set(total=4096, dtype="float32", soc=CHIPS[0], op=OPS[0], core=0)
    assert one_panel.state == TilingState() and not one_panel.stale
    return one_panel


def controls(panel):
    """The widgets of the panel by name."""
    elements, total = panel.shell.controls.rows[0]
    dtype, op, soc = panel.shell.controls.rows[1]
    core, core_box = panel.shell.controls.rows[2]
    return {
        "elements": elements,
        "total": total,
        "dtype": dtype,
        "op": op,
        "soc": soc,
        "core": core,
        "core_box": core_box,
    }


# -- what it shows is the cut ---------------------------------------------------------------


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("soc", ["Ascend950PR_9599", "Ascend910B1"])
@pytest.mark.parametrize("total", [0, 16, 100_000])
def test_the_cut_is_that_of_a_direct_call(op, dtype, soc, total):
    view = look(TilingState(total, dtype, soc, op))
    assert view.tiling == tile(total, dtype, op=op, soc=soc)
    assert view.shared == by_share(view.tiling)
    whole = schedule(view.tiling)
    assert view.timed.spans == whole.spans[: len(view.timed.spans)]
    if total:
        assert view.cycles == (whole.cycles, schedule(view.shared).cycles)


def test_the_cycles_of_a_middle_core_are_those_of_the_whole_cut():
    view = look(TilingState(1_000_000, core=70))
    assert view.cycles == (schedule(view.tiling, 70).cycles, schedule(view.shared, 70).cycles)
    last = look(TilingState(1_000_000, core=71))
    assert last.cycles is not None and last.cycles[0] == schedule(last.tiling, 71).cycles
    assert look(TilingState(16, core=71)).cycles is None
    assert look(TilingState(MOST)).cycles is None


def test_the_curves_are_the_lanes_of_the_kernel():
    view = look(TilingState(op="hardshrink_grad", soc="Ascend950PR_950z"))
    point = next(point for point in view.curves["public cut"] if point.total >= 100)
    x = np.zeros(point.total, np.float32)
    ran = run_kernel(x, x, 0.5, tile(point.total, "float32", soc="Ascend950PR_950z"))
    assert point.share == ran.lanes_valid / ran.lanes_computed
    assert [p.total for p in view.curves["public cut"]][-1] == MOST


def test_the_words_tell_every_number_of_the_picture(panel):
    panel.set(core=1)
    for words in (
        "hardshrink_grad, 4096 fp32 elements, on Ascend950PR_9599: 72 vector cores",
        "Block dim 72, block factor 57, ub factor 4096, tiling key 256.",
        "Cores 0 to 70: 57 elements each. Core 71: 49 elements.",
        "Core 1 starts at element 57, byte 228. That is no multiple of 32 bytes.",
        "Public cut: core 1 computes 4096 lanes for 57 elements, all cores 294912 for 4096 (1.4 %)",
        "Cut by the core's share: core 1 computes 64 lanes for 57 elements",
        "in cycles of a model: MTE2: tile 0 from 0 to 820.",
        "takes 1566 cycles (model), cut by share 1314.",
        "98816 of 253952 bytes used. Buffers: gradQueue 2 × 16384",
        "Public cut reaches one half near",
    ):
        assert words in panel.text, panel.text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"total": 16, "core": 20}, "Core 20 has no element: its pipes do nothing."),
        ({"total": 0}, "Cores 0 to 71: no work."),
        ({"total": 1000, "op": "hardshrink"}, "each core fills 25088 lanes with constants."),
        ({"soc": "a2"}, "The tiling for this chip is not public: the 950's rule assumed."),
        ({"total": 1024}, "Single buffer."),
        ({"total": 1025}, "Double buffer."),
    ],
)
def test_the_words_tell_what_is_special(panel, changes, words):
    assert words in panel.set(**changes).text


def test_every_chip_of_the_table_that_has_vector_cores_can_be_shown():
    for soc in socs().values():
        if soc.tiling_cores:
            view = look(TilingState(5000, "bfloat16", soc.name, core=soc.tiling_cores - 1))
            assert view.tiling.public == soc.is_regbase
            assert ("public cut" in view.curves) == soc.is_regbase


def test_the_picture_stands_still_too():
    shown = tiling_picture(total="2^20", dtype="float16", core=3)
    assert shown.size == labkit.explore.TilingPanel.size
    assert repr(shown) == render(TilingState(2**20, "float16", core=3)).text


# -- controls -----------------------------------------------------------------------------------


def test_every_choice_works_and_leads_back(panel):
    start = panel.picture
    widgets = controls(panel)
    for name, values in (("dtype", DTYPES), ("op", OPS), ("soc", CHIPS)):
        for value in values:
            widgets[name].value = value
            assert panel.error == "" and getattr(panel.state, name) == value
        widgets[name].value = values[0]
    for step in (0, 4, 40, 77, 124, 48):
        widgets["elements"].value = step
        assert panel.state.total == round(2 ** (step / 4))
    for core in (71, 8, 0):
        widgets["core"].value = core
        assert panel.state.core == core
    assert panel.picture == start and panel.state == TilingState()


def test_sliders_and_boxes_follow_each_other(panel):
    widgets = controls(panel)
    widgets["total"].value = "1 000 000"
    assert panel.state.total == 1_000_000
    assert (widgets["elements"].value, widgets["total"].value) == (80, "1000000")
    widgets["elements"].value = 40
    assert widgets["total"].value == "1024"
    widgets["core_box"].value = "12"
    assert widgets["core"].value == panel.state.core == 12
    widgets["core"].value = 30
    assert widgets["core_box"].value == "30"


def test_the_slider_is_not_moved_while_it_means_this_total(panel):
    widgets = controls(panel)
    widgets["elements"].value = 1  # 1.19 elements are 1 element, as at step 0
    assert (panel.state.total, widgets["elements"].value) == (1, 1)
    panel.set(total=0)
    assert widgets["elements"].value == 1 and widgets["total"].value == "0"


def test_a_chip_with_fewer_cores_takes_the_core_along(panel):
    widgets = controls(panel)
    panel.set(core=60)
    widgets["soc"].value = "Ascend950PR_950z"
    assert panel.state.core == 7 and widgets["core"].max == 7
    widgets["soc"].value = CHIPS[0]
    assert panel.state.core == 7 and widgets["core"].max == 71


def test_a_chip_that_is_not_on_the_menu_joins_it(panel):
    panel.set(soc="Ascend910_9362")
    menu = controls(panel)["soc"]
    assert menu.value == "Ascend910_9362"
    assert [value for _, value in menu.options] == [*CHIPS, "Ascend910_9362"]
    assert find_soc("Ascend910_9362").tiling_cores == panel.view.tiling.cores


# -- what is typed ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "many",
        "-1",
        "1.5",
        "2^",
        "0x10",
        "٣",
        "9" * 30,
        None,
        1.0,
        True,
        -1,
        [1],
        "1e6e6",
        "2^999",
    ],
)
def test_what_is_no_count_is_told_and_the_good_picture_stays(panel, typed):
    before = panel.picture, panel.state
    with pytest.raises(labkit.LabValueError, match=r"total is .*; right would be"):
        panel.set(total=typed)
    assert panel.stale and (panel.picture, panel.state) == before
    panel.raise_errors = False
    controls(panel)["total"].value = "no number"
    assert "no number" in panel.error and 'role="alert"' in panel.shell.error.value
    assert panel.set(total=5).error == ""


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"total": MOST + 1}, "right would be 0 to 2\\^31"),
        ({"total": 10**5000}, "right would be 0 to 2\\^31"),
        ({"total": "999999^999"}, "right would be 0 to 2\\^31"),
        ({"core": 72}, "this chip has the cores 0 to 71"),
        ({"soc": "950z"}, "no chip named"),
        ({"soc": "Ascend950PR_950z", "core": 8}, "cores 0 to 7"),
        ({"dtype": "int32"}, "float32; float16; bfloat16"),
        ({"dtype": "nothing"}, "float32; float16; bfloat16"),
        ({"op": "relu"}, "hardshrink_grad; hardshrink"),
    ],
)
def test_what_cannot_be_is_refused_with_what_could(panel, changes, told):
    with pytest.raises(labkit.LabValueError, match=told):
        panel.set(**changes)
    assert panel.stale and panel.state == TilingState()
    assert panel.set(total=100).error == ""


def test_a_dtype_may_be_named_in_any_way(panel):
    assert panel.set(dtype=np.float16).state.dtype == "float16"
    assert panel.set(dtype="BF16").state.dtype == "bfloat16"


# -- the panel itself --------------------------------------------------------------------------


def test_two_panels_of_one_name_are_one():
    first = labkit.explore.tiling(name="twice")
    second = labkit.explore.tiling(name="twice", total=7)
    assert first.closed and not second.closed
    assert [panel for panel in open_panels() if panel.name == "twice"] == [second]
    second.close()


def test_a_fault_is_shown_and_in_tests_raised(panel, monkeypatch):
    def broken(_state):
        raise TilingError("a fault in the tiling")

    monkeypatch.setattr("labkit.explore.tiling_panel.look", broken)
    with pytest.raises(TilingError):
        panel.set(total=9)
    assert "a fault in the tiling" in panel.error and panel.stale


def test_a_state_alone_decides_about_the_picture(panel):
    there = panel.set(total=777, core=5).picture
    assert panel.set(total=9).set(total=777).picture == there
    assert render(TilingState(777, core=5)).picture == there


def test_the_dark_theme_is_drawn_in_dark():
    dark = labkit.explore.tiling(name="dark", theme="dark")
    assert dark.picture != render(TilingState()).picture and dark.error == ""
    dark.close()


def test_it_speaks_chinese(monkeypatch, panel):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    text = panel.set(total=1000, op="hardshrink", soc="a2").text
    assert "950的规则" in text and "个Vector核" in text and "Public" not in text
    panel.raise_errors = False
    assert "取值范围" in panel.set(total=MOST + 1).error
