"""An agent of the test: `agent.py guard|carry-out AMOUNT TO`. Prints one line of JSON for each thing that happens."""

import json
import os
import sys
from typing import Any, Dict

from countersign import ActionBlocked, CarryOutOptions, Client, Guard, carry_out

client = Client(os.environ["SERVICE"], os.environ["AGENT_KEY"])
agent: Any = {"id": "python-bot"}


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


@Guard(client, agent, on_pending=lambda decision: say(pending=decision["escalation_id"]))
def send_money(amount_usd: float, to: str) -> str:
    """Sends money."""
    say(ran={"amount_usd": amount_usd, "to": to})
    return f"sent {amount_usd:g} USD to {to}"


def carry_out_once(params: Dict[str, Any]) -> str:
    action: Any = {"agent": agent, "action": {"verb": "send_money"}, "payload": {"content": params}}
    options = CarryOutOptions(on_pending=lambda decision: say(pending=decision["escalation_id"]))

    def run(content: Dict[str, Any], decision: Any) -> str:
        say(ran=content, resumed=decision.get("resumed_from") is not None)
        return "sent"

    return carry_out(client, {"intent": action}, run, options)


how, amount_usd, to = sys.argv[1], float(sys.argv[2]), sys.argv[3]
try:
    if how == "guard":
        say(result=send_money(amount_usd, to))
    else:
        say(result=carry_out_once({"amount_usd": amount_usd, "to": to}))
except ActionBlocked as blocked:
    say(blocked=str(blocked))
