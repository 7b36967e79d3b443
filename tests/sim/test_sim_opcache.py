"""The op cache from outside: which phase 1 hits, what a hit launches, what a full cache forgets."""

from __future__ import annotations

import numpy as np
import pytest
from sim_rig import Call, Rig

from labkit.errors import LifetimeError


class Calls:
    """Calls on one device that differ in λ alone, so that each has an entry of its own."""

    def __init__(self, **switches: str) -> None:
        self.rig = Rig(environ=switches)
        self.call = Call(self.rig)

    def phase1(self, lambd: float = 0.5):
        """An executor for that λ, and whether it came out of the cache."""
        call, rig = self.call, self.rig
        status, call.size, executor = rig.phase1(call.grad, call.x, rig.scalar(lambd), call.out)
        assert status == 0
        return executor, rig.npu.executors.is_hit(rig.npu.address(executor))

    def run(self, lambd: float = 0.5) -> bool:
        """Both phases; whether phase 1 hit."""
        executor, hit = self.phase1(lambd)
        assert self.call.phase2(executor) == 0
        self.rig.synchronize()
        return hit


@pytest.fixture
def calls() -> Calls:
    return Calls()


# -- a hit ---------------------------------------------------------------------


def test_a_call_hits_once_its_twin_has_run(calls):
    assert [calls.run(), calls.run(), calls.run(0.25), calls.run(0.25), calls.run()] == [
        *(False, True),
        *(False, True),
        True,
    ]


def test_a_hit_whose_replay_fails_returns_the_code_and_launches_nothing_anew(calls):
    rig, call = calls.rig, calls.call
    calls.run()
    rig.write(call.addresses["out"], b"\x09" * 16)
    executor, hit = calls.phase1()
    assert hit
    before = rig.npu.log.total
    rig.npu.faults.fail_runtime_launch(0, 507899)
    assert call.phase2(executor) == 361001
    assert [entry.state for entry in rig.npu.log.since(before)] == ["runtime-failed"]
    assert rig.codes() == ["EZ9903"] * 3
    assert rig.synchronize() == 0
    assert rig.read(call.addresses["out"], 16) == b"\x09" * 16
    with pytest.raises(LifetimeError, match="phase 2 has run"):
        call.phase2(executor)
    assert calls.run()  # the entry stays
    assert call.result().tolist() == [0, 0, 3, 4]


def test_a_hit_on_a_chain_that_fails_halfway_queues_what_came_before_and_no_more(calls):
    rig, call = calls.rig, calls.call
    call.addresses["grad"] = rig.upload(Call.GRAD.astype(np.float16))
    call.grad = rig.tensor("float16", (4,), call.addresses["grad"])
    calls.run()
    executor, hit = calls.phase1()
    assert hit
    before = rig.npu.log.total
    rig.npu.faults.fail_runtime_launch(1)
    assert call.phase2(executor) == 361001
    assert [entry.state for entry in rig.npu.log.since(before)] == ["queued", "runtime-failed"]


# -- a dead entry --------------------------------------------------------------


def refused_launch(calls, executor):
    calls.rig.npu.faults.fail_runtime_launch()
    assert calls.call.phase2(executor) == 361001


def refused_launcher(calls, executor):
    calls.rig.npu.faults.fail_launcher("HardShrinkGrad", 561002)
    assert calls.call.phase2(executor) == 561002
    calls.rig.npu.faults.clear()


def no_workspace(calls, executor):
    assert calls.rig.phase2(executor, 0, 512) == 161001


def destroyed(calls, executor):
    assert calls.rig("aclDestroyAclOpExecutor", executor) == 0


def repeated(calls, executor):
    assert calls.rig("aclSetAclOpExecutorRepeatable", executor) == 0
    for _ in range(2):
        assert calls.call.phase2(executor) == 0
    assert calls.rig("aclDestroyAclOpExecutor", executor) == 0


ENDS = [refused_launch, refused_launcher, no_workspace, destroyed, repeated]


@pytest.mark.parametrize("end", ENDS)
def test_an_entry_whose_creator_did_not_run_well_once_is_never_hit_but_made_anew(calls, end):
    executor, hit = calls.phase1()
    assert not hit
    end(calls, executor)
    assert [calls.run(), calls.run()] == [False, True]
    assert calls.call.result().tolist() == [0, 0, 3, 4]


@pytest.mark.parametrize("end", [end for end in ENDS if end is not repeated])
def test_a_second_executor_of_a_dead_entry_revives_nothing(calls, end):
    first, _ = calls.phase1()
    second, hit = calls.phase1()
    assert not hit
    end(calls, first)
    assert calls.call.phase2(second) == 0
    assert [calls.run(), calls.run()] == [False, True]


# -- a full cache --------------------------------------------------------------


def test_a_full_cache_drops_a_batch_of_thirty_the_least_recently_used_first():
    calls = Calls(ACLNN_CACHE_LIMIT="40")
    lambds = [place / 64 for place in range(40)]
    assert not any(calls.run(lambd) for lambd in lambds)
    assert len(calls.rig.npu.executors.cache) == 40
    assert calls.run(lambds[0])  # used again: now the most recent one
    assert not calls.run(0.875)  # the 41st pushes thirty out
    assert len(calls.rig.npu.executors.cache) == 11
    kept = [lambds[0], *lambds[31:], 0.875]
    assert all(calls.run(lambd) for lambd in kept)
    assert not any(calls.run(lambd) for lambd in lambds[1:30])


@pytest.mark.parametrize("limit", [1, 2, 29])
def test_a_cache_smaller_than_the_batch_is_emptied(limit):
    calls = Calls(ACLNN_CACHE_LIMIT=str(limit))
    for place in range(limit):
        calls.run(place / 64)
    assert all(calls.run(place / 64) for place in range(limit))
    calls.run(0.875)
    assert len(calls.rig.npu.executors.cache) == 1
    assert calls.run(0.875)


def test_a_destroyed_hit_counts_as_used_too():
    calls = Calls(ACLNN_CACHE_LIMIT="32")
    for place in range(32):
        calls.run(place / 64)
    executor, hit = calls.phase1(0.0)
    assert hit
    destroyed(calls, executor)
    calls.run(0.875)
    assert calls.run(0.0)
    assert not calls.run(1 / 64)
