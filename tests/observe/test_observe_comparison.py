"""What a comparison tells: the short table, the reasons, the notes, and what no profile shows."""

import dataclasses

import pytest

import labkit
from labkit.observe import Observation, ObservedKernel, compare, read_profile, unseen
from labkit.observe.samples import write_sample
from labkit.op import TensorDesc, plan_hardshrink_backward
from labkit.op.tables import socs

CHIP = "Ascend950PR_9599"


def plan(grad, x, out, soc=CHIP):
    return plan_hardshrink_backward(
        TensorDesc(*grad), TensorDesc(*x), 0.5, TensorDesc(*out), soc=soc
    )


COLUMN_ROW = (("float32", (4, 1)), ("float32", (1, 4)), ("float32", (4, 4)))
MIXED = plan(("float16", (4, 1)), *COLUMN_ROW[1:])
SQUARE = ("float32", (4, 4))
GAPPED = plan(SQUARE, SQUARE, ("float32", (4, 4), (8, 1), 0, (4, 8)))
TURNED = plan(SQUARE, ("float32", (4, 4), (1, 4)), SQUARE)
TURNED_OUT = plan(SQUARE, SQUARE, ("float32", (4, 4), (1, 4)))


@pytest.fixture
def profile_of(tmp_path):
    def made(what):
        write_sample(tmp_path, what)
        return read_profile(tmp_path)

    return made


def without(observed, op_type):
    kept = tuple(kernel for kernel in observed.kernels if kernel.op_type != op_type)
    return dataclasses.replace(observed, kernels=kept)


def test_the_short_table_has_a_row_for_each_kernel(profile_of):
    rows = compare(MIXED, profile_of(MIXED)).kernels().splitlines()
    assert [row.split() for row in rows[2:]] == [
        [str(number), launch.op_type, launch.op_type, "same"]
        for number, launch in enumerate(MIXED.launches, 1)
    ]


def test_the_short_table_shows_where_a_kernel_is_missing_extra_or_differs(profile_of):
    seen = profile_of(plan(*COLUMN_ROW))
    missing = compare(MIXED, seen).kernels()
    assert "3  Cast            -               missing" in missing
    assert "differs: input dtypes, output dtypes" in missing
    extra = compare(plan(*COLUMN_ROW), profile_of(MIXED)).kernels()
    assert "3  -               Cast            extra" in extra


def test_what_was_not_taken_is_same_in_the_short_table_and_told_in_the_long_one(profile_of):
    seen = profile_of(MIXED)
    kernels = [dataclasses.replace(k, block_dim=None, input_shapes=None) for k in seen.kernels]
    compared = compare(MIXED, dataclasses.replace(seen, kernels=tuple(kernels)))
    assert [row.split()[-1] for row in compared.kernels().splitlines()[2:]] == ["same"] * 4
    assert "not taken" in str(compared) and compared.agrees


def test_block_dims_of_other_kernels_are_not_predicted(profile_of):
    seen = profile_of(MIXED)
    kernels = [dataclasses.replace(kernel, block_dim=5) for kernel in seen.kernels]
    compared = compare(MIXED, dataclasses.replace(seen, kernels=tuple(kernels)))
    lines = {line.kernel: line.verdict for line in compared.lines if line.field == "block dim"}
    assert set(lines.values()) == {"not predicted", "differs"}
    assert lines["4 HardShrinkGrad"] == "differs"


@pytest.mark.parametrize(
    ("predicted", "op_type", "told"),
    [
        (MIXED, "Cast", "it was to make FLOAT out of FLOAT16"),
        (MIXED, "BroadcastTo", r"it was to bring \(4, 1\) to \(4, 4\)"),
        (GAPPED, "ViewCopy", "fill a strided output"),
        (TURNED_OUT, "Transpose", "fill a strided output"),
        (TURNED, "Transpose", "make an input contiguous"),
        (MIXED, "HardShrinkGrad", "did the call reach phase 2"),
    ],
)
def test_a_missing_kernel_is_told_with_what_it_was_for(profile_of, predicted, op_type, told):
    compared = compare(predicted, without(profile_of(predicted), op_type))
    assert {line.verdict for line in compared.differences} == {"missing"}
    with pytest.raises(labkit.observe.ObservedDifference, match=told):
        compared.require()


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        (ObservedKernel("Transpose"), "was a tensor strided"),
        (ObservedKernel("Cast"), "was a dtype another"),
        (ObservedKernel("BroadcastTo"), "did the shapes differ"),
    ],
)
def test_an_extra_kernel_is_told_with_a_question(profile_of, kernel, told):
    seen = profile_of(plan(SQUARE, SQUARE, SQUARE))
    more = dataclasses.replace(seen, kernels=(kernel, *seen.kernels))
    assert told in compare(plan(SQUARE, SQUARE, SQUARE), more).told()


@pytest.mark.parametrize(
    ("elements", "seen", "told"),
    [
        (16, 8, "gives 8 on a chip of 8 vector cores"),
        (16, 16, ""),
        (10**6, 56, "gives 56 on a chip of 56 vector cores"),
        (16, 15, "no chip of the table gives 15"),
        (17, 17, ""),
    ],
)
def test_a_block_dim_is_traced_to_a_number_of_cores(profile_of, elements, seen, told):
    flat = ("float32", (elements,))
    predicted = plan(flat, flat, flat)
    observed = profile_of(predicted)
    kernels = (dataclasses.replace(observed.kernels[0], block_dim=seen),)
    compared = compare(predicted, dataclasses.replace(observed, kernels=kernels))
    assert compared.agrees is (not told) and told in compared.told()


def test_a_block_dim_of_many_chips_is_told_as_a_range(profile_of):
    flat = ("float32", (16,))
    small = plan(flat, flat, flat, soc="Ascend950PR_950z")
    told = compare(small, profile_of(plan(flat, flat, flat))).told()
    most = max(soc.tiling_cores for soc in socs().values() if soc.is_regbase)
    assert f"gives 16 on chips of 16 to {most} vector cores" in told


@pytest.mark.parametrize("soc", ["Ascend910B1", "Ascend910A"])
def test_where_the_tiling_is_not_public_no_block_dim_is_predicted(profile_of, soc):
    predicted = plan(SQUARE, SQUARE, SQUARE, soc=soc)
    observed = profile_of(predicted)
    kernels = (dataclasses.replace(observed.kernels[0], block_dim=40),)
    assert compare(predicted, dataclasses.replace(observed, kernels=kernels)).agrees


def test_a_profile_of_more_calls_says_how_many(profile_of):
    seen = profile_of(MIXED)
    thrice = dataclasses.replace(seen, kernels=seen.kernels * 3)
    assert "compare with calls=3" in compare(MIXED, thrice).told()
    assert "calls=" not in compare(MIXED, thrice, calls=3).told()
    with pytest.raises(labkit.LabValueError, match="at least 1"):
        compare(MIXED, thrice, calls=0)


def test_a_kernel_that_the_ai_cpu_took_is_told(profile_of):
    seen = profile_of(GAPPED)
    last = dataclasses.replace(seen.kernels[-1], core="AICPU", task_type="AI_CPU")
    other = dataclasses.replace(seen, kernels=(*seen.kernels[:-1], last))
    assert "the AI CPU took it" in compare(GAPPED, other).told()


# -- what no profile shows ----------------------------------------------------------------


@pytest.mark.parametrize("predicted", [MIXED, GAPPED, TURNED, TURNED_OUT])
def test_every_step_is_seen_or_unseen(predicted):
    chain = labkit.explain(predicted)
    hidden = unseen(predicted)
    l0 = [*hidden.kernels, *hidden.skipped, *hidden.redirected, *hidden.copies]
    launched = [step for step in chain.layer("l0") if step.state == "launched"]
    idle = len(chain.layer("l0")) - len(launched)
    assert len(hidden.skipped) + len(hidden.redirected) == idle
    assert len(l0) == idle + len(predicted.launches)
    assert len(hidden.checks) == len(chain.layer("L2"))


def test_a_copy_of_the_runtime_is_in_no_profile_and_no_difference(profile_of):
    half = ("float16", (3, 2))
    longer = ("float32", (3, 2), None, 0, (12,))
    first = plan(half, half, longer, soc="Ascend910A")
    assert unseen(first).copies == ("CopyNpuToNpu",)
    assert [kernel.op_type for kernel in profile_of(first).kernels] == ["HardShrinkGrad", "Cast"]
    assert compare(first, profile_of(first)).agrees


def test_a_call_that_failed_has_nothing_to_see():
    with pytest.raises(labkit.LabValueError, match="161002"):
        unseen(plan(("float32", (3,)), ("float32", (2,)), ("float32", (3,))))


def test_an_observation_says_what_it_is(monkeypatch):
    seen = Observation("a machine", (ObservedKernel("Cast"),), True, notes=("a note",))
    assert str(seen) == "a machine\nkernels: Cast\na note"
    with labkit.open_device("sim", soc=CHIP) as device:
        call = labkit.hardshrink_backward([1.0], [0.8], device=device)
    monkeypatch.setenv("LABKIT_LANG", "zh")
    assert "不是测量结果" in str(labkit.observe.observe_software(call))
