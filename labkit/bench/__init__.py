"""`labkit bench`: speed as ratios, side by side in one run, medians.

Absolute times depend on the machine; a ratio against a peer that runs beside
the lab survives a noisy one. What is timed on the software NPU is the host's
work, never an NPU's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from labkit.bench.table import Row, print_row
from labkit.errors import LabValueError

__all__ = ["PARTS", "Row", "run"]

PARTS = ("curve", "operator", "call", "memory", "small", "import", "slider")
"""What can be measured alone, in the order in which all of it is."""


def run(
    parts: Sequence[str] = (),
    *,
    quick: bool = False,
    as_json: bool = False,
    picture: str | None = None,
) -> int:
    """Measure `parts` (all by default) and print; 0 also when a figure is not reached.

    It is a report. `picture` is a PNG file for the curve, written when the
    curve is whole. Raises `LabValueError` for another kind of file, or for a
    picture of parts without the curve.
    """
    asked = tuple(parts) or PARTS
    for part in asked:
        if part not in PARTS:
            raise LabValueError(
                f"{part!r} is nothing to measure; right would be {', '.join(PARTS)}"
            )
    if picture is not None:
        _check_picture(picture, asked)
    rows = []
    for row in _rows(asked, quick, picture):
        rows.append(row)
        if not as_json:
            print_row(row)
    if as_json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    return 0


def _check_picture(picture: str, parts: Sequence[str]) -> None:
    path = Path(picture)
    if path.suffix.lower() != ".png":
        raise LabValueError(f"--picture is {picture!r}; right would be a file with the suffix .png")
    if not path.absolute().parent.is_dir():
        raise LabValueError(f"--picture is {picture!r}, and its folder is not there")
    if "curve" not in parts:
        raise LabValueError("--picture shows the curve; right would be: labkit bench curve")


def _rows(parts: Sequence[str], quick: bool, picture: str | None) -> Iterable[Row]:
    elements = (1 if quick else 16) * 1024 * 1024
    for part in PARTS:
        if part not in parts:
            continue
        if part == "curve":
            yield from _curve(quick, picture)
        else:
            yield from _measures(elements, quick)[part]()


def _measures(elements: int, quick: bool) -> dict[str, Callable[[], Iterable[Row]]]:
    from labkit.bench import operator, small

    rounds = 5 if quick else 9
    return {
        "operator": lambda: operator.operator_rows(elements, rounds),
        "call": lambda: operator.call_rows(elements, rounds),
        "memory": lambda: operator.memory_rows(elements),
        "small": lambda: small.small_call_rows(quick),
        "import": lambda: [small.import_row(5 if quick else 11)],
        "slider": small.slider_rows,
    }


def _curve(quick: bool, picture: str | None) -> Iterable[Row]:
    from labkit.bench import curve
    from labkit.draw import speed_figure, to_png

    against, _ = curve.peer()
    sizes = [size for size in curve.SIZES if size <= 1 << 20] if quick else curve.SIZES
    points = []
    for point in curve.curve(sizes, rounds=1 if quick else 3):
        points.append(point)
        yield curve.row(point, against)
    if picture is not None:
        Path(picture).write_bytes(to_png(speed_figure(curve.view(points, against))))
