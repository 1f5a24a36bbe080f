/** Every refusal a caller can get. Source: contract §7 and api.md §2. docs/reference/errors.md is written from this table. */

/** What one error code says: its HTTP status, what happened, what the caller does about it. */
export interface ErrorCodeRow {
  readonly status: number;
  readonly meaning: string;
  readonly advice: string;
}

/** All error codes, in order of status. `error.code` never holds anything else. */
export const errorCodes = {
  invalid_json: {
    status: 400,
    meaning: "The body is not one JSON text: bad UTF-8, bad syntax, a name twice in one object, or nested too deeply.",
    advice: "Send one UTF-8 JSON object, at most 32 levels deep (a batch: each item).",
  },
  invalid_request: {
    status: 400,
    meaning: "The request does not have the shape that the operation takes.",
    advice: "Mend every entry of `details`: each names the place (`path`, a JSON Pointer) and what is wrong there.",
  },
  invalid_context: {
    status: 400,
    meaning: "The context document breaks a rule of its contract.",
    advice: "Mend every entry of `details`, or try the document with POST /v1/context/validate first.",
  },
  unknown_event_type: {
    status: 400,
    meaning: "A webhook registration names an event type that does not exist.",
    advice: "Use the names in docs/reference/events.md; upper and lower case count.",
  },
  webhook_url_refused: {
    status: 400,
    meaning: "The address is not one that the service may call.",
    advice:
      "Use an absolute https URL of a publicly reachable host, without user:password; `details` names the reason.",
  },
  missing_api_key: {
    status: 401,
    meaning: "The request carries no API key.",
    advice: "Send the key in the X-API-Key header.",
  },
  invalid_api_key: {
    status: 401,
    meaning: "The API key is unknown, malformed or revoked.",
    advice: "Use a key that is still valid; an admin can create one with POST /v1/api-keys.",
  },
  expired_api_key: {
    status: 401,
    meaning: "The API key has reached its expires_at. The answer carries X-Service-Key-Expired: true.",
    advice: "Create a new key with an admin key; rotate keys before they expire.",
  },
  invalid_credentials: {
    status: 401,
    meaning: "The e-mail address and the password, or the code, do not fit together, or the code was used before.",
    advice: "Try again, or ask for a link with POST /v1/auth/password/forgot. Which of them is wrong is not told.",
  },
  quota_exceeded: {
    status: 402,
    meaning: "The organization has reached its hard usage limit; nothing was stored.",
    advice: "Wait for the next period (GET /v1/usage) or agree on a larger plan.",
  },
  forbidden: {
    status: 403,
    meaning: "The key is valid, but its role, its scope or its bindings do not permit this operation.",
    advice: "Use a key that may: `details` names the roles, or who else it has to be.",
  },
  self_review: {
    status: 403,
    meaning: "You submitted this intent, with this key or with another one of yours, so you cannot decide on it.",
    advice: "Let another person review it: `details` says whose key it is, and what to do.",
  },
  signup_closed: {
    status: 403,
    meaning: "This instance does not take new organizations.",
    advice: "Ask whoever runs the instance for an invitation.",
  },
  not_found: {
    status: 404,
    meaning: "There is no such resource in your organization, or no such path.",
    advice: "Check the identifier; what belongs to another organization answers the same.",
  },
  method_not_allowed: {
    status: 405,
    meaning: "The path exists, but not with this method.",
    advice: "Use a method that the Allow header names.",
  },
  escalation_closed: {
    status: 409,
    meaning: "The escalation is already decided, timed out or cancelled.",
    advice: "Read the escalation for its outcome.",
  },
  frozen: {
    status: 409,
    meaning: "The agent, the key or the organization is frozen, so nothing of it may be approved.",
    advice: "`details` says who froze it and why. An admin can unfreeze it; GET /v1/freezes lists what is frozen.",
  },
  review_queue_full: {
    status: 409,
    meaning: "As many actions of this agent, or of this API key, wait for review as may; nothing was stored.",
    advice: "Wait until reviewers have decided some: GET /v1/escalations?status=pending&agent_id=… lists them.",
  },
  blocked_now: {
    status: 409,
    meaning:
      "What holds now blocks the action, although it did not when the action was decided: a policy, a stored fact, a setting of the membrane, or the state of the key that submitted it.",
    advice: "`details` names what blocks it. Decide block, or submit the action again once nothing blocks it.",
  },
  reason_required: {
    status: 409,
    meaning:
      "The approval comes sooner than the pace of a rule allows: too soon after the case was shown to you, or as one of many within five minutes.",
    advice:
      "Read the case, then write your reason in `comment`, or send `second_person: true` to ask for one more person. `details` says what was too fast.",
  },
  already_claimed: {
    status: 409,
    meaning: "Somebody else claimed the action before, or reported that it was carried out.",
    advice:
      "Do not carry it out. `details` names who claimed it and when. If the outcome stays unknown, an operator finds out what happened and reports it (POST /v1/intents/{intent_id}/observations).",
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
      "A policy that stopped the action (blocked or held it) forbids overrides, or holds it for other reviewers; or the decision is not a block.",
    advice: "`details` names the policy; change the action or the policy.",
  },
  idempotency_conflict: {
    status: 409,
    meaning: "This Idempotency-Key was already used with another body.",
    advice: "Use a new key for a new request; send the same body to repeat the old one.",
  },
  already_exists: {
    status: 409,
    meaning: "Something with this name exists already, or the organization has as many as it may.",
    advice: "Choose another name, or remove one first.",
  },
  state_conflict: {
    status: 409,
    meaning: "The resource is not in a state that permits this.",
    advice: "Read the resource and decide again.",
  },
  payload_too_large: {
    status: 413,
    meaning: "The body is larger than the operation takes, or holds more values than a body may.",
    advice:
      "Send at most 1 MiB (a batch: 8 MiB, each item 1 MiB) and at most 10,000 values (each item of a batch 10,000, a membrane 20,000); `details` says which was too much.",
  },
  unsupported_media_type: {
    status: 415,
    meaning: "The body is not declared as JSON.",
    advice: "Send Content-Type: application/json.",
  },
  policy_invalid: {
    status: 422,
    meaning: "The policy document has errors, or one of its own tests fails.",
    advice: "Mend every diagnostic in `details`; POST /v1/policies/check gives the same without saving.",
  },
  modified_action_blocked: {
    status: 422,
    meaning:
      "The action as the reviewer modified it would be blocked by a policy, or a blocking policy could not be evaluated on it, or it would be held for other reviewers or more of them.",
    advice: "Change the modifications, or decide block.",
  },
  invalid_binding: {
    status: 422,
    meaning: "The API key cannot be bound in this way.",
    advice: "Mend every entry of `details`: each names the place (`path`) and what is wrong there.",
  },
  masked_value_changed: {
    status: 422,
    meaning: "A reviewer's change has a mask (`[masked]`) that is not the unchanged mask of its place.",
    advice: "Leave the mask as it was shown, which keeps the value, or write another value in place of it.",
  },
  rate_limit_exceeded: {
    status: 429,
    meaning: "Too many requests, or too many wrong second factors, in a short time. This answer costs nothing.",
    advice: "Wait as many seconds as Retry-After says, then go on.",
  },
  internal_error: {
    status: 500,
    meaning: "The service failed. Whether the request took effect is not known.",
    advice: "Repeat the request with the same Idempotency-Key; report the request_id if it happens again.",
  },
  overloaded: {
    status: 503,
    meaning: "The service has more work queued than it accepts; nothing was stored.",
    advice: "Wait as many seconds as Retry-After says, then send the request again.",
  },
  unavailable: {
    status: 503,
    meaning: "The service is starting or stopping, or its database cannot be reached or took too long.",
    advice: "Wait as many seconds as Retry-After says, then repeat the request with the same Idempotency-Key.",
  },
} as const satisfies Record<string, ErrorCodeRow>;

/** A value of `error.code`. */
export type ErrorCode = keyof typeof errorCodes;
