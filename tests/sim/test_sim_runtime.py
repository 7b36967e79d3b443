"""The runtime half of the software NPU, row by row of what CANN's runtime returns."""

from __future__ import annotations

import os
import weakref

import numpy as np
import pytest
from sim_rig import A2, A3, A910, A950, D2D, D2H, H2D, H2H, NULL, Call, Rig, in_thread

from labkit.errors import DeviceMemoryError, LabError, LifetimeError
from labkit.sim import SoftwareNpu

POISON = b"\xcd"


def untaken(npu: SoftwareNpu, name: str, *args):
    """A C call as foreign code makes it: nobody asks for the error that it left."""
    return npu.symbol(name)(*args)


# -- init and finalise ---------------------------------------------------------


def test_the_first_init_gives_0_and_every_further_one_repeat_initialize():
    rig = Rig()
    assert [rig("aclInit", NULL) for _ in range(3)] == [0, 100002, 100002]


def test_a_refused_init_still_counts_and_finalize_reference_counts_back():
    rig = Rig()
    for _ in range(3):
        rig("aclInit", NULL)
    count = rig.new("uint64_t *", 99)
    left = []
    for _ in range(3):
        assert rig("aclFinalizeReference", count) == 0
        left.append(count[0])
    assert left == [2, 1, 0]
    assert rig("aclFinalizeReference", count) == 100037


def test_finalize_reference_takes_a_null_pointer():
    rig = Rig()
    assert rig("aclFinalizeReference", NULL) == 100037
    rig("aclInit", NULL)
    assert rig("aclFinalizeReference", NULL) == 0
    assert rig("aclFinalizeReference", NULL) == 100037


def test_finalize_clears_everybodys_count_at_once_and_a_second_one_is_refused():
    rig = Rig()
    rig("aclInit", NULL)
    rig("aclInit", NULL)
    assert rig("aclFinalize") == 0
    assert rig("aclFinalize") == 100037
    assert rig("aclFinalizeReference", NULL) == 100037


def test_init_after_finalize_is_allowed_and_is_a_first_one_again():
    rig = Rig()
    for _ in range(3):
        assert rig("aclInit", NULL) == 0
        assert rig("aclFinalize") == 0


def test_finalize_before_any_init_is_not_refused_but_a_second_one_is():
    rig = Rig()
    assert rig("aclFinalize") == 0
    assert rig("aclFinalize") == 100037
    assert rig("aclInit", NULL) == 0


def test_the_aclnn_init_pair_is_optional_and_always_fine():
    rig = Rig()
    assert rig("aclnnInit", NULL) == 0
    assert rig("aclnnFinalize") == 0


# -- the config file of aclInit ------------------------------------------------


def init_with(rig: Rig, path) -> int:
    return rig("aclInit", rig.new("char[]", os.fsencode(path)))


@pytest.fixture
def config(tmp_path):
    def write(content: bytes, name: str = "acl.json"):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    "content",
    [
        b"{}",
        b"[]",
        b"",
        b'\xef\xbb\xbf{"dump": {}}',
        b'{"a": ' * 10 + b"1" + b"}" * 10,
        b"[" + b"[]," * 40 + b"{}]",
        b'{"err_msg_mode": "1"}\n\0 what is behind a null byte is not read',
    ],
)
def test_init_takes_a_json_file_and_an_empty_one(config, content):
    rig = Rig()
    assert init_with(rig, config(content)) == 0
    assert rig("aclInit", NULL) == 100002
    assert rig.messages() == []


def test_init_takes_an_empty_path_for_no_file():
    assert init_with(Rig(), "") == 0


def test_init_refuses_a_file_that_is_not_there_and_names_it(tmp_path):
    rig = Rig()
    missing = tmp_path / "no such file.json"
    assert init_with(rig, missing) == 100003
    (entry,) = rig.npu.messages.take()
    assert entry.code == "EH0003"
    assert dict(entry.fields)["path"] == str(missing)
    assert dict(entry.fields)["reason"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads anything")
def test_init_refuses_a_file_that_may_not_be_read(config):
    rig, secret = Rig(), config(b"{}")
    secret.chmod(0)
    assert init_with(rig, secret) == 100003
    assert rig.codes() == ["EH0003"]


def test_init_refuses_a_folder_a_pipe_and_what_is_too_long_or_too_large(config, tmp_path):
    rig = Rig()
    os.mkfifo(tmp_path / "pipe")
    large = config(b" " * (10 * 1024 * 1024 + 1))
    for path in (tmp_path, tmp_path / "pipe", large):
        assert init_with(rig, path) == 100003
        (entry,) = rig.npu.messages.take()
        assert entry.code == "EH9999"
        assert str(path) in entry.text
    assert init_with(rig, "x" * 5000) == 100003
    assert rig.codes() == ["EH0003"]
    assert rig("aclInit", NULL) == 0


@pytest.mark.parametrize(
    "content", [b"{", b"{'a': 1}", b"{} {}", b" ", b"\xff\xfe{}", b"NaN", b'{"a": 1,}', b"1" * 5000]
)
def test_init_refuses_what_is_no_json(config, content):
    rig, path = Rig(), config(content)
    assert init_with(rig, path) == 100006
    (entry,) = rig.npu.messages.take()
    assert entry.code == "EH0004"
    assert dict(entry.fields)["path"] == str(path)


@pytest.mark.parametrize("content", [b"[" * 11 + b"]" * 11, b'{"a": ' * 11 + b"1" + b"}" * 11])
def test_init_refuses_a_file_that_is_nested_deeper_than_10(config, content):
    rig = Rig()
    assert init_with(rig, config(content)) == 100006
    assert rig.codes() == ["EH9999"]


def test_a_refused_init_counts_for_nothing(config):
    rig = Rig()
    assert init_with(rig, config(b"{")) == 100006
    assert rig("aclFinalizeReference", NULL) == 100037
    assert rig("aclInit", NULL) == 0
    assert rig("aclFinalizeReference", NULL) == 0


def test_init_looks_at_no_file_while_the_runtime_is_initialised(tmp_path):
    rig = Rig()
    rig("aclInit", NULL)
    assert init_with(rig, tmp_path / "missing") == 100002
    assert rig.messages() == []


def test_init_after_finalize_wants_the_content_of_the_first_successful_one(config):
    rig = Rig()
    init_with(rig, config(b"{"))
    first = config(b'{"dump": {}}')
    assert init_with(rig, first) == 0
    rig("aclFinalize")
    rig.messages()
    assert init_with(rig, config(b"{}", "other.json")) == 100000
    (entry,) = rig.npu.messages.take()
    assert entry.code == "EH0004"
    assert str(first) in dict(entry.fields)["reason"]
    assert rig("aclInit", NULL) == 100000
    assert init_with(rig, config(first.read_bytes(), "copy.json")) == 0


# -- devices -------------------------------------------------------------------


@pytest.mark.parametrize("index", [-1, 2, 1000])
def test_a_device_out_of_range_is_refused(index):
    rig = Rig(devices=2)
    assert rig("aclrtSetDevice", index) == 107001
    assert rig("aclrtResetDevice", index) == 107001
    assert rig("aclrtResetDeviceForce", index) == 107001
    assert rig("aclrtCreateContext", rig.new("aclrtContext *"), index) == 107001
    assert rig.out("aclrtGetDevice", "int32_t") == 0


def test_setting_a_device_makes_it_the_threads_device():
    rig = Rig(devices=3)
    assert rig("aclrtSetDevice", 2) == 0
    assert rig.out("aclrtGetDevice", "int32_t") == 2
    assert rig.out("aclrtGetDeviceCount", "uint32_t") == 3


def test_a_device_set_twice_must_be_reset_twice():
    rig = Rig()
    assert rig("aclrtSetDevice", 0) == 0
    assert rig("aclrtResetDevice", 0) == 0
    assert rig("aclrtGetDevice", rig.new("int32_t *")) == 0
    assert rig("aclrtResetDevice", 0) == 0
    assert rig("aclrtGetDevice", rig.new("int32_t *")) == 107002


def test_reset_force_needs_one_call_however_often_the_device_was_set():
    rig = Rig()
    for _ in range(3):
        rig("aclrtSetDevice", 0)
    assert rig("aclrtResetDeviceForce", 0) == 0
    assert rig("aclrtGetDevice", rig.new("int32_t *")) == 107002
    assert in_thread(lambda: rig("aclrtResetDeviceForce", 0)) != 0


def test_all_threads_that_set_a_device_get_the_same_context():
    rig = Rig()

    def context() -> int:
        rig("aclrtSetDevice", 0)
        return rig.npu.address(rig.out("aclrtGetCurrentContext", "aclrtContext"))

    assert in_thread(context) == context()


def test_a_device_that_another_thread_still_uses_is_not_taken_down():
    rig = Rig()

    def come_and_go():
        rig("aclrtSetDevice", 0)
        return rig("aclrtResetDevice", 0)

    assert in_thread(come_and_go) == 0
    assert rig.malloc(64)


def test_resetting_a_device_waits_for_its_unfinished_work():
    rig = Rig()
    address = rig.malloc(64)
    stream = rig.stream()
    rig.queue_memset(address, 5, 32)
    rig.queue_memset(address + 32, 6, 32, stream)
    assert rig("aclrtResetDevice", 0) == 0
    rig("aclrtSetDevice", 0)
    assert rig.read(address, 64) == b"\x05" * 32 + b"\x06" * 32


def test_synchronising_the_device_works_after_a_reset_that_left_a_stream_behind():
    rig = Rig()
    rig.stream()
    rig("aclrtResetDevice", 0)
    rig("aclrtSetDevice", 0)
    assert rig("aclrtSynchronizeDevice") == 0


def test_synchronising_the_device_works_after_a_reset_though_the_default_stream_was_asked_for():
    rig = Rig()
    rig.out("aclrtCtxGetCurrentDefaultStream", "aclrtStream")
    rig("aclrtResetDevice", 0)
    rig("aclrtSetDevice", 0)
    assert rig("aclrtSynchronizeDevice") == 0


def test_a_thread_whose_context_another_thread_destroyed_has_none_any_more():
    rig = Rig()
    in_thread(lambda: rig("aclrtResetDeviceForce", 0))
    assert rig("aclrtMalloc", rig.new("void **"), 64, 0) == 107002
    assert rig("aclrtCreateStream", rig.new("aclrtStream *")) == 107002


@pytest.mark.parametrize("soc", [A950, A2, A3, A910])
def test_the_device_tells_what_its_chip_is(soc):
    rig = Rig(soc)
    chip = rig.npu.soc
    assert rig.ffi.string(rig("aclrtGetSocName")).decode() == soc
    assert rig.out("aclrtGetRunMode", "aclrtRunMode") == 1

    def info(attribute: int) -> int:
        value = rig.new("int64_t *")
        assert rig("aclrtGetDeviceInfo", 0, attribute, value) == 0
        return value[0]

    assert info(101) == chip.ai_cores
    assert info(102) == (chip.ai_cores if chip.split else 0)
    assert info(201) == chip.vector_cores
    assert info(301) == (chip.memory_bytes or 0)
    assert info(302) == (chip.l2_bytes or 0)
    assert info(601) == chip.npu_arch
    # Only the 950 answers for its unified buffer; elsewhere the runtime reads 0.
    assert info(204) == (chip.ub_bytes if soc == A950 else 0)


def test_device_questions_check_their_arguments():
    rig = Rig()
    value = rig.new("int64_t *")
    assert rig("aclrtGetDeviceInfo", 0, 101, NULL) == 100000
    assert rig("aclrtGetDeviceInfo", 1, 101, value) == 107001
    assert rig("aclGetDeviceCapability", 0, 1, value) == 0
    assert value[0] == rig.npu.soc.vector_cores
    assert rig("aclGetDeviceCapability", 0, 7, value) == 100000
    for name in ("aclrtGetDevice", "aclrtGetDeviceCount", "aclrtGetRunMode"):
        assert rig(name, NULL) == 100000


# -- a thread without a context ------------------------------------------------

NEEDS_CONTEXT = {
    "aclrtMalloc": lambda r: (r.new("void **"), 64, 0),
    "aclrtMallocAlign32": lambda r: (r.new("void **"), 64, 0),
    "aclrtMallocCached": lambda r: (r.new("void **"), 64, 0),
    "aclrtMallocHost": lambda r: (r.new("void **"), 64),
    "aclrtMemcpy": lambda r: (r.pointer(r.block), 4, r.new("char[4]"), 4, H2D),
    "aclrtMemcpyAsync": lambda r: (r.pointer(r.block), 4, r.pointer(r.block + 8), 4, D2D, NULL),
    "aclrtMemset": lambda r: (r.pointer(r.block), 4, 0, 4),
    "aclrtMemsetAsync": lambda r: (r.pointer(r.block), 4, 0, 4, NULL),
    "aclrtGetMemInfo": lambda r: (1, r.new("size_t *"), r.new("size_t *")),
    "aclrtGetDevice": lambda r: (r.new("int32_t *"),),
    "aclrtGetCurrentContext": lambda r: (r.new("aclrtContext *"),),
    "aclrtCtxGetCurrentDefaultStream": lambda r: (r.new("aclrtStream *"),),
    "aclrtCreateStream": lambda r: (r.new("aclrtStream *"),),
    "aclrtCreateStreamWithConfig": lambda r: (r.new("aclrtStream *"), 0, 0),
    "aclrtDestroyStream": lambda r: (r.made,),
    "aclrtSynchronizeStream": lambda r: (r.made,),
    "aclrtSynchronizeStreamWithTimeout": lambda r: (r.made, 10),
    "aclrtStreamQuery": lambda r: (r.made, r.new("aclrtStreamStatus *")),
    "aclrtSynchronizeDevice": lambda r: (),
    "aclrtSynchronizeDeviceWithTimeout": lambda r: (10,),
    "aclrtCreateEvent": lambda r: (r.new("aclrtEvent *"),),
    "aclrtCreateEventWithFlag": lambda r: (r.new("aclrtEvent *"), 8),
    "aclrtCreateEventExWithFlag": lambda r: (r.new("aclrtEvent *"), 8),
    "aclrtRecordEvent": lambda r: (r.mark, r.made),
    "aclrtStreamWaitEvent": lambda r: (r.made, r.mark),
    "aclrtResetEvent": lambda r: (r.mark, r.made),
}


@pytest.fixture
def furnished():
    rig = Rig()
    rig.block, rig.made, rig.mark = rig.malloc(64), rig.stream(), rig.event()
    return rig


@pytest.mark.parametrize("name", NEEDS_CONTEXT)
def test_a_thread_without_a_context_gets_context_null(furnished, name):
    rig = furnished
    assert in_thread(lambda: rig(name, *NEEDS_CONTEXT[name](rig))) == 107002


@pytest.mark.parametrize("name", NEEDS_CONTEXT)
def test_the_same_call_works_in_a_thread_that_set_the_device(furnished, name):
    rig = furnished

    def with_device():
        assert rig("aclrtSetDevice", 0) == 0
        return rig(name, *NEEDS_CONTEXT[name](rig))

    assert in_thread(with_device) == 0


def test_questions_about_the_machine_need_no_context():
    rig = Rig()

    def ask():
        return (
            rig("aclrtGetDeviceCount", rig.new("uint32_t *")),
            rig("aclrtGetRunMode", rig.new("aclrtRunMode *")),
            rig("aclrtGetDeviceInfo", 0, 101, rig.new("int64_t *")),
            rig("aclInit", NULL),
        )

    assert in_thread(ask) == (0, 0, 0, 0)


def test_phase_2_in_a_thread_without_a_context_is_a_runtime_error_of_the_operator():
    rig = Rig()
    call = Call(rig)
    executor = call.executor()
    workspace = rig.malloc(512)

    def run():
        return rig.phase2(executor, workspace, 512), rig.messages()

    status, messages = in_thread(run)
    assert status == 361001
    assert [code for code, _ in messages] == ["EZ9903", "EZ9903"]
    assert messages[0][1] == ("107002",)
    assert messages[1][1] == ("HardShrinkGrad", "361001")
    assert rig.synchronize() == 0
    assert call.result().tolist() == [9, 9, 9, 9]


# -- contexts ------------------------------------------------------------------


def test_a_new_context_becomes_the_threads_current_one():
    rig = Rig()
    made = rig.out("aclrtCreateContext", "aclrtContext", 0)
    assert rig.out("aclrtGetCurrentContext", "aclrtContext") == made


def test_a_context_can_be_handed_to_another_thread():
    rig = Rig()
    made = rig.out("aclrtCreateContext", "aclrtContext", 0)

    def use():
        before = rig("aclrtGetDevice", rig.new("int32_t *"))
        assert rig("aclrtSetCurrentContext", made) == 0
        return before, rig.out("aclrtGetDevice", "int32_t")

    assert in_thread(use) == (107002, 0)


def test_destroying_the_current_context_leaves_the_thread_without_one():
    rig = Rig()
    made = rig.out("aclrtCreateContext", "aclrtContext", 0)
    assert rig("aclrtDestroyContext", made) == 0
    assert rig("aclrtGetCurrentContext", rig.new("aclrtContext *")) == 107002
    assert rig("aclrtSetDevice", 0) == 0
    assert rig.malloc(64)


def test_destroying_a_context_runs_what_its_streams_still_hold():
    rig = Rig()
    address = rig.malloc(64)
    made = rig.out("aclrtCreateContext", "aclrtContext", 0)
    rig.queue_memset(address, 7, 64)
    assert rig("aclrtDestroyContext", made) == 0
    rig("aclrtSetDevice", 0)
    assert rig.read(address, 64) == b"\x07" * 64


def test_context_calls_refuse_null_and_destroyed_contexts():
    strict, lenient = Rig(), Rig(strict=False)
    for name in ("aclrtDestroyContext", "aclrtSetCurrentContext", "aclrtGetCurrentContext"):
        assert strict(name, NULL) == 100000
    assert strict("aclrtCreateContext", NULL, 0) == 100000
    for rig in (strict, lenient):
        rig.gone = rig.out("aclrtCreateContext", "aclrtContext", 0)
        rig("aclrtDestroyContext", rig.gone)
    for name in ("aclrtDestroyContext", "aclrtSetCurrentContext"):
        with pytest.raises(LifetimeError, match="no live aclrtContext") as caught:
            strict(name, strict.gone)
        assert caught.value.seen == 107017
        assert lenient(name, lenient.gone) == 107017


# -- streams -------------------------------------------------------------------


def test_queued_work_runs_at_synchronise_and_not_before():
    rig = Rig(strict=False)
    address = rig.malloc(64)
    stream = rig.stream()
    assert rig.queue_memset(address, 1, 64, stream) == 0
    assert rig.read(address, 64) == POISON * 64
    assert rig.synchronize(stream) == 0
    assert rig.read(address, 64) == b"\x01" * 64


def test_work_runs_in_the_order_in_which_it_was_queued():
    rig = Rig()
    address = rig.malloc(64)
    stream = rig.stream()
    for value in range(10):
        rig.queue_memset(address, value, 64, stream)
    rig.synchronize(stream)
    assert rig.read(address, 64) == b"\x09" * 64


def test_synchronising_one_stream_leaves_the_others_alone():
    rig = Rig(strict=False)
    address = rig.malloc(64)
    first, second = rig.stream(), rig.stream()
    rig.queue_memset(address, 1, 32, first)
    rig.queue_memset(address + 32, 2, 32, second)
    rig.synchronize(first)
    assert rig.read(address, 64) == b"\x01" * 32 + POISON * 32
    rig.synchronize(second)
    assert rig.read(address, 64) == b"\x01" * 32 + b"\x02" * 32


def test_the_null_stream_is_the_default_stream_of_the_context():
    rig = Rig(strict=False)
    address = rig.malloc(64)
    default = rig.out("aclrtCtxGetCurrentDefaultStream", "aclrtStream")
    rig.queue_memset(address, 1, 64, NULL)
    assert rig.read(address, 1) == POISON
    assert rig.synchronize(default) == 0
    assert rig.read(address, 64) == b"\x01" * 64


def test_synchronising_the_device_runs_every_stream():
    rig = Rig()
    address = rig.malloc(96)
    for number, stream in enumerate((NULL, rig.stream(), rig.stream())):
        rig.queue_memset(address + 32 * number, number, 32, stream)
    assert rig("aclrtSynchronizeDevice") == 0
    assert rig.read(address, 96) == b"\x00" * 32 + b"\x01" * 32 + b"\x02" * 32


def test_synchronising_a_device_leaves_the_other_device_alone():
    rig = Rig(devices=2, strict=False)
    address = rig.malloc(64)
    rig.queue_memset(address, 1, 64)
    rig("aclrtSetDevice", 1)
    assert rig("aclrtSynchronizeDevice") == 0
    assert rig.read(address, 1) == POISON
    rig("aclrtSetDevice", 0)
    assert rig("aclrtSynchronizeDevice") == 0
    assert rig.read(address, 1) == b"\x01"


def test_a_program_that_only_polls_gets_done_in_the_end():
    rig = Rig()
    address = rig.malloc(64)
    stream = rig.stream()
    status = rig.new("aclrtStreamStatus *")
    for value in range(5):
        rig.queue_memset(address, value, 64, stream)
    answers = []
    while len(answers) < 50 and answers[-1:] != [0]:
        assert rig("aclrtStreamQuery", stream, status) == 0
        answers.append(status[0])
    assert answers[0] == 1
    assert answers[-1] == 0
    assert rig.read(address, 64) == b"\x04" * 64


def test_an_idle_stream_is_complete():
    rig = Rig()
    status = rig.new("aclrtStreamStatus *", 77)
    assert rig("aclrtStreamQuery", rig.stream(), status) == 0
    assert status[0] == 0


@pytest.mark.parametrize("timeout", [-2, -1000, 0])
def test_a_timeout_below_minus_1_or_of_0_is_refused_and_runs_nothing(timeout):
    rig = Rig(strict=False)
    address = rig.malloc(64)
    rig.queue_memset(address, 1, 64)
    assert rig("aclrtSynchronizeStreamWithTimeout", NULL, timeout) == 107000
    assert rig("aclrtSynchronizeDeviceWithTimeout", timeout) == 107000
    assert rig.read(address, 1) == POISON


def test_an_event_wait_refuses_a_timeout_below_minus_1():
    rig = Rig()
    assert rig("aclrtSynchronizeEventWithTimeout", rig.event(), -2) == 107000


@pytest.mark.parametrize("timeout", [-1, 1, 60_000])
def test_other_timeouts_wait_for_the_work(timeout):
    rig = Rig()
    address = rig.malloc(64)
    rig.queue_memset(address, 1, 64)
    assert rig("aclrtSynchronizeStreamWithTimeout", NULL, timeout) == 0
    assert rig.read(address, 1) == b"\x01"


FOREIGN = {
    "aclrtMemcpyAsync": lambda r, s: (r.pointer(r.block), 4, r.pointer(r.block + 8), 4, D2D, s),
    "aclrtMemsetAsync": lambda r, s: (r.pointer(r.block), 4, 0, 4, s),
    "aclrtRecordEvent": lambda r, s: (r.mark, s),
    "aclrtStreamWaitEvent": lambda r, s: (s, r.mark),
    "aclrtResetEvent": lambda r, s: (r.mark, s),
    "aclrtDestroyStream": lambda r, s: (s,),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_stream_of_another_context_is_refused_until_that_context_is_current(furnished, name):
    rig = furnished
    own = rig.out("aclrtGetCurrentContext", "aclrtContext")
    rig.out("aclrtCreateContext", "aclrtContext", 0)
    assert rig(name, *FOREIGN[name](rig, rig.made)) == 107003
    assert rig("aclrtSetCurrentContext", own) == 0
    assert rig(name, *FOREIGN[name](rig, rig.made)) == 0


def test_phase_2_on_a_stream_of_another_context_is_a_runtime_error_of_the_operator(furnished):
    rig = furnished
    executor = Call(rig).executor()
    workspace = rig.malloc(512)
    rig.out("aclrtCreateContext", "aclrtContext", 0)
    assert rig.phase2(executor, workspace, 512, rig.made) == 361001
    assert rig.messages()[0] == ("EZ9903", ("107003",))


STREAM_CALLS = {
    **FOREIGN,
    "aclrtSynchronizeStream": lambda r, s: (s,),
    "aclrtSynchronizeStreamWithTimeout": lambda r, s: (s, 5),
    "aclrtStreamQuery": lambda r, s: (s, r.new("aclrtStreamStatus *")),
    "aclrtDestroyStreamForce": lambda r, s: (s,),
}


def with_gone_stream(strict: bool) -> Rig:
    rig = Rig(strict=strict)
    rig.block, rig.mark, gone = rig.malloc(64), rig.event(), rig.stream()
    assert rig("aclrtDestroyStream", gone) == 0
    rig.gone = gone
    return rig


@pytest.mark.parametrize("name", [name for name in STREAM_CALLS if name != "aclrtResetEvent"])
def test_a_destroyed_stream_is_a_lifetime_error_or_an_invalid_handle(name):
    strict, lenient = with_gone_stream(True), with_gone_stream(False)
    with pytest.raises(LifetimeError, match="no live aclrtStream") as caught:
        strict(name, *STREAM_CALLS[name](strict, strict.gone))
    assert caught.value.seen == 107017
    assert lenient(name, *STREAM_CALLS[name](lenient, lenient.gone)) == 107017


def test_stream_calls_refuse_null_out_pointers():
    rig = Rig()
    assert rig("aclrtCreateStream", NULL) == 100000
    assert rig("aclrtDestroyStream", NULL) == 100000
    assert rig("aclrtStreamQuery", NULL, NULL) == 100000
    assert rig("aclrtCtxGetCurrentDefaultStream", NULL) == 100000


def test_destroying_a_stream_waits_for_its_work_and_force_does_not():
    rig = Rig(strict=False)
    address = rig.malloc(64)
    polite, forced = rig.stream(), rig.stream()
    rig.queue_memset(address, 1, 32, polite)
    rig.queue_memset(address + 32, 2, 32, forced)
    assert rig("aclrtDestroyStream", polite) == 0
    assert rig("aclrtDestroyStreamForce", forced) == 0
    assert rig.read(address, 64) == b"\x01" * 32 + POISON * 32


def test_a_stream_or_device_whose_last_work_is_refused_is_gone_all_the_same():
    rig = Rig()
    address, stream = rig.malloc(64), rig.stream()
    rig.queue_memset(address, 0, 65, stream)
    with pytest.raises(DeviceMemoryError):
        rig("aclrtDestroyStream", stream)
    assert not any("aclrtStream" in line for line in rig.npu.leaks())
    rig.queue_memset(address, 0, 65)
    with pytest.raises(DeviceMemoryError):
        rig("aclrtResetDevice", 0)
    assert rig.npu.live_handles == 0
    assert rig("aclrtGetDevice", rig.new("int32_t *")) == 107002


def test_a_stream_takes_any_amount_of_work_before_a_synchronise():
    rig = Rig()
    address = rig.malloc(64)
    for value in range(5000):
        assert rig.queue_memset(address, value % 256, 64) == 0
    assert rig.synchronize() == 0
    assert rig.read(address, 1) == bytes([4999 % 256])


# -- events --------------------------------------------------------------------


def recorded_status(rig: Rig, event) -> int:
    status = rig.new("aclrtEventRecordedStatus *", 77)
    assert rig("aclrtQueryEventStatus", event, status) == 0
    return status[0]


def test_an_event_is_recorded_when_the_stream_gets_there():
    rig = Rig()
    address, stream, event = rig.malloc(64), rig.stream(), rig.event()
    rig.queue_memset(address, 1, 64, stream)
    assert rig("aclrtRecordEvent", event, stream) == 0
    assert recorded_status(rig, event) == 0
    assert rig("aclrtSynchronizeEvent", event) == 0
    assert recorded_status(rig, event) == 1
    assert rig.read(address, 1) == b"\x01"


def test_waiting_for_an_event_runs_what_lies_before_it_and_no_more():
    rig = Rig(strict=False)
    address, stream, event = rig.malloc(64), rig.stream(), rig.event()
    rig.queue_memset(address, 1, 32, stream)
    rig("aclrtRecordEvent", event, stream)
    rig.queue_memset(address + 32, 2, 32, stream)
    assert rig("aclrtSynchronizeEvent", event) == 0
    assert rig.read(address, 64) == b"\x01" * 32 + POISON * 32


def test_polling_an_event_makes_progress():
    rig = Rig()
    address, stream, event = rig.malloc(64), rig.stream(), rig.event()
    for _ in range(3):
        rig.queue_memset(address, 1, 64, stream)
    rig("aclrtRecordEvent", event, stream)
    answers = [recorded_status(rig, event) for _ in range(10)]
    assert answers == sorted(answers)
    assert (answers[0], answers[-1]) == (0, 1)


@pytest.mark.parametrize("strict", [True, False])
def test_events_behind_work_that_failed_end_and_so_does_their_polling(strict):
    rig = Rig(strict=strict)
    address, stream = rig.malloc(64), rig.stream()
    near, far = rig.event(), rig.event()
    rig.queue_memset(address, 1, 65, stream)  # one byte too many: raised, or a code
    rig("aclrtRecordEvent", near, stream)
    rig.queue_memset(address, 2, 64, stream)
    rig("aclrtRecordEvent", far, stream)
    answers, raised = [], 0
    while len(answers) < 20 and answers[-1:] != [(1, 1)]:
        try:
            answers.append((recorded_status(rig, near), recorded_status(rig, far)))
        except DeviceMemoryError:
            raised += 1
    assert (answers[-1], raised) == ((1, 1), int(strict))
    assert rig("aclrtEventElapsedTime", rig.new("float *"), near, far) == 0
    assert rig.read(address, 64) == POISON * 64
    assert rig.synchronize(stream) == (0 if strict else 507013)


def test_an_event_on_a_stream_that_is_destroyed_by_force_ends():
    rig = Rig()
    stream, event = rig.stream(), rig.event()
    address = rig.malloc(64)
    rig.queue_memset(address, 1, 64, stream)
    rig("aclrtRecordEvent", event, stream)
    assert rig("aclrtDestroyStreamForce", stream) == 0
    assert recorded_status(rig, event) == 1
    assert rig.read(address, 64) == POISON * 64


def test_a_failure_that_an_event_waited_for_is_told_like_one_that_a_stream_waited_for():
    rig = Rig()
    call, event = Call(rig), rig.event()
    rig.npu.faults.fail_kernel("HardShrinkGrad")
    call.phase2(call.executor())
    rig("aclrtRecordEvent", event, NULL)
    call.phase2(call.executor())
    assert rig("aclrtSynchronizeEvent", event) == 507035
    assert rig("aclrtPeekAtLastError", 0) == 507035
    assert "HardShrinkGrad" in rig.ffi.string(rig("aclGetRecentErrMsg")).decode()
    assert rig.synchronize() == 0


def test_a_failure_that_a_pageable_copy_waited_for_is_told_too():
    rig = Rig()
    call, host = Call(rig), rig.new("char[16]")
    rig.npu.faults.fail_kernel("HardShrinkGrad")
    call.phase2(call.executor())
    copy = (host, 16, rig.pointer(call.addresses["out"]), 16, D2H, NULL)
    assert rig("aclrtMemcpyAsync", *copy) == 507035
    assert "HardShrinkGrad" in rig.ffi.string(rig("aclGetRecentErrMsg")).decode()


@pytest.mark.parametrize("count", [4096, 4097, 5000])
def test_a_full_queue_runs_its_oldest_work_and_drops_none(count):
    rig = Rig(strict=False)
    address, stream = rig.malloc(count), rig.stream()
    for place in range(count):
        assert rig.queue_memset(address + place, place % 251, 1, stream) == 0
    run = max(0, count - 4096)
    early = rig.read(address, count)
    assert early == bytes(place % 251 for place in range(run)) + POISON * (count - run)
    assert rig.synchronize(stream) == 0
    assert rig.read(address, count) == bytes(place % 251 for place in range(count))


def test_an_event_recorded_again_means_the_later_place():
    rig = Rig()
    address, stream, event = rig.malloc(64), rig.stream(), rig.event()
    rig("aclrtRecordEvent", event, stream)
    rig.queue_memset(address, 1, 64, stream)
    rig("aclrtRecordEvent", event, stream)
    assert rig("aclrtSynchronizeEvent", event) == 0
    assert rig.read(address, 64) == b"\x01" * 64


def test_an_event_that_was_never_recorded_is_not_complete():
    """Made by aclrtCreateEvent or WithFlag it is not ready; the Ex kind counts as recorded.

    Source: cann/runtime, Event::QueryEventStatus (new mode against old mode).
    """
    rig = Rig()
    old = (rig.event(), rig.out("aclrtCreateEventWithFlag", "aclrtEvent", 8))
    assert [recorded_status(rig, event) for event in old] == [0, 0]
    assert recorded_status(rig, rig.out("aclrtCreateEventExWithFlag", "aclrtEvent", 1)) == 1


def test_elapsed_time_is_milliseconds_between_two_records():
    rig = Rig()
    stream, first, second = rig.stream(), rig.event(), rig.event()
    address = rig.malloc(8 << 20)
    rig("aclrtRecordEvent", first, stream)
    rig.queue_memset(address, 1, 8 << 20, stream)
    rig("aclrtRecordEvent", second, stream)
    assert rig.synchronize(stream) == 0
    elapsed = rig.out("aclrtEventElapsedTime", "float", first, second)
    stamps = [rig.new("uint64_t *"), rig.new("uint64_t *")]
    for event, stamp in zip((first, second), stamps):
        assert rig("aclrtEventGetTimestamp", event, stamp) == 0
    microseconds = stamps[1][0] - stamps[0][0]
    assert elapsed > 0
    assert abs(elapsed * 1000 - microseconds) <= 2


def test_elapsed_time_checks_its_arguments_and_that_both_events_ran():
    strict, lenient = Rig(), Rig(strict=False)
    ms = strict.new("float *", 77)
    for rig in (strict, lenient):
        first, second = rig.event(), rig.event()
        assert rig("aclrtEventElapsedTime", NULL, first, second) == 100000
        assert rig("aclrtEventElapsedTime", ms, NULL, second) == 100000
        assert rig("aclrtEventElapsedTime", ms, first, NULL) == 100000
        assert rig("aclrtEventElapsedTime", ms, first, second) == 107006
        rig("aclrtRecordEvent", first, NULL)
        rig("aclrtRecordEvent", second, NULL)
        rig.pair = (first, second)
    assert lenient("aclrtEventElapsedTime", ms, *lenient.pair) == 107006
    with pytest.raises(LifetimeError, match="before both events have run") as caught:
        strict("aclrtEventElapsedTime", ms, *strict.pair)
    assert caught.value.seen == 107006
    assert ms[0] == 77


def test_a_timestamp_needs_a_recorded_event():
    rig = Rig()
    event, stamp = rig.event(), rig.new("uint64_t *")
    assert rig("aclrtEventGetTimestamp", event, NULL) == 100000
    assert rig("aclrtEventGetTimestamp", NULL, stamp) == 100000
    assert rig("aclrtEventGetTimestamp", event, stamp) == 107006


def test_a_stream_that_waits_for_an_event_of_another_stream_sees_its_work():
    rig = Rig()
    source, target = rig.malloc(64), rig.malloc(64)
    first, second, event = rig.stream(), rig.stream(), rig.event()
    rig.queue_memset(source, 1, 64, first)
    rig("aclrtRecordEvent", event, first)
    assert rig("aclrtStreamWaitEvent", second, event) == 0
    copy = (rig.pointer(target), 64, rig.pointer(source), 64, D2D, second)
    assert rig("aclrtMemcpyAsync", *copy) == 0
    assert rig.synchronize(second) == 0
    assert rig.read(target, 64) == b"\x01" * 64


def test_without_the_wait_the_other_streams_work_is_not_there_yet():
    rig = Rig(strict=False)
    source, target = rig.malloc(64), rig.malloc(64)
    first, second = rig.stream(), rig.stream()
    rig.queue_memset(source, 1, 64, first)
    copy = (rig.pointer(target), 64, rig.pointer(source), 64, D2D, second)
    rig("aclrtMemcpyAsync", *copy)
    rig.synchronize(second)
    assert rig.read(target, 64) == POISON * 64


def test_streams_may_wait_for_each_other_in_turn():
    rig = Rig()
    address = rig.malloc(64)
    streams = [rig.stream(), rig.stream()]
    for turn in range(6):
        mine, other, event = streams[turn % 2], streams[1 - turn % 2], rig.event()
        rig.queue_memset(address, turn, 64, mine)
        rig("aclrtRecordEvent", event, mine)
        rig("aclrtStreamWaitEvent", other, event)
    assert rig("aclrtSynchronizeDevice") == 0
    assert rig.read(address, 64) == b"\x05" * 64


def test_a_wait_for_an_event_that_nobody_recorded_waits_for_nothing():
    rig = Rig()
    stream = rig.stream()
    assert rig("aclrtStreamWaitEvent", stream, rig.event()) == 0
    assert rig.synchronize(stream) == 0


EVENT_CALLS = {
    "aclrtDestroyEvent": lambda r, e: (e,),
    "aclrtRecordEvent": lambda r, e: (e, NULL),
    "aclrtResetEvent": lambda r, e: (e, NULL),
    "aclrtQueryEventStatus": lambda r, e: (e, r.new("aclrtEventRecordedStatus *")),
    "aclrtSynchronizeEvent": lambda r, e: (e,),
    "aclrtSynchronizeEventWithTimeout": lambda r, e: (e, 5),
    "aclrtStreamWaitEvent": lambda r, e: (NULL, e),
    "aclrtEventGetTimestamp": lambda r, e: (e, r.new("uint64_t *")),
}


@pytest.mark.parametrize("name", EVENT_CALLS)
def test_a_null_or_destroyed_event_is_refused(name):
    strict, lenient = Rig(), Rig(strict=False)
    for rig in (strict, lenient):
        assert rig(name, *EVENT_CALLS[name](rig, NULL)) == 100000
        rig.gone = rig.event()
        assert rig("aclrtDestroyEvent", rig.gone) == 0
    with pytest.raises(LifetimeError, match="no live aclrtEvent"):
        strict(name, *EVENT_CALLS[name](strict, strict.gone))
    assert lenient(name, *EVENT_CALLS[name](lenient, lenient.gone)) == 107017


# -- memory: the code table ----------------------------------------------------

MALLOCS = ("aclrtMalloc", "aclrtMallocAlign32", "aclrtMallocCached")


@pytest.mark.parametrize("name", MALLOCS)
def test_malloc_refuses_a_size_of_0_and_a_null_out_pointer(name):
    rig = Rig()
    out = rig.new("void **")
    assert rig(name, out, 0, 0) == 100000
    assert rig(name, NULL, 64, 0) == 100000
    assert out[0] == NULL
    assert rig.npu.heap.allocations == 0


@pytest.mark.parametrize("policy", [0, 1, 2, 3, 7, 256, 4096, 12345])
def test_malloc_takes_any_policy(policy):
    rig = Rig()
    assert rig.out("aclrtMalloc", "void *", 64, policy) != NULL


def test_malloc_host_checks_as_malloc_does():
    rig = Rig()
    assert rig("aclrtMallocHost", rig.new("void **"), 0) == 100000
    assert rig("aclrtMallocHost", NULL, 64) == 100000


def test_freeing_null_is_refused():
    rig = Rig()
    assert rig("aclrtFree", NULL) == 100000
    assert rig("aclrtFreeHost", NULL) == 100000


def copy_args(rig: Rig, *, dst=..., src=..., dst_max=8, count=8, kind=D2D):
    return (
        rig.pointer(rig.block) if dst is ... else dst,
        dst_max,
        rig.pointer(rig.block + 16) if src is ... else src,
        count,
        kind,
    )


@pytest.fixture(params=["aclrtMemcpy", "aclrtMemcpyAsync"])
def copier(request):
    rig = Rig()
    rig.block = rig.malloc(64)

    def copy(**options) -> int:
        tail = () if request.param == "aclrtMemcpy" else (NULL,)
        return rig(request.param, *copy_args(rig, **options), *tail)

    copy.rig = rig
    return copy


def test_a_copy_of_nothing_succeeds_before_any_pointer_is_looked_at(copier):
    assert copier(dst=NULL, src=NULL, count=0) == 0
    assert copier(count=0, dst_max=0) == 0


def test_a_copy_refuses_null_pointers(copier):
    assert copier(dst=NULL) == 100000
    assert copier(src=NULL) == 100000


def test_a_copy_refuses_more_than_the_target_may_take(copier):
    assert copier(count=9, dst_max=8) == 107000
    assert copier(count=8, dst_max=8) == 0
    assert copier(count=8, dst_max=9) == 0


@pytest.mark.parametrize("kind", [6, 7, 8, 65535])
def test_copy_kinds_beyond_5_are_refused(copier, kind):
    assert copier(kind=kind) == 100000


@pytest.mark.parametrize("kind", range(6))
def test_copy_kinds_0_to_5_are_taken_and_only_the_addresses_decide(copier, kind):
    rig = copier.rig
    rig.write(rig.block, bytes(range(64)))
    assert copier(kind=kind) == 0
    rig.synchronize()
    assert rig.read(rig.block, 24) == bytes([*range(16, 24), *range(8, 24)])


def test_a_copy_onto_itself_does_nothing_and_succeeds():
    rig = Rig()
    address = rig.pointer(rig.malloc(16))
    assert rig("aclrtMemcpy", address, 16, address, 16, D2D) == 0
    wild = rig.pointer(0x4000)
    assert rig("aclrtMemcpy", wild, 16, wild, 16, D2D) == 0


def test_a_copy_moves_bytes_between_host_and_device_in_every_direction():
    rig = Rig()
    first, second = rig.malloc(16), rig.malloc(16)
    data = bytes(range(16))
    assert rig.write(first, data) == 0
    assert rig("aclrtMemcpy", rig.pointer(second), 16, rig.pointer(first), 16, D2D) == 0
    assert rig.read(second, 16) == data
    target, source = rig.new("char[16]"), rig.new("char[16]", data)
    assert rig("aclrtMemcpy", target, 16, source, 16, H2H) == 0
    assert rig.ffi.buffer(target)[:] == data


def test_a_copy_within_a_block_may_overlap_itself():
    rig = Rig()
    address = rig.malloc(32)
    rig.write(address, bytes(range(32)))
    copy = (rig.pointer(address + 4), 16, rig.pointer(address), 16, D2D)
    assert rig("aclrtMemcpy", *copy) == 0
    assert rig.read(address, 20) == bytes([0, 1, 2, 3, *range(16)])


@pytest.mark.parametrize("name", ["aclrtMemset", "aclrtMemsetAsync"])
def test_memset_checks_its_arguments(name):
    rig = Rig()
    address = rig.pointer(rig.malloc(64))
    tail = (NULL,) if name.endswith("Async") else ()
    assert rig(name, NULL, 8, 0, 8, *tail) == 100000
    assert rig(name, address, 8, 0, 0, *tail) == 0
    assert rig(name, address, 8, 0, 9, *tail) == 107000
    assert rig(name, address, 8, 0x1FE, 8, *tail) == 0
    rig.synchronize()
    assert rig.read(rig.npu.address(address), 9) == b"\xfe" * 8 + POISON


def test_memset_outside_a_block_is_caught_on_the_spot_or_at_synchronise():
    rig = Rig()
    address = rig.malloc(64)
    with pytest.raises(DeviceMemoryError, match="memset writes"):
        rig("aclrtMemset", rig.pointer(address), 65, 0, 65)
    assert rig.queue_memset(address, 0, 65) == 0
    with pytest.raises(DeviceMemoryError, match="memset writes"):
        rig.synchronize()
    assert rig.synchronize() == 0
    lenient = Rig(strict=False)
    address = lenient.malloc(64)
    assert lenient.queue_memset(address, 0, 65) == 0
    assert lenient.synchronize() == 507013
    assert lenient.synchronize() == 0


def test_memset_works_on_host_memory_that_acl_gave_out():
    rig = Rig()
    pinned = rig.out("aclrtMallocHost", "void *", 16)
    assert rig("aclrtMemset", pinned, 16, 7, 16) == 0
    assert rig.ffi.buffer(pinned, 16)[:] == b"\x07" * 16


def test_mem_info_refuses_null_pointers():
    rig = Rig()
    assert rig("aclrtGetMemInfo", 1, NULL, rig.new("size_t *")) == 100000
    assert rig("aclrtGetMemInfo", 1, rig.new("size_t *"), NULL) == 100000


# -- pinned and pageable host memory -------------------------------------------


def test_a_copy_into_pinned_memory_waits_for_the_stream():
    rig = Rig()
    address = rig.malloc(16)
    rig.write(address, b"\x01" * 16)
    pinned = rig.out("aclrtMallocHost", "void *", 16)
    view = rig.ffi.buffer(pinned, 16)
    view[:] = b"\x09" * 16
    copy = (pinned, 16, rig.pointer(address), 16, D2H, NULL)
    assert rig("aclrtMemcpyAsync", *copy) == 0
    assert view[:] == b"\x09" * 16
    assert rig.synchronize() == 0
    assert view[:] == b"\x01" * 16


def test_a_copy_from_pinned_memory_takes_what_is_there_when_it_runs():
    rig = Rig()
    address = rig.malloc(16)
    pinned = rig.out("aclrtMallocHost", "void *", 16)
    view = rig.ffi.buffer(pinned, 16)
    view[:] = b"\x01" * 16
    rig("aclrtMemcpyAsync", rig.pointer(address), 16, pinned, 16, H2D, NULL)
    view[:] = b"\x02" * 16
    rig.synchronize()
    assert rig.read(address, 16) == b"\x02" * 16


def test_a_copy_from_the_middle_of_pinned_memory_waits_too():
    rig = Rig()
    address = rig.malloc(8)
    pinned = rig.out("aclrtMallocHost", "void *", 16)
    view = rig.ffi.buffer(pinned, 16)
    view[:] = bytes(range(16))
    middle = rig.ffi.cast("char *", pinned) + 8
    rig("aclrtMemcpyAsync", rig.pointer(address), 8, middle, 8, H2D, NULL)
    view[8:16] = b"\x07" * 8
    rig.synchronize()
    assert rig.read(address, 8) == b"\x07" * 8


def test_a_copy_with_pageable_memory_is_done_when_the_call_returns():
    rig = Rig()
    address = rig.malloc(16)
    host = rig.new("char[16]", b"\x01" * 16)
    assert rig("aclrtMemcpyAsync", rig.pointer(address), 16, host, 16, H2D, NULL) == 0
    rig.ffi.buffer(host)[:] = b"\x02" * 16
    assert rig.read(address, 16) == b"\x01" * 16
    assert rig("aclrtMemcpyAsync", host, 16, rig.pointer(address), 16, D2H, NULL) == 0
    assert rig.ffi.buffer(host)[:] == b"\x01" * 16


def test_a_pageable_copy_comes_after_what_is_queued_before_it():
    rig = Rig()
    address = rig.malloc(16)
    host = rig.new("char[16]")
    rig.queue_memset(address, 3, 16)
    rig("aclrtMemcpyAsync", host, 16, rig.pointer(address), 16, D2H, NULL)
    assert rig.ffi.buffer(host)[:] == b"\x03" * 16


def test_pinned_memory_that_a_queued_copy_needs_cannot_be_freed():
    rig = Rig()
    address = rig.malloc(16)
    pinned = rig.out("aclrtMallocHost", "void *", 16)
    rig("aclrtMemcpyAsync", pinned, 16, rig.pointer(address), 16, D2H, NULL)
    with pytest.raises(LifetimeError, match="aclrtMemcpyAsync"):
        rig("aclrtFreeHost", pinned)
    assert rig.synchronize() == 0
    assert rig.ffi.buffer(pinned, 16)[:] == POISON * 16
    assert rig("aclrtFreeHost", pinned) == 0


def test_a_lenient_device_keeps_freed_pinned_memory_until_the_queued_copy_ran():
    rig = Rig(strict=False)
    address = rig.malloc(16)
    pinned = rig.out("aclrtMallocHost", "void *", 16)
    held = weakref.ref(rig.npu.memory.pinned[rig.npu.address(pinned)])
    rig("aclrtMemcpyAsync", pinned, 16, rig.pointer(address), 16, D2H, NULL)
    assert rig("aclrtFreeHost", pinned) == 0
    assert held() is not None  # otherwise the copy will write into memory of somebody else


def test_freeing_pinned_memory_twice_is_caught():
    strict, lenient = Rig(), Rig(strict=False)
    for rig in (strict, lenient):
        rig.pinned = rig.out("aclrtMallocHost", "void *", 16)
        assert rig("aclrtFreeHost", rig.pinned) == 0
    with pytest.raises(LifetimeError, match="pinned host memory"):
        strict("aclrtFreeHost", strict.pinned)
    assert lenient("aclrtFreeHost", lenient.pinned) == 107000


# -- reading early, freeing early ----------------------------------------------


def test_a_strict_device_refuses_a_read_before_synchronise_and_names_the_work():
    rig = Rig()
    call = Call(rig)
    assert call.phase2(call.executor()) == 0
    with pytest.raises(LifetimeError, match="aclnnHardshrinkBackward: HardShrinkGrad") as caught:
        call.result()
    assert "aclrtSynchronizeStream" in str(caught.value)
    assert rig.synchronize() == 0
    assert call.result().tolist() == [0, 0, 3, 4]


def test_a_lenient_device_shows_poison_to_a_read_before_synchronise():
    rig = Rig(strict=False)
    call = Call(rig)
    fresh = rig.malloc(16)
    rig("aclSetRawTensorAddr", call.out, rig.pointer(fresh))
    assert call.phase2(call.executor()) == 0
    assert rig.read(fresh, 16) == POISON * 16
    assert rig.synchronize() == 0
    assert rig.read(fresh, 16) == Call.RESULT.tobytes()


def test_a_strict_device_refuses_to_overwrite_what_queued_work_still_reads():
    rig = Rig()
    call = Call(rig)
    call.phase2(call.executor())
    with pytest.raises(LifetimeError, match="writes what queued work"):
        rig.write(call.addresses["self"], b"\x00" * 16)
    rig.synchronize()
    assert call.result().tolist() == [0, 0, 3, 4]
    assert rig.write(call.addresses["self"], b"\x00" * 16) == 0


def test_reading_an_input_of_queued_work_is_fine():
    rig = Rig()
    call = Call(rig)
    call.phase2(call.executor())
    assert rig.download(call.addresses["grad"], (4,), np.float32).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("which", ["grad", "self", "out"])
def test_a_strict_device_refuses_to_free_what_queued_work_needs(which):
    rig = Rig()
    call = Call(rig)
    call.phase2(call.executor())
    before = rig.npu.heap.used
    with pytest.raises(LifetimeError, match="HardShrinkGrad is queued"):
        rig.free(call.addresses[which])
    assert rig.npu.heap.used == before
    assert rig.synchronize() == 0
    assert call.result().tolist() == [0, 0, 3, 4]
    assert rig.free(call.addresses[which]) == 0


def test_a_lenient_device_lets_it_go_and_the_kernel_finds_poison():
    rig = Rig(strict=False)
    call = Call(rig)
    call.phase2(call.executor())
    assert rig.free(call.addresses["grad"]) == 0
    assert rig.synchronize() == 0
    have = call.result().view(np.uint32).tolist()
    assert have == [0, 0, 0xDDDDDDDD, 0xDDDDDDDD]


def test_a_lenient_device_survives_the_loss_of_the_output():
    rig = Rig(strict=False)
    call = Call(rig)
    call.phase2(call.executor())
    assert rig.free(call.addresses["out"]) == 0
    assert rig.synchronize() == 0
    again = Call(rig)
    again.phase2(again.executor())
    assert rig.synchronize() == 0
    assert again.result().tolist() == [0, 0, 3, 4]


def test_memory_that_no_queued_work_needs_can_be_freed_any_time():
    rig = Rig()
    call = Call(rig)
    spare = rig.malloc(64)
    call.phase2(call.executor())
    assert rig.free(spare) == 0


# -- errors and the calls after them -------------------------------------------


def test_an_error_that_nobody_took_is_not_pinned_on_a_later_call():
    npu = SoftwareNpu(A950)
    untaken(npu, "aclrtSetDevice", 0)
    assert untaken(npu, "aclrtFree", npu.pointer("void *", 0x1000)) == 500000
    assert untaken(npu, "aclrtSetDevice", 0) == 0
    assert npu.take_error() is None


def test_an_error_is_handed_over_once_and_only_in_its_own_thread():
    npu = SoftwareNpu(A950)
    untaken(npu, "aclrtSetDevice", 0)
    untaken(npu, "aclrtFree", npu.pointer("void *", 0x1000))
    assert in_thread(npu.take_error) is None
    assert isinstance(npu.take_error(), LifetimeError)
    assert npu.take_error() is None


def test_a_bug_inside_the_device_comes_out_as_an_error_that_names_the_call(monkeypatch):
    rig = Rig()

    def broken(mode):
        raise ZeroDivisionError("broken on purpose")

    monkeypatch.setattr(rig.npu.runtime, "aclrtGetRunMode", broken)
    with pytest.raises(LabError, match=r"aclrtGetRunMode: .*broken on purpose") as caught:
        rig("aclrtGetRunMode", NULL)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert rig.malloc(64)


def test_work_that_fails_takes_the_rest_of_its_queue_with_it():
    rig = Rig(strict=False)
    address = rig.malloc(64)
    rig.queue_memset(address, 1, 32)
    rig.queue_memset(address, 1, 65)  # one byte too many
    rig.queue_memset(address + 32, 2, 32)
    assert rig.synchronize() == 507013
    assert rig.read(address, 64) == b"\x01" * 32 + POISON * 32
    assert rig.queue_memset(address + 32, 3, 32) == 0
    assert rig.synchronize() == 0
    assert rig.read(address, 64) == b"\x01" * 32 + b"\x03" * 32


def test_the_first_failure_is_the_one_that_synchronise_reports():
    rig = Rig()
    call = Call(rig)
    stream, status = rig.stream(), rig.new("aclrtStreamStatus *")
    for code in (507035, 507015):
        rig.npu.faults.fail_kernel("HardShrinkGrad", code)
        call.phase2(call.executor(), stream)
        rig("aclrtStreamQuery", stream, status)
    assert rig.synchronize(stream) == 507035
    assert rig.synchronize(stream) == 0


def test_the_last_error_of_a_thread_can_be_peeked_at_and_taken():
    rig = Rig()
    call = Call(rig)
    rig.npu.faults.fail_kernel("HardShrinkGrad")
    call.phase2(call.executor())
    assert rig.synchronize() == 507035
    assert [rig("aclrtPeekAtLastError", 0) for _ in range(2)] == [507035, 507035]
    assert in_thread(lambda: rig("aclrtPeekAtLastError", 0)) == 0
    assert [rig("aclrtGetLastError", 0) for _ in range(2)] == [507035, 0]


# -- conversions ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "size"), [(0, 4), (1, 2), (27, 2), (11, 8), (12, 1), (16, 8), (17, 16), (-1, 0)]
)
def test_the_size_of_a_data_type_is_in_bytes(dtype, size):
    assert Rig()("aclDataTypeSize", dtype) == size


@pytest.mark.parametrize(
    ("value", "bits"),
    [(0.0, 0), (-0.0, 0x8000), (1.0, 0x3C00), (0.3, 0x34CD), (65504.0, 0x7BFF), (65520.0, 0x7C00)],
)
def test_float_to_half_rounds_to_nearest_even_and_overflows_to_infinity(value, bits):
    assert Rig()("aclFloatToFloat16", value) == bits


def test_half_to_float_is_exact_for_every_pattern():
    rig = Rig()
    patterns = np.array([0, 0x8000, 1, 0x3FF, 0x400, 0x3C00, 0x7BFF, 0x7C00, 0xFC00], np.uint16)
    have = [rig("aclFloat16ToFloat", int(bits)) for bits in patterns]
    assert np.array(have, np.float32).tobytes() == patterns.view(np.float16).astype("f4").tobytes()


def test_versions_answer_and_refuse_null():
    rig = Rig()
    numbers = [rig.new("int32_t *") for _ in range(3)]
    assert rig("aclrtGetVersion", *numbers) == 0
    assert rig("aclrtGetVersion", NULL, *numbers[1:]) == 100000
    text = rig.new("char[128]")
    name = rig.new("char[]", b"runtime")
    assert rig("aclsysGetVersionStr", name, text) == 0
    assert rig.ffi.string(text)
    assert rig("aclsysGetVersionStr", name, NULL) == 100000
    assert rig("aclsysGetVersionNum", name, NULL) == 100000
