"""The chain: each kind of view, each chip, each failing check, both operators, told rightly."""

from __future__ import annotations

import dataclasses
import importlib
import json
import subprocess
import sys

import numpy as np
import pytest

import labkit
import labkit.explain
from labkit.errors import LabValueError
from labkit.explain import LAYERS, Chain, ChainStep, SourceRef, finding
from labkit.explain.conditions import first_fit_size
from labkit.op import Scalar, TensorDesc, plan_hardshrink, plan_hardshrink_backward
from labkit.op.workspace import align

T = TensorDesc
A950, A2, A910 = "Ascend950PR_9599", "Ascend910B1", "Ascend910A"
CHIPS = (A950, A2, A910)


def backward(grad, x, out, lambd=0.5, soc=A950) -> Chain:
    return labkit.explain(plan_hardshrink_backward(grad, x, lambd, out, soc=soc))


def forward(x, out, lambd=0.5, soc=A950) -> Chain:
    return labkit.explain(plan_hardshrink(x, lambd, out, soc=soc))


def states(chain: Chain, layer: str) -> list[tuple[str, str]]:
    return [(step.title, step.state) for step in chain.layer(layer)]


def launched(chain: Chain) -> list[str]:
    return [step.name for step in chain.launches]


def step(chain: Chain, layer: str, title: str) -> ChainStep:
    (found,) = [step for step in chain.layer(layer) if step.title == title]
    return found


def f32(shape, *rest) -> TensorDesc:
    return T("float32", shape, *rest)


def example(soc: str = A950) -> Chain:
    """float16 (4,1) with float32 (1,4): both broadcast, one cast."""
    return backward(T("float16", [4, 1]), f32([1, 4]), f32([4, 4]), soc=soc)


# -- the example of the command ------------------------------------------------


def test_the_example_launches_two_broadcasts_a_cast_and_the_operator_in_that_order():
    chain = example()
    assert launched(chain) == ["BroadcastTo", "BroadcastTo", "Cast", "HardShrinkGrad"]
    assert chain.workspace_size == 16779264
    assert [bucket.size for bucket in chain.workspace.buckets] == [16777728, 512, 512, 512]


def test_every_bucket_and_member_has_a_reason_and_the_sum_is_the_total():
    place = example().workspace
    assert "16777728 + 512 + 512 + 512 = 16779264" in place.why
    assert sum(bucket.size for bucket in place.buckets) == place.size
    for bucket in place.buckets:
        assert bucket.why
        assert bucket.size == max(member.taken for member in bucket.members)
        assert all(member.why and member.taken == align(member.size) for member in bucket.members)
    first, second = place.buckets[0].members[0], place.buckets[1].members[0]
    assert first.why == "the first of all"
    assert second.holds == "result of launch 1"
    assert (second.start, second.end) == (0, 2)
    assert second.why.startswith("new bucket: bucket 0 got the own workspace of launch 1")


def test_a_later_bucket_that_fits_is_taken_although_an_earlier_one_would_do():
    (member,) = [m for b in example().workspace.buckets for m in b.members if m.name == "kernel3"]
    assert "bucket 0 would do too, but the last that fits is taken" in member.why


def test_the_l0_layer_tells_what_was_launched_skipped_and_redirected():
    assert states(example(), "l0") == [
        ("Contiguous self", "skipped"),
        ("Contiguous gradOutput", "skipped"),
        ("BroadcastTo gradOutput", "launched"),
        ("BroadcastTo self", "launched"),
        ("Cast gradOutput", "launched"),
        ("Cast self", "skipped"),
        ("HardShrinkGrad", "launched"),
        ("Cast result", "skipped"),
        ("ViewCopy to gradInput", "redirected"),
    ]


def test_a_launch_knows_its_operands_with_shape_dtype_and_strides():
    last = example().launches[-1]
    assert [(port.name, port.holds, port.place) for port in last.inputs] == [
        ("gradients", "result of launch 3", "workspace"),
        ("features", "result of launch 2", "workspace"),
    ]
    (out,) = last.outputs
    assert (out.name, out.holds, out.place) == ("backprops", "gradInput", "caller")
    assert (out.dtype, out.shape, out.strides) == ("FLOAT", (4, 4), (4, 1))


def test_the_tiling_of_the_example_is_16_cores_with_one_element_each():
    facts = dict(step(example(), "kernel", "Tiling").facts)
    assert facts["blockDim"] == "16 of 72 vector cores"
    assert facts["ubFactor"] == "64 elements per tile"
    assert (facts["tilingKey"], facts["workspace"]) == ("0", "0 bytes")
    assert facts["UB used"] == "800 of 253952 bytes"


def test_the_kernel_layer_lists_the_instructions_of_one_tile():
    names = [line.split(":")[0] for line in step(example(), "kernel", "Compute").items]
    assert names == ["V Abs", "V Compares", "V Duplicate", "V Select"]
    bf16 = backward(*[T("bfloat16", [4])] * 3)
    names = [line.split(":")[0] for line in step(bf16, "kernel", "Compute").items]
    assert names == ["V Cast", "V Cast", "V Abs", "V Compares", "V Duplicate", "V Select", "V Cast"]


def test_a_huge_call_is_explained_at_once():
    chain = backward(*[f32([1 << 20, 1 << 20])] * 3)
    assert dict(step(chain, "kernel", "Tiling").facts)["totalNum"].startswith("1099511627776")


# -- views, on three chips -----------------------------------------------------


@pytest.mark.parametrize("soc", CHIPS)
def test_a_transposed_output_is_written_by_a_transpose(soc):
    chain = backward(f32([2, 4]), f32([2, 4]), f32([2, 4], [1, 2], 0, [4, 2]), soc=soc)
    assert launched(chain) == ["HardShrinkGrad", "Transpose"]
    delivered = step(chain, "l0", "ViewCopy to gradInput")
    assert delivered.state == "launched"
    assert "permutation" in delivered.why
    assert delivered.outputs[0].strides == (1, 2)
    assert chain.workspace_size == (16778240 if soc == A950 else 512)


@pytest.mark.parametrize(("soc", "core"), [(A950, "AI Core"), (A2, "AI Core"), (A910, "AI Core")])
def test_an_output_with_padded_rows_is_written_by_view_copy(soc, core):
    chain = backward(f32([4, 4]), f32([4, 4]), f32([4, 4], [8, 1], 0, [4, 8]), soc=soc)
    assert launched(chain) == ["HardShrinkGrad", "ViewCopy"]
    view_copy = chain.launches[-1]
    assert dict(view_copy.facts)["core"] == core
    assert view_copy.outputs[0].strides == (8, 1)
    assert chain.workspace_size == (1024 if soc == A950 else 512)


@pytest.mark.parametrize(("soc", "core"), [(A950, "AI Core"), (A2, "AI CPU"), (A910, "AI CPU")])
def test_an_output_with_gaps_in_every_axis_goes_to_the_ai_cpu_where_no_pattern_fits(soc, core):
    chain = backward(f32([2, 3]), f32([2, 3]), f32([2, 3], [9, 2], 0, [18]), soc=soc)
    assert dict(chain.launches[-1].facts)["core"] == core
    cached = step(chain, "L2", "OpCache").why
    assert cached.startswith("never remembered") == (core == "AI CPU")


@pytest.mark.parametrize("soc", CHIPS)
def test_a_stride_0_input_is_made_whole_by_a_broadcast(soc):
    chain = backward(f32([2, 4]), f32([2, 4], [0, 1], 0, [4]), f32([2, 4]), soc=soc)
    assert launched(chain) == ["BroadcastTo", "HardShrinkGrad"]
    made = step(chain, "l0", "Contiguous self")
    assert made.state == "launched"
    assert made.why == "launch 1: self is a strided view: BroadcastTo"
    assert made.inputs[0].strides == (0, 1)
    assert chain.launches[0].inputs[0].shape == (1, 4)


@pytest.mark.parametrize("soc", CHIPS)
def test_an_input_with_an_offset_costs_nothing(soc):
    chain = backward(f32([4], None, 3, [8]), f32([4]), f32([4]), soc=soc)
    assert launched(chain) == ["HardShrinkGrad"]
    skipped = step(chain, "l0", "Contiguous gradOutput")
    assert skipped.state == "skipped"
    assert "an offset costs nothing" in skipped.why
    assert chain.arguments[0].offset == 3
    assert chain.launches[0].inputs[0].offset == 3


@pytest.mark.parametrize("soc", CHIPS)
def test_a_0_d_input_is_broadcast_and_so_is_the_other(soc):
    chain = backward(f32([]), f32([3]), f32([3]), soc=soc)
    assert launched(chain) == ["BroadcastTo", "BroadcastTo", "HardShrinkGrad"]
    assert step(chain, "L2", "CheckBroadcast").why == "[] with [3] gives [3]"
    other = step(chain, "l0", "BroadcastTo self")
    assert "though it has the common shape already" in other.why


def test_0_d_alone_needs_no_broadcast_and_one_core():
    chain = backward(f32([]), f32([]), f32([]))
    assert launched(chain) == ["HardShrinkGrad"]
    assert dict(step(chain, "kernel", "Tiling").facts)["blockDim"] == "1 of 72 vector cores"


@pytest.mark.parametrize("soc", CHIPS)
def test_an_empty_input_ends_the_call_with_success_and_nothing_else_is_reached(soc):
    chain = backward(f32([0]), f32([5]), f32([7]), soc=soc)
    assert chain.ok
    assert (chain.launches, chain.workspace_size) == ((), 0)
    ended = step(chain, "L2", "CheckEmpty")
    assert ended.state == "returned"
    assert ended.why.startswith("gradOutput is empty: success at once")
    for name in ("CheckBroadcast", "CheckShape", "Lambda", "WorkspaceSize"):
        assert step(chain, "L2", name).state == "not reached"
    assert {state for _, state in states(chain, "l0")} == {"not reached"}
    assert chain.layer("kernel") == ()
    assert "doc-empty-shapes" in chain.findings
    assert "nothing is launched" in chain.workspace.why


def test_the_output_on_a_first_generation_chip_may_be_a_device_copy():
    out = f32([4], None, 0, [8])
    chain = backward(f32([4]), f32([4]), out, soc=A910)
    assert launched(chain) == ["HardShrinkGrad", "CopyNpuToNpu"]
    assert dict(chain.launches[-1].facts)["core"] == "no kernel: a copy task of the runtime"
    assert launched(backward(f32([4]), f32([4]), out, soc=A2)) == ["HardShrinkGrad"]


@pytest.mark.parametrize("soc", (A2, A910))
def test_on_other_chips_the_kernel_layer_says_that_the_kernel_is_not_public(soc):
    chain = example(soc)
    (only,) = chain.layer("kernel")
    assert only.state == "assumed"
    assert "kernel not public" in only.why
    assert "same mathematics assumed" in only.why
    assert only.facts == () and only.items == ()
    assert "not public" in chain.workspace.why
    assert "not public" in dict(chain.launches[0].facts)["own workspace"]
    assert not any("/arch35/" in ref.path for each in chain for ref in each.sources)


def test_a_view_that_needs_a_slice_and_a_transpose_names_both_launches():
    view = f32([3, 2], [1, 4], 0, [2, 4])
    made = step(backward(f32([3, 2]), view, f32([3, 2])), "l0", "Contiguous self")
    assert made.launches == (0, 1)
    assert made.why.startswith("launch 1, 2: self is a strided view: Slice then Transpose")


def test_a_tiling_that_will_refuse_at_the_launch_is_announced():
    view = f32([4], [-1], 3)
    plan = plan_hardshrink_backward(f32([4]), view, 0.5, f32([4]), kernel_workspaces="none")
    first = labkit.explain(plan).launches[0]
    assert first.name == "AsStrided"
    assert any("would refuse these operands" in note.text for note in first.notes)


# -- failing checks ------------------------------------------------------------

A = f32([4])
FAILING = {
    "CheckNotNull": ((None, A, 0.5, A), 161001),
    "CheckDtypeValid": ((A, T("int32", [4]), 0.5, A), 161002),
    "CheckMaxDim": ((f32([1] * 9), A, 0.5, A), 161002),
    "CheckBroadcast": ((A, f32([3]), 0.5, A), 161002),
    "CheckShape": ((A, A, 0.5, f32([5])), 161002),
}


@pytest.mark.parametrize("check", FAILING)
def test_a_failing_check_stops_the_chain_there(check):
    arguments, status = FAILING[check]
    chain = labkit.explain(plan_hardshrink_backward(*arguments))
    names = [name for name, _ in states(chain, "L2")]
    place = names.index(check)
    found = [state for _, state in states(chain, "L2")]
    assert found[place] == "stopped"
    assert set(found[:place]) <= {"passed", "assumed"}
    assert set(found[place + 1 :]) == {"not reached"}
    assert {state for _, state in states(chain, "l0")} == {"not reached"}
    assert (chain.status, chain.failed_check, chain.launches) == (status, check, ())
    assert chain.meaning and chain.message and chain.remedy
    facts = dict(chain[place].facts)
    assert facts["returns"].startswith(str(status))
    assert facts["right would be"] == chain.remedy
    assert facts["error list"].startswith("EZ10")


FORWARD_FAILING = {
    "CheckNotNull": ((A, None, A), 161001),
    "CheckDtypeValid": ((A, 0.5, T("int8", [4])), 161002),
    "CheckShape": ((A, 0.5, f32([5])), 161002),
    "CheckMaxDim": ((f32([1] * 9), 0.5, f32([1] * 9)), 161002),
}


@pytest.mark.parametrize("check", FORWARD_FAILING)
def test_a_failing_check_of_the_forward_operator_stops_the_chain_there(check):
    arguments, status = FORWARD_FAILING[check]
    chain = labkit.explain(plan_hardshrink(*arguments))
    found = states(chain, "L2")
    (place,) = [place for place, (_, state) in enumerate(found) if state == "stopped"]
    assert (found[place][0], chain.status) == (check, status)
    assert {state for _, state in found[place + 1 :]} == {"not reached"}


def test_forward_compares_shapes_before_it_counts_dimensions_and_backward_the_other_way():
    order = [name for name, _ in states(forward(A, A), "L2")]
    assert order.index("CheckShape") < order.index("CheckMaxDim") < order.index("CreateExecutor")
    order = [name for name, _ in states(backward(A, A, A), "L2")]
    assert order.index("CreateExecutor") < order.index("CheckMaxDim") < order.index("CheckShape")


def test_a_view_outside_its_storage_stops_in_the_l0_layer_after_every_check_passed():
    chain = backward(A, f32([4], [2]), A)
    assert {state for name, state in states(chain, "L2")[:10]} <= {"passed", "assumed"}
    assert step(chain, "l0", "Contiguous self").state == "stopped"
    assert step(chain, "l0", "Contiguous gradOutput").state == "not reached"
    assert step(chain, "L2", "Lambda").state == "not reached"
    assert chain.status == 561103
    assert "doc-view-storage" in chain.findings


def test_a_copy_planned_before_the_failing_step_is_thrown_away():
    chain = backward(f32([2, 2], [9, 2]), f32([2, 2], [1, 2]), f32([2, 2]))
    assert states(chain, "l0")[:2] == [
        ("Contiguous self", "discarded"),
        ("Contiguous gradOutput", "stopped"),
    ]
    assert chain.launches == ()
    assert "thrown away" in str(chain)
    assert "discarded" in chain._repr_html_()


def test_a_view_copy_that_cannot_be_prepared_stops_after_lambda():
    chain = backward(f32([4]), f32([4]), f32([4], [-1], 3))
    assert chain.status == 561103
    assert step(chain, "l0", "ViewCopy to gradInput").state == "stopped"
    assert step(chain, "l0", "Cast result").state == "skipped"
    assert step(chain, "L2", "Lambda").state == "passed"
    assert step(chain, "L2", "WorkspaceSize").state == "not reached"
    assert "negative-strides-950" in chain.findings


# -- forward, λ ----------------------------------------------------------------


def test_the_forward_chain_is_told_too():
    chain = forward(T("float16", [2, 3], [1, 2], 0, [3, 2]), f32([2, 3]))
    assert launched(chain) == ["Transpose", "HardShrink", "Cast"]
    assert [port.name for port in chain.launches[1].inputs] == ["self"]
    assert [title for title, _ in states(chain, "kernel")] == [
        *("Tiling", "Init", "CopyIn", "Compute", "CopyOut")
    ]
    init = step(chain, "kernel", "Init")
    assert [line.split(":")[0] for line in init.items if line.startswith("V ")] == [
        *("V Duplicate", "V Duplicate")
    ]


@pytest.mark.parametrize(
    ("lambd", "told"),
    [
        (Scalar(0.3, "double"), "DOUBLE gives float32 0.3 (0x3e99999a)"),
        (-1, "negative, so 0 is used"),
        (Scalar(2 + 1j, "complex64"), "as every complex λ does"),
        (np.nan, "every gradient passes"),
    ],
)
def test_lambda_is_told_as_it_is_used(lambd, told):
    assert told in step(backward(A, A, A, lambd), "L2", "Lambda").why


def test_lambda_rounded_to_float16_is_named_where_it_compares():
    half = T("float16", [4])
    why = step(backward(half, half, half, 0.3), "kernel", "Compute").why
    assert "|x| <= 0.300048828125 (λ rounded to float16)" in why
    assert "rounded" not in step(backward(half, half, half, 0.5), "kernel", "Compute").why
    assert "pair-fp16-boundary" in backward(half, half, half, 0.3).findings
    assert "pair-fp16-boundary" not in backward(half, half, half, 0.1).findings


# -- calls that were made ------------------------------------------------------


def test_a_call_that_was_made_tells_device_status_and_record():
    with labkit.open_device("sim", soc="910b") as dev:
        call = labkit.hardshrink_backward(np.float16([[1], [2]]), np.float32([[1, 2]]), device=dev)
    chain = labkit.explain(call)
    assert chain.soc == A2
    assert chain.run.device == "software NPU as Ascend910B1"
    assert (chain.run.status, chain.run.calls) == (0, len(call.record))
    assert chain.run.launches == call.launches == tuple(launched(chain))
    assert chain.run.differs == ()
    assert step(chain, "L2", "Phase2").state == "ran"
    assert f"{len(call.record)} C calls" in str(chain)


def test_a_plan_says_that_it_was_not_run():
    chain = example()
    assert chain.run is None
    assert step(chain, "L2", "Phase2").state == "not run"
    assert "not run: this is a plan" in str(chain)
    assert "not run: this is a plan" in chain._repr_html_()


def test_a_failing_call_is_explained_with_what_the_library_said():
    with labkit.open_device("sim") as dev:
        call = labkit.hardshrink_backward([1, 2], [1, 2, 3], device=dev, check=False)
    chain = labkit.explain(call)
    assert (chain.status, chain.run.status, chain.failed_check) == (
        161002,
        161002,
        "CheckBroadcast",
    )
    assert chain.run.message == call.message


def test_where_call_and_model_part_the_chain_says_so():
    with labkit.open_device("sim", kernel_workspaces="none") as dev:
        call = labkit.hardshrink_backward(np.float16([1]), np.float32([2]), device=dev)
    chain = labkit.explain(call)
    assert chain.run.differs == ("phase 1 asked for 512 bytes, the model says 16778240",)
    assert chain.run.differs[0] in " ".join(str(chain).split())
    assert chain.run.differs[0] in chain._repr_html_()


def test_anything_else_is_refused_with_what_would_be_right():
    with pytest.raises(LabValueError, match="right would be"):
        labkit.explain(3)


# -- the chain as an object ----------------------------------------------------


def test_a_chain_is_a_sequence_of_steps_in_the_order_of_the_layers():
    chain = example()
    assert len(chain) == len(list(chain)) == len(chain.steps)
    assert chain[0] is chain.steps[0] and chain[-1].name == "CopyOut"
    assert chain[1:3] == chain.steps[1:3]
    order = [list(LAYERS).index(each.layer) for each in chain]
    assert order == sorted(order) and set(order) == {0, 1, 2, 3}
    assert chain.checks == chain.layer("L2")
    with pytest.raises(dataclasses.FrozenInstanceError):
        chain.soc = "x"  # type: ignore[misc]


def test_the_json_of_a_chain_gives_the_same_chain_back():
    with labkit.open_device("sim") as dev:
        call = labkit.hardshrink_backward([1, 2], [1, 2], device=dev)
    failing = [labkit.explain(plan_hardshrink_backward(*a)) for a, _ in FAILING.values()]
    nan = backward(A, A, A, np.nan)
    for chain in (example(), example(A2), labkit.explain(call), nan, forward(A, A), *failing):
        assert Chain.from_json(chain.to_json()) == chain
        assert chain.to_dict()["ok"] is chain.ok
    with pytest.raises(LabValueError, match="not the JSON of a chain"):
        Chain.from_json('{"form": "other"}')
    with pytest.raises(LabValueError, match="not the JSON of a chain"):
        Chain.from_json("[]")


@pytest.mark.parametrize("soc", CHIPS)
def test_the_text_fits_100_columns(soc):
    half = T("float16", [3, 8, 128], [1024, 128, 1], 7, [4, 8, 160])
    chains = [example(soc), backward(half, f32([8, 1]), f32([3, 8, 128]), soc=soc)]
    chains += [labkit.explain(plan_hardshrink_backward(*a)) for a, _ in FAILING.values()]
    for chain in chains:
        assert max(map(len, str(chain).splitlines())) <= 100


def test_the_text_names_every_step_with_its_sources_or_as_not_reached():
    for chain in (example(), backward(A, f32([4], [2]), A), backward(f32([0]), A, A)):
        text = " ".join(str(chain).split())
        for each in chain:
            assert each.title in text
            if each.state != "not reached":
                assert each.why in text
                assert all(str(ref) in text for ref in each.sources)


def test_a_step_that_stands_on_a_finding_says_so():
    chain = example()
    for each in chain:
        for name in each.findings:
            assert (each.layer, each.name) in finding(name).steps
    assert "doc-one-dtype" in step(chain, "L2", "CheckDtypeValid").findings
    assert finding("doc-one-dtype").title in " ".join(str(chain).split())
    assert "doc-one-dtype" not in backward(A, A, A).findings


def test_the_workspace_that_last_fit_doubles_is_named():
    half = T("float16", [4, 4])
    chain = backward(half, f32([4, 4]), half)
    assert chain.workspace_size == 33555968
    assert first_fit_size(chain.plan) == 16778752
    assert "would save 16777216 bytes" in chain.workspace.why
    assert "buckets-last-fit" in chain.findings
    assert "buckets-last-fit" not in example().findings


def test_every_source_reference_has_repository_path_lines_and_commit():
    for chain in (example(), example(A2), forward(A, A), forward(A, A, soc=A2)):
        for each in chain:
            assert each.sources, each.title
            for ref in each.sources:
                check_reference(ref)


def check_reference(ref: SourceRef) -> None:
    owner, _, name = ref.repository.partition("/")
    assert owner and name
    assert ref.path and not ref.path.startswith("/") and ":" not in ref.path
    assert 1 <= ref.first <= ref.last
    assert len(ref.commit) >= 8 and int(ref.commit, 16) >= 0


# -- the name labkit.explain ---------------------------------------------------

IMPORTS = [
    "import labkit; labkit.explain(plan)",
    "import labkit; import labkit.explain; labkit.explain(plan)",
    "import labkit.explain; import labkit; labkit.explain(plan)",
    "from labkit.explain import Chain as C; import labkit; assert type(labkit.explain(plan)) is C",
    "import labkit; labkit.explain(plan); from labkit.explain import Chain; labkit.explain(plan)",
    "from labkit import explain; explain(plan); import labkit.explain; labkit.explain(plan)",
    "import labkit.explain.build, labkit.explain.findings; labkit.explain(plan)",
    "from labkit import *; explain(plan)",
    "import labkit; labkit.explain.explain(plan); labkit.explain.Chain",
]


def test_explain_can_be_called_and_imported_in_any_order():
    """Each order starts from a fresh labkit, and runs twice."""
    code = """
import json, sys
from importlib import import_module

for lines in json.loads(sys.argv[1]):
    for name in [name for name in sys.modules if name.partition(".")[0] == "labkit"]:
        del sys.modules[name]
    op = import_module("labkit.op")
    t = op.TensorDesc("float32", [2])
    space = {"plan": op.plan_hardshrink_backward(t, t, 0.5, t)}
    exec(lines, space)
    exec(lines, space)
"""
    command = [sys.executable, "-c", code, json.dumps(IMPORTS)]
    subprocess.run(command, check=True, timeout=60)


def test_reloading_keeps_the_package_callable():
    module = importlib.reload(sys.modules["labkit.explain"])
    assert module is labkit.explain
    assert labkit.explain(plan_hardshrink_backward(A, A, 0.5, A)).ok
    assert "Chain" in dir(module)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = module.nothing


def test_loading_the_package_loads_neither_numpy_nor_the_model():
    code = (
        "import sys, labkit, labkit.explain, labkit.explain.cli\n"
        "assert not {'numpy', 'labkit.op', 'labkit.draw', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_explaining_a_plan_needs_nothing_of_draw_explore_or_sim():
    code = (
        "import sys, labkit\n"
        "from labkit.op import TensorDesc, plan_hardshrink_backward as p\n"
        "t = TensorDesc('float32', [2]); c = labkit.explain(p(t, t, 0.5, t))\n"
        "str(c), c._repr_html_(), c.to_json()\n"
        "bad = [m for m in sys.modules if m.startswith(('labkit.draw', 'labkit.explore', "
        "'labkit.sim', 'labkit.host', 'matplotlib'))]\n"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# -- in one line ----------------------------------------------------------------


def test_repr_is_one_line_and_str_is_the_whole_tale():
    assert repr(example()) == (
        "<Chain of aclnnHardshrinkBackward on Ascend950PR_9599: 0 ACLNN_SUCCESS, launches "
        "BroadcastTo, BroadcastTo, Cast, HardShrinkGrad, workspace 16779264 bytes>"
    )
    refused = repr(backward(f32([2, 3]), f32([4]), f32([2, 3])))
    assert "161002 ACLNN_ERR_PARAM_INVALID, launches nothing, workspace 0 bytes" in refused
    assert len(str(example()).splitlines()) > 20
