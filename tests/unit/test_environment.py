"""environment.yml says in conda's words what pyproject.toml says in pip's."""

import re

import pytest
import yaml

import lab

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10, where pytest brings the same parser under this name
    import tomli as tomllib

CONDA_NAMES = {"matplotlib-base": "matplotlib"}  # conda's "matplotlib" adds a desktop toolkit


@pytest.fixture(scope="module")
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def environment(root):
    return yaml.safe_load((root / "environment.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def conda_lines(environment):
    return [line for line in environment["dependencies"] if isinstance(line, str)]


def split(requirement):
    """Split `name >=1,<2` into the name and the set of its bounds."""
    name, bounds = re.fullmatch(r"([\w.-]+)\s*([^\s].*)?", requirement).groups()
    return name, frozenset(filter(None, (bounds or "").replace(" ", "").split(",")))


def test_names_and_bounds_are_those_of_pyproject(conda_lines, project):
    conda = dict(map(split, conda_lines))
    conda.pop("python")
    conda.pop("pip")
    conda = {CONDA_NAMES.get(name, name): bounds for name, bounds in conda.items()}
    assert conda == dict(map(split, project["dependencies"]))


def test_every_dependency_has_a_lower_and_an_upper_bound(project):
    extras = project["optional-dependencies"].values()
    for requirement in [*project["dependencies"], *(line for extra in extras for line in extra)]:
        _, bounds = split(requirement)
        assert sorted(bound.rstrip("0123456789.") for bound in bounds) == ["<", ">="], requirement


def test_python_starts_where_pyproject_and_lab_py_start(conda_lines, project):
    bounds = dict(map(split, conda_lines))["python"]
    oldest = next(bound for bound in bounds if bound.startswith(">="))
    assert oldest == project["requires-python"]
    assert oldest == ">={}.{}".format(*lab.OLDEST_PYTHON)


def test_conda_forge_is_the_only_channel(environment):
    assert environment["name"] == "hardshrink-lab"
    assert environment["channels"] == ["conda-forge", "nodefaults"]
    assert not any("::" in str(line) for line in environment["dependencies"])


def test_no_version_is_pinned_to_a_build(conda_lines):
    for line in conda_lines:
        assert re.fullmatch(r"[a-z][\w.-]*( >=[\d.]+,<[\d.]+)?", line), line


def test_pip_installs_the_project_itself_and_nothing_else(environment):
    pip = [line["pip"] for line in environment["dependencies"] if isinstance(line, dict)]
    assert pip == [["-e .[test]"]]


def test_ci_and_users_start_the_tests_by_the_same_command(root):
    workflow = yaml.safe_load((root / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    commands = [step.get("run") for step in workflow["jobs"]["test"]["steps"]]
    assert "python3 lab.py test" in commands
    assert "python3 lab.py test" in (root / ".ci/run").read_text(encoding="utf-8")
