"""Reading msprof's CSV files: op_summary, op_statistic, api_statistic, task_time.

The header changed over the releases, and so did the folder. What is read by
its name here, with every name it has had:

    Block Num (since 2026), Block Dim before · Task Start Time(us), without the
    unit before · OP Type, Op Type · Device_id, Model Name first in old files

Traps of the format: a start time ends with a TAB, a value that was not taken is
N/A, Block Num is 0 at a low task-time level, a run may leave several files, and
a scalar input leaves an empty place between the semicolons of the shapes.

Source: the exporter and its tests in Ascend/msprof (commit
9ba1ac7be913da2944126672b6808db3860d40a3; the block column was renamed by
14417d429).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from labkit.errors import LabError
from labkit.observe.kernels import Api, Observation, ObservedKernel, Statistic

__all__ = ["SAMPLE_MARK", "ProfileError", "read_profile"]

SAMPLE_MARK = "FORMAT-SAMPLE.txt"
"""A file of this name in a profile's folder says that nothing in it was measured."""

_FOLDERS = ("", "mindstudio_profiler_output", "summary", "device_*/summary")
_CORES = {
    "AI_CORE": "AICORE",
    "AI_VECTOR_CORE": "AICORE",
    "AIV": "AICORE",
    "AIC": "AICORE",
    "MIX_AIC": "AICORE",
    "MIX_AIV": "AICORE",
    "AI_CPU": "AICPU",
    "AICPU": "AICPU",
}
_NAMES = {
    "op_type": ("OP Type", "Op Type"),
    "name": ("Op Name",),
    "task_type": ("Task Type", "Core Type"),
    "state": ("OP State", "Op State"),
    "start": ("Task Start Time(us)", "Task Start Time"),
    "duration": ("Task Duration(us)", "Task Duration"),
    "wait": ("Task Wait Time(us)", "Task Wait Time"),
    "block_dim": ("Block Num", "Block Dim"),
    "device": ("Device_id", "Device ID"),
    "stream": ("Stream ID", "Stream Id"),
    "input_shapes": ("Input Shapes",),
    "input_dtypes": ("Input Data Types",),
    "output_shapes": ("Output Shapes",),
    "output_dtypes": ("Output Data Types",),
}


class ProfileError(LabError, ValueError):
    """A profile that cannot be read; the message names the file and what would be right."""


def read_profile(folder: str | Path) -> Observation:
    """Read what msprof left in a folder: a PROF_ folder, one above it, or the CSV's own.

    A single op_summary file may be named too. Raises `ProfileError` when there
    is no op_summary, or a file has not the columns that its name promises.
    """
    path = Path(folder)
    if path.is_file():
        root, summaries = path.parent, [path]
    else:
        root = path
        summaries = _find(root, "op_summary")
    if not summaries:
        raise ProfileError(
            f"no op_summary_*.csv under {path}; right would be the folder that msprof wrote "
            "(PROF_...). Raw data becomes CSV with: msprof --export=on --output=PROF_..."
        )
    kernels = [kernel for file in summaries for kernel in _kernels(file)]
    kernels.sort(key=lambda kernel: (kernel.start is None, kernel.start or 0.0))
    places = {root, *(file.parent for file in summaries)}
    sample = any((place / SAMPLE_MARK).is_file() for place in places)
    label = "format sample, not a measurement" if sample else "msprof"
    return Observation(
        source=f"{label}: {', '.join(file.name for file in summaries)}",
        kernels=tuple(kernels),
        measured=not sample,
        statistics=tuple(_each(root, "op_statistic", _statistic)),
        apis=tuple(_each(root, "api_statistic", _api)),
        tasks=tuple(_each(root, "task_time", _task)),
        notes=tuple(_notes(kernels)),
    )


def _find(root: Path, stem: str) -> list[Path]:
    """The CSV files of one kind, also in PROF_ folders below."""
    if not root.is_dir():
        return []
    found: list[Path] = []
    for place in (root, *sorted(root.glob("PROF_*"))):
        for folder in _FOLDERS:
            found += sorted(place.glob(f"{folder}/{stem}_*.csv" if folder else f"{stem}_*.csv"))
    return list(dict.fromkeys(found))


def _each(root: Path, stem: str, read: Any) -> Iterable[Any]:
    for file in _find(root, stem):
        for row in _rows(file):
            found = read(row)
            if found is not None:
                yield found


def _rows(file: Path) -> list[dict[str, str]]:
    """The lines of a CSV by column; blanks and the TAB behind numbers are taken off."""
    try:
        with open(file, newline="", encoding="utf-8-sig") as stream:
            lines = list(csv.reader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ProfileError(f"{file.name} cannot be read as CSV: {error}") from error
    if not lines:
        raise ProfileError(f"{file.name} is empty; right would be a line of column names first")
    head = [name.strip() for name in lines[0]]
    rows = []
    for number, line in enumerate(lines[1:], 2):
        if not any(value.strip() for value in line):
            continue
        if len(line) < len(head):
            raise ProfileError(
                f"{file.name}, line {number}, has {len(line)} values for {len(head)} columns: was "
                "the file cut off?"
            )
        rows.append({name: value.strip() for name, value in zip(head, line)})
    return rows


def _kernels(file: Path) -> list[ObservedKernel]:
    rows = _rows(file)
    if rows and not any(name in rows[0] for name in (*_NAMES["op_type"], *_NAMES["name"])):
        raise ProfileError(
            f"{file.name} is no op_summary: it has neither a column {_NAMES['op_type'][0]!r} nor "
            f"{_NAMES['name'][0]!r}, but {', '.join(list(rows[0])[:6])}"
        )
    return [_kernel(row) for row in rows]


def _kernel(row: dict[str, str]) -> ObservedKernel:
    def get(field: str) -> str:
        value = next((row[name] for name in _NAMES[field] if name in row), "")
        return "" if value == "N/A" else value

    name = get("name")
    blocks = _whole(get("block_dim"))
    return ObservedKernel(
        op_type=get("op_type") or _type_from(name),
        name=name,
        core=_CORES.get(get("task_type").upper()),
        task_type=get("task_type"),
        block_dim=blocks or None,  # 0 where the task-time level does not take it
        input_shapes=_shapes(get("input_shapes")),
        input_dtypes=_dtypes(get("input_dtypes")),
        output_shapes=_shapes(get("output_shapes")),
        output_dtypes=_dtypes(get("output_dtypes")),
        start=_number(get("start")),
        duration=_number(get("duration")),
        wait=_number(get("wait")),
        device=_whole(get("device")),
        stream=_whole(get("stream")),
        state=get("state"),
    )


def _type_from(name: str) -> str:
    """The kernel's type out of `operator_l0_optype`, where the type itself was not taken."""
    parts = name.split("_")
    return parts[2] if len(parts) >= 3 else ""


def _shapes(text: str) -> tuple[tuple[int, ...], ...] | None:
    """Shapes as `"2,3;4"`; an empty place is a scalar."""
    if not text.strip('"'):
        return None
    found = []
    for part in text.strip('"').split(";"):
        dims = [_whole(dim) for dim in part.split(",") if dim.strip()]
        found.append(tuple(dim for dim in dims if dim is not None))
    return tuple(found)


def _dtypes(text: str) -> tuple[str, ...] | None:
    if not text.strip('"'):
        return None
    return tuple(dtype_name(part) for part in text.strip('"').split(";"))


def dtype_name(text: str) -> str:
    """CANN's name of a dtype without its prefix: DT_BF16, BFLOAT16 and BF16 are one."""
    plain = text.strip().upper().removeprefix("DT_").removeprefix("ACL_")
    return {"BFLOAT16": "BF16", "FLOAT32": "FLOAT", "HALF": "FLOAT16"}.get(plain, plain)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _whole(text: str) -> int | None:
    text = text.strip()
    return int(text) if re.fullmatch(r"\d+", text) else None


def _first(row: dict[str, str], *names: str) -> str:
    value = next((row[name] for name in names if name in row), "")
    return "" if value == "N/A" else value


def _statistic(row: dict[str, str]) -> Statistic | None:
    kind = _first(row, "OP Type", "Op Type")
    if not kind:
        return None
    times = (f"{word} Time(us)" for word in ("Total", "Min", "Avg", "Max"))
    total, least, average, most = (_number(_first(row, name)) for name in times)
    count = _whole(_first(row, "Count")) or 0
    return Statistic(kind, _first(row, "Core Type"), count, total, least, average, most)


def _api(row: dict[str, str]) -> Api | None:
    name = _first(row, "API Name", "Name")
    if not name:
        return None
    return Api(
        _first(row, "Level"),
        name,
        _whole(_first(row, "Count")) or 0,
        _number(_first(row, "Time(us)")),
        _number(_first(row, "Avg(us)")),
    )


def _task(row: dict[str, str]) -> ObservedKernel | None:
    name = _first(row, "kernel_name")
    return ObservedKernel(
        op_type=_type_from(name),
        name=name,
        task_type=_first(row, "kernel_type"),
        core=_CORES.get(_first(row, "kernel_type").upper()),
        start=_number(_first(row, "task_start(us)")),
        duration=_number(_first(row, "task_time(us)")),
        device=_whole(_first(row, "Device_id")),
        stream=_whole(_first(row, "stream_id")),
    )


def _notes(kernels: Sequence[ObservedKernel]) -> Iterable[str]:
    if kernels and all(kernel.input_shapes is None for kernel in kernels):
        yield "no shapes were taken: profile with --task-time=l1 to have them"
    if kernels and all(kernel.block_dim is None for kernel in kernels):
        yield "no block dims were taken: profile with --task-time=l1 to have them"
