"""Who initialised the library: aclInit once per process and library, finalise only what is ours.

aclInit that answers 100002 was done by somebody else (torch_npu, a vendor
binding); then nothing here ever finalises, since that would take the runtime
away from them (cann/runtime: aclFinalize clears everybody's count).
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from labkit.cann.interface import CInterface
from labkit.host.capi import CApi

__all__ = ["REPEAT_INITIALIZE", "Session"]

REPEAT_INITIALIZE = 100002
_LOCK = threading.Lock()
_SESSIONS: dict[int, Session] = {}


class Session:
    """The use of one library by all devices that this process opened on it."""

    def __init__(self, interface: CInterface) -> None:
        self.interface = interface
        self.users = 0
        self.owned = False

    @classmethod
    def enter(cls, api: CApi) -> Session:
        """Count one more user; the first one calls aclInit. Raises `AclError` when that fails."""
        with _LOCK:
            session = _SESSIONS.setdefault(id(api.interface), cls(api.interface))
            if session.users == 0:
                try:
                    status = api.check("aclInit", _null(), accept=(0, REPEAT_INITIALIZE))
                except BaseException:
                    del _SESSIONS[id(api.interface)]
                    raise
                session.owned = status == 0
            session.users += 1
            return session

    def leave(self, api: CApi) -> int:
        """Count one user less; the last one finalises, if aclInit was ours. Returns the code."""
        with _LOCK:
            self.users -= 1
            if self.users:
                return 0
            _SESSIONS.pop(id(self.interface), None)
            if not self.owned:
                return 0
            if "torch_npu" not in sys.modules:
                return int(api.call("aclFinalize"))
            # torch_npu came after us and counts on the runtime: only give back our reference.
            if api.has("aclFinalizeReference"):
                return int(api.call("aclFinalizeReference", _null()))
            return 0


def _null() -> Any:
    from labkit.cann.interface import ffi

    return ffi().NULL
