"""One table for two languages: no sentence without a translation, none left over."""

import ast
import copy
import json
import pickle
import re
import string
from functools import cache
from pathlib import Path

import pytest

from labkit import language
from labkit.cli_parser import ARGPARSE
from labkit.errors import LabValueError
from labkit.explain.text import MARKS
from labkit.explain.words import COUNTED
from labkit.language import Text, gettext
from labkit.op import socs
from labkit.op.status import (
    ACLNN_ERR_INNER_NULLPTR,
    ACLNN_ERR_PARAM_INVALID,
    ACLNN_ERR_PARAM_NULLPTR,
)
from labkit.op.tables import load_table

LABKIT = Path(__file__).resolve().parents[2] / "labkit"
SHARDS = sorted((LABKIT / "data" / "zh").glob("*.json"))


@cache
def sentences():
    """Every sentence marked for translation, with where it stands."""
    found = {}
    for path in sorted(LABKIT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id in ("_", "Text") and node.args:
                    where = f"{path.relative_to(LABKIT)}:{node.lineno}"
                    if isinstance(node.args[0], ast.Constant):
                        found.setdefault(node.args[0].value, where)
            for text in helps(node):
                found.setdefault(text, f"{path.relative_to(LABKIT)}:{node.lineno}")
    for name, texts in data_sentences():
        for text in texts:
            found.setdefault(text, name)
    return found


def helps(node):
    """What the parser of the command line translates: every help and description."""
    for word in node.keywords if isinstance(node, ast.Call) else ():
        if word.arg in ("help", "description") and isinstance(word.value, ast.Constant):
            yield word.value.value


def data_sentences():
    """Sentences that stand in tables and are shown to learners."""
    steps = load_table("steps")["steps"]
    yield "steps.json", [row["does"] for row in steps]
    yield "steps.json", [row["function"] for row in steps if row["function"] == "not public"]
    told = ("title", "document", "code", "seen", "sure", "mend")
    yield "findings.json", [row[key] for row in load_table("findings")["findings"] for key in told]
    codes = [row for row in load_table("codes")["codes"] if row["layer"] == "aclnn"]
    yield "codes.json", [row["meaning"] for row in codes if row["code"] in STATUSES]
    families = {soc.family for soc in socs().values()}
    yield "socs.json", [name for name in families if re.search(r"\b[a-z]{3}", name)]
    yield "cli_parser.py", ARGPARSE
    yield "explain/text.py", list(MARKS)
    yield "explain/maker.py", ["caller", "workspace", "host"]
    yield "explain/words.py", [text for pair in COUNTED.values() for text in pair]


STATUSES = (ACLNN_ERR_PARAM_NULLPTR, ACLNN_ERR_PARAM_INVALID, ACLNN_ERR_INNER_NULLPTR)
"""What phase 1 of the operator returns when it fails."""


def translations():
    return {
        key: (shard.name, value)
        for shard in SHARDS
        for key, value in json.loads(shard.read_text(encoding="utf-8")).items()
    }


def places(text):
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


def test_every_sentence_is_translated():
    assert {text: where for text, where in sentences().items() if text not in translations()} == {}


def test_no_translation_is_left_over():
    left = {key: shard for key, (shard, _) in translations().items() if key not in sentences()}
    assert left == {}


def test_no_sentence_is_translated_twice():
    keys = [key for shard in SHARDS for key in json.loads(shard.read_text(encoding="utf-8"))]
    assert len(keys) == len(set(keys))


def test_a_translation_names_the_same_values():
    wrong = {k: v for k, (_, v) in translations().items() if places(k) != places(v)}
    assert wrong == {}


def test_there_is_a_table():
    assert len(language.table("zh")) == len(translations()) > 10
    assert language.table("en") == {}


@pytest.mark.parametrize(
    ("asked", "folder", "spoken"),
    [("en", "zh", "en"), ("zh", "x", "zh"), ("", "zh", "zh"), ("", "x", "en"), (" ", "x", "en")],
)
def test_the_variable_decides_and_else_the_folder(monkeypatch, tmp_path, asked, folder, spoken):
    (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / folder)
    monkeypatch.setenv("LABKIT_LANG", asked)
    assert language.language() == spoken
    assert gettext("not yet") == {"en": "not yet", "zh": "还差一点"}[spoken]


def test_a_language_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "fr")
    with pytest.raises(LabValueError, match="'fr'; right would be en or zh"):
        gettext("x")


def test_a_sentence_with_values_is_english_and_can_be_translated_later(monkeypatch):
    text = Text("the device gives {value}", value=Text("not yet"))
    assert text == "the device gives not yet"
    assert pickle.loads(pickle.dumps(text)).template == text.template
    monkeypatch.setenv("LABKIT_LANG", "zh")
    assert gettext(text) == "设备给出还差一点"
    assert gettext("no such sentence") == "no such sentence"


def test_a_sentence_with_values_is_a_str_wherever_one_is_wanted():
    text = Text("{n} bytes, {why}", n=3, why=Text("not yet"))
    plain = "3 bytes, not yet"
    assert text == plain and hash(text) == hash(plain) and {text: 1}[plain] == 1
    assert json.dumps({text: text}) == json.dumps({plain: plain})
    for made in (copy.deepcopy(text), pickle.loads(pickle.dumps(text))):
        assert made == plain and made.values == text.values
    assert type(str(text)) is str and f"{text:>20}" == f"{plain:>20}"
