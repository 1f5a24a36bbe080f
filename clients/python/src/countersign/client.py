"""The client for agents."""

from __future__ import annotations

import secrets
import ssl
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Union, cast
from urllib.parse import quote

from .contract import BatchAnswer, BatchItem, Decision, IntentAnswer, IntentSubmission, Observation, SubmitAnswer
from .stop import Stop
from .transport import Call, Query, Transport

wait_seconds_max = 55


class Client:
    """A client of one service with one API key. It holds no connection, so create one and share it between threads.

    Every method raises `ApiError` or `ConnectionFailed`. TypeError and ValueError mean that nothing was sent.

    - `base_url`: the service's address. A path is kept, a final slash is removed.
    - `agent_token`: a JWT of a trusted issuer, sent with each submission. A function is called before each attempt.
    - `retries_max`: retries after 429, 502, 503, 504 or a broken connection; 0: never.
    - `answer_seconds_max`: timeout of one attempt, in addition to `wait`; None: no timeout.
    - `retry_wait_seconds_max`: the longest Retry-After to wait for. After a longer one the client raises at once.
    - `ssl_context`: for your own certificate authority.
    - `wait`: waits for a number of seconds, or until the `Stop` is set; for tests.
    """

    def __init__(
        self,
        base_url: str,
        api_key: Optional[str] = None,
        *,
        agent_token: Union[str, Callable[[], str], None] = None,
        retries_max: int = 2,
        answer_seconds_max: Optional[float] = 30,
        retry_wait_seconds_max: float = 60,
        ssl_context: Optional[ssl.SSLContext] = None,
        wait: Optional[Callable[[float, Optional[Stop]], None]] = None,
    ) -> None:
        self._send = Transport(
            base_url,
            api_key,
            agent_token=agent_token,
            retries_max=retries_max,
            answer_seconds_max=answer_seconds_max,
            retry_wait_seconds_max=retry_wait_seconds_max,
            ssl_context=ssl_context,
            wait=wait,
        )

    def submit_intent(
        self,
        submission: IntentSubmission,
        *,
        idempotency_key: Optional[str] = None,
        mode: Optional[str] = None,
        stop: Optional[Stop] = None,
    ) -> SubmitAnswer:
        """Requests the decision on an action. When the call returns, the decision is on disk.

        Without `idempotency_key` the client creates one, so that its own retries never decide twice. `mode="shadow"`
        asks without effect.
        """
        # The prefix marks a key for retries of this request only. Such a key does not distinguish two equal actions.
        key = f"retry-{secrets.token_hex(16)}" if idempotency_key is None else idempotency_key
        query = {"mode": mode}
        call = Call("POST", "/v1/intents", query, submission, idempotency_key=key, agent_token=True, stop=stop)
        return cast(SubmitAnswer, self._send(call))

    def submit_intent_batch(
        self, items: Sequence[BatchItem], *, mode: Optional[str] = None, stop: Optional[Stop] = None
    ) -> BatchAnswer:
        """Requests decisions on up to 50 actions as one request. Answers come in order. A bad item fails alone
        (`success: false`), without raising. Items without an `idempotency_key` get one."""
        intents = [{"idempotency_key": f"retry-{secrets.token_hex(16)}", **cast(Dict[str, Any], item)} for item in items]
        call = Call("POST", "/v1/intents/batch", {"mode": mode}, {"intents": intents})
        return cast(BatchAnswer, self._send(call._replace(repeatable=True, agent_token=True, stop=stop)))

    def get_intent(self, intent_id: str) -> IntentAnswer:
        """Returns the intent, the facts of its decision, and the decision."""
        return cast(IntentAnswer, self.request("GET", _path("intents", intent_id)))

    def get_decision(self, intent_id: str, *, wait: Optional[int] = None, stop: Optional[Stop] = None) -> Decision:
        """Returns the current decision. `wait` (at most 55 seconds) delays the answer until the outcome is final."""
        return self._decision(intent_id, wait, stop, over_outages=False)

    def wait_for_outcome(self, intent_id: str, *, stop: Optional[Stop] = None) -> Decision:
        """Returns when the outcome is final, however long the review takes, also across restarts of the service.

        `stop` ends the wait. Raises if the service cannot be reached for about five minutes.
        """
        while True:
            decision = self._decision(intent_id, wait_seconds_max, stop, over_outages=True)
            if decision["status"] == "final":
                return decision

    def claim_intent(
        self,
        intent_id: str,
        nonce: Optional[str] = None,
        *,
        next_nonce: Optional[str] = None,
        stop: Optional[Stop] = None,
    ) -> Decision:
        """Claims an approved action before it is executed. The client repeats the claim with the same nonce.

        `next_nonce` passes your claim on to the next step of the action: only one request can replace `nonce`.

        Raises `ApiError` with `already_claimed` if another caller claimed the action, and `blocked_now` if current
        rules block it.
        """
        body = {"nonce": secrets.token_hex(16) if nonce is None else nonce}
        if next_nonce is not None:
            body["next_nonce"] = next_nonce
        call = Call("POST", _path("intents", intent_id, "claim"), body=body, repeatable=True, stop=stop)
        return cast(Decision, self._send(call)["decision"])

    def record_observation(
        self, intent_id: str, status: str, detail: Union[str, Dict[str, Any], None] = None
    ) -> Observation:
        """Records what the agent did after the decision: `executed`, `failed` or `skipped`."""
        body: Dict[str, Any] = {"status": status}
        if detail is not None:
            body["detail"] = detail
        path = _path("intents", intent_id, "observations")
        answer = self.request("POST", path, body=body, idempotency_key=secrets.token_hex(16))
        return cast(Observation, answer["observation"])

    def withdraw_escalation(self, escalation_id: str, comment: Optional[str] = None) -> Decision:
        """Withdraws your own action from review; only with the key that submitted it. The action stays blocked."""
        body = {} if comment is None else {"comment": comment}
        answer = self.request("POST", _path("escalations", escalation_id, "withdraw"), body=body)
        return cast(Decision, answer["decision"])

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Query] = None,
        body: Any = None,
        idempotency_key: Optional[str] = None,
        stop: Optional[Stop] = None,
    ) -> Any:
        """Sends a request for any operation of the API, and returns the parsed answer, or None without a body.

        With an `idempotency_key` the client may repeat a POST. Escape identifiers in `path` with
        `urllib.parse.quote(text, safe="")`.
        """
        return self._send(Call(method, path, query, body, idempotency_key=idempotency_key, stop=stop))

    def pages(self, path: str, query: Optional[Query] = None) -> Iterator[Dict[str, Any]]:
        """Yields all pages of a list, each when it is needed."""
        place: Mapping[str, Optional[str]] = {}
        while True:
            page: Dict[str, Any] = self.request("GET", path, query={**(query or {}), **place})
            yield page
            if page["next_cursor"] is None:
                return
            place = {"cursor": page["next_cursor"]}

    def _decision(
        self, intent_id: str, wait: Optional[int], stop: Optional[Stop], *, over_outages: bool
    ) -> Decision:
        path = _path("intents", intent_id, "decision")
        answer = self._send(Call("GET", path, {"wait": wait}, over_outages=over_outages, stop=stop))
        return cast(Decision, answer["decision"])


def _path(*parts: str) -> str:
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)
