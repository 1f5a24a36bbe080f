"""The errors that are raised instead of executing an action."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Sequence

from .contract import Decision, Execution
from .errors import CountersignError


class ActionBlocked(CountersignError):
    """Raised instead of executing a refused action. The message gives the reason, for models and people.

    `decision` is the decision when its outcome became final. `now`: current blocks of an approved action.
    """

    def __init__(self, decision: Decision, now: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(_blocked_text(decision, now))
        self.intent_id = decision["intent_id"]
        self.decision = decision


class ClaimedBefore(CountersignError):
    """Raised instead of executing an action that was claimed earlier, because it may have been executed already.

    `execution` has the state: `claimed` and `unknown` mean that no result was reported.
    """

    def __init__(self, intent_id: str, execution: Execution) -> None:
        super().__init__(_claimed_text(intent_id, execution))
        self.intent_id = intent_id
        self.execution = execution


_reviews: Dict[str, str] = {
    "decided": "A reviewer decided against it.",
    "timed_out": "Nobody decided on it in time.",
    "cancelled": "Its review was cancelled.",
}


def _blocked_text(decision: Decision, now: Sequence[Mapping[str, Any]]) -> str:
    place = f"({decision['intent_id']})"
    if now:
        blocks = [f"{block['policy']}: {block['message']}" for block in now]
        return " ".join(["Blocked, nothing was done. It was approved, but is blocked now.", *blocks, place])
    review = _reviews.get(decision["escalation_status"] or "pending")
    said = decision.get("message_to_agent")
    parts = [
        "Blocked, nothing was done.",
        *([] if review is None else [review]),
        *([] if said is None else [f"The reviewer says to you: {said}"]),
        *(f"{reason['policy']}: {reason['message']}" for reason in decision["reasons"]),
        place,
    ]
    return " ".join(parts)


_claimed_texts: Dict[str, str] = {
    "executed": "Already executed; its result is not known here.",
    "failed": "Already executed, and it failed.",
    "skipped": "Claimed before, and skipped.",
    "handed_on": "Its approval went to an equal action.",
    "revoked": "Its approval was revoked.",
}


def _claimed_text(intent_id: str, execution: Execution) -> str:
    at, by = execution["at"], execution["by"]
    who = " ".join([*([] if at is None else [f"at {at}"]), *([f"by {by['id']}"] if by and by["id"] else [])])
    parts = [
        _claimed_texts.get(execution["status"], "Claimed before, outcome unknown."),
        *([f"It was claimed {who}."] if who else []),
        "It was not repeated. Find out whether it was executed before you submit it again.",
        f"({intent_id})",
    ]
    return " ".join(parts)
