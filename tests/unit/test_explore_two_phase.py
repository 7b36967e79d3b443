"""The two-phase panel without a browser: what it shows is what a software NPU did."""

import pytest

import labkit
from labkit.course.c_examples import backward_program
from labkit.explore import open_panels, two_phase, two_phase_picture
from labkit.explore.two_phase_run import look
from labkit.explore.two_phase_state import (
    CALLS,
    SCENARIOS,
    TwoPhaseState,
    look_at,
    program_of,
)
from labkit.explore.typed import CHIPS
from labkit.op import TensorDesc, plan_hardshrink_backward


@pytest.fixture
def panel():
    panel = two_phase(name="tested", raise_errors=True)
    yield panel
    panel.close()


def widgets(panel):
    first, second, third = panel.shell.controls.rows
    back, slider, forward, end, box = first
    return {
        "back": back,
        "slider": slider,
        "next": forward,
        "end": end,
        "box": box,
        "scenario": second[0],
        "call": second[1],
        "soc": third[0],
        "strict": third[1],
    }


# -- what it shows ------------------------------------------------------------------------------


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("strict", [True, False])
def test_the_codes_and_numbers_are_those_of_a_direct_run(call, scenario, strict):
    program = program_of(call, scenario)
    direct = program.run(strict=strict, check=strict)
    view = look(TwoPhaseState(call, CHIPS[0], scenario, strict, len(program.lines)))
    codes = [row.returned for row in view.rows if row.number and row.returned]
    want = ["caught" if made.error else made.returned for made in direct.calls]
    assert codes == want
    assert view.step == len(direct.calls)
    assert (view.output_state == "right") == (
        direct.result.tobytes() == backward_program(call).run().result.tobytes()
    )
    assert [bar.kernel for bar in view.bars] == list(direct.launched)
    assert sum(bar.ran > 0 and not bar.lost for bar in view.bars) == len(direct.executed)


@pytest.mark.parametrize("chip", CHIPS)
def test_the_workspace_is_that_of_the_plan(chip):
    grad, x, out = (
        TensorDesc("float16", (4, 1)),
        TensorDesc("float32", (1, 4)),
        TensorDesc("float32", (4, 4)),
    )
    plan = plan_hardshrink_backward(grad, x, 2.0, out, soc=chip)
    view = look(TwoPhaseState("mixed", chip, step=14))
    blocks = {block.name: block.size for block in view.blocks}
    assert blocks["workspace"] == plan.workspace_size
    assert f"{len(plan.launches)} launches planned, {plan.workspace_size} B" in view.executor


def test_only_the_950_wants_sixteen_mebibytes():
    sizes = [
        {b.name: b.size for b in look(TwoPhaseState("mixed", chip, step=14)).blocks}["workspace"]
        for chip in CHIPS
    ]
    assert sizes == [16779264, 1536, 1536, 1536, 1536, 1536]


def test_memory_goes_from_poison_to_data_to_result_to_freed():
    states = {}
    for step in range(29):
        for block in look(TwoPhaseState("mixed", step=step)).blocks:
            states.setdefault(block.name, []).append(block.state)
    assert list(dict.fromkeys(states["gradAddr"])) == ["poison", "data", "freed"]
    assert list(dict.fromkeys(states["outAddr"])) == ["poison", "result", "freed"]
    assert list(dict.fromkeys(states["workspace"])) == ["poison", "scratch", "freed"]


def test_the_executor_lives_from_phase_1_to_phase_2():
    states = [look(TwoPhaseState(step=step)).executor_state for step in range(29)]
    assert states == ["none"] * 13 + ["live"] * 2 + ["gone"] * 14
    repeatable = [
        look(TwoPhaseState(scenario="repeatable", step=step)).executor_state for step in range(33)
    ]
    assert repeatable == ["none"] * 13 + ["live"] * 8 + ["gone"] * 12


def test_kernels_wait_in_the_stream_until_somebody_waits_for_them():
    assert look(TwoPhaseState("mixed", step=14)).queue == ()
    assert look(TwoPhaseState("mixed", step=15)).queue == (
        "BroadcastTo",
        "BroadcastTo",
        "Cast",
        "HardShrinkGrad",
    )
    assert look(TwoPhaseState("mixed", step=16)).queue == ()
    late = look(TwoPhaseState(scenario="no synchronise", strict=False, step=27))
    assert [(bar.queued, bar.ran) for bar in late.bars] == [(15, 25)]
    assert "ran only in call 25" in late.verdict


@pytest.mark.parametrize(
    ("scenario", "strict", "told"),
    [
        ("no synchronise", True, "call aclrtSynchronizeStream first"),
        ("no synchronise", False, "outHost holds poison"),
        ("workspace freed early", True, "aclrtFree(workspace) while"),
        ("input freed early", True, "aclrtFree(gradAddr) while"),
        ("input freed early", False, "outHost does not hold the result"),
        ("phase 2 twice", True, "on an executor that is gone"),
        ("phase 2 twice", False, "161001 ACLNN_ERR_PARAM_NULLPTR, without a message"),
        ("workspace null", True, "workspace is a null pointer but its size is 16779264"),
        ("workspace null", False, "workspace is a null pointer but its size is 16779264"),
        ("workspace too small", True, "of a block of 32"),
        ("workspace too small", False, "Let pass: aclnnHardshrinkBackward: BroadcastTo writes"),
        ("tensor destroyed early", True, "self was destroyed before phase 2"),
        ("executor destroyed early", True, "it was destroyed"),
        ("phase 2 left out", True, "no kernel had written outAddr"),
        ("tensor never destroyed", True, "Left behind: aclTensor gradInput"),
    ],
)
def test_a_mistake_is_told_in_the_picture_and_in_words(panel, scenario, strict, told):
    panel.set(call="mixed", scenario=scenario, strict=strict).move(100)
    assert told in panel.view.verdict and panel.view.trouble
    assert told in panel.text
    assert "0x1" not in panel.text and "0x7" not in panel.text


def test_the_right_programs_end_well(panel):
    for scenario in ("correct", "repeatable"):
        panel.set(scenario=scenario).move(100)
        assert panel.view.verdict.startswith("✓") and not panel.view.trouble


def test_a_workspace_that_no_kernel_needs_may_be_freed_early_by_luck(panel):
    panel.set(scenario="workspace freed early").move(100)
    assert "by luck" in panel.view.verdict and panel.view.trouble


def test_what_a_scenario_leaves_out_or_moves_stands_in_the_list():
    rows = {row.text: row for row in look(TwoPhaseState(scenario="no synchronise")).rows}
    assert rows["aclrtSynchronizeStream(stream)"].state == "out"
    moved = look(TwoPhaseState(scenario="input freed early")).rows
    found = [(row.state, row.odd) for row in moved if row.text == "aclrtFree(gradAddr)"]
    assert found == [("ahead", True), ("moved", False)]
    assert all(not row.odd and row.number for row in look(TwoPhaseState()).rows)


def test_two_looks_at_one_state_are_equal():
    state = TwoPhaseState("mixed", scenario="phase 2 twice", step=16)
    assert look(state) == look(state)


def test_every_scenario_but_two_is_a_mistake_and_says_what_the_real_library_does():
    assert [key for key, each in SCENARIOS.items() if not each.fault] == ["correct", "repeatable"]
    assert all(each.real for each in SCENARIOS.values())


# -- the panel ----------------------------------------------------------------------------------


def test_the_buttons_go_one_call_on_and_back_and_stop_at_the_ends(panel):
    found = widgets(panel)
    panel.set(step=0)
    found["back"].click()
    assert panel.state.step == 0 and panel.view.current is None
    found["next"].click()
    found["next"].click()
    assert panel.state.step == 2 == found["slider"].value and found["box"].value == "2"
    found["end"].click()
    found["next"].click()
    assert panel.state.step == 28


def test_slider_and_box_move_the_step(panel):
    found = widgets(panel)
    found["slider"].value = 13
    assert panel.view.current.text == "aclnnHardshrinkBackwardGetWorkspaceSize"
    found["box"].value = "17"
    assert panel.state.step == 17 == found["slider"].value


def test_another_scenario_moves_to_where_it_shows_and_the_slider_reaches_its_end(panel):
    found = widgets(panel)
    for scenario in SCENARIOS:
        found["scenario"].value = scenario
        assert panel.state.step == look_at("plain", scenario) == found["slider"].value
        assert found["slider"].max == len(program_of("plain", scenario).lines)
    panel.set(scenario="correct", step=3)
    assert panel.state.step == 3


def test_every_menu_is_followed(panel):
    found = widgets(panel)
    for name, known in (("call", CALLS), ("soc", CHIPS), ("strict", (False, True))):
        for value in known:
            found[name].value = value
            assert getattr(panel.state, name) == value and not panel.stale


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"step": 29}, "step is 29; this program has 28 calls"),
        ({"step": -1}, "step is -1; right would be a whole number"),
        ({"step": "two"}, "step is 'two'; right would be a whole number"),
        ({"step": 2.5}, "right would be a whole number"),
        ({"step": None}, "right would be a whole number"),
        ({"scenario": "none"}, "scenario is 'none'; right would be one of: correct; no sync"),
        ({"call": "x"}, "call is 'x'; right would be one of: plain; mixed; transposed"),
        ({"soc": "Ascend777"}, "no chip named 'Ascend777'"),
        ({"soc": 3}, "not 3"),
        ({"strict": 1}, "strict is True or False, not 1"),
    ],
)
def test_what_cannot_be_is_shown_and_raised_and_the_picture_stays(panel, change, told):
    picture = panel.picture
    with pytest.raises(labkit.LabValueError):
        panel.set(**change)
    assert told in panel.error and panel.stale and panel.picture == picture
    panel.raise_errors = False
    assert panel.set(**change).stale
    assert not panel.set(step=15).stale


def test_a_family_of_chips_is_a_chip_of_the_menu_and_any_other_one_joins_it(panel):
    assert panel.set(soc="a3").state.soc == widgets(panel)["soc"].value == "Ascend910_9391"
    assert panel.set(soc="Ascend910B3").state.soc == widgets(panel)["soc"].value == "Ascend910B3"


def test_below_the_picture_stands_the_call_in_full_and_what_the_real_library_does(panel):
    assert "<code>aclnnHardshrinkBackward(workspace, workspaceSize" in panel.below
    panel.set(scenario="phase 2 twice")
    assert "81" not in panel.below and "seen to return 161001" in panel.below
    panel.set(scenario="phase 2 twice", step=3)
    assert "seen to return" not in panel.below
    assert "aclrtCreateStream(&amp;stream)" in panel.below


def test_two_panels_of_one_name_are_one(panel):
    other = two_phase(name="tested", raise_errors=True)
    assert panel.closed and [p.name for p in open_panels()].count("tested") == 1
    other.close()


def test_it_runs_on_the_software_npu_whatever_the_device(monkeypatch):
    monkeypatch.setenv("LABKIT_DEVICE", "npu")
    shown = two_phase(name="no npu here", raise_errors=True)
    assert "software NPU as Ascend950PR_9599" in shown.text
    shown.close()


def test_the_words_are_chinese_where_that_is_asked_for_and_the_figure_is_not(panel, monkeypatch):
    english = panel.picture
    monkeypatch.setenv("LABKIT_LANG", "zh")
    panel.set()
    assert panel.picture == english
    assert panel.text.startswith("到此为止") and "第二段接口" in panel.below
    panel.set(scenario="phase 2 twice").move(100)
    assert "真实的库" in panel.below


def test_a_picture_stands_still():
    shown = two_phase_picture(scenario="no synchronise", strict=False)
    assert shown.size == (940, 704)
    assert "outHost holds poison" in repr(shown)
