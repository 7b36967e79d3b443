"""C++ host programs against the tree: they build as CANN's documents say, and run."""

import shutil
import sys
from pathlib import Path

import pytest

EXAMPLE = (
    Path(__file__).resolve().parents[2] / "labkit" / "data" / "cpp" / "hardshrink_backward.cpp"
)
RESULT = "".join(f"result[{n}] is: {value}.000000\n" for n, value in enumerate((0, 0, 1, 1)))

# Everything that a program does before and after what a test is about.
PROGRAM = """
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>
#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_hardshrink_backward.h"

aclrtStream stream;
void *memory;
int64_t dims[2] = {2, 2}, strides[2] = {2, 1};

aclTensor *tensor()
{
    return aclCreateTensor(dims, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, dims, 2, memory);
}

int main()
{
    std::printf("init %d\\n", aclInit(nullptr));
    std::printf("device %d\\n", aclrtSetDevice(0));
    aclrtCreateStream(&stream);
    aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST);
    BODY
    aclrtFree(memory);
    aclrtDestroyStream(stream);
    aclrtResetDevice(0);
    std::printf("finalize %d\\n", aclFinalize());
    return 0;
}
"""


def program(body):
    return PROGRAM.replace("BODY", body)


@pytest.mark.parametrize(
    "libraries",
    [
        "-lopapi_nn -lopapi_math -lascendcl -lnnopbase",
        "-lopapi_nn -lopapi_math -lacl_rt -lnnopbase",
        "-lnnopbase -lascendcl -lacl_rt -lopapi_nn",
    ],
)
def test_the_example_builds_with_the_documented_libraries_and_gives_0_0_1_1(
    build, in_tree, libraries
):
    done = in_tree(build(EXAMPLE.read_text(encoding="utf-8"), libraries))
    assert done.stdout == RESULT
    assert done.stderr == ""


def test_the_example_builds_with_cmake(in_tree, tmp_path, skip_or_fail):
    if shutil.which("cmake") is None:
        skip_or_fail("no cmake on this machine; it is in the extra `test`")
    shutil.copy(EXAMPLE, tmp_path / "main.cpp")
    (tmp_path / "CMakeLists.txt").write_text(
        """
        cmake_minimum_required(VERSION 3.16)
        project(example CXX)
        set(CMAKE_CXX_STANDARD 17)
        set(ASCEND $ENV{ASCEND_HOME_PATH})
        add_executable(example main.cpp)
        target_include_directories(example PRIVATE ${ASCEND}/include)
        target_link_directories(example PRIVATE ${ASCEND}/lib64)
        target_link_libraries(example PRIVATE opapi_nn opapi_math ascendcl nnopbase)
        """
    )
    done = in_tree("cmake -S . -B build && cmake --build build && build/example", cwd=tmp_path)
    assert done.stdout.endswith(RESULT)


def test_another_chip_is_played_when_it_is_asked_for(build, in_tree):
    body = 'std::printf("%s\\n", aclrtGetSocName());'
    done = in_tree(build(program(body)), LABKIT_SOC="Ascend910B1")
    assert "Ascend910B1\n" in done.stdout
    done = in_tree(build(program(body)), LABKIT_SOC="Ascend999", check=False)
    assert "init 500000" in done.stdout
    assert "no chip named 'Ascend999'" in done.stderr


def test_a_refused_call_has_its_code_and_canns_message(build, in_tree):
    body = """
    aclTensor *self = tensor();
    uint64_t bytes = 0;
    aclOpExecutor *executor = nullptr;
    float half = 0.5f;
    aclScalar *lambd = aclCreateScalar(&half, ACL_FLOAT);
    std::printf("code %d\\n", aclnnHardshrinkBackwardGetWorkspaceSize(
        nullptr, self, lambd, self, &bytes, &executor));
    std::printf("%s\\n", aclGetRecentErrMsg());
    aclDestroyScalar(lambd);
    aclDestroyTensor(self);
    """
    done = in_tree(build(program(body)))
    assert "code 161001\n" in done.stdout
    assert "EZ1001" in done.stdout or "EZ9999" in done.stdout
    assert "gradOutput" in done.stdout
    assert done.stderr == ""


def test_a_shape_that_is_handed_out_may_be_deleted(build, in_tree):
    body = """
    aclTensor *self = tensor();
    for (int time = 0; time < 1000; ++time) {
        int64_t *shape = nullptr;
        uint64_t count = 0;
        aclGetViewShape(self, &shape, &count);
        if (count != 2 || shape[0] != 2 || shape[1] != 2) return 1;
        delete[] shape;
    }
    aclDestroyTensor(self);
    """
    assert "finalize 0" in in_tree(build(program(body))).stdout


def test_a_thread_without_a_context_gets_107002(build, in_tree):
    body = """
    int code = 0;
    void *other = nullptr;
    std::thread([&] { code = aclrtMalloc(&other, 64, ACL_MEM_MALLOC_HUGE_FIRST); }).join();
    std::printf("thread %d\\n", code);
    std::thread([&] { code = aclrtSetDevice(0); }).join();
    std::printf("set %d\\n", code);
    """
    stdout = in_tree(build(program(body))).stdout
    assert "thread 107002\n" in stdout and "set 0\n" in stdout


def test_what_was_never_destroyed_is_named_at_the_end(build, in_tree):
    done = in_tree(build(program("tensor();")))
    assert "at aclFinalize aclTensor 0x" in done.stderr
    assert in_tree(build(program(""))).stderr == ""


SECOND_PHASE_2 = """
    aclTensor *self = tensor();
    uint64_t bytes = 0;
    aclOpExecutor *executor = nullptr;
    float half = 0.5f;
    aclScalar *lambd = aclCreateScalar(&half, ACL_FLOAT);
    aclnnHardshrinkBackwardGetWorkspaceSize(self, self, lambd, self, &bytes, &executor);
    void *workspace = nullptr;
    aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    std::printf("first %d\\n", aclnnHardshrinkBackward(workspace, bytes, executor, stream));
    std::printf("second %d\\n", aclnnHardshrinkBackward(workspace, bytes, executor, stream));
    aclrtSynchronizeStream(stream);
    aclrtFree(workspace);
    aclDestroyScalar(lambd);
    aclDestroyTensor(self);
"""


def test_a_second_phase_2_is_explained_on_stderr(build, in_tree):
    done = in_tree(build(program(SECOND_PHASE_2)))
    assert "first 0\n" in done.stdout and "second 0\n" not in done.stdout
    assert "labkit: LifetimeError: " in done.stderr


def test_every_library_says_what_it_is(sdk):
    from labkit.cann.dl import SharedLibrary

    for path in sorted((sdk / "lib64").glob("*.so")):
        assert SharedLibrary(path).address("labkit_simulated"), path


def test_the_tree_serves_the_python_that_made_it(in_tree):
    done = in_tree(
        f'"{sys.executable}" -c "import ctypes, os; '
        "lib = ctypes.CDLL(os.environ['ASCEND_HOME_PATH'] + '/lib64/libascendcl.so'); "
        'print(lib.aclInit(None), lib.aclInit(None), lib.aclFinalize())"'
    )
    assert done.stdout == "0 100002 0\n"
