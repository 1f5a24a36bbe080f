"""A guarded function asks before it runs."""

from __future__ import annotations

import enum
import inspect
import unittest
from datetime import datetime
from typing import Any, Dict, List, cast

from countersign import ActionBlocked, Guard, Stop, Stopped

from .support import Answering


class Colour(str, enum.Enum):
    RED = "red"


class Guarding(unittest.TestCase):
    def setUp(self) -> None:
        self.client = Answering({"outcome": "approve"})
        self.guard = Guard(self.client, {"id": "bot"})

    def test_a_guarded_function_submits_all_its_parameters_by_name_and_keeps_its_signature(self) -> None:
        def pay(usd: float, to: str = "ann", **more: Any) -> str:
            """Pays."""
            return f"{usd} {to} {more}"

        guarded = self.guard(pay)
        self.assertEqual(guarded(5, note="x"), "5 ann {'note': 'x'}")
        expected = {"agent": {"id": "bot"}, "action": {"verb": "pay"}}
        content = {"usd": 5, "to": "ann", "note": "x"}
        self.assertEqual(
            self.client.submitted, [{"intent": {**expected, "payload": {"content": content}}, "claim": "required"}]
        )
        self.assertEqual(inspect.signature(guarded), inspect.signature(pay))
        self.assertEqual((guarded.__name__, guarded.__doc__), ("pay", "Pays."))
        self.assertEqual(self.client.observed, [{"status": "executed"}])

    def test_the_submission_contains_the_given_context_and_description_of_the_call(self) -> None:
        context: Any = {"contract_version": "1", "facts": {"security": {"siem_ref": "x"}}}
        guard = Guard(
            self.client,
            {"id": "bot"},
            membrane_id="mem_1",
            context=lambda verb, params: context,
            describe=lambda verb, params: {
                "type": "payment.transfer",
                "target": {"identifier": "acc"},
                "summary": f"{verb} {params['usd']}",
                "data_classes": ["chd"],
                "estimated_impact": {"reversible": False},
            },
        )
        guard(verb="send")(lambda usd: None)(5)
        self.assertEqual(
            self.client.submitted[0],
            {
                "intent": {
                    "agent": {"id": "bot"},
                    "action": {"verb": "send", "type": "payment.transfer", "target": {"identifier": "acc"}},
                    "payload": {"content": {"usd": 5}, "summary": "send 5"},
                    "estimated_impact": {"reversible": False},
                    "data_classes": ["chd"],
                },
                "membrane_id": "mem_1",
                "context": context,
                "claim": "required",
            },
        )

    def test_a_changed_call_runs_with_its_changes_and_its_passed_on_arguments(self) -> None:
        client = Answering({"outcome": "approve_modified", "modified_content": {"usd": 1}})

        class Desk:
            fee = 1

            @Guard(client, {"id": "bot"})(pass_on=["ctx"])
            def pay(self, ctx: object, usd: int, to: str = "ann") -> Any:
                return self.fee + usd, ctx, to

        ctx = object()
        self.assertEqual(Desk().pay(ctx, usd=5, to="eve"), (2, ctx, "ann"))
        self.assertEqual(client.submitted[0]["intent"]["payload"]["content"], {"usd": 5, "to": "eve"})

    def test_a_blocked_call_does_not_run(self) -> None:
        ran: List[Any] = []
        guarded = Guard(Answering({"outcome": "block"}), {"id": "bot"})(verb="pay")(lambda usd: ran.append(usd))
        with self.assertRaisesRegex(ActionBlocked, "^Blocked, nothing was done."):
            guarded(5)
        self.assertEqual(ran, [])

    def test_parameters_that_json_would_change_are_not_submitted(self) -> None:
        ran: List[Any] = []
        guarded = self.guard(verb="pay")(lambda to: ran.append(to))
        cases = [({"ann"}, "params.to is an instance of set"), (Colour.RED, "params.to is an instance of Colour")]
        cases += [([{"at": datetime.min}], r"params.to\[0\].at is an instance of datetime")]
        cases += [(float("inf"), "params.to is inf"), (("ann",), "params.to is an instance of tuple")]
        for wrong, message in cases:
            with self.subTest(message), self.assertRaisesRegex((TypeError, ValueError), message):
                guarded(wrong)
        self.assertEqual((self.client.submitted, ran), ([], []))

    def test_a_negative_zero_runs_as_the_decided_zero(self) -> None:
        self.assertEqual(str(self.guard(verb="pay")(lambda usd: usd)(-0.0)), "0.0")

    def test_a_stop_among_the_arguments_ends_the_wait(self) -> None:
        client = Answering({"status": "pending", "escalation_id": "esc_1"}, {"outcome": "approve"})
        stop = Stop()
        guard = Guard(client, {"id": "bot"}, withdraw=True, on_pending=lambda _: stop.set())
        with self.assertRaises(Stopped):
            guard(verb="pay", pass_on=["stop"])(lambda usd, stop: None)(5, stop)
        self.assertEqual(client.withdrawn, ["esc_1"])

    def test_a_function_that_acts_after_its_call_is_refused(self) -> None:
        begun: List[Any] = []

        def parts() -> Any:
            yield begun.append(1)

        async def later() -> None:
            begun.append(2)

        async def parts_later() -> Any:
            yield begun.append(3)

        for function in (parts, parts_later):
            with self.assertRaisesRegex(TypeError, "returns its result in parts"):
                self.guard(function)
        for result, message in ((parts, "in parts"), (parts_later, "in parts"), (later, "define it with async def")):
            with self.assertRaisesRegex(TypeError, message):
                self.guard(verb="pay", pass_on=["make"])(lambda make: make())(result)
            self.assertEqual(self.client.observed.pop()["status"], "failed")
        self.assertEqual(begun, [])

    def test_parameters_without_a_name_are_refused(self) -> None:
        def positional(usd: int, /) -> None: ...

        def several(*usd: int) -> None: ...

        for function in (positional, several):
            with self.assertRaisesRegex(TypeError, "by its position"):
                self.guard(cast(Any, function))
        with self.assertRaisesRegex(TypeError, "has no parameter ctx to pass on"):
            self.guard(verb="pay", pass_on=["ctx"])(lambda usd: None)


class GuardingAsync(unittest.IsolatedAsyncioTestCase):
    async def test_a_guarded_coroutine_function_is_awaited_as_approved(self) -> None:
        client = Answering({"outcome": "approve_modified", "modified_content": {"usd": 1}})
        seen: Dict[str, Any] = {}

        def context(verb: str, params: Any) -> Any:
            seen[verb] = params
            return {"contract_version": "1", "facts": {}}

        @Guard(client, {"id": "bot"}, context=context)
        async def pay(usd: int) -> int:
            return usd

        self.assertTrue(inspect.iscoroutinefunction(pay))
        self.assertEqual(await pay(usd=5), 1)
        self.assertEqual(seen, {"pay": {"usd": 5}})
        self.assertEqual(client.observed, [{"status": "executed"}])
