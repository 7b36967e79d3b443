"""The findings: every case runs and shows what it claims; the document is in step; steps.json."""

from __future__ import annotations

import re

import pytest

from labkit.errors import LabError, LabValueError
from labkit.explain.aclnn_layer import CHECKS
from labkit.explain.conditions import CONDITIONS
from labkit.explain.findings import (
    PRELUDE,
    finding,
    findings,
    measured,
    run_case,
    to_markdown,
)
from labkit.explain.maker import step_info
from labkit.op import TensorDesc, plan_hardshrink_backward, socs, tile
from labkit.op import plan_hardshrink as plan_forward
from labkit.op.l0 import KERNEL_WORKSPACES_950
from labkit.op.tables import load_table

T = TensorDesc
ALL = findings()
NEEDED = {
    "pair-fp16-boundary",
    "tile-by-total",
    "buckets-last-fit",
    "cache-evicted-in-use",
    "thread-exit-59s",
    "replay-failure-swallowed",
    "second-phase2",
}


@pytest.mark.parametrize("item", ALL, ids=lambda item: item.id)
def test_the_minimal_case_shows_what_the_finding_claims(item):
    assert repr(run_case(item)) == item.shows


@pytest.mark.parametrize("item", ALL, ids=lambda item: item.id)
def test_a_finding_has_everything_a_maintainer_needs(item):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", item.id)
    assert item.kind in ("document", "pair", "defect")
    assert set(item.operators) <= {"backward", "forward"} and item.operators
    for text in (item.title, item.document, item.code, item.seen, item.sure, item.mend):
        assert text and text == text.strip()
    assert not item.title.endswith(".")
    assert item.sources
    for ref in item.sources:
        assert "/" in ref.repository and ref.path
        assert 1 <= ref.first <= ref.last
        assert re.fullmatch(r"[0-9a-f]{8,40}", ref.commit)


@pytest.mark.parametrize("item", ALL, ids=lambda item: item.id)
def test_a_finding_names_steps_that_exist_and_a_condition_that_exists(item):
    assert item.when in CONDITIONS
    assert item.steps
    for layer, name in item.steps:
        for operator in item.operators:
            if not (operator == "forward" and name in ("CheckBroadcast", "HardShrinkGrad")):
                assert step_info(layer, name, operator)


def test_ids_and_titles_are_unique_and_nothing_needed_is_missing():
    assert len({item.id for item in ALL}) == len({item.title for item in ALL}) == len(ALL)
    assert NEEDED <= {item.id for item in ALL}
    kinds = [item.kind for item in ALL]
    assert kinds.count("document") >= 28 and kinds.count("defect") >= 6


def test_a_finding_is_found_by_its_id():
    assert finding("doc-nan").id == "doc-nan"
    with pytest.raises(LabValueError, match="known: doc-one-dtype"):
        finding("nothing")


# -- the document --------------------------------------------------------------


def test_the_document_is_in_step_with_the_data(root):
    assert (root / "docs" / "findings.md").read_text(encoding="utf-8") == to_markdown(), (
        "write it anew: python -m labkit.explain.findings > docs/findings.md"
    )


def test_the_document_has_every_id_title_and_case(root):
    text = (root / "docs" / "findings.md").read_text(encoding="utf-8")
    assert re.findall(r"^### (.+)$", text, re.M).__len__() == len(ALL)
    assert PRELUDE in text
    for item in ALL:
        assert f"### {item.title}\n\n`{item.id}`" in text
        assert "\n".join((*item.case, f"# {item.shows}")) in text
        assert all(str(ref) in text for ref in item.sources)


def test_the_cases_run_as_they_are_printed(root):
    text = (root / "docs" / "findings.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert blocks[0] == PRELUDE and len(blocks) == len(ALL) + 1
    for block in blocks[1:]:
        *lines, last, shows = block.strip().splitlines()
        space: dict[str, object] = {}
        exec(PRELUDE + "\n".join(lines), space)
        assert f"# {eval(last, space)!r}" == shows


# -- measured sequences --------------------------------------------------------


def test_measured_sequences_are_read_from_the_checkout():
    assert measured("p2.twice")["results"][-1]["seen"] == 161001
    with pytest.raises(LabValueError, match=r"no measured sequence 'none'"):
        measured("none")


# -- when a finding concerns a call --------------------------------------------

A = T("float32", [4])
MEETS = {
    "doc-one-dtype": (T("float16", [4]), A, 0.5, A),
    "doc-empty-shapes": (T("float32", [0]), A, 0.5, A),
    "doc-empty-output": (A, A, 0.5, T("float32", [0])),
    "doc-null-row": (A, None, 0.5, A),
    "doc-rank-row": (T("float32", [1] * 9), A, 0.5, A),
    "doc-view-storage": (A, T("float32", [4], [2]), 0.5, A),
    "doc-lambd-nonfinite": (A, A, float("inf"), A),
    "comments-lambd-select": (A, A, -1.0, A),
    "header-dtypes": (*[T("bfloat16", [4])] * 2, 0.5, T("bfloat16", [4])),
    "pair-fp16-boundary": (*[T("float16", [4])] * 2, 0.3, T("float16", [4])),
    "tile-by-total": (A, A, 0.5, A),
    "buckets-last-fit": (T("float16", [4]), A, 0.5, T("float16", [4])),
    "negative-strides-950": (A, T("float32", [4], [-1], 3), 0.5, A),
    "view-copy-bounds": (A, A, 0.5, T("float32", [4], [2], 0, [8])),
    "as-strided-32-bit": (
        T("float32", [2, 3]),
        T("float32", [2, 3], [5, 2], 0, [2**32]),
        0.5,
        T("float32", [2, 3]),
    ),
}
NOT_MET_BY_THE_PLAINEST = set(MEETS) - {"tile-by-total"}


@pytest.mark.parametrize("name", MEETS)
def test_a_call_that_meets_a_finding_is_told_so(name):
    assert finding(name).applies(plan_hardshrink_backward(*MEETS[name]))


@pytest.mark.parametrize("name", sorted(NOT_MET_BY_THE_PLAINEST))
def test_the_plainest_call_does_not_meet_it(name):
    assert not finding(name).applies(plan_hardshrink_backward(A, A, 0.5, A))


def test_every_condition_can_be_asked_about_every_kind_of_plan():
    plans = [plan_hardshrink_backward(*arguments) for arguments in MEETS.values()]
    plans += [plan_hardshrink_backward(None, None, None, None), plan_forward(None, None, None)]
    plans += [plan_forward(A, 0.5, A, soc=soc) for soc in socs().values()]
    plans += [plan_hardshrink_backward(A, A, 0.5, A, soc=soc) for soc in socs().values()]
    for plan in plans:
        for condition in CONDITIONS.values():
            assert condition(plan) in (True, False)


# -- steps.json ----------------------------------------------------------------


def test_every_step_that_a_plan_can_produce_has_an_entry():
    for operator, names in CHECKS.items():
        for name in (*names, "Lambda", "WorkspaceSize", "Phase2"):
            assert step_info("L2", name, operator).does
    for name in ("Contiguous", "Cast", "ViewCopy"):
        for operator in ("backward", "forward"):
            assert step_info("l0", name, operator).sources
    assert step_info("l0", "BroadcastTo", "backward").sources
    assert step_info("l0", "HardShrinkGrad", "backward").sources
    assert step_info("l0", "HardShrink", "forward").sources
    kernels = set(KERNEL_WORKSPACES_950) | {"SliceV2", "CopyNpuToNpu"}
    for name in kernels - {"HardShrink"}:
        assert step_info("definition", name, "backward").sources
    for name in kernels - {"HardShrinkGrad"}:
        assert step_info("definition", name, "forward").sources


def test_the_names_in_plans_of_many_kinds_are_all_known():
    views = [
        T("float32", [2, 4]),
        T("float32", [2, 4], [1, 2], 0, [4, 2]),
        T("float32", [2, 4], [8, 1], 0, [2, 8]),
        T("float32", [2, 4], [16, 2], 0, [2, 16]),
        T("float32", [2, 4], [0, 1], 0, [4]),
        T("float32", [2, 4], [-4, 1], 4, [8]),
        T("float16", [2, 4], [7, 2], 1, [20]),
    ]
    seen = set()
    for soc in ("950", "910b", "910", "310p"):
        for x in views:
            for out in views:
                for plan in (
                    plan_hardshrink_backward(x, views[0], 0.5, out, soc=soc),
                    plan_forward(x, 0.5, out, soc=soc),
                ):
                    operator = "forward" if plan.operator == "aclnnHardshrink" else "backward"
                    for launch in plan.launches:
                        seen.add(launch.op_type)
                        assert step_info("definition", launch.op_type, operator)
                    for step in plan.steps[: -1 if plan.fault else None]:
                        assert step_info(step.layer, step.name, operator)
    assert {"Transpose", "Slice", "StridedSlice", "BroadcastTo", "AsStrided", "Cast"} <= seen
    assert {"ViewCopy", "HardShrink", "HardShrinkGrad"} <= seen


def test_an_unknown_step_is_an_error_of_the_lab():
    with pytest.raises(LabError, match="no backward step 'Nothing'"):
        step_info("L2", "Nothing", "backward")


def test_every_entry_says_what_the_step_does_in_one_sentence_and_where():
    for row in load_table("steps")["steps"]:
        assert row["does"].endswith(".") and ". " not in row["does"], row["does"]
        assert row["function"] and row["sources"]
        assert set(row["operators"]) <= {"backward", "forward"} and row["operators"]


def test_a_finding_is_shown_as_the_page_shows_it():
    from labkit.explain.findings import finding, to_markdown

    shown = repr(finding("doc-nan"))
    assert shown in to_markdown() and shown == finding("doc-nan")._repr_markdown_()


def condition(name, grad, self_=None, **options):
    self_ = grad if self_ is None else self_
    out = T("float32", self_.shape)
    return CONDITIONS[name](plan_hardshrink_backward(grad, self_, 0.5, out, **options))


def test_a_negative_stride_counts_only_on_an_axis_that_steps():
    shape, storage = (1, 4), (64,)
    assert not condition("negative stride", T("float32", shape, (-4, 1), 0, storage))
    assert condition("negative stride", T("float32", shape, (4, -1), 3, storage))
    assert not condition("negative stride", T("float32", shape, (4, 1), 0, storage))


def test_lanes_are_wasted_from_a_tile_of_more_than_twice_what_a_core_gets():
    def tiles(total):
        cut = tile(total, "float32")
        return cut.ub_factor, 2 * cut.block_factor

    shapes = {total: T("float32", (total,)) for total in range(72 * 64, 72 * 8192, 72 * 64)}
    seen = {
        (tiles(total)[0] > tiles(total)[1], condition("lane waste", shape))
        for total, shape in shapes.items()
    }
    assert seen == {(True, True), (False, False)}
