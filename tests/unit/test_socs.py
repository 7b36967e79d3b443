"""The chips: arch numbers, cores, UB sizes, and the names people use for them."""

import pytest

from labkit.errors import LabValueError
from labkit.op import find_soc, socs

ARCH = {
    **{"Ascend910A": 1001, "Ascend910ProA": 1001, "Ascend910PremiumA": 1001, "Ascend910B": 1001},
    **{"Ascend310P1": 2002, "Ascend310P3": 2002, "Ascend310B1": 3002},
    **{"Ascend910B1": 2201, "Ascend910B2C": 2201, "Ascend910B4-1": 2201},
    **{"Ascend910_9391": 2201, "Ascend910_9362": 2201},
    **{"Ascend950PR_9599": 3510, "Ascend950DT_950x": 3510, "Ascend350_354f": 3510},
}

# (vector cores as tiling sees them, UB bytes as tiling sees them)
TILING = {
    "Ascend950PR_9599": (72, 253952),
    "Ascend950DT_9591": (72, 253952),
    "Ascend950DT_95A2": (72, 253952),
    "Ascend950PR_958b": (64, 253952),
    "Ascend950PR_9589": (64, 253952),
    "Ascend950PR_957b": (56, 253952),
    "Ascend950DT_950x": (16, 253952),
    "Ascend950PR_950z": (8, 253952),
    "Ascend910B1": (48, 196608 - 256),
    "Ascend910B2C": (48, 196608 - 256),
    "Ascend910B3": (40, 196608 - 256),
    "Ascend910B4": (40, 196608 - 256),
    "Ascend910_9391": (48, 196608 - 256),
    "Ascend910_9362": (40, 196608 - 256),
    "Ascend910A": (32, 262144),
    "Ascend310P3": (8, 262144),
    "Ascend310B1": (1, 253952),
}


@pytest.mark.parametrize(("name", "arch"), ARCH.items(), ids=ARCH)
def test_every_chip_has_its_npu_arch(name, arch):
    assert find_soc(name).npu_arch == arch


@pytest.mark.parametrize(("name", "told"), TILING.items(), ids=TILING)
def test_a_tiling_function_is_told_these_cores_and_this_ub(name, told):
    soc = find_soc(name)
    assert (soc.tiling_cores, soc.tiling_ub_bytes) == told


def test_only_a2_and_a3_keep_256_bytes_of_ub_back():
    kept = {soc.npu_arch for soc in socs().values() if soc.ub_bytes != soc.tiling_ub_bytes}
    assert kept == {2201}
    assert {s.ub_bytes - s.tiling_ub_bytes for s in socs().values() if s.npu_arch == 2201} == {256}


def test_tiling_sees_vector_cores_where_cube_and_vector_are_split_else_ai_cores():
    for soc in socs().values():
        assert soc.tiling_cores == (soc.vector_cores if soc.split else soc.ai_cores), soc.name


def test_the_chip_named_exactly_ascend910b_is_a_first_generation_910():
    old, new = find_soc("Ascend910B"), find_soc("910b")
    assert (old.short, old.npu_arch) == ("Ascend910", 1001)
    assert (new.short, new.npu_arch) == ("Ascend910B", 2201)
    assert old.copies_into_contiguous_output
    assert not new.copies_into_contiguous_output


def test_only_arch_3510_takes_the_register_based_road():
    assert {soc.npu_arch for soc in socs().values() if soc.is_regbase} == {3510}
    shorts = {soc.short for soc in socs().values() if soc.is_regbase}
    assert shorts == {"Ascend950", "Ascend350"}


def test_only_the_first_generations_may_copy_into_a_contiguous_output():
    shorts = {soc.short for soc in socs().values() if soc.copies_into_contiguous_output}
    assert shorts == {"Ascend910", "Ascend310P"}


def test_the_default_chip_is_a_950():
    assert find_soc().name == find_soc(None).name == "Ascend950PR_9599"


@pytest.mark.parametrize(
    ("word", "short"),
    [
        ("950", "Ascend950"),
        ("A2", "Ascend910B"),
        ("a3", "Ascend910_93"),
        ("910", "Ascend910"),
        ("910_93", "Ascend910_93"),
        ("310p", "Ascend310P"),
        ("310B", "Ascend310B"),
        ("Ascend910", "Ascend910"),
        ("ascend950pr_9599", "Ascend950"),
    ],
)
def test_a_family_word_or_another_case_finds_a_chip_of_that_family(word, short):
    assert find_soc(word).short == short


@pytest.mark.parametrize("unknown", ["Ascend910C9", "H100", "9 50", "Ascend"])
def test_an_unknown_chip_is_refused_with_names_that_exist(unknown):
    with pytest.raises(LabValueError, match=unknown) as caught:
        find_soc(unknown)
    assert "910b" in str(caught.value)


def test_a_chip_given_as_a_number_is_refused_with_the_labs_error():
    with pytest.raises(LabValueError):
        find_soc(950)


def test_a_misspelt_chip_brings_the_right_name_to_mind():
    with pytest.raises(LabValueError, match="Ascend950PR_9599"):
        find_soc("Ascend950PR_959")


def test_every_name_finds_itself():
    assert len(socs()) == 73
    for name, soc in socs().items():
        assert soc.name == name
        assert find_soc(name) is soc


def test_an_empty_chip_name_is_no_chip():
    with pytest.raises(LabValueError):
        find_soc("")
