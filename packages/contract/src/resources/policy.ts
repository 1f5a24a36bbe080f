import Type, { type Static } from "typebox";
import { assuranceNames } from "../facts/assurance.ts";
import { limits } from "../limits.ts";
import { NotReady } from "./membranes/membrane-readiness.ts";
import { Overview } from "./overview.ts";
import { anyObject, closed, factsFrom, id, listQuery, nullable, oneOf, text, timestamp } from "./shapes.ts";

export const PolicyInput = closed(
  {
    policy: anyObject("the policy document; an invalid one answers 422 policy_invalid"),
    tests: Type.Optional(Type.Array(anyObject(), { maxItems: 200 })),
  },
  { title: "PolicyInput" },
);
export type PolicyInput = Static<typeof PolicyInput>;

export const Policy = Type.Object(
  {
    policy_id: id("policy"),
    name: text(limits.name_chars_max),
    title: nullable(text(500)),
    status: oneOf(["draft", "shadow", "live", "retired"]),
    version: Type.Integer({ minimum: 1, description: "newest version" }),
    active_version: nullable(Type.Integer({ minimum: 1 })),
    sha256: text(64),
    document: anyObject(),
    created_at: timestamp(),
    updated_at: timestamp(),
    nobody_can_decide: Type.Optional(
      text(limits.comment_chars_max, {
        description:
          "only for live policies in lists and reads: too few people can approve the held actions, how many, and what to " +
          "do. Absent: there are enough people",
      }),
    ),
  },
  { title: "Policy" },
);
export type Policy = Static<typeof Policy>;

export const PolicyVersion = Type.Object(
  {
    policy_id: id("policy"),
    version: Type.Integer({ minimum: 1 }),
    sha256: text(64),
    document: anyObject(),
    created_at: timestamp(),
    created_by: text(limits.label_chars_max),
  },
  { title: "PolicyVersion" },
);
export type PolicyVersion = Static<typeof PolicyVersion>;

export const ActivateInput = closed(
  {
    mode: oneOf(["live", "shadow"]),
    version: Type.Optional(
      Type.Integer({ minimum: 1, description: "default: the newest; another one answers 409 state_conflict" }),
    ),
  },
  { title: "ActivateInput" },
);
export type ActivateInput = Static<typeof ActivateInput>;

/** A finding in a policy document; also an entry of `details` on 422 policy_invalid. */
export const PolicyDiagnostic = Type.Object(
  {
    path: text(1_000),
    line: nullable(Type.Integer({ minimum: 1 })),
    column: nullable(Type.Integer({ minimum: 1 })),
    code: text(64),
    message: text(2_000),
    help: nullable(text(2_000)),
  },
  { title: "PolicyDiagnostic" },
);
export type PolicyDiagnostic = Static<typeof PolicyDiagnostic>;

export const PolicyCheck = Type.Object(
  {
    valid: Type.Boolean(),
    diagnostics: Type.Array(PolicyDiagnostic),
    warnings: Type.Array(PolicyDiagnostic, {
      description:
        "allowed but probably wrong parts, such as a fact name that is similar to a listed one, or a hard limit without " +
        "`on_unknown: block`. Warnings do not refuse the document",
    }),
  },
  { title: "PolicyCheck" },
);
export type PolicyCheck = Static<typeof PolicyCheck>;

export const PolicySaved = Type.Object(
  {
    policy: Policy,
    diagnostics: Type.Array(PolicyDiagnostic, { description: "failing tests of the policy; they prevent activation" }),
  },
  { title: "PolicySaved" },
);
export type PolicySaved = Static<typeof PolicySaved>;

export const PolicyActivated = Type.Object(
  {
    policy: Policy,
    warnings: Type.Array(PolicyDiagnostic, {
      description:
        "the policy needs more people than there are, waits for an inactive policy or in a circle, or the " +
        "policies that match one action can exhaust the budget of a decision together (names the most expensive). Warnings do not prevent activation",
    }),
    not_ready: Type.Array(NotReady, {
      description:
        "why GET /v1/policies/{policy_id}/readiness is `not_yet`. It does not prevent activation. Empty in shadow",
    }),
  },
  { title: "PolicyActivated" },
);
export type PolicyActivated = Static<typeof PolicyActivated>;

export const PolicyListQuery = listQuery({
  status: Type.Optional(oneOf(["draft", "shadow", "live", "retired"])),
});

export const FiredRules = Type.Object(
  {
    from: timestamp("included; a whole hour"),
    to: timestamp("not included; a whole hour, which may not be over"),
    complete: Type.Boolean({ description: "false: the service still counts earlier decisions" }),
    rules: Type.Array(Overview.properties.policies.items, {
      description: "rules that stopped or changed an action, by effect, most often first; the others did not",
    }),
  },
  { title: "FiredRules" },
);
export type FiredRules = Static<typeof FiredRules>;

/** A pack is a starting point for counsel, not legal advice. */
export const Pack = Type.Object(
  {
    name: text(64),
    title: text(500),
    version: text(64),
    description: text(4_000),
    facts_from: factsFrom(
      "the assurance that the rules' facts need, by category or by fact. This is advice; facts_from of the membrane decides",
    ),
    facts: Type.Array(Type.Object({ path: text(200), assurance: oneOf(assuranceNames) }), {
      description: "the facts that the rules may read, by path, with the assurance that they need",
    }),
    rules: Type.Array(
      Type.Object({
        name: text(limits.name_chars_max),
        title: text(500),
        effect: oneOf(["block", "escalate", "approve_modified", "none"]),
        override: oneOf(["reviewer", "two_person", "never"], {
          description: "how many people may override its block: one, two different ones, or nobody",
        }),
        citations: Type.Array(text(500)),
      }),
    ),
  },
  { title: "Pack" },
);
export type Pack = Static<typeof Pack>;
