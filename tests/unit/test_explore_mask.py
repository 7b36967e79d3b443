"""The mask panel without a browser: every control, errors that are seen, threads, one figure."""

import re
import subprocess
import sys
import threading
import warnings

import ml_dtypes  # noqa: F401 - bfloat16 for NumPy
import numpy as np
import pytest

import labkit
from labkit.draw import mask_figure, to_png
from labkit.draw.theme import DRAWING
from labkit.explore import field, mask_picture, open_panels
from labkit.explore.field import around
from labkit.explore.mask_panel import bench_step, look
from labkit.explore.mask_state import DTYPES, GRAD_DTYPES, SHAPES, MaskState
from labkit.explore.panel import Panel, Problem, Rendered
from labkit.explore.static import still
from labkit.explore.typed import read_number
from labkit.language import Text

REFUSED = "grad (2, 3), self (4,)"


@pytest.fixture(scope="module")
def device():
    with labkit.open_device("sim") as device:
        yield device


@pytest.fixture(scope="module")
def one_panel(device):
    panel = labkit.explore.mask(device, name="tested", raise_errors=True)
    yield panel
    panel.close()


@pytest.fixture
def panel(one_panel):
    """The panel, at its start again."""
    one_panel.raise_errors = True
    one_panel.set(lambd="0.5", dtype="float32", grad_dtype="same", shape="(64, 64)")
    assert one_panel.state == MaskState() and not one_panel.stale
    return one_panel


def controls(panel):
    """The widgets of a panel by name."""
    slider, box = panel.shell.controls.rows[0]
    dtype, grad_dtype, shape = panel.shell.controls.rows[1]
    return {
        "slider": slider,
        "box": box,
        "dtype": dtype,
        "grad_dtype": grad_dtype,
        "shape": shape,
    }


# -- what it shows is what the operator gives -----------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lambd", [0.3, 0.5, -0.3, 0.0, float("nan"), float("inf"), 70000.0])
def test_the_mask_is_that_of_a_direct_call(panel, device, dtype, lambd):
    panel.set(dtype=dtype, lambd=lambd, shape="(8, 8)")
    x = field(8, 8).astype(dtype)
    direct = labkit.hardshrink_backward(np.ones_like(x), x, lambd=lambd, device=device)
    assert np.array_equal(panel.view.live, direct.grad_input != 0)
    assert panel.view.agreeing == 64
    assert panel.error == ""


def test_every_choice_of_every_menu_works_and_leads_back(panel):
    start = panel.picture
    widgets = controls(panel)
    for dtype in DTYPES:
        widgets["dtype"].value = dtype
        for grad_dtype in GRAD_DTYPES:
            widgets["grad_dtype"].value = grad_dtype
            assert panel.error == ""
            assert (panel.state.dtype, panel.state.grad_dtype) == (dtype, grad_dtype)
    widgets["dtype"].value, widgets["grad_dtype"].value = "float32", GRAD_DTYPES[0]
    for shape in SHAPES:
        widgets["shape"].value = shape
        assert ("161002" in panel.error) == (shape == REFUSED)
    widgets["shape"].value = "(64, 64)"
    for step in range(-50, 151, 25):
        widgets["slider"].value = step / 100
        assert panel.state.lambd == step / 100
    widgets["slider"].value = 0.5
    assert panel.picture == start and panel.state == MaskState()


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != REFUSED])
def test_broadcast_shapes_give_the_broadcast_mask(panel, shape):
    panel.set(shape=shape)
    grad_shape, self_shape = SHAPES[shape]
    assert panel.view.live.shape == np.broadcast_shapes(grad_shape, self_shape)
    assert panel.view.agreeing == panel.view.total


@pytest.mark.parametrize("lambd", [0.1, np.float64(0.1), np.float32(0.1), "0.1"])
def test_the_python_type_of_lambda_does_not_matter(panel, lambd):
    panel.set(lambd=lambd)
    assert panel.view.lambd == float(np.float32(0.1))
    edge = next(rung for rung in panel.view.rungs if rung.value == panel.view.lambd)
    assert not edge.grad


def test_in_float16_the_rounded_lambda_is_kept_forward_and_gets_no_gradient(panel):
    panel.set(lambd=0.3, dtype="float16")
    rung = next(rung for rung in panel.view.rungs if rung.value == float(np.float16(0.3)))
    assert rung.forward and not rung.grad
    panel.set(dtype="bfloat16")
    assert all(rung.forward == rung.grad for rung in panel.view.rungs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_numbers_around_lambda_are_neighbours(dtype):
    kind = np.dtype(dtype)
    numbers = around(0.3, kind).astype(np.float64)
    assert np.all(np.diff(numbers) < 0)
    assert numbers[2] > 0.3 >= numbers[3]
    bits = around(0.3, kind).view(f"u{kind.itemsize}").astype(np.int64)
    assert np.all(np.diff(bits) == -1)


def test_the_numbers_around_zero_go_through_both_zeros():
    numbers = around(0.0, np.dtype("float32"))
    assert numbers[3] == 0 and not np.signbit(numbers[3])
    assert numbers[4] == 0 and np.signbit(numbers[4])
    assert np.isnan(around(float("inf"), np.dtype("float16"))[2])


# -- λ as it is typed --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "number"),
    [("0.3", 0.3), (" -1 ", -1.0), ("−0.5", -0.5), ("1e-8", 1e-8), ("inf", np.inf), ("∞", np.inf)],
)
def test_numbers_are_read_as_people_type_them(panel, typed, number):
    controls(panel)["box"].value = typed
    assert panel.state.lambd == number
    assert panel.state.typed == typed.strip() == controls(panel)["box"].value


@pytest.mark.parametrize(
    ("typed", "shown"),
    [("０.３", "0.3"), ("०.३", "0.3"), ("0.3" + "0" * 200, "0.3"), ("1e400", "1e400")],
)
def test_what_a_picture_cannot_write_is_written_anew(panel, typed, shown):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        panel.set(lambd=typed)
    assert panel.state.typed == shown and f"λ typed {shown} " in panel.text


def test_nan_is_a_number_too(panel):
    controls(panel)["box"].value = "nan"
    assert np.isnan(panel.state.lambd) and panel.view.alive == panel.view.total
    # Forward keeps everything as well; +0 kept and +0 put there look alike, so −0 speaks for it.
    assert all(rung.forward and rung.grad for rung in panel.view.rungs if rung.value == 0)


def test_slider_and_box_follow_each_other(panel):
    widgets = controls(panel)
    widgets["slider"].value = 0.42
    assert widgets["box"].value == "0.42"
    widgets["box"].value = "0.25"
    assert widgets["slider"].value == 0.25
    widgets["box"].value = "70000"
    assert widgets["slider"].value == 1.5 and panel.state.lambd == 70000
    panel.set(lambd=-0.3, dtype="bfloat16")
    assert (widgets["box"].value, widgets["dtype"].value) == ("-0.3", "bfloat16")


def test_the_slider_is_not_answered_with_its_own_value(panel):
    widgets = controls(panel)
    widgets["slider"].value = 0.1 + 0.2  # as the page sends it, not quite 0.3
    assert widgets["slider"].value == 0.1 + 0.2
    assert panel.state.typed == widgets["box"].value == "0.3" and panel.state.lambd == 0.3


@pytest.mark.parametrize("typed", ["three", "", "0,3", "1+2j", "0x1p-2"])
def test_what_is_no_number_is_an_error_and_the_good_picture_stays(panel, typed):
    before = panel.picture, panel.state
    panel.raise_errors = False
    controls(panel)["box"].value = typed + "?"
    assert "no number" in panel.error and panel.stale
    assert (panel.picture, panel.state) == before
    assert "labkit-stale" in panel.shell.picture.value
    assert 'alt="Earlier state.' in panel.shell.picture.value
    assert "no number" in panel.shell.error.value and 'role="alert"' in panel.shell.error.value
    controls(panel)["slider"].value = 0.25
    assert panel.error == "" and not panel.stale
    assert "labkit-stale" not in panel.shell.picture.value


@pytest.mark.parametrize("value", [None, [1, 2], object(), 1 + 2j])
def test_what_cannot_be_lambda_is_refused_with_a_reason(value):
    with pytest.raises(labkit.LabValueError, match="λ must be a number"):
        read_number(value)


# -- errors --------------------------------------------------------------------------------


def test_a_refusal_shows_its_code_and_reason_and_is_no_exception(panel):
    before = panel.picture
    panel.set(shape=REFUSED)
    assert panel.error.startswith("161002 ACLNN_ERR_PARAM_INVALID: ")
    assert "[2, 3]" in panel.error and "[4]" in panel.error
    assert panel.problem.expected and panel.picture == before and panel.stale
    assert panel.set(shape="(8, 8)").error == ""


def test_a_dtype_that_the_chip_lacks_is_a_refusal():
    with labkit.open_device("sim", soc="910") as device:
        panel = labkit.explore.mask(device, dtype="bfloat16", name="old chip", raise_errors=True)
        assert panel.error.startswith("161002") and panel.picture == b""
        assert panel.set(dtype="float16").error == ""
        panel.close()


def test_an_error_is_shown_and_in_tests_raised(panel, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a fault in the panel")

    monkeypatch.setattr(sys.modules["labkit.explore.mask_panel"], "run_mask", broken)
    with pytest.raises(ZeroDivisionError, match="a fault in the panel"):
        panel.set(lambd=0.1)
    with pytest.raises(ZeroDivisionError):
        controls(panel)["slider"].value = 0.2
    assert panel.error == "ZeroDivisionError: a fault in the panel"
    shown = panel.shell.error.value
    assert "<details>" in shown and "in broken" in shown and 'role="alert"' in shown

    panel.raise_errors = None
    panel.set(lambd=0.3)
    assert panel.stale
    monkeypatch.setenv("LABKIT_RAISE", "1")
    with pytest.raises(ZeroDivisionError):
        panel.set(lambd=0.4)
    monkeypatch.undo()
    assert panel.set(lambd=0.4).error == ""


def test_a_closed_device_is_told(device):
    with labkit.open_device("sim") as other:
        panel = labkit.explore.mask(other, name="closed device", raise_errors=False)
    panel.set(lambd=0.1)
    assert "is closed" in panel.error and panel.stale
    panel.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"dtype": "int8"},
        {"dtype": "same"},
        {"grad_dtype": "float64"},
        {"shape": "(3, 3)"},
        {"colour": "red"},
        {"typed": "1"},
    ],
)
def test_a_choice_that_is_not_there_says_what_is(panel, wrong):
    before = panel.state
    with pytest.raises(labkit.LabValueError):
        panel.set(**wrong)
    assert panel.error and panel.state == before


# -- one figure, one panel ------------------------------------------------------------------


def test_fifty_steps_warn_of_nothing_and_open_no_figure(panel):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = panel._picture.figure
        artists = len(figure.get_children())
        for step in range(50):
            panel.set(lambd=step / 50)
        assert panel._picture.figure is figure and len(figure.get_children()) == artists
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_the_picture_of_a_state_is_that_of_a_fresh_drawing(panel, device):
    for lambd in (0.1, -0.5, 0.9, 0.3):
        panel.set(lambd=lambd, dtype="float16")
    fresh = np.asarray(mask_figure(look(device, panel.state)).canvas.buffer_rgba())[..., :3]
    assert np.array_equal(panel._picture.pixels(), fresh)


def test_running_the_cell_again_closes_the_panel_before(device):
    first = labkit.explore.mask(device)
    widget = first.shell.root
    second = labkit.explore.mask(device)
    assert first.closed and widget.comm is None
    assert second in open_panels() and first not in open_panels()
    assert first.picture  # still readable
    first.set(lambd=0.1)
    assert first.state.lambd == 0.5  # but it moves no more
    other = labkit.explore.mask(device, name="another")
    assert not second.closed
    second.close()
    second.close()
    other.close()


def test_the_panel_names_itself_shortly(panel):
    assert repr(panel) == "<tested panel>"
    assert panel.shell.bundle(panel)["text/plain"] == "<tested panel>"


def test_a_still_picture_stands_beside_the_live_panel(panel, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw: shown.append(bundle))
    panel._ipython_display_()
    live, still = shown
    assert "application/vnd.jupyter.widget-view+json" in live
    assert "data:image/png;base64," in still["text/html"] and "alt=" in still["text/html"]
    hidden = f"labkit-still-tested-{panel.number}"
    assert f'class="labkit-still {hidden}"' in still["text/html"]
    assert f".{hidden}{{display:none}}" in panel.shell.style.value


def test_without_ipywidgets_the_panel_is_a_picture_with_a_note():
    code = (
        "import sys; sys.modules['ipywidgets'] = None\n"
        "import IPython.display\n"
        "IPython.display.display = lambda bundle, raw: print(bundle['text/html'][:900])\n"
        "import labkit\n"
        "labkit.explore.mask(raise_errors=True)._ipython_display_()\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert "needs ipywidgets" in told


def test_the_words_for_the_picture_are_in_the_page(panel):
    panel.set(lambd=0.3)
    assert "λ typed 0.3" in panel.text
    assert panel.text[:60] in panel.shell.picture.value


def test_a_picture_can_stand_still(device):
    shown = mask_picture(device, lambd=0.3, dtype="float16", shape="(8, 8)")
    assert "0.300048828" in shown.alt and shown.png.startswith(b"\x89PNG")
    with pytest.raises(labkit.AclnnError):
        mask_picture(device, shape=REFUSED)


# -- the language ----------------------------------------------------------------------------


@pytest.fixture
def chinese(panel, monkeypatch):
    """The panel, after the process has turned to Chinese."""
    monkeypatch.setenv("LABKIT_LANG", "zh")
    panel.raise_errors = False
    return panel


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lambd", [0.5, 0.3, -0.3, 0.0, float("nan"), float("inf"), 70000.0])
@pytest.mark.parametrize("shape", ["(8, 8)", "grad (64, 1), self (64, 64)"])
def test_in_chinese_the_text_alternative_is_chinese_and_has_the_same_numbers(
    panel, monkeypatch, dtype, lambd, shape
):
    panel.set(dtype=dtype, lambd=lambd, shape=shape)
    english, picture = panel.text, panel.picture
    monkeypatch.setenv("LABKIT_LANG", "zh")
    panel.set()
    assert panel.picture == picture  # figures stay English
    left = re.sub(r"float32|fp16|fp32|bf16|self|grad|nan|inf|software NPU as \w+", "", panel.text)
    assert re.findall(r"[A-Za-z]{3,}", left) == []
    numbers = re.compile(r"\d+(?:\.\d+)?")
    assert sorted(numbers.findall(panel.text)) == sorted(numbers.findall(english))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"lambd": "three"}, "λ为'three'，不是一个数"),
        ({"lambd": [1]}, "λ必须是一个数"),
        ({"dtype": "int8"}, "dtype为'int8'；可取的值有：float32"),
        ({"colour": "red"}, "这里没有colour"),
        ({"typed": "1"}, "请设置lambd"),
    ],
)
def test_in_chinese_an_error_is_chinese(chinese, wrong, told):
    with pytest.raises(labkit.LabValueError, match=re.escape(told)):
        chinese.raise_errors = True
        chinese.set(**wrong)
    assert told in chinese.error
    shown = chinese.shell.error.value
    assert "图中仍是先前的状态。" in shown and "The picture" not in shown
    assert 'alt="这是先前的状态。' in chinese.shell.picture.value


def test_in_chinese_a_refusal_keeps_the_librarys_own_words(chinese):
    chinese.set(shape=REFUSED)
    assert chinese.error.startswith("161002 ACLNN_ERR_PARAM_INVALID: [2, 3] and [4]")
    assert "<summary>详情</summary>" in chinese.shell.error.value


def test_in_chinese_the_note_below_a_still_picture_is_chinese(chinese):
    assert "静态图片" in still(chinese)["text/html"]


def test_an_error_that_was_worded_below_is_translated_where_it_can_be(panel, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    panel.raise_errors = False
    monkeypatch.setattr(
        panel, "changed", lambda *_: (_ for _ in ()).throw(labkit.LabValueError(Text("no")))
    )
    assert panel.set().error == "否"


# -- threads ---------------------------------------------------------------------------------


class Slow(Panel):
    """A panel whose drawing waits until the test lets it."""

    def __init__(self, name):
        self.rendered = []
        self.gate = threading.Event()
        self.gate.set()
        super().__init__(name, MaskState(), self._draw, raise_errors=True)

    def changed(self, state, changes):
        if changes.get("lambd") == "no":
            raise labkit.LabValueError("no number")
        return super().changed(state, changes)

    def _draw(self, state):
        assert self.gate.wait(20)
        self.rendered.append(state.lambd)
        return Rendered(str(state.lambd).encode(), f"λ is {state.lambd}")


def in_threads(jobs):
    threads = [threading.Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    return threads


def wait_until(condition):
    ticks = threading.Event()
    for _ in range(2000):
        if condition():
            return
        ticks.wait(0.005)
    raise AssertionError("it did not come about")


def test_the_last_request_wins_and_those_between_are_not_drawn():
    panel = Slow("slow")
    panel.gate.clear()
    first = in_threads([lambda: panel.set(lambd=1.0)])
    wait_until(lambda: panel._asked == 2)
    wait_until(lambda: not DRAWING.acquire(blocking=False) or DRAWING.release())
    others = []
    for number, lambd in enumerate((2.0, 3.0, 4.0)):
        others += in_threads([lambda lambd=lambd: panel.set(lambd=lambd)])
        wait_until(lambda number=number: panel._asked == 3 + number)
    panel.gate.set()
    for thread in first + others:
        thread.join(20)
    assert panel.rendered == [0.5, 1.0, 4.0]
    assert panel.state.lambd == 4.0 and panel.picture == b"4.0"
    panel.close()


def test_two_threads_that_change_different_things_lose_neither(panel):
    threads = in_threads(
        [
            lambda: [panel.set(lambd=step / 10) for step in range(6)],
            lambda: [panel.set(dtype=dtype) for dtype in (*DTYPES, *DTYPES, "float16")],
            lambda: [panel.set(shape=shape) for shape in ("(64, 64)", "(8, 8)")],
        ]
    )
    for thread in threads:
        thread.join(60)
    panel.set()
    assert (panel.state.lambd, panel.state.dtype, panel.state.shape) == (0.5, "float16", "(8, 8)")
    assert panel.error == ""


def test_panels_on_several_threads_draw_what_each_was_asked(device):
    panels = [labkit.explore.mask(device, name=f"panel {n}", raise_errors=True) for n in range(3)]

    def drive(panel, lambd):
        for step in range(5):
            panel.set(lambd=lambd + step / 100)
        panel.set(lambd=lambd)

    for thread in in_threads(
        [lambda n=n, panel=panel: drive(panel, 0.2 + n / 10) for n, panel in enumerate(panels)]
    ):
        thread.join(60)
    for n, panel in enumerate(panels):
        assert panel.error == "" and panel.state.lambd == 0.2 + n / 10
        fresh = np.asarray(mask_figure(look(device, panel.state)).canvas.buffer_rgba())
        assert np.array_equal(panel._picture.pixels(), fresh[..., :3])
        panel.close()


def test_a_widget_moved_from_another_thread_counts(panel):
    widgets = controls(panel)
    (thread,) = in_threads([lambda: setattr(widgets["slider"], "value", 0.77)])
    thread.join(20)
    assert panel.state.lambd == 0.77 and widgets["box"].value == "0.77"


def test_a_long_computation_is_announced():
    panel = Slow("announced")
    said = []

    class Shell:
        def __init__(self):
            self.error = ""

        def show(self, shown, asked):
            said.append("shown")

        def close(self):
            pass

        def busy(self):
            from labkit.explore.shell import announce

            return announce(lambda: said.append("computing"), after=0.01)

    panel._shell = Shell()
    panel.gate.clear()
    (thread,) = in_threads([lambda: panel.set(lambd=1.0)])
    wait_until(lambda: said == ["computing"])
    panel.gate.set()
    thread.join(20)
    assert said == ["computing", "shown"]
    panel.close()


def test_a_problem_may_be_expected():
    assert not Problem("x").expected and Problem("x", expected=True).expected


def test_the_bench_measures_a_step_and_a_full_redraw():
    step, full = bench_step(steps=2)
    assert 0 < step and 0 < full


def test_a_kept_picture_is_packed_tightly(panel, device):
    assert len(to_png(mask_figure(look(device, panel.state)))) < len(panel.picture)
