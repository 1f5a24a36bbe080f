"""Puts the service between an agent's framework and its tools."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterable, Awaitable, Generator
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, TypedDict, TypeVar, cast, overload
from typing import Awaitable as AwaitableOf

from .carry_out import CarryOutOptions, Content, DecidingClient, Result, carry_out, carry_out_async, in_thread
from .contract import Agent, ContextDocument, Decision, Intent, IntentEstimatedImpact, IntentSubmission, Target
from .plain_content import plain_content
from .stop import Stop

Tool = TypeVar("Tool", bound=Callable[..., Any])


class CallDescription(TypedDict, total=False):
    """Members of an intent besides the agent, the verb and the parameters."""

    type: str
    target: Target
    summary: str
    estimated_impact: IntentEstimatedImpact
    data_classes: List[str]


class Guard:
    """Guards the tools of one agent: as a decorator of functions, or with `call` and `call_async`.

    - `context` returns the facts about a call, from its verb and its parameters.
    - `describe` returns further members of the intent: type and target of the action, a summary for reviewers.
    - The other options are those of `CarryOutOptions`.

    For asynchronous tools, `context` and `describe` run in a thread of their own.
    """

    def __init__(
        self,
        client: DecidingClient,
        agent: Agent,
        *,
        membrane_id: Optional[str] = None,
        mode: Optional[str] = None,
        context: Optional[Callable[[str, Content], ContextDocument]] = None,
        describe: Optional[Callable[[str, Content], CallDescription]] = None,
        withdraw: bool = False,
        on_pending: Optional[Callable[[Decision], None]] = None,
        on_message: Optional[Callable[[str, Decision], None]] = None,
        on_unrecorded: Optional[Callable[[Exception, str], None]] = None,
    ) -> None:
        self._client = client
        self._agent = agent
        self._membrane_id = membrane_id
        self._context = context
        self._describe = describe
        self._options = CarryOutOptions(
            mode=mode,
            withdraw=withdraw,
            on_pending=on_pending,
            on_message=on_message,
            on_unrecorded=on_unrecorded,
        )

    @overload
    def __call__(self, function: Tool) -> Tool: ...

    @overload
    def __call__(self, *, verb: Optional[str] = None, pass_on: Sequence[str] = ()) -> Callable[[Tool], Tool]: ...

    def __call__(
        self, function: Optional[Tool] = None, *, verb: Optional[str] = None, pass_on: Sequence[str] = ()
    ) -> Any:
        """Decorates a function so that each call is submitted before it runs. Works for `def` and `async def`.

        `verb` is the name of the function unless given. All parameters are submitted, with their defaults, and must be
        plain JSON values. Those in `pass_on`, and `self` and `cls`, are not submitted. A `Stop` among them ends the
        wait.

        A call raises what `carry_out` raises. Decorating raises TypeError for a function that returns its result in
        parts, and for parameters without a name.
        """
        if function is None:
            return lambda given: self._guarded(given, verb or given.__name__, pass_on)
        return self._guarded(function, verb or function.__name__, pass_on)

    def call(
        self,
        verb: str,
        params: Mapping[str, Any],
        run: Callable[[Content], Result],
        *,
        stop: Optional[Stop] = None,
        failure_of: Optional[Callable[[Any], Optional[str]]] = None,
    ) -> Result:
        """Submits one call, and runs `run` with the approved parameters. Raises what `carry_out` raises."""
        submission = self._submission(verb, plain_content(dict(params)))
        options = self._options_of(stop, failure_of)
        return carry_out(self._client, submission, lambda content, _: _whole(verb, run(content)), options)

    async def call_async(
        self,
        verb: str,
        params: Mapping[str, Any],
        run: Callable[[Content], AwaitableOf[Result]],
        *,
        stop: Optional[Stop] = None,
        failure_of: Optional[Callable[[Any], Optional[str]]] = None,
    ) -> Result:
        """As `call`, for a function that is awaited."""
        # Copied now, because `context` may take time.
        content = plain_content(dict(params))
        submission = await in_thread(lambda: self._submission(verb, content), True)

        async def once(approved: Content, _: Decision) -> Result:
            return _whole(verb, await run(approved))

        return await carry_out_async(self._client, submission, once, self._options_of(stop, failure_of))

    def _options_of(
        self, stop: Optional[Stop], failure_of: Optional[Callable[[Any], Optional[str]]]
    ) -> CarryOutOptions:
        own = self._options
        return CarryOutOptions(
            mode=own.mode,
            stop=stop,
            withdraw=own.withdraw,
            on_pending=own.on_pending,
            on_message=own.on_message,
            failure_of=failure_of,
            on_unrecorded=own.on_unrecorded,
        )

    def _submission(self, verb: str, content: Content) -> IntentSubmission:
        described: Dict[str, Any] = {}
        if self._describe is not None:
            described.update(cast(Dict[str, Any], self._describe(verb, content)))
        action: Dict[str, Any] = {"verb": verb}
        action.update({name: described.pop(name) for name in ("type", "target") if name in described})
        payload: Dict[str, Any] = {"content": content}
        if "summary" in described:
            payload["summary"] = described.pop("summary")
        intent = {**described, "agent": self._agent, "action": action, "payload": payload}
        submission: IntentSubmission = {"intent": cast(Intent, intent)}
        if self._context is not None:
            submission["context"] = self._context(verb, content)
        if self._membrane_id is not None:
            submission["membrane_id"] = self._membrane_id
        return submission

    def _guarded(self, function: Tool, verb: str, pass_on: Sequence[str]) -> Any:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise _in_parts(verb)
        divide = _divider(function, verb, pass_on)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def guarded_async(*args: Any, **kwargs: Any) -> Any:
                params, passed = divide(args, kwargs)

                async def run(approved: Content) -> Any:
                    return await function(**approved, **passed)

                return await self.call_async(verb, params, run, stop=_stop_in(passed))

            return guarded_async

        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            params, passed = divide(args, kwargs)

            def run(approved: Content) -> Any:
                return function(**approved, **passed)

            return self.call(verb, params, run, stop=_stop_in(passed))

        return guarded


Divide = Callable[[Tuple[Any, ...], Dict[str, Any]], Tuple[Dict[str, Any], Dict[str, Any]]]


def _divider(function: Callable[..., Any], verb: str, pass_on: Sequence[str]) -> Divide:
    """Returns a function that divides the arguments of a call into submitted and passed-on ones, by name."""
    signature = inspect.signature(function)
    rest: Optional[str] = None
    passed_on = set(pass_on)
    for at, parameter in enumerate(signature.parameters.values()):
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise TypeError(f"{verb} takes {parameter} by its position: the service needs a name for each parameter")
        if parameter.kind is parameter.VAR_KEYWORD:
            rest = parameter.name
        if at == 0 and parameter.name in ("self", "cls"):
            passed_on.add(parameter.name)
    unknown = passed_on - set(signature.parameters)
    if unknown:
        raise TypeError(f"{verb} has no parameter {', '.join(sorted(unknown))} to pass on")

    def divide(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = dict(bound.arguments)
        if rest is not None:
            given.update(given.pop(rest))
        passed = {name: given.pop(name) for name in passed_on}
        return given, passed

    return divide


def _stop_in(passed: Mapping[str, Any]) -> Optional[Stop]:
    return next((value for value in passed.values() if isinstance(value, Stop)), None)


def _whole(verb: str, result: Result) -> Result:
    """Refuses a result that acts after its call, because such actions can neither be submitted nor recorded."""
    if isinstance(result, (Generator, AsyncIterable)):
        raise _in_parts(verb)
    if isinstance(result, Awaitable):
        if inspect.iscoroutine(result):
            result.close()
        raise TypeError(f"{verb} returns an awaitable: define it with async def")
    return result


def _in_parts(verb: str) -> TypeError:
    return TypeError(f"{verb} returns its result in parts: its actions cannot be separated from its output")
