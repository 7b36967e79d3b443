"""Files in msprof's formats, made from a plan: to try the readers on, with no measurement in them.

They have the documented headers of three generations, the kernels that the
plan launches, and N/A where a machine would put a time. The folder says so in
FORMAT-SAMPLE.txt, and whoever reads it is told.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from labkit.errors import LabValueError
from labkit.observe.profile import SAMPLE_MARK
from labkit.op.plan import Launch, Operand, Plan

__all__ = ["VARIANTS", "write_sample"]

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

_NOTE = """\
A format sample: these files have the columns that msprof writes, made from the lab's prediction.
Nothing in them was measured; times read N/A.
"""


def write_sample(folder: str | Path, plan: Plan, *, variant: str = "block num") -> Path:
    """Write op_summary, op_statistic and api_statistic for a plan; returns the folder of the CSV.

    `variant` is a key of `VARIANTS`. Raises `LabValueError` for another one, or
    for a plan that fails, since nothing would run.
    """
    if variant not in VARIANTS:
        raise LabValueError(f"variant is {variant!r}; right would be one of {', '.join(VARIANTS)}")
    if not plan.ok:
        raise LabValueError(f"the call ends with {plan.status} in phase 1, so nothing runs")
    root = Path(folder)
    inside = "summary" if variant == "old" else "mindstudio_profiler_output"
    place = root / "PROF_000001_00000000000000000_SAMPLE" / inside
    if variant == "old":
        place = place.parent / "device_0" / inside
    place.mkdir(parents=True, exist_ok=True)
    (place / SAMPLE_MARK).write_text(_NOTE, encoding="utf-8")
    launches = [launch for launch in plan.launches if launch.core != "RTS"]
    head = VARIANTS[variant]
    rows = [_row(head, launch, number, plan) for number, launch in enumerate(launches)]
    _write(place / "op_summary_00000000000000.csv", head, rows)
    _write(place / "op_statistic_00000000000000.csv", *_statistic(launches))
    _write(place / "api_statistic_00000000000000.csv", *_apis(plan))
    return place


def _write(path: Path, head: tuple[str, ...], rows: list[list[Any]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])


def _row(head: tuple[str, ...], launch: Launch, number: int, plan: Plan) -> list[Any]:
    from labkit.observe.compare import block_dim

    blocks = block_dim(launch, plan) or 0
    vector = "AI_VECTOR_CORE" if plan.soc.name not in ("Ascend910A", "Ascend910B") else "AI_CORE"
    known = {
        "Device_id": 0,
        "Model Name": "N/A",
        "Model ID": 4294967295,
        "Task ID": number,
        "Stream ID": 1,
        "Infer ID": 1,
        "Op Name": f"{plan.operator}_{launch.l0}_{launch.op_type}",
        "OP Type": launch.op_type,
        "OP State": "dynamic",
        "Task Type": "AI_CPU" if launch.core == "AICPU" else vector,
        "Task Start Time(us)": "N/A\t",
        "Task Start Time": "N/A\t",
        "Block Num": blocks,
        "Block Dim": blocks,
        "HF32 Eligible": "NO",
        "Input Shapes": _shapes(launch.inputs),
        "Input Data Types": ";".join(_dtype(operand) for operand in launch.inputs),
        "Input Formats": ";".join("ND" for _ in launch.inputs),
        "Output Shapes": _shapes(launch.outputs),
        "Output Data Types": ";".join(_dtype(operand) for operand in launch.outputs),
        "Output Formats": ";".join("ND" for _ in launch.outputs),
    }
    return [known.get(name, "N/A") for name in head]


def _shapes(operands: tuple[Operand, ...]) -> str:
    return '"' + ";".join(",".join(map(str, operand.shape)) for operand in operands) + '"'


def _dtype(operand: Operand) -> str:
    return "DT_BF16" if operand.dtype.short == "BF16" else operand.dtype.short


def _statistic(launches: list[Launch]) -> tuple[tuple[str, ...], list[list[Any]]]:
    times = [f"{word} Time(us)" for word in ("Total", "Min", "Avg", "Max")]
    head = ("Device_id", "OP Type", "Core Type", "Count", *times, "Ratio(%)")
    names = [launch.op_type for launch in launches]
    rows = [
        [0, name, "AI_VECTOR_CORE", names.count(name), *["N/A"] * 5]
        for name in dict.fromkeys(names)
    ]
    return head, rows


def _apis(plan: Plan) -> tuple[tuple[str, ...], list[list[Any]]]:
    head = (
        *("Device_id", "Level", "API Name", "Time(us)", "Count"),
        *("Avg(us)", "Min(us)", "Max(us)", "Variance"),
    )
    names = (f"{plan.operator}GetWorkspaceSize", plan.operator)
    return head, [["host", "acl", name, "N/A", 1, *["N/A"] * 4] for name in names]
