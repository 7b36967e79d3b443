"""Faults that a test, or a lesson, can inject into the software NPU."""

from __future__ import annotations

__all__ = ["Faults"]

OUT_OF_MEMORY = 207001
LAUNCH_FAILED = 507011
VECTOR_CORE_EXCEPTION = 507035


class Faults:
    """Arm a fault; it fires once (or until taken back) and leaves the device usable.

    >>> faults = Faults()
    >>> faults.fail_malloc(2)
    >>> faults.malloc_code(), faults.malloc_code(), faults.malloc_code()
    (0, 207001, 0)
    """

    def __init__(self) -> None:
        self._malloc: tuple[int, int] | None = None
        self._calls: dict[str, tuple[int, int]] = {}
        self._launch: tuple[int, int] | None = None
        self._launcher: dict[str, int] = {}
        self._prepare: dict[str, int] = {}
        self._execution: dict[str, int] = {}

    def clear(self) -> None:
        """Take every armed fault back."""
        self.__init__()  # type: ignore[misc]

    def fail_malloc(self, nth: int = 1, code: int = OUT_OF_MEMORY) -> None:
        """The nth next aclrtMalloc returns `code`."""
        self._malloc = (nth, code)

    def fail_call(self, name: str, code: int, nth: int = 1) -> None:
        """The nth next call of a C function returns `code` and does nothing else."""
        self._calls[name] = (nth, code)

    def fail_runtime_launch(self, after: int = 0, code: int = LAUNCH_FAILED) -> None:
        """The runtime refuses a kernel launch after `after` good ones (phase 2: 361001)."""
        self._launch = (after, code)

    def fail_launcher(self, op_type: str, code: int | None) -> None:
        """The launcher of a kernel returns `code` in phase 2; None takes it back."""
        _arm(self._launcher, op_type, code)

    def fail_prepare(self, op_type: str, code: int | None) -> None:
        """A kernel cannot be prepared in phase 1 (561103 to the caller); None takes it back."""
        _arm(self._prepare, op_type, code)

    def fail_kernel(self, op_type: str, code: int = VECTOR_CORE_EXCEPTION) -> None:
        """The next execution of a kernel fails: the code comes out at synchronise."""
        self._execution[op_type] = code

    # -- asked by the software NPU ---------------------------------------------

    def malloc_code(self) -> int:
        """Code for this allocation, 0 when it may go on."""
        if self._malloc is None:
            return 0
        nth, code = self._malloc
        self._malloc = None if nth <= 1 else (nth - 1, code)
        return code if nth <= 1 else 0

    def call_code(self, name: str) -> int:
        """Code for this C call, 0 when it may go on."""
        if name not in self._calls:
            return 0
        nth, code = self._calls.pop(name)
        if nth <= 1:
            return code
        self._calls[name] = (nth - 1, code)
        return 0

    @property
    def armed_calls(self) -> bool:
        """Whether any C call is to fail (asked before every call, so it is cheap)."""
        return bool(self._calls)

    def launch_code(self) -> int:
        """Code of the runtime for this kernel launch, 0 when it may go on."""
        if self._launch is None:
            return 0
        after, code = self._launch
        self._launch = None if after <= 0 else (after - 1, code)
        return code if after <= 0 else 0

    def cancel_launch(self) -> None:
        """Take an armed launch failure back."""
        self._launch = None

    def launcher_code(self, op_type: str) -> int:
        """Code of a kernel's launcher, 0 when it may go on."""
        return self._launcher.get(op_type, 0)

    def prepare_code(self, op_type: str) -> int:
        """Code of a kernel's preparation, 0 when it may go on."""
        return self._prepare.get(op_type, 0)

    def execution_code(self, op_type: str) -> int:
        """Code of this execution, 0 when it may go on."""
        return self._execution.pop(op_type, 0)


def _arm(table: dict[str, int], key: str, code: int | None) -> None:
    if code is None:
        table.pop(key, None)
    else:
        table[key] = code
