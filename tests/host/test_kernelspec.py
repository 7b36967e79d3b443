"""`labkit kernel install`: the kernel has what set_env.sh sets, and nothing of this shell's."""

import json
import shutil
import subprocess
import sys

import pytest

from labkit import kernelspec
from labkit.errors import DeviceNotAvailable, LabValueError
from labkit.kernelspec import KernelError, environment_of, install, remove

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")

SCRIPT = """
echo "setting up" # what a script says must not get into the variables
export ASCEND_HOME_PATH=/opt/cann
export LD_LIBRARY_PATH=/opt/cann/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export ODD='two
lines and an = sign'
cd /
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "set_env.sh"
    path.write_text(SCRIPT)
    return path


@pytest.fixture
def jupyter(tmp_path, monkeypatch):
    """Folders of Jupyter's that are the test's own."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "prefix" / "share" / "jupyter"))
    return tmp_path / "prefix"


def test_what_the_script_changes_is_taken_and_nothing_else(script):
    before = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": "/mine", "HOME": "/x"}
    assert environment_of(script, before) == {
        "ASCEND_HOME_PATH": "/opt/cann",
        "LD_LIBRARY_PATH": "/opt/cann/lib64:/mine",
        "ODD": "two\nlines and an = sign",
    }


def test_the_kernel_starts_this_python_with_that_environment(script, jupyter, monkeypatch):
    monkeypatch.setenv("ASCEND_HOME_PATH", "/opt/cann")  # sourced already: still in the kernel
    folder = install(script=script, prefix=str(jupyter))
    spec = json.loads((folder / "kernel.json").read_text())
    assert spec["argv"][0] == sys.executable
    assert spec["env"]["ASCEND_HOME_PATH"] == "/opt/cann"
    assert spec["env"]["LABKIT_DEVICE"] == "npu"
    assert [path.name for path in folder.iterdir()] == ["kernel.json"]
    again = install(script=script, prefix=str(jupyter), device="auto", display_name="Mine")
    spec = json.loads((again / "kernel.json").read_text())
    assert again == folder and spec["display_name"] == "Mine"
    assert spec["env"]["LABKIT_DEVICE"] == "auto"
    assert remove() == folder
    assert not folder.exists()
    with pytest.raises(KernelError, match="there is no kernel"):
        remove()


def test_a_kernel_of_somebody_else_is_not_removed(jupyter):
    folder = jupyter / "share" / "jupyter" / "kernels" / "theirs"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text('{"argv": ["x"], "display_name": "x", "language": "x"}')
    with pytest.raises(KernelError, match="not one of the lab's"):
        remove("theirs")
    assert (folder / "kernel.json").is_file()


def test_a_script_that_fails_is_told_in_its_own_words(script):
    script.write_text("echo no driver here >&2\nfalse")
    with pytest.raises(KernelError, match="no driver here"):
        environment_of(script)
    script.write_text("true")
    with pytest.raises(KernelError, match="changes nothing"):
        environment_of(script)
    with pytest.raises(KernelError, match="there is no"):
        environment_of(script.with_name("none.sh"))


def test_without_a_cann_the_reason_is_given_and_nothing_is_written(jupyter, monkeypatch):
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(jupyter))
    with pytest.raises(DeviceNotAvailable, match="No usable CANN"):
        install(prefix=str(jupyter))
    assert not jupyter.exists()


def test_a_kernel_of_somebody_else_is_not_replaced(script, jupyter):
    with pytest.raises(KernelError, match="'python3' is not one of the lab's"):
        install(name="python3", script=script, prefix=str(jupyter))
    assert not jupyter.exists()


def test_capital_letters_are_jupyters_small_ones(script, jupyter):
    folder = install(name="Mine", script=script, prefix=str(jupyter))
    assert folder.name == "mine"
    assert remove("Mine") == folder


CAREFUL = """
export ASCEND_HOME_PATH=HERE
case ":$LD_LIBRARY_PATH:" in
    *:HERE/lib64:*) ;;
    *) LD_LIBRARY_PATH=HERE/lib64:$LD_LIBRARY_PATH ;;
esac
export LD_LIBRARY_PATH
"""


def test_a_script_that_was_sourced_before_gives_its_lists_all_the_same(
    script, jupyter, monkeypatch
):
    """Many scripts add a folder to a list only when it is not there yet."""
    here = script.parent
    script.write_text(CAREFUL.replace("HERE", str(here)))
    monkeypatch.setenv("ASCEND_HOME_PATH", str(here))
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{here}/lib64:/mine")
    env = kernelspec.specification(script)["env"]
    assert env["LD_LIBRARY_PATH"] == f"{here}/lib64:/mine"
    assert env["ASCEND_HOME_PATH"] == str(here)


def test_what_lies_beside_a_script_that_is_in_no_cann_stays_in_the_lists(script, monkeypatch):
    script.write_text("export ASCEND_HOME_PATH=/opt/cann PATH=/opt/cann/bin:$PATH")
    monkeypatch.setenv("PATH", f"{script.parent}/bin:/usr/bin:/bin")
    env = kernelspec.specification(script)["env"]
    assert env["PATH"] == f"/opt/cann/bin:{script.parent}/bin:/usr/bin:/bin"
    (script.parent / "lib64").mkdir()  # now it is one
    assert kernelspec.specification(script)["env"]["PATH"] == "/opt/cann/bin:/usr/bin:/bin"


def test_the_script_of_another_package_is_refused(script, jupyter):
    script.write_text("export ATB_HOME_PATH=/opt/atb")
    with pytest.raises(KernelError, match="sets no ASCEND_HOME_PATH"):
        install(script=script, prefix=str(jupyter))
    assert not jupyter.exists()


def test_a_script_that_asks_or_hangs_is_told(script, monkeypatch):
    script.write_text("read answer || export ANSWER=none")
    assert environment_of(script, {"PATH": "/usr/bin:/bin"}) == {"ANSWER": "none"}
    monkeypatch.setattr(kernelspec, "_SECONDS", 0.5)
    script.write_text("sleep 20")
    with pytest.raises(KernelError, match=r"not ended after 0\.5 seconds"):
        environment_of(script)


def test_values_that_are_no_utf_8_do_not_count_as_changed(script):
    before = {"PATH": "/usr/bin:/bin", "BYTES": "\udcff"}
    assert "BYTES" not in environment_of(script, before)


def test_a_name_that_jupyter_does_not_take_is_told(script, jupyter):
    with pytest.raises(KernelError, match="two words"):
        install(name="two words", script=script, prefix=str(jupyter))
    with pytest.raises(LabValueError, match="one place"):
        install(script=script, prefix=str(jupyter), user=True)


def test_the_command_installs_and_removes(script, jupyter, monkeypatch, capsys):
    from labkit.cli import main

    arguments = ["--set-env", str(script), "--prefix", str(jupyter)]
    assert main(["kernel", "install", *arguments]) == 0
    assert kernelspec.NAME in capsys.readouterr().out
    listed = subprocess.run(
        [sys.executable, "-m", "jupyter", "kernelspec", "list", "--json"],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert kernelspec.NAME in json.loads(listed.stdout)["kernelspecs"]
    assert main(["kernel", "remove"]) == 0
    assert main(["kernel", "remove"]) == 1
