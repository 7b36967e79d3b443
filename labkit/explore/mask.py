"""The mask panel: λ by slider or typed, dtype and shape by choice, the mask by the operator.

Every state runs aclnnHardshrinkBackward on the device with a gradient of ones;
the picture shows what came back.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from labkit.draw.mask import HEIGHT, WIDTH, MaskPicture, mask_figure
from labkit.draw.mask_view import MaskView, alt_text
from labkit.draw.theme import quick_png
from labkit.errors import AclnnError, LabError, LabValueError
from labkit.explore.field import run_mask
from labkit.explore.panel import Panel, Problem, Rendered
from labkit.host.device import Device
from labkit.op.dtypes import data_type
from labkit.operators import default_device

if TYPE_CHECKING:
    from labkit.explore.shell import Controls

__all__ = ["DTYPES", "GRAD_DTYPES", "SHAPES", "MaskPanel", "MaskState", "bench_step", "mask"]

DTYPES = ("float32", "float16", "bfloat16")
GRAD_DTYPES = ("same as self", *DTYPES)
SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "(8, 8)": ((8, 8), (8, 8)),
    "(64, 64)": ((64, 64), (64, 64)),
    "(256, 256)": ((256, 256), (256, 256)),
    "grad (64, 1), self (64, 64)": ((64, 1), (64, 64)),
    "grad (64, 64), self (1, 64)": ((64, 64), (1, 64)),
    "grad (2, 3), self (4,)": ((2, 3), (4,)),
}
"""Shapes of grad and self by the words of the menu. The last pair does not broadcast."""

_LEAST, _MOST, _STEP = -0.5, 1.5, 0.01


@dataclass(frozen=True)
class MaskState:
    """What the panel was asked to show.

    `lambd` is the number, `typed` how it was written; `dtype` that of self;
    `grad_dtype` one of `GRAD_DTYPES`, `shape` a key of `SHAPES`.
    """

    lambd: float = 0.5
    typed: str = "0.5"
    dtype: str = "float32"
    grad_dtype: str = GRAD_DTYPES[0]
    shape: str = "(64, 64)"


def mask(
    device: Device | None = None,
    *,
    lambd: Any = 0.5,
    dtype: Any = "float32",
    grad_dtype: Any = GRAD_DTYPES[0],
    shape: Any = "(64, 64)",
    theme: str = "light",
    name: str = "mask",
    raise_errors: bool | None = None,
) -> MaskPanel:
    """Open the mask panel, which shows the elements that get their gradient.

    `device` None is the default device. The other arguments are where the
    controls start; `panel.set(lambd=0.3, dtype="float16")` moves them. Running
    the cell again replaces the panel of the same `name`.

    >>> import labkit
    >>> panel = labkit.explore.mask(lambd=0.3, dtype="float16")
    >>> panel.set(lambd=-1).state.lambd
    -1.0
    >>> panel.close()
    """
    start = {"lambd": lambd, "dtype": dtype, "grad_dtype": grad_dtype, "shape": shape}
    return MaskPanel(device, start, theme=theme, name=name, raise_errors=raise_errors)


class MaskPanel(Panel[MaskState]):
    """The mask panel; see `mask`. `view` is what the picture shows, as data."""

    size = (WIDTH, HEIGHT)

    def __init__(
        self,
        device: Device | None,
        start: dict[str, Any],
        *,
        theme: str = "light",
        name: str = "mask",
        raise_errors: bool | None = None,
    ) -> None:
        self.device = device
        self.view: MaskView | None = None
        self._drawn = MaskPicture(theme)
        state = self.changed(MaskState(), start)
        super().__init__(name, state, self._rendered, raise_errors=raise_errors)

    def _rendered(self, state: MaskState) -> Rendered | Problem:
        try:
            view = look(self.device or default_device(), state)
        except AclnnError as error:
            return refusal(error)
        self._drawn.update(view)
        self.view = view
        return Rendered(self._drawn.png(), alt_text(view))

    def changed(self, state: MaskState, changes: dict[str, Any]) -> MaskState:
        """The state with what was typed or chosen; raises `LabValueError` where it cannot be."""
        wanted = dict(changes)
        if "lambd" in wanted:
            wanted["lambd"], wanted["typed"] = read_number(wanted["lambd"])
        elif "typed" in wanted:
            raise LabValueError("set lambd; what was typed follows from it")
        if "dtype" in wanted:
            wanted["dtype"] = _chosen("dtype", _dtype_name(wanted["dtype"]), DTYPES)
        if "grad_dtype" in wanted:
            kind = _dtype_name(wanted["grad_dtype"])
            kind = GRAD_DTYPES[0] if kind == "same" else kind
            wanted["grad_dtype"] = _chosen("grad_dtype", kind, GRAD_DTYPES)
        if "shape" in wanted:
            wanted["shape"] = _chosen("shape", str(wanted["shape"]), tuple(SHAPES))
        return replace(state, **wanted)

    def controls(self) -> Controls:
        """λ as slider and box, dtype, gradient dtype, shapes."""
        import ipywidgets as widgets

        from labkit.explore.shell import Controls

        wide = {"description_width": "initial"}
        slider = widgets.FloatSlider(
            description="λ",
            min=_LEAST,
            max=_MOST,
            step=_STEP,
            readout=False,
            continuous_update=self._is_quick(),
            style=wide,
            layout=widgets.Layout(width="360px"),
        )
        box = widgets.Text(
            description="λ, typed:",
            continuous_update=False,
            style=wide,
            layout=widgets.Layout(width="220px"),
        )
        menus = {
            name: widgets.Dropdown(
                description=words,
                options=options,
                style=wide,
                layout=widgets.Layout(width=width),
            )
            for name, words, options, width in (
                ("dtype", "self is", DTYPES, "150px"),
                ("grad_dtype", "grad is", GRAD_DTYPES, "180px"),
                ("shape", "shapes", tuple(SHAPES), "290px"),
            )
        }

        def sync(state: MaskState) -> None:
            box.value = state.typed
            place = min(max(state.lambd, _LEAST), _MOST)
            if place == place and place != slider.value:  # a NaN leaves the slider where it is
                slider.value = place
            for name, menu in menus.items():
                menu.value = getattr(state, name)

        controls = Controls([[slider, box], list(menus.values())], sync)
        controls.when(slider, lambda value: self.set(lambd=f"{value:.2f}".rstrip("0").rstrip(".")))
        controls.when(box, lambda value: self.set(lambd=value))
        for name, menu in menus.items():
            controls.when(menu, _setter(self, name))
        return controls

    def _is_quick(self) -> bool:
        """Whether every move of the slider is worth a run: on the software NPU, not on an NPU."""
        try:
            return (self.device or default_device()).kind == "sim"
        except LabError:
            return False


def _setter(panel: MaskPanel, name: str) -> Callable[[Any], Any]:
    return lambda value: panel.set(**{name: value})


def look(device: Device, state: MaskState) -> MaskView:
    """Run the operator for a state; depends on nothing but its arguments."""
    grad_shape, self_shape = SHAPES[state.shape]
    same = state.grad_dtype == GRAD_DTYPES[0]
    return run_mask(
        device,
        dtype=state.dtype,
        grad_dtype=state.dtype if same else state.grad_dtype,
        self_shape=self_shape,
        grad_shape=grad_shape,
        lambd=state.lambd,
        typed=state.typed,
    )


def refusal(error: AclnnError) -> Problem:
    """What a panel says when the operator refuses: the code, its name, the library's reason."""
    reason = (error.message or str(error)).strip().splitlines()[0]
    return Problem(f"{error.status} {error.name}: {reason}", str(error), expected=True)


def read_number(value: Any) -> tuple[float, str]:
    """A number and how it is written; takes what people type: −1, 1e-8, nan, ∞.

    >>> read_number("−0.5"), read_number(0.25)
    ((-0.5, '−0.5'), (0.25, '0.25'))
    """
    if isinstance(value, str):
        written = value.strip()
        try:
            return float(written.replace("−", "-").replace("∞", "inf")), written
        except ValueError:
            raise LabValueError(
                f"λ is {written!r}, which is no number; right would be 0.3, −1, 1e-8, nan or inf"
            ) from None
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise LabValueError(f"λ must be a number, not {value!r}") from error
    return number, repr(number)


def _dtype_name(value: Any) -> str:
    if value in (*GRAD_DTYPES, "same"):
        return str(value)
    return str(data_type(value).numpy.name)


def _chosen(name: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise LabValueError(f"{name} is {value!r}; right would be one of: {'; '.join(known)}")
    return value


def bench_step(steps: int = 30) -> tuple[float, float]:
    """Median seconds of a slider step and of a full redraw, in turn, on the software NPU.

    A step is everything the kernel does from a new λ to the PNG: two runs of
    the backward and one of the forward operator, what changes in the picture,
    the PNG. A full redraw does the same with a new figure.
    """
    from labkit.operators import open_device

    spent: tuple[list[float], list[float]] = ([], [])
    with open_device("sim") as device:
        panel = mask(device, dtype="float16", name="mask bench", raise_errors=True)
        for step in range(steps + 3):
            lambd = 0.2 + step / 100
            start = time.perf_counter()
            panel.set(lambd=lambd)
            middle = time.perf_counter()
            canvas: Any = mask_figure(look(device, panel.state)).canvas
            quick_png(canvas.buffer_rgba())
            end = time.perf_counter()
            if step >= 3:  # the first ones draw their letters
                spent[0].append(middle - start)
                spent[1].append(end - middle)
        panel.close()
    return statistics.median(spent[0]), statistics.median(spent[1])
