"""The pipeline as a picture: the model's cycles, joined per tile, and who waits for whom."""

from labkit.draw.pipeline import opening, pipeline_alt_text, pipeline_figure, runs
from labkit.op import tile
from labkit.op.program import PIPES
from labkit.op.schedule import CostModel, schedule

SLOW = CostModel(vector_rate=16)


def texts(figure):
    return [text.get_text().replace("\u202f", "") for text in figure.texts]


def test_the_opening_is_the_beginning_of_the_whole_schedule():
    for op in ("hardshrink_grad", "hardshrink"):
        for core in (0, 3):
            whole = tile(100_000, "float32", op=op, cores=4, ub_bytes=60_000)
            full = schedule(whole, core, SLOW)
            first = schedule(opening(whole, core), core, SLOW)
            tiles = {span.step.tile for span in first.spans}
            assert tiles == {0, 1, 2, 3}
            assert first.spans == full.spans[: len(first.spans)]
            assert runs(first) == runs(full)


def test_joined_runs_keep_every_cycle_of_a_pipe():
    timed = schedule(opening(tile(10_000_000, "bfloat16")))
    for pipe in PIPES:
        assert sum(run.end - run.start for run in runs(timed) if run.pipe == pipe) == timed.busy(
            pipe
        )


def test_the_picture_says_model_and_how_much_is_not_drawn():
    cut = tile(10_000_000, "bfloat16")
    full = schedule(cut)
    shown = texts(pipeline_figure(full, cut))
    assert "model cycles" in shown and any(text.startswith("model, cycles:") for text in shown)
    assert (
        f"13826 cycles (model) to here; 8 more tiles of this core not drawn, {full.cycles}"
        in next(text for text in shown if "to here" in text)
    )
    assert {"tile 0", "tile 1", "tile 2", "tile 3"} <= set(shown) and "tile 4" not in shown
    alt = pipeline_alt_text(full, cut)
    assert "MTE2 copies in (model cycles): tile 0 from 0 to 2774, tile 1 from 2774" in alt
    assert "V: Cast, Cast, Abs, Compares, Duplicate, Select, Cast" in alt


def test_a_pipe_held_back_by_a_later_one_is_the_surprise():
    cut = tile(2**24, "float32")
    timed = schedule(opening(cut, 3), 3, SLOW)
    back = [run for run in runs(timed) if run.pipe == "MTE2" and run.blocked]
    assert [(run.tile, run.blocked[0]) for run in back] == [(2, "V"), (3, "V")]
    assert "MTE2 holds tile 2 back until V is through with tile 0" in pipeline_alt_text(
        timed, cut, core=3
    )


def test_constants_one_tile_and_a_core_without_work():
    forward = tile(2**40, "float16", op="hardshrink")
    timed = schedule(opening(forward))
    assert [run.steps for run in runs(timed) if run.tile is None] == [("Duplicate", "Duplicate")]
    assert "1463857 more tiles" in pipeline_alt_text(timed, forward)
    one = tile(1, "float16")
    assert "the whole core: 1287 cycles (model)" in texts(pipeline_figure(schedule(one), one))
    idle = tile(100, "float32")
    assert "core 71 has no element: its pipes do nothing" in texts(
        pipeline_figure(schedule(idle, 71), idle, core=71)
    )
