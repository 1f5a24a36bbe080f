"""Sends requests, and repeats those that are safe to repeat."""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
import time
from contextlib import nullcontext
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Union
from urllib.parse import SplitResult, urlencode, urlsplit

from .errors import ApiError, ConnectionFailed, api_error_of
from .plain_content import body_text
from .stop import Stop
from .version import version

Query = Mapping[str, Union[str, int, None]]

outage_seconds_max = 300
"""Total wait of a call that continues during outages."""

part_bytes = 65_536


class Call(NamedTuple):
    """One request. The optional members are as in `Client.request`."""

    method: str
    path: str
    query: Optional[Query] = None
    body: Any = None
    idempotency_key: Optional[str] = None
    repeatable: bool = False
    """The request changes nothing or its body prevents a second effect. GET and PUT always are repeatable."""
    agent_token: bool = False
    over_outages: bool = False
    """Continue during outages of the service of up to about five minutes."""
    stop: Optional[Stop] = None


class _Answer(NamedTuple):
    status: int
    reason: str
    headers: Mapping[str, str]
    text: str


class _NoAnswer(NamedTuple):
    error: ConnectionFailed
    waited_seconds: float
    """The timeout that passed; 0: the connection broke."""


class Transport:
    """Sends one request at a time over a connection of its own, so threads can share a transport."""

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
        self._base = _base_of(base_url)
        self._api_key = None if api_key is None else api_key.strip()
        self._agent_token = agent_token
        self._retries_max = retries_max
        self._answer_seconds_max = answer_seconds_max
        self._retry_wait_seconds_max = retry_wait_seconds_max
        self._ssl_context = ssl_context
        self._wait = _pause if wait is None else wait

    def __call__(self, call: Call) -> Any:
        """Returns the parsed answer, or None for an answer without a body."""
        _check_segments(call.path)
        _check_key(self._api_key)
        _check_idempotency_key(call.idempotency_key)
        body = None if call.body is None else body_text(call.body)
        repeatable = call.method in ("GET", "PUT") or call.repeatable or call.idempotency_key is not None
        patient = call.over_outages and self._retries_max > 0
        waited_seconds = 0.0
        retry = 0
        while True:
            if call.stop is not None:
                call.stop.check()
            answer = self._attempt(call, body, retry)
            if isinstance(answer, _Answer):
                if 200 <= answer.status < 300:
                    return _body_of(answer)
                error: Union[ApiError, ConnectionFailed] = api_error_of(*answer)
                seconds = _seconds_to_wait(error, repeatable, retry) if isinstance(error, ApiError) else None
            else:
                error = answer.error
                waited_seconds += answer.waited_seconds
                seconds = _backoff_seconds(retry) if repeatable else None
            if seconds is None or (isinstance(error, ApiError) and seconds > self._retry_wait_seconds_max):
                raise error
            goes_on = waited_seconds + seconds <= outage_seconds_max if patient else retry < self._retries_max
            if not goes_on:
                raise error
            waited_seconds += seconds
            self._wait(seconds, call.stop)
            retry += 1

    def _attempt(self, call: Call, body: Optional[bytes], retry: int) -> Union[_Answer, _NoAnswer]:
        target = f"{self._base.path}{call.path}{_query_text(_shorter_wait(call.query, retry))}"
        url = f"{self._base.scheme}://{self._base.netloc}{target}"
        headers = self._headers(call, body)
        patience = None
        if self._answer_seconds_max is not None:
            patience = self._answer_seconds_max + float((call.query or {}).get("wait") or 0)
        connection = self._connection(patience)
        try:
            return _exchange(connection, call, target, body, headers, patience)
        except (OSError, http.client.HTTPException) as cause:
            if call.stop is not None:
                call.stop.check()
            timed_out = isinstance(cause, socket.timeout)
            reason = f"it did not come within {patience:g} s" if timed_out else (str(cause) or type(cause).__name__)
            error = ConnectionFailed(f"no answer from {url}: {reason}")
            error.__cause__ = cause
            return _NoAnswer(error, (patience or 0) if timed_out else 0)
        finally:
            connection.close()

    def _connection(self, patience: Optional[float]) -> http.client.HTTPConnection:
        host, port = self._base.hostname or "", self._base.port
        if self._base.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=patience)
        # Loading the certificates takes 20 ms, so it happens once.
        if self._ssl_context is None:
            self._ssl_context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, port, timeout=patience, context=self._ssl_context)

    def _headers(self, call: Call, body: Optional[bytes]) -> Dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": f"countersign-python/{version}"}
        if self._api_key is not None:
            headers["X-API-Key"] = self._api_key
        if call.agent_token and self._agent_token is not None:
            headers["Agent-Token"] = _token_of(self._agent_token)
        if call.idempotency_key is not None:
            headers["Idempotency-Key"] = call.idempotency_key
        if body is not None:
            headers["Content-Type"] = "application/json"
        return headers


def _exchange(
    connection: http.client.HTTPConnection,
    call: Call,
    target: str,
    body: Optional[bytes],
    headers: Dict[str, str],
    patience: Optional[float],
) -> _Answer:
    """Sends the request and reads the whole answer within `patience` seconds. Follows no redirect, because that would
    send the key to another host."""
    deadline = None if patience is None else time.monotonic() + patience
    connection.connect()
    # Kept, because the connection forgets its socket when an answer closes it.
    sock: socket.socket = connection.sock

    def limit() -> None:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise socket.timeout("timed out")
            sock.settimeout(left)

    with nullcontext() if call.stop is None else call.stop.calling(lambda: _shut_down(sock)):
        limit()
        connection.request(call.method, target, body, headers)
        limit()
        response = connection.getresponse()
        parts: List[bytes] = []
        while not response.isclosed():
            limit()
            part = response.read1(part_bytes) if response.length is None else response.read(part_bytes)
            if not part:
                break
            parts.append(part)
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
    text = b"".join(parts).decode("utf-8", "replace")
    answer_headers = {name.lower(): value for name, value in response.headers.items()}
    return _Answer(response.status, response.reason, answer_headers, text)


def _shut_down(sock: socket.socket) -> None:
    """Wakes the thread that reads from the socket. Closing the socket would not."""
    try:
        # The method of SSLSocket would change the object under the other thread.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
    except OSError:
        pass  # The connection has already ended.


def _base_of(base_url: str) -> SplitResult:
    """Parses the address. Errors do not quote it, because it may contain a password."""
    wrong = ValueError("base_url takes an address such as http://127.0.0.1:8080")
    text = base_url.strip().rstrip("/") if isinstance(base_url, str) else ""
    if not re.fullmatch(r"(?i)https?://[^\s?#]+", text):
        raise wrong
    try:
        base = urlsplit(text)
        has_host = bool(base.hostname) and (base.port is None or base.port >= 0)
    except ValueError:
        raise wrong from None
    if not has_host:
        raise wrong
    if "@" in base.netloc:
        raise ValueError("base_url takes an address without user and password: give the key as api_key")
    return base


def _check_segments(path: str) -> None:
    """Proxies resolve `.` and `..` in a path, so the request would go to another operation."""
    if not re.fullmatch(r"/[!-~]+", path):
        raise ValueError(f"nothing was sent: {path!r} is not the path of an operation")
    wrong = next((segment for segment in path.split("/")[1:] if segment in ("", ".", "..")), None)
    if wrong is not None:
        raise ValueError(f'nothing was sent: no URL can hold "{wrong}" as an identifier in {path}')


def _check_idempotency_key(key: Optional[str]) -> None:
    if key is not None and not re.fullmatch(r"[ -~]+", key):
        raise ValueError(f"nothing was sent: idempotency_key takes printable ASCII characters, not {json.dumps(key)}")


def _check_key(api_key: Optional[str]) -> None:
    """Does not quote the key, because errors get into logs."""
    if api_key is not None and re.search(r"[^ -~]", api_key):
        message = "nothing was sent: the API key contains a character that no key has"
        raise ApiError(401, "invalid_api_key", message)


def _token_of(given: Union[str, Callable[[], str]]) -> str:
    token = (given if isinstance(given, str) else given()).strip()
    if not re.fullmatch(r"[!-~]+", token):
        raise ValueError("nothing was sent: the agent token is empty or contains a character that no token has")
    return token


def _body_of(answer: _Answer) -> Any:
    """Returns the parsed body, or None without one, which only 202 and 204 may have."""
    if answer.text == "" and answer.status in (202, 204):
        return None
    try:
        return json.loads(answer.text)
    except ValueError:
        raise api_error_of(*answer) from None


def _seconds_to_wait(error: ApiError, repeatable: bool, retry: int) -> Optional[float]:
    """Returns the seconds before a retry, or None for no retry.

    After 429 and `overloaded` nothing was stored, so every request may be retried. After another 503, or a proxy's
    answer during a restart, only repeatable requests are retried.
    """
    nothing_stored = error.status == 429 or error.code == "overloaded"
    outage = error.status in (502, 503, 504)
    if not nothing_stored and not (outage and repeatable):
        return None
    # Also instead of 0, because calls that continue during outages would otherwise retry without a pause.
    return error.retry_after_seconds or _backoff_seconds(retry)


def _backoff_seconds(retry: int) -> float:
    return min(8.0, 0.25 * 2.0 ** min(retry, 10))


def _shorter_wait(query: Optional[Query], retry: int) -> Query:
    """Halves `wait` at each retry, because a proxy with a shorter timeout would never pass an answer on."""
    shorter = dict(query or {})
    wait = shorter.get("wait")
    if isinstance(wait, int):
        shorter["wait"] = wait >> retry
    return shorter


def _query_text(query: Query) -> str:
    given = {name: value for name, value in query.items() if value is not None}
    return f"?{urlencode(given)}" if given else ""


def _pause(seconds: float, stop: Optional[Stop]) -> None:
    if stop is None:
        time.sleep(seconds)
    else:
        stop.wait(seconds)
