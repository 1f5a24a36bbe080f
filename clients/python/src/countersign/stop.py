"""Ends calls of the client from another thread."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Callable, Iterator, List

from .errors import Stopped


class Stop(threading.Event):
    """Ends a submission or a wait for reviewers from another thread: give it as `stop` and call `set()`."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._callbacks: List[Callable[[], None]] = []

    def set(self) -> None:
        super().set()
        with self._lock:
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()

    def check(self) -> None:
        """Raises `Stopped` after `set()`."""
        if self.is_set():
            raise Stopped("the caller ended the call")

    @contextmanager
    def calling(self, callback: Callable[[], None]) -> Iterator[None]:
        """Calls `callback` if `set()` is called inside the block, or was called before it."""
        with self._lock:
            self._callbacks.append(callback)
        try:
            if self.is_set():
                callback()
            yield
        finally:
            with self._lock:
                self._callbacks.remove(callback)
