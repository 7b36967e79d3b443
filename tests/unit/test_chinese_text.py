"""The Chinese texts follow one style, and their Markdown shows no stray asterisks.

JupyterLab renders CommonMark, whose rules for ``**`` were made for languages with spaces:
beside a full-width mark and a Chinese letter, bold neither opens nor closes, and learners
see the asterisks. ``stray`` finds these places by the rules of CommonMark 0.31, section 6.2.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks" / "zh").glob("*.ipynb"))
EXERCISES = sorted((ROOT / "labkit" / "course" / "exercises").glob("*/*.zh.md"))
SHARDS = sorted((ROOT / "labkit" / "data" / "zh").glob("*.json"))
PAGES = sorted((ROOT / "docs").glob("*.zh.md"))

HAN = r"\u3400-\u9fff"
LATIN = r"A-Za-z0-9\u0370-\u03ff∞"
CODE = re.compile(r"^(```|~~~|\$\$).*?^\1|(`+)(?!`).*?(?<!`)\2(?!`)", re.DOTALL | re.MULTILINE)
PRIVATE = "\ue000"
"""What stands for a piece of code while prose is looked at; no letter and no mark."""

TERMS = {
    r"实验室": "本实验",
    r"(?<![A-Za-z])host ?侧|设备侧": "Host侧, Device侧",
    r"Host程序": "Host侧程序",
    r"向量": "矢量",
    r"孪生": "冒牌实现",
    r"桶": "bucket",
    r"次序": "顺序",
    r"可重复使用": "可复用",
    r"昇腾 ?9": "Ascend 9",
    r"启动(?:一个|这个|该)?kernel|kernel的?启动": "下发",
    r"答案和理由": "解答和理由",
}
"""Words that once stood beside another one for the same thing, and the one that stays."""


def texts() -> Iterator[tuple[str, str]]:
    """Every Chinese text that learners see, with where it stands."""
    for path in NOTEBOOKS:
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "markdown":
                yield f"{path.stem}#{cell.id}", cell.source
    for path in [*EXERCISES, *PAGES]:
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    for path in SHARDS:
        for english, chinese in json.loads(path.read_text(encoding="utf-8")).items():
            yield f"{path.name}: {english}", chinese


TEXTS = dict(texts())


def prose(text: str) -> str:
    """A text without its code, the targets of its links, and what opens a line."""
    text = CODE.sub(PRIVATE, text)
    text = re.sub(r"\]\([^)\s]*\)", "]", text)
    return re.sub(r"^\s*(?:\d+\.|[*+>-]|#+)\s+", "", text, flags=re.MULTILINE)


def stray(text: str) -> list[str]:
    """The runs of asterisks that stay visible, each with its surroundings."""
    text = prose(text)
    opened: list[str] = []
    left: list[str] = []
    for part in re.split(r"\n\s*\n|\n(?=\|)", text):
        opened.clear()
        for run in re.finditer(r"(?<!\\)\*+", part):
            before, after = part[: run.start()][-1:], part[run.end() :][:1]
            opens, closes = _flanks(before, after), _flanks(after, before)
            around = part[max(0, run.start() - 12) : run.end() + 12]
            if closes and run.group() in opened:
                del opened[opened.index(run.group()) :]
            elif opens:
                opened.append(run.group())
            elif not (_blank(before) and _blank(after) and len(run.group()) == 1):
                left.append(around)
        left += [f"{mark} never closes: {part[:40]}" for mark in opened]
    return left


def _flanks(outside: str, inside: str) -> bool:
    """Whether a run with these neighbours can open (or, mirrored, close) an emphasis."""
    if _blank(inside):
        return False
    return not _mark(inside) or _blank(outside) or _mark(outside)


def _blank(letter: str) -> bool:
    return not letter or letter.isspace()


def _mark(letter: str) -> bool:
    return letter == PRIVATE or unicodedata.category(letter)[0] in "PS"


def found(pattern: str, texts: dict[str, str] = TEXTS) -> dict[str, list[str]]:
    """Where a pattern occurs in prose."""
    places = {
        where: [hit.group() for hit in re.finditer(pattern, prose(text))]
        for where, text in texts.items()
    }
    return {where: hits for where, hits in places.items() if hits}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("**问题？** 看", 0),
        ("是**重点**的", 0),
        ("* 一项\n* **粗体。**", 0),
        ("`a ** b`与2 * 3", 0),
        ("`x`**和**`y`", 0),
        ("**问题？**看", 2),
        ("他说**“是”**，", 2),
        ("**没有结束", 1),
    ],
)
def test_a_stray_asterisk_is_seen(text, count):
    assert len(stray(text)) == count


def test_no_asterisk_shows():
    shown = {where: stray(text) for where, text in TEXTS.items() if ".json" not in where}
    assert {where: runs for where, runs in shown.items() if runs} == {}


def test_no_space_stands_between_chinese_and_latin():
    assert found(f"[{HAN}] +[{LATIN}{PRIVATE}{{].?|.?[{LATIN}{PRIVATE}}}] +[{HAN}]") == {}


def test_marks_beside_chinese_are_full_width():
    assert found(f"[{HAN}][,;:?!][^/]?|[{HAN}]\\.(?![a-z])|[{HAN}] ?\\([^)]*[{HAN}]") == {}


def test_chinese_is_never_slanted():
    assert found(rf"(?<![*\w])\*(?![*\s])[^*\n]*[{HAN}][^*\n]*\*(?!\*)") == {}


@pytest.mark.parametrize("pattern", TERMS)
def test_one_thing_has_one_name(pattern):
    assert found(pattern) == {}, f"here the word is {TERMS[pattern]}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_opens_and_closes_alike(path):
    cells = [c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "markdown"]
    opening = cells[0]
    heads = re.findall(r"^\*\*(你[^*]+。)\*\* ", opening, flags=re.MULTILINE)
    assert heads == ["你将做什么。", "你将学到什么。", "你需要什么。"]
    assert opening.startswith(f"# {path.stem[:2]} · ")
    assert f"[English](../{path.name})" in opening
    assert "含练习约" in opening
    titles = [line for cell in cells for line in cell.splitlines() if line.startswith("## ")]
    assert [title for title in titles if "NPU上" in title] == ["## 在你的NPU上"]
    assert titles[-1] == "## 本篇要点"
    if path != NOTEBOOKS[-1]:
        after = NOTEBOOKS[NOTEBOOKS.index(path) + 1]
        assert re.search(rf"^下一篇：\[{after.stem[:2]} · [^]]+\]\({after.name}\)", cells[-1], re.M)


def test_a_notebook_compares_itself_and_not_its_twin():
    for where, text in TEXTS.items():
        for line in re.findall(r"^.*--nbval-lax.*$", text, flags=re.MULTILINE):
            assert "notebooks/zh/" in line or ".ipynb" not in line, where
