/** Requests and answers of AuthZEN. Source: https://openid.net/specs/authorization-api-1_0.html */
import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { EscalationStatus, MessageToAgent, Verdict } from "../decision.ts";
import { anyObject, checkedLater, chosenName, closed, givenId, id, oneOf, text, timestamp } from "../shapes.ts";

// Open objects, because the standard has receivers ignore unknown members.
const open = { additionalProperties: true } as const;

const label = () => Type.String({ minLength: 1, maxLength: limits.label_chars_max });
const properties = () => Type.Optional(anyObject());

const AccessSubject = Type.Object(
  {
    type: label(),
    id: chosenName(limits.agent_id_chars_max, "the id of the agent"),
    properties: properties(),
  },
  { title: "AccessSubject", ...open },
);

const AccessAction = Type.Object(
  { name: chosenName(limits.verb_chars_max, "the verb of the action"), properties: properties() },
  { title: "AccessAction", ...open },
);

const AccessResource = Type.Object(
  {
    type: label(),
    id: Type.String({ minLength: 1, maxLength: limits.target_identifier_chars_max }),
    properties: properties(),
  },
  { title: "AccessResource", ...open },
);

const context = () =>
  Type.Optional(
    anyObject(
      "facts about the request. `facts` has facts by category, `approval.id` names an approval to use, and `obligations` in the list " +
        "`capabilities` says that the caller carries out obligations",
    ),
  );

export const AccessEvaluation = Type.Object(
  { subject: AccessSubject, action: AccessAction, resource: AccessResource, context: context() },
  { title: "AccessEvaluation", ...open },
);
export type AccessEvaluation = Static<typeof AccessEvaluation>;

/** `subject`, `action`, `resource` and `context` are defaults of the evaluations. Each evaluation is checked alone. */
export const AccessEvaluations = Type.Object(
  {
    subject: Type.Optional(AccessSubject),
    action: Type.Optional(AccessAction),
    resource: Type.Optional(AccessResource),
    context: context(),
    evaluations: Type.Optional(
      Type.Array(checkedLater(AccessEvaluation), {
        maxItems: limits.batch_intents_max,
        description: "each without the members that it takes from the request; absent or empty: one evaluation",
      }),
    ),
    options: Type.Optional(
      Type.Object(
        {
          evaluations_semantic: Type.Optional(
            oneOf(["execute_all", "deny_on_first_deny", "permit_on_first_permit"], {
              description: "absent: execute_all. The others stop after the first false, or the first true",
            }),
          ),
        },
        open,
      ),
    ),
  },
  { title: "AccessEvaluations", ...open },
);
export type AccessEvaluations = Static<typeof AccessEvaluations>;
export type EvaluationsSemantic = NonNullable<NonNullable<AccessEvaluations["options"]>["evaluations_semantic"]>;

export const AccessQuery = closed({
  membrane_id: Type.Optional(givenId("prefix mem_; absent: the default one")),
});

export const AccessDecision = Type.Object(
  {
    decision: Type.Boolean({ description: "true: the action may be carried out" }),
    context: Type.Optional(
      Type.Object({
        intent_id: Type.Optional(id("intent")),
        verdict: Type.Optional(Verdict),
        enforced: Type.Optional(Type.Boolean({ description: "false in shadow mode, where every decision is true" })),
        reasons: Type.Optional(
          Type.Array(Type.Object({ policy: text(limits.label_chars_max), message: text(4_000) }), {
            description: "why the action is blocked, held or changed, strictest first",
          }),
        ),
        review: Type.Optional(
          Type.Object(
            { id: id("escalation"), status: EscalationStatus },
            { description: "people decide. Send the same request again to see what they decided" },
          ),
        ),
        obligation: Type.Optional(
          Type.Object(
            { subject: AccessSubject, action: AccessAction, resource: AccessResource },
            { description: "the action as it must be carried out, instead of the one that was asked for" },
          ),
        ),
        message_to_agent: Type.Optional(MessageToAgent),
        approval_expires_at: Type.Optional(timestamp("the end of the approval by people")),
        error: Type.Optional(
          Type.Object(
            {
              status: Type.Integer({ description: "the status that this evaluation would get alone" }),
              code: text(64),
              message: text(2_000),
              details: Type.Array(anyObject()),
            },
            { description: "why this evaluation of a list was not decided" },
          ),
        ),
      }),
    ),
  },
  { title: "AccessDecision" },
);
export type AccessDecision = Static<typeof AccessDecision>;

/** One decision if the request has no list. */
export const AccessDecisions = Type.Union(
  [
    AccessDecision,
    Type.Object({
      evaluations: Type.Array(AccessDecision, {
        description: "in the order of the request, up to the one that stopped",
      }),
    }),
  ],
  { title: "AccessDecisions" },
);
export type AccessDecisions = Static<typeof AccessDecisions>;

const address = () => text(4_096);

export const AuthzenConfiguration = Type.Object(
  {
    policy_decision_point: address(),
    access_evaluation_endpoint: address(),
    access_evaluations_endpoint: address(),
  },
  { title: "AuthzenConfiguration" },
);
export type AuthzenConfiguration = Static<typeof AuthzenConfiguration>;
