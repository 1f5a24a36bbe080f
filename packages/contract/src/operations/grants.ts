import Type from "typebox";
import { limits } from "../limits.ts";
import { closed, Grant, GrantInput, GrantQuery, GrantUse, givenId, listed, wrapped } from "../resources/index.ts";
import type { Operation } from "./operation.ts";

const params = closed({ grant_id: givenId("prefix grt_") });

/** See docs/decisions/0045-grants.md. */
export const grantOperations = {
  createGrant: {
    method: "POST",
    path: "/v1/grants",
    tag: "Grants",
    summary: "Allow a limited number of actions that are similar to a held one",
    description:
      "Every rule that holds the action must permit grants and name the caller as a reviewer: see docs/how-to/grants.md. The grant does not " +
      "decide the held action itself.",
    auth: ["reviewer"],
    rate: "general",
    idempotent: true,
    body: GrantInput,
    body_bytes_max: limits.body_bytes_max,
    answers: { 201: { description: "The grant.", schema: wrapped("grant", Grant) } },
    refuses: ["not_found", "forbidden", "self_review", "state_conflict", "frozen"],
  },
  listGrants: {
    method: "GET",
    path: "/v1/grants",
    tag: "Grants",
    summary: "List grants",
    auth: ["reviewer", "auditor"],
    rate: "general",
    query: GrantQuery,
    answers: { 200: { description: "Newest first.", schema: listed("grants", Grant) } },
  },
  getGrant: {
    method: "GET",
    path: "/v1/grants/{grant_id}",
    tag: "Grants",
    summary: "Read a grant and the actions that it approved",
    auth: ["reviewer", "auditor"],
    rate: "general",
    params,
    answers: {
      200: {
        description: "The grant, and its uses in their order.",
        schema: Type.Object({ grant: Grant, uses: Type.Array(GrantUse) }),
      },
    },
    refuses: ["not_found"],
  },
  revokeGrant: {
    method: "DELETE",
    path: "/v1/grants/{grant_id}",
    tag: "Grants",
    summary: "Revoke a grant",
    description: "After this answer the grant approves nothing, on any node.",
    auth: ["reviewer"],
    rate: "general",
    params,
    answers: { 204: { description: "It is revoked.", schema: null } },
    refuses: ["not_found", "state_conflict"],
  },
} as const satisfies Record<string, Operation>;
