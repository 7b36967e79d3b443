"""`labkit bench`: what it measures, what it refuses, and the picture of the curve."""

import dataclasses
import io
import json
import sys

import numpy as np
import pytest

from labkit import bench, cli
from labkit.bench import curve, operator
from labkit.bench.table import Row, apart, in_turn, print_row
from labkit.draw import DARK, SpeedPoint, SpeedView, speed_alt_text, speed_figure, to_png
from labkit.draw.speed import DTYPES, size_text
from labkit.errors import LabError, LabValueError
from labkit.op import hardshrink_grad

SMALL = (1 << 12, 1 << 13)


def points(ratio=1.5, dtypes=DTYPES, sizes=curve.SIZES):
    return tuple(
        SpeedPoint(kind, dtype, size, 1e-6, ratio * 1e-6, (ratio, ratio, ratio * 1.1))
        for kind in ("arithmetic", "device")
        for dtype in dtypes
        for size in sizes
    )


def test_the_curve_has_every_dtype_and_size_with_the_arithmetic_and_the_device():
    found = list(curve.curve(SMALL, rounds=1, pause=0))
    assert [(p.kind, p.dtype, p.elements) for p in found] == [
        (kind, dtype, size)
        for dtype in DTYPES
        for size in SMALL
        for kind in ("arithmetic", "device")
    ]
    assert all(p.mine > 0 and p.theirs > 0 and p.ratio == p.theirs / p.mine for p in found)
    assert curve.SIZES[0] == 4096 and curve.SIZES[-1] == 64 << 20


@pytest.mark.parametrize("dtype", DTYPES)
def test_both_peers_compute_the_operators_bits(dtype, monkeypatch):
    grad, x = operator.inputs(dtype, 4099)
    right = hardshrink_grad(grad, x, 0.5)
    out = np.empty_like(x)
    curve._numpy_call(grad, x, out)()
    assert out.tobytes() == right.tobytes()
    torch = pytest.importorskip("torch")
    name, call = curve.peer()
    assert name == f"PyTorch ({torch.get_num_threads()} threads)"
    out[...] = 7
    call(grad, x, out)()
    assert out.tobytes() == right.tobytes()


def test_a_peer_with_other_bits_ends_the_measurement(monkeypatch):
    def wrong(grad, x, out):
        return lambda: out.fill(7)

    monkeypatch.setattr(curve, "peer", lambda: ("a wrong one", wrong))
    with pytest.raises(LabError, match="4096 float16: the peer's result has other bits"):
        list(curve.curve(SMALL, dtypes=("float16",), rounds=1, pause=0))


def test_without_pytorch_numpy_is_the_peer_and_nothing_is_to_be_reached(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    name, _ = curve.peer()
    assert name == "np.where"
    row = curve.row(points()[0], name)
    assert (row.reach, row.reached) == ("", None)


@pytest.mark.parametrize(
    ("elements", "ratio", "reach", "reached"),
    [
        (4096, 0.5, ">= 0.5", True),
        (16384, 0.49, ">= 0.5", False),
        (65536, 0.99, ">= 1.0", False),
        (65536, 1.0, ">= 1.0", True),
    ],
)
def test_what_is_to_be_reached_depends_on_the_size(elements, ratio, reach, reached):
    point = SpeedPoint("arithmetic", "float32", elements, 2e-6, ratio * 2e-6, (ratio,))
    row = curve.row(point, "PyTorch (2 threads)")
    assert (row.value, row.reach, row.reached) == (ratio, reach, reached)
    device = curve.row(dataclasses.replace(point, kind="device"), "PyTorch (2 threads)")
    assert device.reached is None and "software NPU" in device.what


def test_each_side_is_timed_by_its_own_calls():
    called = []
    turns = apart(
        lambda: called.append("a"), lambda: called.append("b"), calls=3, rounds=2, pause=0
    )
    assert "".join(called) == "ab" + "aaaabbbb" * 2
    assert len(turns.ratios) == 2 and min(turns.ratios) <= turns.ratio <= max(turns.ratios)


def test_in_turn_alternates(monkeypatch):
    monkeypatch.setattr("labkit.bench.table._PAUSE", 0)
    called = []
    in_turn(lambda: called.append("a"), lambda: called.append("b"), 2)
    assert "".join(called) == "ababab"


def test_a_whole_call_is_counted_in_copies(monkeypatch):
    monkeypatch.setattr("labkit.bench.table._PAUSE", 0)
    (row,) = operator.call_rows(1 << 20, 1)
    mine, copy = row.seconds
    assert row.value == mine / copy and row.reached == (mine <= 5 * copy)


def test_a_line_says_what_was_not_reached(capsys):
    print_row(Row("this", "that", 0.5, "x", ">= 1.0", False, "a note"))
    assert capsys.readouterr().out == (
        "  0.50 x    this, against that; reach >= 1.0  NOT reached\n            a note\n"
    )


def test_the_command_measures_one_part_as_json(capsys, monkeypatch):
    monkeypatch.setattr("labkit.bench.table._PAUSE", 0)
    assert cli.main(["bench", "memory", "--quick", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["what"] == "memory above inputs and output" and row["reached"] is True


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-16"])
def test_the_table_comes_through_a_stdout_that_is_not_utf_8(encoding, monkeypatch):
    monkeypatch.setattr(curve, "SIZES", SMALL)
    monkeypatch.setattr("labkit.bench.table._PAUSE", 0)
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    assert cli.main(["bench", "curve", "--quick"]) == 0
    sys.stdout.flush()
    lines = raw.getvalue().decode(encoding).splitlines()
    assert len(lines) == 2 * 2 * 2 * len(DTYPES) and "float32" in lines[0] and " over " in lines[1]


def test_the_command_draws_the_curve(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(curve, "SIZES", SMALL)
    monkeypatch.setattr("labkit.bench.table._PAUSE", 0)
    file = tmp_path / "speed.png"
    assert cli.main(["bench", "curve", "--quick", "--picture", str(file)]) == 0
    assert file.read_bytes().startswith(b"\x89PNG")
    assert len(capsys.readouterr().out.splitlines()) == 2 * 2 * 2 * len(DTYPES)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["speed"], "'speed' is nothing to measure; right would be curve, operator"),
        (["curve", "--picture", "speed.svg"], "right would be a file with the suffix .png"),
        (["curve", "--picture", "nowhere/speed.png"], "its folder is not there"),
        (["memory", "--picture", "speed.png"], "right would be: labkit bench curve"),
    ],
)
def test_what_cannot_be_measured_or_drawn_is_refused_before_anything_runs(
    words, told, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["bench", *words]) in (1, 2)
    out, err = capsys.readouterr()
    assert out == "" and told in err and err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("theme", ["light", DARK])
@pytest.mark.parametrize("ratio", [0.001, 0.9, 1.7, 900.0])
def test_the_picture_holds_whatever_was_measured(theme, ratio):
    view = SpeedView(points(ratio), "PyTorch (2 threads)", "numba", 2, ((4096, 0.5), (65536, 1.0)))
    assert to_png(speed_figure(view, theme)).startswith(b"\x89PNG")


def test_the_picture_of_one_point_and_of_none():
    one = points(sizes=(4096,), dtypes=("bfloat16",))[:1]
    assert speed_figure(SpeedView(one, "np.where", "NumPy", 1, ((4096, 0.5),)))
    with pytest.raises(LabValueError, match="no point"):
        speed_figure(SpeedView((), "np.where", "NumPy", 1, ()))


def test_the_alternative_text_names_every_point():
    words = speed_alt_text(SpeedView(points(), "PyTorch (2 threads)", "numba", 2, ()))
    assert words.startswith("How many times as fast as PyTorch (2 threads)? Measured on this")
    assert words.count("1.50 at 64 Ki") == 2 * len(DTYPES)
    assert "bfloat16, the arithmetic alone: 1.50 at 4 Ki," in words


@pytest.mark.parametrize(
    ("elements", "words"), [(4096, "4 Ki"), (64 << 20, "64 Mi"), (1025, "1025"), (1536, "1536")]
)
def test_a_size_is_said_in_whole_units(elements, words):
    assert size_text(elements) == words


def test_all_parts_are_measured_in_their_order(monkeypatch, capsys):
    asked = []

    def measures(elements, quick):
        return {part: lambda part=part: asked.append(part) or [] for part in bench.PARTS}

    monkeypatch.setattr(bench, "_measures", measures)
    monkeypatch.setattr(bench, "_curve", lambda *_: asked.append("curve") or [])
    assert bench.run() == 0
    assert tuple(asked) == bench.PARTS
