"""msprof, the host log and timing: with stand-ins for what is not here."""

import sys
import textwrap
import time
from pathlib import Path

import pytest

import labkit
from labkit.observe import ProfileError, calls, observe_log, profile, read_log
from labkit.observe import timing as timing_module
from labkit.observe.msprof import find_msprof
from labkit.observe.plog import LogError, environment, launches, parse
from labkit.observe.samples import log_sample
from labkit.observe.timing import Timing, time_operator
from labkit.op import TensorDesc, plan_hardshrink_backward

# -- msprof --------------------------------------------------------------------


@pytest.fixture
def msprof(tmp_path):
    """A stand-in: runs the application and writes what the test put beside it."""
    tool = tmp_path / "bin" / "msprof"
    tool.parent.mkdir()

    def write(body):
        tool.write_text(
            f"#!{sys.executable}\n"
            + textwrap.dedent(
                """
                import os, pathlib, subprocess, sys
                assert os.environ["LABKIT_DEVICE"] == "npu"
                output = sys.argv[1].removeprefix("--output=")
                assert sys.argv[2] == "--task-time=l1"
                application = sys.argv[3:]
                """
            )
            + textwrap.dedent(body)
        )
        tool.chmod(0o755)
        return tool

    return write


RUNS = """
    subprocess.run(application, check=True)
    place = pathlib.Path(output, "PROF_1", "mindstudio_profiler_output")
    place.mkdir(parents=True)
    place.joinpath("op_summary_1.csv").write_text(
        "OP Type,Op Name,Task Duration(us)\\nHardShrinkGrad,a_b_c,2.5\\n"
    )
"""


def test_a_script_is_run_under_msprof_and_its_profile_is_read(msprof, tmp_path):
    marker = tmp_path / "ran"
    tool = msprof(RUNS)
    observed = profile(f"open({str(marker)!r}, 'w').close()", msprof=tool)
    assert marker.exists() and observed.measured
    assert [kernel.op_type for kernel in observed.kernels] == ["HardShrinkGrad"]
    kept = tmp_path / "kept"
    profile("pass", msprof=tool, output=kept)
    again = profile("pass", msprof=tool, output=kept)
    assert len(list(kept.rglob("op_summary_1.csv"))) == 2 and len(again.kernels) == 1


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("print('EK0007 no driver', file=sys.stderr); sys.exit(3)", "ended with 3:\nEK0007"),
        ("print('nothing to say')", "no op_summary.*\nmsprof said:\nnothing to say"),
    ],
)
def test_a_profiler_that_fails_is_told_in_its_own_words(msprof, body, told):
    with pytest.raises(ProfileError, match=told):
        profile("pass", msprof=msprof(body))


def test_a_profiler_that_does_not_end_is_stopped(msprof):
    with pytest.raises(ProfileError, match=r"did not end within 0\.5 s"):
        profile("pass", msprof=msprof("import time; time.sleep(60)"), seconds=0.5)


def test_the_application_is_stopped_with_its_profiler(msprof, tmp_path):
    began = tmp_path / "began"
    script = (
        f"import os, time\nopen({str(began)!r}, 'w').write(f'{{os.getpid()}}.')\ntime.sleep(600)"
    )
    for seconds in (2, 10, 50):  # a busy machine takes longer to start it
        with pytest.raises(ProfileError, match=f"did not end within {seconds} s"):
            profile(script, msprof=msprof(RUNS), seconds=seconds)
        if began.exists() and began.read_text().endswith("."):
            break
    application = int(began.read_text().rstrip("."))
    end = time.monotonic() + 60
    while runs(application) and time.monotonic() < end:
        time.sleep(0.05)
    assert not runs(application)  # it would have kept the device


def runs(process):
    """Whether a process is there and has not ended."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_without_msprof_the_way_to_it_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(labkit.DeviceNotAvailable, match="comes with the CANN toolkit"):
        find_msprof()


# -- the host log ----------------------------------------------------------------

LOG = """\
[INFO] OP(812,python3):2026-11-02-10:00:00.000.010 [op_dfx.cpp:12][NNOP][PrintIn][812] OpName:[aclnnHardshrinkBackward_1] Entering function params
[INFO] OP(812,python3):2026-11-02-10:00:00.000.020 [executor.cpp:9][NNOP][Run][812] OpName:[aclnnHardshrinkBackward_1_CastAiCore] 0 start to Launch Cast, original id:2
[INFO] OP(812,python3):2026-11-02-10:00:00.000.030 [executor.cpp:9][NNOP][Run][812] OpName:[aclnnHardshrinkBackward_1_HardShrinkGrad] 1 start to Launch HardShrinkGrad, original id:3
[DEBUG] OP(812,python3):2026-11-02-10:00:00.000.040 [kernel.cpp:658][NNOP][Tiling][812] Tiling Key: 256, len: 40, numBlocks: 72, Workspace Num: 1
[ERROR] OP(812,python3):2026-11-02-10:00:00.000.005 [x.cpp:70][NNOP][Check][812] errno[161002] OpName:[aclnnHardshrink_2] no such dtype
a second line of the same message
[EVENT] RUNTIME(812,python3):2026-11-02-10:00:00.000.050 [y.cc:1]something else
"""


def test_a_log_is_read_line_by_line(tmp_path):
    (tmp_path / "plog").mkdir()
    (tmp_path / "plog" / "plog-812_1.log").write_text(LOG)
    lines = read_log(tmp_path)
    assert [line.level for line in lines] == ["ERROR", "INFO", "INFO", "INFO", "DEBUG", "EVENT"]
    assert launches(lines, "aclnnHardshrinkBackward") == ("Cast", "HardShrinkGrad")
    first = lines[0]
    assert (first.code, first.operator, first.sequence) == (161002, "aclnnHardshrink", 2)
    assert first.text.endswith("a second line of the same message")
    assert (lines[2].l0, lines[2].pid, lines[2].file, lines[2].line) == (
        *("CastAiCore", 812, "executor.cpp", 9),
    )
    assert lines[4].tiling == (256, 72) and lines[5].module == "RUNTIME"


def test_a_log_sample_is_told_as_one_also_without_its_first_lines():
    desc = TensorDesc("float32", (4,))
    (sample,) = calls(parse(log_sample(plan_hardshrink_backward(desc, desc, 0.5, desc))))
    assert observe_log(sample).source.startswith("format sample, not a measurement")
    (real,) = calls(parse(LOG.splitlines()), "aclnnHardshrinkBackward")
    assert observe_log(real).source == "CANN's log of aclnnHardshrinkBackward_1"


def test_lines_before_the_first_head_belong_to_nothing():
    assert list(parse(["no head\n", ""])) == []


def test_a_folder_without_a_log_and_a_file_that_is_none_are_told(tmp_path):
    with pytest.raises(LogError, match=r"no plog-\*\.log.*ASCEND_PROCESS_LOG_PATH"):
        read_log(tmp_path)
    (tmp_path / "plog-1.log").write_text("hello\n")
    with pytest.raises(LogError, match=r"plog-1\.log has no line as CANN writes them"):
        read_log(tmp_path)


def test_the_variables_turn_the_log_of_operators_on(tmp_path):
    told = environment(tmp_path, "debug")
    assert told["ASCEND_MODULE_LOG_LEVEL"] == "OP=0"
    assert told["ASCEND_PROCESS_LOG_PATH"] == str(tmp_path)
    with pytest.raises(LogError, match="right would be one of debug"):
        environment(tmp_path, "loud")


# -- timing ------------------------------------------------------------------------


def test_on_the_software_npu_only_the_host_is_timed_and_it_says_so():
    with labkit.open_device("sim") as device:
        before = device.interface.leaks()
        timing = time_operator(1000, "float16", device=device, repeats=3, warmup=1)
        assert device.interface.leaks() == before
    assert timing.kernel is None and timing.bandwidth is None and timing.host > 0
    assert "kernel: not measured, this is the software NPU" in str(timing)


def test_on_a_device_with_events_the_kernel_is_timed_between_them(monkeypatch):
    with labkit.open_device("sim") as device:
        before = device.interface.leaks()
        monkeypatch.setattr(device, "kind", "npu")  # take the way of an NPU, on events that work
        timing = time_operator(1 << 16, device=device, repeats=4, warmup=0)
        names = [call.name for call in device.record]
        assert device.interface.leaks() == before
        monkeypatch.undo()
    assert timing.kernel is not None and timing.bytes_moved == 3 * 4 * (1 << 16)
    assert timing.bandwidth == pytest.approx(timing.bytes_moved / timing.kernel)
    assert names.count("aclrtRecordEvent") == 8 and names.count("aclrtEventElapsedTime") == 4
    assert "GB/s" in str(timing)


class Scripted:
    """A clock and events that go by a script: each call takes the seconds that it says.

    The n-th call of phase 1 takes n ms, of phase 2 n * 10 ms, of synchronise n * 100 ms; the
    kernel of the n-th call takes n * 1000 µs by the device's events.
    """

    def __init__(self, device, monkeypatch):
        self.now, self.rounds = 0.0, 0
        call = device.api.call
        operator = "aclnnHardshrinkBackward"
        takes = {f"{operator}GetWorkspaceSize": 1e-3, operator: 1e-2, "aclrtSynchronizeStream": 0.1}

        def slow(name, *args):
            self.rounds += name == f"{operator}GetWorkspaceSize"
            status = call(name, *args)
            self.now += self.rounds * takes.get(name, 5.0)
            if name == "aclrtEventElapsedTime":
                args[0][0] = self.rounds  # milliseconds
            return status

        monkeypatch.setattr(device.api, "call", slow)
        monkeypatch.setattr(timing_module.time, "perf_counter", lambda: self.now)


@pytest.mark.parametrize(("warmup", "repeats", "middle"), [(0, 3, 2), (2, 3, 4), (5, 1, 6)])
def test_what_is_told_are_the_medians_in_seconds_of_the_runs_after_the_warm_up(
    monkeypatch, warmup, repeats, middle
):
    with labkit.open_device("sim") as device, monkeypatch.context() as patched:
        patched.setattr(device, "kind", "npu")
        script = Scripted(device, patched)
        timing = time_operator(1000, device=device, repeats=repeats, warmup=warmup)
    assert script.rounds == warmup + repeats
    assert timing.phase1 == pytest.approx(middle * 1e-3)
    assert timing.phase2 == pytest.approx(middle * 1e-2)
    assert timing.wait == pytest.approx(middle * 0.1)
    assert timing.total == pytest.approx(middle * 0.111)
    assert timing.kernel == pytest.approx(middle * 1e-3)  # an event counts milliseconds
    assert timing.bandwidth == pytest.approx(12_000 / (middle * 1e-3))
    assert f"kernel: {middle * 1000:.1f} µs" in str(timing)


@pytest.mark.parametrize("told", [(2e-6, "that is 50% of the 1000.0 GB/s"), (0.0, "too short")])
def test_the_bandwidth_is_told_against_the_chips_where_both_are_known(told):
    kernel, words = told
    timing = Timing("NPU", "float32", 1, 1, 1e-6, 1e-6, 1e-6, kernel, 1_000_000, peak=1e12)
    assert words in str(timing) and "software" not in str(timing)
    assert timing.share == (pytest.approx(0.5) if kernel else None)


@pytest.mark.parametrize("peak", [0, -1, float("nan"), float("inf")])
def test_a_bandwidth_that_is_none_is_refused(peak):
    with pytest.raises(labkit.LabValueError, match="right would be bytes per second"):
        time_operator(1, peak=peak)


@pytest.mark.parametrize("wrong", [{"elements": 0}, {"elements": 1, "repeats": 0}])
def test_numbers_that_measure_nothing_are_refused(wrong):
    with pytest.raises(labkit.LabValueError, match="at least one"):
        time_operator(**wrong)


def test_a_refused_call_gives_everything_back():
    with labkit.open_device("sim") as device:
        before = device.interface.leaks()
        with pytest.raises(labkit.AclnnError, match="161002"):
            time_operator(8, "int32", device=device)
        assert device.interface.leaks() == before
