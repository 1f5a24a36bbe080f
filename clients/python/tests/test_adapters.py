"""Each adapter guards the tool of its framework. Without the framework, a stand-in of the same shape is used."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
import types
import unittest
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Optional
from unittest import mock

from countersign import ApiError, Guard
from countersign.adapters import crewai, langchain, openai_agents, pydantic_ai

from .support import Answering

params = {"amount_usd": 500.0, "to": "ann"}
reasons = [{"policy": "no-payments", "message": "Not today."}]
ran: List[Any] = []


def send_money(amount_usd: float, to: str) -> str:
    """Sends money."""
    ran.append({"amount_usd": amount_usd, "to": to})
    return f"sent {amount_usd:g} to {to}"


class Adapter:
    """The promises of every adapter. `call` makes a framework call the guarded tool, and returns what the model reads."""

    verb = "send_money"

    def call(self, guard: Guard) -> str:
        raise NotImplementedError

    def ask(self: Any, first: Dict[str, Any], error: Optional[Exception] = None) -> Any:
        ran.clear()
        client = Answering(first)
        if error is not None:
            setattr(client, "submit_intent", mock.Mock(side_effect=error))
        answer = self.call(Guard(client, {"id": "bot"}))
        intent = client.submitted[0]["intent"]
        self.assertEqual((intent["action"]["verb"], intent["payload"]["content"]), (self.verb, params))
        return answer, client.observed

    def test_an_approved_call_runs_and_is_recorded(self: Any) -> None:
        answer, observed = self.ask({"outcome": "approve"})
        self.assertEqual((ran, observed), ([params], [{"status": "executed"}]))
        self.assertIn("sent 500 to ann", answer)

    def test_a_changed_call_runs_with_its_changes(self: Any) -> None:
        changed = {"amount_usd": 1.0, "to": "eve"}
        answer, observed = self.ask({"outcome": "approve_modified", "modified_content": changed})
        self.assertEqual((ran, observed), ([changed], [{"status": "executed"}]))
        self.assertIn("sent 1 to eve", answer)

    def test_the_model_reads_why_a_blocked_call_did_not_run(self: Any) -> None:
        answer, observed = self.ask({"outcome": "block", "reasons": reasons})
        self.assertEqual((ran, observed), ([], [{"status": "skipped"}]))
        self.assertIn("Blocked, nothing was done. no-payments: Not today. (int_1)", answer)

    def test_without_a_decision_nothing_runs_and_the_error_is_raised(self: Any) -> None:
        with self.assertRaises(ApiError):
            self.ask({}, ApiError(503, "unavailable", "away"))
        self.assertEqual(ran, [])


def module(name: str, **members: Any) -> Dict[str, types.ModuleType]:
    made = types.ModuleType(name)
    vars(made).update(members)
    return {name: made}


@dataclass
class ToolMessage:
    content: str
    name: str
    tool_call_id: str
    status: str = "success"


@dataclass
class ToolCallRequest:
    tool_call: Any

    def override(self, **changes: Any) -> "ToolCallRequest":
        return replace(self, **changes)


class LangChain(Adapter, unittest.TestCase):
    def setUp(self) -> None:
        modules = module("langchain.agents.middleware", AgentMiddleware=object)
        modules.update(module("langchain_core.messages", ToolMessage=ToolMessage))
        patch = mock.patch.dict(sys.modules, {**module("langchain.agents"), **module("langchain"), **modules})
        patch.start()
        self.addCleanup(patch.stop)

    def message(self, guard: Guard, only: Any = None) -> Any:
        def handler(request: Any) -> Any:
            call = request.tool_call
            return ToolMessage(send_money(**call["args"]), call["name"], call["id"])

        request = ToolCallRequest({"name": "send_money", "args": params, "id": "call_1"})
        return langchain.guard_tool_calls(guard, only=only).wrap_tool_call(request, handler)

    def call(self, guard: Guard) -> str:
        message = self.message(guard)
        self.assertEqual((message.name, message.tool_call_id), ("send_money", "call_1"))
        self.assertEqual(message.status, "success" if ran else "error")
        return str(message.content)

    def test_tools_that_are_not_named_run_unguarded(self) -> None:
        client = Answering({"outcome": "block"})
        self.assertEqual(self.message(Guard(client, {"id": "bot"}), only={"delete"}).content, "sent 500 to ann")
        self.assertEqual(client.submitted, [])

    def test_an_error_that_became_a_message_is_recorded_as_a_failure(self) -> None:
        client = Answering({"outcome": "approve"})
        middleware = langchain.guard_tool_calls(Guard(client, {"id": "bot"}))
        failed = ToolMessage("no such account", "send_money", "call_1", "error")
        request = ToolCallRequest({"name": "send_money", "args": params, "id": "call_1"})
        self.assertIs(middleware.wrap_tool_call(request, lambda _: failed), failed)
        self.assertEqual(client.observed, [{"status": "failed", "detail": "no such account"}])


class LangChainAsync(LangChain):
    def message(self, guard: Guard, only: Any = None) -> Any:
        async def handler(request: Any) -> Any:
            call = request.tool_call
            return ToolMessage(send_money(**call["args"]), call["name"], call["id"])

        request = ToolCallRequest({"name": "send_money", "args": params, "id": "call_1"})
        return asyncio.run(langchain.guard_tool_calls(guard, only=only).awrap_tool_call(request, handler))


@dataclass
class FunctionTool:
    name: str
    on_invoke_tool: Callable[[Any, str], Any]


class OpenAIAgents(Adapter, unittest.TestCase):
    def tool(self) -> Any:
        async def invoke(context: Any, text: str) -> str:
            self.assertEqual(context, "context")
            return send_money(**json.loads(text))

        return FunctionTool("send_money", invoke)

    def call(self, guard: Guard) -> str:
        tool = self.tool()
        guarded = openai_agents.guard_tool(guard, tool)
        self.assertIsNot(guarded.on_invoke_tool, tool.on_invoke_tool)
        return str(asyncio.run(guarded.on_invoke_tool("context", json.dumps(params))))

    def test_arguments_that_are_no_object_are_not_submitted(self) -> None:
        client = Answering({"outcome": "approve"})
        guarded = openai_agents.guard_tool(Guard(client, {"id": "bot"}), self.tool())
        for text in ("{", "[1]", "null"):
            answer = asyncio.run(guarded.on_invoke_tool("context", text))
            self.assertEqual(answer, "Nothing was done: the arguments of send_money are not a JSON object.")
        self.assertEqual(client.submitted, [])


@dataclass
class WrapperToolset:
    wrapped: Any


class PydanticAI(Adapter, unittest.TestCase):
    def call(self, guard: Guard) -> str:
        async def call_tool(name: str, tool_args: Any, ctx: Any, tool: Any) -> str:
            self.assertEqual((name, ctx, tool), ("send_money", "ctx", "tool"))
            return send_money(**tool_args)

        toolset = types.SimpleNamespace(call_tool=call_tool)
        modules = module("pydantic_ai.toolsets", WrapperToolset=WrapperToolset)
        with mock.patch.dict(sys.modules, {**module("pydantic_ai"), **modules}):
            # Pydantic AI copies a toolset for each run.
            guarded = replace(pydantic_ai.guard_toolset(guard, None), wrapped=toolset)
            return str(asyncio.run(guarded.call_tool("send_money", params, "ctx", "tool")))


class BaseTool:
    """As that of CrewAI, without the checks of its parameters."""

    name = "Send money"

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(*args, **kwargs)

    async def arun(self, *args: Any, **kwargs: Any) -> Any:
        return await self._arun(*args, **kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def _arun(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


class Payment(BaseTool):
    def _run(self, amount_usd: float, to: str) -> str:
        return send_money(amount_usd, to)


class PaymentAsync(BaseTool):
    async def _arun(self, amount_usd: float, to: str) -> str:
        return send_money(amount_usd, to)

    def _run(self, amount_usd: float, to: str) -> str:
        raise NotImplementedError


class Decorated(BaseTool):
    """As CrewAI's `@tool` makes it: `run` calls the function and not `_run`."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)


class CrewAI(Adapter, unittest.TestCase):
    def call(self, guard: Guard) -> str:
        tool = Payment()
        guarded = crewai.guard_tool(guard, tool)
        self.assertIsInstance(guarded, Payment)
        self.assertIs(type(tool), Payment)
        return str(guarded.run(**params))

    def test_a_tool_with_a_run_of_its_own_is_refused(self) -> None:
        class Own(Payment):
            def run(self, *args: Any, **kwargs: Any) -> Any:
                return send_money(500, "ann")

        with self.assertRaisesRegex(TypeError, "Send money does not run through BaseTool.run"):
            crewai.guard_tool(Guard(Answering({}), {"id": "bot"}), Own())


class CrewAIAsync(Adapter, unittest.TestCase):
    def call(self, guard: Guard) -> str:
        return str(asyncio.run(crewai.guard_tool(guard, PaymentAsync()).arun(**params)))


class CrewAIDecorated(Adapter, unittest.TestCase):
    def call(self, guard: Guard) -> str:
        return str(crewai.guard_tool(guard, Decorated(send_money)).run(**params))


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


@unittest.skipUnless(installed("langchain") and installed("langgraph"), "LangChain is not installed")
class WithLangChain(Adapter, unittest.TestCase):
    def call(self, guard: Guard) -> str:
        create_agent: Any = importlib.import_module("langchain.agents").create_agent
        messages: Any = importlib.import_module("langchain_core.messages")
        models: Any = importlib.import_module("langchain_core.language_models.fake_chat_models")

        class Model(models.GenericFakeChatModel):  # type: ignore[misc, name-defined]
            def bind_tools(self, tools: Any, **_: Any) -> Any:
                return self

        call = {"name": "send_money", "args": params, "id": "call_1"}
        said = [messages.AIMessage(content="", tool_calls=[call]), messages.AIMessage(content="done")]
        agent = create_agent(
            Model(messages=iter(said)), [send_money], middleware=[langchain.guard_tool_calls(guard)]
        )
        return str(agent.invoke({"messages": [("user", "pay")]})["messages"][-2].content)


@unittest.skipUnless(installed("agents") and installed("openai"), "the OpenAI Agents SDK is not installed")
class WithOpenAIAgents(Adapter, unittest.TestCase):
    def call(self, guard: Guard) -> str:
        agents: Any = importlib.import_module("agents")
        testing: Any = importlib.import_module("agents.testing")
        tool = agents.function_tool(send_money, failure_error_function=None)
        call = testing.function_call("send_money", params, call_id="call_1")
        model = testing.ScriptedModel([[call], [testing.assistant_message("done")]])
        agent = agents.Agent(name="desk", model=model, tools=[openai_agents.guard_tool(guard, tool)])
        config = agents.RunConfig(tracing_disabled=True)
        try:
            result = agents.Runner.run_sync(agent, "pay", run_config=config)
        except agents.UserError as error:
            # The SDK wraps the errors of tools.
            raise error.__cause__ or error from None
        return str([item.output for item in result.new_items if item.type == "tool_call_output_item"])


@unittest.skipUnless(installed("pydantic_ai"), "Pydantic AI is not installed")
class WithPydanticAI(Adapter, unittest.TestCase):
    def call(self, guard: Guard) -> str:
        agent: Any = importlib.import_module("pydantic_ai").Agent
        toolset: Any = importlib.import_module("pydantic_ai.toolsets").FunctionToolset
        models: Any = importlib.import_module("pydantic_ai.models.function")
        messages: Any = importlib.import_module("pydantic_ai.messages")

        def model(history: Any, _: Any) -> Any:
            last = history[-1].parts[-1]
            if last.part_kind == "tool-return":
                return messages.ModelResponse(parts=[messages.TextPart(str(last.content))])
            return messages.ModelResponse(parts=[messages.ToolCallPart("send_money", params)])

        tools = pydantic_ai.guard_toolset(guard, toolset([send_money]))
        return str(agent(models.FunctionModel(model), toolsets=[tools]).run_sync("pay").output)


@unittest.skipUnless(installed("crewai"), "CrewAI is not installed")
class WithCrewAI(Adapter, unittest.TestCase):
    def call(self, guard: Guard) -> str:
        tool: Any = importlib.import_module("crewai.tools").tool
        return str(crewai.guard_tool(guard, tool("Send money")(send_money)).run(**params))
