"""Build the public tiling: judged number by number on telling work and on a spread of chips."""

from __future__ import annotations

import operator
from typing import Any

from labkit.course.judge import Verdict, not_yet, passed, told
from labkit.course.tilings import telling_work
from labkit.host.device import Device
from labkit.language import gettext as _

NOTEBOOK = 7
KIND = "build"

NAMES = ("block_dim", "block_factor", "ub_factor", "tiling_key")


def judge(answer: Any, device: Device | None) -> Verdict:
    """Judge a function of total, dtype, cores and ub_bytes; the device plays no part."""
    tried = 0
    for work in telling_work():
        public = work.public
        right = [getattr(public, name) for name in NAMES]
        try:
            got = [operator.index(value) for value in answer(*work.arguments())]
        except Exception as error:
            return told(error)
        if len(got) != len(NAMES):
            return not_yet(
                _("it gave {n} numbers; right would be {names}").format(
                    n=len(got), names=", ".join(NAMES)
                )
            )
        tried += 1
        for name, mine, theirs in zip(NAMES, got, right):
            if mine != theirs:
                return not_yet(
                    _("the smallest input that betrays it: {input}").format(input=work.words()),
                    _("{name} of the tiling is {value}").format(name=name, value=theirs),
                    _("your answer says {value}").format(value=mine),
                )
    return passed(_("right, on all {n} inputs tried").format(n=tried))
