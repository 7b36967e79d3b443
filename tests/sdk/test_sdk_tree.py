"""`labkit sdk`: what it writes, what it refuses, and that it loses nothing."""

import os
import shutil
import subprocess

import pytest

from labkit.cann.find import find_cann
from labkit.cann.interface import prototypes
from labkit.cann.shim import library_of
from labkit.cli import main
from labkit.errors import LabValueError
from labkit.sim import sdk as module
from labkit.sim.npu import SoftwareNpu
from labkit.sim.sdk import SdkError, write_sdk


def exported(path):
    done = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True)
    return {line.split()[-1] for line in done.stdout.splitlines()}


def test_every_function_of_the_interface_is_in_its_library_and_in_no_other(sdk, skip_or_fail):
    if shutil.which("nm") is None:
        skip_or_fail("no nm on this machine")
    homes = {
        "runtime": ("libascendcl.so", "libacl_rt.so"),
        "nnopbase": ("libnnopbase.so",),
        "operators": ("libopapi_nn.so",),
    }
    npu = SoftwareNpu()
    for name in prototypes():
        if npu.has(name):
            have = [path.name for path in (sdk / "lib64").glob("*.so") if name in exported(path)]
            assert sorted(have) == sorted(homes[library_of(name)]), name


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("aclInit", "runtime"),
        ("aclrtMemcpyAsync", "runtime"),
        ("aclGetRecentErrMsg", "runtime"),
        ("aclsysGetVersionStr", "runtime"),
        ("aclCreateScalar", "nnopbase"),
        ("aclSetInputTensorAddr", "nnopbase"),
        ("aclnnInit", "nnopbase"),
        ("aclnnHardshrinkGetWorkspaceSize", "operators"),
    ],
)
def test_a_function_stands_in_the_library_that_really_holds_it(name, library):
    assert library_of(name) == library


def test_the_lab_finds_it_as_a_cann_of_the_split_layout(sdk):
    (install,) = find_cann({"ASCEND_HOME_PATH": str(sdk)}, roots=[])
    assert (install.layout, install.usable, install.missing) == ("split", True, ())
    assert install.set_env == sdk / "set_env.sh"


def test_the_single_layout_of_8_3_has_one_operator_library(tmp_path, skip_or_fail):
    try:
        root = write_sdk(tmp_path / "old", layout="single").root
    except SdkError as error:
        skip_or_fail(str(error))
    (install,) = find_cann({"ASCEND_HOME_PATH": str(root)}, roots=[])
    assert (install.layout, install.usable) == ("single", True)
    assert not list((root / "lib64").glob("libopapi_*"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "dash"])
def test_set_env_works_in_the_shells_that_are_here(sdk, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on this machine")
    done = subprocess.run(
        [shell, "-c", '. "$0"/set_env.sh && echo $ASCEND_HOME_PATH:$LD_LIBRARY_PATH', str(sdk)]
        if shell != "dash"
        else [shell, "-c", ". ./set_env.sh && echo $ASCEND_HOME_PATH:$LD_LIBRARY_PATH"],
        capture_output=True,
        text=True,
        cwd=sdk,
        env={"PATH": os.environ["PATH"]},
    )
    assert done.stdout.strip() == f"{sdk}:{sdk}/lib64", done.stderr


def test_a_second_time_replaces_the_tree_and_anything_else_is_refused(sdk, tmp_path, capsys):
    (sdk / "stale").touch()
    write_sdk(sdk)
    assert not (sdk / "stale").exists() and (sdk / "lib64" / "libacl_rt.so").is_file()
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(LabValueError, match="holds other files"):
        write_sdk(tmp_path)
    assert main(["sdk", str(tmp_path)]) == 1
    assert "holds other files" in capsys.readouterr().err
    with pytest.raises(LabValueError, match="not a folder"):
        write_sdk(tmp_path / "mine.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(LabValueError, match="split or single"):
        write_sdk(tmp_path / "x", layout="round")


def test_a_missing_compiler_is_named_with_the_command_that_brings_it(tmp_path, monkeypatch):
    with pytest.raises(SdkError, match=r"no C compiler 'no-such-cc'.*apt install gcc"):
        write_sdk(tmp_path / "x", compiler="no-such-cc")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SdkError, match="no C compiler"):
        write_sdk(tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_missing_headers_of_python_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(module.sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
    with pytest.raises(SdkError, match=r"Python\.h.*apt install libpython"):
        write_sdk(tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_a_python_without_a_shared_library_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(module.sysconfig, "get_config_var", lambda name: str(tmp_path))
    monkeypatch.setattr(module.sys, "base_prefix", str(tmp_path))
    with pytest.raises(SdkError, match="no shared library"):
        write_sdk(tmp_path / "x")


def test_a_compiler_that_fails_leaves_nothing_behind(tmp_path):
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho no luck >&2\nexit 1\n")
    compiler.chmod(0o755)
    with pytest.raises(SdkError, match="no luck"):
        write_sdk(tmp_path / "x", compiler=str(compiler))
    assert [path.name for path in tmp_path.iterdir()] == ["cc"]


def test_elsewhere_than_on_linux_the_reason_is_given(tmp_path, monkeypatch):
    monkeypatch.setattr(module.sys, "platform", "darwin")
    with pytest.raises(SdkError, match="Linux only; this is darwin"):
        write_sdk(tmp_path / "x")
