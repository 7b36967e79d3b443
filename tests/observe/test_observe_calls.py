"""Calls in a log, calls made again as a script, and the command: with samples and stand-ins."""

import json
import subprocess
import sys

import pytest

import labkit
from labkit.cli import main
from labkit.explain.calls import plan_of_call
from labkit.observe import again, call_script, calls, compare, observe, observe_log, read_log
from labkit.observe.plog import parse
from labkit.observe.samples import log_sample, write_log_sample, write_sample
from labkit.op import Scalar, TensorDesc, plan_hardshrink, plan_hardshrink_backward


def plan(grad, x, out, lambd=0.5, soc="Ascend950PR_9599"):
    return plan_hardshrink_backward(
        TensorDesc(*grad), TensorDesc(*x), lambd, TensorDesc(*out), soc=soc
    )


MIXED = plan(("float16", (4, 1)), ("float32", (1, 4)), ("float32", (4, 4)))
REFUSED = plan(("float32", (3,)), ("float32", (2,)), ("float32", (3,)))
STRIDED = plan(
    ("bfloat16", (4, 6), (1, 4)),
    ("float32", (4, 6), (9, 1), 2, (40,)),
    ("float32", (4, 6), (8, 1), 0, (4, 8)),
    0.3,
)
FIRST_GENERATION = plan(
    ("float16", (3, 2)),
    ("float16", (3, 2)),
    ("float32", (3, 2), None, 0, (12,)),
    soc="Ascend910A",
)
FORWARD = plan_hardshrink(TensorDesc("float16", (3, 5)), -1.0, TensorDesc("float16", (3, 5)))
ZERO_D = plan(("float32", ()), ("float16", (1,)), ("float32", (1,)), Scalar(1, "int64"))
PLANS = {
    "mixed": MIXED,
    "strided": STRIDED,
    "first generation": FIRST_GENERATION,
    "forward": FORWARD,
    "0-d": ZERO_D,
}

# -- the log ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLANS)
def test_the_log_of_a_call_agrees_with_its_plan(tmp_path, name):
    what = PLANS[name]
    (call,) = calls(read_log(write_log_sample(tmp_path, what)))
    assert (call.operator, call.sequence, call.codes) == (what.operator, 1, ())
    assert compare(what, observe_log(call)).require().agrees


def test_the_sample_says_that_no_machine_wrote_it(tmp_path):
    file = write_log_sample(tmp_path, MIXED)
    assert "A format sample" in file.read_text(encoding="utf-8").splitlines()[0]
    assert (file.parent / "FORMAT-SAMPLE.txt").is_file()
    assert {line.time[:4] for line in read_log(tmp_path)} == {"2000"}


def test_a_tiling_belongs_to_the_launch_before_it():
    call = calls(parse(log_sample(STRIDED)))[0]
    assert [bool(tiling) for tiling in call.tilings] == [
        launch.op_type == "HardShrinkGrad" for launch in STRIDED.launches
    ]
    found = labkit.op.tile(24, "float32", soc="Ascend950PR_9599")
    assert (found.tiling_key, found.block_dim) in call.tilings


def test_a_block_dim_in_the_log_is_compared():
    text = [line.replace("numBlocks: 16", "numBlocks: 8") for line in log_sample(MIXED)]
    compared = compare(MIXED, observe_log(calls(parse(text))[0]))
    assert [line.field for line in compared.differences] == ["block dim"]


def test_calls_that_stand_between_one_another_are_kept_apart():
    one, two = list(log_sample(MIXED)), list(log_sample(STRIDED, first=2))
    mixed = [line for pair in zip(one, two) for line in pair] + one[len(two) :] + two[len(one) :]
    first, second = calls(parse(mixed))
    assert first.launches == tuple(x.op_type for x in MIXED.launches)
    assert second.launches == tuple(x.op_type for x in STRIDED.launches)
    assert calls(parse(mixed), "aclnnHardshrink") == ()


def test_a_refused_call_leaves_its_code_and_no_launch():
    _, refused = calls(parse(log_sample(MIXED, REFUSED)))
    assert refused.codes == (161002,) and refused.launches == ()


def test_a_log_without_launches_says_which_level_has_them():
    quiet = [line for line in log_sample(MIXED) if " to Launch " not in line]
    compared = compare(MIXED, observe_log(calls(parse(quiet))[0]))
    assert not compared.agrees and "level to info" in compared.told()


def test_a_line_says_what_it_says_without_its_head():
    lines = list(parse(log_sample(REFUSED)))
    assert lines[0].said == "Entering function aclnnHardshrinkBackwardGetWorkspaceSize."
    assert lines[-1].said == REFUSED.message and lines[-1].code == 161002
    assert {line.thread for line in lines} == {1}


# -- the call made again --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mixed", "strided", "forward", "0-d"])
def test_a_script_makes_the_same_call(name, monkeypatch):
    """The script runs here, on the software NPU; the call it makes is planned again."""
    what = PLANS[name]
    made = []
    for function in ("hardshrink", "hardshrink_backward"):
        real = getattr(labkit, function)
        monkeypatch.setattr(
            labkit, function, lambda *a, real=real, **k: made.append(real(*a, **k)) or made[-1]
        )
    with labkit.open_device("sim", soc=what.soc.name) as device:
        monkeypatch.setattr("labkit.operators.default_device", lambda: device)
        exec(call_script(what, calls=2), {"__name__": "observed"})
    assert len(made) == 2 and all(call.ok for call in made)
    again_planned = plan_of_call(made[0])
    assert again_planned.launches == what.launches and again_planned.lambd == what.lambd
    assert again_planned.workspace_size == what.workspace_size
    assert dict(again_planned.arguments) == dict(what.arguments)


def test_a_script_runs_by_itself(tmp_path):
    file = tmp_path / "observed.py"
    file.write_text(call_script(STRIDED), encoding="utf-8")
    subprocess.run(
        [sys.executable, file], check=True, env={**_environment(), "LABKIT_DEVICE": "sim"}
    )


def _environment():
    import os
    from pathlib import Path

    root = str(Path(__file__).resolve().parents[2])
    return {**os.environ, "PYTHONPATH": root}


def test_what_cannot_be_made_again_is_told():
    with pytest.raises(labkit.LabValueError, match="161002"):
        call_script(REFUSED)
    nothing = plan(("complex32", (0,)), ("float32", (0,)), ("float32", (0,)))
    if nothing.ok:
        with pytest.raises(labkit.LabValueError, match="gradOutput is COMPLEX32"):
            call_script(nothing)


def test_observe_takes_what_the_software_npu_says_and_profiles_on_an_npu(monkeypatch):
    with labkit.open_device("sim") as device:
        call = labkit.hardshrink_backward([1.0], [0.8], device=device)
    assert compare(call, observe(call)).agrees
    asked = []
    monkeypatch.setattr(again, "profile", lambda script: asked.append(script) or "profile")
    call.executed, call.on_npu = None, True  # as after a call on an NPU
    assert observe(call) == "profile" and "hardshrink_backward(gradOutput" in asked[0]
    with pytest.raises(labkit.LabValueError, match=r"labkit\.observe\.observe"):
        labkit.observe.observe_software(call)


# -- the command ------------------------------------------------------------------------------

REST = ["--self", "float32:1,4", "--out", "float32:4,4"]


@pytest.fixture
def folder(tmp_path):
    write_sample(tmp_path, MIXED)
    return str(tmp_path)


@pytest.mark.parametrize(("grad", "code"), [("float16:4,1", 0), ("float32:4,1", 1)])
def test_the_command_ends_with_one_where_something_differs(folder, capsys, grad, code):
    assert main(["observe", folder, "--grad", grad, *REST]) == code
    told = capsys.readouterr().out
    assert "format sample, not a measurement" in told
    assert ("nothing differs" in told) is (code == 0)
    assert ("3  -               Cast            extra" in told) is (code == 1)


def test_the_command_has_fields_and_json(folder, capsys):
    call = ["observe", folder, "--grad", "float16:4,1", *REST]
    assert main([*call, "--fields"]) == 0
    assert "block dim      16" in capsys.readouterr().out
    assert main([*call, "--json", "--soc", "Ascend950PR_950z"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["agrees"] is False and told["measured"] is False
    wrong = [line for line in told["lines"] if line["verdict"] == "differs"]
    assert [(line["field"], line["predicted"], line["observed"]) for line in wrong] == [
        ("block dim", "8", "16")
    ]


def test_the_command_takes_the_forward_operator_and_a_file(tmp_path, capsys):
    write_sample(tmp_path, FORWARD)
    (file,) = tmp_path.rglob("op_summary_*.csv")
    assert main(["observe", str(file), "--forward", "--self", "float16:3,5", "--lambd", "-1"]) == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["no such folder"], "no op_summary"),
        (["FOLDER", "--grad", "float16:4,2", *REST], "161002"),
        (["FOLDER", "--grad", "float16:4,1", *REST, "--calls", "0"], "at least 1"),
        (["FOLDER", "--grad", "half"], "is no tensor"),
    ],
)
def test_the_command_says_what_would_be_right(folder, capsys, arguments, told):
    arguments = [folder if text == "FOLDER" else text for text in arguments]
    assert main(["observe", *arguments]) == 1
    assert told in capsys.readouterr().err


def test_the_command_makes_the_call_itself_on_an_npu(folder, capsys, monkeypatch):
    from labkit.observe import msprof, read_profile

    class Npu:
        soc = "Ascend950PR_950z"
        is_npu = True

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

    asked = []

    def profile(script):
        asked.append(script)
        return read_profile(folder)

    monkeypatch.setattr("labkit.operators.open_device", lambda *a, **k: Npu())
    monkeypatch.setattr(msprof, "profile", profile)
    assert main(["observe", "--grad", "float16:4,1", *REST]) == 1  # the sample is of another chip
    assert "Ascend950PR_950z" in capsys.readouterr().out
    assert "range(1)" in asked[0]
