import { describe, expect, it } from "vitest";
import { runs } from "../../../scripts/property-runs.ts";
import { BOOL, DOUBLE, DYN, environment, mapOf, type Size, STRING } from "../src/index.ts";
import { expression } from "./expressions.ts";
import { Random } from "./random.ts";

const MAX = { chars: 40, items: 6, values: 120, text: 1_500 } satisfies Size;
const sizeOf = () => MAX;
const PLENTY = 1_000_000_000;

function bindings(r: Random) {
  const count = () => (r.chance(0.6) ? MAX.items : r.below(MAX.items + 1));
  const text = () =>
    r
      .pick(["a", "b", "Zü", "🐱", "ab ", "7"])
      .repeat(MAX.chars)
      .slice(0, r.chance(0.6) ? MAX.chars : r.below(9));
  const list = (of: () => unknown) => Array.from({ length: count() }, of);
  const strange = (usual: () => unknown) => () => (r.chance(0.05) ? r.pick([null, {}, [], "x", true, 1.5]) : usual());
  const some = {
    n: strange(() => r.pick([7.5, 0, -1, 1e21])),
    m: strange(() => r.pick([3, 0])),
    s: strange(text),
    t: strange(text),
    yes: strange(() => true),
    no: strange(() => false),
    ds: strange(() => list(() => r.pick([1, 2.5, -4]))),
    ss: strange(() => list(text)),
    o: strange(() => ({ a: 1, b: text(), c: { d: list(() => 1), e: list(text) }, f: false })),
  };
  return Object.fromEntries(Object.entries(some).flatMap(([k, make]) => (r.chance(0.05) ? [] : [[k, make()]])));
}

function measured(value: unknown): Size {
  if (typeof value === "string") return { chars: value.length, items: 0, values: 1, text: value.length };
  if (typeof value !== "object" || value === null) return { chars: 0, items: 0, values: 1, text: 0 };
  const keys = Array.isArray(value) ? [] : Object.keys(value);
  const inside = [...keys, ...Object.values(value)].map(measured);
  const most = (of: (size: Size) => number) => Math.max(0, ...inside.map(of));
  const sum = (of: (size: Size) => number) => inside.reduce((total, size) => total + of(size), 0);
  const own = Object.keys(value).length;
  const values = 1 + sum((size) => size.values) - keys.length;
  return {
    chars: most((s) => s.chars),
    items: Math.max(
      own,
      most((s) => s.items),
    ),
    values,
    text: sum((s) => s.text),
  };
}

function sizesOf(given: Record<string, unknown>): (names: readonly string[]) => Size {
  return ([name = ""]) => measured(given[name]);
}

const names = ["n", "m", "s", "t", "yes", "no", "ds", "ss", "o"];
const env = environment({
  variables: Object.fromEntries(names.map((name) => [name, DYN])),
  functions: [
    { name: "host", parameters: [DYN], result: DYN, acceptsUnknown: true, implementation: (_, x) => x },
    {
      name: "costly",
      parameters: [DYN, DYN],
      result: DYN,
      cost: (sizes) => sizes.reduce((sum, { values, text }) => sum + values + text / 16, 0),
      implementation: (call, ...args) => {
        for (const { values, text } of args.map(measured)) call.charge(values + (text >> 4));
        return args;
      },
    },
  ],
});

function heavy(r: Random, depth: number): string {
  const of = () => heavy(r, depth - 1);
  if (depth <= 0)
    return r.pick([...names, "o.c", "o.c.d", "o['c'].e", "[s, t]", "{'k': ss}", "'%s %s'", "2", "o[s]", "ss[s + t]"]);
  return r.pick([
    () => `(${of()} == ${of()})`,
    () => `(${of()} in ${of()})`,
    () => `(${of()} + ${of()})`,
    () => `(${of()} < ${of()})`,
    () => `(has(o.c) && o.c == ${of()} && ${of()} == 1)`,
    () => `(${of()} || ${of()})`,
    () => `(yes ? ${of()} : ${of()})`,
    () => `dyn(${of()}).all(x, x == ${of()})`,
    () => `dyn(${of()}).exists(x, x.b[${of()}] == ${of()})`,
    () => `dyn(${of()}).map(x, [x, ${of()}])`,
    () => `dyn(${of()}).filter(x, x in ${of()})`,
    () => `dyn(${of()}).transformMap(k, v, k != v, ${of()})`,
    () => `dyn(${of()}).all(i, v, v == ${of()} || i == v)`,
    () => `dyn(${of()}).split(dyn(${of()}))`,
    () => `dyn(${of()}).join(dyn(${of()}))`,
    () => `dyn(${of()}).replace(dyn(${of()}), dyn(${of()}))`,
    () => `dyn(${of()}).format(dyn(${of()}))`,
    () => `dyn(${of()}).matches('(a|b)+c')`,
    () => `dyn(${of()}).contains(dyn(${of()}))`,
    () => `strings.quote(dyn(${of()}))`,
    () => `bytes(dyn(${of()}))`,
    () => `size(dyn(${of()}))`,
    () => `optional.ofNonZeroValue(${of()}).orValue(${of()})`,
    () => `host(${of()})`,
    () => `costly(${of()}, ${of()})`,
    () => `cel.bind(y, ${of()}, [y, y, ${of()}])`,
    () => `o[${of()}][${of()}]`,
    () => `o.?c.?d.orValue(${of()})`,
    () => `optional.of(${of()}).optMap(z, [z, ${of()}])`,
    () => `math.greatest(dyn(${of()}))`,
  ])();
}

describe("the estimate", () => {
  it.each([
    ["within the declared sizes: well-typed expressions", (r: Random) => expression(r, 4), () => sizeOf],
    ["within the declared sizes: costly and ill-typed expressions", (r: Random) => heavy(r, 3), () => sizeOf],
    ["on values of exactly these sizes: well-typed expressions", (r: Random) => expression(r, 4), sizesOf],
    ["on values of exactly these sizes: costly and ill-typed expressions", (r: Random) => heavy(r, 3), sizesOf],
  ])("is never exceeded %s", (_, make, sizes) => {
    const r = new Random(20_261_121);
    let tight = 0;
    for (let i = 0; i < runs(3_000); i++) {
      const source = make(r);
      const budget = { left: PLENTY };
      const given = bindings(r);
      const program = (() => {
        try {
          return env.compileUnchecked(source);
        } catch {
          return null;
        }
      })();
      if (program === null) continue;
      program.evaluate(given, { now: 0, budget });
      const { units } = env.estimate(source, sizes(given));
      const taken = PLENTY - budget.left;
      expect(taken, `${source}\n${JSON.stringify(given)}`).toBeLessThanOrEqual(units);
      if (taken * 10 > units) tight += 1;
    }
    expect(tight).toBeGreaterThan(runs(200) / 2);
  });

  it.each([
    "s == t",
    "dyn(ss) == [t, s]",
    "t in ss",
    "s in o",
    "s < t",
    "bytes(s) < bytes(t)",
    "s.startsWith(t)",
    "s.endsWith(t)",
    "ss.all(x, x <= s && x == t)",
    "ss.exists(x, ss.exists(y, x.startsWith(y) && x == s))",
    "{s: 1, t + 'x': 2}[t] == 1",
    "ss.all(x, o[x] == 1)",
    "ss.all(x, {x: 1}[s] == 1)",
    "{s: 1} == {t: 1}",
    "{s: 1} in [{t: 1}]",
    "s.format([1]) == t",
    "null in [ss, o]",
    "{} == o",
  ])("is never exceeded on long equal texts: %s", (source) => {
    const text = () => JSON.parse(JSON.stringify("x".repeat(20_000))) as string;
    const o = Object.fromEntries([..."abcdefghijklmnopqrstuvwxyz"].map((name) => [name, 1]));
    const given = { s: text(), t: text(), ss: [text(), text(), text()], o };
    const budget = { left: PLENTY };
    env.compile(source).evaluate(given, { budget });
    expect(PLENTY - budget.left).toBeLessThanOrEqual(env.estimate(source, sizesOf(given)).units);
  });

  it("grows with the total size of the entries, not with the largest entry times their number", () => {
    const units = (source: string) =>
      env.estimate(source, () => ({ chars: 1_000, items: 200, values: 1_000, text: 10_000 })).units;
    const once = units("s.trim().lowerAscii().startsWith('a')");
    expect(units("ss.all(x, x.trim().lowerAscii().startsWith('a'))")).toBeLessThan(once * 40);
    expect(units("ss.all(x, x.matches('^[a-z]+$'))")).toBeLessThan(units("s.matches('^[a-z]+$')") * 20);
    expect(units("s.split(',').all(x, x.trim() == 'a')")).toBeLessThan(20_000);
    expect(units("ss.map(x, x.trim()).all(x, x.matches('^[a-z]+$'))")).toBeLessThan(20_000);
    expect(units("ds.all(x, x.items.all(y, y.price < 5))")).toBeLessThan(20_000);
    expect(units("ds.all(x, x.a.all(y, y.b.all(z, z.c.exists(u, u.d.all(v, v.e == 1)))))")).toBeLessThan(1e9);
  });

  it("grows with the product of nested loops, but a scalar adds nothing to it", () => {
    const typed = environment({ variables: { m: mapOf(STRING, DYN), n: DOUBLE }, result: BOOL });
    const units = (source: string) =>
      typed.estimate(source, () => ({ chars: 1000, items: 100, values: 5000, text: 50_000 })).units;
    expect(units("n > 1 && n < 5")).toBeLessThan(20);
    expect(units("m.a == 'x'")).toBeLessThan(100);
    expect(units("m.a.exists(x, x.b == 1)")).toBeLessThan(2_000);
    expect(units("m.a.exists(x, m.b.exists(y, y.c == x.c))")).toBeGreaterThan(40_000);
    expect(units("m.a.matches(m.b)")).toBeGreaterThan(100_000);
    expect(units("m.a.matches('^[a-z]+$')")).toBeLessThan(5_000);
  });
});
