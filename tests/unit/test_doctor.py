"""What `labkit doctor` says of the devices that it tried."""

import pytest

from labkit import doctor, operators


def told_by_doctor(monkeypatch, kind, npu):
    """What the doctor says on a machine whose NPU is called `npu` ("" for none)."""
    monkeypatch.setattr(doctor, "_npu", lambda report, needed: npu)
    return doctor.examine(kind)


@pytest.mark.parametrize(
    ("kind", "npu", "usable", "words"),
    [
        ("sim", "NPU 0", True, "device sim: usable; calls run on: software NPU"),
        ("sim", "", True, "device sim: usable; calls run on: software NPU"),
        ("auto", "NPU 0", True, "device auto: usable; calls run on: NPU 0"),
        ("auto", "", True, "device auto: usable; calls run on: software NPU"),
        ("npu", "NPU 0", True, "device npu: usable; calls run on: NPU 0"),
        ("npu", "", False, "device npu: NOT usable here"),
    ],
)
def test_the_doctor_says_on_which_device_calls_run(monkeypatch, kind, npu, usable, words):
    report = told_by_doctor(monkeypatch, kind, npu)
    assert report.usable == usable
    assert report.lines[-1].startswith(words)


def test_the_doctor_trusts_no_device_that_computes_wrong(monkeypatch):
    backward = operators.hardshrink_backward

    def wrong(grad, own, *, lambd, device):
        return backward(grad, own, lambd=lambd + 1, device=device)

    monkeypatch.setattr(operators, "hardshrink_backward", wrong)
    report = told_by_doctor(monkeypatch, "sim", "")
    assert not report.usable
    assert any(line.startswith("!!") and "which is wrong" in line for line in report.lines)
