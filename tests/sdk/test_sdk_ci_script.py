"""The script for Ascend runners: it runs on the tree, and fails where there is no NPU."""

import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from conftest_sdk import clean_environment

SCRIPT = "docker/ascend-ci.sh"
NOTEBOOK = "notebooks/00_start_here.ipynb"

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")


def run(root, artefacts, **environ):
    return subprocess.run(
        ["bash", SCRIPT, str(artefacts), NOTEBOOK],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=280,
        env=clean_environment(LABKIT_CI_PYTHON=sys.executable, **environ),
    )


def test_it_runs_the_notebooks_on_the_device_and_leaves_its_artefacts(sdk, root, tmp_path):
    done = run(root, tmp_path, ASCEND_HOME_PATH=str(sdk), LABKIT_ALLOW_SIMULATED="1")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert (tmp_path / "notebooks" / "00_start_here.ipynb").is_file()
    assert "0 not as stored" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "device npu: usable" in (tmp_path / "doctor.txt").read_text(encoding="utf-8")
    cases = list(ET.parse(tmp_path / "report.xml").iter("testcase"))
    assert len(cases) > 5 and not any(case.find("skipped") is not None for case in cases)


def test_without_an_npu_it_fails_and_no_report_says_otherwise(root, tmp_path):
    for name in ("report.md", "report.xml"):  # of an earlier run, say
        (tmp_path / name).write_text("all passed")
    done = run(root, tmp_path, HOME=str(tmp_path))
    assert done.returncode != 0
    assert "No usable CANN" in done.stdout
    assert not (tmp_path / "report.md").exists() and not (tmp_path / "report.xml").exists()


def test_a_set_env_script_with_tests_that_fail_is_survived(root, tmp_path):
    script = tmp_path / "Ascend" / "cann" / "set_env.sh"
    script.parent.mkdir(parents=True)
    script.write_text('[ -n "$NEVER_SET" ] && true\nfalse\necho "arguments: $#"\nfalse\n')
    done = run(root, tmp_path, HOME=str(tmp_path))
    assert "arguments: 0" in done.stdout and "No usable CANN" in done.stdout
