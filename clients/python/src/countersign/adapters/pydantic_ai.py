"""Guards toolsets of Pydantic AI."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Dict

from ..carry_out import Content
from ..guard import Guard
from .answering import answering


def guard_toolset(guard: Guard, toolset: Any) -> Any:
    """Returns a toolset that submits each call before it runs: `Agent(…, toolsets=[guard_toolset(guard, toolset)])`.

    If a call may not run, its result is the reason. Without a decision, the run ends with the client's error. The
    parameters of the tools must be plain JSON values, because Pydantic AI converts them before the call.
    """
    base: Any = importlib.import_module("pydantic_ai.toolsets").WrapperToolset

    # Pydantic AI copies wrappers with `dataclasses.replace`.
    @dataclass
    class GuardedToolset(base):  # type: ignore[misc]
        guard: Guard

        async def call_tool(self, name: str, tool_args: Dict[str, Any], ctx: Any, tool: Any) -> Any:
            async def run(content: Content) -> Any:
                return await self.wrapped.call_tool(name, content, ctx, tool)

            return await answering(self.guard.call_async)(name, tool_args, run)

    return GuardedToolset(toolset, guard)
