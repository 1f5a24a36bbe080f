"""The errors that the client raises, and how it reads an error answer."""

from __future__ import annotations

import json
import math
import re
from email.utils import parsedate_to_datetime
from typing import Any, Dict, List, Mapping, Optional, Union


class CountersignError(Exception):
    """The base of all errors of this package, except TypeError and ValueError for input that was not sent."""


class ApiError(CountersignError):
    """The service answered with an error.

    `code` is in docs/reference/errors.md, or `http_<status>` if another program answered. `request_id` finds the
    request in the service's log. `retry_after_seconds` is None without a Retry-After header.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        details: Optional[List[Dict[str, Any]]] = None,
        request_id: Optional[str] = None,
        retry_after_seconds: Union[int, float, None] = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = [] if details is None else details
        self.request_id = request_id
        self.retry_after_seconds = retry_after_seconds


class ConnectionFailed(CountersignError):
    """No complete answer came: wrong address, service down, or broken connection. `__cause__` gives the reason."""


class Stopped(CountersignError):
    """The caller ended the call with its `Stop`."""


def api_error_of(status: int, reason: str, headers: Mapping[str, str], text: str) -> ApiError:
    """Reads an error answer. The names in `headers` are lower-case. Any other answer, such as a proxy's page, is `http_<status>`."""
    error = _error_object(text)
    code, message, details = error.get("code"), error.get("message"), error.get("details")
    request_id = error.get("request_id")
    return ApiError(
        status=status,
        code=code if isinstance(code, str) else f"http_{status}",
        message=message if isinstance(message, str) else f"not an answer of the service: {status} {reason}".rstrip(),
        details=details if isinstance(details, list) else [],
        request_id=request_id if isinstance(request_id, str) else headers.get("x-request-id"),
        retry_after_seconds=_retry_after_seconds(headers),
    )


def _error_object(text: str) -> Dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError:
        return {}  # Not JSON, so only the status is known.
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, dict) else {}


def _retry_after_seconds(headers: Mapping[str, str]) -> Union[int, float, None]:
    """Returns seconds. The header may be a date (RFC 9110, section 10.2.3), which counts from the answer's own `Date`."""
    text = (headers.get("retry-after") or "").strip()
    if re.fullmatch(r"[0-9]+", text):
        # Hundreds of digits are no time to wait.
        return int(text) if math.isfinite(float(text)) else None
    if not text.endswith(" GMT"):
        return None
    try:
        until = parsedate_to_datetime(text)
        sent = parsedate_to_datetime(headers.get("date") or "")
    except (TypeError, ValueError):
        return None
    return max(0, math.ceil((until - sent).total_seconds()))
