"""The kernel layer: the tiling of the operator's own kernel, and what a core does with a tile.

Only the arch35 kernels are public. For other chips the layer says so and shows
no numbers.
"""

from __future__ import annotations

from dataclasses import replace

from labkit.explain.chain import ChainStep
from labkit.explain.conditions import main_launch, tiling_of
from labkit.explain.maker import Maker
from labkit.explain.words import listed, named_number
from labkit.language import Text
from labkit.op.numerics import lambd_as_compared
from labkit.op.program import MTE2, MTE3, Instruction, V, program
from labkit.op.tiling import FORWARD, Tiling

__all__ = ["kernel_steps"]


def kernel_steps(maker: Maker) -> tuple[ChainStep, ...]:
    """Tiling, Init, CopyIn, Compute and CopyOut of HardShrinkGrad or HardShrink."""
    launch = main_launch(maker.plan)
    if launch is None:
        return ()
    if not maker.plan.soc.is_regbase:
        why = Text(
            "kernel not public for {chip}; same mathematics assumed", chip=maker.plan.soc.short
        )
        return (maker.step("kernel", "Kernel", "assumed", why),)
    tiling = tiling_of(maker.plan)
    if tiling is None or not tiling.fits:
        why = Text(
            "{chip} leaves this kernel no tile that fits in its UB", chip=maker.plan.soc.name
        )
        return (maker.step("kernel", "Tiling", "stopped", why),)
    tiles = -(-tiling.core_length(0) // tiling.ub_factor)
    valid = min(tiling.core_length(0), tiling.ub_factor)
    one_tile = replace(tiling, total_num=valid, block_factor=valid, block_dim=1)
    steps = program(one_tile, 0)
    first = next(place for place, step in enumerate(steps) if step.pipe == MTE2)
    copied_in = [step for step in steps if step.pipe == MTE2]
    computed = [step for step in steps[first:] if step.pipe == V]
    copied_out = [step for step in steps if step.pipe == MTE3]
    of_tiles = Text("core 0, tile 1 of {tiles}", tiles=tiles)
    return (
        _tiling_step(maker, tiling, tiles),
        maker.step(
            "kernel",
            "Init",
            "known",
            Text(
                "{buffers}, {used} bytes of UB",
                buffers=named_number(len(tiling.buffers), "buffer"),
                used=tiling.ub_used,
            ),
            items=(*_buffers(tiling), *(_line(step) for step in steps[:first])),
        ),
        maker.step(
            "kernel",
            "CopyIn",
            "known",
            _copied(of_tiles, copied_in),
            items=tuple(_line(step) for step in copied_in),
        ),
        maker.step(
            "kernel",
            "Compute",
            "known",
            _compute_why(tiling, computed, of_tiles),
            items=tuple(_line(step) for step in computed),
        ),
        maker.step(
            "kernel",
            "CopyOut",
            "known",
            _copied(of_tiles, copied_out),
            items=tuple(_line(step) for step in copied_out),
        ),
    )


def _copied(of_tiles: Text, steps: list[Instruction]) -> Text:
    return Text("{tile}: {n} bytes", tile=of_tiles, n=sum(step.nbytes for step in steps))


def _tiling_step(maker: Maker, tiling: Tiling, tiles: int) -> ChainStep:
    last = tiling.core_length(tiling.block_dim - 1)
    share = named_number(tiling.block_factor, "element")
    pieces = Text("one piece")
    if tiling.double_buffer:
        pieces = Text("two pieces per queue (double buffer)")
    total = Text("{n} elements of {dtype}", n=tiling.total_num, dtype=tiling.dtype.short)
    cores = named_number(tiling.cores, "vector core")
    used = Text("{used} of {all} bytes", used=tiling.ub_used, all=tiling.ub_bytes)
    facts = (
        ("totalNum", total),
        ("blockDim", Text("{n} of {cores}", n=tiling.block_dim, cores=cores)),
        ("blockFactor", Text("{share} per core, {last} on the last", share=share, last=last)),
        ("ubFactor", Text("{n} elements per tile", n=tiling.ub_factor)),
        (Text("tiles"), Text("{n} per core", n=tiles)),
        ("tilingKey", str(tiling.tiling_key)),
        (Text("buffers"), pieces),
        ("lambd", str(tiling.lambd)),
        (Text("UB used"), used),
        ("workspace", Text("{n} bytes", n=0)),
    )
    why = Text(
        "{cores} x {share}, tiles of {tile}, key {key}",
        cores=named_number(tiling.block_dim, "core"),
        share=share,
        tile=tiling.ub_factor,
        key=tiling.tiling_key,
    )
    return maker.step("kernel", "Tiling", "known", why, facts=facts)


def _buffers(tiling: Tiling) -> list[Text]:
    return [
        Text("{name}: {count} x {size} bytes", name=b.name, count=b.count, size=b.size)
        for b in tiling.buffers
    ]


def _compute_why(tiling: Tiling, computed: list[Instruction], of_tiles: str) -> str:
    compare = next(step for step in computed if step.name.startswith("Compare"))
    limit = lambd_as_compared(tiling.dtype, tiling.lambd, op=tiling.op)
    lanes = named_number(compare.lanes, "lane")
    bound = repr(limit)
    if tiling.op != FORWARD and limit != float(tiling.lambd) and limit == limit:
        bound = Text("{value} (λ rounded to float16)", value=bound)
    return Text(
        "{tile}: |x| <= {bound}, {lanes} computed for {valid} valid",
        tile=of_tiles,
        bound=bound,
        lanes=lanes,
        valid=compare.valid,
    )


def _line(step: Instruction) -> str:
    """One instruction as a line of text."""
    if step.pipe == MTE2:
        size = Text("{n} bytes", n=step.nbytes)
        return _moved(step, _in_memory(step), str(step.writes[0]), size)
    if step.pipe == MTE3:
        size = Text("{n} bytes", n=step.nbytes)
        return _moved(step, str(step.reads[0]), _in_memory(step), size)
    read = listed(str(slot) for slot in step.reads)
    lanes = named_number(step.lanes, "lane")
    return _moved(step, read or Text("constant"), str(step.writes[0]), lanes)


def _in_memory(step: Instruction) -> Text:
    return Text("{name} at byte {place}", name=step.gm, place=step.gm_offset)


def _moved(step: Instruction, source: str, target: str, much: Text) -> Text:
    name = f"{step.pipe} {step.name}"
    return Text(
        "{name}: {source} -> {target}, {much}", name=name, source=source, target=target, much=much
    )
