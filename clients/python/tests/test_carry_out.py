"""An action runs once, only as approved, and its result is recorded."""

from __future__ import annotations

import asyncio
import threading
import unittest
from typing import Any, List, Optional

from countersign import (
    ApiError,
    CarryOutOptions,
    ClaimedBefore,
    Stop,
    Stopped,
    carry_out,
    carry_out_async,
    carry_out_decided,
)

from .support import Answering, decided, json_answer, serve

pending = {"outcome": None, "status": "pending", "escalation_id": "esc_1"}
claimed_at = "2026-11-28T12:00:00.000000Z"


def paying(content: Any) -> Any:
    return {"intent": {"agent": {"id": "bot"}, "action": {"verb": "pay"}, "payload": {"content": content}}}


def usd(content: Any, _: Any) -> Any:
    return content["usd"]


class CarryingOut(unittest.TestCase):
    def test_an_action_is_claimed_before_it_runs_each_time_with_a_new_nonce(self) -> None:
        client = Answering({"outcome": "approve"})
        claims = [carry_out(client, paying({}), lambda *_: len(client.nonces)) for _ in range(2)]
        self.assertEqual(claims, [1, 2])
        self.assertEqual(len(set(client.nonces)), 2)

    def test_changes_of_the_content_during_the_review_do_not_affect_the_action(self) -> None:
        client = Answering(pending, {"outcome": "approve"})
        content: Any = {"usd": 5, "to": ["ann"]}
        options = CarryOutOptions(on_pending=lambda _: content.update(usd=9_000) or content["to"].append("eve"))
        self.assertEqual(carry_out(client, paying(content), lambda given, _: given, options), {"usd": 5, "to": ["ann"]})

    def test_an_action_that_was_executed_before_does_not_run_again(self) -> None:
        client = Answering({"outcome": "approve"})
        execution = {"execution": "executed", "claimed_at": claimed_at, "claimed_by": None}
        client.claim_error = ApiError(409, "already_claimed", "", [execution])
        with self.assertRaisesRegex(ClaimedBefore, "Already executed; its result is not known here."):
            carry_out(client, paying({"usd": 5}), usd)
        options = CarryOutOptions(on_done_before=lambda done, intent_id: f"{intent_id} at {done['at']}")
        self.assertEqual(carry_out(client, paying({"usd": 5}), usd, options), f"int_1 at {claimed_at}")
        self.assertEqual(client.observed, [])

    def test_an_action_that_was_submitted_earlier_is_carried_out(self) -> None:
        client = Answering({}, {"outcome": "approve"})
        self.assertEqual(carry_out_decided(client, decided(**pending), {"usd": 5}, usd), 5)
        self.assertEqual((client.submitted, client.observed), ([], [{"status": "executed"}]))

    def test_a_message_of_a_reviewer_is_passed_on_before_the_action_runs(self) -> None:
        heard: List[str] = []
        client = Answering({"outcome": "approve", "message_to_agent": "Use account 2."})
        options = CarryOutOptions(on_message=lambda message, _: heard.append(message))
        carry_out(client, paying({}), lambda *_: heard.append("ran"), options)
        self.assertEqual(heard, ["Use account 2.", "ran"])

    def test_a_result_that_reports_a_failure_is_returned_and_recorded_as_one(self) -> None:
        client = Answering({"outcome": "approve"})
        failing = CarryOutOptions(failure_of=lambda result: "refused" if result == "no" else None)
        self.assertEqual(carry_out(client, paying({}), lambda *_: "no", failing), "no")
        self.assertEqual(carry_out(client, paying({}), lambda *_: "yes", failing), "yes")
        unable = CarryOutOptions(failure_of=lambda result: result.missing)
        self.assertEqual(carry_out(client, paying({}), lambda *_: "done", unable), "done")
        last = client.observed.pop()
        self.assertEqual(client.observed, [{"status": "failed", "detail": "refused"}, {"status": "executed"}])
        self.assertRegex(last["detail"], "^Could not tell whether it failed: .*missing")

    def test_an_interrupted_action_has_an_unknown_outcome_so_nothing_is_recorded(self) -> None:
        client = Answering({"outcome": "approve"})

        def interrupted(*_: Any) -> None:
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            carry_out(client, paying({}), interrupted)
        self.assertEqual((len(client.nonces), client.observed), (1, []))

    def test_a_failed_recording_is_reported_and_the_result_is_returned(self) -> None:
        client = Answering({"outcome": "approve"})
        lost = RuntimeError("lost")
        setattr(client, "record_observation", lambda *_: (_ for _ in ()).throw(lost))
        reported: List[Any] = []
        options = CarryOutOptions(on_unrecorded=lambda error, intent_id: reported.append((error, intent_id)))
        self.assertEqual(carry_out(client, paying({"usd": 5}), usd, options), 5)
        self.assertEqual(reported, [(lost, "int_1")])
        with self.assertLogs("countersign", "WARNING") as logged:
            self.assertEqual(carry_out(client, paying({"usd": 5}), usd), 5)
        self.assertIn("the result of int_1 could not be recorded: lost", logged.output[0])

        def wrong(*_: Any) -> None:
            raise KeyError("on_unrecorded itself")

        with self.assertLogs("countersign", "WARNING") as logged:
            carry_out(client, paying({"usd": 5}), usd, CarryOutOptions(on_unrecorded=wrong))
        self.assertIn("on_unrecorded itself", logged.output[0])

    def test_without_a_decision_nothing_runs(self) -> None:
        client, ran = Answering({}), []
        gone = ApiError(503, "unavailable", "")
        setattr(client, "submit_intent", lambda *_, **__: (_ for _ in ()).throw(gone))
        with self.assertRaises(ApiError) as caught:
            carry_out(client, paying({}), lambda *_: ran.append(1))
        self.assertIs(caught.exception, gone)
        self.assertEqual(ran, [])

    def test_the_caller_that_ends_the_wait_withdraws_the_action_if_requested(self) -> None:
        for withdraw, withdrawn in ((True, ["esc_1"]), (False, [])):
            client, stop, ran = Answering(pending, {"outcome": "approve"}), Stop(), []
            options = CarryOutOptions(stop=stop, withdraw=withdraw, on_pending=lambda _, stop=stop: stop.set())
            with self.assertRaises(Stopped):
                carry_out(client, paying({}), lambda *_: ran.append(1), options)
            self.assertEqual((client.withdrawn, client.observed, ran), (withdrawn, [], []))

    def test_a_stop_that_comes_with_the_approval_or_the_claim_prevents_the_action(self) -> None:
        for name in ("wait_for_outcome", "claim_intent"):
            client, stop = Answering(pending, {"outcome": "approve"}), Stop()
            ended = lambda *_, stop=stop, client=client, **__: stop.set() or client.ruling  # noqa: E731
            setattr(client, name, ended)
            ran: List[Any] = []
            with self.assertRaises(Stopped):
                carry_out(client, paying({}), lambda *_: ran.append(1), CarryOutOptions(stop=stop))
            self.assertEqual((ran, client.observed), ([], [{"status": "skipped"}]))


class Awaiting(unittest.IsolatedAsyncioTestCase):
    async def test_an_awaited_action_runs_on_the_loop_and_its_requests_in_threads(self) -> None:
        client = Answering({"outcome": "approve_modified", "modified_content": {"usd": 1}})
        threads: List[Optional[str]] = []
        claim = client.claim_intent

        def claim_intent(*args: Any, **kwargs: Any) -> Any:
            threads.append(threading.current_thread().name)
            return claim(*args, **kwargs)

        setattr(client, "claim_intent", claim_intent)

        async def pay(content: Any, _: Any) -> Any:
            threads.append(threading.current_thread().name)
            await asyncio.sleep(0)
            return content["usd"]

        self.assertEqual(await carry_out_async(client, paying({"usd": 5}), pay), 1)
        self.assertEqual(client.observed, [{"status": "executed"}])
        self.assertNotEqual(*threads)

    async def test_an_error_of_an_awaited_action_is_recorded_and_raised(self) -> None:
        client = Answering({"outcome": "approve"})

        async def pay(*_: Any) -> None:
            raise LookupError("no such account")

        with self.assertRaisesRegex(LookupError, "no such account"):
            await carry_out_async(client, paying({}), pay)
        self.assertEqual(client.observed, [{"status": "failed", "detail": "no such account"}])

    async def test_cancelling_the_task_ends_the_wait_and_withdraws_the_action_if_requested(self) -> None:
        ending, waiting = threading.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def silent(_: Any) -> None:
            loop.call_soon_threadsafe(waiting.set)
            ending.wait()

        submitted = json_answer(201, {"intent_id": "int_1", "decision": decided(**pending)})
        with serve(submitted, silent, json_answer(200, {"decision": {}}), answer_seconds_max=None) as served:
            ran: List[Any] = []

            async def pay(*_: Any) -> None:
                ran.append(1)

            options = CarryOutOptions(withdraw=True)
            task = asyncio.ensure_future(carry_out_async(served.client, paying({}), pay, options))
            await waiting.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            ending.set()
        self.assertEqual(served.received[-1].url, "/v1/escalations/esc_1/withdraw")
        self.assertEqual((len(served.received), ran), (3, []))

    async def test_a_cancelled_action_has_an_unknown_outcome_so_nothing_is_recorded(self) -> None:
        client, running = Answering({"outcome": "approve"}), asyncio.Event()

        async def pay(*_: Any) -> None:
            running.set()
            await asyncio.Event().wait()

        task = asyncio.ensure_future(carry_out_async(client, paying({}), pay))
        await running.wait()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertEqual((len(client.nonces), client.observed), (1, []))

    async def test_a_stop_of_another_thread_ends_the_wait(self) -> None:
        client, stop, ran = Answering(pending, {"outcome": "approve"}), Stop(), []

        async def pay(*_: Any) -> None:
            ran.append(1)

        options = CarryOutOptions(stop=stop, on_pending=lambda _: stop.set())
        with self.assertRaises(Stopped):
            await carry_out_async(client, paying({}), pay, options)
        self.assertEqual((ran, client.withdrawn), ([], []))
