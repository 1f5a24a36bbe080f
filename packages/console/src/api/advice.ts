/** What an error means to a person, and what to do about it. */
import { ApiError, ConnectionError } from "@countersign/sdk";

/** Shown in a toast or in place of what could not be loaded. */
export interface Advice {
  readonly title: string;
  readonly todo: string;
  /** Finds the request in the service's log. */
  readonly request_id: string | null;
}

const byCode: Readonly<Record<string, readonly [title: string, todo: string]>> = {
  invalid_request: ["This is not accepted as it stands", "Check what you entered and try again."],
  quota_exceeded: ["The plan's limit for this month is reached", "Nothing was stored. The page Usage shows the plan."],
  review_queue_full: ["Too many actions wait for review", "Nothing was stored. Rule on some of them first."],
  missing_api_key: ["You are signed out", "Sign in again; what you have typed here is still here."],
  invalid_api_key: [
    "This key is not valid (any more)",
    "Check that it was copied whole. It may also have been revoked: then sign in with another one.",
  ],
  expired_api_key: ["This key has expired", "Ask an admin for a new key, then sign in with it."],
  invalid_credentials: ["That is not right", "Check what you typed."],
  forbidden: ["Your role does not allow this", "Ask somebody with a higher role, or an admin to change yours."],
  self_review: ["You cannot decide on your own action", "You and the agent's key are one person."],
  signup_closed: ["Sign-up is closed on this service", "Ask its operator for an invitation or a key."],
  not_found: ["There is no such thing (any more)", "Check the address, or go back to the list."],
  escalation_closed: ["Somebody was faster, or the time was over", "The page shows how it ended. Nothing was changed."],
  frozen: [
    "It is frozen, so nothing of it may be approved",
    "The settings list what is frozen. An admin can unfreeze it.",
  ],
  blocked_now: [
    "This action cannot be approved now",
    "A rule, a stored fact or the agent's key blocks it since it was held. Block it, or try again when that has ended.",
  ],
  reason_required: [
    "This approval needs a reason",
    "Write the reason as comment for people, then approve again. Or ask for one more person.",
  ],
  already_claimed: ["Somebody else carries this out", "Do not do it again. The decision shows what became of it."],
  handed_on: ["Its approval went to an equal action", "Do not do it. The decision names the other action."],
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
  already_exists: ["There is one already, or as many as there may be", "Choose another name, or remove one first."],
  state_conflict: ["This has changed in the meantime", "The page shows the new state. Try again if you still want to."],
  invalid_binding: ["The key cannot be bound in this way", "Mend what is named here, then try again."],
  policy_invalid: ["The policy has mistakes", "Mend what is marked in the editor, then save again."],
  webhook_url_refused: ["This address is refused", "Use a public https address without user and password."],
  rate_limit_exceeded: ["Too many requests in a short time", "Nothing was changed. Try again in a few seconds."],
  overloaded: ["The service is busy", "Nothing was changed. Try again in a few seconds."],
  unavailable: ["The service cannot reach its database", "Try again in a minute. If it stays so, tell the operator."],
  internal_error: ["Something went wrong in the service", "Try again. If it stays so, give the operator the id below."],
  payload_too_large: ["This is too large", "Send less than 1 MB."],
};

const no_passkeys_here = "There are no passkeys at this address";

/** Where `details` say more closely what is wrong than the code does. */
const byDetail: Readonly<Record<string, readonly [title: string, todo: string]>> = {
  no_session: ["You are signed out", "Sign in again; what you have typed here is still here."],
  before_turn: ["It is not your turn yet", ""],
  another_caller: ["This page is not yours any more", ""],
  session_too_old: [
    "Your password is needed",
    "You have been signed in for a while. Without a password, sign out and in again.",
  ],
  last_admin: ["The last admin stays", ""],
  no_name: [no_passkeys_here, ""],
  link_over: ["This link does not serve any more", ""],
  address_taken: ["This address has an account here already", ""],
  no_provider: ["Nobody can be signed in this way", "Ask an admin of your organization for its sign-in page."],
  not_vouched_for: ["Your organization's sign-in does not let you in", "Ask an admin of your organization."],
  not_through: ["You are not signed in", "Begin again."],
  not_proven: ["This domain is not proven to be yours", ""],
  domain_taken: ["Another organization has people in this domain", ""],
  mailbox_asked: ["We sent you a mail", ""],
  provider: ["Your organization's sign-in does not answer", "Try again in a minute, or sign in another way."],
};

const secondsText = (seconds: number) => (seconds > 3 ? `in ${seconds} seconds` : "in a few seconds");

/** The advice for anything that was thrown. */
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
      title: "Something on the way to the service answered in its place",
      todo: `Its answer was ${error.status}: what you sent may have been done or not. ${again}, or look first.`,
      request_id: null,
    };
  }
  if (error instanceof ApiError) {
    const closely = byDetail[String(error.details[0]?.["code"])];
    const wait = error.retry_after_seconds;
    // What is refused in a way that is not known here; with a time, it was not for what was entered.
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
      title: known ? "This device has a passkey here already" : "The device gave nothing",
      todo: known ? "Sign in with it." : "It was broken off or took too long. Try again, or sign in another way.",
      request_id: null,
    };
  }
  return { title: "Something went wrong in this page", todo: "Reload it and try again.", request_id: null };
}
