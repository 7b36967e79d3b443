"""The header: compilers and cffi read the same interface, and it is CANN's."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.cann import header
from labkit.cann.interface import MissingSymbol, is_operator, phases
from labkit.errors import DeviceNotAvailable, LabValueError

WRAPPERS = [
    "acl/acl.h",
    "acl/acl_base.h",
    "acl/acl_rt.h",
    "aclnn/acl_meta.h",
    "aclnn/aclnn_base.h",
    "aclnnop/aclnn_hardshrink.h",
    "aclnnop/aclnn_hardshrink_backward.h",
]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]

PROGRAM = """
#include "acl/acl.h"
#include "aclnnop/aclnn_hardshrink_backward.h"
#include "aclnnop/aclnn_hardshrink.h"
int main(void)
{
    int64_t shape[2] = {2, 2};
    int64_t strides[2] = {2, 1};
    float lambd = 0.5f;
    void* data = NULL;
    uint64_t size = 0;
    aclOpExecutor* executor = NULL;
    aclrtStream stream = NULL;
    if (aclInit(NULL) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) return 1;
    if (aclrtCreateStream(&stream) != ACL_ERROR_NONE) return 1;
    if (aclrtMalloc(&data, 16, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return 1;
    aclTensor* self = aclCreateTensor(
        shape, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, shape, 2, data);
    aclScalar* scalar = aclCreateScalar(&lambd, ACL_FLOAT);
    aclnnStatus status = aclnnHardshrinkBackwardGetWorkspaceSize(
        self, self, scalar, self, &size, &executor);
    if (status == ACLNN_ERR_PARAM_INVALID) return 2;
    status = aclnnHardshrinkBackward(NULL, size, executor, stream);
    return status + aclDestroyTensor(self) + aclDestroyScalar(scalar);
}
"""


@pytest.fixture(scope="module")
def facts(root: Path) -> dict[str, dict]:
    """CANN's own prototypes, kept as data beside the header."""
    path = root / "data" / "vectors" / "prototypes.json"
    return json.loads(path.read_text(encoding="utf-8"))["prototypes"]


@pytest.fixture(scope="module")
def enums(root: Path) -> dict[str, dict[str, int]]:
    path = root / "labkit" / "data" / "enums.json"
    return json.loads(path.read_text(encoding="utf-8"))["enums"]


@pytest.fixture
def compiles(tmp_path, skip_or_fail):
    """Return a function that compiles a text and gives the compiler's complaints."""

    def compiles(text: str, language: str) -> str:
        compiler = {"c": "gcc", "c++": "g++"}[language]
        if shutil.which(compiler) is None:
            skip_or_fail(f"no {compiler} on this machine")
        source = tmp_path / "program.txt"
        source.write_text(text)
        standard = f"-std={language}11"
        include = f"-I{header.INCLUDE_DIR}"
        command = [compiler, *STRICT, standard, include, "-x", language, str(source)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr

    return compiles


@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_every_wrapper_compiles_alone_and_twice_without_a_warning(wrapper, language, compiles):
    text = f'#include "{wrapper}"\n#include "{wrapper}"\nint use(aclError e) {{ return e; }}\n'
    text += "int use(aclError);\n" if language == "c++" else ""
    assert compiles(text, language) == ""


@pytest.mark.parametrize("language", ["c", "c++"])
def test_a_host_program_written_for_cann_compiles(language, compiles):
    assert compiles(PROGRAM, language) == ""


def test_the_compile_check_can_fail(compiles):
    assert "aclnnHardShrinkBackward" in compiles(
        PROGRAM.replace("aclnnHardshrinkBackward(", "aclnnHardShrinkBackward("), "c++"
    )


def test_the_wrappers_are_all_there():
    found = [path.relative_to(header.INCLUDE_DIR) for path in header.INCLUDE_DIR.rglob("*.h")]
    assert sorted(path.as_posix() for path in found) == sorted(WRAPPERS)


def test_each_prototype_is_canns(facts):
    for name, fact in facts.items():
        prototype = header.prototypes()[name]
        assert prototype.returns == fact["returns"], name
        assert [list(param) for param in prototype.params] == fact["params"], name


def test_cann_h_declares_nothing_beyond_canns_prototypes(facts):
    text = re.sub(r"/\*.*?\*/", "", header.HEADER.read_text(), flags=re.S)
    assert set(re.findall(r"(\w+)\(", text)) == set(facts)


def test_a_c_compiler_sees_the_same_prototypes(facts, compiles):
    lines = ['#include "acl/acl.h"', '#include "aclnnop/aclnn_hardshrink.h"']
    for name, fact in facts.items():
        types = ", ".join(ctype for ctype, _ in fact["params"]) or "void"
        lines.append(f"{fact['returns']} (*take_{name})({types}) = {name};")
    assert compiles("\n".join(lines), "c") == ""
    wrong = "void (*take)(void) = aclInit;"
    assert "incompatible" in compiles("\n".join([*lines, wrong]), "c")


def test_cffi_reads_the_same_number_of_parameters(facts):
    ffi = header.ffi()
    for name, fact in facts.items():
        pointer = ffi.typeof(header.prototypes()[name].pointer)
        assert pointer.kind == "function", name
        assert len(pointer.args) == len(fact["params"]), name


def test_a_signature_is_the_type_of_a_callback_and_keeps_64_bits():
    malloc = header.prototypes()["aclrtMalloc"]
    assert malloc.signature == "int(void * *, size_t, aclrtMemMallocPolicy)"
    ffi = header.ffi()

    @ffi.callback(header.prototypes()["aclCreateScalar"].signature)
    def create(value, dtype):
        assert dtype == 27
        return ffi.cast("aclScalar *", int(ffi.cast("uintptr_t", value)) + 1)

    made = create(ffi.cast("void *", 0x1_0000_000F), 27)
    assert int(ffi.cast("uintptr_t", made)) == 0x1_0000_0010


def test_every_signature_makes_a_callback():
    ffi = header.ffi()
    for prototype in header.prototypes().values():
        ffi.callback(prototype.signature, lambda *_: 0)


def test_the_enumerators_are_those_of_the_table(enums):
    text = re.sub(r"/\*.*?\*/", "", header.HEADER.read_text(), flags=re.S)
    assert set(re.findall(r"\}\s*(\w+);", text)) == set(enums)
    for name, values in enums.items():
        assert header.ffi().typeof(name).relements == values, name


def test_a_compiler_sees_the_same_numbers(enums, compiles):
    lines = ['#include "acl/acl.h"']
    numbers = [item for values in enums.values() for item in values.items()]
    lines += [f'_Static_assert({name} == {value}, "{name}");' for name, value in numbers]
    lines += [
        f'_Static_assert({name} == {value}, "{name}");'
        for name, value in header.constants().items()
    ]
    assert compiles("\n".join(lines), "c") == ""
    assert "static assertion failed" in compiles(
        lines[0] + '\n_Static_assert(ACL_BF16 == 26, "");', "c"
    )


def test_flags_have_canns_numbers():
    numbers = header.constants()
    events = ["SYNC", "CAPTURE_STREAM_PROGRESS", "TIME_LINE", "DEVICE_USE_ONLY", "EXTERNAL", "IPC"]
    assert [numbers[f"ACL_EVENT_{name}"] for name in events] == [1, 2, 8, 16, 32, 64]
    assert numbers["ACL_STREAM_FAST_LAUNCH"] == 1 and numbers["ACL_STREAM_FAST_SYNC"] == 2


ADD = """
/* an operator that the header does not have */
aclnnStatus aclnnLabOneGetWorkspaceSize(const aclTensor* self, aclTensor* out,
                                        uint64_t* workspaceSize, aclOpExecutor** executor);
aclnnStatus aclnnLabOne(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                        aclrtStream stream);
"""


def test_another_operator_is_added_in_a_few_lines_and_twice_does_no_harm():
    header.declare(ADD)
    header.declare(ADD)
    header.declare(ADD.replace("workspaceSize, aclOpExecutor* ", "size, aclOpExecutor* "))
    assert header.prototypes()["aclnnLabOne"].params[1] == ("uint64_t", "workspaceSize")
    assert header.ffi().typeof(header.prototypes()["aclnnLabOneGetWorkspaceSize"].pointer)


def test_an_added_enumeration_and_define_become_numbers():
    header.declare("#define LAB_TWO 0x2\ntypedef enum { LAB_RED = 3, LAB_BLUE } labColour;")
    assert [header.constants()[name] for name in ("LAB_TWO", "LAB_RED", "LAB_BLUE")] == [2, 3, 4]
    with pytest.raises(LabValueError, match="already 2"):
        header.declare("#define LAB_TWO 5\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("aclnnStatus aclnnHardshrink(void* workspace);", "already declared as"),
        ("float aclDataTypeSize(aclDataType dataType);", "already declared as"),
        ("typedef int aclDataType;", "cannot be taken"),
        ("int labBad(labNoSuchType x);", "cannot be taken"),
        ("int labBad(int);", "a type and a name"),
        ("int labBad(int (*call)(int));", "not a prototype"),
        ("int labBad(int x", "not a prototype"),
        ("this is not C", "cannot be taken"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused_and_changes_nothing(text, words):
    before = dict(header.prototypes())
    with pytest.raises(LabValueError, match=words):
        header.declare("int labNeverTaken(int x);\n" + text)
    assert header.prototypes() == before
    header.declare("int labTaken(int x);")  # and the next one is taken


def test_a_refused_declaration_leaves_no_half_behind():
    with pytest.raises(LabValueError):
        header.declare("typedef struct { int a; } labHalf; typedef float aclDataType;")
    header.declare("typedef struct { float b; } labHalf; int labHalfGood(labHalf* x);")
    assert header.ffi().new("labHalf *", {"b": 0.5}).b == 0.5


def test_the_operators_of_the_header_are_told_from_the_rest():
    operators = {name for name in header.prototypes() if is_operator(name) and "Lab" not in name}
    pair = {"aclnnHardshrinkBackward", "aclnnHardshrinkBackwardGetWorkspaceSize"}
    assert operators == pair | {"aclnnHardshrink", "aclnnHardshrinkGetWorkspaceSize"}
    assert {*phases("aclnnHardshrinkBackward")} == pair == {*phases(max(pair, key=len))}


def test_a_missing_symbol_says_the_right_spelling():
    error = MissingSymbol("aclnnHardShrinkBackward")
    assert isinstance(error, DeviceNotAvailable)
    assert "aclnnHardshrinkBackward" in str(error)
    assert error.symbol == "aclnnHardShrinkBackward" and error.searched == ()


def test_importing_the_package_and_its_modules_loads_neither_cffi_nor_numpy(root):
    program = (
        "import sys, labkit.cann, labkit.cann.load, labkit.cann.codes\n"
        "labkit.cann.find_cann()\n"
        "labkit.cann.lookup(0)\n"
        "print([name for name in ('cffi', 'numpy', 'matplotlib') if name in sys.modules])"
    )
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_every_public_name_of_the_package_is_there():
    import labkit.cann as package

    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)
    with pytest.raises(AttributeError):
        package.no_such_name  # noqa: B018


def test_the_package_imports_nothing_of_the_lab_but_its_errors(root):
    for path in (root / "labkit" / "cann").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, path
                names = [node.module or ""]
            for name in names:
                if name.split(".")[0] == "labkit":
                    assert name == "labkit.errors" or name.startswith("labkit.cann"), (path, name)
