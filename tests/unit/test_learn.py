"""The model that learns: a real signal, a gradient that is right, and an operator of one's own."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

import labkit
from labkit import learn
from labkit.cann import declare
from labkit.host import Output, RawScalar, call_operator
from labkit.op import find_soc
from labkit.op.aclnn import plan_hardshrink, plan_operator
from labkit.op.contract import Fault, Message, check_forward
from labkit.sim import add_operator, remove_operator
from labkit.sim.kernels import KERNELS
from labkit.sim.launches import OPERATORS

SIGNALS = Path(labkit.__file__).parent / "data" / "signals"


@pytest.fixture(scope="module")
def device():
    with labkit.open_device("sim") as device:
        yield device


@pytest.fixture(scope="module")
def windows():
    clean = learn.cut(learn.ecg().values, 60)
    return clean, clean + learn.noise(clean.shape, 0.15, seed=1)


# -- the signal -----------------------------------------------------------------------------


def test_the_signal_is_the_excerpt_that_its_page_names():
    ecg = learn.ecg()
    assert (ecg.values.size, ecg.rate, ecg.seconds, ecg.unit) == (7200, 360, 20.0, "mV")
    raw = np.round(ecg.values * 200 + 1024).astype("<i2")
    assert hashlib.sha256(raw.tobytes()).hexdigest()[:16] == EXCERPT
    assert np.array_equal((raw - 1024.0) / 200, ecg.values)
    with pytest.raises(ValueError, match="read-only"):
        ecg.values[0] = 0


EXCERPT = "e24ea7a6f23d9655"


def test_source_and_licence_stand_beside_the_signal():
    page = (SIGNALS / "README.md").read_text(encoding="utf-8")
    for word in ("record 208", "22:15 to 22:35", "Open Data Commons Attribution License v1.0"):
        assert word in page
    assert sum(path.stat().st_size for path in SIGNALS.iterdir()) < 60_000
    assert "record 208" in learn.ecg().source and "ODC-By" in learn.ecg().source


def test_windows_lie_one_after_the_other_and_a_rest_is_left_out():
    assert learn.cut(range(7), 3).tolist() == [[0, 1, 2], [3, 4, 5]]
    for values, length in (([1, 2], 3), ([1, 2], 0), ([[1, 2]], 1)):
        with pytest.raises(labkit.LabValueError, match="cannot be cut"):
            learn.cut(values, length)


def test_noise_is_the_same_everywhere():
    noise = learn.noise((3,), 1.0, seed=1)
    assert np.allclose(noise, [1.62434536, -0.61175641, -0.52817175], atol=1e-8)
    assert not np.array_equal(learn.noise((3,), 1.0, seed=2), noise)


# -- the gradient ---------------------------------------------------------------------------


@pytest.mark.parametrize("lambd", [0, 0.5, 1.0, 1.5])
def test_device_and_model_learn_the_same_weights_bit_for_bit(device, windows, lambd):
    clean, noisy = windows
    one, other = (
        learn.train(noisy, clean, lambd, operators, steps=12)
        for operators in (learn.on_device(device), learn.model())
    )
    assert np.array_equal(one.path, other.path) and np.array_equal(one.fired, other.fired)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_in_either_dtype_too(device, windows, dtype):
    clean, noisy = windows
    one, other = (
        learn.train(noisy, clean, 0.3, operators, steps=4, dtype=dtype)
        for operators in (learn.on_device(device), learn.model())
    )
    assert np.array_equal(one.path, other.path)


def test_a_negative_lambda_is_0_for_both(device, windows):
    clean, noisy = windows
    weights = learn.first_weights(4, 60)
    one, other = (
        learn.slope(weights, noisy, clean, -1.0, o)
        for o in (learn.on_device(device), learn.model())
    )
    zero = learn.slope(weights, noisy, clean, 0.0, learn.model())
    assert np.array_equal(one.gradient, other.gradient)
    assert np.array_equal(one.gradient, zero.gradient)
    zeros = np.array([-0.0, 0.0, -1.0], np.float32)  # a kernel told of −1 would let −0 pass
    for operators in (learn.on_device(device), learn.model()):
        assert operators.forward(zeros, -1.0).view(np.uint32).tolist() == [0, 0, 0xBF800000]


def test_the_gradient_agrees_with_finite_differences_away_from_the_edge(windows):
    clean, noisy = (part[:8] for part in windows)
    weights = learn.first_weights(4, 60)
    lambd, step = 0.5, 2.0**-12
    u = noisy @ weights.T
    assert np.abs(np.abs(u) - lambd).min() > 4 * step * np.abs(noisy).max()  # none changes sides
    given = learn.slope(weights, noisy, clean, lambd, learn.model()).gradient
    for unit in range(4):
        for sample in (0, 17, 59):
            nudge = np.zeros_like(weights)
            nudge[unit, sample] = step
            up, down = (
                learn.slope(weights + sign * nudge, noisy, clean, lambd, learn.model()).loss
                for sign in (1, -1)
            )
            assert (up - down) / (2 * step) == pytest.approx(given[unit, sample], abs=2e-3)


def test_on_the_edge_the_quotient_grows_without_bound():
    weights, window, target = np.array([[0.75, 0.5]]), np.array([[1.0, 0.5]]), np.ones((1, 2))
    nudge = np.array([[1.0, 0.0]])
    found = []
    for step in (2.0**-6, 2.0**-9, 2.0**-12):
        up, down = (
            learn.slope(weights + sign * step * nudge, window, target, 1.0, learn.model()).loss
            for sign in (1, -1)
        )
        found.append((up - down) / (2 * step))
    assert found[2] < 7 * found[1] < 49 * found[0] < 0
    assert not learn.slope(weights, window, target, 1.0, learn.model()).gradient.any()


# -- life and death ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def life(windows):
    clean, noisy = windows
    return learn.train(noisy, clean, 1.0, learn.model())


def test_units_die_and_none_returns(life):
    assert life.deaths() == {2: 0, 8: 11, 9: 34, 11: 79, 15: 90}
    assert life.returns() == 0
    assert (np.count_nonzero(life.fired[0]), np.count_nonzero(life.alive)) == (15, 11)
    assert life.errors[-1] < life.errors[0] / 3


def test_the_pattern_of_a_dead_unit_never_changes_again(life, windows):
    clean, noisy = windows
    for unit, step in life.deaths().items():
        assert np.all(life.path[step:, unit] == life.path[-1, unit])
        assert not life.fired[step:, unit].any()
        assert step == 0 or life.fired[step - 1, unit] > 0
    gradient = learn.slope(life.weights, noisy, clean, 1.0, learn.model()).gradient
    assert np.array_equal(gradient.any(axis=1), life.alive)


def test_a_gradient_let_through_brings_units_back(windows):
    clean, noisy = windows
    through = learn.Operators(learn.model().forward, lambda dz, u, lambd: dz)
    made = learn.train(noisy, clean, 1.5, through)
    assert made.returns() > 0 and made.alive.all()


def test_a_little_threshold_is_better_than_none_and_than_the_noise(windows):
    clean, noisy = windows
    errors = {
        lambd: learn.train(noisy, clean, lambd, learn.model()).errors[-1] for lambd in (0, 0.25, 2)
    }
    assert errors[0.25] < errors[0] < 0.15 < errors[2]


def test_a_training_stopped_early_is_the_beginning_of_the_long_one(life, windows):
    clean, noisy = windows
    short = learn.train(noisy, clean, 1.0, learn.model(), steps=30)
    cut = life.until(30)
    for name in ("errors", "shares", "fired", "path"):
        assert np.array_equal(getattr(short, name), getattr(cut, name)), name
    assert short.steps == cut.steps == 30 and 9 not in cut.deaths()
    with pytest.raises(labkit.LabValueError, match="right would be 0 to 120"):
        life.until(121)


@pytest.mark.parametrize(
    "asked", [{"steps": -1}, {"rate": 0}, {"units": 0}, {"rate": float("nan")}]
)
def test_what_cannot_be_trained_is_named(windows, asked):
    clean, noisy = windows
    with pytest.raises(labkit.LabValueError, match="right would be"):
        learn.train(noisy, clean, 1.0, learn.model(), **asked)


# -- an operator of one's own -------------------------------------------------------------------

PROTOTYPES = """
aclnnStatus aclnnSoftshrinkGetWorkspaceSize(const aclTensor* self, const aclScalar* lambd,
    aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor);
aclnnStatus aclnnSoftshrink(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
    aclrtStream stream);
"""


def soft_plan(self, lambd, out, **where):
    def chain(builder):
        x = builder.contiguous("self", self)
        y = builder.kernel("SoftShrink", x, "the operator itself", lambd=lambd.to_float())
        y = builder.cast(y, out.dtype, "dtype of out")
        builder.view_copy(y, "out", out)

    found = check_forward(self, lambd, out, where["soc"])
    if not isinstance(found, Fault) and lambd.to_float() < 0:
        said = Message("EZ1001", ("lambd",), "lambd is below 0")
        found = Fault("CheckLambdValue", 161002, (said,), "use 0 or more")
    arguments = {"self": self, "lambd": lambd, "out": out}
    return plan_operator("aclnnSoftshrink", arguments, found, chain, **where)


def soft_kernel(inputs, attrs, out):
    x, lambd = inputs[0].astype(np.float32), attrs["lambd"]
    out[...] = np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, np.float32(0)))


@pytest.fixture
def own(monkeypatch):
    """Softshrink is declared and added, and gone after the test."""
    declare(PROTOTYPES)
    monkeypatch.setitem(KERNELS, "SoftShrink", soft_kernel)
    add_operator("aclnnSoftshrink", soft_plan, {"SoftShrink": soft_kernel})
    yield
    remove_operator("aclnnSoftshrink")
    assert "aclnnSoftshrink" not in OPERATORS


def softshrink(device, x, lambd, out=None):
    scalar = labkit.Scalar(lambd)
    raw = RawScalar(scalar.raw, scalar.dtype.acl_value)
    result = Output(np.empty_like(x) if out is None else out, keep=True)
    arguments = {"self": x, "lambd": raw, "out": result}
    return call_operator(device, "aclnnSoftshrink", arguments, check=False)


X = np.array([-1, -0.5, 0.25, 0.5, 0.75, np.nan], np.float32)


def test_an_operator_of_ones_own_runs_through_the_c_interface(device, own):
    for _ in range(3):  # made, remembered, replayed from the op cache
        call = softshrink(device, X, 0.5)
        assert call.out.tolist() == [-0.5, 0, 0, 0, 0.25, 0]
        assert (call.status, call.launches, call.workspace_size) == (0, ("SoftShrink",), 0)


def test_the_framework_brings_views_casts_and_empties(device, own):
    x = np.linspace(-2, 2, 12, dtype=np.float32).reshape(4, 3).T
    call = softshrink(device, x, 0.5, np.empty((3, 4), np.float16))
    assert call.launches == ("Transpose", "SoftShrink", "Cast")
    soft = np.where(x > 0.5, x - np.float32(0.5), np.where(x < -0.5, x + np.float32(0.5), 0))
    assert np.array_equal(call.out, soft.astype(np.float16))
    gaps = np.full((4, 6), 9, np.float32)
    softshrink(device, np.ones((4, 3), np.float32), 0.5, gaps[:, ::2])
    assert gaps.tolist() == [[0.5, 9] * 3] * 4
    assert softshrink(device, X[:0], 0.5).launches == ()


def test_its_checks_speak_in_their_order(device, own):
    refused = softshrink(device, X, -0.3)
    assert (refused.status, refused.status_name) == (161002, "ACLNN_ERR_PARAM_INVALID")
    assert "below 0" in refused.message
    assert softshrink(device, X[:0], -0.3).status == 161002
    assert softshrink(device, X, -0.3, np.empty(5, np.float32)).status == 161002
    assert softshrink(device, X[::2], 0.5).out.tolist() == [-0.5, 0, 0.25]


def test_an_l0_operator_that_fails_ends_phase_1_as_for_the_labs_own(own):
    view = labkit.TensorDesc("float32", (3, 2), (1, 50), 0, (6,))
    out = labkit.TensorDesc("float32", (3, 2))
    mine = soft_plan(view, labkit.Scalar(0.5), out, soc=find_soc("950"))
    theirs = plan_hardshrink(view, 0.5, out, soc="950")
    assert mine.status == theirs.status == 561103
    assert mine.failed_check == theirs.failed_check and mine.launches == ()


def test_adding_it_again_replaces_plan_and_kernel_even_in_the_op_cache(device, own):
    for _ in range(2):
        softshrink(device, X, 0.5)
    add_operator(
        "aclnnSoftshrink",
        lambda self, lambd, out, **where: plan_hardshrink(self, lambd, out, **where),
        {},
    )
    call = softshrink(device, X, 0.5)
    assert call.launches == ("HardShrink",) and call.out[4] == 0.75


def test_without_it_the_device_knows_no_such_operator(device):
    declare(PROTOTYPES)
    with pytest.raises(labkit.LabError, match="It knows the operators aclnnHardshrinkBackward"):
        softshrink(device, X, 0.5)


def test_the_labs_own_operators_and_kernels_cannot_be_replaced():
    declare(PROTOTYPES)
    with pytest.raises(labkit.LabValueError, match="the lab's own"):
        add_operator("aclnnHardshrink", soft_plan, {})
    with pytest.raises(labkit.LabValueError, match="Cast is the lab's own"):
        add_operator("aclnnSoftshrink", soft_plan, {"Cast": soft_kernel})
    remove_operator("aclnnHardshrink")
    assert "aclnnHardshrink" in OPERATORS and "aclnnSoftshrink" not in OPERATORS


def test_an_operator_must_be_declared_with_arguments_the_device_takes():
    with pytest.raises(labkit.LabValueError, match="aclnnNoSuch is not declared"):
        add_operator("aclnnNoSuch", soft_plan, {})
    declare(
        "aclnnStatus aclnnWithNumberGetWorkspaceSize(const aclTensor* self, int64_t axis, "
        "aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor);"
        "aclnnStatus aclnnWithNumber(void* workspace, uint64_t workspaceSize, "
        "aclOpExecutor* executor, aclrtStream stream);"
    )
    with pytest.raises(labkit.LabValueError, match=r"not \['axis'\]"):
        add_operator("aclnnWithNumber", soft_plan, {})
