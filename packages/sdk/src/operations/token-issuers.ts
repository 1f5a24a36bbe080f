import type { TokenIssuer, TokenIssuerInput } from "@countersign/contract";
import type { Transport } from "../transport.ts";

/** The methods on issuers whose tokens prove who an agent is. See docs/how-to/verified-identity.md. */
export function tokenIssuerCalls(call: Transport) {
  const path = (issuer_id: string) => `/v1/token-issuers/${encodeURIComponent(issuer_id)}`;
  return {
    /** Trusts an issuer. */
    addTokenIssuer: async (input: TokenIssuerInput) =>
      (await call<{ token_issuer: TokenIssuer }>("POST", "/v1/token-issuers", { body: input })).token_issuer,

    /** Lists the trusted issuers, oldest first. */
    listTokenIssuers: async () =>
      (await call<{ token_issuers: TokenIssuer[] }>("GET", "/v1/token-issuers")).token_issuers,

    /** Replaces the keys and terms of an issuer as a whole. */
    replaceTokenIssuer: async (issuer_id: string, input: TokenIssuerInput) =>
      (await call<{ token_issuer: TokenIssuer }>("PUT", path(issuer_id), { body: input })).token_issuer,

    /** Trusts an issuer no more. */
    removeTokenIssuer: (issuer_id: string) => call<null>("DELETE", path(issuer_id)),
  };
}
