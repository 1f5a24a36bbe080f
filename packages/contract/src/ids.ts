/** Identifiers: a prefix for the kind, then 26 Crockford base-32 characters, ordered by time. */

/** Source: spec §2 for mem, org, key, wh, dlv, dec and int. */
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
  erasure: "ers_",
  stream: "str_",
  legal_hold: "hld_",
  invitation: "inv_",
  token_issuer: "iss_",
  mail: "eml_",
  push_device: "psh_",
  request: "req_",
} as const satisfies Record<string, `${string}_`>;

export type IdKind = keyof typeof idPrefixes;

export type Id<K extends IdKind = IdKind> = `${(typeof idPrefixes)[K]}${string}`;

/** Crockford's base-32 digits in order of value. */
export const crockford_alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** 48 bits of time and 80 of randomness, in base 32. */
export const id_suffix_length = 26;

/** Source of a regular expression without anchors. */
export const id_suffix_pattern = `[0-9A-HJKMNP-TV-Z]{${id_suffix_length}}`;

/** The organization of open mode. Its identifier is not generated. */
export const open_mode_org_id = "org_local";

/** Returns the anchored source of a regular expression. */
export function idPattern(kind: IdKind): string {
  const generated = `${idPrefixes[kind]}${id_suffix_pattern}`;
  return kind === "organization" ? `^(?:${generated}|${open_mode_org_id})$` : `^${generated}$`;
}

/** Prefix of webhook signing secrets, before base64 of 32 random bytes. Source: spec §2.3. */
export const webhook_secret_prefix = "whsec_";

/** Shown instead of a webhook secret. Source: spec §2.3. */
export const secret_mask = "***";

/** Parts of an API key, `svc_<environment>_<scope>_<random>`. Source: spec §2.2. */
export const apiKeyFormat = {
  prefix: "svc_",
  environments: ["live", "shadow", "test"],
  scopes: ["org", "agent"],
  /** The last 6 characters of the random part are a CRC-32 checksum. */
  pattern: "^svc_(live|shadow|test)_(org|agent)_([0-9A-Za-z]{32,})$",
} as const;
