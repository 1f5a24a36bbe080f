#!/usr/bin/env bash
# Sends money if Countersign allows it: pay.sh AMOUNT TO. Needs curl and jq.
set -euo pipefail
url=${COUNTERSIGN_URL:-http://127.0.0.1:8080}

# Prints the answer, and ends the script if it is no success.
ask() {
  curl -sS --fail-with-body -H "X-API-Key: $COUNTERSIGN_API_KEY" -H "Content-Type: application/json" "$@"
}

# 1. Ask.
payment=$(jq -n --argjson amount_usd "$1" --arg to "$2" '{$amount_usd, $to}')
answer=$(ask "$url/v1/intents" -d "$(jq -n --argjson content "$payment" '{claim: "required", intent: {
  agent: {id: "desk-bot"}, action: {verb: "send_money"}, payload: {$content}}}')")
intent=$url/v1/intents/$(jq -r .intent_id <<<"$answer")

# 2. Wait for people, if they must decide. One request waits up to 50 seconds.
if [ "$(jq -r .decision.status <<<"$answer")" = pending ]; then
  echo "waits for review $(jq -r .decision.escalation_id <<<"$answer")"
fi
while [ "$(jq -r .decision.status <<<"$answer")" = pending ]; do
  answer=$(ask "$intent/decision?wait=50")
done

# 3. Act on the outcome, never on the verdict.
case $(jq -r .decision.outcome <<<"$answer") in
approve) ;;
approve_modified) payment=$(jq .decision.modified_content <<<"$answer") ;;
*)
  jq -r '.decision.reasons[] | "blocked by \(.policy): \(.message)"' <<<"$answer"
  ask "$intent/observations" -d '{"status": "skipped"}' >/dev/null
  exit 1
  ;;
esac

# 4. Claim the action, so that nobody else carries it out. Then carry it out, and report it.
ask "$intent/claim" -d "{\"nonce\": \"$(openssl rand -hex 16)\"}" >/dev/null
jq -r '"sent \(.amount_usd) USD to \(.to)"' <<<"$payment"
ask "$intent/observations" -d '{"status": "executed"}' >/dev/null
