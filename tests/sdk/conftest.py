"""The CANN-shaped tree, built once, and programs built against it."""

import shutil
import subprocess

import pytest
from conftest_sdk import clean_environment


@pytest.fixture(scope="session")
def sdk(tmp_path_factory, skip_or_fail):
    """Write the tree; return its folder."""
    from labkit.sim.sdk import SdkError, write_sdk

    try:
        return write_sdk(tmp_path_factory.mktemp("sdk") / "tree").root
    except SdkError as error:
        skip_or_fail(str(error))


@pytest.fixture(scope="session")
def in_tree(sdk):
    """Return a function that runs a shell command after sourcing the tree's set_env.sh."""

    def run(command, *, cwd=None, check=True, **environ):
        done = subprocess.run(
            ["bash", "-c", f'source "{sdk}/set_env.sh"\n{command}'],
            capture_output=True,
            text=True,
            timeout=280,
            cwd=cwd,
            env=clean_environment(**environ),
        )
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def build(in_tree, tmp_path, skip_or_fail):
    """Return a function that compiles a C++ program with the documented libraries."""
    if shutil.which("g++") is None:
        skip_or_fail("no g++ on this machine")

    def build(source, libraries="-lopapi_nn -lopapi_math -lascendcl -lnnopbase"):
        path = tmp_path / "main.cpp"
        path.write_text(source, encoding="utf-8")
        in_tree(
            f"g++ -std=c++17 -Wall -Wextra -Werror {path} -I$ASCEND_HOME_PATH/include "
            f"-L$ASCEND_HOME_PATH/lib64 {libraries} -pthread -o {tmp_path}/main"
        )
        return tmp_path / "main"

    return build
