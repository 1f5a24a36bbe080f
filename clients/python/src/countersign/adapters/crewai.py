"""Guards tools of CrewAI."""

from __future__ import annotations

import copy
from typing import Any, Dict, TypeVar

from ..guard import Guard
from .answering import answering

Tool = TypeVar("Tool")


def guard_tool(guard: Guard, tool: Tool) -> Tool:
    """Returns a copy of a `BaseTool`, or of a function with CrewAI's `@tool`, that submits each call before it runs.

    The verb is the name of the tool, in lower case and with `_` for spaces. If a call may not run, its result is the
    reason. Without a decision, the tool raises the client's error. Raises TypeError for a tool with a `run` of its own.

    This guards the function of the tool, because CrewAI runs a tool if one of its hooks raises an error, and a hook
    cannot record results.
    """
    original: Any = tool
    kind: Any = type(tool)
    verb = original.name.strip().lower().replace(" ", "_")
    guarded: Any = copy.copy(tool)
    if callable(getattr(tool, "func", None)):
        guarded.func = answering(guard(verb=verb)(original.func))
        return guarded  # type: ignore[no-any-return]
    base: Any = next((each for each in kind.__mro__ if each.__name__ == "BaseTool"), None)
    if base is None or kind.run is not base.run or kind.arun is not base.arun:
        raise TypeError(f"{original.name} does not run through BaseTool.run: decorate its function with the guard")
    members: Dict[str, Any] = {"__module__": kind.__module__, "_run": answering(guard(verb=verb)(kind._run))}
    if kind._arun is not base._arun:
        members["_arun"] = answering(guard(verb=verb)(kind._arun))
    # A member of the instance would become a field of CrewAI's model.
    object.__setattr__(guarded, "__class__", type(f"Guarded{kind.__name__}", (kind,), members))
    return guarded  # type: ignore[no-any-return]
