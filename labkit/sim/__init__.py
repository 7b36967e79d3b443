"""The software NPU: CANN's C interface answered in Python, behaving as the real code does.

heap (device memory) · config, streams, runtime, queues, memory (the runtime half) ·
tensors, launches, executors, opcache, phases, refusals, kernels, messages, own (the
aclnn half) · faults (what a test can break) · npu (all of it as a library).
"""

from __future__ import annotations

from labkit.sim.npu import SoftwareNpu
from labkit.sim.own import add_operator, remove_operator

__all__ = ["SoftwareNpu", "add_operator", "remove_operator"]
