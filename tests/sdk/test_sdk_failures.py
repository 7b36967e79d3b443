"""Installations that load and do not work, built as trees: each failure has its own message."""

import shutil
import subprocess
import sys

import pytest
from conftest_sdk import clean_environment

RUNTIME = """
int aclInit(const char *config) { (void)config; return INIT; }
int aclFinalize(void) { return INIT; }
int aclrtSetDevice(int device) { (void)device; return SET; }
int aclrtGetDeviceCount(unsigned *count) { *count = 0; return INIT; }
"""


@pytest.fixture
def on(tmp_path, root, skip_or_fail):
    """Return a function that runs the lab on a tree whose runtime answers with these codes."""
    if shutil.which("gcc") is None:
        skip_or_fail("no gcc on this machine")

    def run(*arguments, init=0, set_device=0):
        lib = tmp_path / "cann" / "lib64"
        lib.mkdir(parents=True)
        (tmp_path / "cann" / "opp").mkdir()
        (tmp_path / "c.c").write_text(RUNTIME)
        (tmp_path / "empty.c").write_text("int labNothing;")
        for name, source in (
            ("libacl_rt.so", "c.c"),
            ("libnnopbase.so", "empty.c"),
            ("libopapi_nn.so", "empty.c"),
        ):
            codes = (f"-DINIT={init}", f"-DSET={set_device}")
            command = ["gcc", "-shared", "-fPIC", *codes, source, "-o", str(lib / name)]
            subprocess.run(command, cwd=tmp_path, check=True)
        return subprocess.run(
            [sys.executable, "-m", "labkit", *arguments],
            capture_output=True,
            text=True,
            timeout=200,
            cwd=tmp_path,
            env=clean_environment(
                ASCEND_HOME_PATH=str(tmp_path / "cann"), PYTHONPATH=str(root), HOME=str(tmp_path)
            ),
        )

    return run


FAILURES = [
    ({"init": 100039}, "aclInit returned 100039", "devlib"),
    ({"init": 500000}, "aclInit returned 500000", "no driver or no device answers"),
    ({"init": 507008}, "aclInit returned 507008", "older than the chip"),
    ({"set_device": 107001}, "aclrtSetDevice returned 107001", "There is no device"),
    ({"set_device": 507033}, "aclrtSetDevice returned 507033", "npu-smi info"),
    ({}, "aclrtCreateStream was not found", "libacl_rt.so"),
]


@pytest.mark.parametrize(("codes", "what", "advice"), FAILURES)
def test_an_npu_that_was_asked_for_is_refused_with_its_code_and_advice(on, codes, what, advice):
    done = on("run", "--device", "npu", **codes)
    assert done.returncode == 1
    assert what in done.stderr and advice in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("codes", "what", "advice"), FAILURES)
def test_auto_runs_on_the_software_npu_and_says_why(on, codes, what, advice):
    done = on("run", "--device", "auto", **codes)
    assert done.returncode == 0
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("device: ")]
    assert line.startswith("device: software NPU as ") and what in line
    assert "cANN" not in line


def test_the_doctor_tells_the_code_and_that_a_kernel_is_needed(on):
    done = on("doctor", "--device", "npu", init=507008)
    assert done.returncode == 1
    assert "!! NPU: " in done.stdout and "507008" in done.stdout
    assert "LD_LIBRARY_PATH does not name" in done.stdout
    assert "labkit kernel install" in done.stdout


@pytest.mark.parametrize("allowed", ["0", "1"])
def test_the_doctor_never_calls_the_tree_an_npu(in_tree, root, allowed):
    done = in_tree(
        f'"{sys.executable}" -m labkit doctor --device npu',
        check=False,
        PYTHONPATH=str(root),
        LABKIT_ALLOW_SIMULATED=allowed,
    )
    assert done.returncode == (0 if allowed == "1" else 1)
    last = done.stdout.splitlines()[-1]
    assert "calls run on: software NPU as" in last if allowed == "1" else "NOT usable" in last
    assert "LD_LIBRARY_PATH does not name" not in done.stdout  # it was sourced


WATCHED = """
import labkit
from labkit.observe import observe
with labkit.open_device("npu") as dev:
    call = labkit.hardshrink_backward([1.0, 1.0], [0.2, 0.8], device=dev)
    print(dev.is_npu)
try:
    observe(call)
except labkit.DeviceNotAvailable as error:
    print(error)
"""


def test_what_runs_in_the_tree_is_not_shown_as_profiled_on_an_npu(in_tree, root, tmp_path):
    tool = tmp_path / "msprof"
    tool.write_text("#!/bin/sh\nexit 0\n")
    tool.chmod(0o755)
    (tmp_path / "watched.py").write_text(WATCHED)
    told = "msprof watches an NPU, and this is the software NPU as Ascend950PR_9599, behind CANN's"
    for command in ("watched.py", "-m labkit observe"):
        done = in_tree(
            f'PATH="{tmp_path}:$PATH" "{sys.executable}" {command}',
            cwd=tmp_path,
            check=False,
            PYTHONPATH=str(root),
            LABKIT_ALLOW_SIMULATED="1",
        )
        assert told in done.stdout + done.stderr
        assert "msprof: " not in done.stdout
    assert done.returncode == 1


KERNEL = """
import json, os, sys
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="hardshrink-npu")
CODE = '''
import labkit
with labkit.open_device() as dev:
    print(labkit.hardshrink_backward([1.0, 1.0], [0.2, 0.8], device=dev).grad_input.tolist())
    print(dev.name)
    print([note for note in dev.interface.notes])
'''
try:
    said = []
    client.execute_interactive(CODE, timeout=100, output_hook=lambda m: said.append(m["content"]))
    print("".join(c.get("text", "") or "\\n".join(c.get("traceback", [])) for c in said))
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
"""


def test_a_kernel_that_was_installed_finds_the_libraries(sdk, root, tmp_path):
    """Jupyter is started without set_env.sh; the kernel has what the script sets."""
    environ = clean_environment(
        PYTHONPATH=str(root),
        JUPYTER_PATH=str(tmp_path / "share" / "jupyter"),
        LABKIT_ALLOW_SIMULATED="1",
    )
    install = ["kernel", "install", "--set-env", str(sdk / "set_env.sh"), "--prefix", str(tmp_path)]
    for command in (["-m", "labkit", *install], ["-c", KERNEL]):
        done = subprocess.run(
            [sys.executable, *command],
            capture_output=True,
            text=True,
            timeout=200,
            cwd=tmp_path,
            env=environ,
        )
        assert done.returncode == 0, done.stderr
    answer, name, notes = done.stdout.strip().splitlines()
    assert answer == "[0.0, 1.0]"
    assert name.startswith("software NPU as ") and notes == "[]"
