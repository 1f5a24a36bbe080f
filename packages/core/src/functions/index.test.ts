import { DYN, environment, unknown } from "@countersign/cel";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { domainFunctions } from "./index.ts";
import { adequateCountries, eeaCountries } from "./tables/adequacy.ts";

const NOW = Date.UTC(2026, 10, 18, 18);
const cel = environment({ variables: { facts: DYN, x: DYN, y: DYN }, functions: domainFunctions });
const evaluate = (source: string, bindings: Readonly<Record<string, unknown>>) =>
  cel.compile(source).evaluate({ facts: {}, ...bindings }, { now: NOW });

const CALLS = domainFunctions.map(({ name, parameters }) => {
  const args = parameters.map((_, at) => (at === 0 ? "x" : name === "framework" ? '"gdpr"' : "y"));
  return [name, `${name}(${args.join(", ")})`] as const;
});

test("all specified functions exist, and those that the packs need", () => {
  expect(domainFunctions.map(({ name }) => name).sort()).toEqual(
    [
      ..."documented tls daysSince withinMonths consentState optedOut optOutKnown framework aiVoice aiDisclosed".split(
        " ",
      ),
      ..."recipientStates localHourConsistent inFederalWindow inCallingWindow transferOk subset nowBefore".split(" "),
      ..."known intersect entries listed flagged nextCallingWindow".split(" "),
      ..."addresses unnamedAddresses unnamedLinks effects".split(" "),
    ].sort(),
  );
});

describe.each(CALLS)("%s in the expression language", (name, call) => {
  test("is unknown if its argument is missing, null or stale, except for the function that tests this", () => {
    const stale = { facts: { a: { s: unknown("facts.a.s", "stale"), n: null } }, y: 1 };
    for (const [path, reason] of [
      ["facts.a.m", "missing"],
      ["facts.a.n", "null"],
      ["facts.a.s", "stale"],
    ] as const) {
      const result = evaluate(call.replace("(x", `(${path}`), stale);
      if (name === "known") expect(result).toEqual({ kind: "value", value: false });
      else expect(result).toEqual({ kind: "unknown", unknowns: [{ path, reason }] });
    }
  });

  test("never throws and never fails, for any argument", () => {
    const json = fc.oneof(
      fc.jsonValue(),
      fc.string(),
      fc.double(),
      fc.constantFrom("2026-11-18", 12, true, ["FL"], { status: "granted" }),
    );
    fc.assert(
      fc.property(json, json, (x, y) => {
        expect(["value", "unknown"]).toContain(evaluate(call, { x, y }).kind);
      }),
      { numRuns: runs(300) },
    );
  });
});

describe("the budget", () => {
  const left = (source: string, bindings: Readonly<Record<string, unknown>>) => {
    const budget = { left: 1e9 };
    cel.compile(source).evaluate({ facts: {}, ...bindings }, { now: NOW, budget });
    return 1e9 - budget.left;
  };

  test.each([
    "documented(x)",
    "consentState(x) == 'unknown'",
    "optedOut([x])",
    "!transferOk('XX', x)",
    "aiDisclosed({'environmental': {'ai_voice_disclosure': x}})",
    "framework({'regulatory': {'applicable_frameworks': x}}, 'gdpr') == 'unknown'",
    "framework(facts, x) == 'unknown'",
    "subset(y, y)",
    "size(intersect(y, [x])) == 0",
    "subset(x, [])",
    "size(recipientStates({'regulatory': {'recipient_state': x}})) == 1",
    "nextCallingWindow([x], 12) == ''",
    "size(addresses([x])) == 1",
    "size(unnamedLinks({'a': x}, {})) == 1",
    "size(effects({'command': x}).runs) == 1",
  ])("ends a loop over %s because of what the function reads", (call) => {
    const bindings = { x: "a".repeat(300_000), y: Array.from({ length: 20_000 }, (_, n) => n + 0.5) };
    expect(evaluate(`y.all(a, ${call} || true)`, bindings)).toEqual({
      kind: "unknown",
      unknowns: [{ path: "", reason: "cost" }],
    });
  });

  test("counts what functions read, at any depth, and nothing else", () => {
    const evidence = { a: [1, 2, { b: "x".repeat(64) }], c: "draft" };
    expect(left("documented(x)", { x: evidence }) - left("documented(x)", { x: 1 })).toBe(5);
    expect(left("subset(x, y)", { x: [[evidence]], y: [1] })).toBe(left("subset(x, y)", { x: [1], y: [1] }));
    expect(left("tls(x) > 1.0", { x: Array(1_000).fill(1) })).toBe(left("tls(x) > 1.0", { x: 1.2 }));
    expect(left("aiVoice(facts)", { facts: { security: evidence } })).toBe(left("aiVoice(facts)", {}));
  });

  test("counts many frameworks once for each name in an evaluation, for any number of calls", () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`framework_${n}`, "no"]));
    const facts = { regulatory: { applicable_frameworks: many } };
    const ask = (...names: string[]) =>
      left(`[${names.map((name) => `framework(facts, "${name}") == "no"`).join(", ")}].size() == 0`, { facts });
    const once = ask("gdpr");
    expect(once).toBeGreaterThan(500);
    expect(ask("gdpr", "gdpr", "gdpr")).toBeLessThan(once + 20);
    expect(ask("gdpr", "hipaa", "gdpr", "hipaa")).toBeGreaterThan(once * 2 - 20);
    // The second call is charged, although the answer is cached.
    expect(ask("gdpr")).toBe(once);
  });
});

test("functions see the clock of the decision and maps written in the expression", () => {
  expect(evaluate('daysSince("2026-11-08") == 10.0', {})).toEqual({ kind: "value", value: true });
  expect(evaluate('consentState({"status": "granted", "expires_at": "2026-11-18T18:00:01Z"})', {})).toEqual({
    kind: "value",
    value: "granted",
  });
  expect(evaluate('consentState({"status": "granted", "expires_at": "2026-11-18T18:00:00Z"})', {})).toEqual({
    kind: "value",
    value: "refused",
  });
});

test("functions read timestamps and numbers of an expression like those in facts", () => {
  for (const source of [
    'daysSince(timestamp("2026-11-08T23:00:00Z")) == 10.0 && daysSince(now) == 0.0',
    "daysSince(now + duration('24h')) == 1000000000.0",
    "withinMonths(now - duration('720h'), 1) && !withinMonths(now - duration('1440h'), 1)",
    "nowBefore(now + duration('1s')) && !nowBefore(now)",
    'consentState({"status": "granted", "expires_at": now + duration("1s")}) == "granted"',
    'consentState({"status": "granted", "expires_at": now}) == "refused"',
    "listed(2026, x) && listed(2026u, x) && listed(2026, 2026.0) && !listed(2027, x)",
    "entries([now]) == [now] && intersect([now], [now]) == []",
  ])
    expect(evaluate(source, { x: [2026] }), source).toEqual({ kind: "value", value: true });
});

test("without a clock no consent is in force and no date is recent", () => {
  const timeless = (source: string) => cel.compile(source).evaluate({ facts: {} }, {});
  expect(timeless('consentState({"status": "granted", "expires_at": "2099-01-01"})')).toEqual({
    kind: "value",
    value: "refused",
  });
  expect(timeless('daysSince("2026-11-08") <= 31.0')).toEqual({ kind: "value", value: false });
  expect(timeless('nowBefore("2099-01-01")')).toEqual({ kind: "value", value: false });
});

test("a stale fact inside all facts is never a value: it counts as missing, or the result is unknown", () => {
  const facts = {
    environmental: {
      recipient_state: unknown("facts.environmental.recipient_state", "stale"),
      ai_voice_detected: unknown("x", "stale"),
    },
    regulatory: { applicable_frameworks: unknown("facts.regulatory.applicable_frameworks", "stale") },
  };
  expect(evaluate("recipientStates(facts)", { facts })).toEqual({ kind: "value", value: [] });
  expect(evaluate("aiVoice(facts)", { facts })).toEqual({
    kind: "unknown",
    unknowns: [{ path: "x", reason: "stale" }],
  });
  const named = { ...facts, environmental: { ...facts.environmental, communication_method: "ai_voice" } };
  expect(evaluate("aiVoice(facts)", { facts: named })).toEqual({ kind: "value", value: true });
  expect(evaluate('framework(facts, "gdpr")', { facts })).toEqual({ kind: "value", value: "unknown" });
});

test("every row of the country tables names a country once and cites its law", () => {
  const rows = [...adequateCountries, ...eeaCountries];
  expect(new Set(rows.map((row) => row.country)).size).toBe(45);
  for (const row of rows) {
    expect(row.country).toMatch(/^[A-Z]{2}$/);
    expect(row.source.length).toBeGreaterThan(10);
    expect(row.verified_on).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  }
});
