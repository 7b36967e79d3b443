"""The learning panel without a browser: every control, its trainings, its picture, its words."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from test_draw_bits import check_layout

import labkit
from labkit import learn
from labkit.draw.learning import HEIGHT, WIDTH, LearningPicture, learning_figure
from labkit.draw.learning_view import learning_alt_text, remark
from labkit.draw.theme import LIGHT
from labkit.explore import learning, learning_picture, open_panels
from labkit.explore.learning_state import (
    DTYPES,
    LAMBDAS,
    MOST_STEPS,
    LearningState,
    changed,
    look,
    windows,
)

STATES = {
    "start": {},
    "best": {"lambd": 0.25},
    "largest": {"lambd": 3},
    "one unit": {"lambd": 2.5, "steps": 7},
    "infinite": {"lambd": "inf"},
    "nan": {"lambd": "nan"},
    "negative": {"lambd": "−0.123456789012345678901"},
    "no step": {"lambd": 0, "steps": 0},
    "one step": {"lambd": 1.3, "steps": 1},
    "half": {"lambd": 0.3, "dtype": "float16"},
    "huge": {"lambd": 123456.789, "dtype": "float16"},
}


@pytest.fixture(scope="module")
def one_panel():
    panel = learning(name="tested", raise_errors=True)
    yield panel
    panel.close()


@pytest.fixture
def panel(one_panel):
    """The panel, at its start again."""
    one_panel.raise_errors = True
    one_panel.set(lambd="1", dtype="float32", steps=MOST_STEPS)
    assert one_panel.state == LearningState() and not one_panel.stale
    return one_panel


def widgets(panel):
    """The widgets of a panel by name."""
    rows = panel.shell.controls.rows
    return dict(zip(("slider", "box", "dtype", "steps", "steps_box"), [*rows[0], *rows[1]]))


def view_of(name):
    return look(changed(LearningState(), STATES[name]))


# -- what it shows is what the operators give ---------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_it_shows_is_a_training_through_the_device(panel, dtype):
    clean, noisy = windows()
    with labkit.open_device("sim") as device:
        made = learn.train(
            noisy, clean, 0.7, learn.on_device(device), steps=20, dtype=np.dtype(dtype)
        )
        now = learn.slope(made.weights, noisy, clean, 0.7, learn.on_device(device), np.dtype(dtype))
    view = panel.set(lambd=0.7, dtype=dtype, steps=20).view
    assert np.array_equal(view.fired, made.fired) and view.died == made.deaths()
    assert np.array_equal(view.code, now.code[:12]) and view.code.dtype == dtype
    assert np.array_equal(view.built, now.built[:12].reshape(-1))
    assert (view.error, view.share) == (made.errors[-1], made.shares[-1])


def test_the_curves_are_trainings_of_as_many_steps(panel):
    clean, noisy = windows()
    view = panel.set(steps=15).view
    assert tuple(point.lambd for point in view.curve) == LAMBDAS
    for point in view.curve[::4]:
        made = learn.train(noisy, clean, point.lambd, learn.model(), steps=15)
        assert (point.error, point.share) == (made.errors[-1], made.shares[-1])
    assert view.curve[4].error == view.error  # λ = 1 is the panel's own


def test_a_unit_dies_one_step_earlier_in_float16(panel):
    before, after = panel.view.died, panel.set(dtype="float16").view.died
    assert {unit for unit in before if before[unit] != after[unit]} == {11}
    assert (before[11], after[11]) == (79, 78)


def test_half_of_lambda_is_told_where_it_differs(panel):
    panel.set(lambd=0.3, dtype="float16")
    assert "compared forward as 0.300000012, backward as 0.300048828" in panel.text
    panel.set(dtype="float32")
    assert "compared as 0.300000012" in panel.text and "backward as" not in panel.text


# -- controls -----------------------------------------------------------------------------------


def test_every_choice_works_and_leads_back(panel):
    start = panel.picture
    found = widgets(panel)
    assert len({widget.description for widget in found.values()}) == len(found)
    for dtype in DTYPES:
        found["dtype"].value = dtype
        for step in range(0, 61, 12):
            found["slider"].value = step / 20
            assert panel.state.lambd == step / 20 and panel.error == ""
        for steps in (0, 1, 60, MOST_STEPS):
            found["steps"].value = steps
            assert panel.state.steps == panel.view.steps == steps
            assert found["steps_box"].value == str(steps)
    found["dtype"].value = "float32"
    found["steps_box"].value = " 37 "
    assert found["steps"].value == panel.state.steps == 37
    found["steps_box"].value, found["box"].value = str(MOST_STEPS), "1"
    assert found["slider"].value == 1.0
    assert panel.state == LearningState() and panel.picture == start


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"lambd": "three"}, "no number"),
        ({"steps": 121}, "0 to 120"),
        ({"steps": -1}, "0, 60 or 120"),
        ({"steps": "half"}, "0, 60 or 120"),
        ({"steps": 1.5}, "0, 60 or 120"),
        ({"dtype": "bfloat16"}, "float32; float16"),
        ({"dtype": ["float32"]}, "float32; float16"),
        ({"typed": "1"}, "set lambd"),
        ({"units": 3}, "no units here"),
    ],
)
def test_a_wrong_value_is_shown_raised_and_leaves_the_picture(panel, change, told):
    before = panel.picture
    with pytest.raises(labkit.LabValueError, match=told):
        panel.set(**change)
    assert told in panel.error and panel.stale and panel.picture == before
    panel.raise_errors = False
    assert told in panel.set(**change).error
    assert not panel.set(lambd=1).stale


def test_a_panel_of_the_same_name_replaces_the_first():
    before = len(open_panels())
    first, second = (learning(name="once") for _ in range(2))
    assert first.closed and not second.closed and len(open_panels()) == before + 1
    second.close()


def test_the_standing_picture_shows_the_same_as_the_panel(panel):
    shown = learning_picture(lambd=0.25, steps=40)
    assert shown.alt == panel.set(lambd=0.25, steps=40).text
    assert shown.size == panel.size == (WIDTH, HEIGHT)


# -- words --------------------------------------------------------------------------------------


def test_the_text_tells_the_numbers_of_the_picture(panel):
    for told in (
        "16 units, 120 steps of gradient descent",
        "Error 0.159 mV (root mean square); the noise has 0.150.",
        "221 of 1920 numbers of the code are not 0, that is 11.5 %.",
        "Of 16 units 15 fire before the first step, 11 at the end.",
        "Never fired: 2. Died: unit 8 at step 11, unit 9 at step 34, unit 11 at step 79",
        "Came back: 0.",
        "λ 0.25: error 0.110, not 0 60.7 %",
    ):
        assert told in panel.text, told


def test_one_step_is_no_plural(panel):
    assert "16 units, 1 step of gradient descent" in panel.set(steps=1).text


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("start", "did not come back"),
        ("best", "closer to the recording"),
        ("infinite", "every unit is dead"),
        ("no step", None),
    ],
)
def test_the_remark_fits_the_state(name, word):
    told = remark(view_of(name))
    assert told is None if word is None else word in told


def test_the_words_are_there_in_chinese(monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    told = learning_alt_text(view_of("start"))
    assert told.startswith("死区对学习做了什么？") and "单元8于第11步" in told


# -- the picture --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STATES)
def test_no_text_leaves_the_picture_or_covers_another(name):
    figure = learning_figure(view_of(name))
    assert tuple(figure.bbox.size) == (WIDTH, HEIGHT)
    check_layout(figure, WIDTH, HEIGHT)


def colour(name):
    return [*(round(255 * part) for part in to_rgb(getattr(LIGHT, name)))]


@pytest.mark.parametrize("name", ["start", "one step", "no step", "infinite"])
def test_a_cell_of_the_chart_of_life_is_grey_where_the_unit_does_not_fire(name):
    view = view_of(name)
    picture = LearningPicture()
    picture.fill(view)
    pixels = picture.life.pixels[..., :3]
    high, wide = pixels.shape[0] // 16, pixels.shape[1] / (view.steps + 1)
    edges = 0
    for unit in range(16):
        for step in range(view.steps + 1):
            cell = pixels[unit * high + 5, int(wide * (step + 0.8))]
            edges += cell.tolist() == colour("edge")
            if cell.tolist() != colour("edge"):
                assert (cell.tolist() == colour("dead")) == (view.fired[step, unit] == 0)
    assert edges <= len(view.died)


def test_every_death_on_the_way_is_marked():
    view = view_of("start")
    picture = LearningPicture()
    picture.fill(view)
    orange = np.all(picture.life.pixels[..., :3] == colour("edge"), axis=-1)
    rows = {row // 9 for row in np.flatnonzero(orange.any(axis=1))}
    assert rows == {unit for unit, step in view.died.items() if step} == {8, 9, 11, 15}


def test_the_code_is_grey_where_it_is_0_and_light_where_it_is_negative():
    view = view_of("start")
    picture = LearningPicture()
    picture.fill(view)
    cells = picture.code.pixels[5::9, 25::50, :3]
    assert np.array_equal(np.all(cells == colour("dead"), axis=-1).T, view.code == 0)
    assert view.code[3, 0] > 0 > view.code[3, 1]
    assert cells[1, 3, 0] > cells[0, 3, 0]


def test_a_state_drawn_over_another_looks_as_if_drawn_alone():
    kept, alone = LearningPicture(), LearningPicture()
    for name in ("nan", "half", "start"):
        kept.update(view_of(name))
    alone.update(view_of("start"))
    assert kept.png() == alone.png()


def test_the_dark_palette_draws_the_same_words():
    light, dark = (learning_figure(view_of("half"), theme) for theme in ("light", "dark"))
    assert [t.get_text() for t in light.texts] == [t.get_text() for t in dark.texts]
