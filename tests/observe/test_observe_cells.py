"""Cells and files as pandas, spreadsheets and other places write them: read as they are, or refused."""

import codecs
import gzip
import os
import random
import time

import pytest

import labkit
from labkit.cli import main
from labkit.observe import ProfileError, compare, read_profile
from labkit.observe.samples import VARIANTS, write_sample
from labkit.op import TensorDesc, plan_hardshrink_backward

PLAIN = plan_hardshrink_backward(
    *[TensorDesc("float32", (64, 64))] * 2, 0.5, TensorDesc("float32", (64, 64))
)
CALL = ["--grad", "float32:64,64", "--self", "float32:64,64"]
HEAD = ["Device_id", "Stream ID", "Op Name", "OP Type", "Task Type", "Task Start Time(us)"]
HEAD += ["Task Duration(us)", "Block Num", "Input Shapes", "Input Data Types"]
HEAD += ["Output Shapes", "Output Data Types"]
CELLS = ["0", "1", "aclnnHardshrinkBackward_HardShrinkGrad_HardShrinkGrad", "HardShrinkGrad"]
CELLS += ["AI_VECTOR_CORE", "1.5\t", "2.25", "72", "64,64;64,64", "FLOAT;FLOAT", "64,64", "FLOAT"]


def quoted(cell, separator=","):
    return '"' + cell.replace('"', '""') + '"' if separator in cell or '"' in cell else cell


def text(separator=",", rows=1, **changes):
    cells = [changes.get(name.split("(")[0].replace(" ", ""), c) for name, c in zip(HEAD, CELLS)]
    lines = [HEAD, *[cells] * rows]
    return "\n".join(separator.join(quoted(c, separator) for c in line) for line in lines) + "\n"


@pytest.fixture
def read(tmp_path):
    """Reads a file of this text or these bytes; the one kernel in it."""

    def made(content):
        raw = content.encode() if isinstance(content, str) else content
        (tmp_path / "op_summary_1.csv").write_bytes(raw)
        return read_profile(tmp_path)

    return made


# -- numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "blocks"),
    [
        *[("99.0", 99), ("99.", 99), ("1,099", 1099), ("1,234,567", 1234567), ("1.099E+3", 1099)],
        *[("9.9e1", 99), ("+99", 99), (" 99 ", 99), ("1 099", 1099), ("1\u202f099.0", 1099)],
        *[("0099", 99), ("N/A", None), ("", None), ("NaN", None), ("#N/A", None), ("0", None)],
        *[("0.0", None), ("<NA>", None), ("None", None), ("n/a\t", None)],
    ],
)
def test_a_count_is_read_as_the_number_that_it_is(read, cell, blocks):
    observed = read(text(BlockNum=cell))
    assert observed.kernels[0].block_dim == blocks
    assert compare(PLAIN, observed).agrees is (blocks is None)


@pytest.mark.parametrize("cell", ["72.0", "72.000", "7.2E+01", "72 ", "'72"[1:]])
def test_a_count_that_is_written_otherwise_is_the_same_count(read, cell):
    assert compare(PLAIN, read(text(BlockNum=cell))).agrees


@pytest.mark.parametrize(
    "cell",
    [
        *[
            "-1",
            "1.5",
            "1,09",
            "1,0999",
            ",99",
            "1,,099",
            "99%",
            "0x48",
            "9_9",
            "９９",
            "٩٩",
            "inf",
        ],
        *[
            "-inf",
            "1e999",
            "9" * 5000,
            "9" * 19,
            "72 cores",
            "1.2.3",
            "1,099,5",
            "--1",
            "+",
            "72;72",
        ],
        *["1e9999", "nan2", "?", "'72", "1e", "99.0.0", "-0.5"],
    ],
)
def test_a_count_that_is_none_is_refused_with_its_place(read, cell):
    with pytest.raises(ProfileError, match=r"op_summary_1\.csv, line 2, column Block Num") as told:
        read(text(BlockNum=cell))
    assert "right would be a whole number" in str(told.value) and len(str(told.value)) < 300


def test_the_line_is_that_of_the_file(read):
    lines = text(rows=3).splitlines()
    broken = "\n".join([*lines[:2], "", ",,,,,,,,,,,", lines[2].replace("72", "-1"), lines[3]])
    with pytest.raises(ProfileError, match="line 5, column Block Num, has '-1'"):
        read(broken)


@pytest.mark.parametrize(
    ("cell", "value"),
    [("1,234.5", 1234.5), ("1.2345E+03", 1234.5), (" 2.25\t", 2.25), ("N/A", None), (".5", 0.5)],
)
def test_a_duration_is_read_as_the_number_that_it_is(read, cell, value):
    observed = read(text(TaskDuration=cell))
    assert observed.kernels[0].duration == value
    assert "no times were taken: this is no measurement" not in observed.notes


@pytest.mark.parametrize("cell", ["2,5", "2.5us", "-3", "1e400", "9" * 5000, "12:30"])
def test_a_duration_that_is_none_is_refused(read, cell):
    with pytest.raises(ProfileError, match=r"line 2, column Task Duration\(us\), has"):
        read(text(TaskDuration=cell))


@pytest.mark.parametrize("name", ["Device_id", "Stream ID", "Task Start Time(us)"])
def test_every_number_is_held_to_it(read, name):
    broken = text(**{name.split("(")[0].replace(" ", ""): "one"})
    with pytest.raises(ProfileError, match=f"line 2, column {name.split('(')[0]}.*has 'one'"):
        read(broken)


def test_the_other_files_are_held_to_it_too(tmp_path, read):
    (tmp_path / "op_statistic_1.csv").write_text("OP Type,Count,Total Time(us)\nCast,1.5,3\n")
    with pytest.raises(
        ProfileError, match=r"op_statistic_1\.csv, line 2, column Count, has '1\.5'"
    ):
        read(text())
    (tmp_path / "op_statistic_1.csv").write_text(
        'OP Type,Count,Total Time(us)\nCast,2.0,"1,234.5"\n'
    )
    (statistic,) = read(text()).statistics
    assert (statistic.count, statistic.total) == (2, 1234.5)


# -- shapes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "shapes"),
    [
        ("4096.0", ((4096,),)),
        ("[4096]", ((4096,),)),
        ("4096;4096", ((4096,), (4096,))),
        ('"4,1"', ((4, 1),)),
        ('"4,1";"1,4"', ((4, 1), (1, 4))),
        ("[4, 1];[1, 4]", ((4, 1), (1, 4))),
        ("(4,);()", ((4,), ())),
        (" 4 , 1 ; ", ((4, 1), ())),
        ("0,2", ((0, 2),)),
        ('""', ((),)),
        ('";"', ((), ())),
        ("N/A", None),
        ("", None),
    ],
)
def test_a_shape_is_read_however_it_was_written(read, cell, shapes):
    assert read(text(InputShapes=cell)).kernels[0].input_shapes == shapes


@pytest.mark.parametrize(
    "cell",
    [
        *["-1", "4,-1", "4,,1", ",4", "4.5", "4x1", "1,099", "four", "9" * 5000, "4 1", "[4", "4]"],
        *["[[4,1],[1,4]]", "4;N/A", "4096,0.5", "1e3", "٤", "N/A;4", "?"],
    ],
)
def test_a_shape_that_is_none_is_refused(read, cell):
    with pytest.raises(ProfileError, match=r"line 2, column Input Shapes, has .*whole numbers"):
        read(text(InputShapes=cell))


def test_a_task_type_of_another_kind_is_a_difference(read):
    compared = compare(PLAIN, read(text(TaskType="COMMUNICATION")))
    assert [(x.field, x.observed) for x in compared.differences] == [("core", "COMMUNICATION")]
    assert compare(PLAIN, read(text(TaskType="ai vector core"))).agrees


# -- separators -------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_are_seen(read, separator):
    (kernel,) = read(text(separator).replace("1.5\t", "1.5")).kernels
    assert (kernel.block_dim, kernel.duration) == (72, 2.25)
    assert kernel.input_shapes == ((64, 64), (64, 64))


@pytest.mark.parametrize(
    ("duration", "blocks", "read_as"),
    [
        ("2,25", "72", (2.25, 72)),
        ("1.234,5", "72,0", (1234.5, 72)),
        ("1.234", "72.0", (1.234, 72)),  # the 72.0 shows that a point is the decimal sign
        ("2,25", "1.099", (2.25, 1099)),
        ("1,234.5", "72", (1234.5, 72)),
    ],
)
def test_the_file_decides_what_a_comma_is(read, duration, blocks, read_as):
    changes = {"TaskDuration": duration, "BlockNum": blocks, "TaskStartTime": "1"}
    (kernel,) = read(text(";", **changes)).kernels
    assert (kernel.duration, kernel.block_dim) == read_as


@pytest.mark.parametrize(("duration", "blocks"), [("2,25", "72.0"), ("2,25", "1,099")])
def test_a_file_that_fits_neither_way_is_refused(read, duration, blocks):
    with pytest.raises(ProfileError, match=r"line 2, column (Task Duration|Block Num)"):
        read(text(";", TaskDuration=duration, BlockNum=blocks, TaskStartTime="1"))


def test_a_spreadsheets_first_line_names_the_separator(read):
    (kernel,) = read("sep=;\r\n" + text(";").replace("\n", "\r\n")).kernels
    assert kernel.block_dim == 72


def test_columns_are_known_in_any_case_and_behind_a_pandas_index(read):
    content = text().replace("Block Num", " BLOCK_NUM ").replace("Input Shapes", "input shapes")
    content = "\n".join(
        f"{n or ''},{line}" if n != 1 else f"0,{line}"
        for n, line in enumerate(content.splitlines())
    )
    (kernel,) = read(content).kernels
    assert kernel.block_dim == 72 and kernel.input_shapes is not None


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (text().replace('"64,64"', "64,64"), "line 2, has 13 values for 12 columns.*in quotes"),
        (text()[:-20], "line 2, has 10 values for 12 columns: was the file cut off"),
        (text(rows=2).replace('"64,64",FLOAT\n', '"64,64,FLOAT\n', 1), "line 2, has a quote"),
        (text(rows=2).replace("FLOAT;FLOAT", '"FLOAT;FLOAT', 1), "line 2, has a quote"),
        (text().replace("Stream ID", "Block Num"), "has the column Block Num twice"),
        (text(OpName="x" * 200_000), "line 2, cannot be read as CSV: field larger"),
    ],
)
def test_a_file_that_was_cut_or_joined_is_refused(read, content, told):
    with pytest.raises(ProfileError, match=told):
        read(content)


# -- encodings and what is no text ------------------------------------------------------------

CHINESE = text(OpName="aclnnHardshrinkBackward_算子_HardShrinkGrad")


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (b"", "gbk"),
        (b"", "gb18030"),
    ],
)
def test_an_encoding_is_known_by_its_mark_or_a_clean_decode(read, mark, encoding):
    (kernel,) = read(mark + CHINESE.encode(encoding)).kernels
    assert "算子" in kernel.name and kernel.block_dim == 72


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (text(OpName="Größe_µs_é").encode("latin-1"), "line 2 is not UTF-8.*iconv -f ENCODING"),
        (text(OpName="naïve_été").encode("cp1252"), "line 2 is not UTF-8"),
        (CHINESE.encode("utf-16-le"), "line 1 has zero bytes.*UTF-16 without"),
        (codecs.BOM_UTF16_LE + CHINESE.encode("utf-16-le")[:-1], "says UTF-16, and it is not"),
        (text().encode().replace(b"72", b"7\x002"), "line 2 has zero bytes"),
        (text().encode() + codecs.BOM_UTF8 + text().encode(), "line 3 has a byte order mark"),
        (gzip.compress(text().encode()), "compressed.*gunzip"),
        (b"PK\x03\x04rest", "save the sheet as CSV"),
        (b"\xd0\xcf\x11\xe0rest", "save the sheet as CSV"),
        (b"SQLite format 3\0rest", "msprof --export=on"),
    ],
)
def test_what_is_no_text_is_refused_with_what_to_do(read, raw, told):
    with pytest.raises(ProfileError, match=rf"op_summary_1\.csv cannot be read as CSV.*{told}"):
        read(raw)


def test_paths_that_are_no_files_are_told(tmp_path):
    (tmp_path / "op_summary_1.csv").mkdir()
    with pytest.raises(ProfileError, match="cannot be read as CSV: Is a directory"):
        read_profile(tmp_path)
    for path in ("a\0b", "x" * 5000, tmp_path / "none.csv", os.devnull, ""):
        with pytest.raises(ProfileError) as told:
            read_profile(path)
        assert "\0" not in str(told.value) and len(str(told.value)) < 6000


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="root reads all")
def test_a_file_that_may_not_be_read_is_told(tmp_path):
    (tmp_path / "op_summary_1.csv").write_text(text())
    (tmp_path / "op_summary_1.csv").chmod(0)
    with pytest.raises(ProfileError, match="Permission denied"):
        read_profile(tmp_path)


# -- the command, and chance ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "code", "told"),
    [
        ("72", 0, "nothing differs"),
        ("72.0", 0, "nothing differs"),
        ("99.0", 1, "predicted 72, observed 99"),
        ("1,099", 1, "predicted 72, observed 1099"),
        ("-1", 1, "line 2, column Block Num, has '-1'"),
    ],
)
def test_the_command_ends_with_0_or_1(tmp_path, capsys, cell, code, told):
    file = tmp_path / "op_summary_1.csv"
    file.write_text(text(BlockNum=cell))
    assert main(["observe", str(file), *CALL]) == code
    said = capsys.readouterr()
    assert told in (said.err if cell == "-1" else said.out)


def test_a_refusal_is_told_in_chinese(read, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    with pytest.raises(ProfileError, match="第2行Block Num列是'-1'：应当是不小于0的整数"):
        read(text(BlockNum="-1"))


PIECES = [b"\0", b'"', b",", b";", b"\n", b"\r", b"\xff\xfe", codecs.BOM_UTF8, b"9" * 5000, b"-1"]
PIECES += [
    b"\t",
    b"\xb0\xa1",
    b"1.5",
    b"1e999",
    b"nan",
    b"[",
    b"\x85",
    b"\xe2\x80\xa8",
    b"{x}",
    b"%s",
]


def mutated(raw, draw):
    """The bytes with a few of them changed, cut, doubled or moved."""
    for _step in range(draw.randint(1, 5)):
        begin = draw.randrange(len(raw) + 1)
        end = min(len(raw), begin + draw.choice((0, 1, 8, 100)))
        part = draw.choice((b"", raw[begin:end] * 2, draw.choice(PIECES), draw.randbytes(1)))
        raw = raw[:begin] + part + raw[end:] if draw.random() < 0.9 else raw[:begin]
    return raw


@pytest.mark.parametrize("variant", VARIANTS)
def test_whatever_bytes_a_profile_has_it_is_read_or_refused_in_words(tmp_path, variant):
    place = write_sample(tmp_path / "sample", PLAIN, variant=variant)
    draw = random.Random(variant)
    stored = {file.name: file.read_bytes() for file in place.glob("*.csv")}
    refused = 0
    for _try in range(300):
        name = draw.choice(sorted(stored))
        (place / name).write_bytes(mutated(stored[name], draw))
        try:
            compare(PLAIN, read_profile(place)).told(20)
        except labkit.LabError as error:
            refused += 1
            assert str(error) and len(str(error)) < 1000
        (place / name).write_bytes(stored[name])
    assert 50 < refused < 300


def test_a_count_of_any_letters_is_never_taken_for_the_same(read):
    draw = random.Random(9)
    for _try in range(1500):
        cell = "".join(draw.choice("0127259.,-+eE '") for _letter in range(draw.randint(1, 6)))
        try:
            compared = compare(PLAIN, read(text(BlockNum=cell)))
        except ProfileError:
            continue
        plain = cell.strip().replace(",", "").replace(" ", "").replace("'", "")
        absent = plain in ("", "-", "--") or float(plain) == 0
        assert compared.agrees is (absent or float(plain) == 72), cell


def test_a_profile_of_many_rows_is_read_in_seconds(tmp_path):
    (tmp_path / "op_summary_1.csv").write_text(text(rows=50_000))
    begun = time.perf_counter()
    assert len(read_profile(tmp_path).kernels) == 50_000
    assert time.perf_counter() - begun < 15
