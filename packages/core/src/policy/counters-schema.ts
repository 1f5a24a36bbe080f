import { adjusters, countedStates } from "../counters/definition.ts";
import type { Schema } from "./schema.ts";

interface Parts {
  readonly expression: (description: string) => Schema;
  readonly duration: (description: string) => Schema;
  readonly match: Schema;
}

const name: Schema = { description: "a CEL identifier", type: "string", pattern: "^[a-z][a-z0-9_]{0,63}$" };

const keyOf = (expression: Parts["expression"]): Schema => ({
  description: "CEL expressions over agent, action, target and params; equal values are counted together",
  type: "array",
  minItems: 1,
  maxItems: 4,
  items: expression("a CEL expression, for example agent.id"),
});

/** The schema of `counters`. */
export function countersSchema({ expression, duration }: Parts): Schema {
  return {
    description: "sums and counts of the actions that this policy matches, read as count.<name>.sum and count.<name>.n",
    type: "array",
    maxItems: 8,
    items: {
      description: "one counter, for example {name: spent, key: [agent.id], value: params.amount_usd, window: 24h}",
      type: "object",
      required: ["name", "key", "window"],
      additionalProperties: false,
      properties: {
        name,
        key: keyOf(expression),
        value: expression("a CEL expression that gives a number of at most six decimals; 1 when left out"),
        window: {
          description: "a sliding time such as 1h or 30d (1m to 90d), or {calendar: day, zone: Europe/Berlin}",
          ...duration(""),
          type: ["string", "object"],
          properties: {
            calendar: {
              description: "hour, day, week or month",
              type: "string",
              enum: ["hour", "day", "week", "month"],
            },
            zone: { description: "an IANA time zone; UTC when left out", type: "string", minLength: 1, maxLength: 64 },
          },
          required: ["calendar"],
          additionalProperties: false,
        },
        counts: {
          description: "approve, approve_modified, pending or executed; executed and pending when left out",
          type: "array",
          minItems: 1,
          maxItems: 4,
          uniqueItems: true,
          items: { description: countedStates.join(", "), type: "string", enum: countedStates },
        },
        negative: { description: "true counts values below zero; otherwise they are unknown", type: "boolean" },
        adjust: {
          description:
            "who may reset the counter or grant more: operator (the default), or two_person for two different people",
          type: "string",
          enum: adjusters,
        },
      },
    },
  };
}

/** The schema of `after`. */
export function afterSchema({ expression, duration, match }: Parts): Schema {
  return {
    description: "earlier actions with the same key, read as after.<name>.id and after.<name>.at",
    type: "array",
    maxItems: 8,
    items: {
      description:
        "one earlier action, for example {name: secrets, match: {verbs: [read_secret]}, key: [agent.id], within: 10m}",
      type: "object",
      required: ["name", "key", "within"],
      additionalProperties: false,
      properties: { name, match, key: keyOf(expression), within: duration("a duration such as 10m, 1m to 90d") },
    },
  };
}

/** The schemas of `counts` and `after` of a test case. */
export const countedInTests: Readonly<Record<"counts" | "after", Schema>> = {
  counts: {
    description: "what earlier actions add up to, by the name of a counter; nothing when left out",
    type: "object",
    maxProperties: 16,
    additionalProperties: {
      description: "the number and the sum of the earlier actions",
      type: "object",
      additionalProperties: false,
      properties: {
        n: { description: "how many", type: "integer", minimum: 0 },
        sum: { description: "their sum", type: "number" },
      },
    },
  },
  after: {
    description: "earlier actions, by the name of an after; none when left out",
    type: "object",
    maxProperties: 16,
    additionalProperties: {
      description: "the earlier action",
      type: "object",
      required: ["id", "at"],
      additionalProperties: false,
      properties: {
        id: { description: "its intent id", type: "string", minLength: 1, maxLength: 64 },
        at: { description: "an RFC 3339 date-time", type: "string", minLength: 20, maxLength: 40 },
      },
    },
  },
};
