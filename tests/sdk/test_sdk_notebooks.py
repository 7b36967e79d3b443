"""The course on the device path: every checked cell through dlopen prints what is stored."""

import sys

import pytest


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_notebooks_agree_cell_by_cell_through_the_libraries(in_tree, root, tmp_path):
    done = in_tree(
        f'"{sys.executable}" -m labkit notebooks --on npu --keep kept --report report.md '
        # 08 watches an NPU with msprof, which no tree has.
        f'"{root}"/notebooks/0[0-79]_*.ipynb "{root}"/notebooks/10_*.ipynb',
        cwd=tmp_path,
        check=False,
        LABKIT_ALLOW_SIMULATED="1",
        PYTHONPATH=str(root),
    )
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert done.returncode == 0, report
    assert report.startswith("# Notebooks on software NPU as Ascend950PR_9599, behind CANN's")
    assert "0 not as stored, 0 notebooks stopped early" in report
    assert len(list((tmp_path / "kept").glob("*.ipynb"))) == 10


def test_without_the_switch_the_tree_is_no_npu_and_nothing_passes(in_tree, root, tmp_path):
    done = in_tree(
        f'"{sys.executable}" -m labkit notebooks --on npu --report report.md',
        cwd=tmp_path,
        check=False,
        PYTHONPATH=str(root),
    )
    assert done.returncode == 2
    assert "not an NPU" in done.stderr
    assert not (tmp_path / "report.md").exists()
