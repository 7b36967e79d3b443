"""`labkit explain`: what is printed, what is written, what is refused."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest

from labkit.cli import main
from labkit.errors import LabValueError
from labkit.explain import Chain
from labkit.explain.cli import tensor_desc
from labkit.op import TensorDesc

EXAMPLE = ["--grad", "float16:4,1", "--self", "float32:1,4", "--out", "float32:4,4"]


def explain(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(["explain", *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_example_shows_launches_in_order_and_the_workspace_bucket_by_bucket(capsys):
    code, out, _ = explain(capsys, *EXAMPLE, "--soc", "Ascend950PR_9599")
    assert code == 0
    assert (
        "launches BroadcastTo, BroadcastTo, Cast, HardShrinkGrad; workspace 16779264 bytes" in out
    )
    definition = out[out.index("operator definition") : out.index("kernel with tiling")]
    heads = [line.split()[1] for line in definition.splitlines() if line.startswith("  ▶")]
    assert heads == ["BroadcastTo", "BroadcastTo", "Cast", "HardShrinkGrad"]
    workspace = out[out.index("workspace: 16779264 bytes\n") :]
    assert [
        line.split(":")[1].split(",")[0]
        for line in workspace.splitlines()
        if "  bucket" in line[:8]
    ] == [
        " 16777728 bytes at 0",
        " 512 bytes at 16777728",
        " 512 bytes at 16778240",
        " 512 bytes at 16778752",
    ]
    assert workspace.count("new bucket: ") == 3


def test_without_arguments_the_documentations_two_by_two_is_explained(capsys):
    code, out, _ = explain(capsys)
    assert code == 0
    assert "gradOutput FLOAT [2, 2]" in out and "workspace 512 bytes" in out


def test_a_missing_output_is_what_the_inputs_give(capsys):
    code, out, _ = explain(capsys, "--grad", "float16:4,1", "--self", "bfloat16:1,4")
    assert code == 0 and "gradInput  FLOAT [4, 4]" in out
    code, out, _ = explain(capsys, "--grad", "float16:3", "--self", "float16:4")
    assert code == 1 and "stopped by CheckBroadcast: 161002" in out


def test_a_failing_call_is_explained_and_gives_1(capsys):
    code, out, _ = explain(capsys, "--grad", "none", "--self", "float32:4", "--out", "float32:4")
    assert code == 1
    assert "stopped by CheckNotNull: 161001 ACLNN_ERR_PARAM_NULLPTR" in out
    code, out, _ = explain(capsys, "--self", "float32:4", "--lambd", "null")
    assert code == 1 and "lambd is a null pointer" in out


def test_lambd_and_its_dtype_reach_the_plan(capsys):
    _, out, _ = explain(
        capsys, "--self", "float32:4", "--lambd", "2+1j", "--lambd-dtype", "complex64"
    )
    assert "COMPLEX64 gives float32 0.0 (0x00000000), as every complex λ does" in " ".join(
        out.split()
    )
    _, out, _ = explain(capsys, "--self", "float32:4", "--lambd", "-1", "--lambd-dtype", "int32")
    assert "INT32 gives float32 -1.0 (0xbf800000); negative, so 0 is used" in " ".join(out.split())


def test_the_forward_operator_and_another_chip(capsys):
    code, out, _ = explain(capsys, "--forward", "--self", "bfloat16:4", "--soc", "310b")
    assert code == 0 and out.startswith("aclnnHardshrink on Ascend310B")
    code, out, _ = explain(capsys, "--self", "bfloat16:4", "--soc", "310b")
    assert code == 1 and "stopped by CheckDtypeValid" in out


def test_json_is_a_chain(capsys):
    code, out, _ = explain(capsys, *EXAMPLE, "--json")
    assert code == 0
    loaded = json.loads(out)
    assert loaded["workspace"]["size"] == 16779264
    assert Chain.from_json(out).workspace_size == 16779264


def test_html_goes_to_a_file_or_to_the_terminal(capsys, tmp_path):
    page = tmp_path / "chain.html"
    code, out, err = explain(capsys, *EXAMPLE, "--html", str(page))
    assert (code, out) == (0, "") and str(page) in err
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    _, out, _ = explain(capsys, *EXAMPLE, "--html", "-")
    assert out.startswith("<!DOCTYPE html>")
    code, _, err = explain(capsys, *EXAMPLE, "--html", str(tmp_path / "no" / "x.html"))
    assert code == 1 and "cannot be written" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--self", "float32"], "right would be"),
        (["--self", "float32:4:1:0:4:9"], "right would be"),
        (["--self", "float32:a"], "whole numbers"),
        (["--self", "float32:-4"], "no negative sizes"),
        (["--self", "float32:4,4:1"], "strides"),
        (["--self", "float99:4"], "float99"),
        (["--lambd", "x"], "--lambd must be a number"),
        (["--lambd-dtype", "string"], "aclCreateScalar takes no"),
        (["--soc", "Ascend1"], "no chip named"),
        (["--forward", "--grad", "float32:4"], "no --grad"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_would_be_right(capsys, arguments, told):
    code, out, err = explain(capsys, *arguments)
    assert (code, out) == (1, "")
    assert told in err


@pytest.mark.parametrize(
    ("text", "desc"),
    [
        ("float16:4,1", TensorDesc("float16", (4, 1))),
        ("float16:4x1", TensorDesc("float16", (4, 1))),
        ("float32:", TensorDesc("float32", ())),
        ("float32:4,4:1,4", TensorDesc("float32", (4, 4), (1, 4))),
        ("float32:4:-1:3", TensorDesc("float32", (4,), (-1,), 3)),
        ("float32:4,4:8,1:2:4,8", TensorDesc("float32", (4, 4), (8, 1), 2, (4, 8))),
        ("float32:4::3:8", TensorDesc("float32", (4,), None, 3, (8,))),
        ("float32:::0:", TensorDesc("float32", (), None, 0, ())),
        ("None", None),
        ("null", None),
    ],
)
def test_a_descriptor_is_read_as_written(text, desc):
    assert tensor_desc("--self", text) == desc


def test_a_terminal_without_greek_letters_still_gets_its_text(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["explain"]) == 0
    sys.stdout.flush()
    assert b"HardShrinkGrad" in raw.getvalue()


def test_an_error_of_the_descriptor_is_a_value_error():
    with pytest.raises(LabValueError):
        tensor_desc("--self", "bogus")


@pytest.mark.parametrize("shape", ["4,x", "4,,1", "x4", ",", "4x", "4,1,,"])
def test_a_shape_with_a_number_missing_is_refused_and_not_guessed(shape, capsys):
    from labkit.cli import main

    assert main(["explain", "--grad", f"float32:{shape}", "--self", "float32:4"]) == 1
    assert "--grad" in capsys.readouterr().err
    assert main(["run", "--self", f"float32:{shape}", "--device", "sim"]) == 1
    assert "--self" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["explain", *EXAMPLE], ["doctor", "--device", "sim"]])
def test_a_reader_that_leaves_is_no_traceback(command):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as nobody:
        done = subprocess.run(
            [sys.executable, "-m", "labkit", *command],
            stdout=nobody,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr == ""
