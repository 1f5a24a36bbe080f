import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  BOOL,
  DOUBLE,
  DYN,
  environment,
  formatDiagnostic,
  INT,
  listOf,
  mapOf,
  objectOf,
  parse,
  STRING,
  TIMESTAMP,
} from "../src/index.ts";

/** Each expression is followed by its diagnostics. `UPDATE_GOLDEN=1` rewrites the file; read the diff. */
const FILE = new URL("./data/diagnostics.txt", import.meta.url);
const RULE = "─".repeat(60);

const env = environment({
  variables: {
    action: objectOf({ type: STRING, verb: STRING }, { name: "action" }),
    params: DYN,
    amount: DOUBLE,
    count: INT,
    flag: BOOL,
    since: TIMESTAMP,
    data_classes: listOf(STRING),
    labels: mapOf(STRING, STRING),
    facts: objectOf(
      {
        organizational: objectOf(
          {
            delegation_limit_usd: { type: DOUBLE, optional: true, nullable: true },
            gdpr_legal_basis: { type: STRING, nullable: true },
            monitoring_enabled: BOOL,
          },
          { name: "facts.organizational", open: true },
        ),
        identity: { type: objectOf({ account_status: STRING }, { name: "facts.identity" }), optional: true },
      },
      { name: "facts" },
    ),
  },
  functions: [
    { name: "withinMonths", parameters: [STRING, INT], result: BOOL, implementation: () => true },
    { name: "documented", parameters: [DYN], result: BOOL, acceptsUnknown: true, implementation: () => true },
  ],
  result: BOOL,
});

function said(expression: string): string {
  return env
    .check(expression)
    .diagnostics.map((d) => formatDiagnostic(expression, d))
    .join("\n\n");
}

interface Golden {
  readonly expression: string;
  readonly says: string;
}

function read(): Golden[] {
  const blocks = readFileSync(FILE, "utf8").split(`${RULE}\n`);
  return blocks
    .filter((b) => b.trim() !== "")
    .map((block) => {
      const [expression = "", says = ""] = block.split(/^=> *$/m);
      return { expression: expression.replace(/\n$/, ""), says: says.trim() };
    });
}

const cases = read();
if (process.env.UPDATE_GOLDEN !== undefined) {
  writeFileSync(FILE, cases.map((c) => `${c.expression}\n=>\n${said(c.expression)}\n`).join(`${RULE}\n`));
}

describe("diagnostics", () => {
  it("exist for at least 60 wrong expressions", () => {
    expect(cases.length).toBeGreaterThanOrEqual(60);
  });

  for (const [i, c] of cases.entries()) {
    it(`${i + 1}: ${c.expression.split("\n")[0]?.slice(0, 70)}`, () => {
      expect(said(c.expression)).toBe(c.says);
    });
  }

  it("come all at once, in source order", () => {
    const { diagnostics } = env.check('factz.a > 1 && action.typ == 1 && amount > "x" && nope(1)');
    expect(diagnostics.map((d) => d.code)).toEqual([
      "undeclared_name",
      "undeclared_field",
      "wrong_operand",
      "undeclared_function",
    ]);
  });

  it("place a caret by code points, also after characters outside the basic plane", () => {
    const { diagnostics } = env.check('"🐱🐱" == nope');
    expect(diagnostics[0]).toMatchObject({ line: 1, column: 9, start: 10, end: 14 });
  });

  it("report an empty expression", () => {
    expect(env.check(" // nothing\n").diagnostics[0]).toMatchObject({
      code: "syntax",
      message: "the expression is empty",
    });
  });

  it("count lines", () => {
    expect(env.check("true &&\n  nope").diagnostics[0]).toMatchObject({ line: 2, column: 3 });
  });

  it("make control and direction-changing characters visible", () => {
    const text = said('"\u202eabc" == nope');
    expect(text).not.toContain("\u202e");
  });

  it("report nothing for a correct expression", () => {
    for (const right of [
      "has(facts.organizational.delegation_limit_usd) && amount > facts.organizational.delegation_limit_usd",
      "amount * 2 > 10 && amount >= 0 && count > 2",
      '"phi" in data_classes && action.type in ["data.read", "data.export"]',
      "facts.organizational.gdpr_legal_basis == null || facts.organizational.gdpr_legal_basis == 'consent'",
      "since > now - duration('24h') && params.anything.goes[0] == 3",
      "amount in [1, 2.5] || withinMonths('2026-01-01', 6)",
      "documented(facts.organizational.delegation_limit_usd)",
      "!has(facts.identity) || facts.identity.account_status == 'active'",
      "has(facts.identity) ? facts.identity.account_status != '' : flag",
      "data_classes.exists(c, c.startsWith('p')) && params.?limit.orValue(3) == 3",
    ]) {
      expect(said(right), right).toBe("");
    }
  });

  it("mark a pattern that does not compile at its place", () => {
    const source = "action.type.matches('(a')";
    expect(env.check(source).diagnostics[0]).toMatchObject({ code: "pattern", start: source.indexOf("'") });
  });

  it("are the same for a parsed tree", () => {
    expect(env.check(parse("nope")).diagnostics).toEqual(env.check("nope").diagnostics);
  });
});
