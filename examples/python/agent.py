"""A function that asks Countersign: `agent.py AMOUNT TO`."""

import os
import sys

from countersign import ActionBlocked, Client, Guard

client = Client(
    os.environ.get("COUNTERSIGN_URL", "http://127.0.0.1:8080"),
    os.environ["COUNTERSIGN_API_KEY"],
)
guard = Guard(
    client,
    {"id": "desk-bot"},
    on_pending=lambda decision: print("waits for review", decision["escalation_id"], flush=True),
)


@guard
def send_money(amount_usd: float, to: str) -> str:
    """Sends money."""
    return f"sent {amount_usd:g} USD to {to}"


if __name__ == "__main__":
    try:
        print(send_money(float(sys.argv[1]), sys.argv[2]))
    except ActionBlocked as blocked:
        print(blocked)
