"""The `labkit` command.

    labkit run        one call of the operator; without arguments the documentation's example
    labkit explain    what a call will do, step by step, each with its source and its reason
    labkit observe    the kernels of a profile against the prediction for a call
    labkit doctor     what is here, what works, what to do about the rest
    labkit sdk        a CANN-shaped tree for C++ programs, with the software NPU behind it
    labkit kernel     a Jupyter kernel that starts with CANN's environment
    labkit bench      speed, as ratios against NumPy and PyTorch in one run
    labkit lab        the course in a folder of your own, opened in JupyterLab
    labkit notebooks  execute the notebooks and store their outputs, or check them

Exit codes: 0 success, 1 the lab or the operator said no (the message says what
would be right), 2 wrong usage, 130 Ctrl-C. LABKIT_DEBUG=1 shows where an error
that the lab did not expect comes from.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from labkit import __version__
from labkit.cli_parser import Parser, argparse_words
from labkit.cli_streams import answered
from labkit.language import gettext as _

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    return answered(lambda: _answer(given))


def _answer(given: list[str]) -> int:
    if given[:1] == ["notebooks"]:  # its options need libraries that no other command needs
        from labkit.course.notebooks import main as notebooks

        return notebooks(given[1:])
    with argparse_words():
        parser = _parser()
        options = parser.parse_args(given)
        if options.version:
            print(f"labkit {__version__}")
            return 0
        if options.command is None:
            parser.print_help()
            return 2
    return int(options.function(options))


def _parser() -> Parser:
    from labkit.explain.cli import add_arguments
    from labkit.explain.cli import run as explain_run
    from labkit.observe.cli import add_arguments as add_observe_arguments
    from labkit.observe.cli import run as observe_run

    parser = Parser(
        prog="labkit", description="A lab around one accelerator operator, aclnnHardshrinkBackward."
    )
    parser.add_argument("--version", action="store_true", help="print the lab's version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def command(name: str, *, help: str, **more: Any) -> Parser:
        return commands.add_parser(name, help=_(help), **more)

    run = command(
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

    explain = command("explain", help="the chain of a call, without running it")
    add_arguments(explain)
    explain.set_defaults(function=explain_run)

    observe = command("observe", help="a profile against the prediction for a call")
    add_observe_arguments(observe)
    observe.set_defaults(function=observe_run)

    doctor = command("doctor", help="what is here and what works")
    doctor.add_argument("--device", choices=("npu", "sim", "auto"), help="the device to judge by")
    doctor.set_defaults(function=_doctor)

    sdk = command(
        "sdk",
        help="a CANN-shaped tree with the software NPU behind it",
        description="Write headers and shared libraries with CANN's names into DIR: C++ host "
        "programs build against them and run, with the software NPU behind. Needs a C compiler "
        "and Python's headers.",
    )
    sdk.add_argument("folder", metavar="DIR", help="a new or empty folder")
    sdk.add_argument(
        "--layout",
        choices=("split", "single"),
        default="split",
        help="libopapi_nn.so (split, the default) or one libopapi.so as up to CANN 8.3",
    )
    sdk.add_argument("--compiler", metavar="CC", help="the C compiler (default: $CC, cc, gcc)")
    sdk.set_defaults(function=_sdk)

    kernel = command(
        "kernel",
        help="a Jupyter kernel that starts with CANN's environment",
        description="Install a kernel whose environment has what CANN's set_env.sh sets, so that "
        "notebooks find the libraries wherever Jupyter was started; or remove it.",
    )
    kernel.add_argument("action", choices=("install", "remove"))
    kernel.add_argument("--name", default="hardshrink-npu", help="the kernel's name")
    kernel.add_argument("--display-name", help="what Jupyter's menu shows")
    kernel.add_argument("--set-env", metavar="FILE", help="the script (default: of the CANN found)")
    kernel.add_argument(
        "--device",
        choices=("npu", "sim", "auto"),
        default="npu",
        help="LABKIT_DEVICE in the kernel",
    )
    kernel.add_argument("--prefix", help="where to (default: the environment Python runs in)")
    kernel.add_argument("--user", action="store_true", help="for this user, whatever environment")
    kernel.set_defaults(function=_kernel)

    bench = command("bench", help="speed as ratios")
    bench.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help="measure this alone: curve, operator, call, memory, small, import, slider",
    )
    bench.add_argument("--quick", action="store_true", help="smaller arrays, fewer runs")
    bench.add_argument("--json", action="store_true", help="print one JSON object")
    bench.add_argument("--picture", metavar="PNG", help="draw the curve into this file")
    bench.set_defaults(function=_bench)

    lab = command(
        "lab",
        help="the course in a folder of your own, opened in JupyterLab",
        description="Copy the notebooks into a folder of your own and open JupyterLab there. "
        "The next time your changes stay, what is missing is added, and notebooks that you did "
        "not change are brought up to date. LABKIT_LANG=zh opens the Chinese course.",
    )
    lab.add_argument(
        "folder",
        nargs="?",
        metavar="DIR",
        help="new, empty or a course already (default: the course you are in, "
        "else hardshrink-course)",
    )
    lab.add_argument("--copy-only", action="store_true", help="do not start JupyterLab")
    lab.add_argument("--no-browser", action="store_true", help="print the address only")
    lab.add_argument("--port", type=_port, metavar="N", help="8888, or the next that is free")
    lab.add_argument(
        "--reset",
        metavar="NOTEBOOK",
        help="bring a notebook back (its name, its number such as 03, or all) and stop; "
        "your version stays beside it as NAME.mine.ipynb",
    )
    lab.set_defaults(function=_lab)

    command("notebooks", help="execute the notebooks, store or compare outputs")
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
    from labkit.tensor_text import number, refuse_too_large, tensor

    dtype = options.dtype or "float32"
    is_example = options.grad is None and options.self_ is None
    lambd = _EXAMPLE_LAMBD if is_example else 0.5
    if options.lambd is not None:
        lambd = number("--lambd", options.lambd)
    self_text = options.self_ or (options.grad and _same_shape(options.grad)) or _EXAMPLE_SELF
    x = tensor("--self", self_text, dtype)
    grad = None
    if not options.forward:
        ones = options.grad or (_EXAMPLE_GRAD if is_example else None)
        grad = _ones_like(x) if ones is None else tensor("--grad", ones, dtype)
    refuse_too_large(x, x if grad is None else grad)
    with open_device(options.device, options.index, options.soc) as device:
        if grad is None:
            call = hardshrink(
                x, lambd=lambd, out_dtype=options.out_dtype, device=device, check=False
            )
        else:
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


def _sdk(options: argparse.Namespace) -> int:
    from labkit.sim.sdk import write_sdk

    print(write_sdk(options.folder, layout=options.layout, compiler=options.compiler))
    return 0


def _kernel(options: argparse.Namespace) -> int:
    from labkit import kernelspec

    if options.action == "remove":
        print(f"removed: {kernelspec.remove(options.name)}")
        return 0
    where = kernelspec.install(
        name=options.name,
        script=options.set_env,
        device=options.device,
        display_name=options.display_name or "",
        prefix=options.prefix,
        user=options.user,
    )
    print(f"installed: {where}\nChoose it in a notebook under Kernel, Change Kernel.")
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from labkit.doctor import examine

    report = examine(options.device)
    print(report.text)
    return 0 if report.usable else 1


def _bench(options: argparse.Namespace) -> int:
    from labkit.bench import run

    return run(options.parts, quick=options.quick, as_json=options.json, picture=options.picture)


def _lab(options: argparse.Namespace) -> int:
    from labkit.course.start import run_lab

    return run_lab(options)


def _port(text: str) -> int:
    if not text.isdecimal() or len(text) > 5 or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(_("{n} is not between 1 and 65535").format(n=text))
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
