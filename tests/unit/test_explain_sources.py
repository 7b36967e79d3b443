"""Cited lines from the reader's own checkout: found, moved, missing, of another commit."""

from __future__ import annotations

import pytest

import labkit
from labkit.errors import LabError
from labkit.explain.sources import REPOSITORIES, Excerpt, excerpt, parse_ref, sources_at_hand
from labkit.op import TensorDesc, plan_hardshrink_backward

NN = REPOSITORIES["ops-nn"]
PATH = "activation/hard_shrink_grad/op_api/aclnn_hardshrink_backward.cpp"
REF = parse_ref(f"ops-nn {PATH}:53-55#CheckNotNull")
T = TensorDesc("float32", (4,))


@pytest.fixture(autouse=True)
def without_checkouts(monkeypatch):
    monkeypatch.delenv("LABKIT_OPS_NN", raising=False)
    monkeypatch.delenv("LABKIT_CANN_SRC", raising=False)


def numbered(count: int, **others: str) -> str:
    """`count` lines that tell their number; `line53="..."` gives one another text."""
    lines = [f"line {number}" for number in range(1, count + 1)]
    for name, text in others.items():
        lines[int(name.removeprefix("line")) - 1] = text
    return "\n".join(lines) + "\n"


def checkout(folder, text, *, path=PATH, commit=NN, **how):
    """A folder that looks like a checkout of ops-nn."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    git = folder / ".git"
    if commit is not None:
        git.mkdir(exist_ok=True)
        (git / "HEAD").write_text(f"{commit}\n")
    return folder


def of(folder) -> Excerpt:
    found = excerpt(REF, {"LABKIT_OPS_NN": str(folder)})
    assert found is not None
    return found


# -- references ----------------------------------------------------------------


def test_a_reference_names_repository_path_lines_commit_and_anchor():
    assert (REF.repository, REF.path, REF.lines) == ("cann/ops-nn", PATH, "53-55")
    assert (REF.first, REF.last, REF.commit, REF.anchor) == (53, 55, NN, "CheckNotNull")
    one = parse_ref("hicann/ops-nn@0c8fd4c82a72 docs/a.md:8")
    assert (one.repository, one.first, one.last, one.commit) == (
        *("hicann/ops-nn", 8, 8, "0c8fd4c82a72"),
    )


@pytest.mark.parametrize("text", ["", "ops-nn a.cpp", "unknown a.cpp:3", "ops-nn a.cpp:x"])
def test_what_is_no_reference_is_refused(text):
    with pytest.raises(LabError):
        parse_ref(text)


# -- a checkout ----------------------------------------------------------------


def test_without_a_checkout_there_are_no_lines():
    assert not sources_at_hand({})
    assert excerpt(REF, {}) is None
    assert excerpt(REF, {"LABKIT_OPS_NN": ""}) is None


def test_the_cited_lines_come_from_the_checkout(tmp_path):
    found = of(checkout(tmp_path, numbered(60, line53="bool CheckNotNull(")))
    assert found.lines == ("bool CheckNotNull(", "line 54", "line 55")
    assert (found.first, found.remark) == (53, "")


def test_the_folder_of_all_sources_holds_the_repositories_side_by_side(tmp_path):
    checkout(tmp_path / "ops-nn", numbered(60, line53="CheckNotNull"))
    found = excerpt(REF, {"LABKIT_CANN_SRC": str(tmp_path)})
    assert found is not None and found.lines[0] == "CheckNotNull"
    other = excerpt(parse_ref("opbase src/a.cpp:1-2"), {"LABKIT_CANN_SRC": str(tmp_path)})
    assert other is not None and other.lines == ()
    assert "there is no folder" in other.remark
    assert excerpt(parse_ref("opbase src/a.cpp:1"), {"LABKIT_OPS_NN": str(tmp_path)}) is None


def test_the_one_repository_wins_over_the_folder_of_all(tmp_path):
    mine = checkout(tmp_path / "mine", numbered(60, line53="CheckNotNull mine"))
    checkout(tmp_path / "ops-nn", numbered(60, line53="CheckNotNull other"))
    both = {"LABKIT_OPS_NN": str(mine), "LABKIT_CANN_SRC": str(tmp_path)}
    found = excerpt(REF, both)
    assert found is not None and found.lines[0] == "CheckNotNull mine"


def test_a_public_copy_is_looked_up_in_the_same_repository(tmp_path):
    ref = parse_ref(f"jbgztxdy/ops-nn@30f3432858a1 {PATH}:53-55#CheckNotNull")
    checkout(tmp_path, numbered(60, line53="CheckNotNull"))
    found = excerpt(ref, {"LABKIT_OPS_NN": str(tmp_path)})
    assert found is not None and found.lines[0] == "CheckNotNull"
    assert f"at {NN[:8]}, the reference is of 30f34328" in found.remark


def test_another_commit_is_told(tmp_path):
    found = of(checkout(tmp_path, numbered(60, line53="CheckNotNull"), commit="ab" * 20))
    assert found.remark == f"this checkout is at abababab, the reference is of {NN[:8]}"
    assert len(found.lines) == 3


def test_lines_that_moved_are_found_again(tmp_path):
    found = of(checkout(tmp_path, numbered(90, line71="CheckNotNull("), commit="ab" * 20))
    assert "found again at line 71" in found.remark
    assert found.first == 70 and "CheckNotNull(" in found.lines


def test_lines_whose_word_is_gone_are_shown_as_cited(tmp_path):
    found = of(checkout(tmp_path, numbered(60)))
    assert found.lines == ("line 53", "line 54", "line 55")
    assert "no longer stands in this file" in found.remark


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (numbered(10), "has only 10 lines"),
        (numbered(54, line53="CheckNotNull"), ""),
        (b"", "has only 0 lines"),
        (b"\x00\x01\x02", "it is no text"),
    ],
)
def test_a_file_that_is_too_short_or_no_text_is_told(tmp_path, text, told):
    found = of(checkout(tmp_path, text))
    assert told in found.remark
    assert (found.lines == ()) == bool(told)


def test_a_missing_file_or_folder_is_told(tmp_path):
    (tmp_path / "empty").mkdir()
    found = of(tmp_path / "empty")
    assert found.lines == () and "there is no such file" in found.remark
    found = of(tmp_path / "nowhere")
    assert found.lines == () and "there is no folder" in found.remark


def test_chinese_comments_are_read_in_either_encoding(tmp_path):
    text = numbered(60, line53="// 检查 CheckNotNull")
    assert "检查" in of(checkout(tmp_path / "a", text)).lines[0]
    assert "检查" in of(checkout(tmp_path / "b", text.encode("gb18030"))).lines[0]
    broken = text.encode("utf-8").replace("检".encode(), b"\xff\xff")
    assert "CheckNotNull" in of(checkout(tmp_path / "c", broken)).lines[0]


def test_control_characters_do_not_reach_the_terminal(tmp_path):
    found = of(checkout(tmp_path, numbered(60, line53="\x1b[31mCheckNotNull\tx")))
    assert "\x1b" not in found.lines[0] and "\t" not in found.lines[0]


def test_a_path_that_leaves_the_checkout_is_not_read(tmp_path):
    (tmp_path / "secret.cpp").write_text(numbered(60))
    (tmp_path / "nn").mkdir()
    ref = parse_ref("ops-nn ../secret.cpp:1-2")
    found = excerpt(ref, {"LABKIT_OPS_NN": str(tmp_path / "nn")})
    assert found is not None and found.lines == ()
    assert "outside the checkout" in found.remark


def test_a_long_range_is_cut(tmp_path):
    ref = parse_ref(f"ops-nn {PATH}:1-200")
    checkout(tmp_path, numbered(300))
    found = excerpt(ref, {"LABKIT_OPS_NN": str(tmp_path)})
    assert found is not None and len(found.lines) == 60
    assert "the first 60 of 200 lines" in found.remark


# -- which commit it is at -----------------------------------------------------


@pytest.mark.parametrize("how", ["loose", "packed", "worktree", "none", "unborn"])
def test_the_commit_is_read_from_gits_own_files(tmp_path, how):
    root = checkout(tmp_path / "nn", numbered(60, line53="CheckNotNull"), commit=None)
    git = root / ".git"
    if how == "worktree":
        real = tmp_path / "main" / ".git" / "worktrees" / "nn"
        real.mkdir(parents=True)
        git.write_text(f"gitdir: {real}\n")
        (real / "HEAD").write_text("ref: refs/heads/master\n")
        (real / "commondir").write_text("../..\n")
        heads = tmp_path / "main" / ".git" / "refs" / "heads"
    elif how != "none":
        git.mkdir()
        (git / "HEAD").write_text("ref: refs/heads/master\n")
        heads = git / "refs" / "heads"
    if how in ("loose", "worktree"):
        heads.mkdir(parents=True)
        (heads / "master").write_text(f"{NN}\n")
    elif how == "packed":
        (git / "packed-refs").write_text(
            f"# pack-refs\n{'cd' * 20} refs/x\n{NN} refs/heads/master\n"
        )
    found = of(root)
    known = how in ("loose", "packed", "worktree")
    assert found.remark == ("" if known else "the commit of this checkout is not known")
    assert len(found.lines) == 3


# -- in the chain --------------------------------------------------------------


def test_text_and_html_show_the_lines_and_json_never_does(tmp_path, monkeypatch):
    chain = labkit.explain(plan_hardshrink_backward(T, T, 0.5, T))
    before = chain.to_json()
    assert "CheckNotNull(<T>" not in str(chain)
    checkout(tmp_path, numbered(260, line53="CheckNotNull(<T> & mine"), commit="ab" * 20)
    monkeypatch.setenv("LABKIT_OPS_NN", str(tmp_path))
    assert "   53 | CheckNotNull(<T> & mine" in str(chain)
    assert "this checkout is at abababab" in str(chain)
    assert "CheckNotNull(&lt;T&gt; &amp; mine" in chain._repr_html_()
    assert chain.to_json() == before
