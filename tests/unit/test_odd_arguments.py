"""Whatever is given to a public function: an answer, or an error of the lab."""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from odd import name_of, odd

import labkit
from labkit import learn, op
from labkit.errors import LabError, LabValueError, shown
from labkit.observe.timing import time_operator
from labkit.op import variants
from labkit.op.aclnn import plan_hardshrink, plan_hardshrink_backward

X = np.ones(2, np.float32)
T = op.TensorDesc("float32", (2,))
W = np.ones((3, 4))
TILING = op.tile(2, "float32")
BACKWARD = {"grad_output": X, "self": X, "lambd": 0.5}
TRAIN = {"windows": W, "clean": W, "lambd": 0.5, "operators": learn.model()}
TRAIN |= {"units": 2, "steps": 1, "rate": 0.05, "dtype": "float32", "seed": 0}
PLAN = {"grad_output": T, "self": T, "lambd": 0.5, "grad_input": T}
PLAN |= {"soc": "910b", "kernel_workspaces": "auto", "op_name": "aclnn_0"}
ENTRIES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Scalar": (op.Scalar, {"value": 0.5, "dtype": "float32", "raw": None}),
    "TensorDesc": (
        op.TensorDesc,
        {"dtype": "float32", "shape": (2,), "strides": (1,), "offset": 0}
        | {"storage_shape": (2,), "format": 2},
    ),
    "data_type": (op.data_type, {"spec": "float32"}),
    "find_soc": (op.find_soc, {"name": "910b"}),
    "plan_hardshrink_backward": (plan_hardshrink_backward, PLAN),
    "plan_hardshrink": (plan_hardshrink, {"self": T, "lambd": 0.5, "out": T, "soc": "910b"}),
    "tile": (
        op.tile,
        {"total": 9, "dtype": "float32", "op": "hardshrink", "soc": "950", "cores": 8}
        | {"ub_bytes": 2**17, "lambd": 0.5},
    ),
    "op.hardshrink": (op.hardshrink, {"self": X, "lambd": 0.5, "out": None}),
    "op.hardshrink_grad": (
        op.hardshrink_grad,
        {"grad": X, "self": X, "lambd": 0.5, "variant": "tbe", "out": None},
    ),
    "op.hardshrink_grad, fast": (
        lambda grad, self, lambd, out: op.hardshrink_grad(grad, self, lambd, out=out),
        {"grad": X, "self": X, "lambd": 0.5, "out": None},
    ),
    "lambd_as_compared": (
        op.lambd_as_compared,
        {"dtype": "float16", "lambd": 0.5, "op": "hardshrink"},
    ),
    "compare": (variants.compare, {"grad": X, "self": X, "lambd": 0.5, "names": ["tbe"]}),
    "edge_values": (variants.edge_values, {"dtype": "float16", "lambd": 0.5}),
    "difference_table": (
        variants.difference_table,
        {"dtype": "float16", "lambd": 0.5, "grad": 1.0},
    ),
    "disagreements": (variants.disagreements, {"dtype": "float16", "lambd": 0.5}),
    "run_kernel": (
        op.run_kernel,
        {"grad": X, "self": X, "lambd": 0.5, "tiling": TILING, "order": "late"},
    ),
    "explain": (labkit.explain, {"call_or_plan": plan_hardshrink(T, 0.5, T)}),
    "hardshrink_backward": (
        labkit.hardshrink_backward,
        BACKWARD | {"out": None, "out_dtype": None, "device": None},
    ),
    "hardshrink": (
        labkit.hardshrink,
        {"self": X, "lambd": 0.5, "out": None, "out_dtype": None, "device": None},
    ),
    "open_device": (
        lambda **asked: labkit.open_device(**asked).close(),
        {"kind": "sim", "index": 0, "soc": "910b", "kernel_workspaces": "auto", "npu": None}
        | {"stream": None},
    ),
    "learn.cut": (learn.cut, {"values": [1, 2, 3], "length": 2}),
    "learn.noise": (learn.noise, {"shape": (2,), "rms": 0.1, "seed": 0}),
    "learn.first_weights": (learn.first_weights, {"units": 2, "length": 2, "seed": 0}),
    "learn.train": (learn.train, TRAIN),
}
LONG = {("learn.train", "steps"), ("learn.train", "units"), ("learn.first_weights", "units")}
"""Numbers here are work that is really done."""


@pytest.fixture(autouse=True)
def on_a_device(monkeypatch):
    monkeypatch.setenv("LABKIT_DEVICE", "sim")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of PyTorch, for a float of a tensor
        yield


def escaped(what: str, changes: dict[str, Any]) -> str:
    """What came out of a call that is no error of the lab; empty when all is well."""
    function, right = ENTRIES[what]
    given = right | changes
    if what == "Scalar" and "raw" in changes:
        given["value"] = None
    try:
        function(**given)
    except LabError as error:
        assert str(error).strip()
    except Exception as error:
        told = ", ".join(f"{name}={name_of(value)}" for name, value in changes.items())
        return f"{what}({told}): {type(error).__name__}: {error}"[:300]
    return ""


def too_long(what: str, parameter: str, value: Any) -> bool:
    return (what, parameter) in LONG and isinstance(value, int) and 1000 < value < 2**40


@pytest.mark.parametrize("what", ENTRIES)
def test_one_odd_argument_gives_an_answer_or_an_error_of_the_lab(what):
    found = [
        escaped(what, {parameter: value})
        for parameter in ENTRIES[what][1]
        for value in odd()
        if not too_long(what, parameter, value)
    ]
    assert not [text for text in found if text]


@pytest.mark.parametrize("what", ["hardshrink_backward", "op.hardshrink_grad", "compare"])
@pytest.mark.parametrize("variant", [variant.name for variant in variants.VARIANTS])
def test_the_same_odd_object_as_both_inputs_gives_no_other_error(what, variant):
    names = [name for name in ENTRIES[what][1] if name in ("grad", "grad_output", "self")]
    more = {"variant": variant} if what == "op.hardshrink_grad" else {}
    more |= {"names": [variant]} if what == "compare" else {}
    found = [escaped(what, dict.fromkeys(names, value) | more) for value in odd(endless=False)]
    assert not [text for text in found if text]


@pytest.mark.parametrize("seed", range(5))
def test_several_odd_arguments_at_once_give_no_other_error(seed):
    draw = random.Random(seed)
    objects = odd()
    found = []
    for what, (_, right) in ENTRIES.items():
        for _ in range(25):
            chosen = draw.sample(sorted(right), min(len(right), draw.randint(2, 3)))
            changes = {name: draw.choice(objects) for name in chosen}
            if not any(too_long(what, *pair) for pair in changes.items()):
                found.append(escaped(what, changes))
    assert not [text for text in found if text]


def test_a_list_of_odd_objects_and_numbers_gives_no_other_error():
    found = []
    for value in odd(endless=False):
        for given in ([value], [value, 1.0], [1.0, value], [[value], [value]], (value, value)):
            found.append(escaped("hardshrink_backward", {"grad_output": given, "self": given}))
    assert not [text for text in found if text]


def test_the_error_keeps_what_failed_inside_as_its_cause():
    class Fails:
        def __array__(self, *_args: Any, **_named: Any) -> Any:
            raise RuntimeError("out of paper")

        def __float__(self) -> float:
            raise OSError("out of ink")

    with pytest.raises(LabValueError, match="out of paper") as caught:
        labkit.hardshrink_backward(Fails(), X)
    assert isinstance(caught.value.__cause__, RuntimeError)
    with pytest.raises(LabValueError, match="λ must be a number") as caught:
        labkit.hardshrink_backward(X, X, lambd=Fails())
    assert isinstance(caught.value.__cause__, OSError)


def test_a_value_in_a_message_is_short_one_line_and_never_fails():
    for value in odd():
        text = shown(value)
        assert text and len(text) <= 120 and "\n" not in text
    assert shown("sim") == "'sim'"
    assert shown(itertools.count(3)) == "count(3)"


@pytest.mark.parametrize("device", ["sim", 0, "", False, [], object()])
def test_a_device_that_is_none_is_refused_with_how_to_get_one(device):
    """Also one that is false: that is not the same as None, the default device."""
    with pytest.raises(LabValueError, match=r"no device; right would be one that labkit\.open_dev"):
        labkit.hardshrink_backward(X, X, device=device)
    with pytest.raises(LabValueError, match="no device"):
        labkit.hardshrink(X, device=device)
    with pytest.raises(LabValueError, match="no device"):
        time_operator(8, device=device)


def test_a_closed_device_refuses_whatever_it_is_given():
    device = labkit.open_device("sim")
    device.close()
    for x in (X, np.ones((1,) * 30), [[1.0]]):
        with pytest.raises(labkit.DeviceUseError, match="is closed; open it again"):
            labkit.hardshrink(x, device=device)


@pytest.mark.parametrize("spec", ["4 4", "(,)", "1e-5", "f4,,", "9" * 5000])
def test_a_text_that_numpy_cannot_parse_names_no_dtype(spec):
    with pytest.raises(LabValueError, match=r"names no dtype|no counterpart"):
        op.data_type(spec)


def test_numbers_that_no_float_holds_are_named():
    for given in (10**400, [10**400], [[1, 10**5000]]):
        with pytest.raises(LabValueError, match="no float holds"):
            labkit.hardshrink_backward([1.0], given)
    for given in (10**400, 10**5000):
        with pytest.raises(LabValueError, match="a float holds"):
            labkit.hardshrink([1.0], lambd=given)
        with pytest.raises(LabValueError, match="does not fit a DT_FLOAT scalar"):
            op.Scalar(given)


def test_lambda_of_a_longdouble_is_rounded_once():
    """Through a double it would be rounded twice, and tie the wrong way."""
    wide = np.longdouble(1) + np.longdouble(2) ** -24 + np.longdouble(2) ** -60
    if wide == np.longdouble(1) + np.longdouble(2) ** -24:
        pytest.skip("a longdouble is a double here")
    assert op.scalar.as_scalar(wide).to_float() == np.nextafter(np.float32(1), np.float32(2))
