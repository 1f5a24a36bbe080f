import Type from "typebox";
import { limits } from "../limits.ts";
import {
  AuditRecord,
  BatchAnswer,
  BatchSubmission,
  ClaimInput,
  closed,
  Decision,
  DecisionQuery,
  givenId,
  IntentAnswer,
  IntentListItem,
  IntentListQuery,
  IntentSubmission,
  listed,
  listQuery,
  Observation,
  ObservationInput,
  Override,
  OverrideInput,
  SubmitAnswer,
  SubmitQuery,
  wrapped,
} from "../resources/index.ts";
import type { Operation } from "./operation.ts";

const params = closed({ intent_id: givenId("prefix int_") });

/** Intents: submit, read, observe, override. Source: contract §4, api.md §4 and §6. */
export const intentOperations = {
  submitIntent: {
    method: "POST",
    path: "/v1/intents",
    tag: "Intents",
    summary: "Submit an action and get the decision on it",
    description:
      "All four verdicts answer 201: a block is an answer, not an error. A 2xx means that intent, decision, audit and event " +
      "are committed to disk.",
    auth: "any",
    rate: "intents",
    idempotent: true,
    agent_token: true,
    query: SubmitQuery,
    body: IntentSubmission,
    body_bytes_max: limits.body_bytes_max,
    answers: { 201: { description: "The decision.", schema: SubmitAnswer, headers: ["Location"] } },
    refuses: [
      "invalid_context",
      "invalid_agent_token",
      "quota_exceeded",
      "review_queue_full",
      "forbidden",
      "not_found",
      "state_conflict",
      "overloaded",
    ],
  },
  submitIntentBatch: {
    method: "POST",
    path: "/v1/intents/batch",
    tag: "Intents",
    summary: "Submit up to 50 actions; counts as one request",
    description:
      "Results stand in the order of the request. A bad item fails alone, and so does one that a key which ended meanwhile left undecided. Each item may have an `idempotency_key` of its own; " +
      "an Idempotency-Key header says nothing about a batch. An Agent-Token header counts for every item.",
    auth: "any",
    rate: "intents",
    agent_token: true,
    query: SubmitQuery,
    body: BatchSubmission,
    body_bytes_max: limits.batch_body_bytes_max,
    examines: "items",
    answers: { 200: { description: "One result per item.", schema: BatchAnswer } },
    refuses: ["overloaded"],
  },
  listIntents: {
    method: "GET",
    path: "/v1/intents",
    tag: "Intents",
    summary: "List intents with their verdicts",
    description: "A key of role agent or host, or of scope agent, sees its own intents only.",
    auth: "any",
    rate: "general",
    query: IntentListQuery,
    answers: { 200: { description: "Newest first.", schema: listed("intents", IntentListItem) } },
    refuses: ["forbidden"],
  },
  getIntent: {
    method: "GET",
    path: "/v1/intents/{intent_id}",
    tag: "Intents",
    summary: "Read an intent, the facts it was decided on, and the decision",
    auth: "any",
    rate: "general",
    conditional: true,
    params,
    answers: { 200: { description: "The intent.", schema: IntentAnswer, headers: ["ETag"] } },
  },
  getDecision: {
    method: "GET",
    path: "/v1/intents/{intent_id}/decision",
    tag: "Intents",
    summary: "Read the decision, or wait for its final outcome",
    auth: "any",
    rate: "general",
    conditional: true,
    params,
    query: DecisionQuery,
    answers: { 200: { description: "The decision.", schema: wrapped("decision", Decision), headers: ["ETag"] } },
  },
  listIntentAudit: {
    method: "GET",
    path: "/v1/intents/{intent_id}/audit",
    tag: "Intents",
    summary: "Read what happened to an intent",
    description: "Oldest first. No operation changes or removes an audit row.",
    auth: "any",
    rate: "general",
    params,
    query: listQuery({}),
    answers: { 200: { description: "The audit rows in order.", schema: listed("audit", AuditRecord) } },
  },
  claimIntent: {
    method: "POST",
    path: "/v1/intents/{intent_id}/claim",
    tag: "Intents",
    summary: "Claim an approved action before carrying it out",
    description:
      "The first claim wins. The same key repeats it with the same nonce; every other claim is refused with `already_claimed`, " +
      "whatever its Idempotency-Key. The service decides the action again under the current rules, stored facts and time. It refuses " +
      "the claim if a rule blocks the action now, or if the approval expired, was revoked, or went to an equal action (`handed_on`). Only the key that submitted the action, its rotations, and operators may claim it. An action may be " +
      "claimed whether or not its submission said `claim`.",
    auth: "any",
    rate: "general",
    params,
    body: ClaimInput,
    body_bytes_max: limits.body_bytes_max,
    answers: { 200: { description: "The decision, claimed.", schema: wrapped("decision", Decision) } },
    refuses: ["forbidden", "already_claimed", "handed_on", "blocked_now", "frozen", "state_conflict"],
  },
  recordObservation: {
    method: "POST",
    path: "/v1/intents/{intent_id}/observations",
    tag: "Intents",
    summary: "Record what the agent then did",
    description:
      "The intent's audit trail shows it, with its detail, in a row of type `observed`, and `execution` of the decision shows the newest. " +
      "Operators report the outcome of an action that was claimed by a client that died.",
    auth: ["operator", "host", "agent"],
    rate: "general",
    idempotent: true,
    params,
    body: ObservationInput,
    body_bytes_max: limits.body_bytes_max,
    answers: { 201: { description: "The observation.", schema: wrapped("observation", Observation) } },
    refuses: ["overloaded"],
  },
  overrideBlock: {
    method: "POST",
    path: "/v1/intents/{intent_id}/override",
    tag: "Overrides",
    summary: "Approve a blocked action: its next retry within 24 hours passes, once",
    description:
      "A retry is the same action by the same agent in the same membrane: action type (after the membrane's action catalogue), " +
      "verb, target and payload.content are equal as JSON, in whatever order of keys and spelling of numbers. All else may " +
      "differ: payload.summary, framework, session_id, on_behalf_of, estimated_impact, data_classes, context, Idempotency-Key. " +
      "A retry in shadow mode spends no override, and only test mode spends what was given in test mode. Where a policy holds " +
      "the action, too, and names reviewers, one of them has to override; where it asks for two approvals, two people have to.",
    auth: ["operator"],
    rate: "general",
    idempotent: true,
    params,
    body: OverrideInput,
    body_bytes_max: limits.body_bytes_max,
    answers: {
      201: { description: "The override.", schema: wrapped("override", Override) },
      202: { description: "A second, different person has to approve too.", schema: wrapped("override", Override) },
    },
    refuses: ["self_review", "override_not_allowed", "state_conflict", "frozen"],
  },
} as const satisfies Record<string, Operation>;

/** Overrides: list and revoke. Source: api.md §6. */
export const overrideOperations = {
  listOverrides: {
    method: "GET",
    path: "/v1/overrides",
    tag: "Overrides",
    summary: "List overrides",
    auth: ["reviewer", "auditor"],
    rate: "general",
    query: listQuery({
      agent_id: Type.Optional(Type.String({ minLength: 1, maxLength: limits.agent_id_chars_max })),
      intent_id: Type.Optional(givenId("prefix int_")),
    }),
    answers: { 200: { description: "Newest first.", schema: listed("overrides", Override) } },
  },
  revokeOverride: {
    method: "DELETE",
    path: "/v1/overrides/{override_id}",
    tag: "Overrides",
    summary: "Revoke an override before it is spent",
    auth: ["operator"],
    rate: "general",
    params: closed({ override_id: givenId("prefix ovr_") }),
    answers: { 204: { description: "It is revoked.", schema: null } },
    refuses: ["state_conflict"],
  },
} as const satisfies Record<string, Operation>;
