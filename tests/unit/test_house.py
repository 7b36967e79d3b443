"""The house: which part may know which, what an import loads, how long a module may be."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

LABKIT = Path(__file__).resolve().parents[2] / "labkit"

# Part of the house -> the other parts that it may import. Every part may import the leaves.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "language": set(),
    "op": set(),
    "cann": set(),
    "host": {"cann"},
    "sim": {"cann", "op"},
    "explain": {"op", "host"},  # host: the records of calls only
    "draw": {"op"},  # data classes only
}
LEAVES = ("errors", "language")
# These stand above and may import everything but the panels: the face, the commands, the course;
# bench measures them all.
# learn is a user of the lab: it trains a model through the face's operators, on any device.
ABOVE = {"", "bench", "observe", "course", "explore", "learn"}

UNIX_ONLY = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
HEAVY = ("IPython", "cffi", "ipywidgets", "jupyterlab", "matplotlib", "ml_dtypes", "numba", "torch")


@dataclass(frozen=True)
class Import:
    """One imported module: where, at which line, whether when the file itself is imported."""

    path: Path
    line: int
    module: str
    names: tuple[str, ...]
    at_import: bool

    @property
    def part(self) -> str:
        return part_of(self.path)

    @property
    def wanted(self) -> str:
        """The part of the house that is imported; "" for the face itself."""
        words = self.module.split(".")
        if len(words) == 1:
            parts = {name for name in self.names if (LABKIT / name).is_dir()}
            return parts.pop() if parts else ""
        return words[1] if (LABKIT / words[1]).is_dir() or words[1] in LEAVES else ""

    def __str__(self) -> str:
        return f"{self.path.relative_to(LABKIT.parent)}:{self.line} imports {self.module}"


def part_of(path: Path) -> str:
    inside = path.relative_to(LABKIT)
    if inside.stem in LEAVES and len(inside.parts) == 1:
        return inside.stem
    return inside.parts[0] if len(inside.parts) > 1 else ""


@cache
def sources() -> tuple[Path, ...]:
    return tuple(path for path in sorted(LABKIT.rglob("*.py")) if not is_cell(path))


def is_cell(path: Path) -> bool:
    """Whether a file is the text of a notebook cell: the stub or solution of an exercise."""
    return path.parent.parent.name == "exercises" and path.name in ("stub.py", "solution.py")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _walk(node: ast.AST, at_import: bool) -> Iterator[tuple[ast.stmt, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, at_import
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from ((found, False) for found, _ in _walk(child, False))
        else:
            inside = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from _walk(child, at_import and not inside)


@cache
def imports() -> tuple[Import, ...]:
    found = []
    for path in sources():
        package = ["labkit", *path.relative_to(LABKIT).parts[:-1]]
        for node, at_import in _walk(parsed(path), True):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    found.append(Import(path, node.lineno, alias.name, (), at_import))
            else:
                base = package[: len(package) - node.level + 1] if node.level else []
                module = ".".join([*base, node.module] if node.module else base)
                names = tuple(alias.name for alias in node.names)
                found.append(Import(path, node.lineno, module, names, at_import))
    return tuple(found)


def house_imports() -> list[Import]:
    return [entry for entry in imports() if entry.module.split(".")[0] == "labkit"]


def told(entries: list[Import]) -> str:
    return "\n".join(map(str, entries))


# -- who may import whom -------------------------------------------------------


def test_the_parser_sees_the_imports_that_it_is_there_to_judge():
    seen = {(entry.part, entry.wanted) for entry in house_imports()}
    assert {("sim", "op"), ("sim", "cann"), ("host", "cann"), ("op", "errors")} <= seen
    lazy = [entry for entry in house_imports() if not entry.at_import]
    assert any(entry.module == "labkit.sim" for entry in lazy)


@pytest.mark.parametrize("part", sorted(ALLOWED))
def test_a_part_imports_only_the_parts_below_it(part):
    fine = {part, *LEAVES, *ALLOWED[part]}
    wrong = [e for e in house_imports() if e.part == part and e.wanted not in fine]
    assert not wrong, told(wrong)


def test_every_folder_has_its_place_in_the_house():
    folders = {part_of(path) for path in sources()}
    assert folders <= {*ALLOWED, *ABOVE}, "a new part needs its line in this test and a reason"


def test_a_leaf_imports_nothing_but_a_leaf():
    assert [e for e in house_imports() if e.part == "errors"] == []
    assert {e.wanted for e in house_imports() if e.part == "language"} == {"errors"}


def test_the_lower_parts_do_not_even_import_the_face():
    wrong = [e for e in house_imports() if e.part in ALLOWED and e.wanted == ""]
    assert not wrong, told(wrong)


def test_importing_any_part_but_the_panels_imports_no_panel():
    wrong = [
        e for e in house_imports() if e.wanted == "explore" and e.part != "explore" and e.at_import
    ]
    assert not wrong, told(wrong)


def test_only_a_command_asks_for_a_panel_even_lazily():
    may = ("", "bench", "explore")  # bench is a command and measures a step of a panel
    wrong = [e for e in house_imports() if e.wanted == "explore" and e.part not in may]
    assert not wrong, told(wrong)


def test_a_picture_takes_data_classes_of_the_operator_and_nothing_else():
    wrong = [
        e
        for e in house_imports()
        if e.part == "draw"
        and e.wanted == "op"
        and (not e.names or not all(name[:1].isupper() for name in e.names))
    ]
    assert not wrong, told(wrong)


# -- what others bring ---------------------------------------------------------


def test_neither_pictures_nor_panels_use_pyplot():
    wrong = [
        e
        for e in imports()
        if e.part in ("draw", "explore")
        and ("pyplot" in e.module.split(".") or "pyplot" in e.names or "pylab" in e.names)
    ]
    assert not wrong, told(wrong)


def test_widgets_are_known_to_the_panels_only_and_matplotlib_to_pictures_and_panels():
    rules = {"ipywidgets": {"explore"}, "matplotlib": {"draw", "explore"}}
    wrong = [
        e
        for e in imports()
        for library, homes in rules.items()
        if e.module.split(".")[0] == library and e.at_import and e.part not in homes
    ]
    assert not wrong, told(wrong)


def test_only_the_interface_knows_cffi():
    wrong = [e for e in imports() if e.module.split(".")[0] == "cffi" and e.part != "cann"]
    assert not wrong, told(wrong)


def test_the_software_npu_and_the_host_program_need_no_unix():
    wrong = [
        e
        for e in imports()
        if e.part in ("op", "sim", "host") and e.module.split(".")[0] in UNIX_ONLY
    ]
    assert not wrong, told(wrong)


# -- what an import loads ------------------------------------------------------


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter has after a statement."""
    script = f"{statement}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=100,
        cwd=LABKIT.parent,
        env={**os.environ, "LABKIT_DEVICE": "npu"},  # a device opened here would be an error
        check=True,
    )
    return set(run.stdout.split())


def heavy(modules: set[str]) -> set[str]:
    return {name.split(".")[0] for name in modules} & set(HEAVY)


def test_importing_the_lab_loads_nothing_heavy_and_opens_no_device():
    modules = loaded_by("import labkit; dir(labkit); labkit.LabError")
    assert heavy(modules) == set()
    house = {name for name in modules if name.split(".")[0] == "labkit"}
    assert house == {"labkit", "labkit.errors"}


@pytest.mark.parametrize("part", ["op", "host", "sim", "cann", "operators"])
def test_importing_a_part_loads_neither_pictures_nor_widgets(part):
    modules = loaded_by(f"import labkit.{part}")
    assert heavy(modules) <= {"ml_dtypes"}
    assert not any(name.startswith(("labkit.explore", "labkit.draw")) for name in modules)


def test_naming_the_calls_of_the_face_opens_no_device():
    modules = loaded_by("import labkit; labkit.hardshrink_backward, labkit.open_device")
    assert "labkit.operators" in modules
    assert "labkit.sim" not in modules
    assert heavy(modules) <= {"ml_dtypes"}


# -- the modules themselves ----------------------------------------------------


def test_every_module_has_fewer_than_400_lines():
    counts = {
        str(path.relative_to(LABKIT)): len(path.read_text("utf-8").splitlines())
        for path in sources()
    }
    assert {name: count for name, count in counts.items() if count >= 400} == {}


def test_every_module_says_what_it_is():
    assert [str(p.relative_to(LABKIT)) for p in sources() if not ast.get_docstring(parsed(p))] == []


def test_no_file_names_a_place_of_one_machine():
    place = re.compile(r"(?<![\w.])/(?:home|root|tmp|Users)/\w")
    found = []
    for path in sorted(LABKIT.rglob("*")):
        if path.suffix in (".py", ".json", ".h", ".md", ".toml"):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if place.search(line):
                    found.append(f"{path.relative_to(LABKIT.parent)}:{number}: {line.strip()}")
    assert not found, "\n".join(found)


def test_no_file_that_git_ignores_is_tracked():
    if not (LABKIT.parent / ".git").exists():
        pytest.skip("not a git checkout")
    command = [
        "git",
        "-C",
        str(LABKIT.parent),
        "ls-files",
        "--cached",
        "--ignored",
        "--exclude-standard",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == []
