"""What the real framework did in 127 scripted sequences: phase 2, repeat runs, misuse, messages.

Lenient mode returns what was recorded, also where the real thing only got away
with it. Strict mode raises there, and where a call is legal but dangerous.
"""

import json

import pytest
import vector_files
from lifecycle_script import HAS_OP_CACHE, Script

import labkit

SEQUENCES = {row["id"]: row for row in vector_files.rows("lifecycle")}

# The tensor of an undefined dtype cannot be written among a sequence's tensors.
FIRST = {"errs.undefined_dtype_tensor": [["tensor", "u", {"dtype": -1, "shape": [1]}]]}

# Legal for the framework, which looks at nothing here; the kernels would write anywhere.
DANGEROUS = {
    "p2.ws_null_size0": (1, labkit.DeviceMemoryError, "given 0"),
    "p2.ws_nonnull_size0": (1, labkit.DeviceMemoryError, "given 0"),
    "p2.ws_small": (1, labkit.DeviceMemoryError, "given 1"),
    "rep.other_size": (3, labkit.DeviceMemoryError, "given 1"),
    "p2.unaligned_ws.plain": (1, labkit.DeviceMemoryError, "not aligned"),
    "p2.unaligned_ws.mixed": (1, labkit.DeviceMemoryError, "not aligned"),
    "cache.other_addresses": (6, labkit.DeviceMemoryError, "null device pointer"),
    "cache.null_addresses_first": (1, labkit.DeviceMemoryError, "null device pointer"),
    "cache.creator_ws_null_size0": (1, labkit.DeviceMemoryError, "given 0"),
}

# Steps that are undefined on the real thing (use after free), and what it was seen to return.
UNDEFINED = {
    "p2.twice": (2, 161001),
    "p2.twice_nocache": (2, 161001),
    "rep.ws_null_size_pos_then_run": (4, 161001),
    "rep.destroy_tensors_first": (7, 0),
    "des.after_p2": (2, 0),
    "des.then_p2": (2, 161001),
    "life.tensors_destroyed_before_p2": (5, 0),
}


def needs_op_cache(row):
    return "cache_hit" in json.dumps(row["results"]) or row["id"].startswith("cache.evicted")


PLAYED = [name for name, row in SEQUENCES.items() if HAS_OP_CACHE or not needs_op_cache(row)]


def steps(name):
    """(number, step, recorded result) of a sequence."""
    row = SEQUENCES[name]
    assert len(row["calls"]) == len(row["results"])
    return [
        (number, step, visible(recorded))
        for number, (step, recorded) in enumerate(zip(row["calls"], row["results"], strict=True))
    ]


def visible(recorded):
    """A recorded result without the stream, where no launch got as far as a stream's queue."""
    arrived = [launch for launch in recorded.get("launched", ()) if len(launch) == 3]
    return {key: value for key, value in recorded.items() if key != "stream" or arrived}


def start(name, *, strict):
    script = Script(SEQUENCES[name], strict=strict)
    for step in FIRST.get(name, ()):
        script.play(step)
    return script


def undefined(recorded):
    return recorded.get("undefined_use_after_free", False)


@pytest.mark.parametrize("name", PLAYED)
def test_lenient_mode_returns_what_the_framework_returned(name):
    script = start(name, strict=False)
    for number, step, recorded in steps(name):
        if not undefined(recorded):
            assert script.play(step) == recorded, f"step {number}: {step}"
        elif isinstance(recorded["seen"], int):
            assert script.play(step)["ret"] == recorded["seen"], f"step {number}: {step}"
        else:  # the process ended there: no code to return
            with pytest.raises(labkit.LifetimeError):
                script.play(step)


@pytest.mark.parametrize("name", [name for name in PLAYED if name not in DANGEROUS])
def test_strict_mode_differs_only_where_the_real_thing_is_undefined(name):
    script = start(name, strict=True)
    for number, step, recorded in steps(name):
        if not undefined(recorded):
            assert script.play(step) == recorded, f"step {number}: {step}"
            continue
        with pytest.raises(labkit.LifetimeError) as caught:
            script.play(step)
        seen = recorded["seen"]
        assert caught.value.seen == (seen if isinstance(seen, int) else None), f"step {number}"


@pytest.mark.parametrize("name", DANGEROUS)
def test_strict_mode_refuses_a_workspace_that_the_kernels_cannot_use(name):
    at, error, words = DANGEROUS[name]
    script = start(name, strict=True)
    for number, step, recorded in steps(name):
        if number < at:
            assert script.play(step) == recorded, f"step {number}: {step}"
    with pytest.raises(error, match=words) as caught:
        script.play(SEQUENCES[name]["calls"][at])
    assert type(caught.value) is error


@pytest.mark.parametrize("name", [*DANGEROUS, *UNDEFINED])
def test_after_a_refusal_the_device_is_as_usable_as_before(name):
    script = start(name, strict=True)
    at = (DANGEROUS | UNDEFINED)[name][0]
    for number, step, _ in steps(name):
        if number < at:
            script.play(step)
    with pytest.raises(labkit.LabError):
        script.play(SEQUENCES[name]["calls"][at])
    for tensor in ("G", "X", "O"):
        script.do_tensor(tensor, {"dtype": "FLOAT", "shape": [4, 4]})
    script.do_scalar("S", {"dtype": "FLOAT", "value": 0.5})
    assert script.play(["phase1", "G", "X", "S", "O", "W", "E"])["ret"] == 0
    assert script.play(["phase2", "ws", "W", "E", "stream"])["launched"] == [
        ["HardShrinkGrad", "AICORE", ["G", "X", "O", "ws"]]
    ]
    assert script.call("aclrtSynchronizeStream", script.stream("stream")) == 0


def test_the_undefined_steps_are_these():
    found = {
        name: (number, recorded["seen"])
        for name in PLAYED
        for number, _, recorded in steps(name)
        if undefined(recorded) and not needs_op_cache(SEQUENCES[name])
    }
    assert found == UNDEFINED


def test_no_sequence_is_silently_left_out():
    left_out = [name for name in SEQUENCES if name not in PLAYED]
    assert len(SEQUENCES) == 127
    assert len(left_out) == (0 if HAS_OP_CACHE else 40)
    assert all(needs_op_cache(SEQUENCES[name]) for name in left_out)
    assert sum(map(needs_op_cache, SEQUENCES.values())) == 40
