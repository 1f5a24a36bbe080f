/** Identifiers: a prefix that names the kind, then 26 Crockford base-32 characters, ordered by time. */

/** Prefix of each kind of identifier. Source: contract §2 for mem, org, key, wh, dlv, dec and int. */
export const idPrefixes = {
  membrane: "mem_",
  organization: "org_",
  api_key: "key_",
  webhook: "wh_",
  delivery: "dlv_",
  decision: "dec_",
  intent: "int_",
  escalation: "esc_",
  override: "ovr_",
  grant: "grt_",
  policy: "pol_",
  session: "ses_",
  user: "usr_",
  audit: "aud_",
  event: "evt_",
  observation: "obs_",
  backtest: "bkt_",
  intake: "ink_",
  invitation: "inv_",
  token_issuer: "iss_",
  mail: "eml_",
  request: "req_",
} as const satisfies Record<string, `${string}_`>;

/** A kind of identifier. */
export type IdKind = keyof typeof idPrefixes;

/** The text of an identifier of one kind. */
export type Id<K extends IdKind = IdKind> = `${(typeof idPrefixes)[K]}${string}`;

/** Crockford's base-32 digits in value order (no I, L, O, U), in upper case. */
export const crockford_alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Number of base-32 characters after the prefix: 48 bits of time, 80 of randomness. */
export const id_suffix_length = 26;

/** Regular-expression source of the part after the prefix, without anchors. */
export const id_suffix_pattern = `[0-9A-HJKMNP-TV-Z]{${id_suffix_length}}`;

/** The organization of open mode, the only identifier that is not generated. */
export const open_mode_org_id = "org_local";

/** Returns the anchored regular-expression source of identifiers of this kind. */
export function idPattern(kind: IdKind): string {
  const generated = `${idPrefixes[kind]}${id_suffix_pattern}`;
  return kind === "organization" ? `^(?:${generated}|${open_mode_org_id})$` : `^${generated}$`;
}

/** Webhook signing secrets: this prefix, then base64 of 32 random bytes. Source: contract §2.3. */
export const webhook_secret_prefix = "whsec_";

/** Lists show this text instead of a webhook secret. Source: contract §2.3. */
export const secret_mask = "***";

/** Parts of an API key text, `svc_<environment>_<scope>_<random>`. Source: contract §2.2. */
export const apiKeyFormat = {
  prefix: "svc_",
  environments: ["live", "shadow", "test"],
  scopes: ["org", "agent"],
  /** Anchored. Groups: environment, scope, random part (its last 6 characters are a CRC-32 checksum). */
  pattern: "^svc_(live|shadow|test)_(org|agent)_([0-9A-Za-z]{32,})$",
} as const;
