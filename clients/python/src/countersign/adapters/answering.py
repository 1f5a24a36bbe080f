"""Answers a model with the reason if a call did not run."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

from ..blocked import ActionBlocked, ClaimedBefore

not_run = (ActionBlocked, ClaimedBefore)
"""A model can act on these. Other errors mean that there is no decision, so the adapters let them end the run."""


def answering(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function with the reason as its result if the call may not run."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def answered_async(*args: Any, **kwargs: Any) -> Any:
            try:
                return await function(*args, **kwargs)
            except not_run as error:
                return str(error)

        return answered_async

    @functools.wraps(function)
    def answered(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except not_run as error:
            return str(error)

    return answered
