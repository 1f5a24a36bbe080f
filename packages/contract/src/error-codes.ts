/** Error codes. docs/reference/errors.md is generated from this table. Source: spec §7. */

export interface ErrorCodeRow {
  readonly status: number;
  readonly meaning: string;
  readonly advice: string;
}

export const errorCodes = {
  invalid_json: {
    status: 400,
    meaning: "The body is not one JSON text: bad UTF-8, bad syntax, a name twice in one object, or nested too deeply.",
    advice: "Send one UTF-8 JSON object, at most 32 levels deep (a batch: each item).",
  },
  invalid_request: {
    status: 400,
    meaning: "The request does not have the shape that the operation accepts.",
    advice: "Fix every entry of `details`. Each names the place (`path`, a JSON Pointer) and the problem.",
  },
  invalid_context: {
    status: 400,
    meaning: "The context document breaks a rule of its contract.",
    advice: "Fix every entry of `details`, or check the document with POST /v1/context/validate first.",
  },
  invalid_agent_token: {
    status: 400,
    meaning: "The Agent-Token does not prove who the agent is; nothing was stored.",
    advice: "`details` names the cause. Get a new token from the issuer and send the action again with it.",
  },
  unknown_event_type: {
    status: 400,
    meaning: "A webhook registration names an event type that does not exist.",
    advice: "Use the names in docs/reference/events.md. They are case-sensitive.",
  },
  webhook_url_refused: {
    status: 400,
    meaning: "The service may not call this address.",
    advice: "Use an absolute https URL of a public host, without user:password. `details` names the reason.",
  },
  missing_api_key: {
    status: 401,
    meaning: "The request carries no API key.",
    advice: "Send the key in the X-API-Key header.",
  },
  invalid_api_key: {
    status: 401,
    meaning: "The API key is unknown, malformed or revoked.",
    advice: "Use a valid key. An admin can create one with POST /v1/api-keys.",
  },
  expired_api_key: {
    status: 401,
    meaning: "The API key has expired (`expires_at`). The answer has X-Service-Key-Expired: true.",
    advice: "Create a new key with an admin key. Rotate keys before they expire.",
  },
  invalid_signature: {
    status: 401,
    meaning: "The signature of the chat is wrong, or its time is not of the last five minutes.",
    advice: "Check the app's signing secret in the channel's settings, and the clocks of both machines.",
  },
  invalid_credentials: {
    status: 401,
    meaning: "The e-mail address, the password or the code is wrong, or the code was used before.",
    advice:
      "Try again, or request a link with POST /v1/auth/password/forgot. The service does not say which one is wrong.",
  },
  quota_exceeded: {
    status: 402,
    meaning: "The organization has reached its hard usage limit. Nothing was stored.",
    advice: "Wait for the next period (GET /v1/usage), or get a larger plan.",
  },
  forbidden: {
    status: 403,
    meaning: "The key is valid, but its role, its scope or its bindings do not permit this operation.",
    advice: "Use another key. `details` names the roles, or the caller, that the operation needs.",
  },
  second_factor_required: {
    status: 403,
    meaning: "The organization requires a second factor, and this session or account has none.",
    advice:
      "Set up an authenticator in the console, or sign in with a passkey. Then repeat the request. API keys are not affected.",
  },
  confirmation_required: {
    status: 403,
    meaning: "A rule or the membrane asks reviewers to confirm the ruling, and the vote has no such confirmation.",
    advice:
      "`details` says which one. For a passkey, begin with POST /v1/escalations/{escalation_id}/confirmation. API keys and chats cannot confirm: decide in the console.",
  },
  confirmation_invalid: {
    status: 403,
    meaning:
      "The confirmation does not fit the vote: the code or signature is wrong or was used before, or the ruling is older than 5 minutes or another one.",
    advice: "Begin a new confirmation for this vote, or enter the next code.",
  },
  self_review: {
    status: 403,
    meaning: "You submitted this intent with this key or another one of yours, so you cannot decide it.",
    advice: "Ask another person to review it. `details` names the owner of the key and says what to do.",
  },
  signup_closed: {
    status: 403,
    meaning: "This instance does not accept new organizations.",
    advice: "Ask the operator of the instance for an invitation.",
  },
  not_found: {
    status: 404,
    meaning: "Your organization has no such resource, or the path does not exist.",
    advice: "Check the identifier. Resources of other organizations answer the same.",
  },
  method_not_allowed: {
    status: 405,
    meaning: "The path exists, but not with this method.",
    advice: "Use a method that the `Allow` header names.",
  },
  escalation_closed: {
    status: 409,
    meaning: "The escalation is already decided, timed out or cancelled.",
    advice: "Read the escalation for its outcome.",
  },
  frozen: {
    status: 409,
    meaning: "The agent, the key or the organization is frozen, so none of its actions may be approved.",
    advice: "`details` says who froze it and why. An admin can unfreeze it. GET /v1/freezes lists all freezes.",
  },
  review_queue_full: {
    status: 409,
    meaning: "The review queue of this agent or API key is full. Nothing was stored.",
    advice: "Wait until reviewers have decided some actions. GET /v1/escalations?status=pending&agent_id=… lists them.",
  },
  blocked_now: {
    status: 409,
    meaning:
      "The action would be blocked now, although it was not when it was decided. A policy, a stored fact, a setting of the membrane, or the state of the submitting key has changed.",
    advice: "`details` names the cause. Decide block, or submit the action again after the cause is gone.",
  },
  reason_required: {
    status: 409,
    meaning:
      "The approval is faster than the pace of a rule allows: too soon after the case was shown to you, or one of too many within five minutes.",
    advice:
      "Read the case. Then write your reason in `comment`, or send `second_person: true` to require one more person. `details` says which limit applies.",
  },
  already_claimed: {
    status: 409,
    meaning: "Somebody else already claimed the action, or reported that it was carried out.",
    advice:
      "Do not carry it out. `details` says who claimed it and when. If the outcome stays unknown, an operator must find it out and report it (POST /v1/intents/{intent_id}/observations).",
  },
  handed_on: {
    status: 409,
    meaning: "People approved the action once, and an equal action of the same agent and key got that approval.",
    advice:
      "Do not carry it out. `details` names the other intent. Submit the action again if it must happen once more.",
  },
  override_not_allowed: {
    status: 409,
    meaning:
      "A policy that blocked or held the action forbids overrides or needs other reviewers, or the decision is not a block.",
    advice: "`details` names the policy. Change the action or the policy.",
  },
  idempotency_conflict: {
    status: 409,
    meaning: "This Idempotency-Key was already used with another body.",
    advice:
      "Use a new key for a new request. Send the same body to repeat the old one. For an intent `details` holds its `intent_id`.",
  },
  already_exists: {
    status: 409,
    meaning: "This name already exists, or the organization has reached the maximum number.",
    advice: "Choose another name, or remove a resource first.",
  },
  legal_hold: {
    status: 409,
    meaning: "A legal hold keeps the record, so nobody can erase it.",
    advice: "Release the hold that the message names, if you may. Then erase again.",
  },
  erased: {
    status: 410,
    meaning: "The content of the record was erased, so this operation cannot use it.",
    advice: "Do not repeat the request. The record still has its ids, times and verdict.",
  },
  state_conflict: {
    status: 409,
    meaning: "The state of the resource does not permit this operation.",
    advice: "Read the resource, then decide again.",
  },
  payload_too_large: {
    status: 413,
    meaning: "The body is too large, or has too many values.",
    advice:
      "Send at most 1 MiB (a batch: 8 MiB, each item 1 MiB) and at most 10,000 values (each item of a batch 10,000, a membrane 20,000). `details` names the limit.",
  },
  unsupported_media_type: {
    status: 415,
    meaning: "The body is not declared as JSON.",
    advice: "Send Content-Type: application/json.",
  },
  policy_invalid: {
    status: 422,
    meaning:
      "The policy document has errors, one of its own tests fails, or another policy in force defines one of its counters differently.",
    advice: "Fix every diagnostic in `details`. POST /v1/policies/check gives the same ones without saving.",
  },
  modified_action_blocked: {
    status: 422,
    meaning:
      "A policy would block the modified action, a blocking policy cannot be evaluated on it, or it would need other or more reviewers.",
    advice: "Change the modifications, or decide block.",
  },
  invalid_binding: {
    status: 422,
    meaning: "The API key cannot have these bindings.",
    advice: "Fix every entry of `details`. Each names the place (`path`) and the problem.",
  },
  masked_value_changed: {
    status: 422,
    meaning: "A reviewer's change has a mask (`[masked]`) that is not the unchanged mask of its place.",
    advice: "Leave the mask unchanged to keep the value, or replace it by another value.",
  },
  rate_limit_exceeded: {
    status: 429,
    meaning: "Too many requests, or too many wrong second factors, in a short time. This answer does not count.",
    advice: "Wait for the seconds in Retry-After, then continue.",
  },
  internal_error: {
    status: 500,
    meaning: "The service failed. The request may or may not have taken effect.",
    advice: "Repeat the request with the same Idempotency-Key. Report the request_id if it fails again.",
  },
  overloaded: {
    status: 503,
    meaning: "The service's queue is full. Nothing was stored.",
    advice: "Wait for the seconds in Retry-After, then send the request again.",
  },
  receipt_not_ready: {
    status: 503,
    meaning: "No signed checkpoint covers the newest entry of this intent yet.",
    advice: "Wait for the seconds in Retry-After, then read the receipt again.",
  },
  unavailable: {
    status: 503,
    meaning: "The service is starting or stopping, or its database is unreachable or too slow.",
    advice: "Wait for the seconds in Retry-After, then repeat the request with the same Idempotency-Key.",
  },
} as const satisfies Record<string, ErrorCodeRow>;

export type ErrorCode = keyof typeof errorCodes;
