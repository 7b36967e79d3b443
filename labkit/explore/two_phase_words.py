"""What the two-phase panel says about a call, and about what became of a program."""

from __future__ import annotations

from labkit.cann.codes import name_of
from labkit.course.c_machine import MadeCall
from labkit.course.c_program import CLine
from labkit.language import Text

__all__ = ["REASONS", "caption", "short", "verdict"]

REASONS = (
    Text("phase 2 has run, which releases it"),
    Text("phase 2 got a null workspace and released it"),
    Text("it was destroyed"),
)
"""Why an executor is gone, as the software NPU says it."""

_CAPTIONS = {
    "aclInit": Text("The library is ready; once per process."),
    "aclrtSetDevice": Text("This thread now has a device and its default context."),
    "aclrtCreateStream": Text("A stream: the queue through which the device gets its work."),
    "aclrtMalloc": Text("Room in device memory. It is not cleared: it holds poison here."),
    "aclnnHardshrinkBackwardGetWorkspaceSize": Text(
        "Phase 1 checked and planned: launches and workspace are settled, nothing has run."
    ),
    "aclnnHardshrinkBackward": Text(
        "Phase 2 put the planned kernels into the stream and came back; none of them has run."
    ),
    "aclrtSynchronizeStream": Text("The host waited until the stream was empty: the kernels ran."),
    "aclDestroyTensor": Text("The description is gone; the memory it described is not."),
    "aclDestroyScalar": Text("The scalar is gone."),
    "aclrtFree": Text("The block is given back; what was in it is lost."),
    "aclrtDestroyStream": Text("The stream is gone, after all its work has run."),
    "aclrtResetDevice": Text("The device is given back."),
    "aclFinalize": Text("The library is closed."),
    "aclCreateTensor": Text("A description: dtype, shape, strides and an address. No data moved."),
    "aclCreateScalar": Text("λ as an object; its value was copied."),
    "aclSetAclOpExecutorRepeatable": Text(
        "The executor will outlive its phase 2, and must be destroyed by hand."
    ),
    "aclDestroyAclOpExecutor": Text("The executor is gone."),
}
_COPY_IN = Text("The input was copied to the device; the call came back when it was there.")
_COPY_OUT = Text("The output was copied to the host, as it was: a copy does not wait for streams.")


def caption(made: MadeCall) -> Text:
    """What a call did, in a sentence."""
    if made.returned == "skipped":
        return Text("Skipped: phase 1 asked for no workspace.")
    if made.error is not None:
        return Text("The software NPU caught this call.")
    if made.status:
        return Text("The call refused: {code}.", code=f"{made.status} {name_of(made.status)}")
    if made.line.name == "aclrtMemcpy":
        return _COPY_OUT if made.line.args[0] == "outHost" else _COPY_IN
    return _CAPTIONS[made.line.name]


def short(line: CLine) -> str:
    """A line as the list has room for it: without sizes' policies, kinds and descriptions."""
    name, args = line.name, line.args
    if name.startswith("aclnn"):
        return name
    if name == "aclrtMalloc":
        shown = f"{name}({args[0]}, {args[1]})"
    elif name == "aclrtMemcpy":
        shown = f"{name}({args[0]}, {args[2]})"
    elif line.result:
        shown = f"{line.result} = {name}"
    else:
        shown = f"{name}({', '.join(args)})"
    return f"if > 0: {shown}" if line.condition else shown


def verdict(
    faulty: MadeCall | None,
    *,
    notes: tuple[str, ...],
    message: str,
    output: str,
    late: int,
    leaks: tuple[str, ...],
    ended: bool,
    fault: bool,
) -> tuple[Text | None, bool]:
    """What is wrong so far or, at the end, whether all is well; and whether it is bad.

    None while nothing is to be said.

    `faulty` is the first call that failed, `notes` what lenient mode let pass,
    `message` the library's words, `output` the state of the result on the
    host, `late` the call in which a kernel ran last (0: none did), `fault`
    whether the program has a mistake in it.
    """
    if faulty is not None and faulty.error is not None:
        kind = type(faulty.error).__name__
        return Text("Caught, {kind}: {words}", kind=kind, words=faulty.words), True
    if notes:
        return Text("Let pass: {note}", note=notes[0]), True
    if faulty is not None:
        name = name_of(faulty.status or 0)
        said = {"call": faulty.line.name, "code": faulty.status, "name": name}
        if not message:
            return Text("{call} returned {code} {name}, without a message.", **said), True
        first = message.splitlines()[0]
        return Text("{call} returned {code} {name}: {message}", message=first, **said), True
    if output == "poison":
        told = Text("Every code was 0, yet outHost holds poison: no kernel had written outAddr.")
        if late:
            told = Text(
                "Every code was 0, yet outHost holds poison: the kernels ran only in call {late}.",
                late=late,
            )
        return told, True
    if output == "wrong":
        return Text("Every code was 0, yet outHost does not hold the result."), True
    if not ended:
        return None, False
    if leaks:
        return Text("Left behind: {leaks}.", leaks="; ".join(leaks)), True
    if output == "before":
        return Text("Every code was 0, yet nothing has been computed."), True
    if fault:
        return Text("Nothing noticed this mistake: the result is right, by luck."), True
    return Text("✓ The result is right, and everything was given back."), False
