"""Whether a figure of the lab is well laid out: texts, stamped numbers, cells."""

from matplotlib.collections import LineCollection, PolyCollection

from labkit.draw.stamp import Stamp


def laid_out(figure):
    """Every text and number inside the figure, and none on another."""
    wide, high = figure.bbox.size
    renderer = figure.canvas.get_renderer()
    placed = []
    letters = [c for c in figure.get_children() if isinstance(c, Stamp)]
    for text in [*figure.texts, *letters]:
        box = text.get_window_extent(renderer)
        if isinstance(text, Stamp):  # its own margins do not count
            box = type(box).from_extents(box.x0 + 3, box.y0 + 4, box.x1 - 3, box.y1 - 4)
        assert 6 < box.x0 and box.x1 < wide - 6 and 0 < box.y0 and box.y1 < high, text
        for other in placed:
            assert not box.overlaps(other), text
        middle, half = (box.y0 + box.y1) / 2, 0.4 * (box.y1 - box.y0)
        placed.append(type(box).from_extents(box.x0, middle - half, box.x1, middle + half))
    for collection in figure.get_children():
        if isinstance(collection, (PolyCollection, LineCollection)):
            for path in collection.get_paths():
                box = path.get_extents()
                assert 0 <= box.x0 and box.x1 <= 1 and 0 <= box.y0 and box.y1 <= 1
