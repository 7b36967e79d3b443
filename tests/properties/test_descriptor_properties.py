"""Random descriptors, good and bad: planning never fails and gives the code of the contract."""

import descriptors
import numpy as np
from descriptors import backward_arguments, chips, forward_arguments, lambdas, shapes, views
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from labkit.op import TensorDesc, find_soc, plan_hardshrink, plan_hardshrink_backward
from labkit.op.broadcast import BroadcastFault, broadcast_shapes
from labkit.op.describe import contiguous_strides


@settings(max_examples=250)
@given(backward_arguments(), lambdas, chips)
def test_backward_gives_the_code_that_the_order_of_checks_demands(arguments, lambd, chip):
    grad, self, out = arguments
    plan = plan_hardshrink_backward(grad, self, lambd, out, soc=chip, kernel_workspaces="none")
    want = descriptors.backward_code(grad, self, lambd, out, find_soc(chip))
    event(str(want))
    assert plan.status == want, plan.message


@settings(max_examples=200)
@given(forward_arguments(), lambdas, chips)
def test_forward_gives_the_code_that_the_order_of_checks_demands(arguments, lambd, chip):
    self, out = arguments
    plan = plan_hardshrink(self, lambd, out, soc=chip, kernel_workspaces="none")
    want = descriptors.forward_code(self, lambd, out, find_soc(chip))
    event(str(want))
    assert plan.status == want, plan.message


@settings(max_examples=200)
@given(backward_arguments(), lambdas, chips)
def test_a_chips_tilings_only_ever_turn_a_success_into_561103(arguments, lambd, chip):
    grad, self, out = arguments
    host = plan_hardshrink_backward(grad, self, lambd, out, soc=chip, kernel_workspaces="none")
    real = plan_hardshrink_backward(grad, self, lambd, out, soc=chip)
    if real.status == host.status:
        return
    assert (host.status, real.status) == (0, 561103)
    assert find_soc(chip).npu_arch == 3510
    assert {launch.op_type for launch in host.launches} & {"AsStrided", "ViewCopy"}


@given(backward_arguments(), lambdas, chips)
def test_a_failed_plan_decides_nothing_and_a_good_one_ends_in_the_output(arguments, lambd, chip):
    grad, self, out = arguments
    plan = plan_hardshrink_backward(grad, self, lambd, out, soc=chip)
    if plan.status:
        assert (plan.launches, plan.buckets, plan.workspace_size) == ((), (), 0)
        assert plan.message and plan.messages and plan.fault.remedy
    elif plan.launches:
        assert plan.launches[-1].outputs[0].buffer == "gradInput"
        assert plan.result_shape == out.shape
        assert sum(launch.op_type == "HardShrinkGrad" for launch in plan.launches) == 1
    else:
        assert grad.is_empty or self.is_empty
        assert plan.workspace_size == 0


@given(shapes(empty=False, most=6), shapes(empty=False, most=6))
def test_shapes_without_zeros_meet_as_in_numpy(first, second):
    found = broadcast_shapes(first, second)
    try:
        want = np.broadcast_shapes(first, second)
    except ValueError:
        assert isinstance(found, BroadcastFault)
        assert {found.larger, found.other} <= {first, second}
        assert found.dim in found.larger
    else:
        assert found == want


@given(shapes(empty=False), st.data())
def test_shapes_that_meet_in_numpy_meet_here_in_either_order(shape, data):
    partner = data.draw(descriptors.partners(shape))
    assume(0 not in partner)
    forwards, backwards = broadcast_shapes(shape, partner), broadcast_shapes(partner, shape)
    assert isinstance(forwards, BroadcastFault) == isinstance(backwards, BroadcastFault)
    if not isinstance(forwards, BroadcastFault):
        assert forwards == backwards == np.broadcast_shapes(shape, partner)


@given(shapes(), st.data())
def test_a_view_is_contiguous_when_its_elements_follow_one_another(shape, data):
    assume(len(shape) <= 8)
    desc = data.draw(views(shape, "float32"))
    assert desc.is_contiguous == descriptors.lies_in_order(desc)


@given(shapes(), st.data())
def test_a_view_fits_its_storage_when_every_element_it_touches_is_there(shape, data):
    assume(0 not in shape)
    desc = data.draw(views(shape, "float32"))
    places = descriptors.touched(desc)
    assert desc.reach == (min(places), max(places))
    assert desc.fits_storage == (not descriptors.leaves_storage(desc))


@given(shapes())
def test_null_strides_are_the_row_major_ones(shape):
    assert contiguous_strides(shape) == descriptors.row_major(shape)
    assert TensorDesc("float32", shape).is_contiguous
    assert TensorDesc("float32", shape) == TensorDesc("float32", shape, contiguous_strides(shape))
