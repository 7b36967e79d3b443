"""Other operators: declared in a few lines, called by the same program, named when not there."""

from __future__ import annotations

import numpy as np
import pytest

import labkit
from labkit.cann import declare
from labkit.cann.interface import MissingSymbol, prototypes
from labkit.errors import DeviceNotAvailable, LabValueError
from labkit.host import Output, RawScalar, call_operator
from labkit.sim import SoftwareNpu

X = np.array([0.2, 0.7], np.float32)

LEAKY = """
aclnnStatus aclnnLabTestLeakyGetWorkspaceSize(
    const aclTensor* self, const aclScalar* slope, bool inplace, double bound, aclTensor* out,
    uint64_t* workspaceSize, aclOpExecutor** executor);
aclnnStatus aclnnLabTestLeaky(
    void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream);
"""


@pytest.fixture
def npu() -> SoftwareNpu:
    return SoftwareNpu("950")


def leaky(x: np.ndarray) -> dict:
    return {
        "self": x,
        "slope": RawScalar(np.float32(0.1).tobytes(), 0),
        "inplace": False,
        "bound": 2.5,
        "out": Output(np.empty_like(x), keep=False),
    }


def test_an_operator_that_the_device_lacks_is_told_by_name_with_what_there_is(npu):
    declare(LEAKY)
    with labkit.open_device(npu=npu) as device:
        before = (npu.live_handles, npu.heap.used)
        with pytest.raises(MissingSymbol) as caught:
            call_operator(device, "aclnnLabTestLeaky", leaky(X))
        text = str(caught.value)
        assert caught.value.symbol == "aclnnLabTestLeakyGetWorkspaceSize"
        assert "aclnnLabTestLeakyGetWorkspaceSize" in text
        assert "software NPU as Ascend950PR_9599" in text
        assert "aclnnHardshrinkBackward" in text  # what it knows
        assert isinstance(caught.value, DeviceNotAvailable)
        assert (npu.live_handles, npu.heap.used) == before
        assert labkit.hardshrink(X, device=device).out.tolist() == [0, X[1]]


def test_the_software_npu_does_not_blame_a_cann_that_it_never_asked(npu):
    declare(LEAKY)
    with labkit.open_device(npu=npu) as device:
        with pytest.raises(MissingSymbol) as caught:
            call_operator(device, "aclnnLabTestLeaky", leaky(X))
    assert "installed here" not in str(caught.value)


def test_an_operator_that_nobody_declared_asks_for_its_prototypes(npu):
    with labkit.open_device(npu=npu) as device:
        with pytest.raises(LabValueError, match=r"labkit\.cann\.declare"):
            call_operator(device, "aclnnNobodyDeclaredThis", {})


def test_declaring_again_is_fine_and_declaring_otherwise_is_refused():
    declare(LEAKY)
    declare(LEAKY)
    with pytest.raises(LabValueError, match="already declared"):
        declare(LEAKY.replace("bool inplace", "int64_t inplace"))
    assert prototypes()["aclnnLabTestLeakyGetWorkspaceSize"].params[2] == ("bool", "inplace")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda a: a.pop("slope"), "slope"),
        (lambda a: a.update(extra=1), "extra"),
        (lambda a: a.update(self="text"), "self"),
        (lambda a: a.update(slope=0.1), "slope"),
    ],
)
def test_arguments_that_do_not_fit_the_prototype_are_refused_with_words(npu, change, word):
    declare(LEAKY)
    arguments = leaky(X)
    change(arguments)
    with labkit.open_device(npu=npu) as device:
        before = (npu.live_handles, npu.heap.used)
        with pytest.raises(LabValueError, match=word):
            call_operator(device, "aclnnLabTestLeaky", arguments)
        assert (npu.live_handles, npu.heap.used) == before


def test_a_prototype_with_an_argument_that_the_lab_cannot_pass_says_which(npu):
    declare(
        """
        aclnnStatus aclnnLabTestListGetWorkspaceSize(const aclTensorList* tensors, aclTensor* out,
            uint64_t* workspaceSize, aclOpExecutor** executor);
        aclnnStatus aclnnLabTestList(void* workspace, uint64_t workspaceSize,
            aclOpExecutor* executor, aclrtStream stream);
        """
    )
    with labkit.open_device(npu=npu) as device:
        with pytest.raises(LabValueError, match="tensors"):
            call_operator(device, "aclnnLabTestList", {"tensors": None, "out": None})


def test_both_known_operators_run_through_the_same_generic_call(npu):
    scalar = RawScalar(np.float32(0.5).tobytes(), 0)
    with labkit.open_device(npu=npu) as device:
        forward = call_operator(
            device,
            "aclnnHardshrink",
            {"self": X, "lambd": scalar, "out": Output(np.empty_like(X), keep=False)},
        )
        backward = call_operator(
            device,
            "aclnnHardshrinkBackward",
            {
                "gradOutput": X,
                "self": X,
                "lambd": scalar,
                "gradInput": Output(np.empty_like(X), keep=False),
            },
        )
    assert forward.out.tolist() == backward.grad_input.tolist() == [0, X[1]]


def test_a_scalar_of_any_dtype_is_passed_in_its_own_bytes(npu):
    with labkit.open_device(npu=npu) as device:
        call = labkit.hardshrink(X, lambd=labkit.Scalar(0.5, "float64"), device=device)
        assert call.arguments["lambd"] == RawScalar(np.float64(0.5).tobytes(), 11)
        assert call.out.tolist() == [0, X[1]]


def test_a_scalar_dtype_that_cann_refuses_is_an_error_with_both_of_its_messages(npu):
    with labkit.open_device(npu=npu) as device:
        before = (npu.live_handles, npu.heap.used)
        arguments = {
            "self": X,
            "lambd": RawScalar(bytes(8), 13),  # ACL_STRING
            "out": Output(np.empty_like(X), keep=False),
        }
        with pytest.raises(labkit.AclnnError, match="EZ1006") as caught:
            call_operator(device, "aclnnHardshrink", arguments)
        assert caught.value.call == "aclCreateScalar"
        assert (npu.live_handles, npu.heap.used) == before
