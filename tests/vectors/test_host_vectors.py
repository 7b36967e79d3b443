"""What phase 1 of the real host code answered for 2,133 sets of descriptors.

Return code, l0 operators with elision, launches with every operand, workspace
and λ as handed to the kernel. The kernels' own workspaces count as none there,
so their tilings, which run in phase 1 on a 950, had no say.
"""

import math
from collections import Counter

import pytest
import vector_files

from labkit.errors import LabValueError
from labkit.op import Scalar, find_soc
from labkit.op.contract import check_out_pointers
from labkit.op.scalar import float32_bits

FILES = {"host": 1398, "forward_host": 735}
NULL_OUT_POINTERS = {"host": 15, "forward_host": 10}

# Calls on an Ascend950PR_9599 that pass the host's checks, but whose AsStrided or ViewCopy tiling
# refuses: negative strides on axes longer than 1, outputs past their storage.
REFUSED_BY_TILING = {
    *("h0396", "h0397", "h0398", "r11-0045", "r11-0062", "r11-0190", "r11-0215", "r11-0279"),
    *("r11-0286", "r11-0306", "r11-0341", "r11-0376", "r11-0407", "r11-0441", "r11-0549"),
    "r11-0614",
}
# The same by the same rule, on another chip of that generation.
REFUSED_ON_9579 = {"r11-0033", "r11-0204", "r11-0213"}


def null_out_pointers(row):
    return row["in"].get("null_ws", False), row["in"].get("null_executor", False)


def planned(file):
    return [row for row in vector_files.rows(file) if not any(null_out_pointers(row))]


def kind(row):
    return row.get("group", "random").partition(":")[0]  # only the random rows lack a group


GROUPS = sorted({(file, kind(row)) for file in FILES for row in planned(file)})


def dtype_name(name):
    return name.replace("BFLOAT16", "BF16")


def measured_operand(operand):
    dtype, shape, *const = operand
    return [dtype_name(dtype), shape, *const]


def planned_operand(operand):
    const = [] if operand.const is None else [list(operand.const)]
    return [operand.dtype.name, list(operand.shape), *const]


def l0_steps(plan):
    return [step for step in plan.steps if step.layer == "l0"]


def differences(row):
    """What the plan of a row gives otherwise than measured."""
    plan, out = vector_files.plan(row), row["out"]
    if plan.status != out["ret"]:
        return {"status": (out["ret"], plan.status, plan.message)}
    if out["ret"]:
        failed = [step.name for step in l0_steps(plan)]
        pairs = {
            "l0 before the failure": (out["failed_after"], failed),
            "launches": ([], list(plan.launches)),
            "workspace": (0, plan.workspace_size),
        }
    else:
        pairs = {
            "l0": (
                [
                    (step["name"], step["elided"], dtype_name(step["dtype"]), step["shape"])
                    for step in out["l0"]
                ],
                [
                    (step.name, step.skipped, step.dtype.name, list(step.shape))
                    for step in l0_steps(plan)
                ],
            ),
            "launches": (
                [
                    (
                        launch["op"],
                        launch["engine"],
                        [measured_operand(operand) for operand in launch["inputs"]],
                        [measured_operand(operand) for operand in launch["outputs"]],
                    )
                    for launch in out["launches"]
                ],
                [
                    (
                        launch.op_type,
                        launch.core,
                        [planned_operand(operand) for operand in launch.inputs],
                        [planned_operand(operand) for operand in launch.outputs],
                    )
                    for launch in plan.launches
                ],
            ),
            "workspace": (out["workspace_zero_kernel_ws"], plan.workspace_size),
        }
        if "lambd_bits" in out:  # only where a HardShrink kernel was launched
            pairs["lambda"] = (out["lambd_bits"], f"{float32_bits(plan.lambd):08x}")
            attrs = [
                float32_bits(launch.attrs["lambd"])
                for launch in plan.launches
                if launch.op_type in ("HardShrinkGrad", "HardShrink")
            ]
            pairs["lambda of the kernel"] = ([int(out["lambd_bits"], 16)], attrs)
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


@pytest.mark.parametrize(("file", "group"), GROUPS, ids=["-".join(group) for group in GROUPS])
def test_phase_1_decides_as_measured(file, group):
    rows = [row for row in planned(file) if kind(row) == group]
    wrong = {row["id"]: found for row in rows for found in [differences(row)] if found}
    shown = dict(list(wrong.items())[:3])
    assert not wrong, f"{len(wrong)} of {len(rows)} rows differ (measured, planned): {shown}"


@pytest.mark.parametrize("file", FILES)
def test_null_out_pointers_win_over_everything_else(file):
    rows = [row for row in vector_files.rows(file) if any(null_out_pointers(row))]
    assert len(rows) == NULL_OUT_POINTERS[file]
    for row in rows:
        fault = check_out_pointers(*null_out_pointers(row))
        assert fault is not None, row["id"]
        assert fault.status == row["out"]["ret"] == 161001, row["id"]


@pytest.mark.parametrize("file", FILES)
def test_present_out_pointers_are_no_fault_in_any_other_row(file):
    assert check_out_pointers(False, False) is None
    assert len(vector_files.rows(file)) == FILES[file]
    assert len(planned(file)) == FILES[file] - NULL_OUT_POINTERS[file]


@pytest.mark.parametrize("file", FILES)
def test_the_scalar_that_could_not_be_created_cannot_be_created_here_either(file):
    rows = [row for row in vector_files.rows(file) if row["out"].get("create_failed")]
    assert [row["in"]["lambd"]["dtype"] for row in rows] == ["STRING"]
    with pytest.raises(LabValueError):
        Scalar(raw=b"\0", dtype="STRING")


def refused_on_950(row):
    """Whether a 950's tiling refuses a call that the host let pass, told from the row alone."""
    kernels = Counter(launch["op"] for launch in row["out"].get("launches", ()))
    if not find_soc(row["in"].get("soc")).is_regbase:
        return False
    inputs = [row["in"][name] for name in ("grad", "self") if row["in"].get(name)]
    backwards = [desc for desc in inputs if longer_axes(desc, lambda size, stride: stride < 0)]
    if kernels["AsStrided"] and backwards:
        return True
    if not kernels["ViewCopy"]:
        return False
    out = row["in"]["out"]
    storage = math.prod(out.get("storage_shape", out["shape"]))
    offset = out.get("offset", 0)
    return longer_axes(
        out, lambda size, stride: stride < 0 or offset + (size - 1) * stride > storage
    )


def longer_axes(desc, wrong):
    """Whether an axis longer than 1 of a strided descriptor is wrong."""
    strides = desc.get("strides") or []
    return any(
        size > 1 and wrong(size, stride)
        for size, stride in zip(desc["shape"], strides, strict=bool(strides))
    )


def changed_by_the_chip(file):
    changed = {}
    for row in planned(file):
        host, chip = vector_files.plan(row), vector_files.plan(row, kernel_workspaces="auto")
        if host.status != chip.status:
            changed[row["id"]] = (host.status, chip.status)
    return changed


def test_on_a_real_950_the_tilings_refuse_exactly_the_known_calls():
    expected = REFUSED_BY_TILING | REFUSED_ON_9579
    assert changed_by_the_chip("host") == dict.fromkeys(expected, (0, 561103))


@pytest.mark.parametrize("file", FILES)
def test_the_chip_refuses_negative_strides_and_outputs_past_their_storage_only(file):
    expected = {row["id"] for row in planned(file) if refused_on_950(row)}
    assert set(changed_by_the_chip(file)) == expected
    assert expected
