"""A kernel as a machine reported it, and what else was reported with it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from labkit.errors import LabValueError
from labkit.language import gettext as _
from labkit.op.plan import Launch

__all__ = [
    "Api",
    "Observation",
    "ObservedKernel",
    "Statistic",
    "count_text",
    "kernel_name",
    "l0_name",
]


def l0_name(launch: Launch) -> str:
    """The l0 function that launches a kernel, as profiles and logs name it.

    Sources: cann/ops-math c4193324 conversion/*/op_api and math/cast/op_api,
    cann/ops-nn e5c3fa93 activation/hard_shrink_grad/op_api.
    """
    if launch.core == "RTS":
        return "CopyNpuToNpu"
    if launch.op_type.startswith("HardShrink"):
        return launch.op_type
    return launch.op_type + ("AiCpu" if launch.core == "AICPU" else "AiCore")


def kernel_name(operator: str, launch: Launch) -> str:
    """A kernel's name in a profile: operator, l0 function, op type."""
    return f"{operator}_{l0_name(launch)}_{launch.op_type}"


@dataclass(frozen=True)
class ObservedKernel:
    """One kernel that ran. None means that the source does not tell.

    `core` is AICORE, AICPU or RTS as in a plan, `task_type` the source's own
    word (AI_VECTOR_CORE, MIX_AIV, ...). `shapes` and `dtypes` are those of the
    inputs and of the outputs; dtypes carry CANN's names without DT_. Times are
    microseconds of the device.
    """

    op_type: str
    name: str = ""
    core: str | None = None
    task_type: str = ""
    block_dim: int | None = None
    input_shapes: tuple[tuple[int, ...], ...] | None = None
    input_dtypes: tuple[str, ...] | None = None
    output_shapes: tuple[tuple[int, ...], ...] | None = None
    output_dtypes: tuple[str, ...] | None = None
    start: float | None = None
    duration: float | None = None
    wait: float | None = None
    device: int | None = None
    stream: int | None = None
    state: str = ""


@dataclass(frozen=True)
class Statistic:
    """One line of op_statistic: kernels of a type, their count and times in microseconds."""

    op_type: str
    core_type: str
    count: int
    total: float | None
    least: float | None
    average: float | None
    most: float | None


@dataclass(frozen=True)
class Api:
    """One line of api_statistic: a host function, how often, and its times in microseconds."""

    level: str
    name: str
    count: int
    total: float | None
    average: float | None


@dataclass(frozen=True)
class Observation:
    """Everything that one source told, in the order in which the kernels started.

    `source` says what it is: a profile by its files, or the software NPU.
    `measured` is False for what no NPU has measured: the software NPU's
    launches, and format samples.
    """

    source: str
    kernels: tuple[ObservedKernel, ...]
    measured: bool
    statistics: tuple[Statistic, ...] = ()
    apis: tuple[Api, ...] = ()
    tasks: tuple[ObservedKernel, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        kernels = ", ".join(kernel.op_type for kernel in self.kernels) or "-"
        told = [_(self.source), _("kernels: {names}").format(names=kernels)]
        return "\n".join([*told, *(_(note) for note in self.notes)])

    def of(self, operator: str) -> Observation:
        """Only the kernels of one aclnn operator, by the beginning of their names.

        A kernel's name is `operator_l0_optype`; kernels without a name are kept.
        """
        kept = tuple(
            kernel
            for kernel in self.kernels
            if not kernel.name or kernel.name.split("_")[0] == operator
        )
        return replace(self, kernels=kept)

    def on(self, device: int | None = None, stream: int | None = None) -> Observation:
        """Only what ran on a device and a stream; None takes all.

        Raises `LabValueError` where there is nothing on it, with what there is.
        """
        kept = self
        for name, wanted in (("device", device), ("stream", stream)):
            if wanted is None:
                continue
            here = [getattr(kernel, name) for kernel in kept.kernels]
            if wanted not in here:
                raise _not_here(name, wanted, sorted({n for n in here if n is not None}))
            kernels = tuple(kernel for kernel, n in zip(kept.kernels, here) if n == wanted)
            kept = replace(kept, kernels=kernels)
        return kept


def _not_here(name: str, wanted: int, there: list[int]) -> LabValueError:
    told = ", ".join(map(str, there[:20])) + (", ..." if len(there) > 20 else "")
    if not there:
        return LabValueError(
            _("the source does not tell on which {name} a kernel ran").format(name=name)
        )
    return LabValueError(
        _("no kernel ran on {name} {n}; right would be one of {numbers}").format(
            name=name, n=count_text(wanted), numbers=told
        )
    )


def count_text(number: int) -> str:
    """A number that was given, however long."""
    return str(number) if abs(number) < 10**18 else _("very large")
