"""The error list behind aclGetRecentErrMsg: one per thread, emptied by reading.

Models cann/runtime 681ef761 src/dfx/error_manager/error_manager.cc:435-549 as
it was seen to run: equal entries are kept once, success clears nothing, the
text shows one code only. The codes and values are CANN's, the sentences are
the lab's.
"""

from __future__ import annotations

import threading

from labkit.op.contract import Message

__all__ = ["MessageStore"]

_TITLES = {
    "EZ1001": "AclNN_Parameter_Error",
    "EZ9903": "AclNN_Runtime_Error",
    "EZ9999": "AclNN_Inner_Error",
}


class MessageStore(threading.local):
    """What went wrong in this thread since the list was last read."""

    def __init__(self) -> None:
        self.entries: list[Message] = []
        self.last: object = None

    def add(self, message: Message) -> None:
        """Store an entry unless an equal one is there."""
        if message not in self.entries:
            self.entries.append(message)

    def report(self, code: str, text: str, *values: str, **fields: str) -> None:
        """Store an entry given by its parts."""
        self.add(Message(code, values, text, tuple(fields.items())))

    def report_null(self, function: str, parameter: str) -> None:
        """Store what a null pointer leaves in the calls on tensors' addresses and executors."""
        self.report(
            "EZ1011",
            f"{function}: {parameter} is a null pointer",
            functionName=function,
            paraName=parameter,
        )

    def take(self) -> list[Message]:
        """All entries, oldest first; the list is empty afterwards."""
        entries, self.entries = self.entries, []
        return entries

    def take_text(self) -> str | None:
        """The text of aclGetRecentErrMsg, or None when nothing is stored.

        The head line has the code of the first entry that is not an internal
        one; the others follow without their codes. With internal entries
        only, an internal-error line comes first.
        """
        entries = self.take()
        if not entries:
            return None
        head = next((e for e in entries if not e.code.endswith(("9999", "8888"))), None)
        if head is None:
            code = entries[0].code
            lines = [f"{code}: internal error", f"{code}: {entries[0].text} ({code})"]
            head = entries[0]
        else:
            title = _TITLES.get(head.code, "Error")
            lines = [f"{head.code}: {title}: {head.text}"]
        rest = [entry for entry in entries if entry is not head]
        if rest:
            lines.append("        Trace back:")
            lines += [f"        {entry.text}" for entry in rest]
        return "\n".join(lines)
