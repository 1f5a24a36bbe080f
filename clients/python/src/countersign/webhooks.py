"""Verifies at the receiver that a request of the service is genuine, and detects repetitions."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, NoReturn, Optional, Protocol, Sequence, Tuple, Union, cast

from .contract import EventBody, Intent
from .errors import CountersignError


class WebhookRejected(CountersignError):
    """The reason to reject a request: `missing_headers`, `bad_signature` or `bad_body`. Answer it with 400."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class HeaderItems(Protocol):
    """Headers of any framework: a dict, or an object with `items()`. The case of names does not matter."""

    def items(self) -> Iterable[Tuple[str, str]]: ...


@dataclass(frozen=True)
class VerifiedWebhook:
    """A genuine delivery."""

    event: EventBody
    delivery_id: str
    """The same on the service's automatic retries."""
    manual_retry: bool
    """A person requested this delivery. `event["data"]["original_delivery_id"]` names the failed one."""
    repeated: bool
    """Your replay guard knows this delivery: answer 2xx and do nothing."""


@dataclass(frozen=True)
class ContextRequest:
    """A genuine request for facts. Answer it with 200 and a context document, or with 204 if you have no facts."""

    intent: Intent
    request_id: str
    """New for each request."""


def verify_webhook(
    raw_body: Union[bytes, str],
    headers: HeaderItems,
    secret: Union[str, Sequence[Optional[str]]],
    *,
    seen: Optional[Callable[[str], bool]] = None,
) -> VerifiedWebhook:
    """Verifies a delivery. Raises `WebhookRejected`.

    `raw_body` is the body before any parsing, because a rewritten body has another signature. `secret` is the whole
    `whsec_…` text, or several during a rotation; None is ignored. The comparison takes constant time.

    `seen` stores the delivery id and returns whether it was already known, in one step. It prevents replays, because
    the signature has no timestamp. It is called only for genuine deliveries. Without `seen`, `repeated` is always False.
    """
    event, delivery_id, given = _verified(raw_body, headers, secret)
    repeated = False if seen is None else seen(delivery_id)
    return VerifiedWebhook(cast(EventBody, event), delivery_id, given.get("x-service-retry") == "true", repeated)


def verify_context_request(
    raw_body: Union[bytes, str], headers: HeaderItems, secret: Union[str, Sequence[Optional[str]]]
) -> ContextRequest:
    """Verifies a request to a context source. Takes the same input as `verify_webhook`. Raises `WebhookRejected`."""
    body, request_id, _ = _verified(raw_body, headers, secret)
    intent = body.get("intent")
    if body.get("contract_version") != "1" or not isinstance(intent, dict):
        raise WebhookRejected("bad_body", "the body is not a request for facts")
    return ContextRequest(cast(Intent, intent), request_id)


def _verified(
    raw_body: Union[bytes, str], headers: HeaderItems, secret: Union[str, Sequence[Optional[str]]]
) -> Tuple[Dict[str, Any], str, Dict[str, str]]:
    given = {name.lower(): value for name, value in headers.items()}
    delivery_id, signature = given.get("x-service-delivery"), given.get("x-service-signature")
    if delivery_id is None or signature is None:
        raise WebhookRejected("missing_headers", "X-Service-Delivery or X-Service-Signature is missing")
    if not isinstance(raw_body, (bytes, bytearray, memoryview, str)):
        todo = "pass it as received, before any parsing: in Flask request.get_data(), in FastAPI await request.body()"
        raise WebhookRejected("bad_body", f"the body is neither text nor bytes; {todo}")
    body = raw_body.encode("utf-8", "surrogatepass") if isinstance(raw_body, str) else bytes(raw_body)
    # Everybody knows an empty secret.
    secrets = [each for each in ([secret] if isinstance(secret, str) else secret) if each]
    fits = [hmac.compare_digest(_signature(body, each), signature.encode("utf-8", "replace")) for each in secrets]
    if not any(fits):
        raise WebhookRejected("bad_signature", "the signature does not match the body and the secret")
    event = _parsed(body)
    # The signature does not cover this header. Without this check an attacker could send a captured delivery as another
    # event type.
    if event.get("event_type") != given.get("x-service-event"):
        raise WebhookRejected("bad_body", "X-Service-Event does not name the event of the body")
    return event, delivery_id, given


def _signature(body: bytes, secret: str) -> bytes:
    digest = hmac.new(secret.encode("utf-8"), body, hashlib.sha256).hexdigest()
    return f"sha256={digest}".encode("ascii")


def _parsed(body: bytes) -> Dict[str, Any]:
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except ValueError:
        raise WebhookRejected("bad_body", "the body is not JSON") from None
    if not isinstance(value, dict):
        raise WebhookRejected("bad_body", "the body is not an object")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
