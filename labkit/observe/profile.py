"""Reading msprof's CSV files: op_summary, op_statistic, api_statistic, task_time.

The header changed over the releases, and so did the folder. What is read by
its name here, with every name it has had:

    Block Num (since 2026), Block Dim before · Task Start Time(us), without the
    unit before · OP Type, Op Type · Device_id, Model Name first in old files

Traps of the format: a start time ends with a TAB, a value that was not taken is
N/A, Block Num is 0 at a low task-time level, a run may leave several files, and
a scalar input leaves an empty place between the semicolons of the shapes. A file
that a spreadsheet or pandas wrote again is read too (`labkit.observe.table`); a
cell that is no number where one belongs is refused, with file, line and column.

Source: the exporter and its tests in Ascend/msprof (commit
9ba1ac7be913da2944126672b6808db3860d40a3; the block column was renamed by
14417d429).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from labkit.language import Text
from labkit.language import gettext as _
from labkit.observe.columns import NAMES, core, dtypes, number, shapes, time, whole
from labkit.observe.kernels import Api, Observation, ObservedKernel, Statistic
from labkit.observe.table import ProfileError, Row, Table, read_table, unreadable
from labkit.observe.text import file_words, is_file

__all__ = ["SAMPLE_MARK", "SAMPLE_STAMP", "ProfileError", "read_profile"]

SAMPLE_MARK = "FORMAT-SAMPLE.txt"
"""A file of this name in a profile's folder says that nothing in it was measured."""

SAMPLE_STAMP = "00000000000000"
"""The time in the names of a sample's files: a sample that lost its mark is known by it."""

_FOLDERS = ("", "mindstudio_profiler_output", "summary", "device_*/summary")


_Found = TypeVar("_Found")


def read_profile(folder: str | Path) -> Observation:
    """Read what msprof left in a folder: a PROF_ folder, one above it, or the CSV's own.

    A single op_summary file may be named too. Where no kernel has a time,
    nothing was measured. Raises `ProfileError` when there is no op_summary, or
    a file has not the columns that its name promises.
    """
    path = Path(folder)
    if is_file(path, partial(unreadable, path)):
        root, summaries = path.parent, [path]
    else:
        root = path
        summaries = _find(root, "op_summary")
    if not summaries:
        raise ProfileError(
            _(
                "no op_summary_*.csv under {path}; right would be the folder that msprof wrote "
                "(PROF_...). Raw data becomes CSV with: msprof --export=on --output=PROF_..."
            ).format(path=file_words(path))
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
        statistics=tuple(_each(root, "op_statistic", _STATISTIC, _statistic)),
        apis=tuple(_each(root, "api_statistic", _API, _api)),
        tasks=tuple(_each(root, "task_time", _TASK, _task)),
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


def _each(
    root: Path, stem: str, columns: tuple[str, ...], read: Callable[[Row], _Found | None]
) -> Iterator[_Found]:
    for file in _find(root, stem):
        for row in read_table(file, columns, _COUNTED).rows():
            found = read(row)
            if found is not None:
                yield found


_COLUMNS = tuple(name for names in NAMES.values() for name in names)
_NUMBERS = tuple(
    name
    for field in ("start", "duration", "wait", "block_dim", "device", "stream")
    for name in NAMES[field]
)


def _kernels(file: Path) -> Iterator[ObservedKernel]:
    """The kernels of an op_summary; op_statistic has an OP Type too, but counts kernels."""
    table = read_table(file, _COLUMNS, _NUMBERS)
    if not table.has(*NAMES["name"], *NAMES["op_type"]) or table.has("Count"):
        raise ProfileError(
            _(
                "{file} is no op_summary, which has 'Op Name' and 'OP Type' of every kernel: "
                "its columns are {columns}"
            ).format(file=file.name, columns=", ".join(name[:40] for name in table.head[:6]))
        )
    at = {field: table.place(*names) for field, names in NAMES.items()}
    for row in table.rows():
        yield _kernel(row, at)


def _kernel(row: Row, at: dict[str, int | None]) -> ObservedKernel:
    name, task_type = row.text(at["name"]), row.text(at["task_type"])
    return ObservedKernel(
        op_type=row.text(at["op_type"]) or _type_from(name),
        name=name,
        core=core(task_type),
        task_type=task_type,
        # 0 where the task-time level does not take it
        block_dim=row.read(at["block_dim"], whole) or None,
        input_shapes=row.read(at["input_shapes"], shapes),
        input_dtypes=dtypes(row.text(at["input_dtypes"])),
        output_shapes=row.read(at["output_shapes"], shapes),
        output_dtypes=dtypes(row.text(at["output_dtypes"])),
        start=row.read(at["start"], number),
        duration=row.read(at["duration"], time),
        wait=row.read(at["wait"], number),
        device=row.read(at["device"], whole),
        stream=row.read(at["stream"], whole),
        state=row.text(at["state"]),
    )


def _type_from(name: str) -> str:
    """The kernel's type out of `operator_l0_optype`, where the type itself was not taken.

    Older profiles leave the l0 function out: `aclnnGroupedMatmulV5_GroupedMatmul`.
    """
    parts = name.split("_")
    if len(parts) == 2 and name.startswith("aclnn"):
        return parts[1]
    return parts[2] if len(parts) >= 3 else ""


_TIMES = tuple(f"{word} Time(us)" for word in ("Total", "Min", "Avg", "Max"))
_STATISTIC = ("OP Type", "Core Type", "Count", *_TIMES)
_API = ("API Name", "Name", "Level", "Count", "Time(us)", "Avg(us)")
_TASK = (
    *("kernel_name", "kernel_type", "task_start(us)", "task_time(us)", "Device_id", "stream_id"),
)
_COUNTED = ("Count", *_TIMES, "Time(us)", "Avg(us)", "task_start(us)", "task_time(us)")


def _places(table: Table, *names: str) -> list[int | None]:
    return [table.place(name) for name in names]


def _statistic(row: Row) -> Statistic | None:
    kind, core_type, count, *times = _places(row.table, *_STATISTIC)
    if not row.text(kind):
        return None
    total, least, average, most = (row.read(place, time) for place in times)
    counted = row.read(count, whole) or 0
    return Statistic(row.text(kind), row.text(core_type), counted, total, least, average, most)


def _api(row: Row) -> Api | None:
    name = row.text(row.table.place("API Name", "Name"))
    if not name:
        return None
    level, count, total, average = _places(row.table, "Level", "Count", "Time(us)", "Avg(us)")
    counted = row.read(count, whole) or 0
    return Api(row.text(level), name, counted, row.read(total, time), row.read(average, time))


def _task(row: Row) -> ObservedKernel | None:
    name, kind, start, spent, device, stream = _places(row.table, *_TASK)
    return ObservedKernel(
        op_type=_type_from(row.text(name)),
        name=row.text(name),
        task_type=row.text(kind),
        core=core(row.text(kind)),
        start=row.read(start, number),
        duration=row.read(spent, time),
        device=row.read(device, whole),
        stream=row.read(stream, whole),
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
        yield Text("the kernels ran on devices {numbers}", numbers=numbers)
    runs = {part for file in summaries for part in file.parts if part.startswith("PROF_")}
    if len(runs) > 1:
        yield Text(
            "{n} profiles were read as one: name the folder of one, PROF_..., to read that alone",
            n=len(runs),
        )
