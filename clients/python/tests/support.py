"""A service that answers as a test says, a client that records its calls, and the shared cases."""

from __future__ import annotations

import json
import threading
import unittest
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Union

from countersign import Client, Stop

root = Path(__file__).parents[3]


class Received(NamedTuple):
    method: str
    url: str
    headers: Dict[str, str]
    body: str


class Served(NamedTuple):
    base_url: str
    received: List[Received]
    waits: List[float]
    client: Client


class Answer(NamedTuple):
    status: int = 200
    body: str = "{}"
    headers: Optional[Dict[str, str]] = None


def json_answer(status: int, body: Any, headers: Optional[Dict[str, str]] = None) -> Answer:
    return Answer(status, json.dumps(body), headers)


def refusal(status: int, code: str, headers: Optional[Dict[str, str]] = None) -> Answer:
    error = {"code": code, "message": f"it is {code}", "details": [], "request_id": "req_1"}
    return json_answer(status, {"error": error}, headers)


Behaviour = Union[Answer, Callable[[BaseHTTPRequestHandler], None]]


def broken(handler: BaseHTTPRequestHandler) -> None:
    """Ends the connection without an answer."""


@contextmanager
def serve(*answers: Behaviour, **options: Any) -> Iterator[Served]:
    """Serves the answers in order (the last one repeatedly) and records the requests."""
    received: List[Received] = []

    class Handler(BaseHTTPRequestHandler):
        def respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            received.append(Received(self.command, self.path, headers, body))
            answer = answers[min(len(received), len(answers)) - 1]
            if not isinstance(answer, Answer):
                self.close_connection = True
                return answer(self)
            self.send_response_only(answer.status)
            for name, value in (answer.headers or {}).items():
                self.send_header(name, value)
            payload = answer.body.encode()
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST = do_PUT = do_DELETE = respond

        def log_message(self, format: str, *args: Any) -> None:
            """Prints nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01))
    thread.start()
    base_url = f"http://127.0.0.1:{server.server_address[1]}"
    waits: List[float] = []

    def wait(seconds: float, stop: Optional[Stop]) -> None:
        waits.append(seconds)

    try:
        yield Served(base_url, received, waits, Client(base_url, "svc_test_org_x", **{"wait": wait, **options}))
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def decided(**given: Any) -> Any:
    return {"intent_id": "int_1", "status": "final", "escalation_status": None, "reasons": [], **given}


class Answering:
    """Answers a submission with `first`, and waiting calls with `ruling`. Records the other calls."""

    def __init__(self, first: Dict[str, Any], ruling: Optional[Dict[str, Any]] = None) -> None:
        self.first = decided(**{"outcome": None, **first})
        self.ruling = decided(**{"outcome": None, **(ruling or {})})
        self.submitted: List[Any] = []
        self.observed: List[Any] = []
        self.withdrawn: List[str] = []
        self.nonces: List[Optional[str]] = []
        self.claim_error: Optional[Exception] = None

    def submit_intent(self, submission: Any, *, mode: Optional[str] = None, stop: Optional[Stop] = None) -> Any:
        self.submitted.append(submission)
        return {"intent_id": "int_1", "decision": self.first}

    def wait_for_outcome(self, intent_id: str, *, stop: Optional[Stop] = None) -> Any:
        if stop is not None:
            stop.check()
        return self.ruling

    def claim_intent(self, intent_id: str, nonce: Optional[str] = None, *, stop: Optional[Stop] = None) -> Any:
        self.nonces.append(nonce)
        if self.claim_error is not None:
            raise self.claim_error
        return self.first

    def record_observation(self, intent_id: str, status: str, detail: Any = None) -> Any:
        self.observed.append({"status": status} if detail is None else {"status": status, "detail": detail})

    def withdraw_escalation(self, escalation_id: str, comment: Optional[str] = None) -> Any:
        self.withdrawn.append(escalation_id)


def read_json(path: str) -> Any:
    return json.loads((root / path).read_text(encoding="utf-8"))


def with_cases(file: str) -> Callable[[Any], Any]:
    """Adds one test for each case of a file of clients/vectors, which the clients of all languages share."""

    def decorate(tests: Any) -> Any:
        cases = read_json(f"clients/vectors/{file}.json")
        for at, case in enumerate(cases):

            def test(self: unittest.TestCase, case: Any = case) -> None:
                tests.check(self, case)

            test.__doc__ = f"{file}: {case['name']}"
            setattr(tests, f"test_{at + 1:02}", test)
        return tests

    return decorate
