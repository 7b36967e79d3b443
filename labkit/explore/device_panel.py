"""What the panels share that run the operator on a device, and refusals."""

from __future__ import annotations

import re
from typing import TypeVar

from labkit.errors import AclnnError, LabError
from labkit.explore.panel import Panel, Problem, Rendered
from labkit.host.device import Device
from labkit.operators import device_or_default

__all__ = ["DevicePanel", "refusal"]

State = TypeVar("State")


class DevicePanel(Panel[State]):
    """A panel that runs the operator on `device`; None is the default device.

    `drawn` turns a state into a picture; what the operator refuses there is
    shown as its code, its name and its reason.
    """

    def __init__(
        self, name: str, state: State, device: Device | None, *, raise_errors: bool | None = None
    ) -> None:
        self.device = device
        super().__init__(name, state, self._rendered, raise_errors=raise_errors)

    def _rendered(self, state: State) -> Rendered | Problem:
        try:
            return self.drawn(device_or_default(self.device), state)
        except AclnnError as error:
            return refusal(error)

    def drawn(self, device: Device, state: State) -> Rendered | Problem:
        """Run the operator for a state and draw what came back."""
        raise NotImplementedError

    def is_quick(self) -> bool:
        """Whether every move of a slider is worth a run: on the software NPU, not on an NPU."""
        try:
            return device_or_default(self.device).kind == "sim"
        except LabError:
            return False


def refusal(error: AclnnError) -> Problem:
    """What a panel says when the operator refuses: the code, its name, the library's reason."""
    reason = (error.message or str(error)).strip().splitlines()[0]
    reason = re.sub(r"^(E[A-Z]\d{4}: )?(Error: )?(\w+_\d+: )?", "", reason)  # stays in the details
    return Problem(f"{error.status} {error.name}: {reason}", str(error), expected=True)
