"""The requests that the client sends, and those that it refuses to send."""

from __future__ import annotations

import json
import threading
import unittest
from http.server import BaseHTTPRequestHandler
from typing import Any, List

from countersign import ApiError, Client, ConnectionFailed, Stop, Stopped

from .support import Answer, json_answer, refusal, serve

submission: Any = {"intent": {"agent": {"id": "a"}, "action": {"verb": "send_money"}}}
final = {"decision": {"status": "final", "outcome": "block"}}


class Sending(unittest.TestCase):
    def test_a_submission_carries_the_key_and_an_idempotency_key_that_its_retries_share(self) -> None:
        with serve(refusal(503, "unavailable", {"retry-after": "1"}), json_answer(201, {"intent_id": "int_1"})) as served:
            self.assertEqual(served.client.submit_intent(submission, mode="shadow"), {"intent_id": "int_1"})
        first, second = served.received
        self.assertEqual(first.url, "/v1/intents?mode=shadow")
        self.assertEqual(first.headers["x-api-key"], "svc_test_org_x")
        self.assertEqual(first.headers["content-type"], "application/json")
        self.assertEqual(json.loads(first.body), submission)
        self.assertRegex(first.headers["idempotency-key"], r"^retry-[0-9a-f]{32}$")
        self.assertEqual(second.headers["idempotency-key"], first.headers["idempotency-key"])

    def test_every_item_of_a_batch_has_an_idempotency_key_and_a_given_one_is_kept(self) -> None:
        with serve(json_answer(200, {"results": []})) as served:
            served.client.submit_intent_batch([submission, {**submission, "idempotency_key": "mine"}])
        first, second = json.loads(served.received[0].body)["intents"]
        self.assertRegex(first["idempotency_key"], r"^retry-[0-9a-f]{32}$")
        self.assertEqual(second["idempotency_key"], "mine")

    def test_only_submissions_carry_the_agents_token_which_is_asked_for_before_each_attempt(self) -> None:
        tokens = iter(["token-1\n", "token-2", "token-3"])
        answers = [refusal(503, "unavailable"), json_answer(201, {}), json_answer(200, {}), json_answer(200, final)]
        with serve(*answers, agent_token=lambda: next(tokens)) as served:
            served.client.submit_intent(submission)
            served.client.submit_intent_batch([])
            served.client.get_decision("int_1")
        sent = [each.headers.get("agent-token") for each in served.received]
        self.assertEqual(sent, ["token-1", "token-2", "token-3", None])

    def test_each_method_calls_its_operation(self) -> None:
        answer = {**final, "observation": {}, "intent": {}}
        with serve(json_answer(200, answer)) as served:
            client = served.client
            client.get_intent("int_1")
            client.get_decision("int_1", wait=5)
            client.claim_intent("int_1", "nonce")
            client.record_observation("int_1", "failed", "why")
            client.withdraw_escalation("esc_1", "done by hand")
        sent = [(each.method, each.url, each.body and json.loads(each.body)) for each in served.received]
        self.assertEqual(
            sent,
            [
                ("GET", "/v1/intents/int_1", ""),
                ("GET", "/v1/intents/int_1/decision?wait=5", ""),
                ("POST", "/v1/intents/int_1/claim", {"nonce": "nonce"}),
                ("POST", "/v1/intents/int_1/observations", {"status": "failed", "detail": "why"}),
                ("POST", "/v1/escalations/esc_1/withdraw", {"comment": "done by hand"}),
            ],
        )
        self.assertIn("idempotency-key", served.received[3].headers)

    def test_a_wait_asks_until_the_decision_is_final(self) -> None:
        with serve(json_answer(200, {"decision": {"status": "pending"}}), json_answer(200, final)) as served:
            self.assertEqual(served.client.wait_for_outcome("int_1")["outcome"], "block")
        self.assertEqual([each.url for each in served.received], ["/v1/intents/int_1/decision?wait=55"] * 2)

    def test_pages_are_requested_in_order_and_only_when_needed(self) -> None:
        pages = [{"intents": [1], "next_cursor": "a b"}, {"intents": [2], "next_cursor": None}]
        with serve(*(json_answer(200, page) for page in pages)) as served:
            seen = []
            for page in served.client.pages("/v1/intents", {"verdict": "block", "limit": None}):
                seen.append(page["intents"])
                self.assertEqual(len(served.received), len(seen))
        self.assertEqual(seen, [[1], [2]])
        self.assertEqual(served.received[1].url, "/v1/intents?verdict=block&cursor=a+b")

    def test_a_path_of_the_address_is_kept(self) -> None:
        with serve(json_answer(200, final)) as served:
            Client(f"{served.base_url}/behind/a/proxy/\n", " svc_test_org_x\n").get_decision("a/b?c")
        self.assertEqual(served.received[0].url, "/behind/a/proxy/v1/intents/a%2Fb%3Fc/decision")
        self.assertEqual(served.received[0].headers["x-api-key"], "svc_test_org_x")


class Refusing(unittest.TestCase):
    def test_a_wrong_address_is_refused_before_any_request(self) -> None:
        wrong: List[Any] = ["localhost:8080", "127.0.0.1:8080", "ftp://localhost", "", "http://", "http://x/?y"]
        for base_url in [*wrong, "http://x:99999", "http://[::1", None]:
            with self.subTest(base_url), self.assertRaisesRegex(ValueError, "^base_url takes an address such as"):
                Client(base_url)

    def test_a_user_and_password_in_the_address_are_refused_and_not_quoted(self) -> None:
        for base_url in ["http://ann:secret@localhost:8080", "https://secret@localhost"]:
            with self.assertRaises(ValueError) as caught:
                Client(base_url)
            self.assertNotIn("secret", str(caught.exception))

    def test_a_key_that_no_header_can_contain_is_refused_and_not_quoted(self) -> None:
        with serve(json_answer(200, final)) as served:
            for api_key in ["svc_live_org_abc\nsvc_live_org_def", "svc_live_org_ü"]:
                with self.assertRaises(ApiError) as caught:
                    Client(served.base_url, api_key).get_decision("int_1")
                self.assertEqual(caught.exception.code, "invalid_api_key")
                self.assertNotIn("svc", str(caught.exception))
        self.assertEqual(served.received, [])

    def test_an_idempotency_key_or_token_that_no_header_can_contain_is_not_sent(self) -> None:
        with serve(json_answer(201, {})) as served:
            for key in ["Rechnung-Ü1", "счёт", "a\nb", ""]:
                with self.subTest(key), self.assertRaisesRegex(ValueError, "idempotency_key takes printable ASCII"):
                    served.client.submit_intent(submission, idempotency_key=key)
            for token in ["", "two words", "Grüße"]:
                with self.subTest(token), self.assertRaisesRegex(ValueError, "^nothing was sent: the agent token is"):
                    Client(served.base_url, agent_token=token).submit_intent(submission)
        self.assertEqual(served.received, [])

    def test_an_identifier_that_no_url_can_contain_is_refused(self) -> None:
        with serve(json_answer(200, final)) as served:
            for wrong in ["..", ".", ""]:
                with self.subTest(wrong), self.assertRaisesRegex(ValueError, "no URL can hold"):
                    served.client.get_decision(wrong)
            with self.assertRaisesRegex(ValueError, "is not the path of an operation"):
                served.client.request("GET", "/v1/a b")
        self.assertEqual(served.received, [])

    def test_a_body_that_json_would_change_is_not_sent(self) -> None:
        cases: List[Any] = [
            ({"a": float("nan")}, ValueError, "body.a is nan"),
            ({"a": [1, float("inf")]}, ValueError, r"body.a\[1\] is inf"),
            ({"a": {1, 2}}, TypeError, "body.a is an instance of set"),
            ({"a": (1, 2)}, TypeError, "body.a is an instance of tuple"),
            ({"a": {1: 2}}, TypeError, "body.a has the key 1"),
            ({"a": b"x"}, TypeError, "body.a is an instance of bytes"),
        ]
        circular: Any = {}
        circular["self"] = [circular]
        with serve(json_answer(200, {})) as served:
            for body, kind, message in [*cases, (circular, ValueError, r"body.self\[0\] contains itself")]:
                with self.subTest(message), self.assertRaisesRegex(kind, f"^nothing was sent: {message}"):
                    served.client.request("POST", "/v1/intents", body=body)
        self.assertEqual(served.received, [])


def half(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b'HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"usage":')


def chunked(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    for part in (b'{"a":', b'"\xc3', b'\xa9"}', b""):
        handler.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))


class Answers(unittest.TestCase):
    def test_an_answer_that_breaks_in_the_middle_is_a_broken_connection(self) -> None:
        with serve(half, json_answer(200, {"usage": 1})) as served:
            self.assertEqual(served.client.request("GET", "/v1/usage"), {"usage": 1})
        with serve(half) as served, self.assertRaises(ConnectionFailed):
            served.client.request("POST", "/v1/api-keys/key_1/rotate")
        self.assertEqual(len(served.received), 1)

    def test_an_answer_in_chunks_is_read_whole(self) -> None:
        with serve(chunked) as served:
            self.assertEqual(served.client.request("GET", "/v1/usage"), {"a": "é"})

    def test_only_202_and_204_may_have_no_body(self) -> None:
        for status in (202, 204):
            with serve(Answer(status, "")) as served:
                self.assertIsNone(served.client.request("DELETE", "/v1/freezes"))
        with serve(Answer(200, "")) as served, self.assertRaises(ApiError) as caught:
            served.client.submit_intent(submission)
        self.assertEqual(caught.exception.code, "http_200")

    def test_a_redirect_is_an_error_because_the_key_is_sent_to_base_url_only(self) -> None:
        with serve(Answer(307, "", {"location": "/elsewhere"})) as served, self.assertRaises(ApiError) as caught:
            served.client.request("GET", "/v1/usage")
        self.assertEqual(caught.exception.code, "http_307")
        self.assertEqual(len(served.received), 1)

    def test_the_seconds_of_wait_are_added_to_the_timeout_of_the_answer(self) -> None:
        ending = threading.Event()
        with serve(lambda _: ending.wait() and None, answer_seconds_max=0.01, retries_max=0) as served:
            with self.assertRaisesRegex(ConnectionFailed, r"within 0\.01 s$"):
                served.client.get_decision("int_1")
            with self.assertRaisesRegex(ConnectionFailed, r"within 1\.01 s$"):
                served.client.get_decision("int_1", wait=1)
            ending.set()

    def test_a_wait_gives_up_after_five_minutes_also_if_no_answer_comes_at_all(self) -> None:
        ending = threading.Event()
        # Each attempt counts as 0.01 s here, so only the pauses reach five minutes.
        with serve(lambda _: ending.wait() and None, answer_seconds_max=-54.99) as served:
            with self.assertRaises(ConnectionFailed):
                served.client.wait_for_outcome("int_1")
            ending.set()
        self.assertGreater(sum(served.waits), 290)

    def test_no_service_at_the_address_is_a_failed_connection_with_the_reason(self) -> None:
        with serve(json_answer(200, {})) as served:
            pass
        with self.assertRaisesRegex(ConnectionFailed, r"^no answer from http://127\.0\.0\.1:\d+/v1/usage: .*refused"):
            served.client.request("GET", "/v1/usage")


class Stopping(unittest.TestCase):
    def test_a_stop_ends_a_waiting_request_at_once_and_without_retries(self) -> None:
        stop, ending, waiting = Stop(), threading.Event(), threading.Event()

        def silent(_: BaseHTTPRequestHandler) -> None:
            waiting.set()
            ending.wait()

        def stop_when_it_waits() -> None:
            waiting.wait()
            stop.set()

        with serve(silent, answer_seconds_max=None) as served:
            stopping = threading.Thread(target=stop_when_it_waits)
            stopping.start()
            with self.assertRaises(Stopped):
                served.client.wait_for_outcome("int_1", stop=stop)
            ending.set()
            stopping.join()
        self.assertEqual(len(served.received), 1)

    def test_a_stop_ends_the_pause_before_a_retry(self) -> None:
        stop = Stop()

        def refuse_for_a_day(handler: BaseHTTPRequestHandler) -> None:
            handler.wfile.write(b"HTTP/1.1 429 Too Many\r\nretry-after: 86400\r\ncontent-length: 0\r\n\r\n")
            threading.Timer(0.05, stop.set).start()

        with serve(refuse_for_a_day, wait=None, retry_wait_seconds_max=100_000) as served:
            with self.assertRaises(Stopped):
                served.client.submit_intent(submission, stop=stop)
        self.assertEqual(len(served.received), 1)

    def test_with_a_stop_that_is_set_nothing_is_sent(self) -> None:
        stop = Stop()
        stop.set()
        with serve(json_answer(200, final)) as served:
            for call in (served.client.wait_for_outcome, served.client.get_decision, served.client.claim_intent):
                with self.assertRaises(Stopped):
                    call("int_1", stop=stop)
        self.assertEqual(served.received, [])
