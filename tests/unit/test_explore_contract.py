"""The contract panel without a browser: what it shows is what labkit.op says."""

from itertools import product

import ml_dtypes  # noqa: F401 - bfloat16 for NumPy
import numpy as np
import pytest

import labkit
from labkit.draw.sieve import sieve_pixels
from labkit.draw.sieve_view import sieve_alt_text
from labkit.explore import contract, contract_picture, dtype_cube, open_panels
from labkit.explore.contract_cube import CUBE_DTYPES, cube_of
from labkit.explore.contract_panel import plan_of
from labkit.explore.contract_presets import LAYOUTS, POINTERS, PRESETS
from labkit.explore.contract_sieve import sieve_of
from labkit.explore.contract_state import ContractState, changed
from labkit.explore.typed import CHIPS
from labkit.op import TensorDesc, plan_hardshrink_backward


@pytest.fixture(scope="module")
def one_panel():
    panel = contract(name="tested", raise_errors=True)
    yield panel
    panel.close()


@pytest.fixture
def panel(one_panel):
    """The panel, at its start again."""
    one_panel.raise_errors = True
    one_panel.set(preset="plain", soc=CHIPS[0], view="checks")
    assert one_panel.state == ContractState()
    return one_panel


def widgets(panel):
    """The widgets of a panel by the words beside them."""
    rows = panel.shell.controls.rows
    return {
        **dict(zip(("preset", "operator", "view", "soc"), rows[0])),
        **dict(zip(("grad_dtype", "grad_shape", "grad_layout"), rows[1])),
        **dict(zip(("self_dtype", "self_shape", "self_layout"), rows[2])),
        **dict(zip(("lambd_dtype", "lambd", "pointers"), rows[3])),
        **dict(zip(("out_dtype", "out_shape", "out_layout"), rows[4])),
    }


# -- the sieve says what the operator says ----------------------------------------------


CODES = {
    "plain": (0, None),
    "null and dtype": (161001, "CheckNotNull"),
    "dtype and rank": (161002, "CheckDtypeValid"),
    "rank and shape": (161002, "CheckMaxDim"),
    "no common shape": (161002, "CheckBroadcast"),
    "empty": (0, "CheckEmpty"),
    "empty and dtype": (161002, "CheckDtypeValid"),
    "0-d": (161002, "CheckShape"),
    "complex": (0, None),
    "three dtypes": (0, None),
    "past its storage": (561103, "l0 operators"),
    "shifted output": (0, None),
    "reversed": (561103, "l0 operators"),
    "bfloat16 on 910": (161002, "CheckDtypeValid"),
    "forward empty": (161002, "CheckShape"),
    "everything": (161001, "CheckCommInput"),
}


@pytest.mark.parametrize("name", PRESETS)
def test_each_telling_call_tells_what_it_is_there_to_tell(panel, name):
    panel.set(preset=name)
    sieve = sieve_of(*plan_of(panel.state))
    ending = [row.name for row in sieve.rows if row.state in ("stopped", "returned")]
    code, row = CODES[name]
    assert (panel.status, ending) == (code, [row] if row else [])
    assert str(code) in panel.text and panel.error == ""


CALLS = [
    {
        "grad_dtype": grad,
        "self_dtype": x,
        "out_dtype": out,
        "grad_shape": shapes[0],
        "self_shape": shapes[1],
        "out_shape": shapes[2],
        "lambd_dtype": lambd,
        "operator": operator,
    }
    for grad, x, out in product(("float32", "int32", "null"), repeat=3)
    for shapes in (
        *(("2, 3", "3", "2, 3"), ("0", "5", "7"), ("2", "3", "3"), ("", "", "1")),
        *(("1, 1, 1, 1, 1, 1, 1, 1, 1", "3", "3"), ("3", "3", "0")),
    )
    for lambd in ("float32", "null")
    for operator in ("backward", "forward")
]


def test_the_first_question_that_fails_is_the_check_that_stops_the_plan():
    for call in CALLS:
        plan, _ = plan_of(changed(ContractState(), call))
        sieve = sieve_of(plan)
        stopped = [row for row in sieve.rows if row.state == "stopped"]
        assert [row.name for row in stopped] == ([plan.failed_check] if plan.fault else []), call
        assert sieve.verdict.status == plan.status
        if stopped:
            (cell,) = (cell for cell in stopped[0].cells if cell.state == "stopped")
            named = plan.fault.messages[-1].values[0]
            assert sieve.columns[cell.column] == named, call
        seen = [cell.state for row in sieve.rows for cell in row.cells]
        ends = [at for at, state in enumerate(seen) if state in ("stopped", "returned")]
        assert len(ends) <= 1
        before, behind = (seen[: ends[0]], seen[ends[0] + 1 :]) if ends else (seen, [])
        assert set(before) <= {"passed", "not asked"}
        assert set(behind) <= {"hidden", "not reached", "not asked"}


def test_a_hidden_fault_is_the_next_to_be_told_when_the_first_is_mended(panel):
    panel.set(preset="rank and shape")
    sieve = sieve_of(*plan_of(panel.state))
    hidden = [row.name for row in sieve.rows if row.hidden]
    assert hidden == ["CheckBroadcast"]
    panel.set(self_shape="4")
    assert panel.plan.failed_check == "CheckBroadcast"
    panel.set(self_shape="3")
    assert panel.plan.failed_check == "CheckShape"
    panel.set(out_shape="2, 3")
    assert panel.status == 0


def test_the_code_is_that_of_a_direct_plan_on_that_chip():
    for chip, dtype in product(CHIPS, ("float32", "bfloat16", "float64")):
        kinds = dict.fromkeys(("grad_dtype", "self_dtype", "out_dtype"), dtype)
        plan, _ = plan_of(changed(ContractState(), {"soc": chip, **kinds}))
        grad, x, out = (TensorDesc(dtype, shape) for shape in ((2, 3), (3,), (2, 3)))
        assert plan == plan_hardshrink_backward(grad, x, 0.5, out, soc=chip)


def test_the_code_is_that_of_a_real_call(panel):
    with labkit.open_device("sim", soc=CHIPS[0]) as device:
        for preset in ("plain", "empty", "0-d", "no common shape", "three dtypes"):
            panel.set(preset=preset)
            arrays = [
                np.zeros(desc.shape, desc.dtype.numpy)
                for desc in map(panel.state.tensor, ("grad", "self", "out"))
            ]
            call = labkit.hardshrink_backward(
                arrays[0], arrays[1], out=arrays[2], device=device, check=False
            )
            assert call.status == panel.status, preset


def test_null_out_pointers_beat_everything(panel):
    for pointers in POINTERS[1:]:
        panel.set(preset="null and dtype", pointers=pointers)
        assert panel.status == 161001
        assert f"{pointers.split()[0]} is a null pointer, stops the call" in panel.text


def test_where_the_document_says_otherwise_the_panel_says_so(panel):
    assert "Where document and code part" not in panel.text
    for preset, finding in (
        ("three dtypes", "doc-one-dtype"),
        ("empty", "doc-empty-shapes"),
        ("complex", "doc-dtype-row"),
        ("past its storage", "doc-view-storage"),
        ("everything", "doc-null-row"),
        ("forward empty", "pair-check-order"),
    ):
        assert finding in panel.set(preset=preset).text
    panel.set(preset="plain", soc="310b")
    assert "doc-products" in panel.text


# -- typed and chosen --------------------------------------------------------------------


@pytest.mark.parametrize("typed", ["two", "-1", "2.5", "2,,x", (2, "a"), str([1] * 26), None])
def test_what_is_no_shape_is_a_red_line_and_the_picture_stays(panel, typed):
    before = panel.picture
    panel.raise_errors = False
    panel.set(self_shape=typed)
    assert "is no shape; right would be" in panel.error and panel.stale
    assert panel.picture == before
    panel.raise_errors = True
    with pytest.raises(labkit.LabValueError, match="is no shape"):
        panel.set(self_shape=typed)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"lambd": "much"}, "is no number; right would be"),
        ({"soc": "Ascend1"}, "no chip named"),
        ({"self_dtype": "string"}, "right would be one of"),
        ({"self_dtype": "nonsense"}, "self_dtype is 'nonsense'; right would be one of"),
        ({"out_layout": "upside down"}, "right would be one of"),
        ({"preset": "nothing"}, "right would be one of"),
    ],
)
def test_what_cannot_be_is_told_with_what_would_be_right(panel, change, told):
    panel.raise_errors = False
    assert told in panel.set(**change).error


def test_a_lambda_that_does_not_go_with_its_dtype_is_told_and_mended_either_way(panel):
    panel.set(preset="complex").set(lambd_dtype="float32")
    assert "which a float32 scalar cannot hold" in panel.error and panel.problem.expected
    panel.set(lambd="0.5")
    assert panel.error == "" and panel.state.lambd_dtype == "float32"


@pytest.mark.parametrize("lambd", [None, 0.3, "-1", "nan", 2 + 1j])
def test_any_lambda_may_be_set(panel, lambd):
    panel.set(lambd_dtype="complex64", lambd=lambd)
    assert panel.status == (161001 if lambd is None else 0)


def test_none_is_a_null_pointer(panel):
    assert panel.set(out_dtype=None).plan.message.startswith("gradInput is a null pointer")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_makes_the_view_that_it_names(layout):
    state = changed(ContractState(), {"self_shape": "2, 3", "self_layout": layout})
    tensor = state.tensor("self")
    assert tensor.shape == (2, 3)
    assert tensor.is_contiguous == (layout in (LAYOUTS[0], LAYOUTS[4]))
    assert tensor.fits_storage == (layout not in LAYOUTS[3:])
    for shape in ("", "0", "1", "2, 0"):
        assert changed(state, {"self_shape": shape}).tensor("self").size in (0, 1)


# -- the panel itself --------------------------------------------------------------------


def test_the_widgets_follow_the_state_and_lead_it(panel):
    shown = widgets(panel)
    assert shown["preset"].value == "plain"
    shown["self_dtype"].value = "int32"
    assert (panel.state.preset, shown["preset"].value) == ("own", "own")
    assert panel.status == 161002
    shown["preset"].value = "empty"
    assert (shown["self_dtype"].value, shown["grad_shape"].value) == ("float32", "0")
    shown["grad_shape"].value = "2 × 5"
    shown["out_shape"].value = "(2, 5)"
    assert panel.status == 0 and shown["out_shape"].value == "2, 5"
    assert panel.state.preset == "own"


def test_changing_chip_or_view_leaves_the_telling_call_what_it_is(panel):
    panel.set(preset="empty").set(soc="910b").set(view="dtypes")
    assert (panel.state.preset, panel.state.soc) == ("empty", "Ascend910B1")


def test_a_chip_that_is_not_in_the_menu_may_be_set_by_name(panel):
    shown = widgets(panel)
    panel.set(soc="Kirin9030")
    assert shown["soc"].value == "Kirin9030" and "Kirin9030" in panel.text


def test_one_name_is_one_panel():
    first = contract(name="twice")
    second = contract(name="twice")
    assert first.closed and [p for p in open_panels() if p.name == "twice"] == [second]
    second.close()


def test_the_quick_picture_is_the_slow_one(panel):
    from labkit.draw.sieve import sieve_figure

    for name in ("empty", "everything", "forward empty"):
        sieve = sieve_of(*plan_of(changed(ContractState(), {"preset": name})))
        canvas = sieve_figure(sieve).canvas
        canvas.draw()
        assert np.array_equal(sieve_pixels(sieve), np.asarray(canvas.buffer_rgba())), name


def test_the_standing_picture_says_what_the_panel_says(panel):
    panel.set(preset="0-d")
    picture = contract_picture(preset="0-d")
    assert picture.alt == panel.text and picture.size == panel.size
    assert "[1] is not [], stops the call" in picture.alt


def test_the_words_are_chinese_where_that_is_asked_for(monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    words = sieve_alt_text(sieve_of(*plan_of(changed(ContractState(), {"preset": "empty"}))))
    assert "为空：成功返回" in words and "第一段接口返回0" in words


# -- the dtype cube -------------------------------------------------------------------------


@pytest.mark.parametrize("chip", ["Ascend950PR_9599", "Ascend910A"])
def test_every_cell_of_the_cube_is_that_of_a_direct_plan(chip):
    cube = cube_of(chip)
    assert len(cube.cells) == len(CUBE_DTYPES) ** 3
    accepted = {"float32", "float16"} | ({"bfloat16"} if "950" in chip else set())
    assert cube.accepted == len(accepted) ** 3 and cube.as_documented == len(accepted)
    for key, cell in cube.cells.items():
        assert (cell.status == 0) == (set(key) <= accepted)
        wrong = [
            name
            for name, dtype in zip(("gradOutput", "self", "gradInput"), key)
            if dtype not in accepted
        ]
        assert cell.named == (wrong[0] if wrong else "")
        if not wrong:
            assert cell.meets == (key[0] if key[0] == key[1] else "float32")
            assert cell.casts == sum(dtype != cell.meets for dtype in key)


def test_only_on_310b_do_forward_and_backward_take_different_dtypes():
    parted = [chip.chip for chip in cube_of(CHIPS[0]).chips if chip.forward != chip.backward]
    assert parted == ["Ascend310B1"]


def test_the_view_of_dtypes_frames_this_call(panel):
    panel.set(view="dtypes", grad_dtype="float16")
    assert (
        "gradOutput fp16 self fp32 gradInput fp32: computed in fp32, Cast kernels: 1" in panel.text
    )
    before = panel.picture
    assert panel.set(self_dtype="float16").picture != before
    assert "named is self" in panel.set(self_dtype="int64").text
    assert dtype_cube("910").alt.startswith("Which dtypes go together? On Ascend910A 8 of 1331")
