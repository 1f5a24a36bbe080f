import { limits } from "../../limits.ts";
import {
  AccessDecision,
  AccessDecisions,
  AccessEvaluation,
  AccessEvaluations,
  AccessQuery,
  AuthzenConfiguration,
} from "../../resources/index.ts";
import type { Operation } from "../operation.ts";

/** See docs/how-to/authzen.md. */
export const authzenOperations = {
  evaluateAccess: {
    method: "POST",
    path: "/access/v1/evaluation",
    tag: "AuthZEN",
    summary: "Evaluate whether a subject may act on a resource",
    description:
      "Records the decision as an intent, unless COUNTERSIGN_AUTHZEN is decide_only. Identical requests of one key are one intent " +
      `for ${limits.idempotency_kept_hours_min} hours, as long as the rules decide the same. Every verdict answers 200. Unknown members are ignored.`,
    auth: ["operator", "host", "agent"],
    rate: "intents",
    bearer: true,
    standard: "authzen",
    query: AccessQuery,
    body: AccessEvaluation,
    body_bytes_max: limits.body_bytes_max,
    answers: { 200: { description: "The decision.", schema: AccessDecision } },
    refuses: [
      "invalid_context",
      "invalid_agent_token",
      "quota_exceeded",
      "review_queue_full",
      "not_found",
      "state_conflict",
      "overloaded",
    ],
  },
  evaluateAccessBatch: {
    method: "POST",
    path: "/access/v1/evaluations",
    tag: "AuthZEN",
    summary: "Evaluate up to 50 accesses; counts as one request",
    description:
      "The members of the request are defaults; a member of an evaluation replaces the whole default. An evaluation that cannot be decided is " +
      "`decision: false` with `context.error`. Without a list, the request is one evaluation.",
    auth: ["operator", "host", "agent"],
    rate: "intents",
    bearer: true,
    standard: "authzen",
    query: AccessQuery,
    body: AccessEvaluations,
    body_bytes_max: limits.body_bytes_max,
    answers: { 200: { description: "The decisions in order, or the one decision.", schema: AccessDecisions } },
    refuses: [
      "invalid_context",
      "invalid_agent_token",
      "quota_exceeded",
      "review_queue_full",
      "not_found",
      "state_conflict",
      "overloaded",
    ],
  },
  getAuthzenConfiguration: {
    method: "GET",
    path: "/.well-known/authzen-configuration",
    tag: "AuthZEN",
    summary: "Read where the AuthZEN operations are",
    description: "The addresses begin with COUNTERSIGN_PUBLIC_URL.",
    auth: "none",
    rate: null,
    standard: "authzen",
    answers: { 200: { description: "The addresses.", schema: AuthzenConfiguration } },
  },
} as const satisfies Record<string, Operation>;
