"""The exercises of notebook 06: wrong answers are betrayed by what they get wrong."""

import ml_dtypes
import numpy as np
import pytest

import labkit
from labkit.course import check
from labkit.course.exercises.compared_lambda.check import CASES, key, truth

LAMBDA = "compared lambda"


@pytest.fixture(scope="module")
def device():
    with labkit.open_device("sim") as device:
        yield device


# -- compared lambda ------------------------------------------------------------------------


def test_the_truth_holds_each_kind_of_rounding():
    assert list(truth().values()) == [
        0.300048828125,
        float(np.float32(0.3)),
        float(np.float32(0.3)),
        0.0,
        np.inf,
        70000.0,
        0.0,
        16777216.0,
    ]


def test_numbers_as_printed_and_bits_in_any_spacing_are_right(device):
    answer = {**truth(), key(*CASES[0]): 0.300048828, key(*CASES[1]): "0.3"}
    assert check(LAMBDA, answer, device)
    answer[key(*CASES[0])] = "0 01101 0011001101"
    answer[key(*CASES[1])] = "0011 1110 1001 1001 1001 1001 1001 1010"
    assert check(LAMBDA, answer, device)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("wrong", [0.25, "0 01101 0011001100", [0.3], np.ones(2), "x", 10**400])
def test_one_wrong_number_is_named_and_not_told(device, case, wrong):
    verdict = check(LAMBDA, {**truth(), key(*case): wrong}, device)
    assert (
        not verdict
        and "7 of 8" in repr(verdict)
        and f"look again at: {key(*case)}" in repr(verdict)
    )
    assert "0.300048828" not in repr(verdict)


def test_bits_of_another_dtype_are_wrong(device):
    answer = {**truth(), key(*CASES[1]): "0 01101 0011001101"}
    assert not check(LAMBDA, answer, device)


# -- half backward ---------------------------------------------------------------------------


def right(grad, x, lambd, rounded=lambda grad, x: grad.dtype == x.dtype == np.float16):
    limit = np.float32(0 if lambd < 0 else lambd)
    if rounded(grad, x):
        limit = np.float32(limit.astype(x.dtype))
    if grad.dtype != x.dtype:
        grad = grad.astype(np.float32)
    return np.where(np.abs(x.astype(np.float32)) <= limit, grad.dtype.type(0), grad)


def never(grad, x, lambd):
    return right(grad, x, lambd, lambda grad, x: False)


def same_dtype(grad, x, lambd):
    return right(grad, x, lambd, lambda grad, x: grad.dtype == x.dtype)


def by_self(grad, x, lambd):
    return right(grad, x, lambd, lambda grad, x: x.dtype == np.float16)


def own_dtype(grad, x, lambd):
    return right(grad.astype(x.dtype), x, lambd)


def strict(grad, x, lambd):
    limit = np.float32(np.float16(0 if lambd < 0 else lambd))
    return np.where(np.abs(x.astype(np.float32)) < limit, grad.dtype.type(0), grad)


def multiplied(grad, x, lambd):
    return (right(np.ones_like(x), x, lambd) * grad).astype(grad.dtype)


def outside(grad, x, lambd):
    limit = np.float32(np.float16(0 if lambd < 0 else lambd))
    return np.where(np.abs(x.astype(np.float32)) > limit, grad, grad.dtype.type(0))


def quieted(grad, x, lambd):
    result = right(grad, x, lambd)
    return np.where(np.isnan(result), result.dtype.type(np.nan), result)


@pytest.mark.parametrize(
    ("answer", "betrayed_by"),
    [
        (never, "x = 0.300048828, λ = 0.3 (self fp16, grad fp16)"),
        (same_dtype, "x = 0.30078125, λ = 0.3 (self bf16, grad bf16)"),
        (by_self, "x = 0.300048828, λ = 0.3 (self fp16, grad fp32)"),
        (own_dtype, "float16"),
        (strict, "x = 0.5, λ = 0.5 (self fp16, grad fp16)"),
        (multiplied, "λ = 0.5 (self fp16, grad fp16)"),
        (outside, "x = nan, λ = 0.5 (self fp16, grad fp16)"),
        (quieted, "grad = nan"),
        (lambda grad, x, lambd: right(grad, x, abs(lambd)), "λ = −0.3 (self fp16, grad fp16)"),
    ],
)
def test_a_wrong_half_operator_is_betrayed(device, answer, betrayed_by):
    verdict = check("half backward", answer, device)
    assert not verdict and betrayed_by in repr(verdict), verdict


def test_the_bits_tell_two_nans_apart(device):
    lines = repr(check("half backward", quieted, device)).splitlines()
    assert "nan (" in lines[-2] and "nan (" in lines[-1] and lines[-1] != lines[-2]


def test_arrays_of_the_right_bits_pass_whatever_made_them(device):
    assert check("half backward", right, device)


# -- separate --------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [(0.1, 0.1), (-0.1, 0.1), (0.3, 0.3), ("0.1", np.float64(0.1))])
def test_a_lambda_that_is_rounded_up_betrays_the_rounding_twin(device, answer):
    assert check("rounded lambda", answer, device)


@pytest.mark.parametrize("answer", [(0.7, 0.7), (0.5, 0.5), (np.nan, 0.1), (0.1, np.nan), (1, -1)])
def test_a_lambda_that_is_not_rounded_up_does_not(device, answer):
    verdict = check("rounded lambda", answer, device)
    assert not verdict and "does not tell them apart" in repr(verdict)


@pytest.mark.parametrize(
    "answer", [(0.7, 0.7), (-0.3, 0.3), (np.inf, 70000), (np.float16(0.3), 0.3)]
)
def test_a_lambda_that_half_rounds_up_flips(device, answer):
    assert check("flip", answer, device)


@pytest.mark.parametrize("answer", [(0.5, 0.5), (0.1, 0.1), (0.7, -0.7), (np.nan, 0.7), (2, 0.3)])
def test_another_lambda_flips_nothing_and_is_told_so(device, answer):
    verdict = check("flip", answer, device)
    assert not verdict and "makes no difference" in repr(verdict)


def test_every_second_lambda_flips_something(device):
    lambdas = np.linspace(0.01, 2, 200).astype(np.float32)
    flips = sum(bool(check("flip", (np.float16(v), v), device)) for v in lambdas)
    assert 60 < flips < 140


def test_the_number_that_bfloat16_keeps_is_ml_dtypes_own():
    assert float(ml_dtypes.bfloat16(0.1)) == 0.10009765625
