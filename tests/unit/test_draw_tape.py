"""The tape: which storage element each view element reads, and nothing drawn outside."""

import numpy as np
import pytest
from layout import laid_out
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex

import labkit
from labkit.draw.sheet import Sheet
from labkit.draw.tape import MOST, Tape, draw_tape, places, tape_alt_text, tape_figure, window
from labkit.draw.theme import LIGHT
from labkit.op import TensorDesc
from labkit.views import describe

X = np.arange(48, dtype=np.float32).reshape(6, 8)
VIEWS = {
    "whole": X,
    "rows": X[2:],
    "scalar": X[2, 3, ...],
    "transposed": X.T,
    "columns": X[:, 2:6],
    "reversed": X[::-1, ::-1],
    "stretched": np.broadcast_to(X[2], (6, 8)),
    "cube": X.reshape(2, 3, 8).transpose(2, 0, 1),
    "windows": np.lib.stride_tricks.sliding_window_view(X[0], 3),
}
DESCS = {
    **{name: describe(view) for name, view in VIEWS.items()},
    "empty": TensorDesc("float32", (0, 3)),
    "empty in much": TensorDesc("float32", (0,), None, 0, (100,)),
    "far": TensorDesc("float32", (3,), (1,), 1000, (2000,)),
    "at the end": TensorDesc("float32", (3,), (1,), 1997, (2000,)),
    "scattered": TensorDesc("float32", (40,), (50,), 7, (2000,)),
    "outside": TensorDesc("float32", (4,), (2,), 0, (6,)),
    "before": TensorDesc("float32", (4,), (1,), -2, (6,)),
    "narrow rows": TensorDesc("float32", (16, 2)),
    "rank 8": TensorDesc("float32", (1000000, 1, 2, 1, 2, 1, 2, 999999)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_places_are_where_numpy_reads(name):
    view = VIEWS[name]
    if name == "windows":
        want = [[i, i + 1, i + 2] for i in range(6)]
    else:
        want = view  # x holds its own storage indices
    assert places(DESCS[name], 99) == tuple(int(v) for v in np.ravel(want))


@pytest.mark.parametrize("name", DESCS)
def test_the_window_has_room_and_shows_where_the_view_begins(name):
    desc = DESCS[name]
    first, last = window(desc)
    assert last - first < MOST
    if not desc.is_empty:
        assert first <= places(desc, 1)[0] <= last
        assert (first <= 0) or places(desc, 1)[0] - first <= MOST


def boxes(figure):
    return [child for child in figure.get_children() if isinstance(child, PolyCollection)]


@pytest.mark.parametrize("name", DESCS)
def test_cells_are_coloured_by_whether_they_are_read(name):
    desc = DESCS[name]
    figure = tape_figure(desc)
    view, storage = boxes(figure)
    first, last = window(desc)
    assert len(storage.get_paths()) == last - first + 1
    assert len(view.get_paths()) == min(desc.size, MOST)
    seen = [to_hex(face) for face in storage.get_facecolors()]
    read = set(places(desc, 4096))
    want = [
        LIGHT.ground
        if not 0 <= place < desc.storage_size
        else LIGHT.passes
        if place in read
        else LIGHT.dead
        for place in range(first, last + 1)
    ]
    assert seen == want


def test_a_line_leads_from_each_element_to_the_cell_it_reads():
    figure = tape_figure(DESCS["transposed"])
    (lines,) = [c for c in figure.get_children() if isinstance(c, LineCollection)]
    view, storage = boxes(figure)
    cells = [path.get_extents() for path in storage.get_paths()]
    starts = [path.get_extents() for path in view.get_paths()]
    drawn = lines.get_segments()
    inside = [n for n, place in enumerate(places(DESCS["transposed"])) if place < MOST]
    assert len(drawn) == len(inside) + 1  # one line for all that leads past the ellipsis
    for segment in drawn:
        begins = [n for n, box in enumerate(starts) if abs(mid(box) - segment[0][0]) < 1e-6]
        ends = [n for n, box in enumerate(cells) if abs(mid(box) - segment[1][0]) < 1e-6]
        if ends:
            assert places(DESCS["transposed"])[begins[0]] == ends[0]


def mid(box):
    return (box.x0 + box.x1) / 2


@pytest.mark.parametrize("name", DESCS)
@pytest.mark.parametrize("expression", ["x", "np.lib.stride_tricks.as_strided(x, " + "1, " * 40])
def test_nothing_leaves_the_figure_and_no_two_texts_touch(name, expression):
    figure = tape_figure(DESCS[name], expression)
    laid_out(figure)


def test_the_words_tell_the_numbers_and_what_is_odd():
    told = tape_alt_text(DESCS["outside"], "y")
    assert "y: view shape [4] · strides [2] · offset 0 · storage shape [6]." in told
    assert "storage elements 0, 2, 4, 6." in told and "leaves its storage of 6" in told
    assert "It has no elements." in tape_alt_text(DESCS["empty"])
    assert "strides [−8, −1] · offset 47" in tape_alt_text(DESCS["reversed"])
    assert " and 36 more." in tape_alt_text(DESCS["whole"])


def test_a_tape_of_the_panel_says_what_it_costs():
    tape = Tape("self", DESCS["whole"], "x", "contiguous: no kernel", "check")
    sheet = Sheet(200, "dark")
    draw_tape(sheet, tape, 60)
    assert "contiguous: no kernel" in [text.get_text() for text in sheet.figure.texts]


def test_an_array_and_its_descriptor_give_the_same_picture():
    one = labkit.explore.tape(VIEWS["columns"], "x[:, 2:6]")
    other = labkit.explore.tape(DESCS["columns"], "x[:, 2:6]")
    assert one.png == other.png and repr(one) == repr(other)
    assert repr(one).startswith("Which memory does each element read? x[:, 2:6]: view shape")
