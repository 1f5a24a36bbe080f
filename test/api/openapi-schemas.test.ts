import { readFileSync } from "node:fs";
import {
  BatchItem,
  ContextDocument,
  IntentSubmission,
  limits,
  operationRows,
  QuickstartInput,
} from "@countersign/contract";
import { validateContext } from "@countersign/core";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";

const ajv = new Ajv2020({
  strict: true,
  allErrors: true,
  coerceTypes: false,
  useDefaults: false,
  removeAdditional: false,
});
addFormats.default(ajv);

const accepts = (schema: object) => {
  const validate = ajv.compile(schema);
  return (json: string) => validate(JSON.parse(json));
};

describe("the operation table", () => {
  it.each(operationRows)("%s: parameters, body limit and answers fit together", (_, operation) => {
    const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(Object.keys(operation.params?.properties ?? {})).toEqual(inPath);
    expect(operation.params?.required ?? []).toEqual(inPath);
    expect(operation.body === undefined).toBe(operation.body_bytes_max === undefined);
    expect(Object.keys(operation.answers).every((status) => Number(status) < 300)).toBe(true);
    if (operation.idempotent) expect(operation.method).toBe("POST");
    if (operation.method === "GET") expect(operation.body).toBeUndefined();
    if (operation.path.startsWith("/v1/")) expect(operation.rate).not.toBeNull();
  });

  it("has each method and path once", () => {
    const places = operationRows.map(([, { method, path }]) => `${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`);
    expect(new Set(places).size).toBe(places.length);
  });

  it.each(operationRows)("%s: every schema compiles in Ajv's strict mode", (_, operation) => {
    const schemas = [
      operation.params,
      operation.query,
      operation.body,
      ...Object.values(operation.answers).map((a) => a.schema),
    ];
    for (const schema of schemas) if (schema) ajv.compile(schema);
  });

  it.each(operationRows)("%s: requests are closed, and every text in them is bounded", (name, operation) => {
    for (const schema of [operation.params, operation.query, operation.body])
      if (schema) expectBounded(schema as Schema, "", schema === operation.body && ofOthers.has(name));
  });
});

/** Bodies in a format of another product or a standard, which may add members at any time. */
const ofOthers: ReadonlySet<string> = new Set(["answerClaudeCodeHook", "evaluateAccess", "evaluateAccessBatch"]);

type Schema = { readonly [keyword: string]: unknown };

/** Requires maxLength on texts, and on objects no unknown fields unless `additionalProperties: true` is set. */
function expectBounded(schema: Schema, path: string, is_open = false): void {
  if (schema.type === "string" && schema.enum === undefined) expect(schema.maxLength, path).toBeTypeOf("number");
  if (schema.type === "array") expect(schema.maxItems, path).toBeTypeOf("number");
  if (schema.properties !== undefined) expect(schema.additionalProperties, path).toBe(is_open);
  for (const [name, inner] of Object.entries((schema.properties ?? {}) as Record<string, Schema>)) {
    expectBounded(inner, `${path}/${name}`, is_open);
  }
  if (schema.items !== undefined) expectBounded(schema.items as Schema, `${path}/*`, is_open);
  for (const inner of (schema.anyOf ?? []) as Schema[]) expectBounded(inner, path, is_open);
}

describe("the intent submission", () => {
  const takes = accepts(IntentSubmission);
  const intent = (more = "") => `{"intent":{"agent":{"id":"a"},"action":{"verb":"send"}${more}}}`;

  it("accepts the smallest and the largest intent", () => {
    expect(takes(intent())).toBe(true);
    const full = {
      intent: {
        agent: { id: "a", framework: "f", session_id: "s", on_behalf_of: "o" },
        action: {
          type: "Payment.Transfer",
          verb: "v",
          target: { type: "t", identifier: "i", sensitivity: "internal" },
        },
        payload: { summary: "", content: { deep: [{ constructor: 1 }] } },
        estimated_impact: {
          reversible: false,
          financial_exposure_usd: 0.5,
          audience_size: 3,
          regulatory_domains: ["x"],
        },
        data_classes: ["phi"],
      },
      context: { contract_version: "1", facts: {} },
      membrane_id: `mem_${"0".repeat(26)}`,
    };
    expect(takes(JSON.stringify(full))).toBe(true);
  });

  it.each([
    ["{}", "intent missing"],
    ['{"Intent":{}}', "wrong case"],
    ['{"intent":null}', "null"],
    ['{"intent":[]}', "array"],
    [`${intent().slice(0, -1)},"extra":1}`, "unknown top-level field"],
    [intent(',"extra":1'), "unknown intent field"],
    ['{"intent":{"agent":{"id":""},"action":{"verb":"v"}}}', "empty agent id"],
    [`{"intent":{"agent":{"id":"${"a".repeat(129)}"},"action":{"verb":"v"}}}`, "agent id of 129"],
    ['{"intent":{"agent":{"id":1},"action":{"verb":"v"}}}', "no coercion"],
    ['{"intent":{"agent":{"id":"a","x":1},"action":{"verb":"v"}}}', "unknown agent field"],
    ['{"intent":{"agent":{"id":"a"},"action":{"verb":""}}}', "empty verb"],
    ['{"intent":{"agent":{"id":"a"},"action":{"verb":"v","type":"a b"}}}', "type with a space"],
    [intent(',"payload":{"content":[]}'), "content array"],
    [intent(',"estimated_impact":{"audience_size":1.5}'), "half a person"],
    [intent(',"estimated_impact":{"financial_exposure_usd":"5"}'), "exposure as text"],
    [`${intent().slice(0, -1)},"membrane_id":""}`, "empty membrane id"],
    [`${intent().slice(0, -1)},"idempotency_key":"k"}`, "a batch field on a single submission"],
  ])("refuses %s (%s)", (json) => {
    expect(takes(json)).toBe(false);
  });

  it("accepts an idempotency key of 1 to 255 printable ASCII characters in a batch item", () => {
    const takesItem = accepts(BatchItem);
    const item = (key: string) => JSON.stringify({ ...JSON.parse(intent()), idempotency_key: key });
    expect([item("k"), item("~ !"), item("k".repeat(limits.idempotency_key_chars_max))].every(takesItem)).toBe(true);
    expect([item(""), item("é"), item("\n"), item("k".repeat(256))].some(takesItem)).toBe(false);
  });
});

describe("quickstart", () => {
  const takes = accepts(QuickstartInput);
  const body = (change: object) =>
    JSON.stringify({ org_name: "Acme", email: "a@example.com", description: "d", ...change });

  it("accepts the contract's three fields", () => {
    expect(takes(body({}))).toBe(true);
  });
  it.each([
    { org_name: "" },
    { org_name: "   " },
    { email: "a" },
    { email: "a@b\r\nBcc: x@y.example" },
    { email: `${"a".repeat(250)}@b.co` },
    { description: undefined },
    { extra: 1 },
  ])("refuses %j", (change) => {
    expect(takes(body(change))).toBe(false);
  });
});

describe("the schema of the context document", () => {
  const now_us = Date.parse("2026-11-21T12:00:00Z") * 1000;
  const examples = JSON.parse(readFileSync(new URL("../data/context-documents.json", import.meta.url), "utf8")) as {
    document: unknown;
    why: string;
  }[];
  const takes = accepts(ContextDocument);

  it.each(examples)("agrees with the hand-written checks: $why", ({ document }) => {
    expect(takes(JSON.stringify(document))).toBe(validateContext(document, now_us).errors.length === 0);
  });
});
