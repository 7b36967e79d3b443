"""Opening CANN: tiny libraries under CANN's names stand for the real ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.cann import header
from labkit.cann.dl import LoaderError, SharedLibrary
from labkit.cann.find import find_cann
from labkit.cann.interface import MissingSymbol
from labkit.cann.load import load_cann, require_npu
from labkit.cann.opened import CannLibrary
from labkit.errors import DeviceNotAvailable

POINTER = 0x1_0000_0010  # does not fit 32 bits

SOURCES = {
    "runtime": """
        #include "acl/acl.h"
        aclError aclInit(const char* configPath) { return configPath ? 100003 : 0; }
        const char* aclGetRecentErrMsg(void) { return "EZ9999"; }
        aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy)
        { *devPtr = (void*)0x100000010; return size ? (aclError)policy : 100000; }
        aclError aclrtFree(void* devPtr) { return devPtr != (void*)0x100000010; }
    """,
    "framework": """
        #include "aclnn/aclnn_base.h"
        aclScalar* aclCreateScalar(void* value, aclDataType dataType)
        { return dataType == ACL_BF16 ? value : 0; }
        aclnnStatus aclnnInit(const char* configPath) { return configPath != 0; }
    """,
    # Phase 1 asks for MARK bytes, so that a test sees which library answered.
    "operators": """
        #include "aclnnop/aclnn_hardshrink_backward.h"
        aclnnStatus aclnnHardshrinkBackwardGetWorkspaceSize(
            const aclTensor* gradOutput, const aclTensor* self, const aclScalar* lambd,
            aclTensor* gradInput, uint64_t* workspaceSize, aclOpExecutor** executor)
        {
            (void)gradOutput; (void)self; (void)lambd; (void)gradInput;
            *workspaceSize = MARK; *executor = (aclOpExecutor*)0x100000010; return 0;
        }
        aclnnStatus aclnnHardshrinkBackward(
            void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream)
        {
            (void)workspace; (void)stream; (void)workspaceSize;
            return executor == (aclOpExecutor*)0x100000010 ? MARK : -1;
        }
    """,
    "phase 1 only": """
        #include "aclnnop/aclnn_hardshrink_backward.h"
        aclnnStatus aclnnHardshrinkBackwardGetWorkspaceSize(
            const aclTensor* a, const aclTensor* b, const aclScalar* c, aclTensor* d,
            uint64_t* workspaceSize, aclOpExecutor** executor)
        { (void)a; (void)b; (void)c; (void)d; (void)executor; *workspaceSize = MARK; return 0; }
    """,
    "sibling": """
        int aclnnLabSiblingGetWorkspaceSize(int x) { return x + MARK; }
        int aclnnLabSibling(int x) { return x - MARK; }
    """,
    "empty": "int labNothing;",
    "simulated": "int labkit_simulated = 1;",
    "deadly": """
        #include <stdlib.h>
        __attribute__((constructor)) static void die(void) { abort(); }
    """,
    "unfinished": "extern int labNotThere(void); int labCall(void) { return labNotThere(); }",
}

Compile = Callable[..., None]


@pytest.fixture(scope="session")
def compile_library(tmp_path_factory, request) -> Compile:
    """Return a function that makes a shared library, and compiles each kind once."""
    if shutil.which("gcc") is None:
        request.getfixturevalue("skip_or_fail")("no gcc on this machine")
    store = tmp_path_factory.mktemp("libraries")
    made: dict[tuple, Path] = {}

    def compile_library(target: Path, *kinds: str, mark: int = 0, soname: str = "", needs=()):
        key = (kinds, mark, soname, tuple(needs))
        if key not in made:
            made[key] = store / f"{len(made)}.so"
            source = store / f"{len(made)}.c"
            source.write_text("\n".join(SOURCES[kind] for kind in kinds))
            command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
            command += [f"-DMARK={mark}", f"-I{header.INCLUDE_DIR}", str(source)]
            command += ["-o", str(made[key])] + ([f"-Wl,-soname,{soname}"] if soname else [])
            command += ["-Wl,--no-as-needed", *(str(path) for path in needs)]
            subprocess.run(command, check=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)  # never write into a file that may be mapped
        shutil.copy(made[key], target)

    return compile_library


class Machine:
    """A machine made for a test: an Ascend directory, an environment, libraries."""

    def __init__(self, base: Path, compile_library: Compile) -> None:
        self.ascend = base / "Ascend"
        self.root = self.ascend / "cann-9.1.0"
        self.lib64 = self.root / "lib64"
        self.environ: dict[str, str] = {}
        self.add = compile_library
        (self.root / "opp").mkdir(parents=True)

    def cann(self, *operators: str) -> Machine:
        """Install runtime, framework and these operator libraries; marks count from 1."""
        self.add(self.lib64 / "libacl_rt.so", "runtime")
        self.add(self.lib64 / "libnnopbase.so", "framework")
        for mark, name in enumerate(operators, start=1):
            self.add(self.lib64 / name, "operators", mark=mark)
        return self

    def custom(self, name: str, *kinds: str, mark: int) -> Path:
        path = self.root / "opp" / "vendors" / name / "op_api" / "lib" / "libcust_opapi.so"
        self.add(path, *kinds, mark=mark)
        return path

    def priority(self, text: str) -> None:
        path = self.root / "opp" / "vendors" / "config.ini"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"load_priority={text}\n")

    def load(self) -> CannLibrary:
        (install,) = find_cann({}, [self.ascend])
        return load_cann(install, self.environ)

    def refusal(self) -> str:
        with pytest.raises(DeviceNotAvailable) as caught:
            self.load()
        return str(caught.value)


@pytest.fixture
def machine(tmp_path, compile_library) -> Machine:
    return Machine(tmp_path, compile_library)


@pytest.fixture
def run(root):
    """Return a function that runs Python lines in a process of their own."""

    def run(text: str, **environ: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", text],
            cwd=root,
            env={**os.environ, **environ},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


def answered_by(library: CannLibrary) -> int:
    """Run both phases and return the mark of the library that answered both."""
    ffi = header.ffi()
    size, executor = ffi.new("uint64_t *"), ffi.new("aclOpExecutor **")
    null = ffi.NULL
    phase_1 = library.symbol("aclnnHardshrinkBackwardGetWorkspaceSize")
    assert phase_1(null, null, null, null, size, executor) == 0
    phase_2 = library.symbol("aclnnHardshrinkBackward")
    assert phase_2(null, size[0], executor[0], null) == size[0]
    return size[0]


def names(library: CannLibrary) -> list[str]:
    return [path.name for path in library.opened]


def test_the_split_layout_is_opened_in_order_by_absolute_path(machine):
    machine.cann("libopapi_nn.so")
    machine.add(machine.lib64 / "libdummy_tls.so", "empty")
    machine.add(machine.lib64 / "libopapi_math.so", "empty")
    library = machine.load()
    assert names(library) == [
        "libacl_rt.so",
        "libdummy_tls.so",
        "libnnopbase.so",
        "libopapi_math.so",
        "libopapi_nn.so",
    ]
    assert all(path.parent == machine.lib64 for path in library.opened)
    assert answered_by(library) == 1
    assert library.source == f"CANN 9.1.0 in {machine.root}"
    assert library.take_error() is None


def test_the_single_layout_of_8_3_works_with_the_old_runtime_name(machine):
    machine.cann("libopapi.so")
    (machine.lib64 / "libacl_rt.so").rename(machine.lib64 / "libascendcl.so")
    library = machine.load()
    assert names(library) == ["libascendcl.so", "libnnopbase.so", "libopapi.so"]
    assert answered_by(library) == 1


def test_of_both_layouts_only_the_split_one_is_opened(machine):
    machine.cann("libopapi_nn.so")
    machine.add(machine.lib64 / "libopapi.so", "deadly")
    machine.add(machine.lib64 / "libascendcl.so", "deadly")
    assert answered_by(machine.load()) == 1


def test_the_forwarder_that_ends_the_process_is_never_opened(machine):
    machine.cann("libopapi_nn.so")
    machine.add(machine.lib64 / "libacl_rt_impl.so", "deadly", soname="libacl_rt_impl.so")
    assert "libacl_rt_impl.so" not in names(machine.load())


def test_the_forwarder_is_not_opened_as_a_dependency_either(machine):
    machine.cann("libopapi_nn.so")
    machine.add(machine.lib64 / "libacl_rt_impl.so", "deadly", soname="libacl_rt_impl.so")
    machine.add(
        machine.lib64 / "libopapi_nn.so",
        "operators",
        needs=[machine.lib64 / "libacl_rt_impl.so"],
    )
    assert "libacl_rt_impl.so: cannot open shared object file" in machine.refusal()


def test_the_forwarder_would_have_ended_the_process(machine, root):
    machine.add(machine.lib64 / "libacl_rt_impl.so", "deadly")
    text = f"import ctypes; ctypes.CDLL({str(machine.lib64 / 'libacl_rt_impl.so')!r})"
    assert subprocess.run([sys.executable, "-c", text], check=False).returncode != 0


def test_a_pointer_beyond_32_bits_survives_the_round_trip(machine):
    library = machine.cann("libopapi_nn.so").load()
    ffi = header.ffi()
    pointer = ffi.new("void **")
    assert library.symbol("aclrtMalloc")(pointer, 16, 2) == 2
    assert int(ffi.cast("uintptr_t", pointer[0])) == POINTER
    assert library.symbol("aclrtFree")(pointer[0]) == 0
    scalar = library.symbol("aclCreateScalar")(ffi.cast("void *", POINTER), 27)
    assert ffi.typeof(scalar) is ffi.typeof("aclScalar *")
    assert int(ffi.cast("uintptr_t", scalar)) == POINTER
    assert ffi.string(library.symbol("aclGetRecentErrMsg")()) == b"EZ9999"


def test_a_function_takes_nothing_but_what_its_prototype_says(machine):
    library = machine.cann("libopapi_nn.so").load()
    with pytest.raises(TypeError):
        library.symbol("aclrtFree")(1.5)
    with pytest.raises(TypeError):
        library.symbol("aclInit")()


@pytest.mark.parametrize("tail", ["", "GetWorkspaceSize"])
def test_only_canns_spelling_of_the_operator_is_found(tail, machine):
    library = machine.cann("libopapi_nn.so").load()
    assert library.has(f"aclnnHardshrinkBackward{tail}")
    assert not library.has(f"aclnnHardShrinkBackward{tail}")
    with pytest.raises(MissingSymbol, match=f"aclnnHardshrinkBackward{tail}: upper and lower"):
        library.symbol(f"aclnnHardShrinkBackward{tail}")


def test_a_missing_operator_names_the_libraries_searched_and_the_likely_cause(machine):
    library = machine.cann("libopapi_nn.so").load()
    with pytest.raises(MissingSymbol) as caught:
        library.symbol("aclnnHardshrink")
    assert caught.value.symbol == "aclnnHardshrink"
    assert caught.value.searched == (str(machine.lib64 / "libopapi_nn.so"),)
    text = str(caught.value)
    assert str(machine.lib64 / "libopapi_nn.so") in text
    assert "newer than the CANN" in text and "ops package" in text


def test_a_missing_runtime_function_is_looked_for_in_the_runtime(machine):
    library = machine.cann("libopapi_nn.so").load()
    assert not library.has("aclsysGetVersionStr")
    with pytest.raises(MissingSymbol) as caught:
        library.symbol("aclsysGetVersionStr")
    searched = [Path(path).name for path in caught.value.searched]
    assert searched == ["libnnopbase.so", "libacl_rt.so"]


def test_the_framework_has_its_own_start_which_is_no_operator(machine):
    library = machine.cann("libopapi_nn.so").load()
    assert library.symbol("aclnnInit")(header.ffi().NULL) == 0
    assert library.library_of("aclnnInit") == machine.lib64 / "libnnopbase.so"


def test_custom_operators_come_before_the_built_in_one_by_load_priority(machine, tmp_path):
    machine.cann("libopapi_nn.so")
    machine.custom("low", "operators", mark=11)
    high = machine.custom("high", "operators", mark=12)
    machine.priority("high,low")
    library = machine.load()
    assert answered_by(library) == 12
    assert library.library_of("aclnnHardshrinkBackward") == high
    assert names(library)[-3:] == ["libcust_opapi.so", "libcust_opapi.so", "libopapi_nn.so"]
    mine = tmp_path / "mine" / "op_api" / "lib" / "libcust_opapi.so"
    machine.add(mine, "operators", mark=13)
    machine.environ["ASCEND_CUSTOM_OPP_PATH"] = str(tmp_path / "mine")
    assert answered_by(machine.load()) == 13


def test_a_custom_library_with_half_a_pair_is_passed_over_and_said_so(machine):
    machine.cann("libopapi_nn.so")
    half = machine.custom("half", "phase 1 only", mark=11)
    machine.priority("half")
    library = machine.load()
    assert answered_by(library) == 1
    assert any(str(half) in note and "passed over" in note for note in library.notes)


def test_a_pair_is_never_put_together_from_a_library_and_its_dependency(machine):
    """A lookup also finds what a library's dependencies export: phase 2 would come from there."""
    machine.cann("libopapi_nn.so")
    other = machine.root / "opp" / "libother.so"
    machine.add(other, "operators", mark=12, soname=str(other))
    path = machine.root / "opp" / "vendors" / "half" / "op_api" / "lib" / "libcust_opapi.so"
    machine.add(path, "phase 1 only", mark=11, needs=[other])
    machine.priority("half")
    assert SharedLibrary(path).address("aclnnHardshrinkBackward")  # found, but elsewhere
    assert answered_by(machine.load()) == 1


def test_a_custom_library_that_does_not_load_is_left_out_and_said_so(machine):
    machine.cann("libopapi_nn.so")
    broken = machine.custom("broken", "unfinished", mark=0)
    machine.priority("broken")
    library = machine.load()
    assert answered_by(library) == 1
    assert any(str(broken) in note and "labNotThere" in note for note in library.notes)


def test_an_added_operator_is_found_in_the_sibling_libraries_of_the_split_layout(machine):
    header.declare(
        "int aclnnLabSiblingGetWorkspaceSize(int x); int aclnnLabSibling(int x);"
        "int aclnnLabNowhereGetWorkspaceSize(int x); int aclnnLabNowhere(int x);"
    )
    machine.cann("libopapi_nn.so")
    machine.add(machine.lib64 / "libopapi_cv.so", "sibling", mark=5)
    machine.add(machine.lib64 / "libopapi_broken.so", "unfinished")
    library = machine.load()
    assert "libopapi_cv.so" not in names(library)
    assert library.symbol("aclnnLabSibling")(7) == 2
    assert library.symbol("aclnnLabSiblingGetWorkspaceSize")(7) == 12
    with pytest.raises(MissingSymbol, match=r"libopapi_cv\.so"):
        library.symbol("aclnnLabNowhere")


def test_stubs_are_refused_with_the_way_out(machine):
    machine.add(machine.root / "devlib" / "libacl_rt.so", "deadly")
    text = machine.refusal()
    assert "devlib" in text and "100039" in text and "driver" in text


def test_one_link_into_devlib_is_enough_to_refuse(machine):
    machine.cann("libopapi_nn.so")
    machine.add(machine.root / "devlib" / "libopapi_math.so", "deadly")
    (machine.lib64 / "libopapi_math.so").symlink_to("../devlib/libopapi_math.so")
    assert "devlib/libopapi_math.so" in machine.refusal().replace("lib64", "devlib")


def test_a_driver_stub_that_the_loader_picks_up_is_refused(machine, run):
    """set_env.sh puts devlib on LD_LIBRARY_PATH when it finds no driver."""
    machine.cann("libopapi_nn.so")
    stub = machine.root / "devlib" / "libascend_hal.so"
    machine.add(stub, "empty", soname="libascend_hal.so")
    machine.add(machine.lib64 / "libacl_rt.so", "runtime", needs=[stub])
    text = (
        "from labkit.cann import require_npu\n"
        "from labkit.errors import DeviceNotAvailable\n"
        f"try: print(require_npu({{}}, [__import__('pathlib').Path({str(machine.ascend)!r})]))\n"
        "except DeviceNotAvailable as error: print(error)"
    )
    assert "libascend_hal.so is a stub" in run(text, LD_LIBRARY_PATH=str(stub.parent))


def test_a_driver_that_is_not_mounted_is_explained(machine, run):
    machine.cann("libopapi_nn.so")
    driver = machine.root / "libascend_hal.so"
    machine.add(driver, "empty", soname="libascend_hal.so")
    machine.add(machine.lib64 / "libacl_rt.so", "runtime", needs=[driver])
    driver.unlink()
    text = machine.refusal()
    assert str(machine.lib64 / "libacl_rt.so") in text
    assert "libascend_hal.so: cannot open shared object file" in text
    assert "mount /usr/local/Ascend/driver" in text


def test_the_driver_is_opened_first_from_its_own_directory(machine, run):
    machine.cann("libopapi_nn.so")
    driver = machine.ascend / "driver" / "lib64" / "driver" / "libascend_hal.so"
    machine.add(driver, "empty", soname="libascend_hal.so")
    text = (
        "from pathlib import Path\nfrom labkit.cann import require_npu\n"
        f"print(*require_npu({{}}, [Path({str(machine.ascend)!r})]).opened, sep='\\n')"
    )
    assert run(text).splitlines()[:2] == [str(driver), str(machine.lib64 / "libacl_rt.so")]


def test_a_dependency_in_lib64_is_opened_though_no_search_path_names_it(machine):
    machine.cann("libopapi_nn.so")
    inner = machine.lib64 / "libLabInner.so"
    middle = machine.lib64 / "libLabMiddle.so"
    machine.add(inner, "empty", soname="libLabInner.so")
    machine.add(middle, "empty", soname="libLabMiddle.so", needs=[inner])
    machine.add(machine.lib64 / "libacl_rt.so", "runtime", needs=[middle])
    with pytest.raises(LoaderError, match=r"libLabMiddle\.so: cannot open"):
        SharedLibrary(machine.lib64 / "libacl_rt.so")
    opened = names(machine.load())
    assert opened[:3] == ["libLabInner.so", "libLabMiddle.so", "libacl_rt.so"]


def test_a_dependency_that_is_nowhere_asks_for_set_env(machine):
    machine.cann("libopapi_nn.so")
    lost = machine.root / "libLabLost.so"
    machine.add(lost, "empty", soname="libLabLost.so")
    machine.add(machine.lib64 / "libnnopbase.so", "framework", needs=[lost])
    lost.unlink()
    (machine.root / "set_env.sh").touch()
    text = machine.refusal()
    assert "libLabLost.so: cannot open shared object file" in text
    assert f"source {machine.root}/set_env.sh" in text


def test_a_dependency_under_a_wrong_name_does_not_go_round_for_ever(machine):
    machine.cann("libopapi_nn.so")
    odd = machine.lib64 / "libLabOdd.so"
    machine.add(odd, "empty", soname="libLabOdd.so")
    machine.add(machine.lib64 / "libacl_rt.so", "runtime", needs=[odd])
    machine.add(odd, "empty", soname="libLabOdd.so.9")
    assert "libLabOdd.so: cannot open" in machine.refusal()


def test_an_undefined_symbol_at_load_tells_of_mixed_releases(machine):
    machine.cann("libopapi_nn.so")
    machine.add(machine.lib64 / "libopapi_nn.so", "unfinished")
    text = machine.refusal()
    assert "undefined symbol: labNotThere" in text
    assert "different CANN releases" in text


def test_a_file_that_is_no_library_is_explained(machine):
    machine.cann("libopapi_nn.so")
    (machine.lib64 / "libnnopbase.so").write_text("version https://git-lfs.github.com/spec/v1")
    assert "damaged or for another processor" in machine.refusal()


@pytest.mark.parametrize("name", ["libacl_rt.so", "libnnopbase.so", "libopapi_nn.so"])
def test_a_missing_library_is_named(name, machine):
    machine.cann("libopapi_nn.so")
    (machine.lib64 / name).unlink()
    text = machine.refusal()
    assert name in text and str(machine.lib64) in text


def test_what_aclnn_reads_from_the_environment_is_set_when_it_is_not(machine):
    library = machine.cann("libopapi_nn.so").load()
    assert machine.environ == {
        "ASCEND_HOME_PATH": str(machine.root),
        "ASCEND_OPP_PATH": str(machine.root / "opp"),
    }
    notes = "\n".join(library.notes)
    assert f"ASCEND_HOME_PATH was not set; now it is {machine.root}" in notes
    assert f"ASCEND_OPP_PATH was not set; now it is {machine.root}/opp" in notes


def test_what_the_user_has_set_stays_and_a_difference_is_said(machine):
    machine.environ = {"ASCEND_HOME_PATH": "/elsewhere", "ASCEND_OPP_PATH": "/elsewhere/opp"}
    library = machine.cann("libopapi_nn.so").load()
    assert machine.environ["ASCEND_HOME_PATH"] == "/elsewhere"
    assert any("/elsewhere" in note for note in library.notes)


def test_a_failed_load_leaves_the_environment_as_it_was(machine):
    machine.cann("libopapi_nn.so")
    machine.add(machine.lib64 / "libopapi_nn.so", "unfinished")
    machine.refusal()
    assert machine.environ == {}


def test_by_default_it_is_the_environment_of_the_process(machine, monkeypatch):
    for name in ("ASCEND_HOME_PATH", "ASCEND_OPP_PATH"):
        monkeypatch.setenv(name, "")
    machine.cann("libopapi_nn.so")
    load_cann(find_cann({}, [machine.ascend])[0])
    assert os.environ["ASCEND_HOME_PATH"] == str(machine.root)


def test_another_cann_in_the_process_is_said(machine, tmp_path, compile_library):
    machine.cann("libopapi_nn.so").load()
    other = Machine(tmp_path / "other", compile_library).cann("libopapi_nn.so")
    assert any(
        str(machine.lib64 / "libnnopbase.so") in note and "do not mix" in note
        for note in other.load().notes
    )
    again = machine.load().notes
    assert not any(str(machine.lib64) in note and "do not mix" in note for note in again)


@pytest.mark.parametrize("kinds", [("runtime",), ("runtime", "simulated")])
def test_a_simulated_tree_is_told_by_its_symbol(kinds, machine):
    machine.cann("libopapi_nn.so")
    machine.add(machine.lib64 / "libacl_rt.so", *kinds)
    library = machine.load()
    assert library.simulated is ("simulated" in kinds)
    assert ("software NPU" in library.source) is library.simulated


def test_require_npu_finds_and_opens_the_first_complete_cann(machine):
    machine.cann("libopapi_nn.so")
    library = require_npu(machine.environ, [machine.ascend])
    assert library.install.root == machine.root
    assert answered_by(library) == 1


def test_require_npu_says_where_it_looked_and_what_mends_it(tmp_path):
    with pytest.raises(DeviceNotAvailable) as caught:
        require_npu({"ASCEND_HOME_PATH": "/nowhere/cann"}, [tmp_path])
    text = str(caught.value)
    assert "/nowhere/cann: no such directory" in text
    assert f"{tmp_path}/cann: no such directory" in text
    assert "--install" in text and "software NPU" in text


def test_require_npu_without_operators_asks_for_the_ops_package(machine):
    machine.cann()
    with pytest.raises(DeviceNotAvailable, match="Install the ops package"):
        require_npu(machine.environ, [machine.ascend])


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_elsewhere_than_on_linux_the_reason_is_given(system, machine, monkeypatch):
    machine.cann("libopapi_nn.so")
    (install,) = find_cann({}, [machine.ascend])
    monkeypatch.setattr(sys, "platform", system)
    with pytest.raises(DeviceNotAvailable, match=f"Linux only, this is {system}"):
        load_cann(install, {})
