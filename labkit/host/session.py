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
from labkit.errors import StaysHere
from labkit.host.capi import CApi

__all__ = ["REPEAT_INITIALIZE", "Session"]

REPEAT_INITIALIZE = 100002
_LOCK = threading.Lock()
_SESSIONS: dict[object, Session] = {}


class Session(StaysHere):
    """The use of one library by all devices that this process opened on it."""

    def __init__(self, key: object, interface: CInterface) -> None:
        self.key, self.interface = key, interface
        self.users = 0
        self.owned = False

    @classmethod
    def enter(cls, api: CApi, kind: str) -> Session:
        """Count one more user; the first one calls aclInit. Raises `AclError` when that fails.

        A process has one CANN however often its libraries were opened, but as
        many software NPUs as were made.
        """
        key: object = "npu" if kind == "npu" else id(api.interface)
        with _LOCK:
            session = _SESSIONS.setdefault(key, cls(key, api.interface))
            if session.users == 0:
                try:
                    status = api.check("aclInit", _null(), accept=(0, REPEAT_INITIALIZE))
                except BaseException:
                    del _SESSIONS[key]
                    raise
                session.owned = status == 0
            session.users += 1
            return session

    def leave(self, api: CApi) -> None:
        """Count one user less; the last one finalises, if aclInit was ours.

        Raises `AclError` when that fails.
        """
        with _LOCK:
            self.users -= 1
            if self.users:
                return
            _SESSIONS.pop(self.key, None)
            if not self.owned:
                return
            if "torch_npu" not in sys.modules:
                api.check("aclFinalize")
            # torch_npu came after us and counts on the runtime: only give back our reference.
            elif api.has("aclFinalizeReference"):
                api.check("aclFinalizeReference", _null())


def _null() -> Any:
    from labkit.cann.interface import ffi

    return ffi().NULL
