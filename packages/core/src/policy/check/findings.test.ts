import { afterEach, describe, expect, test, vi } from "vitest";
import { packCaseSchema, packSchema } from "../../packs/schema.ts";
import { policySchema, type Schema } from "../schema.ts";
import { checkPolicy } from "./check.ts";
import { intentSchema } from "./check-structure.ts";
import { diagnostics_max } from "./findings.ts";
import * as suggesting from "./suggest-name.ts";

const base = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "p" } };
const spec = { when: "true", effect: "block" };
const counted = <T>(n: number, make: (index: number) => T) => Array.from({ length: n }, (_, index) => make(index));

/** Documents with exactly n findings of each kind. */
const ways: readonly [string, (n: number) => object][] = [
  ["unknown fields", (n) => ({ ...base, spec: { ...spec, ...Object.fromEntries(counted(n, (i) => [`z${i}`, 1])) } })],
  ["keys of the wrong form", (n) => ({ ...base, spec: { ...spec, match: { verbs: counted(n, () => "a*b") } } })],
  [
    "patterns that never match",
    (n) => ({ ...base, spec: { ...spec, match: { actions: counted(n, (i) => `Data.x${i}`) } } }),
  ],
  [
    "names that there are not",
    (n) => ({ ...base, spec: { ...spec, when: counted(n, (i) => `wrong${i} == 1`).join(" && ") } }),
  ],
];

describe.each(ways)("%s", (_, make) => {
  test.each([
    [1, 1],
    [diagnostics_max - 1, diagnostics_max - 1],
    [diagnostics_max, diagnostics_max],
    [diagnostics_max + 1, diagnostics_max + 1],
    [150, diagnostics_max + 1],
  ])("%i findings give %i diagnostics; the last says if there are more", (n, told) => {
    for (const form of [make(n) as Record<string, unknown>, JSON.stringify(make(n), null, 2)]) {
      const { document, diagnostics } = checkPolicy(form);
      expect(document).toBeNull();
      expect(diagnostics).toHaveLength(told);
      expect(diagnostics.filter(({ code }) => code === "more_findings")).toHaveLength(n > diagnostics_max ? 1 : 0);
      const last = diagnostics.at(-1);
      expect(last?.code === "more_findings").toBe(n > diagnostics_max);
      expect([last?.line, last?.help]).toEqual([expect.any(Number), expect.any(String)]);
    }
  });
});

test("broken YAML has the same limit", () => {
  const broken = counted(300, (i) => `k${i}: @x`).join("\n");
  const { diagnostics } = checkPolicy(broken);
  expect([diagnostics.length, diagnostics.at(-1)?.code]).toEqual([diagnostics_max + 1, "more_findings"]);
  const twice = checkPolicy(`a: 1\n${counted(300, () => "a: 1").join("\n")}`).diagnostics;
  expect([twice.length, twice.at(-1)?.code]).toEqual([diagnostics_max + 1, "more_findings"]);
  expect(twice[0]).toMatchObject({ path: "/a", line: 2, column: 1 });
});

test("an error is found after any number of hints", () => {
  const hints = counted(90, (i) => `facts.security.siem_re${i}`).join(" || ");
  expect(checkPolicy({ ...base, spec: { ...spec, when: hints } }).document).not.toBeNull();
  const { diagnostics } = checkPolicy({ ...base, spec: { ...spec, when: `${hints} || nowhere` } });
  expect(diagnostics).toMatchObject([{ path: "/spec/when", code: "undeclared_name" }]);
});

describe("work", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test("the number of compared names is limited by the findings", () => {
    const compared = vi.spyOn(suggesting, "suggestName");
    const fields = Object.fromEntries(counted(5_000, (i) => [`f${i}`, 1]));
    checkPolicy({ ...base, spec, ...fields });
    expect(compared.mock.calls.length).toBeGreaterThan(0);
    expect(compared.mock.calls.length).toBeLessThanOrEqual(diagnostics_max + 1);
  });

  test("an object is located without parsing its text", async () => {
    const reading = await import("../locate-text.ts");
    const read = vi.spyOn(reading, "locateText");
    const { diagnostics } = checkPolicy({ ...base, spec, ...Object.fromEntries(counted(5_000, (i) => [`f${i}`, 1])) });
    expect(diagnostics[0]).toMatchObject({ path: "/f0", line: 11, column: 3 });
    expect(read).not.toHaveBeenCalled();
  });
});

test("diagnostics stay within the API's limits for names of any length", () => {
  const long = "x".repeat(50_000);
  for (const wrong of [
    { [long]: 1 },
    { spec: { ...spec, [long]: { a: 1 } } },
    { spec: { ...spec, facts_max_age: { [long]: "4h" } } },
    { spec: { ...spec, when: `a${long.slice(0, 16_000)} == 1` } },
    { spec: { ...spec, effect: long } },
    { tests: [{ name: "t", intent: {}, facts: { [long]: {} }, expect: {} }] },
  ]) {
    const { diagnostics } = checkPolicy({ ...base, spec, ...wrong });
    expect(diagnostics.length).toBeGreaterThan(0);
    for (const { path, message, help } of diagnostics) {
      expect(path.length).toBeLessThanOrEqual(1_000);
      expect(message.length).toBeLessThanOrEqual(2_000);
      expect(help?.length ?? 0).toBeLessThanOrEqual(2_000);
    }
  }
});

test("the schema of intents uses only supported keywords", () => {
  const known = new Set(
    "title type properties required additionalProperties pattern minLength maxLength minimum items maxItems enum description".split(
      " ",
    ),
  );
  const unknown = new Set<string>();
  const walk = (schema: Schema): void => {
    for (const keyword of Object.keys(schema)) if (!known.has(keyword)) unknown.add(keyword);
    for (const inner of Object.values(schema.properties ?? {})) walk(inner);
    if (schema.items !== undefined) walk(schema.items);
  };
  walk(intentSchema);
  expect([...unknown]).toEqual([]);
});

test("every pattern that can match an action type is accepted", () => {
  for (const pattern of [
    "*",
    "p*",
    "pay*",
    "payment.*",
    "payment.transfer",
    "payment.trans*",
    "a_b-c.d-e",
    "other-*",
    "a.1",
  ])
    expect(checkPolicy({ ...base, spec: { ...spec, match: { actions: [pattern] } } }).diagnostics, pattern).toEqual([]);
});

test("every part of the schemas has a description, which is the help line of its diagnostics", () => {
  const bare: string[] = [];
  const walk = (schema: Schema, path: string): void => {
    if (schema.description === undefined) bare.push(path);
    for (const [name, inner] of Object.entries(schema.properties ?? {})) walk(inner, `${path}.${name}`);
    for (const inner of [schema.items, schema.additionalProperties, schema.propertyNames])
      if (typeof inner === "object") walk(inner, `${path}[]`);
  };
  walk(policySchema, "policy");
  walk(packSchema, "pack");
  walk(packCaseSchema, "case");
  expect(bare).toEqual([]);
});
