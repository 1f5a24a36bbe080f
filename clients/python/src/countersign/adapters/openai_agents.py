"""Guards function tools of the OpenAI Agents SDK."""

from __future__ import annotations

import copy
import json
from typing import Any, Awaitable, Callable, Dict, Optional, Protocol, TypeVar

from ..carry_out import Content
from ..guard import Guard
from .answering import answering


class FunctionTool(Protocol):
    """The members of a `FunctionTool` that the guard uses."""

    name: str
    on_invoke_tool: Callable[[Any, str], Awaitable[Any]]


Tool = TypeVar("Tool", bound=FunctionTool)


def guard_tool(guard: Guard, tool: Tool, *, failure_of: Optional[Callable[[Any], Optional[str]]] = None) -> Tool:
    """Returns a copy of a `FunctionTool` that submits each call before it runs.

    If a call may not run, its result is the reason. Without a decision, the run ends with the client's error. The SDK
    turns errors of a tool into results; `failure_of` may recognise them, or create the tool with
    `failure_error_function=None`. A `timeout_seconds` of the tool includes the wait for reviewers.
    """
    name, invoke = tool.name, tool.on_invoke_tool

    async def on_invoke_tool(context: Any, text: str) -> Any:
        params = _params_in(text)
        if params is None:
            return f"Nothing was done: the arguments of {name} are not a JSON object."

        async def run(content: Content) -> Any:
            return await invoke(context, json.dumps(content))

        return await guard.call_async(name, params, run, failure_of=failure_of)

    guarded = copy.copy(tool)
    guarded.on_invoke_tool = answering(on_invoke_tool)
    return guarded


def _params_in(text: str) -> Optional[Dict[str, Any]]:
    """Parses the arguments of a call. Returns None for anything else than a JSON object."""
    try:
        params = json.loads(text) if text.strip() else {}
    except ValueError:
        return None
    return params if isinstance(params, dict) else None
