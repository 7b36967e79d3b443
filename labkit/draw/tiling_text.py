"""The tiling picture in words."""

from __future__ import annotations

from labkit.draw.cores import Share, all_lanes, lanes_of, shares
from labkit.draw.numbers import percent
from labkit.draw.pipeline import runs
from labkit.draw.sheet import dtype_text
from labkit.draw.tiling_view import TilingView
from labkit.language import gettext as _
from labkit.op.program import PIPES

__all__ = ["tiling_alt_text"]


def tiling_alt_text(view: TilingView) -> str:
    """All numbers of the picture, part by part."""
    parts = (_head(view), _cores(view), _lanes(view), _pipes(view), _ub(view), _curve(view))
    return " ".join(sentence for part in parts for sentence in part)


def _head(view: TilingView) -> list[str]:
    tiling = view.tiling
    told = [
        _("How does the work reach the cores?"),
        _(
            "{op}, {total} {dtype} elements, on {chip}: {cores} vector cores, {ub} bytes of UB."
        ).format(
            op=tiling.op,
            total=tiling.total_num,
            dtype=dtype_text(tiling.dtype),
            chip=view.chip,
            cores=tiling.cores,
            ub=tiling.ub_bytes,
        ),
        _("Block dim {block_dim}, block factor {block}, ub factor {ub}, tiling key {key}.").format(
            block_dim=tiling.block_dim,
            block=tiling.block_factor,
            ub=tiling.ub_factor,
            key=tiling.tiling_key,
        ),
        _("Double buffer.") if tiling.double_buffer else _("Single buffer."),
    ]
    if not tiling.public:
        told.append(_("The tiling for this chip is not public: the 950's rule assumed."))
    return told


def _cores(view: TilingView) -> list[str]:
    told = [_run(run) for run in shares(view.tiling)]
    if view.tiling.core_length(view.core):
        told.append(
            _("Core {core} starts at element {element}, byte {byte}.").format(
                core=view.core, element=view.start, byte=view.offset
            )
        )
        if not view.aligned:
            told.append(_("That is no multiple of 32 bytes."))
    return told


def _run(run: Share) -> str:
    last = run.first + run.count - 1
    if run.count == 1:
        return _("Core {core}: {n} elements.").format(core=run.first, n=run.elements)
    if not run.elements:
        return _("Cores {first} to {last}: no work.").format(first=run.first, last=last)
    return _("Cores {first} to {last}: {n} elements each.").format(
        first=run.first, last=last, n=run.elements
    )


def _lanes(view: TilingView) -> list[str]:
    told = []
    for name, cut in view.cuts:
        lanes, every = lanes_of(cut, view.core), all_lanes(cut)
        told.append(
            _(
                "{cut}: core {core} computes {computed} lanes for {valid} elements, all cores "
                "{all_computed} for {all_valid} ({share})."
            ).format(
                cut=_NAMES[name](),
                core=view.core,
                computed=lanes.computed or 0,
                valid=lanes.valid,
                all_computed=every.computed or 0,
                all_valid=every.valid,
                share=percent(every.valid, every.computed or 0),
            )
        )
    if view.constants and view.tiling.total_num:
        told.append(
            _("Before that, each core fills {n} lanes with constants.").format(n=view.constants)
        )
    return told


_NAMES = {
    "public cut": lambda: _("Public cut"),
    "the 950's rule": lambda: _("The 950's rule"),
    "cut by share": lambda: _("Cut by the core's share"),
}


def _pipes(view: TilingView) -> list[str]:
    drawn = runs(view.timed)
    if not drawn:
        return [_("Core {core} has no element: its pipes do nothing.").format(core=view.core)]
    told = [_("Pipes of core {core}, in cycles of a model:").format(core=view.core)]
    for pipe in PIPES:
        spans = [
            _("{what} from {start} to {end}").format(
                what=_("constants") if run.tile is None else _("tile {n}").format(n=run.tile),
                start=run.start,
                end=run.end,
            )
            for run in drawn
            if run.pipe == pipe
        ]
        told.append(_("{pipe}: {spans}.").format(pipe=pipe, spans=_(", ").join(spans)))
    if view.cycles is not None:
        told.append(
            _("The whole core takes {public} cycles (model), cut by share {shared}.").format(
                public=view.cycles[0], shared=view.cycles[1]
            )
        )
    return told


def _ub(view: TilingView) -> list[str]:
    tiling = view.tiling
    buffers = _(", ").join(f"{b.name} {b.count} × {b.size}" for b in tiling.buffers)
    told = [
        _("UB of one core: {used} of {whole} bytes used.").format(
            used=tiling.ub_used, whole=tiling.ub_bytes
        )
    ]
    return [*told, _("Buffers: {buffers}.").format(buffers=buffers)] if buffers else told


def _curve(view: TilingView) -> list[str]:
    told = [_("Share of real lanes over the total, from 1 to 2^31:")]
    for name, points in view.curves.items():
        half = next(point.total for point in points if point.share >= 0.5)
        told.append(
            _("{cut} reaches one half near {half} elements.").format(cut=_NAMES[name](), half=half)
        )
    return told
