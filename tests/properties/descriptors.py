"""Random descriptors, valid and invalid, and what the contract says about them.

`backward_code` and `forward_code` are a second reading of the order of the
checks: plain loops over the elements that a view touches, NumPy's broadcasting,
nothing of labkit's own rules.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import strategies as st

from labkit.op import Soc, TensorDesc

GOOD_DTYPES = ("float32", "float16", "bfloat16")
BAD_DTYPES = ("double", "int32", "bool", "complex64", "DT_UNDEFINED", "hifloat8")
CHIPS = (
    *("Ascend950PR_9599", "Ascend950DT_950x", "Ascend350_354f", "Ascend910B1", "Ascend910_9391"),
    *("Ascend910A", "Ascend910B", "Ascend310P3", "Ascend310B1", "Ascend031"),
)

chips = st.sampled_from(CHIPS)
sizes = st.sampled_from([1, 1, 2, 3, 4])


def seldom(usual, rare, one_in):
    """Values of `usual`, and about once in so many draws one of `rare`.

    The rare ones sit in the middle: Hypothesis likes first and last ones.
    """
    around = usual * max(one_in * len(rare) // len(usual) // 2, 1)
    return st.sampled_from([*around, *rare, *around])


dtypes = seldom(GOOD_DTYPES, BAD_DTYPES, 25)
lambdas = seldom((0.5,), (None,), 25)
happens = {n: seldom((False,), (True,), n) for n in (4, 6, 12, 24)}


@st.composite
def shapes(draw, *, empty=True, most=4):
    """A shape of few elements; seldom empty, seldom of nine axes."""
    if empty and draw(happens[24]):
        return (1,) * draw(st.integers(9, 10))
    shape = draw(st.lists(sizes, max_size=most))
    if empty and shape and draw(happens[12]):
        shape[draw(st.integers(0, len(shape) - 1))] = 0
    return tuple(shape)


@st.composite
def partners(draw, shape):
    """A shape that meets this one, or nearly: axes left off, axes of 1, now and then a fault."""
    kept = list(shape[draw(st.sampled_from([0, 0, 0, 1, 2])) :])
    for axis in range(len(kept)):
        if draw(happens[24]):
            kept[axis] = draw(st.integers(0, 5))
        elif draw(happens[4]):
            kept[axis] = 1
    return tuple(kept)


def row_major(shape):
    """Strides of a dense array of this shape, axes of size 0 counting with their size."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


@st.composite
def views(draw, shape, dtype, *, inside=False):
    """A descriptor of this shape: dense, permuted, cut, stepped, broadcast, or anything.

    With `inside` the view stays within its storage.
    """
    kind = draw(st.sampled_from(["dense", "permuted", "cut", "broadcast", "any"]))
    offset = draw(st.sampled_from([0, 0, 1, 3]))
    if kind == "dense":
        strides = row_major(shape)
    elif kind == "any":
        strides = tuple(draw(st.integers(-4, 9)) for _ in shape)
    else:
        order = draw(st.permutations(range(len(shape)))) if kind == "permuted" else None
        axes = range(len(shape)) if order is None else order
        widths = [shape[axis] + (kind == "cut" and draw(st.integers(0, 2))) for axis in axes]
        steps = [1 if kind != "cut" else draw(st.sampled_from([1, 1, 2])) for _ in axes]
        strides, pace = [0] * len(shape), 1
        for axis, width, step in reversed(list(zip(axes, widths, steps, strict=True))):
            strides[axis] = pace * step
            pace *= max(width * step, 1)
        if kind == "broadcast":
            strides = [0 if draw(st.booleans()) else stride for stride in strides]
        strides = tuple(strides)
    low, high = reach(shape, strides)
    if inside or not draw(happens[6]):
        offset -= low
    elements = max(offset + high + 1, 1)
    if inside:
        storage = elements + draw(st.sampled_from([0, 0, 1, 5]))
    else:
        storage = max(elements + draw(st.sampled_from([0, 0, 1, -1, 5, 0])), 0)
    rows = draw(st.sampled_from([d for d in (1, 2, 3) if storage % d == 0]))
    storage_shape = (storage,) if rows == 1 else (rows, storage // rows)
    null_strides = kind == "dense" and draw(st.booleans())
    return TensorDesc(dtype, shape, None if null_strides else strides, offset, storage_shape)


@st.composite
def maybe_null(draw, descriptor):
    """A descriptor, or now and then the null pointer."""
    return None if draw(happens[24]) else draw(descriptor)


@st.composite
def backward_arguments(draw):
    """gradOutput, self, gradInput: mostly what goes together, often with one fault or two."""
    target = draw(shapes())
    kinds = [draw(dtypes) for _ in range(3)]
    given_grad, given_self = draw(partners(target)), draw(partners(target))
    try:
        met = np.broadcast_shapes(given_grad, given_self)
    except ValueError:
        met = target
    out = draw(partners(target)) if draw(happens[12]) else met
    wanted = (given_grad, given_self, tuple(out))
    return [
        draw(maybe_null(views(shape, dtype))) for shape, dtype in zip(wanted, kinds, strict=True)
    ]


@st.composite
def forward_arguments(draw):
    """self and out: mostly of one shape."""
    shape = draw(shapes())
    out = draw(partners(shape)) if draw(happens[12]) else shape
    return [draw(maybe_null(views(s, draw(dtypes)))) for s in (shape, out)]


# -- the second reading --------------------------------------------------------


def touched(desc):
    """The storage element behind every element of the view, in row-major order."""
    return [
        desc.offset + sum(i * stride for i, stride in zip(index, desc.strides, strict=True))
        for index in itertools.product(*map(range, desc.shape))
    ]


def reach(shape, strides):
    """Lowest and highest element of a view without offset; (0, 0) when it is empty."""
    places = [
        sum(i * stride for i, stride in zip(index, strides, strict=True))
        for index in itertools.product(*map(range, shape))
    ]
    return (min(places), max(places)) if places else (0, 0)


def lies_in_order(desc):
    """Whether the view's elements follow one another in memory."""
    places = touched(desc)
    return all(b == a + 1 for a, b in itertools.pairwise(places))


def leaves_storage(desc):
    """Whether a view touches an element that its storage does not have."""
    elements = math.prod(desc.storage_shape)
    return any(not 0 <= place < elements for place in touched(desc))


def supported(desc, bf16):
    """Whether the dtype is one of the list."""
    return desc.dtype.name in ("DT_FLOAT", "DT_FLOAT16") or (bf16 and desc.dtype.name == "DT_BF16")


def backward_code(grad, self, lambd, out, soc: Soc) -> int:
    """What phase 1 of the backward operator returns, one check after the other."""
    if grad is None or self is None or lambd is None or out is None:
        return 161001
    for desc in (grad, self, out):
        if not supported(desc, bf16=soc.npu_arch in (2201, 3510)):
            return 161002
    for desc in (grad, self, out):
        if len(desc.shape) > 8:
            return 161002
    if 0 in grad.shape or 0 in self.shape:
        return 0
    try:
        shape = np.broadcast_shapes(grad.shape, self.shape)
    except ValueError:
        return 161002
    if out.shape != shape:
        return 161002
    for desc in (self, grad):
        if not lies_in_order(desc) and leaves_storage(desc):
            return 561103
    return 0


def forward_code(self, lambd, out, soc: Soc) -> int:
    """What phase 1 of the forward operator returns, one check after the other."""
    if self is None or lambd is None or out is None:
        return 161001
    for desc in (self, out):
        if not supported(desc, bf16=soc.short not in ("Ascend910", "Ascend310P")):
            return 161002
    if self.shape != out.shape:
        return 161002
    if len(self.shape) > 8:
        return 161002
    if 0 in self.shape:
        return 0
    return 561103 if not lies_in_order(self) and leaves_storage(self) else 0
