"""Which device is taken, and what is said when it cannot be had."""

from __future__ import annotations

import time

import numpy as np
import pytest

import labkit
from labkit.cann.find import search_cann
from labkit.errors import AclError, DeviceNotAvailable, LabValueError
from labkit.host import choose
from labkit.op.tables import find_soc, socs
from labkit.sim import SoftwareNpu

CANN_VARIABLES = (
    "ASCEND_HOME_PATH",
    "ASCEND_TOOLKIT_HOME",
    "ASCEND_OPP_PATH",
    "ASCEND_AICPU_PATH",
    "ASCEND_CUSTOM_OPP_PATH",
    "LABKIT_DEVICE",
    "LABKIT_ALLOW_SIMULATED",
)


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch):
    """No variable of CANN or of the lab, as on a learner's laptop."""
    for name in CANN_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def no_cann(bare_machine):
    if search_cann().chosen is not None:
        pytest.skip("this machine has a CANN")


class FakeLibrary(SoftwareNpu):
    """Stands where an opened CANN would stand: the same functions under another name."""

    simulated = False

    @property
    def source(self) -> str:
        return "CANN 9.1.0 in /opt/cann"


@pytest.fixture
def npu_here(monkeypatch):
    """Make this machine one with an NPU of the given chip; the library that answers."""

    def install(soc: str, **options) -> FakeLibrary:
        library = FakeLibrary(soc, **options)
        monkeypatch.setattr(choose, "require_npu", lambda: library)
        return library

    return install


# -- the argument, the variable, what is there ---------------------------------


@pytest.mark.parametrize("kind", [None, "", "auto", "sim"])
def test_without_an_npu_everything_but_npu_gives_the_software_npu(no_cann, kind):
    with labkit.open_device(kind) as device:
        assert device.kind == "sim"
        assert device.name == "software NPU as Ascend950PR_9599"


@pytest.mark.parametrize("value", ["sim", "auto", ""])
def test_the_variable_is_asked_when_there_is_no_argument(no_cann, monkeypatch, value):
    monkeypatch.setenv("LABKIT_DEVICE", value)
    with labkit.open_device() as device:
        assert device.kind == "sim"


def test_the_argument_beats_the_variable(no_cann, monkeypatch):
    monkeypatch.setenv("LABKIT_DEVICE", "npu")
    with labkit.open_device("sim") as device:
        assert device.kind == "sim"
    monkeypatch.setenv("LABKIT_DEVICE", "sim")
    with pytest.raises(DeviceNotAvailable):
        labkit.open_device("npu")


@pytest.mark.parametrize("value", ["gpu", "NPU", "sim ", "1"])
def test_another_word_is_refused_with_the_right_ones(monkeypatch, value):
    with pytest.raises(LabValueError, match=r"kind is .* npu, sim, auto"):
        labkit.open_device(value)
    monkeypatch.setenv("LABKIT_DEVICE", value)
    with pytest.raises(LabValueError, match=r"\$LABKIT_DEVICE is .* npu, sim, auto"):
        labkit.open_device()
    with pytest.raises(LabValueError, match="LABKIT_DEVICE"):
        labkit.hardshrink([1.0])


def test_an_explicit_npu_fails_soon_and_says_what_is_missing_and_what_to_do(no_cann, monkeypatch):
    monkeypatch.setattr(choose, "Device", None)  # nothing may be opened instead
    start = time.process_time()  # not of the clock on the wall: the machine may be busy
    with pytest.raises(DeviceNotAvailable) as caught:
        labkit.open_device("npu")
    assert time.process_time() - start < 2
    text = str(caught.value)
    assert "No usable CANN" in text
    assert "--install" in text  # a command that mends it
    assert "ASCEND_HOME_PATH" in text
    assert "device sim" in text  # and what works without


def test_an_explicit_npu_by_variable_never_falls_back(no_cann, monkeypatch):
    monkeypatch.setenv("LABKIT_DEVICE", "npu")
    with pytest.raises(DeviceNotAvailable):
        labkit.hardshrink_backward([1.0], [1.0])
    with pytest.raises(DeviceNotAvailable):
        labkit.default_device()


def test_auto_says_in_one_line_why_it_took_the_software_npu(no_cann):
    with labkit.open_device("auto") as device:
        assert device.kind == "sim"
        assert "\n" not in device.why
        assert "CANN" in device.why
    with labkit.open_device("sim") as device:
        assert device.why == "the software NPU was asked for"


# -- chips ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "chip"),
    [
        (None, "Ascend950PR_9599"),
        ("950", "Ascend950PR_9599"),
        ("910b", "Ascend910B1"),
        ("910B", "Ascend910B1"),
        ("A2", "Ascend910B1"),
        ("a3", "Ascend910_9391"),
        ("910", "Ascend910A"),
        ("310P", "Ascend310P3"),
        ("310b", "Ascend310B1"),
        ("Ascend910B", "Ascend910B"),
        ("Ascend910B4-1", "Ascend910B4-1"),
        ("ascend910b3", "Ascend910B3"),
    ],
)
def test_a_chip_is_named_exactly_or_by_its_family(word, chip):
    with labkit.open_device("sim", soc=word) as device:
        assert device.soc == chip
        assert device.name == f"software NPU as {chip}"


def test_the_chip_named_exactly_ascend910b_is_a_first_generation_910():
    assert find_soc("Ascend910B").npu_arch == 1001
    assert find_soc("910b").npu_arch == 2201


@pytest.mark.parametrize("soc", sorted(socs()))
def test_every_chip_of_the_table_opens_and_runs_the_operator_or_refuses_it(soc):
    with labkit.open_device("sim", soc=soc) as device:
        call = labkit.hardshrink_backward([0.2, 0.7], [0.2, 0.7], device=device)
        assert call.grad_input.tolist() == [0, np.float32(0.7)]


@pytest.mark.parametrize(
    ("word", "near"), [("Ascend950PR_9598", "Ascend950PR_9589"), ("Ascend910B5", "Ascend910B")]
)
def test_an_unknown_chip_is_refused_with_near_names_and_the_families(word, near):
    with pytest.raises(LabValueError) as caught:
        labkit.open_device("sim", soc=word)
    assert near in str(caught.value)
    assert "910b" in str(caught.value)


@pytest.mark.parametrize("soc", ["tpu", "9999"])
def test_a_word_that_is_near_to_nothing_gets_the_families(soc):
    with pytest.raises(LabValueError, match="or a family: "):
        labkit.open_device("sim", soc=soc)


# -- with an NPU ---------------------------------------------------------------


def test_auto_takes_an_npu_that_answers_and_says_so(npu_here):
    library = npu_here("Ascend910B3")
    with labkit.open_device() as device:
        assert (device.kind, device.soc) == ("npu", "Ascend910B3")
        assert device.name == "NPU 0: Ascend910B3"
        assert "answered" in device.why
        assert labkit.hardshrink([2.0], device=device).device == "NPU 0: Ascend910B3"
    assert library.leaks() == []


@pytest.mark.parametrize(
    ("have", "want"), [("Ascend950PR_9599", "Ascend910B1"), ("Ascend910B1", "Ascend950PR_9599")]
)
def test_an_npu_of_another_chip_is_refused_before_anything_is_launched(npu_here, have, want):
    library = npu_here(have)
    with pytest.raises(DeviceNotAvailable) as caught:
        labkit.open_device("npu", soc=want)
    assert want in str(caught.value)
    assert have in str(caught.value)
    assert len(library.log) == 0
    assert library.live_handles == 0
    assert library.runtime.inits == 0


def test_an_npu_of_the_asked_chip_is_taken(npu_here):
    npu_here("Ascend910B3")
    with labkit.open_device("npu", soc="Ascend910B3") as device:
        assert device.soc == "Ascend910B3"


@pytest.mark.parametrize(
    ("have", "family"),
    [("Ascend910B3", "910b"), ("Ascend910_9362", "a3"), ("Ascend950DT_9571", "950")],
)
def test_an_npu_of_the_asked_family_is_taken(npu_here, have, family):
    npu_here(have)
    with labkit.open_device("npu", soc=family) as device:
        assert device.soc == have


def test_auto_with_another_chip_falls_back_and_says_why(npu_here):
    npu_here("Ascend910B3")
    with labkit.open_device("auto", soc="Ascend950PR_9599") as device:
        assert (device.kind, device.soc) == ("sim", "Ascend950PR_9599")
        assert "Ascend910B3" in device.why


@pytest.mark.parametrize(
    ("call", "code"),
    [("aclInit", 500000), ("aclrtSetDevice", 507033), ("aclrtCreateStream", 207008)],
)
def test_an_npu_that_does_not_open_is_not_available_and_leaves_nothing(npu_here, call, code):
    library = npu_here("Ascend910B3")
    library.faults.fail_call(call, code)
    with pytest.raises(DeviceNotAvailable) as caught:
        labkit.open_device("npu")
    text = str(caught.value)
    assert f"{call} returned {code}" in text
    assert "npu-smi info" in text
    assert isinstance(caught.value.__cause__, AclError)
    assert library.runtime.inits == 0
    assert library.live_handles == 0


def test_auto_takes_the_software_npu_when_the_npu_does_not_open(npu_here):
    library = npu_here("Ascend910B3")
    library.faults.fail_call("aclInit", 507008)
    with labkit.open_device() as device:
        assert device.kind == "sim"
        assert "the device did not" in device.why
        assert "\n" not in device.why


def test_a_device_number_that_the_machine_does_not_have_tells_how_many_there_are(npu_here):
    npu_here("Ascend910B3", devices=2)
    with labkit.open_device("npu", index=1) as device:
        assert device.index == 1
    with pytest.raises(DeviceNotAvailable, match="There are 2 devices, numbered from 0; 5"):
        labkit.open_device("npu", index=5)


def test_a_library_that_is_the_software_npu_in_disguise_is_no_npu(npu_here, monkeypatch):
    npu_here("Ascend910B3").simulated = True
    with pytest.raises(DeviceNotAvailable, match="not an NPU"):
        labkit.open_device("npu")
    monkeypatch.setenv("LABKIT_ALLOW_SIMULATED", "1")
    with labkit.open_device("npu") as device:
        assert device.kind == "npu"


def test_a_function_that_the_library_lacks_is_told_as_not_available(npu_here, monkeypatch):
    library = npu_here("Ascend910B3")
    function = library._function
    monkeypatch.setattr(
        library, "_function", lambda name: None if name == "aclrtCreateStream" else function(name)
    )
    with pytest.raises(DeviceNotAvailable, match="aclrtCreateStream"):
        labkit.open_device("npu")
    assert library.runtime.inits == 0
    with labkit.open_device() as device:
        assert device.kind == "sim"


@pytest.mark.parametrize("stream", ["0x1000", -1, 1.5])
def test_a_stream_that_is_no_address_is_refused(npu_here, stream):
    library = npu_here("Ascend910B3")
    with pytest.raises(LabValueError, match="aclrtStream as a number"):
        labkit.open_device("npu", stream=stream)
    assert library.runtime.inits == 0
