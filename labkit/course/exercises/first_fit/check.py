"""Betray the first-fit twin: lifetimes for which it asks for another workspace."""

from __future__ import annotations

from typing import Any

from labkit.course.judge import Verdict, not_yet, passed
from labkit.course.lifetimes import first_fit_bytes, read_pieces, workspace_bytes
from labkit.errors import LabValueError
from labkit.host.device import Device
from labkit.language import gettext as _

NOTEBOOK = 5
KIND = "separate"


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a list of (bytes, first launch, last launch) by what the two allocators make of it."""
    try:
        pieces = read_pieces(answer)
    except LabValueError as error:
        return not_yet(str(error))
    real, twin = workspace_bytes(pieces), first_fit_bytes(pieces)
    lines = (
        _("the allocator takes {count} bytes").format(count=real),
        _("the twin takes {count} bytes").format(count=twin),
    )
    if real == twin:
        return not_yet(*lines, _("this input does not tell them apart"))
    return passed(_("betrayed"), *lines)
