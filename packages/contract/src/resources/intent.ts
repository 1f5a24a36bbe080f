import Type, { type Static } from "typebox";
import { assuranceMeanings, assuranceNames } from "../facts/assurance.ts";
import { type FactCategoryName, factCategoryNames } from "../facts/index.ts";
import { limits } from "../limits.ts";
import { ContextDocument } from "./context.ts";
import { Decision, Execution, Verdict } from "./decision.ts";
import { ErrorObject } from "./error.ts";
import { Erased } from "./records/erased.ts";
import {
  Actor,
  anyObject,
  checkedLater,
  chosenName,
  closed,
  givenId,
  id,
  listed,
  listQuery,
  nullable,
  oneOf,
  PipelineMode,
  text,
  timeInput,
  timestamp,
} from "./shapes.ts";

const label = () => Type.String({ minLength: 1, maxLength: limits.label_chars_max });

/** The agent id of a caller without a name. Rules that name agents are unknown for this caller. */
export const unnamed_agent_id = "unnamed";

export const Agent = closed(
  {
    id: chosenName(
      limits.agent_id_chars_max,
      `a name; \`${unnamed_agent_id}\` if the caller gave none, so rules that name agents are unknown for this caller`,
    ),
    framework: Type.Optional(label()),
    session_id: Type.Optional(label()),
    on_behalf_of: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    parent: Type.Optional(
      chosenName(limits.agent_id_chars_max, "the agent that this one works for; a parent in the register wins over it"),
    ),
  },
  { title: "Agent" },
);

export const Target = closed(
  {
    type: Type.Optional(label()),
    identifier: Type.Optional(Type.String({ minLength: 1, maxLength: limits.target_identifier_chars_max })),
    sensitivity: Type.Optional(oneOf(["public", "internal", "confidential", "restricted"])),
  },
  { title: "Target" },
);

/** The service changes `type` to lower case. The membrane's catalogue overrides it. */
export const Action = closed(
  {
    type: Type.Optional(
      Type.String({
        maxLength: limits.action_type_chars_max,
        pattern: "^[A-Za-z][A-Za-z0-9_-]*(\\.[A-Za-z0-9_-]+)*$",
        description:
          "dotted category such as payment.transfer; docs/reference/actions.md lists those that released rules know; absent: the " +
          "catalogue's, else other.unclassified",
      }),
    ),
    verb: chosenName(limits.verb_chars_max, "the tool's name"),
    target: Type.Optional(Target),
  },
  { title: "Action" },
);

export const Intent = closed(
  {
    agent: Agent,
    action: Action,
    payload: Type.Optional(
      closed({
        summary: Type.Optional(text(limits.summary_chars_max)),
        content: Type.Optional(anyObject("the action's parameters, `params` in policies")),
      }),
    ),
    estimated_impact: Type.Optional(
      closed({
        reversible: Type.Optional(Type.Boolean()),
        financial_exposure_usd: Type.Optional(Type.Number({ minimum: 0 })),
        audience_size: Type.Optional(Type.Integer({ minimum: 0 })),
        regulatory_domains: Type.Optional(Type.Array(label(), { maxItems: limits.regulatory_domains_max })),
      }),
    ),
    data_classes: Type.Optional(
      Type.Array(label(), {
        maxItems: limits.data_classes_max,
        description:
          "data classes, such as personal or phi; docs/reference/actions.md lists those that released rules know",
      }),
    ),
  },
  { title: "Intent" },
);
export type Intent = Static<typeof Intent>;

const submissionFields = {
  intent: Intent,
  context: Type.Optional(checkedLater(ContextDocument)),
  membrane_id: Type.Optional(givenId("prefix mem_; absent: the default one")),
  claim: Type.Optional(
    oneOf(["required"], {
      description:
        "required: a process claims the action before it carries it out (POST /v1/intents/{intent_id}/claim), so that it is carried out once",
    }),
  ),
};

/** Body of POST /v1/intents. `validateContext` checks the context (`invalid_context`). */
export const IntentSubmission = closed(submissionFields, { title: "IntentSubmission" });
export type IntentSubmission = Static<typeof IntentSubmission>;

/** A batch item may have its own idempotency key. */
export const BatchItem = closed(
  {
    ...submissionFields,
    idempotency_key: Type.Optional(
      Type.String({ pattern: "^[\\x20-\\x7e]+$", minLength: 1, maxLength: limits.idempotency_key_chars_max }),
    ),
  },
  { title: "BatchItem" },
);
export type BatchItem = Static<typeof BatchItem>;

/** Source: spec §4. */
export const SubmitQuery = closed({ mode: Type.Optional(oneOf(["shadow"])) });

export const SubmitAnswer = Type.Object({ intent_id: id("intent"), decision: Decision }, { title: "SubmitAnswer" });
export type SubmitAnswer = Static<typeof SubmitAnswer>;

export const IntentRecord = Type.Object(
  {
    intent_id: id("intent"),
    membrane_id: id("membrane"),
    pipeline_mode: PipelineMode,
    ...Intent.properties,
    decided_as: Type.Object(
      { type: text(limits.action_type_chars_max), data_classes: Type.Array(text(limits.label_chars_max)) },
      { description: "action type and data classes after the membrane's catalogue, in lower case" },
    ),
    withheld: Type.Array(text(1_000), {
      description:
        "JSON Pointers into payload.content to values that policies remove, redact or mask (with any verdict) and to credentials. Show these values to nobody. " +
        "Masked values are `[masked]` here, except for agents and the submitter of the intent",
    }),
    masked: Type.Array(text(1_000), {
      description: "the masked places of `withheld`: the action runs with the real value",
    }),
    submitted_by: Actor,
    submitted_at: timestamp(),
    erased: Type.Optional(Erased),
  },
  { title: "IntentRecord" },
);
export type IntentRecord = Static<typeof IntentRecord>;

/** Sources of facts, most trusted first. */
export const FactSource = oneOf(["token", "pulled", "target", "agent", "org", "inline"]);
export type FactSource = Static<typeof FactSource>;

export const FactAssurance = oneOf(assuranceNames, {
  description: assuranceNames.map((name) => `${name}: ${assuranceMeanings[name]}`).join("; "),
});

const UsedFact = Type.Object({
  value: Type.Optional(
    Type.Unknown({ description: "absent for keys of role agent or host if the fact is stored or pulled" }),
  ),
  source: FactSource,
  assurance: FactAssurance,
  as_of: timestamp("the time at which the fact was true; without as_of in the document, the time of receipt"),
});

export type UsedFact = Static<typeof UsedFact>;

const usedCategory = () => Type.Optional(Type.Record(Type.String(), UsedFact));

export const UsedFacts = Type.Object(
  Object.fromEntries(factCategoryNames.map((name) => [name, usedCategory()])) as Record<
    FactCategoryName,
    ReturnType<typeof usedCategory>
  >,
  { title: "UsedFacts" },
);
export type UsedFacts = Static<typeof UsedFacts>;

export const IntentAnswer = Type.Object({
  intent: IntentRecord,
  facts: UsedFacts,
  decision: Decision,
  ancestors: Type.Optional(
    Type.Array(
      Type.Object({
        agent_id: text(limits.agent_id_chars_max),
        source: oneOf(["token", "register", "submitted"], { description: "who says that it is above the agent" }),
      }),
      { description: "the agents above the one that acts, whose rules counted too, the nearest first; absent: none" },
    ),
  ),
});
export type IntentAnswer = Static<typeof IntentAnswer>;

/** A row of GET /v1/intents: the intent without facts, and a short decision. */
export const IntentListItem = Type.Object(
  {
    ...IntentRecord.properties,
    decision_id: id("decision"),
    verdict: Verdict,
    outcome: Decision.properties.outcome,
    status: Decision.properties.status,
    risk_score: Type.Number(),
    amount_usd: Type.Optional(
      Type.Number({
        minimum: 0,
        description:
          "the amount at stake: the agent's own figure (`estimated_impact.financial_exposure_usd`), or a larger parameter with a name " +
          "that ends in `_usd`. Values that the caller may not see do not count. Absent: neither",
      }),
    ),
    execution: Type.Optional(Execution),
    reason: nullable(
      Type.Object(
        {
          policy_id: nullable(text(limits.label_chars_max)),
          policy: text(limits.label_chars_max),
          message: text(limits.comment_chars_max),
        },
        { description: "the first rule that stopped or changed the action; null: no rule did" },
      ),
    ),
    afterwards: Type.Array(oneOf(["overridden", "withdrawn", "contradicted"]), {
      description:
        "overridden: people approved the blocked action; withdrawn: the review was cancelled, or its approval revoked; contradicted: " +
        "the action was reported as executed although it was not allowed",
    }),
  },
  { title: "IntentListItem" },
);
export type IntentListItem = Static<typeof IntentListItem>;

export const IntentList = Type.Object({
  ...listed("intents", IntentListItem).properties,
  searched_to: Type.Optional(
    timestamp(
      "The search stopped here, because it had read as many decisions as one request may. No row is missing after this time. " +
        "`next_cursor` continues. Absent: the page is full, or the search is complete.",
    ),
  ),
});
export type IntentList = Static<typeof IntentList>;

const searched = (max: number, what: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: max, description: `${what}; a search, see \`searched_to\`` }));

/** `from` is included, `to` is not. */
export const IntentListQuery = listQuery({
  agent_id: Type.Optional(Type.String({ minLength: 1, maxLength: limits.agent_id_chars_max })),
  session_id: searched(limits.label_chars_max, "the run as agent.session_id names it"),
  on_behalf_of: searched(256, "agent.on_behalf_of"),
  rule: searched(limits.label_chars_max, "the name of a rule that stopped or changed the action"),
  tool: searched(limits.verb_chars_max, "action.verb"),
  target: searched(limits.target_identifier_chars_max, "action.target.identifier"),
  text: searched(200, "a part of payload.summary, in any case of its letters"),
  outcome: Type.Optional(
    oneOf(["waiting", "overridden", "executed", "failed", "withdrawn", "contradicted"], {
      description: "waiting: for a review; executed and failed: as reported; others: see `afterwards`",
    }),
  ),
  verdict: Type.Optional(Verdict),
  mode: Type.Optional(PipelineMode),
  membrane_id: Type.Optional(givenId("prefix mem_")),
  from: Type.Optional(timeInput("submitted at or after")),
  to: Type.Optional(timeInput("submitted before")),
  execution: Type.Optional(
    oneOf(["unknown"], { description: "claimed at least 15 minutes ago, and nobody has reported an outcome" }),
  ),
});

/** The decision of a batch item, or the error that it would get alone. */
const BatchResult = Type.Union(
  [
    Type.Object({
      success: Type.Literal(true),
      intent_id: id("intent"),
      decision: Decision,
      replayed: Type.Optional(
        Type.Boolean({
          description: "true: a repeated answer, because the idempotency_key was used before; otherwise absent",
        }),
      ),
    }),
    Type.Object({ success: Type.Literal(false), error: ErrorObject.properties.error }),
  ],
  { title: "BatchResult" },
);

/** In the order of the request. */
export const BatchAnswer = Type.Object(
  {
    results: Type.Array(BatchResult),
    total: Type.Integer({ minimum: 0 }),
    succeeded: Type.Integer({ minimum: 0 }),
    failed: Type.Integer({ minimum: 0 }),
  },
  { title: "BatchAnswer" },
);
export type BatchAnswer = Static<typeof BatchAnswer>;

/** Items are checked one by one, so an invalid one fails alone. */
export const BatchSubmission = closed(
  {
    intents: Type.Array(checkedLater(BatchItem), { minItems: 1, maxItems: limits.batch_intents_max }),
  },
  { title: "BatchSubmission" },
);
export type BatchSubmission = Static<typeof BatchSubmission>;

export const ClaimInput = closed(
  {
    nonce: Type.String({
      minLength: 1,
      maxLength: limits.claim_nonce_chars_max,
      description: "random, chosen by each process for each action; the process sends it again to repeat its claim",
    }),
    next_nonce: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.claim_nonce_chars_max,
        description: "random; replaces `nonce`, so that only the process that knows it may go on with the action",
      }),
    ),
  },
  { title: "ClaimInput" },
);
export type ClaimInput = Static<typeof ClaimInput>;

/** The agent's report after its action. Body of POST /v1/intents/{intent_id}/observations. */
export const ObservationInput = closed({
  status: oneOf(["executed", "failed", "skipped"]),
  detail: Type.Optional(Type.Union([text(limits.comment_chars_max), anyObject()])),
});
export type ObservationInput = Static<typeof ObservationInput>;

export const Observation = Type.Object(
  {
    observation_id: id("observation"),
    intent_id: id("intent"),
    status: oneOf(["executed", "failed", "skipped"]),
    detail: nullable(Type.Union([text(limits.comment_chars_max), anyObject()])),
    recorded_by: Actor,
    recorded_at: timestamp(),
  },
  { title: "Observation" },
);
export type Observation = Static<typeof Observation>;
