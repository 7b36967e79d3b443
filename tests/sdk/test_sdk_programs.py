"""C++ host programs against the tree: they build as CANN's documents say, and run."""

import json
import shutil
import signal
import subprocess
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
    body = 'const char *name = aclrtGetSocName(); std::printf("%s\\n", name ? name : "none");'
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


def test_ctrl_c_ends_a_program_as_it_would_without_the_libraries(build, in_tree):
    text = program("raise(SIGINT);").replace("<thread>", "<csignal>")
    # Before the first call: what runs in the background may have inherited that it is ignored.
    first = "static const auto before = signal(SIGINT, SIG_DFL);\n"
    done = in_tree(build(text.replace("int main", first + "int main")), check=False)
    assert done.returncode in (-signal.SIGINT, 128 + signal.SIGINT)  # as bash replaces itself
    assert "finalize" not in done.stdout and done.stderr == ""


@pytest.mark.parametrize(
    ("variable", "value"), [("LABKIT_SOC", "Ascend999"), ("LABKIT_DEVICE_COUNT", "two")]
)
def test_a_wrong_variable_is_named_once_and_every_call_fails(build, in_tree, variable, value):
    done = in_tree(build(program("")), check=False, **{variable: value})
    assert "init 500000\ndevice 500000\nfinalize 500000\n" == done.stdout
    assert len(done.stderr.splitlines()) == 1
    assert variable in done.stderr and value in done.stderr


THREADS = """
    std::vector<std::thread> threads;
    for (int number = 0; number < 16; ++number)
        threads.emplace_back([] {
            aclInit(nullptr);
            aclrtSetDevice(0);
            void *mine = nullptr;
            for (int time = 0; time < 20; ++time) {
                if (aclrtMalloc(&mine, 64, ACL_MEM_MALLOC_HUGE_FIRST)) return;
                if (aclrtFree(mine)) return;
            }
            if (aclnnHardshrinkBackward(nullptr, 0, nullptr, nullptr) != 161001) return;
            const char *said = aclGetRecentErrMsg(); // of this thread, whatever others do
            if (said && !aclGetRecentErrMsg()) ++good;
            aclrtResetDevice(0);
        });
    for (std::thread &thread : threads) thread.join();
    std::printf("good %d\\n", good.load());
    return 0;
"""


def test_threads_may_make_the_first_calls_of_all_at_once(build, in_tree, tmp_path):
    source = PROGRAM.replace("#include <thread>", "#include <atomic>\n#include <thread>")
    source = source.replace("int main()\n{", "std::atomic<int> good{0};\n\nint main()\n{" + THREADS)
    main = build(source.replace("BODY", ""))
    for log in ("", str(tmp_path / "log")):
        assert in_tree(main, LABKIT_CALL_LOG=log).stdout == "good 16\n"
    names = [json.loads(line)["name"] for line in (tmp_path / "log").read_text().splitlines()]
    assert names.count("aclrtMalloc") == names.count("aclrtFree") == 320


def test_a_shape_is_made_with_the_new_that_its_delete_belongs_to(build, in_tree):
    """A program may have an allocator of its own."""
    body = """
    aclTensor *self = tensor();
    int64_t *shape = nullptr;
    uint64_t count = 0;
    int before = arrays;
    aclGetViewShape(self, &shape, &count);
    std::printf("made %d\\n", arrays > before);
    delete[] shape;
    aclDestroyTensor(self);
    """
    own = """
    #include <cstdlib>
    #include <new>
    static int arrays = 0;
    void *operator new[](std::size_t size) { ++arrays; return std::malloc(size); }
    void operator delete[](void *memory) noexcept { std::free(memory); }
    void operator delete[](void *memory, std::size_t) noexcept { std::free(memory); }
    """
    source = program(body).replace("aclrtStream stream;", own + "aclrtStream stream;")
    assert "made 1\n" in in_tree(build(source)).stdout


DESTRUCTOR = """
#include <cstdio>
#include "acl/acl.h"
struct Last { ~Last() { std::printf("last %d\\n", aclFinalize()); std::fflush(stdout); } };
static Last last;
extern "C" int start() { return aclInit(nullptr); }
int main() { return start(); }
"""


def test_a_destructor_that_runs_after_the_end_of_python_gets_a_code(build, in_tree):
    assert in_tree(build(DESTRUCTOR)).stdout == "last 0\n"
    library = build(DESTRUCTOR, "-lascendcl -lnnopbase -shared -fPIC")
    done = in_tree(
        f'"{sys.executable}" -c "import ctypes; print(ctypes.CDLL({str(library)!r}).start())"'
    )
    assert done.stdout == "0\nlast 500000\n"
    assert "after the end of Python" in done.stderr


FOREIGN = (
    "import ctypes, os; "
    "lib = ctypes.CDLL(os.environ['ASCEND_HOME_PATH'] + '/lib64/libascendcl.so'); "
    "print(lib.aclInit(None), lib.aclrtSetDevice(0))"
)


def test_a_python_that_cannot_import_the_lab_is_told_once(in_tree):
    bare = getattr(sys, "_base_executable", sys.executable)
    done = in_tree(f'"{bare}" -I -S -c "{FOREIGN}"')
    assert done.stdout == "500000 500000\n"
    assert len(done.stderr.splitlines()) == 1
    assert "cannot import the lab" in done.stderr and sys.executable in done.stderr


def test_a_python_of_another_release_is_told_and_lives_on(in_tree, tmp_path):
    others = [
        path
        for minor in range(8, 20)
        if minor != sys.version_info[1]
        and (path := shutil.which(f"python3.{minor}"))
        and subprocess.run([path, "-c", "import ctypes"], capture_output=True).returncode == 0
    ]
    if not others:
        pytest.skip("no Python of another release on this machine")
    done = in_tree(f'"{others[-1]}" -c "{FOREIGN}"')
    assert done.stdout == "500000 500000\n"
    assert "made by Python 3." in done.stderr


def test_init_refuses_a_config_file_by_the_tree_too(in_tree, tmp_path):
    (tmp_path / "bad.json").write_text("{")
    script = (
        "import ctypes; lib = ctypes.CDLL('libascendcl.so'); "
        "lib.aclGetRecentErrMsg.restype = ctypes.c_char_p; "
        "said = [(lib.aclInit(path), (lib.aclGetRecentErrMsg() or b'').decode()) "
        "for path in (b'missing.json', b'bad.json', None)]; "
        "print(*[f'{code} {text[:6]} {path}' for (code, text), path in "
        "zip(said, ('missing.json' in said[0][1], 'bad.json' in said[1][1], ''))], sep='|')"
    )
    done = in_tree(f'"{sys.executable}" -c "{script}"', cwd=tmp_path)
    assert done.stdout == "100003 EH0003 True|100006 EH0004 True|0  \n"
    assert done.stderr == ""
