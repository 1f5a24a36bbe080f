/** Checks agents' tokens: JWTs of trusted issuers. Source: docs/decisions/0044, RFC 8725. */
import { limits, type TokenIssuer, type TokenProblem } from "@countersign/contract";
import { sha256Hex, us_per_second } from "@countersign/core";
import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from "jose";
import type { AgentTokens, CheckedToken, ProvedToken } from "../shared/node-services.ts";
import { IssuerKeys, type KeyParts } from "./issuer-keys.ts";

/** End of the year 9999, the largest timestamp. */
const seconds_max = 253_402_300_799;
const spiffe = /^spiffe:\/\/([^/]{1,255})\//;

export function createAgentTokens(parts: KeyParts): AgentTokens {
  const keys = new IssuerKeys(parts);

  async function verified(org_id: string, issuer: TokenIssuer, token: string): Promise<JWTPayload> {
    const options: JWTVerifyOptions = {
      algorithms: [...issuer.algorithms],
      audience: [...issuer.audience],
      clockTolerance: issuer.leeway_seconds,
      currentDate: new Date(Math.floor(parts.clock.now_us() / 1_000)),
      requiredClaims: ["exp"],
    };
    const known = await keys.of(org_id, issuer);
    if (known === null) throw new TokenRefused("keys_unreachable");
    try {
      return await verifiedBy(token, known, options);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const newer = await keys.of(org_id, issuer, known);
      if (newer === null) throw error;
      return verifiedBy(token, newer, options);
    }
  }

  return {
    async check(org_id, issuers, token): Promise<CheckedToken> {
      try {
        const issuer = issuerOf(issuers, token);
        return { proved: provedBy(issuer, await verified(org_id, issuer, token)) };
      } catch (error) {
        return { problem: problemOf(error) };
      }
    },
  };
}

class TokenRefused extends Error {
  readonly problem: TokenProblem;

  constructor(problem: TokenProblem) {
    super(problem);
    this.problem = problem;
  }
}

/** Returns the issuer named by the unverified token. Throws TokenRefused, and errors of jose. */
function issuerOf(issuers: readonly TokenIssuer[], token: string): TokenIssuer {
  if (token.length > limits.agent_token_bytes_max) throw new TokenRefused("malformed");
  const { alg } = decodeProtectedHeader(token);
  const { iss, sub } = decodeJwt(token);
  const trust_domain = typeof sub === "string" ? spiffe.exec(sub)?.[1] : undefined;
  const issuer =
    issuers.find((each) => each.issuer !== null && each.issuer === iss) ??
    issuers.find((each) => each.trust_domain !== null && each.trust_domain === trust_domain);
  if (issuer === undefined) throw new TokenRefused("issuer_unknown");
  if (!issuer.algorithms.some((name) => name === alg)) throw new TokenRefused("algorithm");
  return issuer;
}

/** A token without `kid` may fit several keys. Tries each, at most `jwks_keys_max`. */
async function verifiedBy(token: string, keys: JWTVerifyGetKey, options: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keys, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, options)).payload;
      } catch (other) {
        if (!(other instanceof errors.JWSSignatureVerificationFailed)) throw other;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

function provedBy(issuer: TokenIssuer, payload: JWTPayload): ProvedToken {
  const { exp = Number.POSITIVE_INFINITY, jti } = payload;
  const chain = chainOf(payload);
  const actor = chain[chain.length - 1];
  const { authenticated_agent_id: agent_claim, ...others } = issuer.claims;
  const agent_id = agent_claim === undefined ? actor : claimAt(payload, agent_claim);
  if (typeof agent_id !== "string" || agent_id === "" || agent_id.length > limits.agent_id_chars_max)
    throw new TokenRefused("malformed");
  const until = exp + issuer.leeway_seconds;
  if (until > seconds_max || (jti !== undefined && (typeof jti !== "string" || jti === "")))
    throw new TokenRefused("malformed");
  const name = issuer.issuer ?? `spiffe://${issuer.trust_domain}`;
  return {
    issuer: name,
    agent_id,
    chain,
    facts: Object.fromEntries(
      Object.entries(others).flatMap(([fact, claim]) => {
        const value = claimAt(payload, claim);
        if (value !== undefined && !isFactValue(value)) throw new TokenRefused("malformed");
        return value === undefined ? [] : [[fact, value]];
      }),
    ),
    id_sha256: jti === undefined ? null : sha256Hex(JSON.stringify([name, jti])),
    expires_us: Math.ceil(until) * us_per_second,
  };
}

/**
 * Returns the delegation chain of RFC 8693 §4.1: the subject, then the actors in order of delegation. Throws
 * TokenRefused (more than `delegation_chain_max`).
 */
function chainOf(payload: JWTPayload): string[] {
  const actors: string[] = [];
  for (let at: unknown = payload["act"]; at !== undefined; at = (at as { act?: unknown }).act) {
    if (actors.length >= limits.delegation_chain_max) throw new TokenRefused("malformed");
    actors.push(subjectOf(at));
  }
  if (actors.length >= limits.delegation_chain_max) throw new TokenRefused("malformed");
  return [subjectOf(payload), ...actors.reverse()];
}

function subjectOf(party: unknown): string {
  const sub = typeof party === "object" && party !== null ? (party as { sub?: unknown }).sub : undefined;
  if (typeof sub !== "string" || sub === "" || sub.length > limits.token_claim_chars_max)
    throw new TokenRefused("malformed");
  return sub;
}

function isFactValue(claim: unknown): boolean {
  const values = Array.isArray(claim) ? claim : [claim];
  return values.every((value) => typeof value !== "object" || value === null);
}

function claimAt(payload: JWTPayload, claim: string): unknown {
  const names = claim.startsWith("/") ? claim.slice(1).split("/").map(unescaped) : [claim];
  return names.reduce<unknown>(
    (at, name) =>
      typeof at === "object" && at !== null && Object.hasOwn(at, name) ? at[name as keyof typeof at] : undefined,
    payload,
  );
}

function unescaped(name: string): string {
  return name.replaceAll("~1", "/").replaceAll("~0", "~");
}

function problemOf(error: unknown): TokenProblem {
  if (error instanceof TokenRefused) return error.problem;
  if (error instanceof errors.JWTExpired) return "expired";
  if (error instanceof errors.JWTClaimValidationFailed) return claimProblems[error.claim] ?? "malformed";
  if (error instanceof errors.JOSEAlgNotAllowed) return "algorithm";
  if (error instanceof errors.JWKSNoMatchingKey) return "key_unknown";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "signature";
  if (error instanceof errors.JOSEError || error instanceof TypeError) return "malformed";
  throw error;
}

const claimProblems: Readonly<Record<string, TokenProblem>> = {
  exp: "expired",
  nbf: "not_yet_valid",
  aud: "audience",
};
