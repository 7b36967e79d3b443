"""The map of the UB as a picture: buffers, pieces, what is kept back, what is too much."""

from dataclasses import replace

from labkit.draw.ub import ub_alt_text, ub_figure
from labkit.op import tile


def texts(figure):
    return [text.get_text().replace("\u202f", "") for text in figure.texts]


def test_every_buffer_has_its_row_its_pieces_and_its_bytes():
    cut = tile(10_000_000, "bfloat16")
    shown = texts(ub_figure(cut))
    for buffer in cut.buffers:
        assert buffer.name in shown
    assert shown.count("ping") == shown.count("pong") == 3
    for words in ("2 × 23680 = 47360 B", "1504 B", "used 238304 B", "15648 B free (6.2 %)"):
        assert words in shown
    assert "the tiling cuts for 237568 B" in shown and "UB ends at 253952 B" in shown
    alt = ub_alt_text(cut)
    assert "gradQueue: 2 pieces of 23680, 47360 bytes. " in alt and "mask: 1504 bytes." in alt
    assert alt.endswith(
        "Used 238304 of 253952 bytes; the tiling cuts for 237568. Free: 15648 bytes."
    )


def test_a_tile_that_does_not_fit_says_by_how_much():
    unfit = replace(tile(2**20, "float32"), ub_factor=16384)
    assert "141312 B too many" in texts(ub_figure(unfit))
    assert "It does not fit: 141312 bytes too many." in ub_alt_text(unfit)
    none = tile(5000, "float32", ub_bytes=15000)
    assert "no tile fits" in texts(ub_figure(none)) and "No tile fits." in ub_alt_text(none)


def test_one_element_and_none():
    one = texts(ub_figure(tile(1, "float16")))
    assert "used 800 B" in one and "ping" not in one
    assert "used 0 B" in texts(ub_figure(tile(0, "float32")))
