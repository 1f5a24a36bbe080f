import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../scripts/property-runs.ts";
import { BOOL, DYN, environment, type Result, unknown } from "../src/index.ts";
import { Random } from "./random.ts";

/** Two facts of each kind, so that expressions can compare them. */
const FACTS = ["p", "q", "r", "n", "m", "s", "t", "list", "map"] as const;
type FactName = (typeof FACTS)[number];
const VALUES: Readonly<Record<FactName, readonly unknown[]>> = {
  p: [true, false],
  q: [true, false],
  r: [true, false],
  n: [0, 1, 2.5, -3],
  m: [0, 1, 7],
  s: ["", "a", "ab"],
  t: ["a", "b"],
  list: [[], ["a"], ["a", "b", "c"]],
  map: [{}, { k: "a" }, { k: 1, l: true }],
};

const env = environment({ variables: { facts: DYN } });

function condition(r: Random, depth: number): string {
  const c = () => condition(r, depth - 1);
  const atom = () =>
    `(${r.pick([
      "facts.p",
      "facts.q",
      "facts.r",
      "facts.n > 1",
      "facts.n < facts.m",
      "facts.n + facts.m == 2",
      "facts.s == facts.t",
      'facts.s.startsWith("a")',
      "facts.t in facts.list",
      '"a" in facts.list',
      "facts.list.exists(x, x == facts.s)",
      'facts.list.all(x, x != "b")',
      "size(facts.list) > 1",
      "facts.s + facts.t == 'ab'",
      "facts.map.k == facts.s",
      "has(facts.map.k)",
      "facts.n in [1, 2]",
      "facts.m / facts.n > 1.0",
      "facts.list == ['a']",
      "facts.?s.orValue('z') == 'z'",
      "true",
      "false",
      "1 / 0 == 1",
    ])})`;
  if (depth <= 0) return atom();
  return r.pick<() => string>([
    () => `(${c()} && ${c()})`,
    () => `(${c()} || ${c()})`,
    () => `(${c()} && ${c()} && ${c()})`,
    () => `!${c()}`,
    () => `(${c()} ? ${c()} : ${c()})`,
    () => `[${c()}, ${c()}].exists(y, y)`,
    atom,
  ])();
}

interface Case {
  readonly source: string;
  readonly full: Readonly<Record<string, unknown>>;
  readonly hidden: readonly FactName[];
}

const cases = fc.integer().map((seed): Case => {
  const r = new Random(seed);
  const full = Object.fromEntries(FACTS.map((f) => [f, r.pick(VALUES[f])]));
  return { source: condition(r, 3), full, hidden: FACTS.filter(() => r.chance(0.4)) };
});

function evaluate(source: string, facts: Readonly<Record<string, unknown>>): Result {
  return env.compile(source, { result: BOOL }).evaluate({ facts });
}

function hide(full: Readonly<Record<string, unknown>>, hidden: readonly string[]): Record<string, unknown> {
  return { ...full, ...Object.fromEntries(hidden.map((f) => [f, unknown(`facts.${f}`, "stale")])) };
}

const factOf = (path: string) => path.split(/[.[]/)[1] as FactName;

describe("unknown facts", () => {
  it("do not depend on the order of operands", () => {
    const operands = fc.constantFrom(
      "true",
      "false",
      "facts.a",
      "facts.b > 1",
      "facts.gone == 1",
      "facts.nil > 1",
      "facts.text > 1",
      "1 / 0 == 1",
      "facts.yes",
      "facts.no",
    );
    const facts = {
      a: unknown("facts.a", "stale"),
      b: unknown("facts.b", "stale"),
      nil: null,
      text: "x",
      yes: true,
      no: false,
    };
    fc.assert(
      fc.property(
        fc.array(operands, { minLength: 2, maxLength: 5 }),
        fc.constantFrom("&&", "||"),
        fc.integer(),
        (args, op, seed) => {
          const r = new Random(seed);
          const shuffled = [...args]
            .map((a) => [r.next(), a] as const)
            .sort(([x], [y]) => x - y)
            .map(([, a]) => a);
          expect(evaluate(shuffled.join(` ${op} `), facts)).toEqual(evaluate(args.join(` ${op} `), facts));
        },
      ),
      { numRuns: runs(2_000) },
    );
  });

  it("never make a definite answer wrong: supplying them does not change the answer", () => {
    let definite = 0;
    fc.assert(
      fc.property(cases, ({ source, full, hidden }) => {
        const before = evaluate(source, hide(full, hidden));
        if (before.kind !== "value") return;
        if (hidden.length > 0) definite++;
        expect(evaluate(source, full), source).toEqual(before);
      }),
      { numRuns: runs(5_000) },
    );
    expect(definite).toBeGreaterThan(runs(500));
  });

  it("stay definite in part: supplying some of them does not change a definite answer either", () => {
    fc.assert(
      fc.property(cases, fc.nat(), ({ source, full, hidden }, keep) => {
        const before = evaluate(source, hide(full, hidden));
        if (before.kind !== "value") return;
        expect(
          evaluate(
            source,
            hide(
              full,
              hidden.filter((_, i) => (keep >> i) & 1),
            ),
          ),
          source,
        ).toEqual(before);
      }),
      { numRuns: runs(3_000) },
    );
  });

  it("are named only if they were hidden", () => {
    fc.assert(
      fc.property(cases, ({ source, full, hidden }) => {
        const result = evaluate(source, hide(full, hidden));
        if (result.kind !== "unknown") return;
        const stale = result.unknowns.filter((c) => c.reason === "stale");
        for (const c of stale) expect(hidden).toContain(factOf(c.path));
      }),
      { numRuns: runs(3_000) },
    );
  });

  it("that are not named do not matter: no value for them changes the answer or its reasons", () => {
    let checked = 0;
    fc.assert(
      fc.property(cases, fc.integer(), ({ source, full, hidden }, seed) => {
        const r = new Random(seed);
        const before = evaluate(source, hide(full, hidden));
        if (before.kind !== "unknown") return;
        const named = new Set(before.unknowns.map((c) => factOf(c.path)));
        const unnamed = hidden.filter((f) => !named.has(f));
        if (unnamed.length === 0) return;
        checked++;
        const filled = { ...hide(full, hidden), ...Object.fromEntries(unnamed.map((f) => [f, r.pick(VALUES[f])])) };
        expect(evaluate(source, filled), source).toEqual(before);
      }),
      { numRuns: runs(5_000) },
    );
    expect(checked).toBeGreaterThan(runs(300));
  });

  it("that are named are enough: after all of them are supplied, none is a reason", () => {
    fc.assert(
      fc.property(cases, ({ source, full, hidden }) => {
        const before = evaluate(source, hide(full, hidden));
        if (before.kind !== "unknown") return;
        const named = new Set<string>(before.unknowns.map((c) => factOf(c.path)));
        const after = evaluate(
          source,
          hide(
            full,
            hidden.filter((f) => !named.has(f)),
          ),
        );
        const left =
          after.kind === "unknown" ? after.unknowns.filter((c) => c.reason === "stale").map((c) => factOf(c.path)) : [];
        for (const f of left) expect(named.has(f), source).toBe(false);
      }),
      { numRuns: runs(3_000) },
    );
  });
});

describe("the budget", () => {
  it("only removes answers: with less budget an answer is the same, or unknown because of the cost", () => {
    fc.assert(
      fc.property(cases, fc.integer({ min: 0, max: 80 }), ({ source, full, hidden }, left) => {
        const facts = hide(full, hidden);
        const program = env.compile(source, { result: BOOL });
        const budget = { left };
        const short = program.evaluate({ facts }, { budget });
        const whole = program.evaluate({ facts });
        if (short.kind === "unknown" && short.unknowns.some((c) => c.reason === "cost")) {
          expect(budget.left).toBeLessThan(0);
          expect(short.unknowns).toEqual([{ path: "", reason: "cost" }]);
        } else expect(short).toEqual(whole);
      }),
      { numRuns: runs(3_000) },
    );
  });

  it("is shared: units that one program spends are gone for the next", () => {
    const program = env.compile("facts.n > 1 && facts.m > 1");
    const budget = { left: 20 };
    const facts = { n: 2, m: 2 };
    expect(program.evaluate({ facts }, { budget })).toEqual({ kind: "value", value: true });
    expect(budget.left).toBe(11);
    expect(program.evaluate({ facts }, { budget })).toEqual({ kind: "value", value: true });
    expect(program.evaluate({ facts }, { budget })).toEqual({
      kind: "unknown",
      unknowns: [{ path: "", reason: "cost" }],
    });
  });

  it("counts every evaluated node, and no other", () => {
    const spent = (source: string) => {
      const budget = { left: 1_000 };
      env.compile(source).evaluate({ facts: { n: 2, list: [1, 2, 3] } }, { budget });
      return 1_000 - budget.left;
    };
    expect(spent("true")).toBe(1);
    expect(spent("false && facts.n > 1")).toBe(2);
    expect(spent("true && facts.n > 1")).toBe(6);
    // 3 for the list and the macro; each step takes 1, and 3 for x > 0.
    expect(spent("facts.list.all(x, x > 0)")).toBe(3 + 3 * 4);
  });
});
