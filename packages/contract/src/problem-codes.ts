/** Values of `code` in `error.details` on a 400. The message has the details. */
export const problemCodes = {
  required: "A required field is missing.",
  unknown_field:
    "The operation does not know this field. Unknown fields are refused, so that a typo never weakens a request.",
  wrong_type: "The value has the wrong JSON type. The service converts no types.",
  not_allowed: "The field does not allow this value.",
  bad_format: "The text does not have the form of the field.",
  out_of_range:
    "The number is too small or too large for the field, or has more digits than a double can hold. Send a number with more digits than that as text.",
  too_short: "The text or list is too short.",
  too_long: "The text or list is too long.",
  too_many_keys: "The object has too many keys.",
  bad_key: "A key does not match the pattern for keys.",
  in_the_future: "The time is further in the future than clocks may differ.",
  forbidden_key: "A key is named __proto__, which no field may have as its name.",
  forbidden_character:
    "A text contains a NUL character or half of a surrogate pair. Or a name contains a control or format character, or begins or ends with white space.",
  not_a_number: "The number is too large for a double.",
} as const satisfies Record<string, string>;

export type ProblemCode = keyof typeof problemCodes;

/** One problem. `path` is a JSON Pointer (RFC 6901) into the request body; "" is the body itself. */
export interface Problem {
  readonly path: string;
  readonly code: ProblemCode;
  readonly message: string;
}

/** Values of `code` in `error.details` on statuses other than 400. */
export const refusalCodes = {
  no_session: { statuses: [401], meaning: "Nobody is signed in, or the second factor is missing. Sign in." },
  not_through: { statuses: [401], meaning: "The login with the identity provider failed. Start the login again." },
  agent: { statuses: [403], meaning: "The key may act for one agent only, and the request names another agent." },
  bound: {
    statuses: [403],
    meaning: "The key's bindings do not allow this IP address, membrane, agent or mode.",
  },
  another_caller: {
    statuses: [403],
    meaning: "Another person has signed in in this browser since the page was opened.",
  },
  cross_origin: { statuses: [403], meaning: "A page of another site sent this write from a browser." },
  mailbox_asked: {
    statuses: [403],
    meaning:
      "The person is not in the organization yet. The service sent a mail with a link. Open it, then sign in again.",
  },
  not_vouched_for: {
    statuses: [403],
    meaning: "The identity provider does not confirm the e-mail address of this person.",
  },
  session_too_old: { statuses: [403], meaning: "The session is too old for this operation. Sign in again." },
  link_over: { statuses: [404], meaning: "The mailed link was already used or has expired." },
  no_provider: {
    statuses: [404],
    meaning: "Single sign-on is not set up for this e-mail address or organization, or several organizations match.",
  },
  not_found: { statuses: [404], meaning: "The resource that the field at `path` names does not exist." },
  address_taken: { statuses: [409], meaning: "The address belongs to a person of another organization." },
  already_exists: { statuses: [409], meaning: "An equal resource exists, or the maximum number is reached." },
  before_turn: { statuses: [409], meaning: "Other reviewers must approve first. The message names them." },
  domain_taken: { statuses: [409], meaning: "Another organization has people or an invitation in this domain." },
  too_many: {
    statuses: [409],
    meaning: "You approved many escalations within five minutes. This approval needs a reason.",
  },
  too_soon: {
    statuses: [409],
    meaning: "You opened the escalation only a moment ago, or never. This approval needs a reason.",
  },
  draft: { statuses: [409], meaning: "The membrane is a draft, so it decides nothing yet." },
  last_admin: { statuses: [409], meaning: "After this change the organization would have no admin." },
  no_name: {
    statuses: [409],
    meaning: "Browsers do not support passkeys for IP addresses. Open the console by its host name.",
  },
  not_proven: { statuses: [409], meaning: "The TXT record of this domain does not name this organization." },
  not_ready: {
    statuses: [409],
    meaning: "The membrane is not ready, and a setting of the organization lets only ready ones go live.",
  },
  no_passkey: { statuses: [403], meaning: "You have no passkey. Add one in your settings." },
  no_authenticator: { statuses: [403], meaning: "You have no authenticator. Set one up in your settings." },
  passkey: { statuses: [403], meaning: "The vote needs the signature of a passkey." },
  totp: { statuses: [403], meaning: "The vote needs a code of your authenticator, or the signature of a passkey." },
  out_of_range: { statuses: [409], meaning: "The maximum number is reached." },
  status: { statuses: [409], meaning: "The resource's `status` does not permit this." },
  not_allowed: {
    statuses: [403, 409, 415, 422],
    meaning: "This caller may not do this, or not in the current state. If a rule forbids it, `policy` names the rule.",
  },
  clock: {
    statuses: [503],
    meaning: "The clock of this node differs too much from the database's time. Send the request again later.",
  },
  keys_unreachable: { statuses: [503], meaning: "The key set of the token's issuer cannot be fetched at the moment." },
  undecided: {
    statuses: [409],
    meaning:
      "The request does not say what happens to each key, webhook and invitation that the person made. `made` in the detail lists them with `kind`, `id`, `name` and `created_at`. Send `made` with `keep` or `revoke` for each of these ids and no others. The id `*` means all ids that you do not name.",
  },
  turn_over: {
    statuses: [503],
    meaning: "The backtest was stopped after a long time, because a backtest of another organization waits.",
  },
  provider: { statuses: [503], meaning: "The identity provider is unreachable or gave no usable answer." },
} as const satisfies Record<string, RefusalRow>;

export type RefusalCode = keyof typeof refusalCodes;

export interface RefusalRow {
  readonly statuses: readonly number[];
  readonly meaning: string;
}

/** Values of `code` in `warnings` about an accepted context document. */
export const warningCodes = {
  stale: "as_of of the category is too old. By default, its facts count as missing.",
  unlisted_category_time: "as_of gives a time for a category that has no facts.",
  similar_key:
    "A key is not listed, but is similar to a listed key. The service keeps it, but no built-in policy reads it.",
  other_category:
    "A key belongs to another category. The service keeps it, but built-in policies read it only in the other category.",
} as const satisfies Record<string, string>;

export type WarningCode = keyof typeof warningCodes;

export interface Warning {
  readonly path: string;
  readonly code: WarningCode;
  readonly message: string;
}
