"""The end of a verification that failed."""

from __future__ import annotations

from typing import NoReturn, Optional


class Refused(Exception):
    def __init__(self, check: str, message: str, entry: Optional[int]) -> None:
        super().__init__(message)
        self.check = check
        self.entry = entry


def refuse(check: str, message: str, entry: Optional[int] = None) -> NoReturn:
    """Raises `Refused`. `entry` is the index of the entry in the log."""
    raise Refused(check, message, entry)
