import Type from "typebox";
import { limits } from "../limits.ts";
import { closed, givenId, TokenIssuer, TokenIssuerInput, wrapped } from "../resources/index.ts";
import type { Operation } from "./operation.ts";

const common = { tag: "Token issuers", rate: "general" } as const;
const params = closed({ issuer_id: givenId("prefix iss_") });
const written = { body: TokenIssuerInput, body_bytes_max: limits.body_bytes_max } as const;
const one = wrapped("token_issuer", TokenIssuer);

/** See docs/decisions/0044-verified-identity.md. */
export const tokenIssuerOperations = {
  addTokenIssuer: {
    ...common,
    ...written,
    method: "POST",
    path: "/v1/token-issuers",
    summary: "Trust an issuer of agent tokens",
    description:
      "Decisions committed afterwards accept its tokens, on every node. See docs/how-to/verified-identity.md.",
    auth: ["admin"],
    answers: { 201: { description: "The issuer.", schema: one } },
    refuses: ["already_exists", "webhook_url_refused"],
  },
  listTokenIssuers: {
    ...common,
    method: "GET",
    path: "/v1/token-issuers",
    summary: "List the trusted issuers of agent tokens",
    auth: ["operator", "auditor"],
    answers: { 200: { description: "Oldest first.", schema: Type.Object({ token_issuers: Type.Array(TokenIssuer) }) } },
  },
  replaceTokenIssuer: {
    ...common,
    ...written,
    method: "PUT",
    path: "/v1/token-issuers/{issuer_id}",
    summary: "Replace the keys and terms of an issuer",
    auth: ["admin"],
    params,
    answers: { 200: { description: "The issuer.", schema: one } },
    refuses: ["not_found", "already_exists", "webhook_url_refused"],
  },
  removeTokenIssuer: {
    ...common,
    method: "DELETE",
    path: "/v1/token-issuers/{issuer_id}",
    summary: "Stop trusting an issuer",
    description: "Decisions committed afterwards do not accept its tokens.",
    auth: ["admin"],
    params,
    answers: { 204: { description: "It is removed.", schema: null } },
    refuses: ["not_found"],
  },
} as const satisfies Record<string, Operation>;
