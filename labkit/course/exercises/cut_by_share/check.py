"""Betray the twin that cuts its tile by the core's share: work for which the tiles differ."""

from __future__ import annotations

import operator
from typing import Any

from labkit.course.judge import Verdict, not_yet, passed
from labkit.course.tilings import SOC
from labkit.draw.cores import all_lanes
from labkit.host.device import Device
from labkit.language import gettext as _
from labkit.op import tile
from labkit.op.cuts import by_share

NOTEBOOK = 7
KIND = "separate"

_MOST = 2**40


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a pair (total, dtype) by both tilings on a 950 with 72 cores; no device needed."""
    try:
        total, dtype = answer
        total = operator.index(total)
        public = tile(total if 0 < total <= _MOST else 1, dtype, soc=SOC)
    except Exception:
        return not_yet(_("an answer is a pair: (total, dtype), such as (16, 'float32')"))
    if not 0 < total <= _MOST:
        return not_yet(_("total is {total}; right would be 1 to 2^40").format(total=total))
    twin = by_share(public)
    lines = (
        _("the public tiling cuts tiles of {tile}: {lanes} lanes in all").format(
            tile=public.ub_factor, lanes=all_lanes(public).computed
        ),
        _("the twin cuts tiles of {tile}: {lanes} lanes in all").format(
            tile=twin.ub_factor, lanes=all_lanes(twin).computed
        ),
    )
    if public.ub_factor == twin.ub_factor:
        return not_yet(*lines, _("this input does not tell them apart"))
    smallest = _parts(total - 1, dtype)
    return passed(
        _("betrayed"),
        *lines,
        _("and one element less would not do")
        if not smallest
        else _("is there a smaller total that betrays it?"),
    )


def _parts(total: int, dtype: Any) -> bool:
    """Whether the two tilings part at that total."""
    public = tile(total, dtype, soc=SOC)
    return bool(total) and by_share(public).ub_factor != public.ub_factor
