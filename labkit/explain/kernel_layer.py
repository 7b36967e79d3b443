"""The kernel layer: the tiling of the operator's own kernel, and what a core does with a tile.

Only the arch35 kernels are public. For other chips the layer says so and shows
no numbers.
"""

from __future__ import annotations

from dataclasses import replace

from labkit.explain.chain import ChainStep
from labkit.explain.conditions import main_launch, tiling_of
from labkit.explain.maker import Maker, named_number
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
        why = f"kernel not public for {maker.plan.soc.short}; same mathematics assumed"
        return (maker.step("kernel", "Kernel", "assumed", why),)
    tiling = tiling_of(maker.plan)
    if tiling is None or not tiling.fits:
        why = f"{maker.plan.soc.name} leaves this kernel no tile that fits in its UB"
        return (maker.step("kernel", "Tiling", "stopped", why),)
    tiles = -(-tiling.core_length(0) // tiling.ub_factor)
    valid = min(tiling.core_length(0), tiling.ub_factor)
    one_tile = replace(tiling, total_num=valid, block_factor=valid, block_dim=1)
    steps = program(one_tile, 0)
    first = next(place for place, step in enumerate(steps) if step.pipe == MTE2)
    copied_in = [step for step in steps if step.pipe == MTE2]
    computed = [step for step in steps[first:] if step.pipe == V]
    copied_out = [step for step in steps if step.pipe == MTE3]
    of_tiles = f"core 0, tile 1 of {tiles}"
    return (
        _tiling_step(maker, tiling, tiles),
        maker.step(
            "kernel",
            "Init",
            "known",
            f"{named_number(len(tiling.buffers), 'buffer')}, {tiling.ub_used} bytes of UB",
            items=(*_buffers(tiling), *(_line(step) for step in steps[:first])),
        ),
        maker.step(
            "kernel",
            "CopyIn",
            "known",
            f"{of_tiles}: {sum(step.nbytes for step in copied_in)} bytes",
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
            f"{of_tiles}: {sum(step.nbytes for step in copied_out)} bytes",
            items=tuple(_line(step) for step in copied_out),
        ),
    )


def _tiling_step(maker: Maker, tiling: Tiling, tiles: int) -> ChainStep:
    last = tiling.core_length(tiling.block_dim - 1)
    share = named_number(tiling.block_factor, "element")
    pieces = "two pieces per queue (double buffer)" if tiling.double_buffer else "one piece"
    facts = (
        ("totalNum", f"{tiling.total_num} elements of {tiling.dtype.short}"),
        ("blockDim", f"{tiling.block_dim} of {named_number(tiling.cores, 'vector core')}"),
        (
            "blockFactor",
            f"{share} per core, {last} on the last",
        ),
        ("ubFactor", f"{tiling.ub_factor} elements per tile"),
        ("tiles", f"{tiles} per core"),
        ("tilingKey", str(tiling.tiling_key)),
        ("buffers", pieces),
        ("lambd", str(tiling.lambd)),
        ("UB used", f"{tiling.ub_used} of {tiling.ub_bytes} bytes"),
        ("workspace", "0 bytes"),
    )
    why = (
        f"{named_number(tiling.block_dim, 'core')} x {share}, "
        f"tiles of {tiling.ub_factor}, key {tiling.tiling_key}"
    )
    return maker.step("kernel", "Tiling", "known", why, facts=facts)


def _buffers(tiling: Tiling) -> list[str]:
    return [f"{buffer.name}: {buffer.count} x {buffer.size} bytes" for buffer in tiling.buffers]


def _compute_why(tiling: Tiling, computed: list[Instruction], of_tiles: str) -> str:
    compare = next(step for step in computed if step.name.startswith("Compare"))
    limit = lambd_as_compared(tiling.dtype, tiling.lambd, op=tiling.op)
    lanes = named_number(compare.lanes, "lane")
    note = ""
    if tiling.op != FORWARD and limit != float(tiling.lambd) and limit == limit:
        note = " (λ rounded to float16)"
    return f"{of_tiles}: |x| <= {limit!r}{note}, {lanes} computed for {compare.valid} valid"


def _line(step: Instruction) -> str:
    """One instruction as a line of text."""
    if step.pipe == MTE2:
        target = step.writes[0]
        return f"{step.pipe} {step.name}: {step.gm} at byte {step.gm_offset} -> {target}, " + (
            f"{step.nbytes} bytes"
        )
    if step.pipe == MTE3:
        source = step.reads[0]
        return f"{step.pipe} {step.name}: {source} -> {step.gm} at byte {step.gm_offset}, " + (
            f"{step.nbytes} bytes"
        )
    read = ", ".join(str(slot) for slot in step.reads)
    lanes = named_number(step.lanes, "lane")
    return f"{step.pipe} {step.name}: {read or 'constant'} -> {step.writes[0]}, {lanes}"
