import { describe, expect, test } from "vitest";
import { loadPack } from "./load-pack.ts";
import type { PackFiles } from "./parse-pack.ts";

const MANIFEST = `apiVersion: countersign/v1
kind: Pack
metadata: {name: demo, title: A demo, description: Shows a pack., version: 1.0.0, verified_on: "2026-11-18"}
spec:
  facts_from: {organizational: attested}
  policies: [demo.limit]
`;
const POLICY = `apiVersion: countersign/v1
kind: Policy
metadata: {name: demo.limit, title: Small amounts only}
spec:
  require: params.amount_usd <= facts.organizational.delegation_limit_usd
  effect: block
  on_unknown: escalate
`;
const intent = (amount_usd: number) => ({
  agent: { id: "a" },
  action: { type: "payment.transfer", verb: "pay" },
  payload: { content: { amount_usd } },
});
const line = (more: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({
    rule: "demo.limit",
    name: "under",
    now: "2026-11-18T18:00:00Z",
    intent: intent(5),
    facts: { organizational: { delegation_limit_usd: 10 } },
    expect: "approve",
    ...more,
  });
const OVER = line({ name: "over", intent: intent(11), expect: "block" });
const files = (more: Partial<PackFiles> = {}): PackFiles => ({
  folder: "demo",
  manifest: MANIFEST,
  policies: new Map([["demo.limit.yaml", POLICY]]),
  cases: `${line()}\n${OVER}\n`,
  ...more,
});

describe("loadPack", () => {
  test("loads a pack whose cases are all green", () => {
    const { pack, diagnostics } = loadPack(files());
    expect(diagnostics).toEqual([]);
    expect(pack).toMatchObject({ name: "demo", version: "1.0.0", on_at_quickstart: false });
    expect(pack?.rules.map((rule) => rule.metadata.name)).toEqual(["demo.limit"]);
    expect(pack?.cases.map((one) => one.line)).toEqual([1, 2]);
  });

  test("refuses a pack with a red case, and says which and why", () => {
    const { pack, diagnostics } = loadPack(
      files({ cases: `${line()}\n\n${line({ name: "wrong", intent: intent(11) })}` }),
    );
    expect(pack).toBeNull();
    expect(diagnostics).toEqual([
      expect.objectContaining({
        file: "cases.jsonl",
        line: 3,
        code: "red_case",
        message: "demo.limit, wrong: expected approve, got block.",
      }),
    ]);
  });

  test("decides each rule alone: another rule of the pack changes nothing", () => {
    const always = `apiVersion: countersign/v1
kind: Policy
metadata: {name: demo.always}
spec: {when: "true", effect: block}
`;
    const { pack, diagnostics } = loadPack(
      files({
        manifest: MANIFEST.replace("[demo.limit]", "[demo.limit, demo.always]"),
        policies: new Map([
          ["demo.limit.yaml", POLICY],
          ["demo.always.yaml", always],
        ]),
      }),
    );
    expect(diagnostics).toEqual([]);
    expect(pack?.rules).toHaveLength(2);
  });

  test.each<[string, Partial<PackFiles>, string, string]>([
    ["a manifest that is no YAML", { manifest: "metadata: [" }, "pack.yaml", "syntax"],
    ["a manifest without a version", { manifest: MANIFEST.replace("version: 1.0.0, ", "") }, "pack.yaml", "required"],
    ["an unknown field", { manifest: `${MANIFEST}color: red\n` }, "pack.yaml", "unknown_field"],
    ["a folder of another name", { folder: "other" }, "pack.yaml", "not_allowed"],
    ["a policy without a file", { policies: new Map() }, "pack.yaml", "required"],
    [
      "a file that is not listed",
      {
        policies: new Map([
          ["demo.limit.yaml", POLICY],
          ["demo.more.yaml", POLICY.replace("demo.limit", "demo.more")],
        ]),
      },
      "policies/demo.more.yaml",
      "not_allowed",
    ],
    [
      "a policy in a file of another name",
      { policies: new Map([["limit.yaml", POLICY]]) },
      "policies/limit.yaml",
      "not_allowed",
    ],
    [
      "a policy that suppresses a stranger",
      { policies: new Map([["demo.limit.yaml", `${POLICY}  suppresses: [gdpr.lawful-basis]\n`]]) },
      "policies/demo.limit.yaml",
      "unknown_name",
    ],
    ["a case that is no JSON", { cases: "{" }, "cases.jsonl", "syntax"],
    ["a case of an unknown rule", { cases: line({ rule: "demo.none" }) }, "cases.jsonl", "unknown_name"],
    ["a case without a clock", { cases: line({ now: "the day after tomorrow" }) }, "cases.jsonl", "bad_format"],
    ["a case that expects nonsense", { cases: line({ expect: "maybe" }) }, "cases.jsonl", "not_allowed"],
  ])("refuses %s", (_name, change, file, code) => {
    const { pack, diagnostics } = loadPack(files(change));
    expect(pack).toBeNull();
    expect(diagnostics.map((one) => [one.file, one.code])).toContainEqual([file, code]);
    for (const one of diagnostics) expect(one.message).not.toBe("");
  });

  test("places what is wrong with an expression at its line and column", () => {
    const broken = POLICY.replace("params.amount_usd <=", "params.amount_usd <= =");
    const { diagnostics } = loadPack(files({ policies: new Map([["demo.limit.yaml", broken]]) }));
    expect(diagnostics[0]).toMatchObject({ file: "policies/demo.limit.yaml", line: 5, column: 33 });
  });
});
