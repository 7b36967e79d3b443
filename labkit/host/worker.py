"""One thread that owns a device: contexts are per thread, callbacks come on any.

A call from a notebook cell, a widget callback (JupyterLab runs those on a
thread of their own) or a thread pool is handed to the owner thread, so the
context is always there and calls never run into each other.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from labkit.errors import DeviceUseError, StaysHere

__all__ = ["OwnerThread"]

T = TypeVar("T")


class OwnerThread(StaysHere):
    """Runs functions one after another on a thread of its own."""

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = (
            queue.SimpleQueue()
        )
        self._stopped = False
        self._lock = threading.Lock()
        # A daemon: atexit closes devices after normal threads were joined.
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            future, function = job
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)
            del job, future, function

    def run(self, function: Callable[[], T]) -> T:
        """Run `function` on the owner thread and return its result or raise its error.

        From the owner thread itself it runs at once.
        """
        if threading.current_thread() is self._thread:
            return function()
        future: Future[T] = Future()
        with self._lock:
            if self._stopped:
                raise DeviceUseError("the device is closed")
            self._jobs.put((future, function))
        return future.result()

    def stop(self) -> None:
        """Let the thread end after what is queued; further `run` calls are refused."""
        with self._lock:
            if not self._stopped:
                self._stopped = True
                self._jobs.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()
