"""Several devices, streams and processes, and many kernels: told apart, quick, and readable."""

import dataclasses
import json
import random
import time

import pytest

import labkit
from labkit.cli import main
from labkit.draw.observed import observed_alt_text, observed_figure
from labkit.observe import ObservedDifference, calls, compare, observe_log, read_log, read_profile
from labkit.observe.align import align, align_finely
from labkit.observe.comparison import MOST
from labkit.observe.pictures import comparison_picture, comparison_view
from labkit.observe.plog import LogError, parse
from labkit.observe.samples import log_sample, write_log_sample, write_sample
from labkit.op import TensorDesc, plan_hardshrink_backward

MIXED = plan_hardshrink_backward(
    TensorDesc("float16", (4, 1)),
    TensorDesc("float32", (1, 4)),
    0.5,
    TensorDesc("float32", (4, 4)),
)
CALL = ["--grad", "float16:4,1", "--self", "float32:1,4", "--out", "float32:4,4"]


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """What was seen of one call."""
    folder = tmp_path_factory.mktemp("profile")
    write_sample(folder, MIXED)
    return read_profile(folder)


def placed(one, *places, times=1):
    """The same call on several devices and streams, its kernels interleaved."""
    kernels = [
        dataclasses.replace(kernel, device=device, stream=stream)
        for kernel in one.kernels * times
        for device, stream in places
    ]
    return dataclasses.replace(one, kernels=tuple(kernels))


def written(folder, one, *places, times=1):
    """The file of such a profile."""
    place = write_sample(folder, MIXED)
    (file,) = place.glob("op_summary_*.csv")
    head, *lines = file.read_text().splitlines()
    rows = []
    for line in lines * times:
        cells = line.split(",", 4)
        rows += [",".join([str(d), *cells[1:3], str(s), cells[4]]) for d, s in places]
    file.write_text("\n".join([head, *rows]) + "\n")
    return str(file)


# -- devices and streams ----------------------------------------------------------------------

DEVICES = ((0, 1), (1, 1))
STREAMS = ((0, 1), (0, 2))


@pytest.mark.parametrize("places", [DEVICES, STREAMS])
@pytest.mark.parametrize(("times", "counted"), [(1, 1), (2, 2), (1, 2), (2, 4)])
def test_each_device_and_stream_is_compared_on_its_own(one, places, times, counted):
    """`calls` is of each pair, or of all where together they hold just so many whole calls."""
    compared = compare(MIXED, placed(one, *places, times=times), calls=counted)
    assert compared.require().agrees
    assert any("2 pairs of device and stream" in note for note in compared.notes)
    assert len(compared.by_kernel()) == 8 * times


def test_calls_that_neither_way_fit_are_a_difference(one):
    seen = placed(one, *DEVICES, times=2)
    for counted in (1, 3):
        compared = compare(MIXED, seen, calls=counted)
        assert not compared.agrees
    assert compared.told().count("compare with calls=2") == 1  # the same for both
    uneven = dataclasses.replace(seen, kernels=seen.kernels[:-1])
    assert {x.where for x in compare(MIXED, uneven, calls=2).differences} == {"device 1, stream 1"}
    assert not compare(MIXED, uneven, calls=4).agrees


def test_a_difference_is_told_with_its_device_and_stream(one):
    seen = placed(one, *DEVICES)
    kernels = [k for k in seen.kernels if (k.device, k.op_type) != (1, "Cast")]
    compared = compare(MIXED, dataclasses.replace(seen, kernels=tuple(kernels)))
    assert [(x.where, x.kernel, x.verdict) for x in compared.differences] == [
        ("device 1, stream 1", "3 Cast", "missing")
    ]
    told = "device 1, stream 1: 3 Cast, kernel: predicted runs, observed -"
    with pytest.raises(ObservedDifference, match=told):
        compared.require()
    assert "device 0, stream 1  3  Cast            Cast" in compared.kernels()
    assert "device 1, stream 1: 4 kernels: 3 the same, 0 differ, 1 missing" in compared.counts()
    alt = observed_alt_text(
        comparison_view(MIXED, dataclasses.replace(seen, kernels=tuple(kernels)))
    )
    assert "On device 1, stream 1: 1 BroadcastTo" in alt


def test_one_device_or_stream_can_be_chosen(one):
    seen = placed(one, (0, 1), (0, 2), (3, 2))
    broken = [dataclasses.replace(k, block_dim=8) if k.device == 3 else k for k in seen.kernels]
    seen = dataclasses.replace(seen, kernels=tuple(broken))
    assert not compare(MIXED, seen).agrees
    assert compare(MIXED, seen, device=0).agrees and compare(MIXED, seen, stream=1).agrees
    assert not compare(MIXED, seen, stream=2).agrees
    assert not compare(MIXED, seen, device=3, stream=2).agrees
    assert "none differs" in comparison_picture(MIXED, seen, device=0).alt
    for wrong, told in (
        ({"device": 7}, "no kernel ran on device 7; right would be one of 0, 3"),
        ({"device": 3, "stream": 1}, "no kernel ran on stream 1; right would be one of 2"),
        ({"stream": -1}, "no kernel ran on stream -1"),
        ({"stream": 10**5000}, "no kernel ran on stream very large"),
    ):
        with pytest.raises(labkit.LabValueError, match=told):
            compare(MIXED, seen, **wrong)
    untold = [dataclasses.replace(k, device=None) for k in one.kernels]
    with pytest.raises(labkit.LabValueError, match="does not tell on which device"):
        compare(MIXED, dataclasses.replace(one, kernels=tuple(untold)), device=0)


def test_a_kernel_whose_place_is_not_told_belongs_to_the_only_one_there_is(one):
    last = dataclasses.replace(one.kernels[-1], stream=None)
    assert compare(MIXED, dataclasses.replace(one, kernels=(*one.kernels[:-1], last))).agrees
    two = placed(one, *STREAMS)
    mixed = dataclasses.replace(two, kernels=(*two.kernels, last))
    assert {x.where for x in compare(MIXED, mixed).differences} == {"device 0"}


@pytest.mark.parametrize("places", [DEVICES, STREAMS])
def test_the_command_tells_places_apart(tmp_path, capsys, one, places):
    file = written(tmp_path, one, *places)
    for more in ([], ["--calls", "2"], ["--device", "0"], ["--stream", "1"]):
        assert main(["observe", file, *CALL, *more]) == 0, more
        assert "nothing differs" in capsys.readouterr().out
    assert main(["observe", file, *CALL, "--soc", "Ascend950PR_950z", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    wrong = {line["where"] for line in told["lines"] if line["verdict"] == "differs"}
    assert wrong == {f"device {device}, stream {stream}" for device, stream in places}
    assert main(["observe", file, *CALL, "--device", "9"]) == 1
    assert "right would be one of" in capsys.readouterr().err


@pytest.mark.parametrize("count", [10**9, 10**30, 10**5000], ids=["9", "30", "5000"])
def test_more_calls_than_can_be_are_refused(one, count):
    with pytest.raises(labkit.LabValueError, match="more than 2000000 kernels"):
        compare(MIXED, one, calls=count)
    with pytest.raises(labkit.LabValueError, match="at least 1"):
        compare(MIXED, one, calls=-count)


# -- many kernels -----------------------------------------------------------------------------

MANY = 20_000
CHANGES = {
    "nothing": lambda place, kernel: kernel,
    "a third": lambda place, kernel: other(kernel) if place % 3 == 0 else kernel,
    "all of one type": lambda place, kernel: other(kernel),
    "all of their own": lambda place, kernel: dataclasses.replace(kernel, op_type=f"T{place}"),
    "all block dims": lambda place, kernel: dataclasses.replace(kernel, block_dim=place + 100),
    "all streams": lambda place, kernel: dataclasses.replace(kernel, stream=place // 4),
}


def other(kernel):
    return dataclasses.replace(kernel, op_type="Add")


def changed(one, how):
    kernels = [CHANGES[how](place, k) for place, k in enumerate(one.kernels * (MANY // 4))]
    return dataclasses.replace(one, kernels=tuple(kernels))


@pytest.mark.parametrize("how", CHANGES)
def test_many_kernels_are_compared_in_seconds_and_told_in_few_lines(one, how):
    begun = time.perf_counter()
    compared = compare(MIXED, changed(one, how), calls=MANY // 4)
    told = [compared.kernels(MOST), compared.fields(MOST), compared.told(MOST), compared.counts()]
    assert time.perf_counter() - begun < 15  # a second on a quiet machine; it was minutes
    assert all(len(text.splitlines()) < 8 * MOST for text in [*told, repr(compared)])
    assert compared.agrees is (how in ("nothing", "all streams"))


def test_a_third_that_differs_is_counted_and_no_more(one):
    compared = compare(MIXED, changed(one, "a third"), calls=MANY // 4)
    third = len(range(0, MANY, 3))
    told = (
        f"{MANY + third} kernels: {MANY - third} the same, 0 differ, {third} missing, {third} extra"
    )
    assert compared.counts() == told
    with pytest.raises(ObservedDifference) as error:
        compared.require()
    assert f"... {2 * third - MOST} more differences" in str(error.value)
    assert len(compared.told().splitlines()) > third


def test_an_order_turned_round_is_compared_in_seconds(one):
    kernels = [one.kernels[3 - place % 4] for place in range(MANY)]
    begun = time.perf_counter()
    compared = compare(MIXED, dataclasses.replace(one, kernels=tuple(kernels)), calls=MANY // 4)
    assert time.perf_counter() - begun < 15 and not compared.agrees


def test_the_command_prints_the_first_and_counts_the_rest_unless_all_is_asked_for(
    tmp_path, capsys, one
):
    file = written(tmp_path, one, (0, 1), times=30)
    asked = ["observe", file, *CALL[:1], "float32:4,1", *CALL[2:], "--calls", "30"]
    assert main(asked) == 1
    told = capsys.readouterr().out
    assert "120 kernels: 60 the same, 30 differ, 0 missing, 30 extra" in told
    assert "... 100 more kernels" in told and "... 70 more differences" in told
    assert "--all prints all of them" in told and len(told.splitlines()) < 80
    assert main([*asked, "--all"]) == 1
    told = capsys.readouterr().out
    assert "... " not in told and told.count("extra") == 30 + 1
    assert main([*asked, "--fields", "--all"]) == 1
    assert len(capsys.readouterr().out.splitlines()) > 600


def test_the_picture_has_room_for_large_numbers_and_many_places(one):
    kernels = [*(one.kernels * 5000)[:-1], dataclasses.replace(one.kernels[3], block_dim=8)]
    view = comparison_view(MIXED, dataclasses.replace(one, kernels=tuple(kernels)), calls=5000)
    figure = observed_figure(view)
    figure.canvas.draw()
    first = {text.get_text(): text for text in reversed(figure.texts)}  # those of the left side
    number = first["20000"].get_window_extent()
    name = first["HardShrinkGrad"].get_window_extent()
    assert number.x1 < name.x0 and number.x0 > 20
    assert "19988 more kernels, not told here." in observed_alt_text(view)
    many = placed(one, *((device, stream) for device in range(8) for stream in range(8)))
    figure = observed_figure(comparison_view(MIXED, many))
    words = [text.get_text() for text in figure.texts]
    assert "device 0, stream 2" in words and f"{64 * 4 - 12} more kernels, not drawn" in words


@pytest.mark.parametrize("letters", ["ab", "abc", "abcdefgh"])
def test_no_more_can_stand_side_by_side_than_do(letters):
    draw = random.Random(letters)
    for _try in range(300):
        left, right = ("".join(draw.choices(letters, k=draw.randrange(12))) for _side in "ab")
        pairs = align(left, right)
        assert [a for a, _b in pairs if a is not None] == list(range(len(left)))
        assert [b for _a, b in pairs if b is not None] == list(range(len(right)))
        beside = [(a, b) for a, b in pairs if a is not None and b is not None]
        assert all(left[a] == right[b] for a, b in beside)
        assert len(beside) == most_in_common(left, right)


def most_in_common(left, right):
    row = [0] * (len(right) + 1)
    for a in left:
        last = row
        row = [0]
        for place, b in enumerate(right):
            row.append(last[place] + 1 if a == b else max(row[-1], last[place + 1]))
    return row[-1]


def test_what_is_alike_stands_together_before_what_has_one_name():
    fine = ([1, 2, 3], [2, 3])
    assert align_finely(fine, "BBC", "BC") == [(0, None), (1, 0), (2, 1)]
    assert align_finely(([1, 2, 3], [1, 3]), "BBC", "BC") == [(0, 0), (1, None), (2, 1)]
    assert align_finely(([1, 2, 3], [-1, -1]), "BBC", "BC") == align("BBC", "BC")


# -- logs -------------------------------------------------------------------------------------


def later(lines, hours):
    return [line.replace("-00:00:", f"-{hours:02}:00:", 1) for line in lines]


def logs(tmp_path, **files):
    folder = tmp_path / "debug" / "plog"
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        (folder / f"plog-{name}.log").write_text("\n".join(lines) + "\n")
    return read_log(tmp_path)


LOG = list(log_sample(MIXED))
TWICE = list(log_sample(MIXED, MIXED))


@pytest.mark.parametrize("hours", [0, 1])
def test_two_containers_of_one_pid_are_two_processes(tmp_path, hours):
    """At the same time, or one after the other: both begin their first call."""
    found = calls(logs(tmp_path, **{"1_A": LOG, "1_B": later(LOG, hours)}))
    assert len(found) == 2 and len({call.log for call in found}) == 2
    for call in found:
        assert compare(MIXED, observe_log(call)).require().agrees


def test_files_that_overlap_are_of_two_processes_whatever_their_calls(tmp_path):
    second = list(log_sample(MIXED, first=7))
    a = [*LOG[:-1], LOG[-1].replace("-00:00:", "-03:00:", 1)]
    b = [later(second, 1)[0], *later(second, 2)[1:]]
    lines = logs(tmp_path, **{"1_A": a, "1_B": b})
    assert len({line.log for line in lines}) == 2


@pytest.mark.parametrize("cut", range(1, len(TWICE)))
def test_a_log_that_was_rotated_is_one_process(tmp_path, cut):
    lines = logs(tmp_path, **{"1_A": TWICE[:cut], "1_B": TWICE[cut:]})
    found = calls(lines)
    assert len({line.log for line in lines}) == 1 and len(found) == 2
    assert all(call.launches == tuple(x.op_type for x in MIXED.launches) for call in found)


def test_rotated_logs_of_two_containers_are_two(tmp_path):
    other = later(TWICE, 1)
    files = {"1_A": TWICE[:6], "1_B": TWICE[6:], "1_C": other[:9], "1_D": other[9:]}
    assert [len(call.launches) for call in calls(logs(tmp_path, **files))] == [4] * 4


def test_without_the_lines_that_begin_a_call_its_first_launch_tells(tmp_path):
    quiet = [line for line in LOG if "Entering" not in line]
    assert len(calls(logs(tmp_path, **{"1_A": quiet, "1_B": later(quiet, 1)}))) == 2


def test_a_log_of_one_file_with_two_processes_one_after_the_other_has_two_calls(tmp_path):
    assert len(calls(parse([*LOG, *later(LOG, 1)]))) == 2


def test_processes_of_other_folders_or_names_are_apart_and_debug_and_run_are_not(tmp_path):
    for root in ("a", "b"):
        write_log_sample(tmp_path / root, MIXED)
    assert len(calls(read_log(tmp_path))) == 2
    run = tmp_path / "a" / "run" / "plog"
    run.mkdir(parents=True)
    event = LOG[0].replace("OP(", "RUNTIME(").replace("OpName", "Name")
    (run / "plog-1_5.log").write_text(event + "\n")
    assert len({line.log for line in read_log(tmp_path / "a")}) == 1
    named = [line.replace("(1,python3)", "(1,trainer)") for line in LOG]
    assert len(calls(logs(tmp_path / "c", **{"1_A": LOG[:5], "1_B": named[5:]}))) == 2


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gbk", "utf-8"])
def test_a_log_in_another_encoding_is_read_from_its_first_line_on(tmp_path, encoding):
    file = tmp_path / "plog-1_1.log"
    text = "\n".join([LOG[0].replace("Entering", "进入函数 Entering"), *LOG[1:]])
    file.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    (call,) = calls(read_log(file))
    assert len(call.lines) == len(LOG) and not call.lines[0].text.endswith("\r")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda raw: raw.replace(b"[op_executor.cpp:0]", b"[f:" + b"9" * 5000 + b"]", 1), "line 4"),
        (lambda raw: raw.replace(b"OP(1,", b"OP(" + b"9" * 5000 + b",", 1), "line 1"),
        (lambda raw: raw.replace(b"Backward_1]", b"Backward_" + b"9" * 5000 + b"]", 1), "line 1"),
        (lambda raw: raw.replace(b"OpName", b"errno[" + b"9" * 5000 + b"] OpName", 1), "line 1"),
        (lambda raw: raw.replace(b"\n", b"\n\0\0", 1), "line 2 has zero bytes"),
        (lambda raw: raw[: raw.rfind(b"[INFO]") + 30], "is cut off or damaged"),
        (lambda raw: raw.replace(b"Leaving", b"\xff\xfe\xfa", 1), "line 2 is not UTF-8"),
        (lambda raw: b"\x1f\x8b" + raw, "gunzip"),
    ],
)
def test_a_damaged_log_is_refused_in_words(tmp_path, change, told):
    file = tmp_path / "plog-1_1.log"
    file.write_bytes(change("\n".join(LOG).encode()))
    with pytest.raises(LogError, match=told) as error:
        read_log(file)
    assert "plog-1_1.log" in str(error.value) and len(str(error.value)) < 500


def test_huge_numbers_that_are_read_late_are_words_too():
    (call,) = calls(
        parse([line.replace("numBlocks: 16", "numBlocks: " + "9" * 5000) for line in LOG])
    )
    with pytest.raises(LogError, match="a number of 5000 digits"):
        observe_log(call)


def test_paths_that_are_no_logs_are_told(tmp_path):
    (tmp_path / "plog-1_1.log").mkdir()
    with pytest.raises(LogError, match="Is a directory"):
        read_log(tmp_path)
    for path in ("a\0b", "x" * 5000, tmp_path / "none"):
        with pytest.raises(LogError):
            read_log(path)


def test_long_lines_take_no_longer_than_they_are_long():
    begun = time.perf_counter()
    for text in ("1" * 300_000, "OpName:[a" + "_1" * 100_000, "[NNOP][" * 50_000, "a\n" * 100_000):
        list(parse([LOG[0] + text, *text.split("\n")]))
    assert time.perf_counter() - begun < 20


def test_whatever_bytes_a_log_has_it_is_read_or_refused_in_words(tmp_path):
    draw = random.Random(12)
    stored = "\n".join(TWICE).encode()
    pieces = [b"\0", b"\n", b"[INFO] OP(", b"9" * 5000, b"\xff", b"OpName:[", b"errno[", b"]", b"_"]
    file = tmp_path / "plog-1_1.log"
    refused = 0
    for _try in range(800):
        begin = draw.randrange(len(stored))
        end = begin + draw.choice((0, 1, 30))
        part = draw.choice((b"", draw.choice(pieces), draw.randbytes(1), stored[begin:end] * 2))
        cut = stored[:begin] if draw.random() < 0.1 else stored[:begin] + part + stored[end:]
        file.write_bytes(cut)
        try:
            for call in calls(read_log(file)):
                compare(MIXED, observe_log(call)).told()
        except labkit.LabError as error:
            refused += 1
            assert str(error) and len(str(error)) < 1000
    assert 50 < refused < 800
