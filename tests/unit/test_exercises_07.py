"""The exercises of notebook 07: telling wrong answers, each betrayed at the smallest work."""

import importlib

import numpy as np
import pytest

import labkit
from labkit.course import check
from labkit.course.exercise import exercise
from labkit.course.tilings import telling_work
from labkit.op import tile
from labkit.op.cuts import by_share

STEPS = {"float32": 64, "float16": 128, "bfloat16": 64}


def module_of(name):
    """The module that judges an exercise."""
    return importlib.import_module(exercise(name).judge.__module__)


def truth():
    return module_of("block dim").truth()


def ceil(number, step):
    return -(-number // step)


# -- block dim ------------------------------------------------------------------------------


def test_the_truth_has_the_surprises_in_it():
    found = truth()
    assert found["16 fp16 on 72 cores"] == (16, 1, 1)
    assert found["73 fp32 on 72 cores"] == (37, 2, 0)
    assert found["1024 bf16 on 56 cores"][2] == 27 and found["1025 bf16 on 72 cores"][2] == 283


def test_lists_are_as_good_as_tuples_and_all_cores_is_a_wrong_answer():
    answer = {name: list(cut) for name, cut in truth().items()}
    assert check("block dim", answer)
    answer["73 fp32 on 72 cores"] = [72, 2, 0]
    verdict = check("block dim", answer)
    assert "5 of 6" in repr(verdict) and "look again at: 73 fp32 on 72 cores" in repr(verdict)
    assert "37" not in repr(verdict)


# -- tile cut ---------------------------------------------------------------------------------


def right_tiling(total, dtype, cores, ub_bytes):
    cut = tile(total, dtype, cores=cores, ub_bytes=ub_bytes)
    return cut.block_dim, cut.block_factor, cut.ub_factor, cut.tiling_key


def with_change(place, change):
    """The right tiling with one number changed."""

    def tiling(total, dtype, cores, ub_bytes):
        cut = list(right_tiling(total, dtype, cores, ub_bytes))
        cut[place] = change(cut, total, dtype, cores, ub_bytes)
        return cut

    return tiling


@pytest.mark.parametrize(
    ("answer", "betrayed_by"),
    [
        (with_change(0, lambda cut, total, d, cores, ub: min(total, cores)), "73 elements of fl"),
        (with_change(1, lambda cut, total, d, cores, ub: total // cores or 1), "73 elements"),
        (
            with_change(2, lambda cut, t, d, cores, ub: min(cut[2], ceil(t, 64) * 64)),
            "1 elements of float16",
        ),
        (
            with_change(2, lambda cut, t, d, c, ub: min(cut[2], ceil(cut[1], STEPS[d]) * STEPS[d])),
            "65 elements of float32",
        ),
        (
            with_change(2, lambda cut, t, d, cores, ub: min(cut[2], ub // 24)),
            "11837 elements of float16",
        ),
        (
            with_change(3, lambda cut, t, d, cores, ub: cut[3] & 255 | (t >= 1024) << 8),
            "1024 elements of float32",
        ),
        (
            with_change(3, lambda cut, t, d, cores, ub: cut[3] & 255 | (cut[1] > 1024) << 8),
            "1025 elements of float32",
        ),
        (
            with_change(3, lambda cut, t, d, cores, ub: cut[3] >> 8),
            "1 elements of float16",
        ),
    ],
)
def test_a_wrong_tiling_is_betrayed_by_the_smallest_work(answer, betrayed_by):
    verdict = check("tile cut", answer)
    assert not verdict and betrayed_by in repr(verdict), verdict


def test_a_tiling_that_takes_the_chip_for_granted_is_found_out():
    def at_home(total, dtype, cores, ub_bytes):
        return right_tiling(total, dtype, 72, 253_952)

    assert not check("tile cut", at_home)


def test_numpy_integers_are_numbers_and_floats_are_not():
    assert check("tile cut", lambda *work: np.array(right_tiling(*work)))
    assert "TypeError" in repr(check("tile cut", lambda *work: map(float, right_tiling(*work))))
    assert "it gave 3 numbers" in repr(check("tile cut", lambda *work: right_tiling(*work)[:3]))


def test_the_work_is_the_same_on_each_run_and_has_every_dtype_and_kind_of_chip():
    work = list(telling_work())
    assert work == list(telling_work())
    assert {each.dtype for each in work} == set(STEPS)
    assert len({each.cores for each in work}) > 50
    assert all(each.public.fits for each in work)


# -- cut by share -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [(64, "float32"), (128, "float16"), (10**7, "bfloat16"), (0, "float32"), (65, "float16")],
)
def test_work_on_which_both_cuts_agree_does_not_pass(answer):
    assert not check("cut by share", answer)


@pytest.mark.parametrize("answer", [(65, "float32"), (129, "float16"), (65, "bfloat16")])
def test_the_smallest_total_is_told_to_be_the_smallest(answer):
    verdict = check("cut by share", answer)
    assert verdict and "one element less would not do" in repr(verdict)


@pytest.mark.parametrize("answer", [(4096, "float32"), [1000, np.float16], (np.int64(66), "BF16")])
def test_any_work_on_which_they_part_passes(answer):
    verdict = check("cut by share", answer)
    assert verdict and "is there a smaller total" in repr(verdict)


@pytest.mark.parametrize(
    "answer", [(-1, "float32"), (2**41, "float32"), (4096, "int32"), (4096.0, "float32"), (4096,)]
)
def test_what_is_no_work_is_told(answer):
    told = repr(check("cut by share", answer))
    assert "right would be 1 to 2^40" in told or "an answer is a pair" in told


# -- better cut -----------------------------------------------------------------------------------


def shared(total, dtype, cores, ub_bytes):
    return by_share(tile(total, dtype, cores=cores, ub_bytes=ub_bytes)).ub_factor


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda total, dtype, cores, ub: 57, "no multiple of the 64 lanes"),
        (lambda total, dtype, cores, ub: -64, "no multiple"),
        (
            lambda total, dtype, cores, ub: (
                64 if dtype == "float16" else shared(total, dtype, cores, ub)
            ),
            "a tile of 64 is no multiple of the 128 lanes",
        ),
        (lambda total, dtype, cores, ub: 16384, "too long for one copy"),
        (lambda total, dtype, cores, ub: 12800, "needs"),
        (lambda total, dtype, cores, ub: (128, 1), "1025 shares, but the chip has 72 cores"),
        (lambda total, dtype, cores, ub: (128, total), "too many copies"),
        (lambda total, dtype, cores, ub: 128, "its slowest core takes longer"),
        (lambda *work: shared(*work) + STEPS[work[1]] * 4, "5 times fewer lanes"),
        (
            lambda *work: tile(work[0], *work[1:2], cores=work[2], ub_bytes=work[3]).ub_factor,
            "5 times fewer lanes",
        ),
        (lambda *work: "64", "TypeError"),
        (lambda *work: (64, 15, 1), "ValueError"),
    ],
)
def test_a_cut_that_falls_short_is_told_where(answer, told):
    verdict = check("better cut", answer)
    assert not verdict and told in repr(verdict), verdict


def test_a_huge_share_of_tiny_tiles_is_refused_without_walking_them(monkeypatch):
    better_cut = module_of("better cut")
    monkeypatch.setattr(better_cut, "_MIDDLE", ())
    monkeypatch.setattr(better_cut, "_LARGE", (1 << 40,))
    monkeypatch.setattr(better_cut, "_slowest", lambda cut: 10**6)
    assert "too many copies" in repr(check("better cut", lambda *_: 128))


def test_a_good_cut_shows_both_figures_and_says_model():
    verdict = check("better cut", lambda *work: (shared(*work), ceil(work[0], work[2])))
    assert verdict, verdict
    assert "8192 fp32, 72 cores: lanes 589824 → 9216, cycles (model) 1849 → 1345" in repr(verdict)


def test_a_cut_with_other_bits_would_be_found_out(monkeypatch):
    better_cut = module_of("better cut")
    right = better_cut.run_kernel

    def spoilt(grad, x, lambd, cut):
        run = right(grad, x, lambd, cut)
        if cut != tile(cut.total_num, cut.dtype, cores=cut.cores, ub_bytes=cut.ub_bytes):
            run.out.view(np.uint8)[-1] ^= 1
        return run

    monkeypatch.setattr(better_cut, "run_kernel", spoilt)
    assert "other bits" in repr(check("better cut", shared))


def test_no_device_is_needed(monkeypatch):
    monkeypatch.setattr(labkit, "default_device", None)
    monkeypatch.setenv("LABKIT_DEVICE", "npu")
    assert check("tile cut", right_tiling) and check("cut by share", (65, "float32"))
