"""Beside torch_npu in one process: its stream is used, and its runtime stays alive.

A stand-in plays torch_npu: it opens the same libraries, initialises them, makes a stream, queues
work of its own on it, and finalises at the end, as the real one does at exit.
"""

import sys

import pytest

STAND_IN = """
import ctypes, os, types

_lib = ctypes.CDLL(os.environ["ASCEND_HOME_PATH"] + "/lib64/libascendcl.so")
_lib.aclrtMemsetAsync.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int32,
                                  ctypes.c_size_t, ctypes.c_void_p]
initialised = _lib.aclInit(None)
_lib.aclrtSetDevice(0)
_stream = ctypes.c_void_p()
_lib.aclrtCreateStream(ctypes.byref(_stream))
_memory = ctypes.c_void_p()
_lib.aclrtMalloc(ctypes.byref(_memory), ctypes.c_size_t(64), 0)

npu = types.SimpleNamespace(
    current_stream=lambda: types.SimpleNamespace(npu_stream=_stream.value))

def work():
    return _lib.aclrtMemsetAsync(_memory, 64, 7, 64, _stream)

def synchronize():
    return _lib.aclrtSynchronizeStream(_stream)

def still_alive():
    return [work(), synchronize()]

def shut_down():
    return [_lib.aclrtFree(_memory), _lib.aclrtDestroyStream(_stream), _lib.aclFinalize()]
"""

OPERATOR = "labkit.hardshrink_backward([1.0, 1.0], [0.2, 0.8], device=dev).grad_input.tolist()"

FIRST = f"""
import torch_npu, labkit
print(torch_npu.initialised)
stream = torch_npu.npu.current_stream().npu_stream
with labkit.open_device("npu", stream=stream) as dev:
    torch_npu.work()
    print({OPERATOR})
    names = [call.name for call in dev.record]
print(names.count("aclrtCreateStream"))
closing = [call.name for call in dev.record]
print(closing.count("aclrtDestroyStream"), closing.count("aclFinalize"))
print(torch_npu.still_alive(), torch_npu.shut_down())
"""

SECOND = f"""
import labkit
with labkit.open_device("npu") as dev:
    import torch_npu
    print(torch_npu.initialised)
    print({OPERATOR})
print([call.name for call in dev.record].count("aclFinalize"))
print(torch_npu.still_alive(), torch_npu.shut_down())
"""


@pytest.fixture
def beside(in_tree, root, tmp_path):
    """Return a function that runs a script with the stand-in on its path."""
    (tmp_path / "torch_npu.py").write_text(STAND_IN)

    def run(script, **more):
        (tmp_path / "script.py").write_text(script)
        return in_tree(
            f'"{sys.executable}" script.py',
            cwd=tmp_path,
            PYTHONPATH=f"{root}:{tmp_path}",
            LABKIT_ALLOW_SIMULATED="1",
            **more,
        ).stdout.splitlines()

    return run


def test_torch_npu_first_its_stream_is_used_and_nothing_of_it_is_taken_away(beside):
    assert beside(FIRST) == ["0", "[0.0, 1.0]", "0", "0 0", "[0, 0] [0, 0, 0]"]


def test_torch_npu_second_the_lab_gives_back_only_its_own_reference(beside):
    assert beside(SECOND) == ["100002", "[0.0, 1.0]", "0", "[0, 0] [0, 0, 0]"]


def test_a_stream_needs_a_device_kind(beside):
    script = """
import labkit
try:
    labkit.open_device("auto", stream=1)
except labkit.LabValueError as error:
    print(error)
"""
    assert "kind='npu'" in beside(script)[0]
