import { assuranceNames, confirmKinds, facts_from_pattern, limits } from "@countersign/contract";
import { afterSchema, countedInTests, countersSchema } from "./counters-schema.ts";

/** Published, and used by `schema-check.ts`. Descriptions serve as help texts of diagnostics. */

export interface Schema {
  readonly description?: string;
  readonly type?:
    | "object"
    | "array"
    | "string"
    | "number"
    | "integer"
    | "boolean"
    | readonly ("number" | "string" | "object")[];
  readonly const?: string;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: false | Schema;
  readonly propertyNames?: Schema;
  readonly maxProperties?: number;
}

const expression = (description: string): Schema => ({ description, type: "string", minLength: 1, maxLength: 16_384 });
const dateTime = (description: string): Schema => ({ description, type: "string", minLength: 20, maxLength: 40 });
const duration = (description: string): Schema => ({
  description,
  type: "string",
  pattern: "^(?=.)(\\d{1,6}d)?(\\d{1,6}h)?(\\d{1,6}m)?(\\d{1,6}s)?$",
});
const patterns = (what: string): Schema => ({
  description: `${what}: exact names, or a prefix and a final *`,
  type: "array",
  maxItems: 200,
  items: {
    description: "an exact name, or a prefix and a final *, of 128 characters at most",
    type: "string",
    pattern: "^[^*]{0,128}\\*?$",
    minLength: 1,
    maxLength: 129,
  },
});
const texts = (description: string, maxItems: number, maxLength: number): Schema => ({
  description,
  type: "array",
  maxItems,
  items: { description: `a text of 1 to ${maxLength} characters`, type: "string", minLength: 1, maxLength },
});

const factsOrFact: Schema = {
  description: "a category (security) or one of its facts (security.siem_ref)",
  pattern: facts_from_pattern,
};

export function factsFromSchema(description: string): Schema {
  return {
    description,
    type: "object",
    maxProperties: limits.facts_from_max,
    propertyNames: factsOrFact,
    additionalProperties: { description: assuranceNames.join(", "), type: "string", enum: assuranceNames },
  };
}

const match = {
  actions: patterns("action types"),
  verbs: patterns("verbs (tool names)"),
  agents: patterns("agent ids"),
};

const policyName: Schema = {
  description: "the name that reasons show: lower-case letters, digits, dots, dashes and underscores",
  type: "string",
  pattern: "^[a-z0-9][a-z0-9._-]{0,127}$",
};

const metadata: Schema = {
  description: "name, description and sources of the policy",
  type: "object",
  required: ["name"],
  additionalProperties: false,
  properties: {
    name: policyName,
    title: { description: "one line for readers", type: "string", minLength: 1, maxLength: 256 },
    description: { description: "a longer description", type: "string", maxLength: 8_192 },
    tags: texts("search keywords", 32, 64),
    severity: {
      description: "low, medium, high or critical",
      type: "string",
      enum: ["low", "medium", "high", "critical"],
    },
    citations: texts("the legal sources of the policy", 32, 256),
    effective_from: dateTime("RFC 3339 date-time from which the policy is in force, for example 2026-01-01T00:00:00Z"),
    effective_until: dateTime("RFC 3339 date-time at which the policy ends"),
  },
};

const modify: Schema = {
  description: "what an approval changes in payload.content; each value is computed from the original",
  type: "array",
  minItems: 1,
  maxItems: 32,
  items: {
    description: "one change, for example {op: cap, path: /amount_usd, value: vars.limit}",
    type: "object",
    required: ["op", "path"],
    additionalProperties: false,
    properties: {
      op: {
        description: "remove, redact, mask, set, cap or floor; mask changes what people see, not what runs",
        type: "string",
        enum: ["remove", "redact", "mask", "set", "cap", "floor"],
      },
      path: {
        description:
          "a JSON Pointer into payload.content, for example /amount_usd; for remove, redact and mask * names all entries: /items/*/secret",
        type: "string",
        pattern: "^(/([^~/]|~[01])+)+$",
        maxLength: 512,
      },
      value: expression("a CEL expression; only for set, cap and floor"),
    },
  },
};

const reviewers: Schema = {
  description: "role:<role> or user:<id>",
  type: "array",
  minItems: 1,
  maxItems: limits.escalation_reviewers_max,
  items: {
    description: "role:admin, role:operator, role:reviewer or user:<id>",
    type: "string",
    pattern: "^(role:(admin|operator|reviewer)|user:(usr|key)_[A-Za-z0-9]{1,64})$",
  },
};

const pace: Schema = {
  description: "faster approvals need a typed reason or a second person",
  type: "object",
  additionalProperties: false,
  properties: {
    min_seconds: {
      description: "an approval earlier than this after the case was shown to the reviewer needs a reason",
      type: "integer",
      minimum: 1,
      maximum: limits.pace_min_seconds_max,
    },
    reason_from: {
      description: "the first approval of one reviewer within five minutes that needs a reason, for example 10",
      type: "integer",
      minimum: 1,
      maximum: limits.pace_reason_from_max,
    },
  },
};

const escalation: Schema = {
  description: "reviewers, quorum and time limits",
  type: "object",
  additionalProperties: false,
  properties: {
    reviewers,
    quorum: {
      description: "how many different people must approve",
      type: "integer",
      minimum: 1,
      maximum: limits.escalation_quorum_max,
    },
    timeout: duration("a duration such as 30m, 4h or 2d, 30d at most"),
    on_timeout: { description: "block or approve", type: "string", enum: ["block", "approve"] },
    approval_valid_for: duration("how long an approval stays valid: a duration such as 30m, 4h or 2d, 30d at most"),
    after: {
      description:
        "the name of another policy, or membrane.escalation: its reviewers approve first, if it holds the action too",
      type: "string",
      pattern: "^[a-z0-9][a-z0-9._-]{0,127}$",
    },
    // biome-ignore lint/suspicious/noThenProperty: the word of the policy language; it is never awaited.
    then: {
      description:
        "a second tier: further reviewers who can approve if this policy's approvals are missing after a time",
      type: "object",
      required: ["after", "reviewers"],
      additionalProperties: false,
      properties: {
        after: duration("a duration such as 30m or 4h, shorter than the time limit"),
        reviewers,
      },
    },
    pace,
    confirm: { description: "how reviewers confirm each ruling", type: "string", enum: [...confirmKinds] },
    grants: {
      description: "permits reviewers to allow similar actions in advance, within these limits",
      type: "object",
      required: ["times_max", "hours_max"],
      additionalProperties: false,
      properties: {
        times_max: {
          description: "the largest number of actions of one grant",
          type: "integer",
          minimum: 1,
          maximum: limits.grant_times_max,
        },
        hours_max: {
          description: "the longest time of one grant, in hours",
          type: "integer",
          minimum: 1,
          maximum: limits.grant_hours_max,
        },
      },
    },
  },
};

const matched: Schema = {
  description: "the actions that it applies to; default: every action",
  type: "object",
  additionalProperties: false,
  properties: {
    ...match,
    exclude: {
      description: "the actions that it does not apply to",
      type: "object",
      additionalProperties: false,
      properties: match,
    },
  },
};

const spec: Schema = {
  description: "conditions and effects of the policy",
  type: "object",
  required: ["effect"],
  additionalProperties: false,
  properties: {
    match: matched,
    variables: {
      description: "named expressions, read as vars.<name>; later ones may use earlier ones",
      type: "array",
      maxItems: 64,
      items: {
        description: "one variable, for example {name: limit, expr: params.amount_usd}",
        type: "object",
        required: ["name", "expr"],
        additionalProperties: false,
        properties: {
          name: { description: "a CEL identifier", type: "string", pattern: "^[a-z_][a-zA-Z0-9_]{0,63}$" },
          expr: expression("a CEL expression"),
        },
      },
    },
    counters: countersSchema({ expression, duration, match: matched }),
    after: afterSchema({ expression, duration, match: matched }),
    when: expression(
      "a CEL condition: the rule fires when it is true (with require: the rule applies when it is true)",
    ),
    require: expression("a CEL condition that must be provably true where the rule applies"),
    effect: {
      description: "block, escalate, approve_modified or none",
      type: "string",
      enum: ["block", "escalate", "approve_modified", "none"],
    },
    on_unknown: {
      description: "fire, escalate, block or skip",
      type: "string",
      enum: ["fire", "escalate", "block", "skip"],
    },
    risk: {
      description: "the risk that the rule adds when it fires; only the largest of a group counts",
      type: "object",
      required: ["add"],
      additionalProperties: false,
      properties: {
        add: {
          description: "a number from 0 to 1, or a CEL expression that gives one",
          type: ["number", "string"],
          minimum: 0,
          maximum: 1,
          minLength: 1,
          maxLength: 16_384,
        },
        group: {
          description: "rules about the same danger share a group",
          type: "string",
          pattern: "^[a-z0-9][a-z0-9._-]{0,63}$",
        },
      },
    },
    override: {
      description: "reviewer, two_person or never",
      type: "string",
      enum: ["reviewer", "two_person", "never"],
    },
    facts_max_age: {
      description: "maximum age by category or by single fact, for example {organizational: 24h}",
      type: "object",
      maxProperties: 100,
      propertyNames: factsOrFact,
      additionalProperties: duration("a duration such as 30s, 15m, 24h or 7d"),
    },
    facts_from: factsFromSchema(
      "the least assurance that counts, by category or by single fact, for example {identity: attested}",
    ),
    message: {
      description: "text for people; {{expr}} puts in the value of a CEL expression",
      type: "string",
      minLength: 1,
      maxLength: limits.policy_message_bytes_max,
    },
    escalation,
    modify_when: expression(
      "a CEL condition: if it is true when the rule fires, the rule modifies instead of its effect",
    ),
    modify,
    suppresses: {
      description: "names of rules of the same pack that do not vote when this one fires",
      type: "array",
      maxItems: 64,
      uniqueItems: true,
      items: policyName,
    },
    explain: { description: "false: answers do not say what would have been approved", type: "boolean" },
  },
};

const test: Schema = {
  description: "one test case, run at every save",
  type: "object",
  required: ["name", "intent", "expect"],
  additionalProperties: false,
  properties: {
    name: { description: "what the case tests", type: "string", minLength: 1, maxLength: 256 },
    now: dateTime("the time of the case; default 2026-01-01T12:00:00Z"),
    mode: { description: "live, shadow or test", type: "string", enum: ["live", "shadow", "test"] },
    human_reviewed: { description: "true if a person reviewed the action in the service", type: "boolean" },
    intent: { description: "an intent as POST /v1/intents accepts it", type: "object" },
    facts: {
      description: "facts by category",
      type: "object",
      additionalProperties: { description: "facts of one category", type: "object" },
      maxProperties: 6,
    },
    as_of: {
      description: "as-of times by category",
      type: "object",
      additionalProperties: dateTime("an RFC 3339 date-time"),
      maxProperties: 6,
    },
    ...countedInTests,
    expect: {
      description: "the expected result; omitted fields are not compared",
      type: "object",
      additionalProperties: false,
      properties: {
        verdict: {
          description: "approve, approve_modified, escalate or block",
          type: "string",
          enum: ["approve", "approve_modified", "escalate", "block"],
        },
        fired: { description: "names of the rules in the reasons", type: "array", maxItems: 64, items: policyName },
        risk: { description: "the risk score", type: "number", minimum: 0, maximum: 1 },
        modified_content: { description: "payload.content afterwards", type: "object" },
        unknown_facts: {
          description: "paths that were unknown",
          type: "array",
          maxItems: 64,
          items: { description: "a path such as facts.security.siem_ref", type: "string" },
        },
      },
    },
  },
};

export const policySchema: Schema & { readonly $schema: string; readonly title: string } = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Countersign policy",
  description: "one rule",
  type: "object",
  required: ["apiVersion", "kind", "metadata", "spec"],
  additionalProperties: false,
  properties: {
    apiVersion: { description: "the text countersign/v1", type: "string", const: "countersign/v1" },
    kind: { description: "the text Policy", type: "string", const: "Policy" },
    metadata,
    spec,
    tests: { description: "test cases of the policy", type: "array", maxItems: 200, items: test },
  },
};
