"""The cases that the clients of all languages share."""

from __future__ import annotations

import base64
import json
import unittest
from typing import Any, List

from countersign import ApiError, ConnectionFailed, WebhookRejected, carry_out, verify_webhook
from countersign.errors import api_error_of
from countersign.transport import Call, Transport

from .support import Answer, Answering, broken, read_json, serve, with_cases

reasons = {200: "OK", 403: "Forbidden", 500: "Internal Server Error", 503: "Service Unavailable"}


@with_cases("errors")
class ErrorAnswers(unittest.TestCase):
    def check(self, case: Any) -> None:
        read = api_error_of(case["status"], reasons.get(case["status"], ""), case["headers"], case["body"])
        expected = {"status": case["status"], **case["error"]}
        if expected["message"].startswith("not an answer") and case["status"] not in reasons:
            self.fail("add the reason of this status to the test")
        self.assertEqual({name: getattr(read, name) for name in expected}, expected)


@with_cases("retries")
class Retries(unittest.TestCase):
    def check(self, case: Any) -> None:
        answers = [
            broken if each == "broken" else Answer(each["status"], each["body"], each["headers"])
            for each in case["answers"]
        ]
        waits: List[float] = []
        with serve(*answers) as served:
            send = Transport(served.base_url, wait=lambda seconds, _: waits.append(seconds), **case.get("options", {}))
            try:
                outcome: Any = {"answer": send(Call(**case["request"]))}
            except ApiError as error:
                outcome = {"error": error.code}
            except ConnectionFailed:
                outcome = {"error": "connection"}
        self.assertEqual(outcome, case["outcome"])
        self.assertEqual(waits, case["waits_seconds"])
        self.assertEqual(len(served.received), case["requests"])
        if "urls" in case:
            self.assertEqual([each.url for each in served.received], case["urls"])


@with_cases("claims")
class Claims(unittest.TestCase):
    def check(self, case: Any) -> None:
        answers = [
            broken if each == "broken" else Answer(each["status"], each["body"], each["headers"])
            for each in case["answers"]
        ]
        nonce, *next_nonce = case["claim"]
        with serve(*answers) as served:
            try:
                outcome: Any = {"answer": served.client.claim_intent("int_1", nonce, next_nonce=(next_nonce or [None])[0])}
            except ApiError as error:
                outcome = {"error": error.code}
        self.assertEqual(outcome, case["outcome"])
        self.assertEqual([each.url for each in served.received], ["/v1/intents/int_1/claim"] * len(case["sent"]))
        self.assertEqual([json.loads(each.body) for each in served.received], case["sent"])


@with_cases("guard")
class CarriedOut(unittest.TestCase):
    def check(self, case: Any) -> None:
        client = Answering(case["first"], case.get("ruling"))
        if "claim_error" in case:
            given = case["claim_error"]
            client.claim_error = ApiError(given["status"], given["code"], given["code"], given["details"])
        own = RuntimeError(case["raises"]) if "raises" in case else None
        ran: List[Any] = []

        def run(content: Any, decision: Any) -> None:
            ran.append(content)
            if own is not None:
                raise own

        intent: Any = {"agent": {"id": "bot"}, "action": {"verb": "pay"}, "payload": {"content": case["content"]}}
        raised = None
        try:
            carry_out(client, {"intent": intent}, run)
        except Exception as error:
            raised = error
        self.assertEqual(client.submitted, [{"intent": intent, "claim": "required"}])
        self.assertEqual(ran, [] if case["ran"] is None else [case["ran"]])
        self.assertEqual(client.observed, case["observed"])
        name = None if raised is None else "its own" if raised is own else type(raised).__name__
        self.assertEqual(name, case["error"])
        if case["message"] is not None:
            self.assertEqual(str(raised), case["message"])


@with_cases("webhooks")
class Webhooks(unittest.TestCase):
    def check(self, case: Any) -> None:
        try:
            verified = verify_webhook(case["body"], case["headers"], case["secrets"])
        except WebhookRejected as error:
            self.assertEqual(error.reason, case["outcome"])
        else:
            self.assertEqual("accepted", case["outcome"])
            self.assertEqual((verified.delivery_id, verified.manual_retry), ("dlv_1", case["manual_retry"]))
            self.assertEqual(verified.event["event_type"], "quota.exceeded")


class Signatures(unittest.TestCase):
    def test_the_right_signature_is_accepted_and_none_of_the_usual_mistakes(self) -> None:
        checked = 0
        for vector in read_json("test/data/hmac-vectors.json")["vectors"]:
            if "body_base64" not in vector:
                continue
            body = base64.b64decode(vector["body_base64"])

            def outcome(signature: str) -> str:
                headers = {"X-Service-Delivery": "dlv_1", "X-Service-Event": "x", "X-Service-Signature": signature}
                try:
                    verify_webhook(body, headers, vector["secret"])
                except WebhookRejected as error:
                    return error.reason
                return "accepted"

            with self.subTest(vector["id"]):
                # Some bodies are not events, but they must not be refused for their signature.
                self.assertNotEqual(outcome(vector["signature"]), "bad_signature")
                for mistake in vector["must_not_equal"].values():
                    self.assertEqual(outcome(mistake), "bad_signature")
            checked += 1
        self.assertGreater(checked, 20)


