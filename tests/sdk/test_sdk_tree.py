"""`labkit sdk`: what it writes, what it refuses, and that it loses nothing."""

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from labkit.cann.find import find_cann
from labkit.cann.interface import prototypes
from labkit.cann.shim import library_of
from labkit.cli import main
from labkit.errors import LabValueError
from labkit.sim import entry
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
        write_sdk(tmp_path / "new" / "x", compiler=str(compiler))
    assert [path.name for path in tmp_path.iterdir()] == ["cc"]
    (tmp_path / "there").mkdir()
    with pytest.raises(SdkError, match="no luck"):
        write_sdk(tmp_path / "there", compiler=str(compiler))
    assert list((tmp_path / "there").iterdir()) == []


def test_elsewhere_than_on_linux_the_reason_is_given(tmp_path, monkeypatch):
    monkeypatch.setattr(module.sys, "platform", "darwin")
    with pytest.raises(SdkError, match="Linux only; this is darwin"):
        write_sdk(tmp_path / "x")


def test_a_folder_that_is_there_stays_the_same_folder(tmp_path, monkeypatch, skip_or_fail):
    """A shell that stands in it must not be left in one that is gone."""
    here = tmp_path / "a folder"
    here.mkdir()
    (tmp_path / "link").symlink_to(here)
    (here / "labkit-sdk").touch()  # what a run leaves that was killed
    (here / ".new-killed").mkdir()
    before = here.stat().st_ino
    monkeypatch.chdir(here)
    try:
        told = str(write_sdk("."))
    except SdkError as error:
        skip_or_fail(str(error))
    assert here.stat().st_ino == before
    assert sorted(os.listdir(here))[:2] == ["README.md", "include"]
    assert f"source '{here}/set_env.sh'" in told  # as it can be typed
    write_sdk(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and here.stat().st_ino == before
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(LabValueError, match="leads nowhere"):
        write_sdk(tmp_path / "dangling")


def test_a_path_through_a_file_and_an_unknown_home_are_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LabValueError, match=r"file is not a folder"):
        write_sdk(tmp_path / "file" / "x")
    with pytest.raises(LabValueError, match="no-such-user"):
        write_sdk("~no-such-user-here/x")


def test_two_runs_at_once_leave_one_whole_tree(sdk, tmp_path):
    command = [sys.executable, "-m", "labkit", "sdk", str(tmp_path / "new" / "tree")]
    for _ in range(2):  # into a new folder, then over the tree that is there
        runs = [
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for _ in range(2)
        ]
        assert [(run.communicate()[1], run.returncode) for run in runs] == [(b"", 0)] * 2
    assert sorted(os.listdir(tmp_path / "new" / "tree")) == sorted(os.listdir(sdk))
    assert os.listdir(tmp_path / "new") == ["tree"]


def test_a_compiler_may_be_a_command_with_options(tmp_path, monkeypatch, skip_or_fail):
    if shutil.which("gcc") is None:
        skip_or_fail("no gcc on this machine")
    note = tmp_path / "note"
    (tmp_path / "mycc").write_text(f'#!/bin/sh\necho "$1" >{note}\nshift\nexec gcc "$@"\n')
    (tmp_path / "mycc").chmod(0o755)
    monkeypatch.setenv("CC", f"{tmp_path}/mycc --mine")
    write_sdk(tmp_path / "x")
    assert note.read_text() == "--mine\n"


def test_set_env_fails_where_it_cannot_tell_its_place(sdk, tmp_path):
    if shutil.which("dash") is None:
        pytest.skip("no dash on this machine")
    done = subprocess.run(
        ["dash", "-c", f'. "{sdk}/set_env.sh" && echo went on'],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
    )
    assert "went on" not in done.stdout
    assert "is not the tree" in done.stderr


def test_threads_that_ask_at_once_get_one_function(monkeypatch, tmp_path):
    """C keeps the address for good, so a second one made meanwhile must not replace the first."""
    made = []

    def slowly(self, prototype, function, callback=SoftwareNpu._callback):
        time.sleep(0.05)
        made.append(prototype.name)
        return callback(self, prototype, function)

    monkeypatch.setattr(SoftwareNpu, "_callback", slowly)
    monkeypatch.setattr(entry, "_NPU", [])
    monkeypatch.setattr(entry, "_LOG", [])
    monkeypatch.setenv("LABKIT_CALL_LOG", str(tmp_path / "log"))
    with ThreadPoolExecutor(4) as pool:
        addresses = set(pool.map(entry.address, ["aclrtFree"] * 4))
    assert made == ["aclrtFree"] and len(addresses) == 1 and 0 not in addresses
