"""The chain as HTML: well formed, escaped, nothing loaded, usable without a mouse."""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser

import pytest

import labkit
from labkit.explain.html import as_page
from labkit.explain.style import PAGE, STYLE
from labkit.op import TensorDesc, plan_hardshrink, plan_hardshrink_backward

T = TensorDesc
A = T("float32", [4])
VOID = {"meta", "br", "img", "hr", "input", "link"}

PLANS = {
    "example": plan_hardshrink_backward(
        T("float16", [4, 1]), T("float32", [1, 4]), 0.5, T("float32", [4, 4])
    ),
    "forward": plan_hardshrink(
        T("bfloat16", [2, 3], [1, 2], 0, [3, 2]), -1.0, T("float32", [2, 3])
    ),
    "910b": plan_hardshrink_backward(A, A, 0.5, A, soc="910b"),
    "view copy": plan_hardshrink_backward(A, A, 0.5, T("float32", [4], [2], 0, [8])),
    "empty": plan_hardshrink_backward(T("float32", [0]), A, 0.5, A),
    "null": plan_hardshrink_backward(None, None, None, None),
    "storage": plan_hardshrink_backward(A, T("float32", [4], [2]), 0.5, A),
}


class Reader(HTMLParser):
    """Checks that every tag is closed in order, and collects what is there."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:])
        self.open.pop()

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


@pytest.mark.parametrize("name", PLANS)
def test_every_tag_is_closed_and_nothing_is_loaded_or_run(name):
    chain = labkit.explain(PLANS[name])
    for html in (chain._repr_html_(), as_page(chain)):
        reader = read(html)
        assert not {"script", "img", "link", "iframe", "object"} & set(reader.tags)
        assert not {"src", "href", "onclick", "style"} & {key for key, _ in reader.attributes}
    assert "url(" not in STYLE + PAGE and "@import" not in STYLE + PAGE


@pytest.mark.parametrize("name", PLANS)
def test_every_reached_step_can_be_opened_and_says_what_the_text_says(name):
    chain = labkit.explain(PLANS[name])
    reader = read(chain._repr_html_())
    text = "".join(reader.text)
    reached = [step for step in chain if step.state != "not reached"]
    assert reader.tags.count("details") == len(reached) + len(chain.workspace.buckets)
    assert reader.tags.count("summary") == reader.tags.count("details")
    for step in reached:
        assert step.title in text and step.why in text and step.does in text
        assert step.function in text and all(str(ref) in text for ref in step.sources)
    for step in chain:
        assert step.title in text


def test_the_step_that_ended_the_call_is_open_and_the_others_are_not():
    for name, opened in (("storage", 1), ("null", 1), ("empty", 1), ("example", 0)):
        chain = labkit.explain(PLANS[name])
        reader = read(chain._repr_html_())
        ends = [key for key, _ in reader.attributes].count("open") - len(chain.workspace.buckets)
        assert ends == opened


def test_texts_are_escaped():
    chain = labkit.explain(PLANS["example"])
    evil = '<img src=x onerror="x()">&amp;'
    first = dataclasses.replace(
        chain.steps[0],
        **dict.fromkeys(("name", "subject", "state", "function", "does", "why"), evil),
        facts=((evil, evil),),
        items=(evil,),
    )
    port = dataclasses.replace(chain.arguments[0], name=evil, dtype=evil, holds=evil, place=evil)
    first = dataclasses.replace(first, inputs=(port,))
    changed = dataclasses.replace(
        chain,
        **dict.fromkeys(("operator", "soc", "family", "lambd"), evil),
        arguments=(port, *chain.arguments[1:]),
        argument_names=(evil, *chain.argument_names[1:]),
        steps=(first, *chain.steps[1:]),
        workspace=dataclasses.replace(chain.workspace, why=evil),
    )
    for html in (changed._repr_html_(), as_page(changed)):
        reader = read(html)
        assert "img" not in reader.tags
        assert "".join(reader.text).count(evil) >= 12


def test_every_rule_of_the_style_sheet_is_kept_to_the_chain():
    for rule in re.findall(r"([^{}]+)\{[^{}]*\}", STYLE):
        for selector in re.sub(r"\s+", " ", rule).split(","):
            assert ".labkit-chain" in selector, selector


def test_light_and_dark_come_from_jupyterlabs_variables_with_fallbacks():
    assert "var(--jp-ui-font-color1,#1f2328)" in STYLE
    assert "var(--jp-layout-color0,#fff)" in STYLE
    assert '[data-jp-theme-light="false"] .labkit-chain' in STYLE
    assert "prefers-color-scheme:dark" in PAGE
    assert ":focus-visible" in STYLE


def test_a_state_is_told_by_a_word_and_a_sign_not_by_colour_alone():
    text = "".join(read(labkit.explain(PLANS["example"])._repr_html_()).text)
    for told in ("✓ passed", "▶ launched", "– skipped", "↪ redirected"):
        assert told in text
