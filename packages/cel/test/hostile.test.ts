import { describe, expect, it } from "vitest";
import { runs } from "../../../scripts/property-runs.ts";
import { CelSyntaxError } from "../src/diagnostics.ts";
import { DYN, environment, parse } from "../src/index.ts";
import { BINDINGS, expression } from "./expressions.ts";
import { garbage, mutated } from "./garbage.ts";
import { Random } from "./random.ts";

const env = environment({ variables: { a: DYN, b: DYN } });
const loop = environment({ variables: { a: DYN, b: DYN, c: DYN, d: DYN, e: DYN, many: DYN } });
const evaluate = (source: string, bindings: Record<string, unknown> = {}, left = 100_000) =>
  env.compile(source).evaluate(bindings, { budget: { left } });

/** The limits below are about 20 times the usual, for slow machines. Quadratic time would exceed them. */
function milliseconds(run: () => void): number {
  return Math.min(...[1, 2, 3].map(() => milliseconds1(run)));
}

function refused(source: string): CelSyntaxError {
  try {
    parse(source);
  } catch (e) {
    if (e instanceof CelSyntaxError) return e;
    throw e;
  }
  throw new Error(`not refused: ${source.slice(0, 60)}`);
}

describe("the parser", () => {
  it("throws nothing but CelSyntaxError, within a second, for random inputs", () => {
    const random = new Random(20_261_121);
    for (let i = 0; i < runs(20_000); i++) {
      const source = i % 2 === 0 ? garbage(random) : mutated(random);
      let failure: unknown = null;
      const ms = milliseconds1(() => {
        try {
          parse(source);
        } catch (e) {
          failure = e;
        }
      });
      if (failure !== null && !(failure instanceof CelSyntaxError))
        throw new Error(`${JSON.stringify(source)}: ${String(failure)}`);
      if (ms > 1_000 && milliseconds(() => tryParse(source)) > 1_000)
        throw new Error(`${ms} ms: ${JSON.stringify(source)}`);
    }
  });

  for (const [open, close] of [
    ["(", ")"],
    ["[", "]"],
    ["{1:", "}"],
    ["a[", "]"],
    ["f(", ")"],
    ["!", ""],
    ["-", ""],
    ["a?b:", "c"],
    ["a.all(x,", ")"],
    ["has(", ")"],
  ] as const) {
    it(`refuses 100,000 times \`${open}\` without running out of stack`, () => {
      const source = `${open.repeat(100_000)}1${close.repeat(100_000)}`;
      expect(milliseconds(() => refused(source))).toBeLessThan(1_000);
      // Within the length limit, so that only the depth limit applies.
      const short = open.repeat(Math.floor(8_000 / open.length));
      expect(refused(short).diagnostics[0]?.code).toMatch(/limit|syntax/);
    });
  }

  it("accepts long chains, which are not nesting", () => {
    for (const chain of [
      Array(300).fill("a").join(" && "),
      Array(300).fill("a").join(" + "),
      `a${".b".repeat(400)}`,
      `a${"[0]".repeat(300)}`,
    ]) {
      expect(parse(chain).nodes).toBeGreaterThan(300);
      expect(env.compileUnchecked(chain).evaluate({ a: 1 }).kind).not.toBe("error");
    }
  });

  it("refuses more than 16 KiB, counted in bytes, and more than 1,000 nodes", () => {
    expect(refused(`"${"x".repeat(16_384)}"`).diagnostics[0]?.code).toBe("limit");
    expect(refused(`"${"ü".repeat(8_192)}"`).diagnostics[0]?.code).toBe("limit");
    expect(parse(`"${"ü".repeat(8_191)}"`).nodes).toBe(1);
    expect(parse(`[${Array(999).fill("1").join(",")}]`).nodes).toBe(1_000);
    expect(refused(`[${Array(1_000).fill("1").join(",")}]`).diagnostics[0]?.code).toBe("limit");
  });
});

describe("evaluation", () => {
  it("matches ^(a+)+$ in linear time", () => {
    const text = `${"a".repeat(50_000)}b`;
    expect(milliseconds(() => evaluate('a.matches("^(a+)+$")', { a: text }))).toBeLessThan(2_000);
    expect(evaluate('a.matches("^(a+)+$")', { a: `${"a".repeat(28)}b` })).toEqual({ kind: "value", value: false });
  });

  it("stops nested comprehensions at the budget", () => {
    const list = Array.from({ length: 1_000 }, (_, i) => i);
    const source = "a.all(w, a.all(x, a.all(y, a.all(z, w + x + y + z >= 0))))";
    const budget = { left: 100_000 };
    const ms = milliseconds(() => {
      budget.left = 100_000;
      expect(env.compile(source).evaluate({ a: list }, { budget })).toEqual({
        kind: "unknown",
        unknowns: [{ path: "", reason: "cost" }],
      });
    });
    expect(ms).toBeLessThan(2_000);
  });

  it("stops growth of texts and lists at the budget", () => {
    const doubled = (seed: string) =>
      Array.from({ length: 30 })
        .reduce<string>((body, _, i) => `cel.bind(v${30 - i}, v${29 - i} + v${29 - i}, ${body})`, "size(v30)")
        .replace("v0 + v0", `${seed} + ${seed}`);
    for (const source of [
      doubled('"0123456789"'),
      doubled("[1, 2, 3]"),
      doubled('b"0123456789"'),
      '"x".replace("", a).replace("", a).replace("", a).size()',
      '[a, a, a].map(x, x.replace("x", a)).join(a).replace("x", a).replace("x", a).size()',
    ]) {
      expect(
        milliseconds(() => evaluate(source, { a: "x".repeat(10_000) })),
        source,
      ).toBeLessThan(5_000);
      expect(evaluate(source, { a: "x".repeat(10_000) }), source).toEqual({
        kind: "unknown",
        unknowns: [{ path: "", reason: "cost" }],
      });
    }
  });

  it.each([
    "a.contains(b)",
    "a.indexOf(b) == 1",
    "a.lastIndexOf(b) == 1",
    "a.split(b).size() == 3",
    "a.replace(b, 'x') == ''",
  ])("searches a text for a long part in linear time: %s", (source) => {
    const run = "a".repeat(400_000);
    // Quadratic time would take minutes.
    const bindings = { a: run.repeat(5), b: `${run}b${run}` };
    expect(evaluate(source, bindings, 10_000_000)).toEqual({ kind: "value", value: false });
  });

  it("finds long parts as well as short ones", () => {
    const random = new Random(17);
    const text = (parts: number, width: number) =>
      Array.from({ length: parts }, () => random.pick(["a", "b"]).repeat(width)).join("");
    for (let i = 0; i < runs(500); i++) {
      const a = text(40, 20);
      const at = random.below(700);
      const b = random.chance(0.7) ? a.slice(at, at + 33 + random.below(60)) : text(2, 17 + random.below(20));
      const from = random.below(a.length);
      expect(evaluate(`[a.indexOf(b, ${from}), a.lastIndexOf(b, ${from})]`, { a, b })).toEqual({
        kind: "value",
        value: [a.indexOf(b, from), a.lastIndexOf(b, from)],
      });
      expect(evaluate("[a.contains(b), a.split(b), a.replace(b, '-')]", { a, b })).toEqual({
        kind: "value",
        value: [a.includes(b), a.split(b), a.replaceAll(b, "-")],
      });
    }
  });

  it.each(["size(b)", "b.size()", "optional.ofNonZeroValue(b).optMap(x, 1).orValue(0)"])(
    "charges for the keys of a map at each count: %s",
    (count) => {
      const [a, b] = [3_000, 3_000].map((n) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 1])));
      expect(evaluate(`a.all(x, ${count} > 0)`, { a, b })).toEqual({
        kind: "unknown",
        unknowns: [{ path: "", reason: "cost" }],
      });
    },
  );

  it("charges for the keys of a map that it compares or copies, also if the other map has fewer", () => {
    const meta = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`k${i}`, 1]));
    const spent = { kind: "unknown", unknowns: [{ path: "", reason: "cost" }] };
    const rows = Array.from({ length: 3_000 }, () => ({ a: 1 }));
    for (const source of [
      "a in b",
      "[a] in b.map(x, [x])",
      "b.exists(x, a.transformMap(k, v, v) == x)",
      "b.transformMapEntry(i, x, a) == a",
    ])
      expect(evaluate(source, { a: meta, b: rows }), source).toEqual(spent);
  });

  it.each([
    "a == b && false",
    "[a] == [b] && false",
    "a in [b] && false",
    "a < b",
    "a.startsWith(b) && false",
    "a.endsWith(b) && false",
    "b in {a: 1} && false",
    "{a: 1}[b] == 2",
    "c[?a].hasValue()",
    "d == e && false",
  ])("charges for each read of a long text: %s", (look) => {
    const long = () => JSON.parse(JSON.stringify("x".repeat(400_000))) as string;
    const maps = { c: {}, d: { [long()]: 1 }, e: { [long()]: 1 } };
    const bindings = { a: long(), b: long(), ...maps, many: Array(1_000).fill(1) };
    const budget = { left: 10_000_000 };
    loop.compile(`many.exists(i, ${look})`).evaluate(bindings, { budget });
    expect(budget.left).toBeLessThan(10_000_000 - (1_000 * 400_000) / 4_096);
  });

  it("stops formatting when the budget is spent", () => {
    const budget = { left: 10_000 };
    const formatted = `"${"%x".repeat(100)}".format([${Array(100).fill("a").join(", ")}])`;
    env.compile(formatted).evaluate({ a: "x".repeat(100_000) }, { budget });
    expect(budget.left).toBeGreaterThan(-20_000);
  });

  it("leaves a long name out of the path of a missing fact", () => {
    expect(evaluate("a[b] == 1", { a: {}, b: "x".repeat(2_000) })).toEqual({
      kind: "unknown",
      unknowns: [{ path: "a[…]", reason: "missing" }],
    });
  });

  it("stops a result that holds one long text or key many times at the budget", () => {
    const spent = { kind: "unknown", unknowns: [{ path: "", reason: "cost" }] };
    const many = (name: string) => `[${Array(20).fill(name).join(", ")}]`;
    for (const a of ["x".repeat(100_000), { ["k".repeat(100_000)]: 1 }]) {
      expect(evaluate(many("a"), { a })).toEqual(spent);
      expect(evaluate("[a, a]", { a })).toEqual({ kind: "value", value: [a, a] });
    }
    expect(evaluate("a", { a: Array(200_000).fill(true) })).toEqual(spent);
  });

  it("compares, formats and returns documents nested deeper than the stack", () => {
    const deep = () => JSON.parse("[".repeat(20_000) + "]".repeat(20_000)) as unknown;
    expect(evaluate("a == b", { a: deep(), b: deep() }).kind).toBe("value");
    expect(evaluate("a in [b]", { a: deep(), b: deep() }).kind).toBe("value");
    expect(evaluate("a", { a: deep() }).kind).toBe("error");
    expect(evaluate('"%s".format([a])', { a: deep() }).kind).toBe("unknown");
  });

  it("treats constructor, __proto__ and toString as ordinary names", () => {
    for (const name of [
      "constructor",
      "__proto__",
      "toString",
      "hasOwnProperty",
      "valueOf",
      "length",
      "prototype",
      "then",
    ]) {
      expect(evaluate(`a.${name} == 1`, { a: {} }), name).toEqual({
        kind: "unknown",
        unknowns: [{ path: `a.${name}`, reason: "missing" }],
      });
      expect(evaluate(`has(a.${name})`, { a: {} }), name).toEqual({ kind: "value", value: false });
      expect(evaluate(`has(a.b.${name})`, { a: { b: {} } }), name).toEqual({ kind: "value", value: false });
      expect(evaluate(`"${name}" in a`, { a: {} }), name).toEqual({ kind: "value", value: false });
      expect(evaluate(`a["${name}"] == 1`, { a: {} }).kind, name).toBe("unknown");
      expect(evaluate(`a.?${name}.hasValue()`, { a: {} }), name).toEqual({ kind: "value", value: false });
      expect(evaluate(`a.b.${name}.x == 1`, { a: { b: {} } }).kind, name).toBe("unknown");
      const own = JSON.parse(`{"${name}": 1, "b": {"${name}": {"x": 1}}}`) as Record<string, unknown>;
      expect(
        evaluate(`a.${name} == 1 && a.b.${name}.x == 1 && has(a.b.${name}) && "${name}" in a`, { a: own }),
        name,
      ).toEqual({ kind: "value", value: true });
    }
    expect(
      environment({ variables: { constructor: DYN } })
        .compile("constructor == 1")
        .evaluate({}).kind,
    ).toBe("unknown");
  });

  it("reads no field of arrays, texts or functions", () => {
    for (const value of [[1, 2], "text", 5, true, () => 1, new Date(0), new Map([["x", 1]])]) {
      for (const name of ["length", "map", "x", "size", "getTime", "call"]) {
        const r = evaluate(`a.b.${name} == 1`, { a: { b: value } });
        expect(r.kind, `${typeof value}.${name}`).toBe("unknown");
      }
    }
  });

  it("gives results that share nothing with the bindings", () => {
    const bindings = { a: { list: [1, { deep: [true] }], bytes: Uint8Array.of(1, 2) }, b: [[1]] };
    const before = JSON.stringify(bindings);
    for (const source of [
      "a",
      "a.list",
      "[a, b]",
      "{'x': a}",
      "b.map(x, x)",
      "b.filter(x, true)",
      "a.list[1]",
      "b + b",
      "true ? a : b",
      "[b][0]",
      "a.bytes",
    ]) {
      const r = evaluate(source, bindings);
      if (r.kind !== "value") throw new Error(source);
      scramble(r.value);
      expect(JSON.stringify(bindings), source).toBe(before);
    }
    const constant = env.compile("[1, [2], {'k': [3]}]");
    const first = constant.evaluate({});
    if (first.kind === "value") scramble(first.value);
    expect(constant.evaluate({})).toEqual({ kind: "value", value: [1, [2], { k: [3] }] });
  });

  it("keeps a key __proto__ of a result a key", () => {
    const r = evaluate("{'__proto__': {'polluted': true}, 'x': a}", {
      a: JSON.parse('{"__proto__": {"polluted": true}}'),
    });
    if (r.kind !== "value") throw new Error("no value");
    expect((r.value as { polluted?: boolean }).polluted).toBeUndefined();
    expect(Object.keys(r.value as object)).toEqual(["__proto__", "x"]);
  });

  it("never throws, whatever JSON an expression gets", () => {
    const random = new Random(11);
    const names = Object.keys(BINDINGS);
    const env = environment({ variables: Object.fromEntries(names.map((n) => [n, DYN])) });
    const leaf = () =>
      random.pick<unknown>([null, true, 0, -1.5, 1e308, "", "a", "9999-12-31T23:59:59Z", "UTC", [], {}]);
    const json = (depth: number): unknown =>
      depth === 0 || random.chance(0.4)
        ? leaf()
        : random.chance(0.5)
          ? Array.from({ length: random.below(4) }, () => json(depth - 1))
          : Object.fromEntries(
              ["a", "b", "c", "d", "e", "k"].filter(() => random.chance(0.5)).map((k) => [k, json(depth - 1)]),
            );
    const kinds = { value: 0, unknown: 0, error: 0 };
    for (let i = 0; i < runs(5_000); i++) {
      const source = expression(random, 3);
      const bindings = Object.fromEntries(names.filter(() => random.chance(0.9)).map((n) => [n, json(3)]));
      kinds[env.compileUnchecked(source).evaluate(bindings).kind]++;
    }
    expect(Math.min(...Object.values(kinds))).toBeGreaterThan(runs(50) - 1);
  });

  it("never writes to the bindings: frozen ones work", () => {
    const random = new Random(7);
    const frozen = freeze({
      n: 7.5,
      m: 3,
      s: "abc",
      t: "ü",
      yes: true,
      no: false,
      ds: [1, 2.5],
      ss: ["a", "b"],
      o: { a: 1, b: "x", c: { d: [1], e: true } },
    });
    const names = environment({ variables: Object.fromEntries(Object.keys(frozen as object).map((k) => [k, DYN])) });
    for (let i = 0; i < runs(2_000); i++) {
      const source = expression(random, 3);
      expect(() => names.compileUnchecked(source).evaluate(frozen as Record<string, unknown>)).not.toThrow();
    }
  });
});

function tryParse(source: string): void {
  try {
    parse(source);
  } catch (e) {
    if (!(e instanceof CelSyntaxError)) throw e;
  }
}

function milliseconds1(run: () => void): number {
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

function scramble(v: unknown): void {
  if (Array.isArray(v)) {
    v.forEach(scramble);
    v.push("scrambled");
  } else if (v instanceof Uint8Array) v.fill(0);
  else if (typeof v === "object" && v !== null) {
    Object.values(v).forEach(scramble);
    Object.assign(v, { scrambled: true });
  }
}

function freeze(v: unknown): unknown {
  if (typeof v === "object" && v !== null) Object.values(Object.freeze(v)).forEach(freeze);
  return v;
}
