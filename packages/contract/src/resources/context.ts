import Type, { type Static } from "typebox";
import {
  context_contract_version,
  type FactCategoryName,
  type FactField,
  type FactType,
  fact_key_pattern,
  factCategories,
  factCategoryNames,
  usStateCodes,
} from "../facts/index.ts";
import { limits } from "../limits.ts";
import { problemCodes, warningCodes } from "../problem-codes.ts";
import { checkedLater, closed, nullable, oneOf, text, timeInput, timestamp } from "./shapes.ts";

const typeSchemas: Record<FactType, object> = {
  string: { type: "string" },
  number: { type: "number" },
  integer: { type: "integer" },
  boolean: { type: "boolean" },
  object: { type: "object" },
  array: { type: "array", items: {} },
};

function constrained(field: FactField): object[] {
  switch (field.constraint?.kind) {
    case undefined:
      return field.types.map((type) => typeSchemas[type]);
    case "integer_range":
      return [{ type: "integer", minimum: field.constraint.min, maximum: field.constraint.max }];
    case "one_of":
      return [{ type: "string", enum: field.constraint.values }];
    case "us_state":
      // JSON Schema has no flag for case, so each code is a case-insensitive pattern.
      return [{ type: "string", pattern: `^(${usStateCodes.map(anyCase).join("|")})$` }];
    case "iso_date":
      return [
        { type: "string", format: "date" },
        { type: "string", format: "date-time" },
      ];
  }
}

function anyCase(code: string): string {
  return [...code].map((letter) => `[${letter}${letter.toLowerCase()}]`).join("");
}

function categorySchema(name: FactCategoryName) {
  const fields: readonly FactField[] = factCategories[name].fields;
  const rows = fields.map((field) => [
    field.name,
    { anyOf: [...constrained(field), { type: "null" }], description: field.meaning },
  ]);
  return Type.Unsafe<Record<string, unknown>>({
    type: "object",
    description: `Facts about ${factCategories[name].meaning}. Unlisted keys are kept for your own policies.`,
    properties: Object.fromEntries(rows),
    propertyNames: { type: "string", pattern: fact_key_pattern },
    maxProperties: limits.context_keys_per_category_max,
    additionalProperties: true,
  });
}

const optionalCategory = (name: FactCategoryName) => Type.Optional(categorySchema(name));
const optionalTime = () => Type.Optional(timeInput("ISO 8601 with time zone; seconds may be left out"));

/**
 * The context document in openapi.json. `validateContext` of packages/core checks requests instead: faster, with better
 * messages, and with calendar dates and the current time. A test compares both.
 */
export const ContextDocument = closed(
  {
    contract_version: Type.Literal(context_contract_version),
    facts: closed(
      Object.fromEntries(factCategoryNames.map((name) => [name, optionalCategory(name)])) as Record<
        FactCategoryName,
        ReturnType<typeof optionalCategory>
      >,
    ),
    as_of: Type.Optional(
      closed(
        Object.fromEntries(factCategoryNames.map((name) => [name, optionalTime()])) as Record<
          FactCategoryName,
          ReturnType<typeof optionalTime>
        >,
      ),
    ),
  },
  { title: "ContextDocument" },
);
export type ContextDocument = Static<typeof ContextDocument>;

export const ContextBody = checkedLater(ContextDocument);

export const ContextValidation = Type.Object(
  {
    valid: Type.Boolean(),
    errors: Type.Array(
      Type.Object({
        path: text(2_000, { description: "JSON Pointer into the document" }),
        code: oneOf(Object.keys(problemCodes)),
        message: text(2_000),
      }),
    ),
    warnings: Type.Array(
      Type.Object({
        path: text(2_000),
        code: oneOf(Object.keys(warningCodes)),
        message: text(2_000),
      }),
    ),
  },
  { title: "ContextValidation" },
);
export type ContextValidation = Static<typeof ContextValidation>;

export const StoredContext = Type.Object(
  {
    scope: oneOf(["org", "agent", "target"]),
    agent_id: nullable(text(limits.agent_id_chars_max)),
    target: nullable(
      Type.Object({ type: text(limits.label_chars_max), identifier: text(limits.target_identifier_chars_max) }),
    ),
    document: checkedLater(ContextDocument),
    received_at: timestamp("a category without as_of gets this time"),
  },
  { title: "StoredContext" },
);
export type StoredContext = Static<typeof StoredContext>;

export const ContextSourceInput = closed(
  {
    // The URL guard checks the length, because its refusals have their own error code.
    url: Type.String({ maxLength: limits.body_bytes_max, description: "absolute https URL" }),
    timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.context_source_timeout_ms_max,
        default: limits.context_source_timeout_ms_max,
        description: "from the DNS lookup to the end of the answer",
      }),
    ),
  },
  { title: "ContextSourceInput" },
);
export type ContextSourceInput = Static<typeof ContextSourceInput>;

/** Only the answer to the registration shows `secret`, which signs the requests; other answers have `***`. */
export const ContextSource = Type.Object(
  {
    url: text(limits.webhook_url_chars_max),
    timeout_ms: Type.Integer(),
    secret: text(128),
    created_at: timestamp(),
  },
  { title: "ContextSource" },
);
export type ContextSource = Static<typeof ContextSource>;
