/** Values of `code` in `error.details` on a 400. The message has the details. */
export const problemCodes = {
  required: "A required field is missing.",
  unknown_field:
    "The operation does not know this field. Unknown fields are refused, so that a typo never weakens a request.",
  wrong_type: "The value has the wrong JSON type. The service converts no types.",
  not_allowed: "The field does not allow this value.",
  bad_format: "The text does not have the form of the field.",
  out_of_range:
    "The number is too small or too large for the field, or has more digits than a double keeps. Send such a number as a text.",
  too_short: "The text or list is too short.",
  too_long: "The text or list is too long.",
  too_many_keys: "The object has too many keys.",
  bad_key: "A key does not match the pattern for keys.",
  in_the_future: "The time is in the future, beyond the tolerance for clocks.",
  forbidden_key: "A key is named __proto__, which is never a legitimate field.",
  forbidden_character:
    "A text has a NUL character or half of a surrogate pair, or a name has a control or format character or white space around it.",
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
  not_through: { statuses: [401], meaning: "The login with the provider failed. Begin again." },
  agent: { statuses: [403], meaning: "The key may act for another agent only." },
  bound: {
    statuses: [403],
    meaning: "The key's bindings exclude this address, membrane, agent or mode.",
  },
  another_caller: { statuses: [403], meaning: "The page belongs to another person than the current session." },
  cross_origin: { statuses: [403], meaning: "A browser sent this write from a page of another site." },
  mailbox_asked: {
    statuses: [403],
    meaning: "The person is not in the organization yet. The service sent a mail with a link to the address.",
  },
  not_vouched_for: { statuses: [403], meaning: "The provider does not vouch for the address of this person." },
  session_too_old: { statuses: [403], meaning: "This needs a recent session. Sign in again." },
  link_over: { statuses: [404], meaning: "The mailed link was already used or has expired." },
  no_provider: { statuses: [404], meaning: "No organization, or more than one, has a provider for this." },
  not_found: { statuses: [404], meaning: "The resource that the field at `path` names does not exist." },
  address_taken: { statuses: [409], meaning: "The address belongs to a person of another organization." },
  already_exists: { statuses: [409], meaning: "An equal resource exists, or the maximum number is reached." },
  before_turn: { statuses: [409], meaning: "Other reviewers must approve first. The message says who is missing." },
  domain_taken: { statuses: [409], meaning: "Another organization has people or an invitation in this domain." },
  too_many: {
    statuses: [409],
    meaning: "You approved many escalations within five minutes. This approval needs a reason.",
  },
  too_soon: {
    statuses: [409],
    meaning: "The escalation was shown to you only a moment ago, or never. An approval needs a reason.",
  },
  draft: { statuses: [409], meaning: "The membrane is a draft and decides nothing yet." },
  last_admin: { statuses: [409], meaning: "The organization would have no admin." },
  no_name: { statuses: [409], meaning: "Browsers allow no passkeys for IP addresses." },
  not_proven: { statuses: [409], meaning: "The TXT record of this domain does not name this organization." },
  out_of_range: { statuses: [409], meaning: "The maximum number is reached." },
  status: { statuses: [409], meaning: "The resource's `status` does not permit this." },
  not_allowed: {
    statuses: [403, 409, 415, 422],
    meaning: "This caller or the current state does not permit it. `policy` names the rule, if a rule forbids it.",
  },
  clock: { statuses: [503], meaning: "The clock of this node differs too much from the database's time." },
  keys_unreachable: { statuses: [503], meaning: "The key set of the token's issuer cannot be fetched at the moment." },
  undecided: {
    statuses: [409],
    meaning:
      "`made` lists what the person made, each with `kind`, `id`, `name` and `created_at`. Send keep or revoke for each id and for no other, or send `*` for all that you do not name.",
  },
  turn_over: { statuses: [503], meaning: "The backtest ran for a long time, and another organization waits for one." },
  provider: { statuses: [503], meaning: "The provider is unreachable or gave no usable answer." },
} as const satisfies Record<string, RefusalRow>;

export type RefusalCode = keyof typeof refusalCodes;

export interface RefusalRow {
  readonly statuses: readonly number[];
  readonly meaning: string;
}

/** Values of `code` in `warnings` about an accepted context document. */
export const warningCodes = {
  stale: "The category's as_of is too old, so its facts count as missing by default.",
  unlisted_category_time: "as_of gives a time for a category that has no facts.",
  similar_key: "An unlisted key is similar to a listed one. The service keeps it, but no built-in policy reads it.",
  other_category: "A key is listed in another category. The service keeps it, but no built-in policy reads it here.",
} as const satisfies Record<string, string>;

export type WarningCode = keyof typeof warningCodes;

export interface Warning {
  readonly path: string;
  readonly code: WarningCode;
  readonly message: string;
}
