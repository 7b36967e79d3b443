"""What building and running a C++ program comes to, as values that say it.

No compiler, a line that does not compile, a program that falls or never ends:
none of it is a Python error.
"""

from __future__ import annotations

import re
import signal
import tempfile
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path

from labkit.course.cpp_calls import Call, Names, read_log
from labkit.course.cpp_tools import (
    RUN_SECONDS,
    Finished,
    ToolError,
    Toolkit,
    compile_program,
    run_program,
    toolkit,
    workshop,
)
from labkit.errors import DeviceNotAvailable
from labkit.language import gettext as _

__all__ = ["Build", "Run", "built"]

_COLUMNS = 96
_FAILED = re.compile(r"^(\w+)\b.* returned (\d+)", re.MULTILINE)

_BUILT: dict[tuple[str, str, Path], Build] = {}


def built(name: str, text: str, on: str | None = None) -> Build:
    """Build a program once; the same text is not built again."""
    try:
        kit = toolkit(on)
        key = (name, text, kit.root)
        if key not in _BUILT:
            folder = Path(tempfile.mkdtemp(dir=workshop()))
            command, done = compile_program(text, name, folder, kit)
            _BUILT[key] = Build(name, folder, command, done, kit)
        return _BUILT[key]
    except (ToolError, DeviceNotAvailable) as error:
        return Build(name, why=_(error.args[0]))


@dataclass(frozen=True)
class Build:
    """What building came to: the command, and what the compiler said. `why`: it was not tried."""

    name: str
    folder: Path | None = None
    command: str = ""
    done: Finished | None = None
    kit: Toolkit | None = None
    why: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is a program to run."""
        return self.done is not None and self.done.code == 0

    def __repr__(self) -> str:
        if self.done is None:
            return _("not built: {why}").format(why=self.why)
        head, _space, tail = self.command.partition(" -L")
        lines = [f"{head} \\\n    -L{tail}" if tail else head]
        said = (self.done.output + self.done.errors).strip()
        lines += [said] if said else []
        if self.done.stopped:
            lines.append(_("the compiler was stopped, it took too long"))
        lines.append(_("built") if self.ok else _("not built"))
        return "\n".join(lines)

    def run(
        self,
        *args: str,
        strict: bool = True,
        soc: str = "",
        seconds: float = RUN_SECONDS,
    ) -> Run:
        """Run what was built; a `Run` that says why not where there is nothing to run."""
        if not self.ok or self.folder is None or self.kit is None:
            return Run(None, why=repr(self))
        with tempfile.TemporaryDirectory(dir=workshop()) as folder:
            log = Path(folder, "calls")
            done = run_program(
                self.folder,
                [self.name, *args],
                self.kit,
                strict=strict,
                soc=soc,
                seconds=seconds,
                log=log,
            )
            raw = read_log(log) if log.is_file() else ()
        names = Names()
        calls = tuple(names.call(call) for call in raw)
        done = replace(done, errors=names.text(done.errors))
        return Run(done, calls if self.kit.simulated else None)


@dataclass(frozen=True)
class Run:
    """What a run came to. `calls` is None where nobody kept a log of them, as on an NPU.

    `done` is None when there was nothing to run; then `why` says so. In what
    the program wrote to stderr, addresses are replaced by names (tensor#1).
    """

    done: Finished | None
    calls: tuple[Call, ...] | None = ()
    why: str = ""

    @property
    def output(self) -> str:
        """What it wrote to stdout, without the last newline; or why it did not run."""
        return self.why if self.done is None else self.done.output.rstrip("\n")

    @property
    def errors(self) -> str:
        """What it wrote to stderr, without the last newline."""
        return "" if self.done is None else self.done.errors.rstrip("\n")

    @property
    def code(self) -> int | None:
        """Its exit code; None when it did not run or did not end by itself."""
        return None if self.done is None or self.done.code < 0 else self.done.code

    @property
    def failed(self) -> str:
        """The call that the program complained of and its code; how it ended when there is none."""
        found = _FAILED.search(self.errors)
        return f"{found[1]} returned {found[2]}" if found else self.ending

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        if self.done is None:
            return _("it did not run")
        if self.done.stopped:
            return _("stopped: it had not come to an end after {n} seconds").format(
                n=f"{self.done.stopped:g}"
            )
        if self.done.code < 0:
            return _("ended by {signal}").format(signal=signal.Signals(-self.done.code).name)
        return _("exit code {code}").format(code=self.done.code)

    def __repr__(self) -> str:
        errors = (textwrap.fill(line, _COLUMNS) for line in self.errors.splitlines())
        return "\n".join(text for text in (self.output, *errors, self.ending) if text)
