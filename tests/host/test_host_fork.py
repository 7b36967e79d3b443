"""Processes: importing touches no device, a forked child is told to spawn, spawn works."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import labkit

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def run(root, script: str, timeout: int = 100) -> list[str]:
    """Run a script in a fresh interpreter; its lines."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("LABKIT_")}
    head = f"import os, sys\nsys.path.insert(0, {str(root)!r})\n"
    done = subprocess.run(
        [
            sys.executable,
            "-u",
            "-W",
            "ignore",
            "-c",
            head + script,
        ],  # -u: a fork copies what is buffered
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environ,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


IN_CHILD = """
def in_child(function):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            said = function()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, str(said).encode())
        os._exit(0)
    os.close(write)
    said = b""
    while piece := os.read(read, 65536):
        said += piece
    os.waitpid(pid, 0)
    return said.decode().replace("\\n", " ")
"""


def test_importing_and_looking_around_touches_no_device_and_parses_no_header(root):
    lines = run(
        root,
        """
import labkit
names = dir(labkit)
print("open_device" in names, labkit.DeviceUseError.__name__)
import labkit.op
print(len(labkit.op.socs()) > 50)
print([m for m in ("cffi", "labkit.sim.npu", "labkit.host.device") if m in sys.modules])
import labkit.host.device as device, threading
print(len(device._OPEN), threading.active_count())
""",
    )
    assert lines == ["True DeviceUseError", "True", "[]", "0 1"]


@needs_fork
def test_an_inherited_device_is_refused_in_a_forked_child_with_what_to_do(root):
    lines = run(
        root,
        IN_CHILD
        + """
import labkit
device = labkit.open_device("sim")
print(in_child(lambda: labkit.hardshrink([1.0], device=device)))
print(in_child(lambda: device.call("aclrtSynchronizeDevice")))
print(in_child(device.synchronize))
print(labkit.hardshrink([1.0], device=device).out.tolist())
""",
    )
    for line in lines[:3]:
        assert line.startswith("DeviceUseError: ")
        assert "spawn" in line
    assert lines[3] == "[1.0]"


@needs_fork
def test_a_forked_child_gets_no_default_device_either(root):
    lines = run(
        root,
        IN_CHILD
        + """
import labkit
labkit.hardshrink([1.0])
print(in_child(lambda: labkit.hardshrink([1.0])))
print(in_child(lambda: labkit.default_device()))
print(in_child(lambda: labkit.open_device()))
print(in_child(lambda: labkit.open_device("npu")))
""",
    )
    assert [line.split(":")[0] for line in lines[:2]] == ["DeviceUseError"] * 2
    assert all("spawn" in line for line in lines)


@needs_fork
def test_a_grandchild_is_refused_as_well(root):
    lines = run(
        root,
        IN_CHILD
        + """
import labkit
device = labkit.open_device("sim")
print(in_child(lambda: in_child(lambda: labkit.default_device())))
""",
    )
    assert "spawn" in lines[0]


@needs_fork
def test_the_childs_end_leaves_the_parents_device_alone(root):
    lines = run(
        root,
        IN_CHILD
        + """
import labkit
from labkit.sim import SoftwareNpu
npu = SoftwareNpu("950")
device = labkit.open_device(npu=npu)
def child():
    with device:
        pass
    device.close()
    return npu.runtime.inits
print(in_child(child))
pid = os.fork()
if pid == 0:
    sys.exit(0)  # runs the exit functions
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(npu.runtime.inits, labkit.hardshrink([1.0], device=device).out.tolist())
""",
    )
    assert lines == ["1", "0", "1 [1.0]"]


@needs_fork
def test_a_child_forked_before_any_device_was_opened_may_open_one(root):
    lines = run(
        root,
        IN_CHILD
        + """
import labkit, labkit.operators, labkit.host.device
def child():
    with labkit.open_device("sim") as device:
        return labkit.hardshrink([1.0], device=device).out.tolist()
print(in_child(child))
""",
    )
    assert lines == ["[1.0]"]


@needs_fork
def test_a_child_forked_after_a_device_was_dropped_without_closing_is_refused_too(root):
    # The library is still initialised in the parent, whatever happened to the object.
    lines = run(
        root,
        IN_CHILD
        + """
import gc, labkit
labkit.open_device("sim")
gc.collect()
print(in_child(lambda: labkit.default_device()))
""",
    )
    assert "spawn" in lines[0]


@needs_fork
@pytest.mark.parametrize("fast", ["0", "1"])
def test_the_arithmetic_alone_works_in_a_forked_child_even_on_large_arrays(root, fast):
    lines = run(
        root,
        IN_CHILD
        + f"""
os.environ["LABKIT_FAST"] = "{fast}"
"""
        + """
import signal
import numpy as np
from labkit.op import numerics
numerics.core_count = lambda: 2  # as on a machine with more than one core
x = np.linspace(-1, 1, 1 << 19, dtype=np.float32)
want = int((numerics.hardshrink(x, 0.5) != 0).sum())
def child():
    signal.alarm(60)  # a hang would end the child without a word
    return int((numerics.hardshrink(x, 0.5) != 0).sum()) == want
print(in_child(child))
""",
    )
    assert lines == ["True"]


def _in_worker(values):
    with labkit.open_device("sim") as device:
        return labkit.hardshrink_backward(values, values, device=device).grad_input


def test_a_spawned_worker_opens_a_device_of_its_own_while_the_parent_has_one():
    values = np.array([0.2, 0.7, -3.0], np.float32)
    spawn = multiprocessing.get_context("spawn")
    with labkit.open_device("sim") as device, ProcessPoolExecutor(1, mp_context=spawn) as pool:
        there = pool.submit(_in_worker, values).result(timeout=100)
        here = labkit.hardshrink_backward(values, values, device=device).grad_input
    assert there.tobytes() == here.tobytes()
    assert here.tolist() == [0, values[1], -3]


COMPILING_AT_EXIT = """
import os, sys, threading, time
import numpy as np
from labkit.op import numerics
assert numerics._fast_kernels() is not None
from numba.core import compiler
compile_extra, began = compiler.compile_extra, threading.Event()

def slow(*args, **options):
    began.set()
    time.sleep(1)
    made = compile_extra(*args, **options)
    print("compiled", flush=True)
    return made

compiler.compile_extra = slow
x = np.ones(64, np.float32)
threading.Thread(target=numerics.hardshrink, args=(x, 0.5), daemon=True).start()
began.wait()
if sys.argv[1] == "fork":
    pid = os.fork()
    if pid:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        print("child ended", flush=True)
"""


@pytest.mark.parametrize("how", ["alone", "fork"])
def test_an_interpreter_that_ends_waits_for_the_thread_that_compiles(root, how, tmp_path):
    pytest.importorskip("numba")
    if how == "fork" and not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COMPILING_AT_EXIT, how],
        capture_output=True,
        text=True,
        timeout=100,
        cwd=root,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "LABKIT_FAST": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "compiled" in done.stdout
    assert ("child ended" in done.stdout) == (how == "fork")


MIXED_UP_CACHE = """
import sys
import numpy as np
from labkit.op import numerics
assert numerics._fast_kernels() is not None
for dtype in sys.argv[1:]:
    x = np.array([0.25, 0.75, -3, 1] * 3, dtype)
    print(numerics.hardshrink(x, 0.5).tolist() == [0, 0.75, -3, 1] * 3)
"""


def test_a_compiled_cache_that_two_processes_mixed_up_is_made_anew(root, tmp_path):
    pytest.importorskip("numba")

    def compute(*dtypes: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", MIXED_UP_CACHE, *dtypes],
            capture_output=True,
            text=True,
            timeout=100,
            cwd=root,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "LABKIT_FAST": "1"},
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.split()

    assert compute("float32", "float16") == ["True"] * 2
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*.nbc")}
    pairs = [
        (first, second) for first in kept for second in kept if first.name[:-6] == second.name[:-6]
    ]
    mixed = [(first, second) for first, second in pairs if kept[first] != kept[second]]
    assert mixed
    for first, second in mixed:
        first.write_bytes(kept[second])
    assert compute("float32", "float16") == ["True"] * 2
    assert compute("float16", "float32") == ["True"] * 2
