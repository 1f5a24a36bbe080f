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
  HoldLabel,
  HoldLabelInput,
  IntentAnswer,
  IntentList,
  IntentListQuery,
  IntentSubmission,
  listed,
  listQuery,
  Observation,
  ObservationInput,
  Override,
  OverrideInput,
  Receipt,
  ReceiptQuery,
  SubmitAnswer,
  SubmitQuery,
  wrapped,
} from "../resources/index.ts";
import type { Operation } from "./operation.ts";

const params = closed({ intent_id: givenId("prefix int_") });

/** Source: spec §4. */
export const intentOperations = {
  submitIntent: {
    method: "POST",
    path: "/v1/intents",
    tag: "Intents",
    summary: "Submit an action and get the decision on it",
    description:
      "All four verdicts answer 201, because a block is not an error. A 2xx means that intent, decision, audit entries and events " +
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
      "Results have the order of the request. An invalid item fails alone, and so does an undecided item if the key ends meanwhile. Each item may have its own `idempotency_key`; " +
      "an Idempotency-Key header has no effect on a batch. An Agent-Token header counts for every item.",
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
    answers: { 200: { description: "Newest first.", schema: IntentList } },
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
    summary: "Read the audit trail of an intent",
    description:
      "Oldest first. No operation removes an audit record. Only an erasure changes one: it removes its content.",
    auth: "any",
    rate: "general",
    params,
    query: listQuery({}),
    answers: { 200: { description: "The audit records in order.", schema: listed("audit", AuditRecord) } },
  },
  getIntentReceipt: {
    method: "GET",
    path: "/v1/intents/{intent_id}/receipt",
    tag: "Log",
    summary: "Read a receipt that others can verify offline",
    description:
      "The decision's entry and what happened to it, each with its inclusion proof, and the newest signed checkpoint of the log. The answer is canonical " +
      "JSON: keep its bytes unchanged. Deliveries are not in it. It has up to 1,000 entries and about 4 MiB. The service waits up to 3 s for a checkpoint that covers " +
      "the newest entry. See docs/how-to/receipts.md.",
    auth: ["operator", "auditor"],
    rate: "general",
    params,
    query: ReceiptQuery,
    answers: { 200: { description: "The receipt.", schema: Receipt, text: true } },
    refuses: ["receipt_not_ready"],
  },
  claimIntent: {
    method: "POST",
    path: "/v1/intents/{intent_id}/claim",
    tag: "Intents",
    summary: "Claim an approved action before carrying it out",
    description:
      "The first claim wins. The same key may repeat the claim with the same nonce. The service refuses every other claim with `already_claimed`, " +
      "whatever its Idempotency-Key. An action in several steps passes its claim on: with `next_nonce` the service replaces the nonce, and " +
      "only one request can do so for each nonce. The service decides the action again under the current rules, stored facts and time. It refuses " +
      "the claim if a rule blocks the action now, or if the approval expired, was revoked, or went to an equal action (`handed_on`). Only the submitting key, its rotations, and operators may claim the action. An action may be " +
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
    summary: "Report what the agent did",
    description:
      "The intent's audit trail shows each report with its detail as `observed`. `execution` of the decision shows the newest report. " +
      "If a client died after its claim, an operator reports the outcome.",
    auth: ["operator", "host", "agent"],
    rate: "general",
    idempotent: true,
    params,
    body: ObservationInput,
    body_bytes_max: limits.body_bytes_max,
    answers: { 201: { description: "The observation.", schema: wrapped("observation", Observation) } },
    refuses: ["overloaded"],
  },
  labelHold: {
    method: "PUT",
    path: "/v1/intents/{intent_id}/label",
    tag: "Membranes",
    summary: "Say whether it was right to hold an action in shadow",
    description:
      "For actions in shadow that would have been blocked or escalated. A later label replaces an earlier one. From labels of the sample, " +
      "GET /v1/membranes/{membrane_id}/readiness tells how many holds are wrong at most.",
    auth: ["reviewer"],
    rate: "general",
    params,
    body: HoldLabelInput,
    body_bytes_max: limits.small_body_bytes_max,
    answers: { 200: { description: "The label.", schema: wrapped("label", HoldLabel) } },
    refuses: ["not_found", "state_conflict"],
  },
  overrideBlock: {
    method: "POST",
    path: "/v1/intents/{intent_id}/override",
    tag: "Overrides",
    summary: "Override a block: the next retry within 24 hours is approved once",
    description:
      "A retry is the same action by the same agent in the same membrane: action type (after the membrane's action catalogue), " +
      "verb, target and payload.content are equal as JSON. The order of keys and the spelling of numbers do not matter. Other fields may " +
      "differ: payload.summary, framework, session_id, on_behalf_of, estimated_impact, data_classes, context, Idempotency-Key. " +
      "A retry in shadow mode spends no override, and only test mode spends overrides of test mode. If a policy also holds " +
      "the action and names reviewers, one of them must override. If the policy needs two approvals, two people must override.",
    auth: ["operator"],
    rate: "general",
    idempotent: true,
    params,
    body: OverrideInput,
    body_bytes_max: limits.body_bytes_max,
    answers: {
      201: { description: "The override.", schema: wrapped("override", Override) },
      202: { description: "A second, different person must approve, too.", schema: wrapped("override", Override) },
    },
    refuses: ["self_review", "override_not_allowed", "state_conflict", "frozen"],
  },
} as const satisfies Record<string, Operation>;

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
    answers: { 204: { description: "The override is revoked.", schema: null } },
    refuses: ["state_conflict"],
  },
} as const satisfies Record<string, Operation>;
