import Type, { type Static } from "typebox";
import { fact_key_pattern } from "../../facts/index.ts";
import { limits } from "../../limits.ts";
import { anyObject, closed, filledText, id, nullable, oneOf, text, timestamp } from "../shapes.ts";

/** Accepted signature algorithms: never symmetric ones or `none`. */
export const tokenAlgorithms = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA"],
] as const;

const Claims = Type.Record(Type.String({ pattern: fact_key_pattern }), filledText(limits.token_claim_chars_max), {
  maxProperties: limits.token_claims_max,
  description:
    "facts of `identity` and the claim that each of them has: a name such as `azp`, or a JSON Pointer such as `/act/sub`. " +
    "`authenticated_agent_id` names the agent; without it `act.sub` does, and `sub` in a token without `act`. " +
    "`delegation_chain` and `token_issuer` have no entry here",
});

export const TokenIssuerInput = closed(
  {
    issuer: Type.Optional(
      filledText(limits.token_claim_chars_max, {
        description: "the `iss` of its tokens; exactly one of issuer and trust_domain",
      }),
    ),
    trust_domain: Type.Optional(
      Type.String({
        pattern: "^[a-z0-9._-]+$",
        minLength: 1,
        maxLength: 255,
        description:
          "for SPIFFE JWT-SVIDs: the trust domain of `sub`, without spiffe://; exactly one of issuer and trust_domain",
      }),
    ),
    // The URL guard checks the length, because its refusals have their own error code.
    jwks_url: Type.Optional(
      Type.String({
        maxLength: limits.body_bytes_max,
        description: "absolute https URL of its JSON Web Key Set; exactly one of jwks_url and jwks",
      }),
    ),
    jwks: Type.Optional(anyObject("its JSON Web Key Set with public keys only; exactly one of jwks_url and jwks")),
    audience: Type.Array(filledText(limits.token_claim_chars_max), {
      minItems: 1,
      maxItems: limits.token_audiences_max,
      uniqueItems: true,
      description: "a token must name one of them in `aud`",
    }),
    algorithms: Type.Optional(
      Type.Array(oneOf(tokenAlgorithms), {
        minItems: 1,
        maxItems: tokenAlgorithms.length,
        uniqueItems: true,
        description: "absent: all",
      }),
    ),
    claims: Type.Optional(Claims),
    leeway_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limits.token_leeway_seconds_max,
        default: limits.token_leeway_seconds_default,
        description: "by how much the issuer's clock may differ",
      }),
    ),
  },
  { title: "TokenIssuerInput" },
);
export type TokenIssuerInput = Static<typeof TokenIssuerInput>;

/** See docs/decisions/0044-verified-identity.md. */
export const TokenIssuer = Type.Object(
  {
    issuer_id: id("token_issuer"),
    issuer: nullable(text(limits.token_claim_chars_max, { description: "null: it has a trust_domain" })),
    trust_domain: nullable(text(255, { description: "null: it has an issuer" })),
    jwks_url: nullable(text(limits.webhook_url_chars_max, { description: "null: its keys were pasted" })),
    jwks: nullable(anyObject("null: its keys are fetched")),
    audience: Type.Array(text(limits.token_claim_chars_max)),
    algorithms: Type.Array(oneOf(tokenAlgorithms)),
    claims: Claims,
    leeway_seconds: Type.Integer(),
    created_at: timestamp("when it was added or last replaced"),
  },
  { title: "TokenIssuer" },
);
export type TokenIssuer = Static<typeof TokenIssuer>;
