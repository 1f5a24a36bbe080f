"""The client of Countersign for agents in Python. Needs only the standard library."""

from .blocked import ActionBlocked, ClaimedBefore
from .carry_out import CarryOutOptions, DecidingClient, carry_out, carry_out_async, carry_out_decided
from .client import Client
from .errors import ApiError, ConnectionFailed, CountersignError, Stopped
from .guard import CallDescription, Guard
from .stop import Stop
from .version import version as __version__
from .webhooks import ContextRequest, VerifiedWebhook, WebhookRejected, verify_context_request, verify_webhook

__all__ = [
    "ActionBlocked",
    "ApiError",
    "CallDescription",
    "CarryOutOptions",
    "ClaimedBefore",
    "Client",
    "ConnectionFailed",
    "ContextRequest",
    "CountersignError",
    "DecidingClient",
    "Guard",
    "Stop",
    "Stopped",
    "VerifiedWebhook",
    "WebhookRejected",
    "__version__",
    "carry_out",
    "carry_out_async",
    "carry_out_decided",
    "verify_context_request",
    "verify_webhook",
]
