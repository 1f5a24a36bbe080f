import type { TokenIssuer, TokenIssuerInput } from "@countersign/contract";
import type { Transport } from "../transport.ts";

/** Issuers whose tokens prove who an agent is. See docs/how-to/verified-identity.md. */
export function tokenIssuerCalls(call: Transport) {
  const path = (issuer_id: string) => `/v1/token-issuers/${encodeURIComponent(issuer_id)}`;
  return {
    addTokenIssuer: async (input: TokenIssuerInput) =>
      (await call<{ token_issuer: TokenIssuer }>("POST", "/v1/token-issuers", { body: input })).token_issuer,

    /** Lists trusted issuers, oldest first. */
    listTokenIssuers: async () =>
      (await call<{ token_issuers: TokenIssuer[] }>("GET", "/v1/token-issuers")).token_issuers,

    /** Replaces the keys and all settings of an issuer. */
    replaceTokenIssuer: async (issuer_id: string, input: TokenIssuerInput) =>
      (await call<{ token_issuer: TokenIssuer }>("PUT", path(issuer_id), { body: input })).token_issuer,

    /** Stops trusting an issuer. */
    removeTokenIssuer: (issuer_id: string) => call<null>("DELETE", path(issuer_id)),
  };
}
