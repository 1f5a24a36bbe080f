/** See docs/decisions/0044-verified-identity.md. */

/** Facts of `identity` that a token proves. `token_issuer` is its `iss` or its `spiffe://` trust domain. */
export const verifiedFacts = ["authenticated_agent_id", "delegation_chain", "token_issuer"] as const;

/** Why a token is invalid: `code` in the details of `invalid_agent_token`. */
export const tokenProblems = {
  missing: "The membrane asks for an Agent-Token header, and the request has none.",
  malformed: "The Agent-Token is not a signed JWT, or one of its claims has a wrong form.",
  issuer_unknown: "The organization trusts no issuer with the `iss` or the trust domain of this token.",
  algorithm: "The token is signed with an algorithm that its issuer is not trusted with.",
  key_unknown: "The issuer's key set has no key that fits the token.",
  keys_unreachable: "The issuer's key set cannot be fetched at the moment.",
  signature: "The signature of the token is wrong.",
  expired: "The token has expired, or has no `exp`.",
  not_yet_valid: "The token is not valid yet.",
  audience: "The token is meant for another audience.",
  replayed: "The token was used before, or has no `jti`, and the membrane takes each token once.",
} as const satisfies Record<string, string>;

export type TokenProblem = keyof typeof tokenProblems;
