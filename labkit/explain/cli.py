"""`labkit explain`: the chain for shapes, dtypes, strides and a chip, without running anything."""

from __future__ import annotations

import argparse
import reprlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.errors import LabValueError
from labkit.language import Text
from labkit.language import gettext as _

if TYPE_CHECKING:
    from labkit.op.describe import TensorDesc
    from labkit.op.plan import Plan
    from labkit.op.scalar import Scalar

__all__ = ["TENSORS", "add_arguments", "add_call_arguments", "plan_of", "run", "tensor_desc"]

_NULL = ("none", "null")
_EXAMPLE = "float32:2,2"
TENSORS = Text(
    "A TENSOR is dtype:shape[:strides[:offset[:storage shape]]], for example\n"
    "  float16:4,1                 # a row-major tensor (nothing after the colon is 0-d)\n"
    "  float32:4,4:1,4             # a transposed view\n"
    "  float32:4,4:8,1:0:4,8       # rows with gaps\n"
    "or none for a null pointer."
)
"""How a tensor is written on the command line."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give a parser the options of `labkit explain`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = Text(
        "Tell what a call will do: the checks, the l0 operators, the launches, the workspace and\n"
        "the kernel, step by step, each with its source and its reason.\n\n"
        "{tensors} $LABKIT_OPS_NN or $LABKIT_CANN_SRC may name a checkout of\n"
        "the sources, whose lines are then shown.",
        tensors=TENSORS,
    )
    add_call_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the chain as JSON")
    parser.add_argument("--html", metavar="FILE", help="write a page to FILE ('-': print it)")


def add_call_arguments(parser: argparse.ArgumentParser) -> None:
    """Give a parser the options that describe a call."""
    parser.add_argument("--grad", metavar="TENSOR", help="gradOutput (default: as --self)")
    parser.add_argument("--self", metavar="TENSOR", dest="self_", help="self (default: as --grad)")
    parser.add_argument(
        "--out", metavar="TENSOR", help="gradInput, or out (default: what the inputs give)"
    )
    parser.add_argument("--lambd", default="0.5", help="λ (default 0.5), or none")
    parser.add_argument(
        "--lambd-dtype", default="float32", metavar="DTYPE", help="dtype of λ (default float32)"
    )
    parser.add_argument("--soc", help="the chip, e.g. 950, 910b, Ascend910A (default 950)")
    parser.add_argument("--forward", action="store_true", help="aclnnHardshrink on --self instead")


def run(options: argparse.Namespace) -> int:
    """Print the chain; 0 when phase 1 would succeed, else 1."""
    from labkit.explain.build import explain
    from labkit.explain.html import as_page

    plan = plan_of(options)
    chain = explain(plan)
    if options.html == "-":
        print(as_page(chain))
    elif options.html:
        _write(options.html, as_page(chain))
    if options.json:
        print(chain.to_json(indent=1))
    elif not options.html:
        print(chain)
    return 0 if plan.ok else 1


def tensor_desc(option: str, text: str) -> TensorDesc | None:
    """The descriptor that a text means; None for a null pointer.

    >>> tensor_desc("--out", "float32:4,4:8,1:0:4,8")
    TensorDesc(FLOAT [4, 4], strides [8, 1], storage [4, 8])
    """
    from labkit.op.describe import TensorDesc

    if text.strip().lower() in _NULL:
        return None
    dtype, *rest = text.split(":")
    if not 1 <= len(rest) <= 4:
        raise LabValueError(
            _(
                "{option}: {text} is no tensor; right would be "
                "dtype:shape[:strides[:offset[:storage shape]]], for example float16:4,1"
            ).format(option=option, text=reprlib.repr(text))
        )
    shape, strides, offset, storage = [*rest, *[""] * (4 - len(rest))]
    sizes = _numbers(option, shape)
    if any(size < 0 for size in sizes):
        raise LabValueError(
            _("{option}: a shape has no negative sizes: {shape}").format(
                option=option, shape=reprlib.repr(shape)
            )
        )
    places = _numbers(option, offset) if offset.strip() else (0,)
    if len(places) != 1:
        raise LabValueError(
            _("{option}: the offset is one whole number, not {text}").format(
                option=option, text=reprlib.repr(offset)
            )
        )
    return TensorDesc(
        dtype.strip(),
        sizes,
        _numbers(option, strides) if strides.strip() else None,
        places[0],
        _numbers(option, storage) if len(rest) == 4 else None,
    )


def whole_numbers(text: str) -> tuple[int, ...]:
    """Whole numbers with commas or x between them; behind the last a comma may stand.

    Raises `ValueError` for anything else, a missing number included.

    >>> whole_numbers("4,1"), whole_numbers("4x1"), whole_numbers("4,"), whole_numbers("")
    ((4, 1), (4, 1), (4,), ())
    """
    plain = text.strip()
    if len(plain) > 1:
        plain = plain.removesuffix(",")
    return tuple(int(part) for part in plain.replace("x", ",").split(",")) if plain else ()


def _numbers(option: str, text: str) -> tuple[int, ...]:
    try:
        return whole_numbers(text)
    except ValueError as error:
        raise LabValueError(
            _("{option}: {text} should be whole numbers with commas, like 4,1").format(
                option=option, text=reprlib.repr(text)
            )
        ) from error


def plan_of(options: argparse.Namespace) -> Plan:
    """The plan of the call that the options describe."""
    from labkit.op.aclnn import plan_hardshrink, plan_hardshrink_backward

    lambd = _lambd(options.lambd, options.lambd_dtype)
    x = tensor_desc("--self", options.self_ or options.grad or _EXAMPLE)
    if options.forward:
        if options.grad:
            raise LabValueError(_("--forward takes --self, --out and --lambd, no --grad"))
        out = tensor_desc("--out", options.out) if options.out else _like(x)
        return plan_hardshrink(x, lambd, out, soc=options.soc or "950")
    grad = tensor_desc("--grad", options.grad or options.self_ or _EXAMPLE)
    out = tensor_desc("--out", options.out) if options.out else _result(grad, x)
    return plan_hardshrink_backward(grad, x, lambd, out, soc=options.soc or "950")


def _like(desc: TensorDesc | None) -> TensorDesc | None:
    from labkit.op.describe import TensorDesc

    return None if desc is None else TensorDesc(desc.dtype, desc.shape)


def _result(grad: TensorDesc | None, x: TensorDesc | None) -> TensorDesc | None:
    """The output that the inputs ask for; where they do not fit, the checks shall say so."""
    from labkit.op.broadcast import BroadcastFault, broadcast_shapes
    from labkit.op.describe import TensorDesc
    from labkit.op.dtypes import UNDEFINED, promote_type

    if grad is None or x is None:
        return _like(grad or x)
    shape = broadcast_shapes(grad.shape, x.shape)
    dtype = promote_type(grad.dtype, x.dtype)
    return TensorDesc(
        x.dtype if dtype is UNDEFINED else dtype,
        x.shape if isinstance(shape, BroadcastFault) else shape,
    )


def _lambd(text: str, dtype: str) -> Scalar | None:
    from labkit.op.scalar import Scalar

    if text.strip().lower() in _NULL:
        return None
    number: Any
    try:
        number = complex(text) if "complex" in dtype.lower() else float(text)
    except ValueError as error:
        raise LabValueError(
            _("--lambd must be a number or none, not {text}").format(text=reprlib.repr(text))
        ) from error
    if "int" in dtype.lower() and number == number and abs(number) != float("inf"):
        number = int(number)
    return Scalar(number, dtype)


def _write(name: str, page: str) -> None:
    try:
        Path(name).write_text(page, encoding="utf-8")
    except OSError as error:
        raise LabValueError(
            _("--html: {file} cannot be written: {why}").format(file=name, why=error.strerror)
        ) from error
    print(f"wrote {name}", file=sys.stderr)
