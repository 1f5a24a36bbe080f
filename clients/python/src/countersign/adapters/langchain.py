"""Guards the tool calls of an agent of LangChain 1.x."""

from __future__ import annotations

import importlib
from typing import Any, Awaitable, Callable, Container, Optional

from ..carry_out import Content
from ..guard import Guard
from .answering import not_run

Handler = Callable[[Any], Any]


def guard_tool_calls(guard: Guard, *, only: Optional[Container[str]] = None) -> Any:
    """Returns a middleware for `create_agent(…, middleware=[…])`, which submits each tool call before it runs.

    `only` has the names of the tools to guard; the default is all. A call that may not run is answered with a
    `ToolMessage` of status `error`, which gives the model the reason. Without a decision, the run of the agent ends
    with the client's error.
    """
    base: Any = importlib.import_module("langchain.agents.middleware").AgentMiddleware
    message: Any = importlib.import_module("langchain_core.messages").ToolMessage

    def refused(call: Any, error: Exception) -> Any:
        return message(content=str(error), name=call["name"], tool_call_id=call["id"], status="error")

    def approved(request: Any, content: Content) -> Any:
        return request.override(tool_call={**request.tool_call, "args": content})

    def is_guarded(request: Any) -> bool:
        return only is None or request.tool_call["name"] in only

    class GuardedToolCalls(base):  # type: ignore[misc]
        def wrap_tool_call(self, request: Any, handler: Handler) -> Any:
            if not is_guarded(request):
                return handler(request)
            call = request.tool_call

            def run(content: Content) -> Any:
                return handler(approved(request, content))

            try:
                return guard.call(call["name"], call["args"], run, failure_of=_failure_of)
            except not_run as error:
                return refused(call, error)

        async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
            if not is_guarded(request):
                return await handler(request)
            call = request.tool_call

            async def run(content: Content) -> Any:
                return await handler(approved(request, content))

            try:
                return await guard.call_async(call["name"], call["args"], run, failure_of=_failure_of)
            except not_run as error:
                return refused(call, error)

    return GuardedToolCalls()


def _failure_of(result: Any) -> Optional[str]:
    """LangChain turns some errors of a tool into a message."""
    return str(result.content) if getattr(result, "status", None) == "error" else None
