"""What a machine says, beside what the model says.

    >>> from labkit.observe import compare, observe_software, read_profile
    >>> import labkit
    >>> with labkit.open_device("sim") as dev:
    ...     call = labkit.hardshrink_backward([[1.0, 1.0]], [[0.2, 0.8]], device=dev)
    >>> compare(call, observe_software(call)).agrees
    True

`read_profile(folder)` reads what msprof wrote, `profile(script)` runs a script
under it, `observe_software` takes the launches that the software NPU executed,
`observe(call)` does what fits the device. `compare` lays predicted and observed
kernels side by side, `unseen` lists what no profile shows. `read_log` reads
CANN's host log; `timing` measures on a device; `samples` makes files to try
the readers on, which are marked as no measurements.
"""

from __future__ import annotations

from labkit.observe.again import call_script, observe
from labkit.observe.compare import Comparison, Line, ObservedDifference, compare
from labkit.observe.kernels import Observation, ObservedKernel
from labkit.observe.logs import read_log
from labkit.observe.msprof import profile
from labkit.observe.plog import LoggedCall, LogLine, calls, observe_log
from labkit.observe.profile import ProfileError, read_profile
from labkit.observe.software import observe_software
from labkit.observe.unseen import Unseen, unseen

__all__ = [
    "Comparison",
    "Line",
    "LogLine",
    "LoggedCall",
    "Observation",
    "ObservedDifference",
    "ObservedKernel",
    "ProfileError",
    "Unseen",
    "call_script",
    "calls",
    "compare",
    "observe",
    "observe_log",
    "observe_software",
    "profile",
    "read_log",
    "read_profile",
    "unseen",
]
