"""What a call gave, and what it failed with, in another process: pickled, copied, raised again."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys

import numpy as np
import pytest
from exact import assert_same_bits

import labkit
from labkit.errors import AclnnError, DeviceUseError, LabError

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
WAYS = [
    *(
        pytest.param(lambda x, p=p: pickle.loads(pickle.dumps(x, p)), id=f"pickle{p}")
        for p in PROTOCOLS
    ),
    pytest.param(copy.copy, id="copy"),
    pytest.param(copy.deepcopy, id="deepcopy"),
]


def kinds() -> list[type[LabError]]:
    """Every error of the lab: all modules are loaded, so that none is missed."""
    for module in pkgutil.walk_packages(labkit.__path__, "labkit."):
        if (
            not module.name.endswith(("__main__", ".stub", ".solution"))
            and ".data." not in module.name
        ):
            importlib.import_module(module.name)
    found, todo = [], [LabError]
    while todo:
        kind = todo.pop()
        if kind.__module__.startswith("labkit"):
            found.append(kind)
        todo += kind.__subclasses__()
    return sorted(set(found), key=lambda kind: kind.__qualname__)


def _parameters(kind: type[LabError]) -> list[inspect.Parameter]:
    if isinstance(kind.__init__, type(BaseException.__init__)):
        return []  # Python's own: any arguments
    return list(inspect.signature(kind).parameters.values())


def made(kind: type[LabError]) -> LabError:
    """An error of that kind, with a value for all that its constructor takes."""
    values = {"status": 161002, "seen": 161001, "name": "NAME", "call": "aclrtMalloc"}
    wanted = _parameters(kind)
    named = {
        parameter.name: values.get(parameter.name, "what the library said")
        for parameter in wanted
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    placed = [p for p in wanted if p.kind is p.POSITIONAL_OR_KEYWORD]
    error = (
        kind("what was wrong", **named) if len(placed) < 2 else kind("what", ["was wrong"], **named)
    )
    if sys.version_info >= (3, 11):
        error.add_note("seen in the third cell")
    return error


def test_the_walk_finds_the_errors_of_all_parts():
    names = {kind.__name__ for kind in kinds()}
    assert names >= {"AclnnError", "LifetimeError", "TilingError", "LogError", "NotebookError"}
    assert names >= {"MissingSymbol", "ToolError", "KernelError", "ObservedDifference", "SdkError"}


@pytest.mark.parametrize("way", WAYS)
def test_every_error_arrives_as_it_was(way):
    for kind in kinds():
        error = made(kind)
        again = way(error)
        assert type(again) is kind
        assert again.args == error.args
        assert str(again) == str(error)
        assert again.__dict__ == error.__dict__
        assert again is not error


def refused() -> AclnnError:
    with labkit.open_device("sim", soc="910b") as device:
        with pytest.raises(AclnnError) as caught:
            labkit.hardshrink_backward(np.zeros(2), np.zeros(2), device=device)
    return caught.value


@pytest.mark.parametrize("way", WAYS)
def test_the_error_of_a_refused_call_keeps_code_name_call_and_message(way):
    error = refused()
    again = way(error)
    assert (again.status, again.name) == (161002, "ACLNN_ERR_PARAM_INVALID")
    assert again.call == "aclnnHardshrinkBackwardGetWorkspaceSize"
    assert again.message == error.message != ""
    assert str(again) == str(error)


PROGRAM = """
import concurrent.futures, multiprocessing, numpy as np, sys
import labkit

def refused(kind):
    with labkit.open_device("sim", soc="910b") as device:
        if kind == "shape":
            return labkit.hardshrink_backward([1.0] * 3, [1.0] * 4, device=device).status
        if kind == "value":
            return labkit.hardshrink_backward("no numbers", [1.0], device=device).status
        if kind == "runtime":
            device.api.check("aclrtSetDevice", 99)
        return labkit.hardshrink_backward([1.0], [1.0], device=device)

if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(1) as pool, concurrent.futures.ProcessPoolExecutor(1, spawn) as other:
        submits = (
            lambda kind: pool.apply_async(refused, (kind,)).get,
            lambda kind: other.submit(refused, kind).result,
        )
        for submit in submits:
            for kind in ("shape", "value", "runtime"):
                try:
                    submit(kind)(timeout=60)
                except labkit.LabError as error:
                    print(kind, type(error).__name__, getattr(error, "status", None),
                          getattr(error, "call", None), str(error) != "")
            print(submit("well")(timeout=60).grad_input.tolist())
"""


def test_a_refused_call_in_a_spawned_pool_reaches_the_parent(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    ended = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr
    lines = [
        "shape AclnnError 161002 aclnnHardshrinkBackwardGetWorkspaceSize True",
        "value LabValueError None None True",
        "runtime AclError 107001 aclrtSetDevice True",
        "[1.0]",
    ]
    assert ended.stdout.splitlines() == lines * 2


# -- calls -----------------------------------------------------------------------------


def a_call(**how) -> labkit.host.Call:
    with labkit.open_device("sim", soc="950") as device:
        x = np.array([[0.25, 0.5], [0.75, -1]], np.float16).T
        return labkit.hardshrink_backward(np.ones((2, 2), np.float32), x, device=device, **how)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("looked_at", [False, True])
def test_a_call_arrives_with_its_result_and_its_record_as_data(way, looked_at):
    call = a_call()
    before = [str(entry) for entry in call.record] if looked_at else None
    again = way(call)
    assert_same_bits(again.grad_input, call.grad_input)
    assert [str(entry) for entry in again.record] == (before or [str(e) for e in call.record])
    assert again.record[0].nanoseconds == call.record[0].nanoseconds
    assert (again.status, again.workspace_size, again.launches) == (
        0,
        call.workspace_size,
        call.launches,
    )
    assert again.arguments == call.arguments
    assert again.executed == call.executed
    assert labkit.explain(again) == labkit.explain(call)
    assert repr(again) == repr(call)


@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_was_refused_arrives_with_its_error(way):
    with labkit.open_device("sim") as device:
        call = labkit.hardshrink_backward([1.0] * 3, [1.0] * 4, device=device, check=False)
    again = way(call)
    assert (again.status, again.error.status) == (161002, 161002)
    assert again.message == call.message != ""
    assert again.error.message == call.message


@pytest.mark.parametrize("way", WAYS[:-2])
def test_a_pickled_call_holds_nothing_of_the_machine(way):
    """Bytes and texts alone: no pointer of cffi, no device, no array that lies over a storage."""
    again = way(a_call(out=np.ones((4, 4), np.float32)[::2, ::2]))
    seen: set[int] = set()
    todo: list[object] = [again]
    while todo:
        item = todo.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        home = type(item).__module__
        assert home != "_cffi_backend", item
        assert not home.startswith(("labkit.sim.npu", "labkit.host.device")), item
        if isinstance(item, np.ndarray):
            continue
        if isinstance(item, dict):
            todo += [*item, *item.values()]
        elif isinstance(item, (list, tuple, set, frozenset)):
            todo += item
        slots = getattr(type(item), "__slots__", ())
        todo += [getattr(item, name) for name in slots if hasattr(item, name)]
        todo += getattr(item, "__dict__", {}).values()
    assert again.grad_input.tolist() == a_call().grad_input.tolist()


def test_the_copy_of_a_call_is_independent_of_it():
    call = a_call()
    again = copy.deepcopy(call)
    call.grad_input[...] = 7
    assert again.grad_input.tolist() == a_call().grad_input.tolist()


# -- what stays ------------------------------------------------------------------------


def test_devices_and_what_belongs_to_them_are_refused_in_words():
    with labkit.open_device("sim") as device:
        panel = labkit.explore.mask(device, name="that stays")
        for thing in (device, device.api, device.interface, device._session, device._worker, panel):
            for way in WAYS:
                with pytest.raises(DeviceUseError, match="belongs to this process") as caught:
                    way.values[0](thing)
                assert type(thing).__name__ in str(caught.value)
        panel.close()
        assert labkit.hardshrink([1.0], device=device).out.tolist() == [1.0]  # and it still works
