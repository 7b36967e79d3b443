"""The `labkit` command.

    labkit run        one call of the operator; without arguments the documentation's example
    labkit explain    what a call will do, step by step, each with its source and its reason
    labkit doctor     what is here, what works, what to do about the rest
    labkit bench      speed, as ratios against NumPy and PyTorch in one run
    labkit notebooks  execute the notebooks and store their outputs, or check them

Exit codes: 0 success, 1 the lab or the operator said no (the message says what
would be right), 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from labkit import __version__
from labkit.errors import LabError

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.command is None:
        parser.print_help()
        return 2
    try:
        return int(options.function(options))
    except LabError as error:
        print(f"labkit: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1


def _parser() -> argparse.ArgumentParser:
    from labkit.explain.cli import add_arguments
    from labkit.explain.cli import run as explain_run

    parser = argparse.ArgumentParser(
        prog="labkit", description="A lab around one accelerator operator, aclnnHardshrinkBackward."
    )
    parser.add_argument("--version", action="version", version=f"labkit {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    run = commands.add_parser(
        "run",
        help="one call; without arguments the documentation's example",
        description="Call the operator once and print the result, the device and what happened. "
        "Tensors: numbers ('[[0.2, 0.5], [0.6, -1]]' or '0.2,0.5'), or dtype:shape "
        "('float16:4,1'; filled with a ramp), or a .npy file.",
    )
    _device_options(run)
    run.add_argument("--dtype", help="dtype of tensors given as numbers (default float32)")
    run.add_argument("--lambd", help="λ (default 0.5; in the example 2)")
    run.add_argument("--grad", metavar="TENSOR", help="the gradient (gradOutput)")
    run.add_argument("--self", metavar="TENSOR", dest="self_", help="the forward input")
    run.add_argument("--out-dtype", help="dtype of the result (default: the promoted one)")
    run.add_argument("--forward", action="store_true", help="run aclnnHardshrink on --self instead")
    run.add_argument("--record", action="store_true", help="print every C call")
    run.add_argument("--json", action="store_true", help="print one JSON object")
    run.set_defaults(function=_run)

    explain = commands.add_parser("explain", help="the chain of a call, without running it")
    add_arguments(explain)
    explain.set_defaults(function=explain_run)

    doctor = commands.add_parser("doctor", help="what is here and what works")
    doctor.add_argument("--device", choices=("npu", "sim", "auto"), help="the device to judge by")
    doctor.set_defaults(function=_doctor)

    bench = commands.add_parser("bench", help="speed as ratios")
    bench.add_argument("--quick", action="store_true", help="smaller arrays, fewer runs")
    bench.add_argument("--json", action="store_true", help="print one JSON object")
    bench.set_defaults(function=_bench)

    notebooks = commands.add_parser("notebooks", help="execute the notebooks and store outputs")
    notebooks.add_argument("--check", action="store_true", help="compare, write nothing")
    notebooks.add_argument("paths", nargs="*", help="default: all")
    notebooks.set_defaults(function=_notebooks)
    return parser


def _device_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", choices=("npu", "sim", "auto"), help="default: $LABKIT_DEVICE, else auto"
    )
    parser.add_argument("--soc", help="the chip that the software NPU plays, e.g. 950, 910b")
    parser.add_argument("--index", type=int, default=0, help="device number (default 0)")


# -- run -----------------------------------------------------------------------

# The numbers of the documentation's own example program:
# cann/ops-nn e5c3fa93 activation/hard_shrink_grad/docs/aclnnHardshrinkBackward.md
_EXAMPLE_GRAD = "[[0, 0], [1, 1]]"
_EXAMPLE_SELF = "[[1, 2], [3, 4]]"
_EXAMPLE_LAMBD = 2.0


def _run(options: argparse.Namespace) -> int:
    from labkit.operators import hardshrink, hardshrink_backward, open_device
    from labkit.tensor_text import number, tensor

    dtype = options.dtype or "float32"
    is_example = options.grad is None and options.self_ is None
    lambd = _EXAMPLE_LAMBD if is_example else 0.5
    if options.lambd is not None:
        lambd = number("--lambd", options.lambd)
    self_text = options.self_ or (options.grad and _same_shape(options.grad)) or _EXAMPLE_SELF
    x = tensor("--self", self_text, dtype)
    with open_device(options.device, options.index, options.soc) as device:
        if options.forward:
            call = hardshrink(
                x, lambd=lambd, out_dtype=options.out_dtype, device=device, check=False
            )
        else:
            ones = options.grad or (_EXAMPLE_GRAD if is_example else None)
            grad = _ones_like(x) if ones is None else tensor("--grad", ones, dtype)
            call = hardshrink_backward(
                grad, x, lambd=lambd, out_dtype=options.out_dtype, device=device, check=False
            )
        return _print_call(options, device, call)


def _same_shape(text: str) -> str | None:
    """A tensor given as dtype:shape lends its shape to the other; numbers do not."""
    return text if ":" in text and not text.lstrip().startswith("[") else None


def _ones_like(array: Any) -> Any:
    import numpy as np

    return np.ones(array.shape, array.dtype)


def _print_call(options: argparse.Namespace, device: Any, call: Any) -> int:
    result = call.out if options.forward else call.grad_input
    launches = call.launches
    launched_by = "launched"
    if launches is None:
        from labkit.explain.calls import plan_of_call

        launches = tuple(launch.op_type for launch in plan_of_call(call).launches)
        launched_by = "predicted"
    if options.json:
        values = None if result is None else _jsonable(result.astype("float32").tolist())
        print(
            json.dumps(
                {
                    "device": call.device,
                    "status": call.status,
                    "status_name": call.status_name,
                    "message": call.message,
                    "workspace_size": call.workspace_size,
                    "out" if options.forward else "grad_input": values,
                    "launches": list(launches),
                    "launches_are": launched_by,
                }
            )
        )
        return 0 if call.ok else 1
    if call.error is not None:
        print(f"device: {call.device} ({device.why})")
        raise call.error
    for place, value in enumerate(result.astype("float64").reshape(-1)[:64]):
        print(f"result[{place}] is: {value:f}")
    if result.size > 64:
        print(f"... {result.size - 64} more")
    print(f"device: {call.device} ({device.why})")
    print(f"workspace: {call.workspace_size} bytes")
    print(f"launches ({launched_by}): {', '.join(launches) or 'none'}")
    print(f"C calls: {len(call.record)} for the call, {len(device.record)} with opening the device")
    if options.record:
        for entry in device.record:
            print(f"  {entry}")
    return 0


def _jsonable(value: Any) -> Any:
    """Lists of numbers with nan and ∞, which JSON does not have, as strings."""
    if isinstance(value, list):
        return [_jsonable(item) for item in value]
    return value if value - value == 0 else str(value)


# -- the others ----------------------------------------------------------------


def _doctor(options: argparse.Namespace) -> int:
    from labkit.doctor import examine

    report = examine(options.device)
    print(report.text)
    return 0 if report.usable else 1


def _bench(options: argparse.Namespace) -> int:
    from labkit.bench import run

    return run(quick=options.quick, as_json=options.json)


def _notebooks(options: argparse.Namespace) -> int:
    from labkit.course.notebooks import main as notebooks

    return notebooks([*(["--check"] if options.check else []), *options.paths])


if __name__ == "__main__":
    sys.exit(main())
