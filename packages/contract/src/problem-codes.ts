/** What can be wrong at one place of a request: the `code` of an entry of `error.details` on a 400. */

/** Every problem code with its meaning. Kept few: the message carries the particulars. */
export const problemCodes = {
  required: "A field that must be there is missing.",
  unknown_field: "A field that the operation does not know. Refused, so that a typo never weakens a request.",
  wrong_type: "The value has another JSON type than the field takes; nothing is coerced.",
  not_allowed: "The value is none of those that the field takes.",
  bad_format: "The text does not have the form that the field takes.",
  out_of_range:
    "The number is smaller or larger than the field takes, or has more digits than a double keeps: send it as a text.",
  too_short: "The text or list is shorter than the field takes.",
  too_long: "The text or list is longer than the field takes.",
  too_many_keys: "The object has more keys than it may.",
  bad_key: "A key does not match the pattern for keys.",
  in_the_future: "The time lies further in the future than clocks differ.",
  forbidden_key: "A key named __proto__; it is never a legitimate field.",
  forbidden_character:
    "A NUL character or half of a surrogate pair in a text; in a name also a control or format character, or white space around it.",
  not_a_number: "A number too large for a JSON number to hold.",
} as const satisfies Record<string, string>;

/** The `code` of one entry of `error.details`. */
export type ProblemCode = keyof typeof problemCodes;

/** One problem at one place. `path` is a JSON Pointer (RFC 6901) into the request body; "" is the body itself. */
export interface Problem {
  readonly path: string;
  readonly code: ProblemCode;
  readonly message: string;
}

/** Why a request of the right shape was refused: the `code` of an entry of `error.details` on other statuses than 400. */
export const refusalCodes = {
  no_session: { statuses: [401], meaning: "Nobody is signed in, or not yet with the second factor: sign in." },
  not_through: { statuses: [401], meaning: "The login with the provider came to nothing: begin it anew." },
  agent: { statuses: [403], meaning: "The key speaks for another agent only." },
  bound: {
    statuses: [403],
    meaning: "The key is bound: not from this address, or not for this membrane, agent or mode.",
  },
  another_caller: { statuses: [403], meaning: "The page that wrote is another person's than the session is by now." },
  cross_origin: { statuses: [403], meaning: "A browser wrote for a page that is not the service's own." },
  mailbox_asked: {
    statuses: [403],
    meaning: "Not a person of the organization yet: a mail with a link was sent to the address.",
  },
  not_vouched_for: { statuses: [403], meaning: "The provider does not vouch for the address of this person." },
  session_too_old: { statuses: [403], meaning: "This asks for a session that has just begun: sign in again." },
  link_over: { statuses: [404], meaning: "The mailed link was used already or is too old." },
  no_provider: { statuses: [404], meaning: "No organization, or more than one, has a provider for this." },
  not_found: { statuses: [404], meaning: "What the field at `path` names is not there." },
  address_taken: { statuses: [409], meaning: "The address is that of a person of another organization." },
  already_exists: { statuses: [409], meaning: "There is one like it, or as many as there may be." },
  before_turn: { statuses: [409], meaning: "Other reviewers approve first; the message says who is missing." },
  domain_taken: { statuses: [409], meaning: "Another organization has people or an invitation in this domain." },
  too_many: { statuses: [409], meaning: "You approved many escalations within five minutes: this one needs a reason." },
  too_soon: {
    statuses: [409],
    meaning: "The escalation was shown to you a moment ago, or never: an approval needs a reason.",
  },
  draft: { statuses: [409], meaning: "The membrane is a draft and decides nothing yet." },
  last_admin: { statuses: [409], meaning: "The organization would be left without an admin." },
  no_name: { statuses: [409], meaning: "Browsers have no passkeys for addresses made of numbers." },
  not_proven: { statuses: [409], meaning: "The TXT record of this domain does not name this organization." },
  out_of_range: { statuses: [409], meaning: "There are as many of them as there may be." },
  status: { statuses: [409], meaning: "Its `status` does not permit this." },
  not_allowed: {
    statuses: [403, 409, 415, 422],
    meaning: "Not for this caller, or not as things are; `policy` names the rule where it is one.",
  },
  clock: { statuses: [503], meaning: "The clock of this node is too far from the database's time." },
  keys_unreachable: { statuses: [503], meaning: "The key set of the token's issuer cannot be fetched at the moment." },
  undecided: {
    statuses: [409],
    meaning:
      "`made` lists what the person made, each with `kind`, `id`, `name` and `created_at`. Say for each id, and for no other, whether it is kept or revoked, or send `*` for all that you do not name.",
  },
  turn_over: { statuses: [503], meaning: "The backtest has run for long, and another organization's waits." },
  provider: { statuses: [503], meaning: "The provider cannot be reached or gave no usable answer." },
} as const satisfies Record<string, RefusalRow>;

/** The `code` of an entry of `error.details` on other statuses than 400. */
export type RefusalCode = keyof typeof refusalCodes;

/** One row of `refusalCodes`. */
export interface RefusalRow {
  readonly statuses: readonly number[];
  readonly meaning: string;
}

/** What is odd but accepted in a context document: the `code` of an entry of `warnings`. */
export const warningCodes = {
  stale: "The category's as_of is older than its facts may be: they count as missing by default.",
  unlisted_category_time: "as_of gives a time for a category that has no facts.",
  similar_key: "An unlisted key that is close to a listed one; it is kept, but no built-in policy reads it.",
  other_category:
    "An unlisted key that is listed in another category; it is kept, but no built-in policy reads it here.",
} as const satisfies Record<string, string>;

/** The `code` of one entry of `warnings`. */
export type WarningCode = keyof typeof warningCodes;

/** One oddity at one place; the document is valid all the same. */
export interface Warning {
  readonly path: string;
  readonly code: WarningCode;
  readonly message: string;
}
