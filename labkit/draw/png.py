"""Figures as PNG: tightly packed where they are kept, quickly packed where they are shown once."""

from __future__ import annotations

import io
import zlib
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from labkit.draw.theme import DRAWING

__all__ = ["drawn", "quick_png", "to_png"]

Pixels = npt.NDArray[np.uint8]


def to_png(figure: Figure) -> bytes:
    """Draw a figure and return it as PNG, packed tightly: for pictures that are kept."""
    with DRAWING:
        stream = io.BytesIO()
        Image.fromarray(drawn(figure)).convert("RGB").save(stream, "png", optimize=True)
        return stream.getvalue()


def drawn(figure: Figure) -> Pixels:
    """Draw a figure and return its pixels: RGBA, uint8, height x width x 4."""
    with DRAWING:
        canvas: Any = figure.canvas
        if not isinstance(canvas, FigureCanvasAgg):
            canvas = FigureCanvasAgg(figure)
        canvas.draw()
        return np.array(canvas.buffer_rgba())


def quick_png(rgba: Any) -> bytes:
    """Pack RGBA pixels (uint8, height x width x 4) as an RGB PNG within a slider step.

    Packing is the longest part of a step, so two threads share it: each packs
    half of the rows, and the two pieces make one zlib stream.
    """
    pixels = np.asarray(rgba)
    height, width = pixels.shape[:2]
    rows = np.empty((height, 1 + 3 * width), np.uint8)
    rows[:, 0] = 0  # the row's filter: none
    for channel in range(3):
        rows[:, 1 + channel :: 3] = pixels[..., channel]
    half = height * 9 // 16  # this thread also sums up the check, so it packs a little less
    upper = _helper().submit(_deflate, rows[:half], zlib.Z_SYNC_FLUSH)
    lower = _deflate(rows[half:], zlib.Z_FINISH)
    check = zlib.adler32(rows.data).to_bytes(4, "big")
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    parts = [b"\x89PNG\r\n\x1a\n"]
    for kind, data in (
        (b"IHDR", size + bytes([8, 2, 0, 0, 0])),
        (b"IDAT", b"\x78\x01" + upper.result() + lower + check),
        (b"IEND", b""),
    ):
        parts += [len(data).to_bytes(4, "big"), kind, data]
        parts.append(zlib.crc32(kind + data).to_bytes(4, "big"))
    return b"".join(parts)


def _deflate(rows: Any, end: int) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
    return packer.compress(rows.data) + packer.flush(end)


@lru_cache(maxsize=1)
def _helper() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="labkit-png")
