"""Files in the formats of msprof and of CANN's log, made from a plan: to try the readers on.

They hold no measurement. A profile has the documented headers of three
generations, the kernels that the plan launches, and N/A where a machine would
put a time; a log has a time of the year 2000. Beside them stands
FORMAT-SAMPLE.txt, which says so, and whoever reads a profile is told.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labkit.errors import LabValueError
from labkit.language import gettext as _
from labkit.observe.compare import plan_that_ran
from labkit.observe.kernels import kernel_name, l0_name
from labkit.observe.plog import SAMPLE_DAY
from labkit.observe.profile import SAMPLE_MARK, SAMPLE_STAMP
from labkit.observe.reasons import own_tiling
from labkit.op.plan import Launch, Operand, Plan

__all__ = ["VARIANTS", "log_sample", "write_log_sample", "write_sample"]

_COMMON = (
    *("Op Name", "OP Type", "OP State", "Task Type", "Task Start Time(us)", "Task Duration(us)"),
    "Task Wait Time(us)",
)
_TENSORS = (
    *("Input Shapes", "Input Data Types", "Input Formats"),
    *("Output Shapes", "Output Data Types", "Output Formats"),
)
VARIANTS: dict[str, tuple[str, ...]] = {
    "block num": (
        *("Device_id", "Model ID", "Task ID", "Stream ID", *_COMMON),
        *("Block Num", "Mix Block Num", "HF32 Eligible", *_TENSORS, "Context ID"),
        *("aicore_time(us)", "aiv_time(us)", "aiv_vec_time(us)", "aiv_vec_ratio"),
    ),
    "block dim": (
        *("Device_id", "Model ID", "Task ID", "Stream ID", *_COMMON),
        *("Block Dim", "Mix Block Dim", "HF32 Eligible", *_TENSORS, "Context ID"),
        *("aicore_time(us)", "aiv_time(us)", "aiv_vec_time(us)", "aiv_vec_ratio"),
    ),
    "old": (
        *("Model Name", "Model ID", "Task ID", "Stream ID", "Infer ID", "Op Name", "OP Type"),
        *("Task Type", "Task Start Time", "Task Duration(us)", "Task Wait Time(us)", "Block Dim"),
        *(*_TENSORS, "aicore_time(us)", "total_cycles", "vec_time(us)", "vec_ratio"),
    ),
}
"""Headers by their names: since 2026, before, and of the first exporters."""

_PROFILE_NOTE = """\
A format sample: these files have the columns that msprof writes, made from the lab's prediction.
Nothing in them was measured; times read N/A.
"""
_LOG_NOTE = """\
A format sample: this log has the lines that CANN writes, made from the lab's prediction.
No machine wrote it; process, times and most line numbers are made up.
"""
_ABSENT = "N/A"


def write_sample(folder: str | Path, plan: Plan, *, variant: str = "block num") -> Path:
    """Write op_summary, op_statistic and api_statistic for a plan; returns the folder of the CSV.

    `variant` is a key of `VARIANTS`. Raises `LabValueError` for another one, or
    for a plan that fails, since nothing would run.
    """
    if variant not in VARIANTS:
        raise LabValueError(
            _("variant is {variant!r}; right would be one of {names}").format(
                variant=variant, names=", ".join(VARIANTS)
            )
        )
    launches = [launch for launch in plan_that_ran(plan).launches if launch.core != "RTS"]
    place = Path(folder) / "PROF_000001_00000000000000000_SAMPLE"
    place /= Path("device_0", "summary") if variant == "old" else "mindstudio_profiler_output"
    place.mkdir(parents=True, exist_ok=True)
    (place / SAMPLE_MARK).write_text(_PROFILE_NOTE, encoding="utf-8")
    head = VARIANTS[variant]
    rows = [_row(head, launch, number, plan) for number, launch in enumerate(launches)]
    _write(place / f"op_summary_{SAMPLE_STAMP}.csv", head, rows)
    _write(place / f"op_statistic_{SAMPLE_STAMP}.csv", *_statistic(launches))
    _write(place / f"api_statistic_{SAMPLE_STAMP}.csv", *_apis(plan))
    return place


def _write(path: Path, head: tuple[str, ...], rows: list[list[Any]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])


def _row(head: tuple[str, ...], launch: Launch, number: int, plan: Plan) -> list[Any]:
    tiling = own_tiling(launch, plan)
    blocks = tiling.block_dim if tiling else 0
    known = {
        "Device_id": 0,
        "Model ID": 4294967295,  # single-operator calls belong to no model
        "Task ID": number,
        "Stream ID": 1,
        "Infer ID": 1,
        "Op Name": kernel_name(plan.operator, launch),
        "OP Type": launch.op_type,
        "OP State": "dynamic",
        "Task Type": _task_type(launch, plan),
        "Task Start Time(us)": f"{_ABSENT}\t",
        "Task Start Time": f"{_ABSENT}\t",
        "Block Num": blocks,
        "Block Dim": blocks,
        "HF32 Eligible": "NO",
        "Input Shapes": _shapes(launch.inputs),
        "Input Data Types": ";".join(_dtype(operand) for operand in launch.inputs),
        "Input Formats": ";".join(["ND"] * len(launch.inputs)),
        "Output Shapes": _shapes(launch.outputs),
        "Output Data Types": ";".join(_dtype(operand) for operand in launch.outputs),
        "Output Formats": ";".join(["ND"] * len(launch.outputs)),
    }
    return [known.get(name, _ABSENT) for name in head]


def _task_type(launch: Launch, plan: Plan) -> str:
    """The source's word for the core; chips without separate vector cores say AI_CORE."""
    if launch.core == "AICPU":
        return "AI_CPU"
    return "AI_VECTOR_CORE" if plan.soc.split else "AI_CORE"


def _shapes(operands: tuple[Operand, ...]) -> str:
    return '"' + ";".join(",".join(map(str, operand.shape)) for operand in operands) + '"'


def _dtype(operand: Operand) -> str:
    return "DT_BF16" if operand.dtype.short == "BF16" else operand.dtype.short


def _statistic(launches: list[Launch]) -> tuple[tuple[str, ...], list[list[Any]]]:
    times = [f"{word} Time(us)" for word in ("Total", "Min", "Avg", "Max")]
    head = ("Device_id", "OP Type", "Core Type", "Count", *times, "Ratio(%)")
    names = [launch.op_type for launch in launches]
    rows: list[list[Any]] = [
        [0, name, "AI_VECTOR_CORE", names.count(name), *[_ABSENT] * 5]
        for name in dict.fromkeys(names)
    ]
    return head, rows


def _apis(plan: Plan) -> tuple[tuple[str, ...], list[list[Any]]]:
    head = (
        *("Device_id", "Level", "API Name", "Time(us)", "Count"),
        *("Avg(us)", "Min(us)", "Max(us)", "Variance"),
    )
    names = (f"{plan.operator}GetWorkspaceSize", plan.operator)
    return head, [["host", "acl", name, _ABSENT, 1, *[_ABSENT] * 4] for name in names]


# -- the host log --------------------------------------------------------------


def write_log_sample(folder: str | Path, *plans: Plan) -> Path:
    """Write the log of some calls, made one after the other; returns the file.

    A plan that fails leaves its error line. Only the operator's own kernel has
    a tiling line, and only on chips where its tiling is public.
    """
    place = Path(folder) / "debug" / "plog"
    place.mkdir(parents=True, exist_ok=True)
    (place / SAMPLE_MARK).write_text(_LOG_NOTE, encoding="utf-8")
    file = place / "plog-1_00000000000000000.log"
    file.write_text("\n".join([*_LOG_NOTE.split("\n")[:2], *log_sample(*plans), ""]), "utf-8")
    return file


def log_sample(*plans: Plan, first: int = 1) -> Iterator[str]:
    """The lines of such a log; the calls are numbered from `first`."""
    number = 0
    for sequence, plan in enumerate(plans, first):
        for level, file, function, l0, text, code in _said(plan):
            number += 1
            time = f"{SAMPLE_DAY}-00:00:{number // 1000:02}.{number % 1000:03}.000"
            name = f"{plan.operator}_{sequence}{f'_{l0}' if l0 else ''}"
            yield (
                f"[{level}] OP(1,python3):{time} [{file}][NNOP][{function}][1] "
                f"{f'errno[{code}] ' if code else ''}OpName:[{name}] {text}"
            )


def _said(plan: Plan) -> Iterator[tuple[str, str, str, str, str, int]]:
    """Level, file and line, function, l0 operator, text, error code of each line of a call."""
    phases = (f"{plan.operator}GetWorkspaceSize", plan.operator)
    dfx = "op_dfx.cpp:0"
    yield "INFO", dfx, "OpDfxGuard", "", f"Entering function {phases[0]}.", 0
    if not plan.ok:
        yield "ERROR", "aclnn_hardshrink_backward.cpp:0", "Check", "", plan.message, plan.status
        return
    yield "INFO", dfx, "~OpDfxGuard", "", f"Leaving function {phases[0]}.", 0
    yield "INFO", dfx, "OpDfxGuard", "", f"Entering function {phases[1]}.", 0
    for number, launch in enumerate(plan.launches):
        l0 = l0_name(launch)
        op_type = "CopyToNpu" if launch.core == "RTS" else launch.op_type
        text = f"{number} start to Launch {op_type}, original id:{number}."
        yield "INFO", "op_executor.cpp:0", "Run", l0, text, 0
        tiling = own_tiling(launch, plan)
        if tiling:
            text = f"Tiling Key: {tiling.tiling_key}, len: 32, numBlocks: {tiling.block_dim}"
            yield "DEBUG", "op_kernel.h:658", "Launch", l0, f"{text}, Workspace Num: 1.", 0
    yield "INFO", dfx, "~OpDfxGuard", "", f"Leaving function {phases[1]}.", 0
