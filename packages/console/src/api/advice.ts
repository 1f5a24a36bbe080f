import { ApiError, ConnectionError } from "@countersign/sdk";

/** Shown in a toast, or in place of data. */
export interface Advice {
  readonly title: string;
  readonly todo: string;
  readonly request_id: string | null;
}

const byCode: Readonly<Record<string, readonly [title: string, todo: string]>> = {
  invalid_request: ["The service does not accept this input", "Check what you entered and try again."],
  quota_exceeded: ["The plan's limit for this month is reached", "Nothing was stored. The page Usage shows the plan."],
  review_queue_full: ["Too many actions wait for review", "Nothing was stored. Decide some of them first."],
  missing_api_key: ["You are signed out", "Sign in again. Your text is still here."],
  invalid_api_key: [
    "This key is not valid",
    "Check that you copied the whole key. If it was revoked, sign in with another one.",
  ],
  expired_api_key: ["This key has expired", "Ask an admin for a new key, then sign in with it."],
  invalid_credentials: ["That is not correct", "Check your input."],
  forbidden: ["Your role does not allow this", "Ask somebody with a higher role, or an admin to change yours."],
  self_review: ["You cannot decide on your own action", "You and the agent's key count as one person."],
  signup_closed: ["Sign-up is closed on this service", "Ask its operator for an invitation or a key."],
  not_found: ["This does not exist, or no longer exists", "Check the address, or go back to the list."],
  escalation_closed: [
    "Someone else was faster, or the time is over",
    "The page shows the result. Nothing was changed.",
  ],
  frozen: ["It is frozen, so nobody can approve it", "The settings list what is frozen. An admin can unfreeze it."],
  blocked_now: [
    "This action cannot be approved now",
    "A rule, a stored fact or the agent's key has blocked it since it was held. Block it, or try again after that ends.",
  ],
  reason_required: [
    "This approval needs a reason",
    "Write the reason as comment for people, then approve again. Or ask for one more person.",
  ],
  confirmation_required: ["This ruling needs a confirmation", ""],
  confirmation_invalid: ["The confirmation does not fit", ""],
  already_claimed: ["Another agent has claimed this action", "Do not repeat it. The decision shows the outcome."],
  handed_on: ["Its approval went to an equal action", "Do not execute it. The decision names the other action."],
  override_not_allowed: [
    "A policy forbids overriding this block, or holds the action for other reviewers",
    "Ask one of them, or change the action to comply.",
  ],
  modified_action_blocked: [
    "The changed action would break a rule, or need other reviewers",
    "Change it further, or block it. The rule is named below.",
  ],
  masked_value_changed: [
    "A [masked] value was moved or changed",
    "Leave it as it was shown to keep the value, or write another value. Entries of a list keep their masks only if the list keeps its length.",
  ],
  already_exists: ["It already exists, or the limit is reached", "Choose another name, or remove one first."],
  state_conflict: ["Someone changed this meanwhile", "The page shows the new state. Try again if you still want to."],
  invalid_binding: ["The key cannot be bound in this way", "Fix the problem named here, then try again."],
  policy_invalid: ["The policy has errors", "Fix the marked places in the editor, then save again."],
  webhook_url_refused: ["This address is refused", "Use a public https address without user and password."],
  rate_limit_exceeded: ["Too many requests in a short time", "Nothing was changed. Try again in a few seconds."],
  overloaded: ["The service is busy", "Nothing was changed. Try again in a few seconds."],
  unavailable: [
    "The service cannot reach its database",
    "Try again in a minute. If the problem persists, tell the operator.",
  ],
  internal_error: [
    "Something went wrong in the service",
    "Try again. If the problem persists, give the operator the id below.",
  ],
  payload_too_large: ["This is too large", "Send less than 1 MB."],
};

const no_passkeys_here = "There are no passkeys at this address";

/** Advice by `details`, which are more precise than the code. */
const byDetail: Readonly<Record<string, readonly [title: string, todo: string]>> = {
  no_session: ["You are signed out", "Sign in again. Your text is still here."],
  before_turn: ["It is not your turn yet", ""],
  another_caller: ["This page now belongs to another caller", ""],
  session_too_old: [
    "Your password is needed",
    "You have been signed in for a while. Without a password, sign out and in again.",
  ],
  no_passkey: ["This ruling needs a passkey, and you have none", ""],
  no_authenticator: ["This ruling needs an authenticator, and you have none", ""],
  passkey: ["This ruling needs your passkey", ""],
  totp: ["This ruling needs a code", ""],
  last_admin: ["The last admin stays", ""],
  no_name: [no_passkeys_here, ""],
  link_over: ["This link is no longer valid", ""],
  address_taken: ["This address has an account here already", ""],
  no_provider: ["Nobody can sign in this way", "Ask an admin of your organization for its sign-in page."],
  not_vouched_for: ["Your organization's sign-in does not let you in", "Ask an admin of your organization."],
  not_through: ["You are not signed in", "Begin again."],
  not_proven: ["The service has no proof that this domain is yours", ""],
  domain_taken: ["Another organization has people in this domain", ""],
  mailbox_asked: ["We sent you a mail", ""],
  provider: ["Your organization's sign-in does not answer", "Try again in a minute, or sign in another way."],
};

const secondsText = (seconds: number) => (seconds > 3 ? `in ${seconds} seconds` : "in a few seconds");

export function adviceOn(error: unknown): Advice {
  if (error instanceof ConnectionError) {
    return {
      title: "The service does not answer",
      todo: "Check your network. Nothing is lost: try again once the banner above is gone.",
      request_id: null,
    };
  }
  if (error instanceof ApiError && error.code === `http_${error.status}`) {
    const wait = error.retry_after_seconds;
    const again = `Try again ${wait === null ? "in a minute" : secondsText(wait)}`;
    return {
      title: "A proxy answered instead of the service",
      todo: `Its answer was ${error.status}: your request may have been done or not. ${again}, or check first.`,
      request_id: null,
    };
  }
  if (error instanceof ApiError) {
    const closely = byDetail[String(error.details[0]?.["code"])];
    const wait = error.retry_after_seconds;
    // A refusal with a waiting time is not about the input.
    const any = wait === null ? "Check what you entered and try again." : "Try again in a few seconds.";
    const [title, todo] = closely ?? byCode[error.code] ?? [error.message, any];
    const details = error.details
      .slice(0, 5)
      .flatMap((each) => (typeof each["message"] === "string" ? [each["message"]] : []));
    const timely = wait === null ? todo : todo.replace(/in a (few seconds|minute)/, secondsText(wait));
    const todos = [timely, ...details].filter((each) => each !== "");
    return { title, todo: todos.join(" "), request_id: error.request_id };
  }
  if (error instanceof DOMException && error.name === "SecurityError")
    return { title: no_passkeys_here, todo: "Open the console at its public address.", request_id: null };
  if (error instanceof DOMException && (error.name === "NotAllowedError" || error.name === "InvalidStateError")) {
    const known = error.name === "InvalidStateError";
    return {
      title: known ? "This device has a passkey here already" : "The device returned nothing",
      todo: known ? "Sign in with it." : "It was cancelled or took too long. Try again, or sign in another way.",
      request_id: null,
    };
  }
  return { title: "Something went wrong in this page", todo: "Reload it and try again.", request_id: null };
}
