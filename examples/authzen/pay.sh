#!/usr/bin/env bash
# Sends money if an AuthZEN evaluation permits it: pay.sh AMOUNT TO. Needs curl and jq.
set -euo pipefail
url=${COUNTERSIGN_URL:-http://127.0.0.1:8080}

# 1. Ask. `obligations` says that this program carries out changes. Without it, a changed payment is not permitted.
evaluation=$(jq -n --argjson amount_usd "$1" --arg to "$2" '{
  subject: {type: "agent", id: "desk-bot"},
  action: {name: "send_money", properties: {$amount_usd, $to}},
  resource: {type: "account", id: $to},
  context: {capabilities: ["obligations"]}}')
answer=$(curl -sS --fail-with-body "$url/access/v1/evaluation" -d "$evaluation" \
  -H "Authorization: Bearer $COUNTERSIGN_API_KEY" -H "Content-Type: application/json")

# 2. Act on `decision` only.
if [ "$(jq .decision <<<"$answer")" != true ]; then
  if [ "$(jq -r .context.review.status <<<"$answer")" = pending ]; then
    echo "waits for review $(jq -r .context.review.id <<<"$answer"): run this again when a person has decided"
  else
    jq -r '.context.reasons[] | "blocked by \(.policy): \(.message)"' <<<"$answer"
  fi
  exit 1
fi

# 3. Carry out what was permitted: the obligation, if there is one.
jq -r --argjson asked "$evaluation" \
  '(.context.obligation // $asked).action.properties | "sent \(.amount_usd) USD to \(.to)"' <<<"$answer"
