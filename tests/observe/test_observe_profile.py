"""Reading profiles: every documented header, every trap of the format, files that are broken."""

import dataclasses

import numpy as np
import pytest

import labkit
from labkit.observe import (
    Observation,
    ObservedDifference,
    ObservedKernel,
    ProfileError,
    compare,
    observe_software,
    read_profile,
)
from labkit.observe.profile import SAMPLE_MARK
from labkit.observe.samples import VARIANTS, write_sample
from labkit.op import TensorDesc, plan_hardshrink, plan_hardshrink_backward

MIXED = plan_hardshrink_backward(
    TensorDesc("float16", (4, 1)),
    TensorDesc("float32", (1, 4)),
    0.5,
    TensorDesc("float32", (4, 4)),
)
PLAIN = plan_hardshrink_backward(
    *[TensorDesc("float32", (64, 64))] * 2, 0.5, TensorDesc("float32", (64, 64))
)

HEAD = "Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Block Num,Input Shapes,Input Data Types,Output Shapes,Output Data Types"
LINE = '0,aclnnHardshrinkBackward_HardShrinkGrad_HardShrinkGrad,HardShrinkGrad,AI_VECTOR_CORE,{start}\t,{time},{blocks},"64,64;64,64",FLOAT;FLOAT,"64,64",FLOAT'


def written(folder, *lines, name="op_summary_20260101.csv", head=HEAD):
    (folder / name).write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return folder


def line(start=1.5, time=2.25, blocks=72):
    return LINE.format(start=start, time=time, blocks=blocks)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("plan", [MIXED, PLAIN])
def test_a_sample_in_every_generation_of_headers_agrees_with_its_plan(tmp_path, variant, plan):
    write_sample(tmp_path, plan, variant=variant)
    observed = read_profile(tmp_path)
    assert [kernel.op_type for kernel in observed.kernels] == [x.op_type for x in plan.launches]
    compared = compare(plan, observed)
    assert compared.agrees and compared.require() is compared
    own = [entry for entry in compared.lines if "HardShrinkGrad" in entry.kernel]
    assert {entry.verdict for entry in own} == {"same"}


def test_a_sample_is_never_taken_for_a_measurement(tmp_path):
    write_sample(tmp_path, PLAIN)
    observed = read_profile(tmp_path)
    assert not observed.measured and observed.source.startswith("format sample, not a measurement")
    assert all(kernel.duration is None and kernel.start is None for kernel in observed.kernels)
    next(tmp_path.rglob(SAMPLE_MARK)).unlink()
    assert read_profile(tmp_path).source == observed.source  # its name still tells
    file = next(tmp_path.rglob("op_summary_*.csv"))
    renamed = read_profile(file.rename(file.with_name("op_summary_20260101.csv")))
    assert not renamed.measured and "no times were taken: this is no measurement" in renamed.notes


def test_a_file_with_times_and_no_mark_is_a_measurement(tmp_path):
    observed = read_profile(written(tmp_path, line()))
    assert observed.measured and observed.notes == ()


def test_a_start_time_ends_with_a_tab_and_orders_the_kernels(tmp_path):
    observed = read_profile(written(tmp_path, line(start=20.5), line(start=3.25, time=7)))
    assert [kernel.start for kernel in observed.kernels] == [3.25, 20.5]
    assert [kernel.duration for kernel in observed.kernels] == [7.0, 2.25]


def test_several_files_of_one_run_are_one_list(tmp_path):
    written(tmp_path, line(start=9), name="op_summary_slice_0.csv")
    written(tmp_path, line(start=1), name="op_summary_slice_1.csv")
    assert [kernel.start for kernel in read_profile(tmp_path).kernels] == [1.0, 9.0]


def test_what_was_not_taken_is_none_and_is_no_difference(tmp_path):
    text = line(start="N/A", time="N/A", blocks=0).replace('"64,64;64,64",FLOAT;FLOAT', "N/A,N/A")
    observed = read_profile(written(tmp_path, text))
    (kernel,) = observed.kernels
    assert (kernel.start, kernel.duration, kernel.block_dim, kernel.input_shapes) == (None,) * 4
    assert any("task-time=l1" in note for note in observed.notes)
    compared = compare(PLAIN, observed)
    assert compared.agrees
    verdicts = {entry.field: entry.verdict for entry in compared.lines}
    assert verdicts["block dim"] == verdicts["input shapes"] == "not taken"
    assert verdicts["output shapes"] == "same"


def test_the_type_is_found_in_the_name_where_it_was_not_taken(tmp_path):
    observed = read_profile(written(tmp_path, line().replace(",HardShrinkGrad,AI", ",N/A,AI")))
    assert observed.kernels[0].op_type == "HardShrinkGrad"


def test_a_scalar_input_leaves_an_empty_place(tmp_path):
    text = line().replace('"64,64;64,64"', '"64,64;"')
    assert read_profile(written(tmp_path, text)).kernels[0].input_shapes == ((64, 64), ())


def test_a_single_file_may_be_named(tmp_path):
    written(tmp_path, line())
    assert len(read_profile(tmp_path / "op_summary_20260101.csv").kernels) == 1


def test_statistics_and_host_functions_are_read(tmp_path):
    written(tmp_path, line())
    written(
        tmp_path,
        "0,HardShrinkGrad,AI_VECTOR_CORE,3,9.0,2.0,3.0,4.0,100.0",
        name="op_statistic_1.csv",
        head="Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)",
    )
    written(
        tmp_path,
        "host,acl,aclnnHardshrinkBackward,12.5,5,2.5,1,4,0.1",
        name="api_statistic_1.csv",
        head="Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance",
    )
    written(
        tmp_path,
        "0,aclnnHardshrinkBackward_HardShrinkGrad_HardShrinkGrad,AI_VECTOR_CORE,2,7,2.25,1.5,3.75",
        name="task_time_1.csv",
        head="Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)",
    )
    observed = read_profile(tmp_path)
    (statistic,) = observed.statistics
    assert (statistic.op_type, statistic.count, statistic.average) == ("HardShrinkGrad", 3, 3.0)
    (api,) = observed.apis
    assert (api.name, api.count, api.average, api.level) == (
        "aclnnHardshrinkBackward",
        5,
        2.5,
        "acl",
    )
    (task,) = observed.tasks
    assert (task.op_type, task.duration, task.stream) == ("HardShrinkGrad", 2.25, 2)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("a,b\n1,2\n", "is no op_summary.*its columns are a, b"),
        ("a,b\n", "is no op_summary.*its columns are a, b"),
        (f"{HEAD}\n0,x,y\n", "line 2, has 3 values for 11 columns"),
    ],
)
def test_a_broken_file_is_told_by_name(tmp_path, text, told):
    (tmp_path / "op_summary_1.csv").write_text(text)
    with pytest.raises(ProfileError, match=rf"op_summary_1\.csv.*{told}"):
        read_profile(tmp_path)


def test_a_file_of_another_kind_is_not_taken_for_kernels(tmp_path):
    head = "Device_id,OP Type,Core Type,Count,Total Time(us)"
    place = written(
        tmp_path, "0,HardShrinkGrad,AI_VECTOR_CORE,1,2.5", name="op_statistic_1.csv", head=head
    )
    with pytest.raises(ProfileError, match=r"op_statistic_1\.csv is no op_summary"):
        read_profile(place / "op_statistic_1.csv")


def test_several_devices_and_several_runs_are_told(tmp_path):
    for run, device in enumerate((0, 1)):
        place = tmp_path / f"PROF_{run}" / "mindstudio_profiler_output"
        place.mkdir(parents=True)
        written(place, f"{device}{line()[1:]}")
    notes = read_profile(tmp_path).notes
    assert any("devices 0, 1" in note for note in notes)
    assert any("2 profiles were read as one" in note for note in notes)
    assert read_profile(tmp_path / "PROF_1").notes == ()


def test_a_name_without_the_l0_function_tells_the_type_too(tmp_path):
    name = "aclnnHardshrinkBackward_HardShrinkGrad_HardShrinkGrad,HardShrinkGrad,"
    text = line().replace(name, "aclnnHardshrinkBackward_HardShrinkGrad,N/A,")
    assert read_profile(written(tmp_path, text)).kernels[0].op_type == "HardShrinkGrad"


def test_a_file_that_is_no_text_is_told(tmp_path):
    (tmp_path / "op_summary_1.csv").write_bytes(b"\xff\xfe\x00\x01" * 9)
    with pytest.raises(ProfileError, match="cannot be read as CSV"):
        read_profile(tmp_path)


@pytest.mark.parametrize("name", ["", "no such folder"])
def test_a_folder_without_a_profile_says_what_makes_one(tmp_path, name):
    with pytest.raises(ProfileError, match=r"no op_summary_\*\.csv.*msprof --export=on"):
        read_profile(tmp_path / name)


# -- predicted against observed ---------------------------------------------------


def kernels_of(plan, **changes):
    """What a machine would report that does what the plan says, with some fields changed."""
    with labkit.open_device("sim", soc=plan.soc.name) as device:
        grad, self = (plan.arguments[name] for name in ("gradOutput", "self"))
        arrays = [np.zeros(desc.shape, desc.dtype.numpy) for desc in (grad, self)]
        call = labkit.hardshrink_backward(*arrays, device=device)
    observed = observe_software(call)
    return observed, [dataclasses.replace(kernel, **changes) for kernel in observed.kernels]


def observation(kernels):
    return Observation("a machine", tuple(kernels), measured=True)


def test_the_software_npu_executes_what_is_predicted():
    observed, _ = kernels_of(MIXED)
    assert [kernel.op_type for kernel in observed.kernels] == [
        *("BroadcastTo", "BroadcastTo", "Cast", "HardShrinkGrad"),
    ]
    assert compare(MIXED, observed).agrees
    assert not observed.measured and "not a measurement" in observed.source


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"core": "AICPU", "task_type": "AI_CPU"}, "core"),
        ({"block_dim": 71}, "block dim"),
        ({"input_dtypes": ("FLOAT16", "FLOAT")}, "input dtypes"),
        ({"output_shapes": ((4096,),)}, "output shapes"),
    ],
)
def test_each_field_that_differs_is_found(changes, field):
    _, kernels = kernels_of(PLAIN, **changes)
    compared = compare(PLAIN, observation(kernels))
    assert [entry.field for entry in compared.differences] == [field]
    with pytest.raises(ObservedDifference, match=f"HardShrinkGrad, {field}: predicted"):
        compared.require()


def test_a_missing_an_extra_and_a_moved_kernel_are_told_apart():
    _, kernels = kernels_of(MIXED)
    missing = compare(MIXED, observation([*kernels[:2], kernels[3]]))
    assert [(x.kernel, x.verdict) for x in missing.differences] == [("3 Cast", "missing")]
    extra = ObservedKernel("ViewCopy", core="AICORE")
    more = compare(MIXED, observation([*kernels, extra]))
    assert [(x.kernel, x.verdict) for x in more.differences] == [("5 ViewCopy", "extra")]
    moved = compare(MIXED, observation([kernels[2], *kernels[:2], kernels[3]]))
    assert {x.verdict for x in moved.differences} == {"missing", "extra"}


def test_kernels_of_other_operators_are_left_out_by_their_names():
    _, kernels = kernels_of(PLAIN)
    other = ObservedKernel("Add", name="aclnnAdd_AddAiCore_Add", core="AICORE")
    assert compare(PLAIN, observation([other, *kernels, other])).agrees


def test_a_call_that_ran_often_is_compared_as_often():
    _, kernels = kernels_of(MIXED)
    assert compare(MIXED, observation(kernels * 3), calls=3).agrees
    assert not compare(MIXED, observation(kernels * 2), calls=3).agrees


def test_an_empty_observation_is_no_agreement():
    compared = compare(PLAIN, observation([]))
    assert not compared.agrees and "no kernel of this operator" in compared.told()


def test_the_forward_operator_is_compared_by_its_own_name(tmp_path):
    desc = TensorDesc("float16", (100,))
    plan = plan_hardshrink(desc, 0.5, desc)
    write_sample(tmp_path, plan)
    assert compare(plan, read_profile(tmp_path)).require().agrees


def test_a_call_that_failed_cannot_be_compared(tmp_path):
    bad = plan_hardshrink_backward(
        TensorDesc("float32", (2,)), TensorDesc("float32", (3,)), 0.5, TensorDesc("float32", (3,))
    )
    with pytest.raises(labkit.LabValueError, match="161002"):
        compare(bad, observation([]))
    with pytest.raises(labkit.LabValueError, match="161002"):
        write_sample(tmp_path, bad)
    with pytest.raises(labkit.LabValueError, match="right would be one of block num"):
        write_sample(tmp_path, PLAIN, variant="new")
    assert list(tmp_path.iterdir()) == []


def test_the_table_is_told_in_chinese_too(monkeypatch):
    observed, _ = kernels_of(PLAIN)
    monkeypatch.setenv("LABKIT_LANG", "zh")
    assert "一致" in str(compare(PLAIN, observed))
