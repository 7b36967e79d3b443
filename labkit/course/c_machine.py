"""Running a `CProgram` line by line through the C interface.

The calls go through the same door as those of the lab's own host program
(`labkit.host.capi`), to a software NPU or to an open device. What no C program
survives (a copy past the end of a host array) is refused before it is called.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.cann.interface import constants, ffi, prototypes
from labkit.course.c_program import CLine, CProgram
from labkit.draw.numbers import number_text
from labkit.errors import LabError, LabValueError
from labkit.host.capi import CApi
from labkit.host.device import Device
from labkit.language import Text
from labkit.language import gettext as _
from labkit.sim import SoftwareNpu

__all__ = ["CMachine", "CRun", "MadeCall", "run_program"]

AROUND = frozenset(
    "aclInit aclrtSetDevice aclrtCreateStream aclrtDestroyStream aclrtResetDevice aclFinalize"
    " aclnnInit aclnnFinalize".split()
)
"""The calls that open and close a device; an open one has made the first and will make the rest."""

_HEX = re.compile(r"0x[0-9a-f]+")
_NEAR = 1 << 30
_COLUMNS = 88


@dataclass(frozen=True)
class MadeCall:
    """A line and what came of it.

    `status` is the code returned, None for a function that returns no code;
    `returned` is what a reader sees: the code, "made" for a new object, null,
    a text, or "skipped". `error` is what the software NPU caught, in words.
    """

    line: CLine
    returned: str
    status: int | None = None
    error: LabError | None = None
    words: str = ""

    @property
    def failed(self) -> bool:
        """Whether a code other than 0 or an error came back."""
        return bool(self.status) or self.error is not None


class CMachine:
    """Variables of a program while it runs; `call` makes one call.

    `memory` maps a variable to address and size of the device memory it got.
    """

    def __init__(self, program: CProgram, on: SoftwareNpu | Device) -> None:
        self.ffi = ffi()
        self.host = {name: np.array(value) for name, value in program.host.items()}
        self.values: dict[str, Any] = dict.fromkeys(program.names)
        self.memory: dict[str, tuple[int, int]] = {}
        self.skips: frozenset[str] = frozenset()
        self._do: Callable[[Callable[[], Any]], Any] = lambda function: function()
        if isinstance(on, Device):
            self.api, self._do, self.skips = on.api, on.run, AROUND
            self.values["stream"] = on.stream
        else:
            self.api = CApi(on)

    def call(self, line: CLine) -> MadeCall:
        """Make one call; never raises what the call itself leads to."""
        try:
            if line.name in self.skips or (line.condition and not self._number(line.condition)):
                return MadeCall(line, "skipped")
            result, received = self._do(lambda: self._called(line))
        except LabError as error:
            self._note(line)
            name = type(error).__name__
            return MadeCall(line, name, error=error, words=self.named(str(error)))
        self.values.update(received)
        self._note(line)
        if prototypes()[line.name].returns in ("aclError", "aclnnStatus"):
            return MadeCall(line, str(result), int(result))
        if line.result:
            self.values[line.result] = result
        return MadeCall(line, self._shown(result))

    def _called(self, line: CLine) -> tuple[Any, dict[str, Any]]:
        self._refuse_outside(line)
        cells: dict[str, Any] = {}
        params = prototypes()[line.name].params
        args = [self._argument(arg, ctype, cells) for arg, (ctype, _) in zip(line.args, params)]
        try:
            result = self.api.call(line.name, *args)
        except (TypeError, OverflowError) as error:
            raise LabValueError(
                Text("a C compiler would not take this line: {error}", error=str(error))
            ) from None
        return result, {name: cell[0] for name, cell in cells.items()}

    def _argument(self, arg: str, ctype: str, cells: dict[str, Any]) -> Any:
        if arg.lstrip("-").isdigit():
            return int(arg)
        if arg in ("nullptr", "NULL"):
            return self.ffi.NULL
        if arg in constants():
            return constants()[arg]
        name = arg.lstrip("&")
        if name in self.host:
            kind = ctype.removeprefix("const").strip()
            kind = kind if kind.endswith("*") else "void *"
            return self.ffi.cast(kind, self.host[name].ctypes.data)
        if name not in self.values:
            raise LabValueError(Text("nothing in this program is called {name}", name=name))
        value = self.values[name]
        if arg.startswith("&"):
            cells[name] = self.ffi.new(ctype)
            if value is not None:
                cells[name][0] = value
            return cells[name]
        if value is None:
            return 0 if ctype.startswith(("uint", "int", "size_t")) else self.ffi.NULL
        return value

    def _number(self, name: str) -> int:
        value = self.values.get(name)
        return value if isinstance(value, int) else 0

    def _note(self, line: CLine) -> None:
        """Remember which variable got which device memory."""
        if line.name.startswith("aclrtMalloc") and line.args[0].startswith("&"):
            name, size = line.args[0][1:], line.args[1]
            value = self.values.get(name)
            if value is not None and self._address(value):
                count = int(size) if size.isdigit() else self._number(size)
                self.memory[name] = (self._address(value), count)

    def _refuse_outside(self, line: CLine) -> None:
        """A copy may touch host arrays as far as they go, and device memory."""
        params = [name for _, name in prototypes()[line.name].params]
        given = dict(zip(params, line.args))
        if line.name.startswith("aclrtMemcpy"):
            count = self._count(given["count"])
            for name in (given["dst"], given["src"]):
                if name in self.host and count > self.host[name].nbytes:
                    raise LabValueError(
                        Text(
                            "{name} has {size} bytes, this line copies {count}",
                            name=name,
                            size=self.host[name].nbytes,
                            count=count,
                        )
                    )
                known = name in self.host or name in self.memory or name in ("nullptr", "NULL")
                if not known and self.values.get(name) is not None:
                    raise LabValueError(
                        Text("{name} is no memory that a copy could touch", name=name)
                    )
        for name, number in given.items():
            dims = given.get(name.removesuffix("Num"), "")
            if name.endswith("Num") and dims in self.host:
                if self._count(number) > self.host[dims].size:
                    raise LabValueError(
                        Text(
                            "{name} has {size} numbers, not {number}",
                            name=dims,
                            size=self.host[dims].size,
                            number=number,
                        )
                    )

    def _count(self, text: str) -> int:
        return int(text) if text.lstrip("-").isdigit() else self._number(text)

    def _address(self, value: Any) -> int:
        return int(self.ffi.cast("uintptr_t", value)) if isinstance(value, self.ffi.CData) else 0

    def _shown(self, result: Any) -> str:
        if not isinstance(result, self.ffi.CData):
            return str(result)
        if result == self.ffi.NULL:
            return "null"
        if self.ffi.typeof(result) is self.ffi.typeof("char *"):
            return str(self.ffi.string(result).decode(errors="replace"))
        return "made"

    def named(self, text: str) -> str:
        """A text with the program's variables in place of their addresses."""
        known = {self._address(v): name for name, v in self.values.items() if v is not None}

        def name(match: re.Match[str]) -> str:
            address = int(match[0], 16)
            if address in known:
                return known[address]
            before = [(at, variable) for variable, (at, _) in self.memory.items() if at < address]
            start, variable = max(before, default=(0, ""))
            # Also behind a block's end: that is where a kernel writes that got too little.
            return f"{variable} + {address - start}" if address - start < _NEAR else match[0]

        return _HEX.sub(name, text)


@dataclass(frozen=True)
class CRun:
    """What a run of a program did: its calls, the host memory afterwards, what was not given back.

    `numbers` are the variables that received a number, `message` the
    library's words on the first code that was not 0. `launched` and `executed`
    are the kernels that phase 2 put into the stream and those that have run,
    by name; `leaks` a line for each thing that is left. The last three are
    empty on an open device.
    """

    calls: tuple[MadeCall, ...]
    host: dict[str, npt.NDArray[Any]]
    output: str = ""
    numbers: dict[str, int] = field(default_factory=dict)
    launched: tuple[str, ...] = ()
    executed: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()
    message: str = ""

    @property
    def failed(self) -> MadeCall | None:
        """The first call that returned a code other than 0 or raised an error."""
        return next((call for call in self.calls if call.failed), None)

    @property
    def result(self) -> npt.NDArray[Any]:
        """The host array that the program was to fill."""
        return self.host[self.output]

    @property
    def result_text(self) -> str:
        """The numbers of the result, on one line."""
        return "  ".join(number_text(float(value)) for value in self.result.reshape(-1))

    def __str__(self) -> str:
        """The first failing call with its words; else the result and what was left."""
        failed = self.failed
        told = []
        if failed is not None:
            number = self.calls.index(failed) + 1
            told.append(_("line {number}: {call}").format(number=number, call=failed.line.name))
            if failed.status:
                told.append(_("returned {code}").format(code=failed.status))
            else:
                told += [failed.returned, *textwrap.wrap(failed.words, _COLUMNS)]
        else:
            told.append(_("all {n} calls fine").format(n=len(self.calls)))
        if self.output:
            told.append(f"{self.output}: {self.result_text}")
        # Of a program that was stopped everything is left; that says nothing.
        stopped = self.calls and self.calls[-1].failed
        told += [] if stopped else [_("left: {leak}").format(leak=leak) for leak in self.leaks]
        return "\n".join(told)


def steps(machine: CMachine, program: CProgram, *, check: bool = True) -> Iterator[MadeCall]:
    """Make the calls one by one; ends behind an error, with `check` behind a code as well."""
    for line in program.lines:
        made = machine.call(line)
        yield made
        if made.error is not None or (check and made.status):
            return


def run_program(
    program: CProgram,
    device: Device | None = None,
    *,
    soc: str | None = "950",
    strict: bool = True,
    check: bool = True,
) -> CRun:
    """Run a program; see `CProgram.run`."""
    npu = None if device is not None else SoftwareNpu(soc, strict=strict, environ={})
    machine = CMachine(program, device or npu)  # type: ignore[arg-type]
    calls = tuple(steps(machine, program, check=check))
    bad = next((call for call in calls if call.status), None)
    return CRun(
        calls,
        machine.host,
        program.output,
        {name: value for name, value in machine.values.items() if isinstance(value, int)},
        launched=() if npu is None else tuple(entry.op_type for entry in npu.log),
        executed=() if npu is None else tuple(task.op_type for task in npu.executed),
        leaks=() if npu is None else tuple(machine.named(leak) for leak in npu.leaks()),
        message="" if bad is None else machine.api.recent_message(),
    )
