import { countedInTests } from "../policy/counters-schema.ts";
import { factsFromSchema, type Schema } from "../policy/schema.ts";

/** Each description is the help line of a diagnostic. */
export const packSchema: Schema = {
  description: "a pack: what it is about and which policies it holds",
  type: "object",
  required: ["apiVersion", "kind", "metadata", "spec"],
  additionalProperties: false,
  properties: {
    apiVersion: { description: "the text countersign/v1", type: "string", const: "countersign/v1" },
    kind: { description: "the text Pack", type: "string", const: "Pack" },
    metadata: {
      description: "what the pack is called and what it covers",
      type: "object",
      required: ["name", "title", "description", "version", "verified_on"],
      additionalProperties: false,
      properties: {
        name: {
          description: "the name of its folder: lower-case letters, digits and dashes",
          type: "string",
          pattern: "^[a-z][a-z0-9-]{0,63}$",
        },
        title: {
          description: "one line for readers, with the law's name",
          type: "string",
          minLength: 1,
          maxLength: 256,
        },
        description: { description: "what the pack covers", type: "string", minLength: 1, maxLength: 4_000 },
        version: {
          description: "the pack's own version, for example 1.0.0",
          type: "string",
          pattern: "^\\d{1,4}\\.\\d{1,4}\\.\\d{1,4}$",
        },
        verified_on: {
          description: "the day its citations were last checked, for example 2026-11-18",
          type: "string",
          pattern: "^\\d{4}-\\d{2}-\\d{2}$",
        },
      },
    },
    spec: {
      description: "the pack's content",
      type: "object",
      required: ["facts_from", "policies"],
      additionalProperties: false,
      properties: {
        facts_from: factsFromSchema(
          "the assurance that each fact needs which its policies read, by category or by fact, for example {identity: attested}",
        ),
        on_at_quickstart: { description: "whether quickstart switches it on for everybody", type: "boolean" },
        policies: {
          description: "names of its policies, one file each: policies/<name>.yaml",
          type: "array",
          minItems: 1,
          maxItems: 200,
          uniqueItems: true,
          items: {
            description: "a policy name",
            type: "string",
            pattern: "^[a-z0-9][a-z0-9._-]{0,127}$",
          },
        },
      },
    },
  },
};

export const packCaseSchema: Schema = {
  description: "one case that decides one rule alone",
  type: "object",
  required: ["rule", "name", "now", "intent", "facts", "expect"],
  additionalProperties: false,
  properties: {
    rule: { description: "the policy it is about", type: "string", minLength: 1, maxLength: 128 },
    pack: { description: "the pack's name", type: "string", minLength: 1, maxLength: 64 },
    name: { description: "what the case tests", type: "string", minLength: 1, maxLength: 256 },
    now: { description: "the clock of the case, RFC 3339", type: "string", minLength: 20, maxLength: 40 },
    intent: { description: "an intent as POST /v1/intents accepts it", type: "object" },
    facts: {
      description: "facts by category",
      type: "object",
      maxProperties: 6,
      additionalProperties: { description: "facts of one category", type: "object" },
    },
    as_of: {
      description: "as-of times by category; the case's own clock when left out",
      type: "object",
      maxProperties: 6,
      additionalProperties: { description: "an RFC 3339 date-time", type: "string" },
    },
    ...countedInTests,
    expect: {
      description: "the verdict of this rule alone",
      type: "string",
      enum: ["approve", "approve_modified", "escalate", "block"],
    },
    outcome: { description: "why, in a word: pass, violated, missing, stale, n/a", type: "string", maxLength: 64 },
  },
};
