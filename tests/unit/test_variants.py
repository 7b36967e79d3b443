"""Five readings of one operator: where they part, and where forward and backward do."""

import numpy as np
import pytest
from exact import assert_same_bits

from labkit.errors import LabValueError
from labkit.op import data_type, hardshrink, hardshrink_grad
from labkit.op.variants import (
    VARIANTS,
    compare,
    difference_table,
    disagreements,
    edge_values,
    run_variant,
)

DTYPES = ("float32", "float16", "bfloat16")
LAMBDAS = (0.0, 0.1, 0.3, 0.5, 0.7, 1e-8, -0.5, 70000.0, float("inf"))


def one(name, x, lambd, grad=1.0, dtype="float32"):
    kind = data_type(dtype).numpy
    return float(run_variant(name, np.array([grad], kind), np.array([x], kind), lambd)[0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lambd", LAMBDAS)
def test_arch35_is_the_kernel_that_the_lab_runs(dtype, lambd):
    x = edge_values(dtype, lambd)
    grad = np.ones(x.shape, x.dtype)
    assert_same_bits(hardshrink_grad(grad, x, lambd), run_variant("arch35", grad, x, lambd))


def test_nan_passes_arch35_and_pytorch_and_is_zeroed_by_the_formula_and_arch22():
    found = {v.name: one(v.name, float("nan"), 0.5) for v in VARIANTS}
    assert found == {"arch35": 1, "arch22": 0, "tbe": 1, "document": 0, "pytorch": 1}


def test_the_older_kernel_multiplies_so_dead_gradients_are_not_all_plus_zero():
    x = np.full(4, 0.1, np.float32)
    grad = np.array([np.inf, np.nan, -2, 3], np.float32)
    got = run_variant("tbe", grad, x, 0.5)
    assert np.isnan(got[:2]).all()
    assert (np.signbit(got[2]), np.signbit(got[3])) == (True, False)
    assert_same_bits(np.zeros(4, np.float32), run_variant("arch35", grad, x, 0.5))


def test_on_float16_lambda_03_only_the_float32_readers_keep_030005():
    found = {v.name: one(v.name, 0.3, 0.3, dtype="float16") for v in VARIANTS}
    assert found == {"arch35": 0, "arch22": 1, "tbe": 0, "document": 1, "pytorch": 0}


def test_on_bfloat16_pytorch_rounds_lambda_and_arch35_does_not():
    assert one("pytorch", 0.1, 0.1, dtype="bfloat16") == 0
    assert one("arch35", 0.1, 0.1, dtype="bfloat16") == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lambd", LAMBDAS)
def test_the_pytorch_variant_is_what_pytorch_does(dtype, lambd):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (it is a peer only)")
    if dtype == "float16" and 65520 <= lambd < float("inf"):
        pytest.skip("PyTorch refuses a λ beyond the dtype's range")
    x = edge_values(dtype, lambd)
    grad = np.ones(x.shape, x.dtype)
    raw = {4: (np.int32, torch.int32), 2: (np.int16, torch.int16)}[x.itemsize]

    def given(array):
        return torch.from_numpy(array.view(raw[0]).copy()).view(getattr(torch, dtype))

    want = torch.ops.aten.hardshrink_backward(given(grad), given(x), lambd).view(raw[1]).numpy()
    assert_same_bits(want.view(x.dtype), run_variant("pytorch", grad, x, lambd))


def test_the_table_has_a_row_for_each_value_on_which_they_part_and_for_no_other():
    x = edge_values("float16", 0.3)
    results = compare(np.ones(x.shape, x.dtype), x, 0.3)
    columns = np.array([result.view(np.uint16) for result in results.values()])
    parting = int((columns != columns[0]).any(axis=0).sum())
    lines = difference_table("float16", 0.3).splitlines()
    assert len(lines) == 1 + parting == 5
    assert lines[0].split() == ["x", "bits", "arch35", "arch22", "tbe", "document", "pytorch"]
    assert "34cd" in lines[1]


@pytest.mark.parametrize(
    ("lambd", "pattern"),
    [(0.3, 0x34CD), (0.7, 0x399A), (0.001, 0x1419), (1.00146484375, 0x3C02), (70000.0, 0x7C00)],
)
def test_forward_keeps_and_backward_blocks_exactly_half_lambda_when_that_is_above(lambd, pattern):
    assert [found.pattern for found in disagreements("float16", lambd)] == [pattern]


@pytest.mark.parametrize("lambd", [0.5, 0.1, 0.2, 0.25, 0.9, 1.1, 2.2, 1 / 3, 1e-8, 65504.0])
def test_for_most_lambdas_forward_and_backward_agree_on_float16(lambd):
    assert disagreements("float16", lambd) == ()


@pytest.mark.parametrize("lambd", LAMBDAS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_disagreements_are_all_of_those_among_the_65536_patterns(dtype, lambd):
    x = np.arange(65536, dtype=np.uint16).view(data_type(dtype).numpy)
    clamped = max(lambd, 0.0)  # what the host hands to both kernels
    kept = hardshrink(x, clamped).view(np.uint16) != 0
    given = hardshrink_grad(np.ones(x.shape, x.dtype), x, clamped).view(np.uint16) != 0
    part = np.flatnonzero(kept != given)
    want = {found.pattern for found in disagreements(dtype, clamped)}
    nonzero = {int(p) & 0x7FFF for p in part if int(p) & 0x7FFF}
    assert nonzero == want


def test_a_variant_can_be_asked_for_by_the_kernels_own_function():
    x = np.array([np.nan, 1], np.float32)
    out = np.empty_like(x)
    assert hardshrink_grad(np.ones_like(x), x, 0.5, variant="document", out=out) is out
    assert out.tolist() == [0, 1]


def test_an_unknown_variant_is_refused_with_the_known_ones():
    x = np.ones(2, np.float32)
    with pytest.raises(LabValueError, match="arch35, arch22, tbe, document, pytorch"):
        hardshrink_grad(x, x, 0.5, variant="cuda")


def test_every_variant_says_where_it_comes_from_and_how_sure_we_are():
    assert all(variant.source and variant.sureness and variant.title for variant in VARIANTS)
