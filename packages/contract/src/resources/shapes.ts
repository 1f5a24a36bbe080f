/** Building blocks of schemas. Requests are closed objects, answers are open. */

import Type, { type Static, type TProperties, type TSchema } from "typebox";
import { assuranceNames, type FactsFrom, facts_from_pattern } from "../facts/assurance.ts";
import { type IdKind, idPattern } from "../ids.ts";
import { limits } from "../limits.ts";
import { name_pattern } from "../names.ts";

/** Refuses unlisted fields, so that a typo never weakens a request. */
export function closed<P extends TProperties>(properties: P, options: { title?: string; description?: string } = {}) {
  return Type.Object(properties, { ...options, additionalProperties: false });
}

/** A null field is always present. */
export function nullable<S extends TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()]);
}

export function text(chars_max: number, options: { description?: string; pattern?: string } = {}) {
  return Type.String({ maxLength: chars_max, ...options });
}

/** Has at least one character that is not white space. */
export function filledText(chars_max: number, options: { description?: string } = {}) {
  return Type.String({ minLength: 1, maxLength: chars_max, pattern: "\\S", ...options });
}

/**
 * A text for people and models. Only line ends, tabs and joiners are allowed as control or format characters, so it
 * hides nothing.
 */
export function plainText(chars_max: number, description: string) {
  return Type.String({
    minLength: 1,
    maxLength: chars_max,
    pattern: "^(?:[\\n\\t\\u200c\\u200d]|[^\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}])*$",
    description,
  });
}

export function chosenName(chars_max: number, description: string) {
  const held = "without control and format characters and white space around it";
  return Type.String({
    pattern: name_pattern,
    minLength: 1,
    maxLength: chars_max,
    description: `${description}, ${held}`,
  });
}

export function oneOf<const V extends readonly string[]>(values: V, options: { description?: string } = {}) {
  // Type.Enum gives the type string; Unsafe gives the exact texts.
  return Type.Unsafe<V[number]>(Type.Enum([...values], { type: "string", ...options }));
}

export function id(kind: IdKind) {
  return Type.String({ pattern: idPattern(kind), maxLength: 40 });
}

/**
 * An identifier in a request. Any text passes, because an impossible identifier gets the same answer as a missing one.
 */
export function givenId(description: string) {
  return Type.String({ minLength: 1, maxLength: limits.id_chars_max, description });
}

/** A time in an answer: RFC 3339 UTC with six fractional digits and Z. */
export function timestamp(description?: string) {
  return Type.String({
    format: "date-time",
    maxLength: 27,
    examples: ["2026-01-31T10:00:00.123456Z"],
    ...(description === undefined ? {} : { description }),
  });
}

/** A time in a request: RFC 3339 with any offset. */
export function timeInput(description: string) {
  return Type.String({ format: "date-time", maxLength: 40, description });
}

export function anyObject(description?: string) {
  return Type.Unsafe<Record<string, unknown>>({
    type: "object",
    additionalProperties: true,
    ...(description === undefined ? {} : { description }),
  });
}

/**
 * Accepts anything at run time, but has the type of `schema` and refers to it in openapi.json. For parts that the
 * operation checks itself, because their faults have their own code or fail one batch item.
 */
export function checkedLater<S extends TSchema>(schema: S & { title?: string }) {
  if (schema.title === undefined) throw new Error("a schema that is checked later needs a title to refer to");
  return Type.Unsafe<Static<S>>({ title: schema.title });
}

/** `{<wrapper>: <resource>}`. */
export function wrapped<K extends string, S extends TSchema>(wrapper: K, schema: S) {
  return Type.Object({ [wrapper]: schema } as Record<K, S>);
}

/** `{<plural>: [...], next_cursor}`, newest first unless the operation says otherwise. */
export function listed<K extends string, S extends TSchema>(plural: K, schema: S) {
  return Type.Object({
    ...({ [plural]: Type.Array(schema) } as Record<K, ReturnType<typeof Type.Array<S>>>),
    next_cursor: nullable(text(limits.cursor_chars_max, { description: "send it as `cursor`; null at the end" })),
  });
}

/** The query of every list: the filters, `limit` and `cursor`. */
export function listQuery<P extends TProperties>(filters: P) {
  return closed({
    ...filters,
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: limits.list_limit_max, default: limits.list_limit_default }),
    ),
    cursor: Type.Optional(Type.String({ minLength: 1, maxLength: limits.cursor_chars_max })),
  });
}

export const Actor = Type.Object(
  {
    type: oneOf(["key", "user", "system"]),
    id: nullable(
      text(limits.label_chars_max, {
        description: "key_id or user_id; for a system `open_mode` or `command_line`, null for the service itself",
      }),
    ),
  },
  { title: "Actor" },
);
export type Actor = Static<typeof Actor>;

/** Source: spec §3. */
export const PipelineMode = oneOf(["live", "shadow", "test"]);
export type PipelineMode = Static<typeof PipelineMode>;

export function factsFrom(description: string) {
  return Type.Unsafe<FactsFrom>(
    Type.Record(Type.String({ pattern: facts_from_pattern }), oneOf(assuranceNames), {
      maxProperties: limits.facts_from_max,
      additionalProperties: false,
      description,
    }),
  );
}
