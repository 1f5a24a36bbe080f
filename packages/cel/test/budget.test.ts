import { expect, it } from "vitest";
import { runs } from "../../../scripts/property-runs.ts";
import { DYN, environment } from "../src/index.ts";
import { Random } from "./random.ts";

const bindings = {
  n: 7.5,
  s: "abab",
  ds: [1, 2.5, -4],
  ss: ["a", "abab", "ba"],
  o: { a: 1, b: "ab", c: { d: [1, 1] } },
};
const env = environment({
  variables: Object.fromEntries(["many", ...Object.keys(bindings)].map((name) => [name, DYN])),
});
const PLENTY = 1_000_000_000;
const spent = { kind: "unknown", unknowns: [{ path: "", reason: "cost" }] };

function condition(r: Random, depth: number): string {
  const of = () => condition(r, depth - 1);
  if (depth === 0)
    return r.pick([
      ...Object.keys(bindings),
      "[s, n]",
      "{'k': ss}",
      "[ds, ss]",
      "[9.0, 2.5, -4.0]",
      "[[9.0, 8.0, 7.0], [1.0, 2.5, 7.0]]",
    ]);
  return r.pick([
    () => `(${of()} == ${of()})`,
    () => `(${of()} != ${of()})`,
    () => `(${of()} in ${of()})`,
    () => `(${of()} in [${of()}, ${of()}])`,
    () => `(${of()} < ${of()})`,
    () => `(${of()} || ${of()})`,
    () => `(${of()} && ${of()})`,
    () => `!dyn(${of()})`,
    () => `(dyn(${of()}) ? ${of()} : ${of()})`,
    () => `dyn(${of()}).exists(x, x in ${of()})`,
    () => `dyn(${of()}).all(x, x == ${of()})`,
    () => `dyn(${of()}).filter(x, x in ${of()})`,
    () => `dyn(${of()}).map(x, [x, ${of()}])`,
    () => `size(dyn(${of()}))`,
  ])();
}

it("is the same with every budget, or unknown for its cost", () => {
  const r = new Random(20_261_123);
  let ended = 0;
  for (let i = 0; i < runs(4_000); i++) {
    const source = condition(r, 3);
    const program = env.compileUnchecked(source);
    const enough = { left: PLENTY };
    const whole = program.evaluate(bindings, { budget: enough });
    for (let n = 0; n < 4; n++) {
      const left = r.below(PLENTY - enough.left);
      const result = program.evaluate(bindings, { budget: { left } });
      if (result.kind === "unknown" && result.unknowns.some(({ reason }) => reason === "cost")) ended += 1;
      else expect(result, `${left}: ${source}`).toEqual(whole);
    }
  }
  expect(ended).toBeGreaterThan(runs(4_000));
});

it("does not take two lists for equal if the budget ended before their comparison", () => {
  const program = env.compile("ds in ss");
  for (let left = 2; left < 20; left++)
    expect([spent, { kind: "value", value: false }], String(left)).toContainEqual(
      program.evaluate({ ds: [1, 2, 3, 4], ss: [[9, 9, 9, 9]] }, { budget: { left } }),
    );
});

it("stops a text search when the budget is spent", () => {
  const [a, b] = ["a", "b"].map((end) => JSON.parse(JSON.stringify("x".repeat(400_000) + end)) as string);
  const budget = { left: 40_000 };
  const found = env.compile("s in many.map(i, n)").evaluate({ s: b, n: a, many: Array(2_000).fill(1) }, { budget });
  expect(found).toEqual(spent);
  expect(budget.left).toBeGreaterThan(-1_000);
});
