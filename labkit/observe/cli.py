"""`labkit observe`: the kernels of a profile against the prediction for a call; for CI."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from labkit.explain.cli import TENSORS, add_call_arguments, plan_of
from labkit.language import Text
from labkit.language import gettext as _
from labkit.observe.comparison import MOST

if TYPE_CHECKING:
    from labkit.observe.comparison import Comparison
    from labkit.observe.kernels import Observation
    from labkit.op.plan import Plan

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give a parser the options of `labkit observe`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = Text(
        "Compare the kernels of a profile, as msprof writes it, with those that a call should\n"
        "launch. Without a folder the call is made under msprof on this machine's NPU.\n"
        "Each pair of device and stream in the profile is compared on its own.\n"
        "Exit code 0: nothing differs; 1: something does, or there is nothing to read.\n\n"
        "{tensors}",
        tensors=TENSORS,
    )
    parser.add_argument(
        "folder",
        nargs="?",
        metavar="PROFILE",
        help="a PROF_ folder, one above it, or an op_summary file (default: profile the call)",
    )
    add_call_arguments(parser)
    parser.add_argument(
        "--calls",
        type=int,
        default=1,
        metavar="N",
        help="how often the call ran on each device and stream (default 1)",
    )
    parser.add_argument("--device", type=int, metavar="N", help="only kernels of this device")
    parser.add_argument("--stream", type=int, metavar="N", help="only kernels of this stream")
    parser.add_argument("--fields", action="store_true", help="print every field that was compared")
    parser.add_argument(
        "--all", action="store_true", help="print all kernels and differences, however many"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    """Print the comparison; 0 when nothing differs, 1 when something does."""
    from labkit.observe.compare import compare
    from labkit.observe.profile import read_profile

    if options.folder is None:
        observed, plan = _profiled(options)
    else:
        plan = plan_of(options)
        observed = read_profile(options.folder)
    chosen = {"device": options.device, "stream": options.stream}
    compared = compare(plan, observed, calls=options.calls, **chosen)
    if options.json:
        print(json.dumps(_as_json(compared, plan), indent=1))
    else:
        most = None if options.all else MOST
        print(_told(compared, plan, fields=options.fields, most=most))
    return 0 if compared.agrees else 1


def _profiled(options: argparse.Namespace) -> tuple[Observation, Plan]:
    """The call made under msprof; the chip is the one that is there."""
    from labkit.observe.again import call_script, unwatched
    from labkit.observe.msprof import profile
    from labkit.operators import open_device

    with open_device("npu", soc=options.soc) as device:
        chip = device.soc
        if not device.is_npu:
            raise unwatched(device.name)
    plan = plan_of(argparse.Namespace(**{**vars(options), "soc": chip}))
    return profile(call_script(plan, calls=options.calls)), plan


def _told(compared: Comparison, plan: Plan, *, fields: bool, most: int | None) -> str:
    source = _("{operator} on {chip}; {source}").format(
        operator=plan.operator, chip=plan.soc.name, source=_(compared.source)
    )
    kernels = compared.by_kernel()
    if len(kernels) > MOST or any(lines[0].where for lines in kernels):
        source += f"\n{compared.counts()}"
    table = compared.fields(most) if fields else compared.kernels(most)
    told = [source, table, compared.told(most)]
    if most is not None and max(len(kernels), len(compared.differences)) > most:
        told.append(_("--all prints all of them"))
    return "\n\n".join(told)


def _as_json(compared: Comparison, plan: Plan) -> dict[str, object]:
    return {
        "operator": plan.operator,
        "chip": plan.soc.name,
        "source": compared.source,
        "measured": compared.measured,
        "agrees": compared.agrees,
        "lines": [vars(line) for line in compared.lines],
        "notes": list(compared.notes),
    }
