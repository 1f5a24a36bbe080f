"""Executes an action once, only as approved, and records its result."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import secrets
import threading
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Dict, Generator, NamedTuple, Optional, Protocol, Tuple, TypeVar, Union

from .blocked import ActionBlocked, ClaimedBefore
from .contract import Decision, Execution, IntentSubmission, SubmitAnswer
from .errors import ApiError, Stopped
from .plain_content import plain_content
from .stop import Stop

Content = Dict[str, Any]
Result = TypeVar("Result")
log = logging.getLogger("countersign")


class DecidingClient(Protocol):
    """The methods of `Client` that executing needs."""

    def submit_intent(
        self, submission: IntentSubmission, *, mode: Optional[str] = None, stop: Optional[Stop] = None
    ) -> SubmitAnswer: ...

    def wait_for_outcome(self, intent_id: str, *, stop: Optional[Stop] = None) -> Decision: ...

    def claim_intent(self, intent_id: str, nonce: Optional[str] = None, *, stop: Optional[Stop] = None) -> Decision: ...

    def record_observation(self, intent_id: str, status: str, detail: Union[str, Content, None] = None) -> Any: ...

    def withdraw_escalation(self, escalation_id: str, comment: Optional[str] = None) -> Any: ...


@dataclass(frozen=True)
class CarryOutOptions:
    """Settings of `carry_out`. All members are optional."""

    mode: Optional[str] = None
    """`shadow`: asks without effect."""
    stop: Optional[Stop] = None
    """Ends the submission and the wait for reviewers, but not a running action."""
    withdraw: bool = False
    """Withdraws the action from review if the caller ends the wait. Default: the review stays open."""
    on_pending: Optional[Callable[[Decision], None]] = None
    """Called when the action waits for reviewers, which may take hours."""
    on_message: Optional[Callable[[str, Decision], None]] = None
    """Called with a reviewer's message about an approved action. For a blocked one, `ActionBlocked` contains it."""
    failure_of: Optional[Callable[[Any], Optional[str]]] = None
    """Returns why a result is a failure, for actions that do not raise. None: no failure. If this function raises, the
    action counts as executed."""
    on_done_before: Optional[Callable[[Execution, str], Any]] = None
    """Returns the result of an action that was executed earlier, for example before a restart. Default: such an action
    raises `ClaimedBefore`."""
    on_unrecorded: Optional[Callable[[Exception, str], None]] = None
    """Called when the observation could not be recorded. Default: a warning of the logger `countersign`."""


def carry_out(
    client: DecidingClient,
    submission: IntentSubmission,
    run: Callable[[Content, Decision], Result],
    options: CarryOutOptions = CarryOutOptions(),
) -> Result:
    """Submits an action, waits for reviewers if needed, claims it, runs it as approved, and records the result.

    `run` gets the submitted or the modified content. Raises `ActionBlocked`, `ClaimedBefore`, the error of `run`,
    `Stopped`, TypeError or ValueError for content that JSON cannot represent, and the client's errors. Unless the error
    is that of `run`, this call ran nothing.
    """
    result: Result = _drive(_submitted(client, submission, options, options.stop or Stop()), run)
    return result


def carry_out_decided(
    client: DecidingClient,
    decision: Decision,
    content: Content,
    run: Callable[[Content, Decision], Result],
    options: CarryOutOptions = CarryOutOptions(),
) -> Result:
    """As `carry_out` for a submitted action, with the `content` of its submission."""
    steps = _decided(client, decision, plain_content(content), options, options.stop or Stop())
    result: Result = _drive(steps, run)
    return result


async def carry_out_async(
    client: DecidingClient,
    submission: IntentSubmission,
    run: Callable[[Content, Decision], Awaitable[Result]],
    options: CarryOutOptions = CarryOutOptions(),
) -> Result:
    """As `carry_out` for an action that is awaited. Each request runs in a thread of its own.

    Cancelling the task ends the wait for reviewers, as `Stop` does. If a running action is cancelled, nothing is
    recorded, and the service reports the outcome as unknown.
    """
    stop = Stop()
    steps = _submitted(client, submission, options, stop)
    if options.stop is None:
        result: Result = await _drive_async(steps, run, stop)
    else:
        with options.stop.calling(stop.set):
            result = await _drive_async(steps, run, stop)
    return result


class _Run(NamedTuple):
    """The step that runs the action."""

    content: Content
    decision: Decision


class _Request(NamedTuple):
    """The step that sends requests."""

    send: Callable[[], Any]
    is_long: bool = False
    """The process may end while the request waits."""


Steps = Generator[Union[_Run, _Request], Any, Any]
"""The steps of one action. A driver executes each and sends its result back."""

_caller_left = (Stopped, KeyboardInterrupt, asyncio.CancelledError)


def _submitted(client: DecidingClient, submission: IntentSubmission, options: CarryOutOptions, stop: Stop) -> Steps:
    # Copied, so that changes during the review do not affect the action.
    content = plain_content(submission["intent"].get("payload", {}).get("content", {}))
    claimed = submission.copy()
    claimed["claim"] = "required"
    answer = yield _Request(lambda: client.submit_intent(claimed, mode=options.mode, stop=stop))
    return (yield from _decided(client, answer["decision"], content, options, stop))


def _decided(
    client: DecidingClient, asked: Decision, content: Content, options: CarryOutOptions, stop: Stop
) -> Steps:
    intent_id = asked["intent_id"]
    decision: Decision = asked
    if asked["status"] == "pending":
        decision = yield from _outcome(client, asked, options, stop)
    approved = _content_of(decision, content)
    if approved is None or stop.is_set():
        yield from _record(client, intent_id, options, "skipped")
        stop.check()
        raise ActionBlocked(decision)
    message = decision.get("message_to_agent")
    if message is not None and options.on_message is not None:
        options.on_message(message, decision)
    try:
        yield _Request(lambda: _claim(client, decision, stop))
        stop.check()
    except ClaimedBefore as error:
        if error.execution["status"] == "executed" and options.on_done_before is not None:
            return options.on_done_before(error.execution, intent_id)
        raise
    except (Exception, *_caller_left):
        # Recorded even if the claim got no answer: if it took effect, the service must know that nothing was executed.
        yield from _record(client, intent_id, options, "skipped")
        raise
    try:
        result = yield _Run(approved, decision)
    except Exception as error:
        yield from _record(client, intent_id, options, "failed", _clipped(_text_of(error)))
        raise
    yield from _record(client, intent_id, options, *_observation_of(result, options))
    return result


def _outcome(client: DecidingClient, pending: Decision, options: CarryOutOptions, stop: Stop) -> Steps:
    """Waits for reviewers. If the caller ends the wait, the action may be withdrawn."""
    intent_id, escalation_id = pending["intent_id"], pending["escalation_id"]
    if options.on_pending is not None:
        options.on_pending(pending)
    try:
        return (yield _Request(lambda: client.wait_for_outcome(intent_id, stop=stop), is_long=True))
    except _caller_left:
        if options.withdraw and escalation_id is not None:
            withdrawn = escalation_id
            yield from _unless_unrecorded(lambda: client.withdraw_escalation(withdrawn), intent_id, options)
        raise


def _record(
    client: DecidingClient, intent_id: str, options: CarryOutOptions, status: str, detail: Optional[str] = None
) -> Steps:
    return _unless_unrecorded(lambda: client.record_observation(intent_id, status, detail), intent_id, options)


def _unless_unrecorded(send: Callable[[], Any], intent_id: str, options: CarryOutOptions) -> Steps:
    """Reports an error instead of raising it, because a caller that gets an error might repeat the action."""
    try:
        yield _Request(send)
    except Exception as error:
        try:
            (options.on_unrecorded or _warn)(error, intent_id)
        except Exception as wrong:
            _warn(wrong, intent_id)


def _warn(error: Exception, intent_id: str) -> None:
    log.warning("the result of %s could not be recorded: %s", intent_id, _text_of(error))


def _claim(client: DecidingClient, decision: Decision, stop: Stop) -> None:
    """Raises `ClaimedBefore`, `ActionBlocked` if current rules block the action, and the client's errors."""
    intent_id = decision["intent_id"]
    try:
        client.claim_intent(intent_id, secrets.token_hex(16), stop=stop)
    except ApiError as error:
        if error.code == "already_claimed":
            first = error.details[0] if error.details else {}
            status, at, by = first.get("execution", "claimed"), first.get("claimed_at"), first.get("claimed_by")
            raise ClaimedBefore(intent_id, {"status": status, "at": at, "by": by}) from error
        if error.code == "handed_on":
            raise ClaimedBefore(intent_id, {"status": "handed_on", "at": None, "by": None}) from error
        if error.code == "blocked_now":
            raise ActionBlocked(decision, error.details) from error
        raise


def _content_of(decision: Decision, submitted: Content) -> Optional[Content]:
    """Returns the content that may be executed; None: none. Uses the outcome, because in shadow mode no verdict stops
    an action."""
    if decision["outcome"] == "approve":
        return submitted
    return decision["modified_content"] if decision["outcome"] == "approve_modified" else None


def _observation_of(result: Any, options: CarryOutOptions) -> Tuple[str, Optional[str]]:
    try:
        failure = None if options.failure_of is None else options.failure_of(result)
        return ("executed", None) if failure is None else ("failed", _clipped(failure))
    except Exception as error:
        return "executed", _clipped(f"Could not tell whether it failed: {_text_of(error)}")


def _text_of(error: BaseException) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception:
        return "the raised exception cannot be converted to text"


detail_units_max = 4_000
"""The service's limit for the detail of an observation, in UTF-16 code units."""


def _clipped(text: str) -> str:
    """Returns a text that the service accepts: not too long, without NUL and lone surrogates."""
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * detail_units_max]
    return units.decode("utf-16-le", "replace").replace("\0", "\ufffd")


def _drive(steps: Steps, run: Callable[[Content, Decision], Any]) -> Any:
    try:
        step = next(steps)
        while True:
            try:
                value = run(step.content, step.decision) if isinstance(step, _Run) else step.send()
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(value)
    except StopIteration as end:
        return end.value


async def _drive_async(steps: Steps, run: Callable[[Content, Decision], Awaitable[Any]], stop: Stop) -> Any:
    try:
        step = next(steps)
        while True:
            try:
                value = await (run(step.content, step.decision) if isinstance(step, _Run) else in_thread(*step))
            except BaseException as error:
                if isinstance(error, asyncio.CancelledError):
                    stop.set()
                step = steps.throw(error)
            else:
                step = steps.send(value)
    except StopIteration as end:
        return end.value


async def in_thread(send: Callable[[], Result], daemon: bool = False) -> Result:
    """Runs a blocking function in a new thread, because waits for reviewers would fill the loop's pool of threads.

    A cancelled task leaves the thread running. The process waits for the thread at its end, unless it is a daemon.
    """
    loop = asyncio.get_running_loop()
    done: "asyncio.Future[Result]" = loop.create_future()

    def settle(value: Any, error: Optional[BaseException]) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)

    def work() -> None:
        value: Any = None
        failure: Optional[BaseException] = None
        try:
            value = send()
        except BaseException as error:
            failure = error
        try:
            loop.call_soon_threadsafe(settle, value, failure)
        except RuntimeError:
            pass  # The loop has ended, so nobody waits for the result.

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), daemon=daemon).start()
    return await done
