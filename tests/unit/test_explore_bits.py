"""The bits panel without a browser: every control, what the device says, errors that are seen."""

import ml_dtypes  # noqa: F401 - bfloat16 for NumPy
import numpy as np
import pytest

import labkit
from labkit.draw.bits_view import BACKWARD, BOTH, FORWARD, OPERATORS, pattern_bits
from labkit.explore import bits, bits_picture, open_panels
from labkit.explore.bits_run import other_grad
from labkit.explore.bits_state import AROUND, CARPET, DTYPES, GRAD_DTYPES, PICTURES, BitsState
from labkit.op import hardshrink, hardshrink_grad
from labkit.op.variants import disagreements

HALVES = ("float16", "bfloat16")
LAMBDAS = (0.3, 0.5, 0.7, 0.0, -0.3, 1e-8, 70000.0, float("inf"), float("nan"))


@pytest.fixture(scope="module")
def device():
    with labkit.open_device("sim") as device:
        yield device


@pytest.fixture(scope="module")
def one_panel(device):
    panel = bits(device, name="tested", raise_errors=True)
    yield panel
    panel.close()


@pytest.fixture
def panel(one_panel):
    """The panel, at its start again."""
    one_panel.raise_errors = True
    one_panel.set(lambd="0.3", dtype="float16", grad_dtype="same", operator=BOTH, picture=AROUND)
    assert one_panel.state == BitsState() and not one_panel.stale
    return one_panel


def widgets(panel):
    """The widgets of a panel by name."""
    rows = panel.shell.controls.rows
    return {
        **dict(zip(("slider", "box"), rows[0])),
        **dict(zip(("dtype", "grad_dtype", "operator", "picture"), rows[1])),
    }


def every_pattern(dtype):
    return np.arange(65_536, dtype=np.uint16).view(np.dtype(dtype))


# -- what it shows is what the operators give -------------------------------------------


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("lambd", LAMBDAS)
def test_the_carpet_is_the_operator_on_every_pattern(panel, device, dtype, lambd):
    view = panel.set(dtype=dtype, lambd=lambd, picture=CARPET).view
    x = every_pattern(dtype)
    call = labkit.hardshrink_backward(np.ones_like(x), x, lambd=lambd, device=device)
    assert np.array_equal(view.backward, call.grad_input != 0)
    wide = hardshrink_grad(np.ones(x.shape, np.float32), x.astype(np.float32), lambd)
    assert np.array_equal(view.other, wide != 0)
    kept = hardshrink(x, max(lambd, 0.0) if lambd == lambd else lambd).view(np.uint16) != 0
    assert np.array_equal(view.forward[1:], kept[1:])  # of +0 nothing can be seen
    assert view.forward[0] == view.forward[0x8000]
    assert view.asked.agreeing == view.asked.total == 3 * 65_536


@pytest.mark.parametrize("lambd", LAMBDAS)
def test_the_odd_ones_are_where_the_kernels_are_known_to_part(panel, lambd):
    view = panel.set(lambd=lambd, picture=CARPET).view
    known = [one.pattern for one in disagreements("float16", max(lambd, 0.0))]
    if lambd != lambd:
        known = []
    assert sorted(view.odd) == sorted([*known, *(0x8000 | pattern for pattern in known)])


@pytest.mark.parametrize("lambd", LAMBDAS)
@pytest.mark.parametrize("grad_dtype", GRAD_DTYPES)
def test_in_bfloat16_nothing_is_odd(panel, lambd, grad_dtype):
    view = panel.set(dtype="bfloat16", grad_dtype=grad_dtype, lambd=lambd, picture=CARPET).view
    assert not view.odd.size


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lambd", LAMBDAS)
def test_the_neighbours_are_neighbours_and_say_what_the_device_says(panel, device, dtype, lambd):
    view = panel.set(dtype=dtype, lambd=lambd).view
    kind = np.dtype(dtype)
    sign = 1 << (8 * kind.itemsize - 1)
    patterns = [one.pattern for one in view.positive]
    assert [one.pattern for one in view.negative] == [pattern ^ sign for pattern in patterns]
    if lambd == lambd:
        places = [-1 - (p ^ sign) if p & sign else p for p in patterns]  # −0 lies below +0
        assert np.all(np.diff(places) == -1)
    both = view.positive + view.negative
    x = np.array([one.pattern for one in both], f"u{kind.itemsize}").view(kind)
    call = labkit.hardshrink_backward(np.ones_like(x), x, lambd=lambd, device=device)
    assert [one.backward for one in both] == list(call.grad_input != 0)
    assert view.asked.agreeing == view.asked.total == 30


def test_the_stations_of_03_are_float32_and_half(panel):
    asked = panel.view.asked
    assert (asked.lambd, asked.compared) == (float(np.float32(0.3)), 0.300048828125)
    assert panel.view.lambd_pattern == 0x3E99999A and panel.view.compared_pattern == 0x34CD
    flipping = [one.pattern for one in panel.view.positive if panel.view.flips(one)]
    assert flipping == [0x34CD]


@pytest.mark.parametrize("grad_dtype", ["float32", "bfloat16"])
def test_another_gradient_dtype_moves_lambda_and_flips_the_number(panel, grad_dtype):
    before = {one.pattern: one.backward for one in panel.view.positive}
    view = panel.set(grad_dtype=grad_dtype).view
    after = {one.pattern: one.backward for one in view.positive}
    assert [p for p in before if before[p] != after[p]] == [0x34CD] and after[0x34CD]
    assert view.asked.compared == view.asked.lambd and view.asked.compared_in == "float32"


def test_forward_alone_compares_in_float32_and_flips_nothing(panel):
    view = panel.set(operator=FORWARD).view
    assert view.asked.compared == float(np.float32(0.3)) and view.asked.total == 10
    assert not any(view.flips(one) for one in view.positive)
    assert panel.set(operator=BACKWARD).view.asked.total == 20


@pytest.mark.parametrize("own", DTYPES)
@pytest.mark.parametrize("grad", DTYPES)
def test_the_other_gradient_dtype_is_another_one(own, grad):
    assert other_grad(own, grad) != grad


# -- controls -----------------------------------------------------------------------------


def test_every_choice_of_every_menu_works_and_leads_back(panel):
    start = panel.picture
    found = widgets(panel)
    assert len({found[name].description for name in found}) == len(found)
    for dtype in DTYPES:
        found["dtype"].value = dtype
        for grad_dtype in GRAD_DTYPES:
            found["grad_dtype"].value = grad_dtype
            for operator in OPERATORS:
                found["operator"].value = operator
                for picture in PICTURES:
                    found["picture"].value = picture
                    too_many = dtype == "float32" and picture == CARPET
                    assert ("4,294,967,296" in panel.error) == too_many == panel.stale
    found["dtype"].value, found["grad_dtype"].value = "float16", GRAD_DTYPES[0]
    found["operator"].value, found["picture"].value = BOTH, AROUND
    for step in range(-50, 151, 20):
        found["slider"].value = step / 100
        assert panel.state.lambd == step / 100 and panel.error == ""
    found["box"].value = "0.3"
    assert found["slider"].value == 0.3
    assert panel.picture == start and panel.state == BitsState()


def test_both_pictures_have_the_panel_s_size(panel):
    for picture in PICTURES:
        png = panel.set(picture=picture).picture
        size = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
        assert size == panel.size


def test_a_state_reached_twice_looks_the_same(panel):
    first = panel.set(lambd=70000, picture=CARPET).picture
    panel.set(lambd="nan", dtype="bfloat16", grad_dtype="float32", operator=FORWARD)
    panel.set(picture=AROUND)
    again = panel.set(lambd=70000, dtype="float16", grad_dtype="same", operator=BOTH)
    assert again.set(picture=CARPET).picture == first


def test_a_panel_of_the_same_name_replaces_the_first(device):
    before = len(open_panels())
    first, second = (bits(device, name="once") for _ in range(2))
    assert first.closed and not second.closed and len(open_panels()) == before + 1
    second.close()


def test_the_standing_picture_shows_the_same_as_the_panel(panel, device):
    for picture in PICTURES:
        shown = bits_picture(device, picture=picture)
        assert shown.alt == panel.set(picture=picture).text and shown.size == panel.size
    with pytest.raises(labkit.LabValueError, match="too many for a carpet"):
        bits_picture(device, dtype="float32", picture=CARPET)


# -- words --------------------------------------------------------------------------------


def test_the_text_tells_the_numbers_the_bits_and_what_flips(panel):
    assert "λ typed 0.3 → float32 0.300000012 → compared as fp16 0.300048828" in panel.text
    assert "0 01111101 00110011001100110011010" in panel.text
    told = "0.300048828 (bits 0 01101 0011001101) gets 0, passes with grad fp32, forward keeps it"
    assert told in panel.text and "−" + told.replace("bits 0", "bits 1") in panel.text
    assert "it never learns" in panel.text


def test_the_carpet_s_text_tells_its_counts(panel):
    text = panel.set(picture=CARPET).text
    assert "Of 65536 patterns 36454 pass, 2046 NaN pass, 27036 get 0." in text
    assert "±0.300048828, pattern 34cd" in text and "Forward and backward differ on 2." in text
    assert "These are: 0.300048828, −0.300048828." in text


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ({"lambd": 70000}, "in fp16 70000 rounds to ∞"),
        ({"lambd": "1e-8"}, "rounds to 0: only ±0 is dead"),
        ({"lambd": "nan"}, "nothing is dead"),
        ({"lambd": -1}, "a negative λ acts as 0"),
        ({"grad_dtype": "float32"}, "λ is not rounded to fp16"),
        ({"grad_dtype": "float32"}, "a gradient of fp32 passes it, one of fp16 would not"),
        ({"lambd": 0.1}, "(fp16: rounded down)"),
        ({"lambd": 0.5}, "(fp16: exact)"),
    ],
)
def test_the_notes_say_what_is_surprising(panel, state, told):
    assert told in panel.set(**state).text


def test_the_text_speaks_chinese(panel, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    text = panel.set(lambd=0.7).text
    assert text.startswith("λ究竟在哪里？") and "永远得不到更新" in text and "gets" not in text
    assert "全部65,536个数各自如何？" in panel.set(picture=CARPET).text


def test_patterns_are_written_in_three_fields():
    assert pattern_bits(0x8001, "bfloat16") == "1 00000000 0000001"


# -- errors -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"lambd": "three"},
        {"lambd": None},
        {"dtype": "int8"},
        {"grad_dtype": "float64"},
        {"operator": "sideways"},
        {"operator": ["backward"]},
        {"picture": "none"},
        {"typed": "0.3"},
        {"colour": "red"},
    ],
)
def test_what_cannot_be_right_is_shown_and_raised(panel, wrong):
    before = panel.picture
    with pytest.raises(labkit.LabValueError):
        panel.set(**wrong)
    panel.raise_errors = False
    assert panel.set(**wrong).error and panel.stale and panel.picture == before
    assert 'role="alert"' in panel.shell.error.value


def test_a_dtype_that_the_chip_lacks_is_a_refusal_with_its_code():
    with labkit.open_device("sim", soc="910") as device:
        panel = bits(device, dtype="bfloat16", name="old chip", raise_errors=True)
        assert panel.error.startswith("161002 ACLNN_ERR_PARAM_INVALID") and panel.problem.expected
        assert panel.set(dtype="float16", operator=FORWARD, picture=CARPET).error == ""
        panel.close()
