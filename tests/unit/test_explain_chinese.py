"""Explanations in Chinese: nothing stays English, columns align, CANN's own words stay."""

from __future__ import annotations

import json
import re
import string
import textwrap
from dataclasses import replace
from functools import cache
from html import unescape

import numpy as np
import pytest

import labkit
from labkit import language
from labkit.draw.cores import cores_alt_text, cores_figure
from labkit.draw.pipeline import opening, pipeline_alt_text, pipeline_figure
from labkit.draw.ub import ub_alt_text, ub_figure
from labkit.explain import Chain
from labkit.explain.columns import padded, width_of, wrapped
from labkit.explain.findings import findings, to_markdown
from labkit.explain.html import as_page
from labkit.explain.text import MARKS, as_text
from labkit.language import Text, gettext
from labkit.op import Scalar, TensorDesc, plan_hardshrink, plan_hardshrink_backward, tile
from labkit.op.schedule import schedule

T = TensorDesc


def f32(shape, *rest) -> TensorDesc:
    return T("float32", shape, *rest)


A = f32([4])
ROWS = f32([4, 4], [8, 1], 0, [4, 8])
GAPS = f32([2, 3], [9, 2], 0, [18])
HALF = T("float16", [4, 4])

PLANS = {
    "broadcast": plan_hardshrink_backward(T("float16", [4, 1]), f32([1, 4]), 0.3, f32([4, 4])),
    "needless": plan_hardshrink_backward(f32([]), f32([3]), -1.0, f32([3])),
    "not public": plan_hardshrink_backward(HALF, f32([4, 4], [1, 4]), 0.5, ROWS, soc="910b"),
    "doubled": plan_hardshrink_backward(HALF, f32([4, 4]), np.nan, HALF),
    "half": plan_hardshrink_backward(HALF, HALF, 0.3, HALF),
    "two copies": plan_hardshrink_backward(
        f32([3, 2]), f32([3, 2], [1, 4], 0, [2, 4]), 0.5, f32([3, 2])
    ),
    "AI CPU": plan_hardshrink_backward(f32([2, 3]), f32([2, 3]), 0.5, GAPS, soc="910b"),
    "device copy": plan_hardshrink_backward(A, A, 0.5, f32([4], None, 0, [8]), soc="910"),
    "transposed": plan_hardshrink_backward(
        f32([2, 4]), f32([2, 4]), Scalar(2 + 1j, "complex64"), f32([2, 4], [1, 2], 0, [4, 2])
    ),
    "refused later": plan_hardshrink_backward(
        A, f32([4], [-1], 3), 0.5, A, kernel_workspaces="none"
    ),
    "empty": plan_hardshrink_backward(f32([0]), A, 0.5, A),
    "both empty": plan_hardshrink_backward(f32([0]), f32([0]), 0.5, f32([0])),
    "null": plan_hardshrink_backward(None, A, None, A),
    "dtype": plan_hardshrink_backward(A, T("int32", [4]), 0.5, A),
    "rank": plan_hardshrink_backward(f32([1] * 9), A, 0.5, A),
    "no common shape": plan_hardshrink_backward(A, f32([3]), 0.5, A),
    "shape": plan_hardshrink_backward(A, A, 0.5, f32([5])),
    "outside": plan_hardshrink_backward(A, f32([4], [2]), 0.5, A),
    "discarded": plan_hardshrink_backward(
        f32([2, 2], [9, 2]), f32([2, 2], [1, 2]), 0.5, f32([2, 2])
    ),
    "negative stride": plan_hardshrink_backward(A, A, 0.5, f32([4], [-1], 3)),
    "forward": plan_hardshrink(T("bfloat16", [2, 3], [1, 2], 0, [3, 2]), -1.0, f32([2, 3])),
    "forward, empty": plan_hardshrink(f32([0]), 0.5, f32([0])),
    "forward, shape": plan_hardshrink(A, 0.5, f32([5])),
    "forward, 310p": plan_hardshrink(A, np.inf, A, soc="310p"),
}

TILINGS = {
    "one element": tile(1, "float32"),
    "wasteful": tile(4096, "float32"),
    "forward": tile(3 * 10**7, "bfloat16", op="hardshrink"),
    "one more tile": tile(72 * 5 * 10432, "bfloat16", op="hardshrink"),
    "waits": tile(3 * 10**7, "float16"),
    "not public": tile(57, "float16", soc="910b"),
    "nothing": tile(0, "float32"),
    "no tile": tile(1000, "float32", ub_bytes=16384),
    "too large": replace(tile(10**6, "float32"), ub_factor=10**6),
}

CHINESE = re.compile(r"[\u4e00-\u9fff]")
# Words of English sentences that are no word of a name, an instruction or a path.
WORDS = re.compile(
    r"\b(the|is|are|was|of|and|or|which|with|so|not|that|this|has|have|for|by|from|to|at|it|its"
    r"|no|none|nothing|each|bytes|launch|launches|launched|bucket|tile|tiles|core|cores|lanes"
    r"|element|elements|taken|made|passed|skipped|stopped|known|assumed|model|cycles)\b"
)


@pytest.fixture(autouse=True)
def _in_chinese(monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")


@cache
def chains() -> dict[str, Chain]:
    made = {name: labkit.explain(plan) for name, plan in PLANS.items()}
    with labkit.open_device("sim", soc="910b") as dev:
        made["a call"] = labkit.explain(labkit.hardshrink_backward([1, 2], [1, 2], device=dev))
        bad = labkit.hardshrink_backward([1, 2], [1, 2, 3], device=dev, check=False)
        made["a failing call"] = labkit.explain(bad)
    with labkit.open_device("sim", kernel_workspaces="none") as dev:
        call = labkit.hardshrink_backward(np.float16([1]), np.float32([2]), device=dev)
        made["a call that differs"] = labkit.explain(call)
    return made


@cache
def fragments() -> tuple[str, ...]:
    """What stands between the values of every English sentence, where it has two words."""
    found = set()
    for sentence in language.table("zh"):
        for literal, *_ in string.Formatter().parse(sentence):
            if len(re.findall(r"[A-Za-z]{2,}", literal)) > 1 and WORDS.search(literal):
                found.add(literal.strip())
    return tuple(found - set(language.table("zh").values()))


def left_over(text: str) -> list[str]:
    """English that is no name: known sentences, and words that only sentences have."""
    plain = re.sub(r"\S+ [0-9a-f]{8}\s+\S+:\d+(-\d+)?", "", text)  # a source reference
    plain = re.sub(r"[a-z0-9]+(-[a-z0-9]+)+", "", plain)  # the id of a finding
    plain = re.sub(
        r"OpDef \w+|DataCopyPad (in|out)|workspace|ViewCopy|bucket|tiling key", "", plain
    )
    known = [fragment for fragment in fragments() if fragment in plain]
    return known + [line for line in plain.splitlines() if WORDS.search(line)]


def plain_html(html: str) -> str:
    html = re.sub(r"<style>.*?</style>|<code>.*?</code>", "", html, flags=re.S)
    return unescape(re.sub(r"<[^>]+>", "\n", html))


# -- nothing stays English -----------------------------------------------------


def test_the_plans_show_every_state_that_there_is():
    assert {step.state for chain in chains().values() for step in chain} == set(MARKS)


@pytest.mark.parametrize("name", [*PLANS, "a call", "a failing call", "a call that differs"])
def test_the_text_of_a_chain_leaves_no_english_sentence(name):
    text = as_text(chains()[name])
    assert CHINESE.search(text)
    assert left_over(text) == []


@pytest.mark.parametrize("name", [*PLANS, "a call", "a failing call", "a call that differs"])
def test_the_html_of_a_chain_leaves_no_english_sentence(name):
    page = as_page(chains()[name])
    assert page.startswith('<!DOCTYPE html><html lang="zh-CN">')
    assert left_over(plain_html(page)) == []


@pytest.mark.parametrize("name", TILINGS)
def test_the_text_alternatives_of_a_tiling_leave_no_english_sentence(name):
    tiling = TILINGS[name]
    told = [cores_alt_text(tiling), ub_alt_text(tiling)]
    if tiling.fits:
        told += [
            pipeline_alt_text(schedule(opening(tiling, core), core), tiling, core=core)
            for core in (0, 71)
        ]
    for text in told:
        assert CHINESE.search(text)
        assert left_over(text) == []


def test_the_search_for_english_finds_english(monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "en")
    chain = chains()["broadcast"]
    assert len(left_over(as_text(chain))) > 50
    assert len(left_over(plain_html(chain._repr_html_()))) > 50
    assert left_over(cores_alt_text(TILINGS["wasteful"]))


def test_the_figures_themselves_stay_english():
    tiling = TILINGS["waits"]
    timed = schedule(opening(tiling))
    for figure in (cores_figure(tiling), ub_figure(tiling), pipeline_figure(timed, tiling)):
        words = [text.get_text() for text in figure.findobj(match=lambda a: hasattr(a, "get_text"))]
        assert len(words) > 5
        assert not any(CHINESE.search(text) for text in words)


# -- what is not translated ----------------------------------------------------


def test_what_cann_says_is_not_translated(monkeypatch):
    said = {}
    for spoken in language.LANGUAGES:
        monkeypatch.setenv("LABKIT_LANG", spoken)
        with labkit.open_device("sim") as dev:
            call = labkit.hardshrink_backward([1, 2], [1, 2, 3], device=dev, check=False)
        said[spoken] = call.message
    assert said["en"] == said["zh"] != ""


def test_a_plan_and_a_chain_are_the_same_in_both_languages(monkeypatch):
    chinese = labkit.explain(PLANS["outside"])
    monkeypatch.setenv("LABKIT_LANG", "en")
    english = labkit.explain(PLANS["outside"])
    assert chinese == english
    assert PLANS["outside"].steps[-1].why.startswith("self (shape [4], strides [2], offset 0)")


def test_json_is_english_in_both_languages(monkeypatch):
    chain = chains()["a call that differs"]
    chinese = chain.to_json()
    monkeypatch.setenv("LABKIT_LANG", "en")
    assert chain.to_json() == chinese
    assert Chain.from_json(chinese) == chain
    assert CHINESE.search(chinese) is None
    assert json.loads(chinese)["run"]["differs"][0].startswith("phase 1 asked for")


def test_names_codes_and_sources_stay_as_they_are():
    chain = chains()["outside"]
    text = as_text(chain)
    for told in ("aclnnHardshrinkBackward", "561103 ACLNN_ERR_INNER_NULLPTR", "EZ1001"):
        assert told in text
    words = " ".join(text.split())
    assert all(str(ref) in words for step in chain for ref in step.sources if step.why)


# -- a language chosen late ----------------------------------------------------


def test_a_chain_made_in_one_language_is_shown_in_another(monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "en")
    chain = labkit.explain(PLANS["shape"])
    assert "gradInput should have shape [4] but has [5]" in str(chain)
    monkeypatch.setenv("LABKIT_LANG", "zh")
    assert "gradInput的shape应为[4]，实际是[5]" in str(chain)


def test_a_reason_of_the_plan_is_english_text_with_its_values():
    why = PLANS["broadcast"].steps[0].why
    assert isinstance(why, Text)
    assert why == "self is contiguous (an offset costs nothing)"
    assert gettext(why) == "self是连续的（有偏移也不需要拷贝）"


def test_remarks_on_a_checkout_are_chinese(monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_CANN_SRC", str(tmp_path))
    assert f"没有目录{tmp_path / 'ops-nn'}" in "".join(
        line.strip() for line in as_text(chains()["null"], width=400).splitlines()
    )
    (tmp_path / "ops-nn").mkdir()
    assert "没有这个文件；不知道该检出目录是哪个commit" in as_text(chains()["null"], width=400)


# -- columns -------------------------------------------------------------------


def column(line: str, place: int) -> str:
    """The characters at two columns of a line: the one before `place`, and the one there."""
    before = next(n for n in range(len(line) + 1) if width_of(line[:n]) >= place)
    assert width_of(line[:before]) == place, "a wide character lies across the column"
    return line[before - 1 : before + 1]


@pytest.mark.parametrize("name", [*PLANS, "a call"])
def test_the_columns_of_the_steps_align_under_wide_characters(name):
    heads = [line for line in as_text(chains()[name]).splitlines() if line[2:3] in MARKS.values()]
    heads = [line for line in heads if line[:3] != "  ·" or "没有走到" not in line]
    assert len(heads) > 3
    for line in heads:
        for place in (4, 27, 39):
            space, letter = column(line, place)
            assert space == " " and letter != " ", line


def test_the_sizes_in_the_workspace_align_under_wide_characters():
    lines = [line for line in as_text(chains()["broadcast"]).splitlines() if " -> " in line]
    lines = [line for line in lines if line.startswith("    第")]
    assert len(lines) >= 7
    assert len({width_of(line[: line.index(" -> ")]) for line in lines}) == 1


@pytest.mark.parametrize("name", [*PLANS, "a call", "a failing call"])
def test_no_line_is_wider_than_100_columns(name):
    assert max(map(width_of, as_text(chains()[name]).splitlines())) <= 100


def test_english_is_wrapped_as_textwrap_does_it():
    text = "  " + "a view that leaves its storage; λ = 0.5 → ✓ gradInput/self-x " * 4
    assert wrapped(text, 40, "      ") == textwrap.wrap(
        text, 40, subsequent_indent="      ", break_long_words=False, break_on_hyphens=False
    )
    assert wrapped("", 40, "") == [""]


def test_chinese_is_wrapped_between_characters_but_not_before_a_closing_mark():
    text = "第一段接口（GetWorkspaceSize）失败，因此没有给出大小；" * 6
    for width in range(24, 60):
        lines = wrapped(f"  {text}", width, "    ")
        assert "".join(line.strip() for line in lines) == text
        assert all(width_of(line) <= width for line in lines)
        assert not any(line.strip()[0] in "，；）。" or line[-1] == "（" for line in lines)
        assert all(line.startswith("    ") for line in lines[1:])


def test_a_space_between_words_is_dropped_at_a_break_and_kept_elsewhere():
    assert wrapped("桶 0 存放着 gradOutput", 10, "") == ["桶 0 存放", "着", "gradOutput"]


def test_width_counts_wide_characters_twice_and_marks_once():
    assert [width_of(text) for text in ("", "abc", "λ✓▶↪", "死区", "（x）")] == [0, 3, 4, 4, 5]
    assert padded("通过", 6) == "通过  "
    assert padded("not reached", 6) == "not reached"


# -- the document --------------------------------------------------------------


def test_the_chinese_document_is_in_step_with_the_data(root):
    stored = (root / "docs" / "findings.zh.md").read_text(encoding="utf-8")
    assert stored == to_markdown(), (
        "write it anew: LABKIT_LANG=zh python -m labkit.explain.findings > docs/findings.zh.md"
    )
    for item in findings():
        assert f"`{item.id}`" in stored
        assert "\n".join((*item.case, f"# {item.shows}")) in stored
        assert all(str(ref) in stored for ref in item.sources)


def test_every_paragraph_of_the_chinese_document_is_chinese():
    text = re.sub(r"```.*?```|`[^`]*`", "", to_markdown(), flags=re.S)
    told = [line for line in text.splitlines() if re.search(r"[a-z]{3}", line)]
    told = [line for line in told if not line.startswith(" · ")]  # an id and its operators
    assert len(told) > 100
    assert [line for line in told if not CHINESE.search(line)] == []
