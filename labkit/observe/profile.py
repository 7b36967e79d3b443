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
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from labkit.errors import LabError
from labkit.language import Text
from labkit.language import gettext as _
from labkit.observe.columns import CORES, NAMES, dtypes, first, number, shapes, whole
from labkit.observe.kernels import Api, Observation, ObservedKernel, Statistic

__all__ = ["SAMPLE_MARK", "SAMPLE_STAMP", "ProfileError", "read_profile"]

SAMPLE_MARK = "FORMAT-SAMPLE.txt"
"""A file of this name in a profile's folder says that nothing in it was measured."""

SAMPLE_STAMP = "00000000000000"
"""The time in the names of a sample's files: a sample that lost its mark is known by it."""

_FOLDERS = ("", "mindstudio_profiler_output", "summary", "device_*/summary")


class ProfileError(LabError, ValueError):
    """A profile that cannot be read; the message names the file and what would be right."""


def read_profile(folder: str | Path) -> Observation:
    """Read what msprof left in a folder: a PROF_ folder, one above it, or the CSV's own.

    A single op_summary file may be named too. Where no kernel has a time,
    nothing was measured. Raises `ProfileError` when there is no op_summary, or
    a file has not the columns that its name promises.
    """
    path = Path(folder)
    if path.is_file():
        root, summaries = path.parent, [path]
    else:
        root = path
        summaries = _find(root, "op_summary")
    if not summaries:
        raise ProfileError(
            _(
                "no op_summary_*.csv under {path}; right would be the folder that msprof wrote "
                "(PROF_...). Raw data becomes CSV with: msprof --export=on --output=PROF_..."
            ).format(path=path)
        )
    kernels = [kernel for file in summaries for kernel in _kernels(file)]
    kernels.sort(key=lambda kernel: (kernel.start is None, kernel.start or 0.0))
    places = {root, *(file.parent for file in summaries)}
    sample = any((place / SAMPLE_MARK).is_file() for place in places)
    sample = sample or any(file.stem.endswith(SAMPLE_STAMP) for file in summaries)
    timed = any(x.start is not None or x.duration is not None for x in kernels)
    names = ", ".join(file.name for file in summaries)
    source = Text("msprof: {files}", files=names)
    if sample:
        source = Text("format sample, not a measurement: {files}", files=names)
    return Observation(
        source=source,
        kernels=tuple(kernels),
        measured=timed and not sample,
        statistics=tuple(_each(root, "op_statistic", _statistic)),
        apis=tuple(_each(root, "api_statistic", _api)),
        tasks=tuple(_each(root, "task_time", _task)),
        notes=(*_notes(kernels), *_whole_notes(kernels, summaries, untimed=not (sample or timed))),
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
    """The lines of a CSV by column."""
    head, lines = _table(file)
    return [dict(zip(head, line)) for line in lines]


def _table(file: Path) -> tuple[list[str], list[list[str]]]:
    """Column names and lines of a CSV; blanks and the TAB behind numbers are taken off."""
    try:
        with open(file, newline="", encoding="utf-8-sig") as stream:
            lines = list(csv.reader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ProfileError(
            _("{file} cannot be read as CSV: {error}").format(file=file.name, error=error)
        ) from error
    if not lines:
        raise ProfileError(
            _("{file} is empty; right would be a line of column names first").format(file=file.name)
        )
    head = [name.strip() for name in lines[0]]
    rows = []
    for place, line in enumerate(lines[1:], 2):
        if not any(value.strip() for value in line):
            continue
        if len(line) < len(head):
            raise ProfileError(
                _(
                    "{file}, line {number}, has {n} values for {columns} columns: was the file "
                    "cut off?"
                ).format(file=file.name, number=place, n=len(line), columns=len(head))
            )
        rows.append([value.strip() for value in line])
    return head, rows


def _kernels(file: Path) -> list[ObservedKernel]:
    """The kernels of an op_summary; op_statistic has an OP Type too, but counts kernels."""
    head, lines = _table(file)
    known = any(name in head for name in (*NAMES["name"], *NAMES["op_type"]))
    if not known or "Count" in head:
        raise ProfileError(
            _(
                "{file} is no op_summary, which has 'Op Name' and 'OP Type' of every kernel: "
                "its columns are {columns}"
            ).format(file=file.name, columns=", ".join(head[:6]))
        )
    return [_kernel(dict(zip(head, line))) for line in lines]


def _kernel(row: dict[str, str]) -> ObservedKernel:
    def get(field: str) -> str:
        value = next((row[name] for name in NAMES[field] if name in row), "")
        return "" if value == "N/A" else value

    name = get("name")
    blocks = whole(get("block_dim"))
    return ObservedKernel(
        op_type=get("op_type") or _type_from(name),
        name=name,
        core=CORES.get(get("task_type").upper()),
        task_type=get("task_type"),
        block_dim=blocks or None,  # 0 where the task-time level does not take it
        input_shapes=shapes(get("input_shapes")),
        input_dtypes=dtypes(get("input_dtypes")),
        output_shapes=shapes(get("output_shapes")),
        output_dtypes=dtypes(get("output_dtypes")),
        start=number(get("start")),
        duration=number(get("duration")),
        wait=number(get("wait")),
        device=whole(get("device")),
        stream=whole(get("stream")),
        state=get("state"),
    )


def _type_from(name: str) -> str:
    """The kernel's type out of `operator_l0_optype`, where the type itself was not taken.

    Older profiles leave the l0 function out: `aclnnGroupedMatmulV5_GroupedMatmul`.
    """
    parts = name.split("_")
    if len(parts) == 2 and name.startswith("aclnn"):
        return parts[1]
    return parts[2] if len(parts) >= 3 else ""


def _statistic(row: dict[str, str]) -> Statistic | None:
    kind = first(row, "OP Type", "Op Type")
    if not kind:
        return None
    times = (f"{word} Time(us)" for word in ("Total", "Min", "Avg", "Max"))
    total, least, average, most = (number(first(row, name)) for name in times)
    count = whole(first(row, "Count")) or 0
    return Statistic(kind, first(row, "Core Type"), count, total, least, average, most)


def _api(row: dict[str, str]) -> Api | None:
    name = first(row, "API Name", "Name")
    if not name:
        return None
    return Api(
        first(row, "Level"),
        name,
        whole(first(row, "Count")) or 0,
        number(first(row, "Time(us)")),
        number(first(row, "Avg(us)")),
    )


def _task(row: dict[str, str]) -> ObservedKernel | None:
    name = first(row, "kernel_name")
    return ObservedKernel(
        op_type=_type_from(name),
        name=name,
        task_type=first(row, "kernel_type"),
        core=CORES.get(first(row, "kernel_type").upper()),
        start=number(first(row, "task_start(us)")),
        duration=number(first(row, "task_time(us)")),
        device=whole(first(row, "Device_id")),
        stream=whole(first(row, "stream_id")),
    )


def _notes(kernels: Sequence[ObservedKernel]) -> Iterable[str]:
    if kernels and all(kernel.input_shapes is None for kernel in kernels):
        yield Text("no shapes were taken: profile with --task-time=l1 to have them")
    if kernels and all(kernel.block_dim is None for kernel in kernels):
        yield Text("no block dims were taken: profile with --task-time=l1 to have them")


def _whole_notes(
    kernels: Sequence[ObservedKernel], summaries: Sequence[Path], *, untimed: bool
) -> Iterable[str]:
    """What the reader should know about the files as a whole."""
    if kernels and untimed:
        yield Text("no times were taken: this is no measurement")
    devices = sorted({kernel.device for kernel in kernels if kernel.device is not None})
    if len(devices) > 1:
        numbers = ", ".join(map(str, devices))
        yield Text("the kernels of devices {numbers} are read as one list", numbers=numbers)
    runs = {part for file in summaries for part in file.parts if part.startswith("PROF_")}
    if len(runs) > 1:
        yield Text(
            "{n} profiles were read as one: name the folder of one, PROF_..., to read that alone",
            n=len(runs),
        )
