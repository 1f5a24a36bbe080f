import { describe, expect, it } from "vitest";
import {
  anyOf,
  BOOL,
  BYTES,
  CelCheckError,
  CelSyntaxError,
  DOUBLE,
  DYN,
  environment,
  INT,
  listOf,
  mapOf,
  nullFact,
  objectOf,
  parse,
  STRING,
  TIMESTAMP,
  Timestamp,
  unknown,
} from "./index.ts";

const dyn = environment({ variables: { facts: DYN, params: DYN, vars: DYN } });
const evaluate = (source: string, bindings: Record<string, unknown> = {}) => dyn.compile(source).evaluate(bindings);
const value = (v: unknown) => ({ kind: "value", value: v });
const because = (...causes: [path: string, reason: string][]) => ({
  kind: "unknown",
  unknowns: causes.map(([path, reason]) => ({ path, reason })),
});

describe("reasons", () => {
  const facts = {
    a: null,
    n: 5,
    s: "x",
    o: { deep: {} },
    list: [{ n: 1 }, {}, { n: null }],
    old: unknown("facts.old", "stale"),
  };

  it("name the missing fact by its whole path", () => {
    expect(evaluate("facts.b > 1", { facts })).toEqual(because(["facts.b", "missing"]));
    expect(evaluate("facts.b.c.d > 1", { facts })).toEqual(because(["facts.b.c.d", "missing"]));
    expect(evaluate("facts.b > 1")).toEqual(because(["facts.b", "missing"]));
    expect(evaluate("facts['b c'] > 1", { facts })).toEqual(because(['facts["b c"]', "missing"]));
  });

  it("distinguish null, a wrong type and a host's marker from missing", () => {
    expect(evaluate("facts.a > 1", { facts })).toEqual(because(["facts.a", "null"]));
    expect(evaluate("facts.a.b > 1", { facts })).toEqual(because(["facts.a.b", "null"]));
    expect(evaluate("facts.s > 1", { facts })).toEqual(because(["facts.s", "type"]));
    expect(evaluate("facts.s.b > 1", { facts })).toEqual(because(["facts.s", "type"]));
    expect(evaluate("facts.n.startsWith('x')", { facts })).toEqual(because(["facts.n", "type"]));
    expect(evaluate("facts.old.limit > 1", { facts })).toEqual(because(["facts.old.limit", "stale"]));
  });

  it("name the list element that a comprehension failed on", () => {
    expect(evaluate("facts.list.all(x, x.n > 0)", { facts })).toEqual(
      because(["facts.list[1].n", "missing"], ["facts.list[2].n", "null"]),
    );
    expect(evaluate("facts.list.exists(x, x.n > 0)", { facts })).toEqual(value(true));
  });

  it("list all open facts, each once, sorted by path", () => {
    expect(evaluate("facts.z > 1 && facts.b > 1 && facts.z < 9", { facts })).toEqual(
      because(["facts.b", "missing"], ["facts.z", "missing"]),
    );
    expect(evaluate("facts.b + facts.c > 1", { facts })).toEqual(
      because(["facts.b", "missing"], ["facts.c", "missing"]),
    );
  });

  it("contain only deciding facts", () => {
    expect(evaluate("(facts.b > 1 && false) || facts.c > 1", { facts })).toEqual(because(["facts.c", "missing"]));
    expect(evaluate("facts.b > 1 ? facts.c > 1 : facts.d > 1", { facts })).toEqual(because(["facts.b", "missing"]));
  });

  it("outweigh an error, because the fact might make the error irrelevant", () => {
    expect(evaluate("1 / 0 == 1 && facts.b > 1", { facts })).toEqual(because(["facts.b", "missing"]));
    expect(evaluate("1 / 0 == 1 || facts.n == 5", { facts })).toEqual(value(true));
    expect(evaluate("1 / 0 == 1 || facts.n == 6", { facts })).toEqual({ kind: "error", message: "division by zero" });
  });
});

describe("null", () => {
  const facts = { a: null, n: 5, o: { b: null } };

  it("compares definitely only with the literal null", () => {
    expect(evaluate("facts.a == null", { facts })).toEqual(value(true));
    expect(evaluate("facts.n != null", { facts })).toEqual(value(true));
    expect(evaluate("facts.a == 'x'", { facts })).toEqual(because(["facts.a", "null"]));
    expect(evaluate("facts.a != 'x'", { facts })).toEqual(because(["facts.a", "null"]));
    expect(evaluate("facts.a in ['x']", { facts })).toEqual(because(["facts.a", "null"]));
    expect(evaluate("facts.missing == null", { facts })).toEqual(because(["facts.missing", "missing"]));
  });

  it("compares definitely if a null fact is bound without a key, but not if a value is computed from it", () => {
    const bound = { facts: { a: nullFact("facts.a") } };
    expect(evaluate("facts.a == null && !(facts.a != null) && facts['a'] == null && null == facts.a", bound)).toEqual(
      value(true),
    );
    expect(evaluate("cel.bind(x, facts.a, x == null) && !('a' in facts) && !has(facts.a)", bound)).toEqual(value(true));
    expect(evaluate("facts.a.b == null", bound)).toEqual(because(["facts.a.b", "null"]));
    expect(evaluate("(facts.a + 1) == null", bound)).toEqual(because(["facts.a", "null"]));
    expect(evaluate("facts.a == 'x'", bound)).toEqual(because(["facts.a", "null"]));
  });

  it("is absent for has() and for .?", () => {
    expect(evaluate("has(facts.a) || has(facts.o.b) || has(facts.a.x)", { facts })).toEqual(value(false));
    expect(evaluate("has(facts.n) && !has(facts.nothing.at.all)", { facts })).toEqual(value(true));
    expect(evaluate("facts.?a.orValue(3) == 3 && facts.?o.?b.orValue(4) == 4", { facts })).toEqual(value(true));
    expect(evaluate("has(facts.old)", { facts: { old: unknown("facts.old", "stale") } })).toEqual(
      because(["facts.old", "stale"]),
    );
  });
});

describe("declared types", () => {
  const env = environment({
    variables: {
      f: objectOf({ flag: BOOL, name: STRING, hour: INT, limit: DOUBLE }),
      hours: listOf(INT),
      m: mapOf(STRING, INT),
      data: BYTES,
    },
  });
  const run = (source: string, bindings: Record<string, unknown>) => env.compile(source).evaluate(bindings);

  it("make a fact that contradicts them unknown, even if it is only compared", () => {
    expect(run("f.flag == true", { f: { flag: "false" } })).toEqual(because(["f.flag", "type"]));
    expect(run("f.flag != false", { f: { flag: 0 } })).toEqual(because(["f.flag", "type"]));
    expect(run("f.name in ['a']", { f: { name: 1 } })).toEqual(because(["f.name", "type"]));
    expect(run("f.flag", { f: { flag: 1 } })).toEqual(value(1));
    expect(env.compile("f.flag", { result: BOOL }).evaluate({ f: { flag: 1 } })).toEqual(because(["f.flag", "type"]));
  });

  it("make a comparison with a value of another kind unknown, whichever side has the type", () => {
    const all = environment({
      variables: {
        f: objectOf({ limit: DOUBLE, name: STRING, ids: listOf(DYN), either: anyOf([STRING, DOUBLE]) }),
        p: mapOf(STRING, DYN),
      },
    });
    const bindings = { f: { limit: 5, name: "a", ids: ["a"], either: "1.3" }, p: { text: "5", number: 5, no: null } };
    const found = (source: string) => all.compile(source).evaluate(bindings);
    for (const source of ["f.limit == p.text", "p.text != f.limit", "f.limit == {'a': p.text}.a"])
      expect(found(source)).toMatchObject({ kind: "unknown", unknowns: [{ reason: "type" }] });
    expect(found("f.limit == p.text")).toEqual(because(["p.text", "type"]));
    expect(found("f.name == p.number || f.ids == p.text")).toEqual(because(["p.number", "type"], ["p.text", "type"]));
    expect(found("f.limit == dyn('5')")).toEqual(because(["f.limit", "type"]));
    for (const source of [
      "p.text in [f.limit]",
      "f.?limit.orValue(1.0) == p.text",
      "p.text == (has(f.limit) ? f.limit : 1.0)",
    ])
      expect(found(source), source).toMatchObject({ kind: "unknown", unknowns: [{ reason: "type" }] });
    expect(found("p.text in [f.limit]")).toEqual(because(["f.limit", "type"]));
    expect(found("5.0 in [f.limit] && p.number in [f.limit, 1.0] && !(null in [f.limit])")).toEqual(value(true));
    expect(found("f.either == 1.3 || f.either == p.number")).toEqual(
      because(["f.either", "type"], ["p.number", "type"]),
    );
    expect(found("f.limit in [p.text, 6]")).toEqual(because(["f.limit", "type"]));
    for (const source of ["f.limit == p.number", "f.limit in [p.text, 5]", "f.either == '1.3'", "p.text == '5'"])
      expect(found(source)).toEqual(value(true));
    for (const source of ["f.limit == 6", "p.text == 5", "f.name in ['b', null]", "f.limit == null", "p.text in [5]"])
      expect(found(source)).toEqual(value(false));
  });

  it("with several types refuse values of all other types", () => {
    const some = environment({ variables: { v: anyOf([STRING, DOUBLE]) } });
    const codes = (source: string) => some.check(source).diagnostics.map(({ code, message }) => `${code} ${message}`);
    expect(codes("v == true")).toEqual(["wrong_operand `==` does not take string or double and bool"]);
    expect(codes("v in [true] || v == {}")).toHaveLength(2);
    for (const source of ["v == 'a' || v == 1 || v == 1.5 || v > 1", "v in ['a'] || v == null || v.size() > 1"])
      expect(codes(source)).toEqual([]);
  });

  it("turn whole JSON numbers into ints where int is declared, and refuse fractions", () => {
    expect(run("f.hour % 12 == 1 && f.hour / 2 == 6", { f: { hour: 13 } })).toEqual(value(true));
    expect(run("f.hour > 1", { f: { hour: 1.5 } })).toEqual(because(["f.hour", "type"]));
    expect(
      run("hours.exists(h, h % 2 == 1) && m.a % 2 == 0 && hours[0] % 3 == 0", { hours: [6, 7], m: { a: 4 } }),
    ).toEqual(value(true));
  });

  it("let int literals stand beside doubles", () => {
    expect(
      run("f.limit * 2 + 1 == 4 && f.limit > 1 && (true ? 1 : f.limit) == 1 && f.limit in [1.5, 2]", {
        f: { limit: 1.5 },
      }),
    ).toEqual(value(true));
    expect(dyn.compile("params.n * 2 == 3").evaluate({ params: { n: 1.5 } })).toEqual(value(true));
  });
});

describe("finite texts", () => {
  const finite = environment({ variables: { t: DYN }, finite_texts: true });

  it("are the only literals that become doubles", () => {
    for (const t of ["NaN", "nan", "inf", "-Infinity", "+INF", "1e999"])
      expect(finite.compile("double(t) > 1.0").evaluate({ t })).toMatchObject({ kind: "error" });
    expect(finite.compile("double(t) == 1.5").evaluate({ t: "1.5" })).toEqual(value(true));
    expect(finite.compile("double(t) > 1.0").evaluate({ t: 1 / 0 })).toEqual(value(true));
    expect(environment({}).compile("double('NaN') != double('NaN') && double('inf') > 1.0").evaluate({})).toEqual(
      value(true),
    );
  });
});

describe("results", () => {
  it("are plain JavaScript: numbers where exact, otherwise bigint, and objects for maps with text keys", () => {
    expect(evaluate("[1, 2u, 1.5, 9223372036854775807, 'x', b'ab', null, {'k': [true]}]")).toEqual(
      value([1, 2, 1.5, 9223372036854775807n, "x", Uint8Array.of(97, 98), null, { k: [true] }]),
    );
    expect(evaluate("{1: 'a', true: 'b'}")).toEqual(
      value(
        new Map<unknown, unknown>([
          [1, "a"],
          [true, "b"],
        ]),
      ),
    );
    expect(String((evaluate("timestamp('2026-01-31T12:00:00.5Z') + duration('1h')") as { value: unknown }).value)).toBe(
      "2026-01-31T13:00:00.5Z",
    );
  });

  it("are unknown if they contain an unknown", () => {
    expect(evaluate("params", { params: { a: [unknown("params.a[0]", "stale")] } })).toEqual(
      because(["params.a[0]", "stale"]),
    );
    expect(evaluate("[facts.x]", { facts: {} })).toEqual(because(["facts.x", "missing"]));
  });
});

describe("infinity", () => {
  const outOfRange = { kind: "error", message: expect.stringContaining("out of the range of double") };

  it.each([
    ['double("1e999")', outOfRange],
    ['double("-1e999")', outOfRange],
    [`double("${"9".repeat(310)}")`, outOfRange],
    ['double("1.7976931348623157e308")', value(Number.MAX_VALUE)],
    ['double("1e-999")', value(0)],
    ['double("-inf")', value(Number.NEGATIVE_INFINITY)],
    ["1.7e308 * 10.0", value(Number.POSITIVE_INFINITY)],
  ])("comes from a literal name or arithmetic, and not from a number that is too large: %s", (source, result) => {
    expect(evaluate(source)).toEqual(result);
  });
});

describe("now", () => {
  const at = new Date("2026-11-21T08:00:00Z");

  it("is the given instant, as a Date, milliseconds or a Timestamp, and unknown without one", () => {
    const program = dyn.compile(
      "now.getHours() == 8 && now.getHours('Europe/Berlin') == 9 && now < timestamp('2027-01-01T00:00:00Z')",
    );
    for (const now of [at, at.getTime(), new Timestamp(at.getTime() / 1000, 0)])
      expect(program.evaluate({}, { now })).toEqual(value(true));
    expect(program.evaluate({})).toEqual(because(["now", "missing"]));
  });

  it("is the host's binding if it declares a variable of this name", () => {
    const env = environment({ variables: { now: TIMESTAMP } });
    expect(env.compile("now == timestamp(5)").evaluate({ now: new Timestamp(5, 0) }, { now: at })).toEqual(value(true));
  });
});

describe("names", () => {
  it("are looked up in the container first, innermost first", () => {
    const env = environment({ variables: { "a.b.x": INT, "a.x": INT, x: INT }, container: "a.b" });
    const bindings = { "a.b.x": 1, "a.x": 2, x: 3 };
    expect(env.compile("x == 1 && .x == 3 && .a.x == 2").evaluate(bindings)).toEqual(value(true));
  });

  it("of comprehensions hide variables, but not absolute names", () => {
    const env = environment({ variables: { x: INT } });
    expect(env.compile("[1].all(x, x == 1 && .x == 5) && x == 5").evaluate({ x: 5 })).toEqual(value(true));
  });
});

describe("compiling", () => {
  it("throws CelSyntaxError for a syntax error and CelCheckError for other errors, with all diagnostics", () => {
    expect(() => dyn.compile("facts >")).toThrow(CelSyntaxError);
    expect(() => dyn.compile("nope + 1 == 'x' && fact")).toThrow(CelCheckError);
    expect(dyn.check("facts >").diagnostics).toHaveLength(1);
    expect(dyn.check("nope && fact").diagnostics).toHaveLength(2);
  });

  it("keeps hints with the program, and accepts a parsed tree in any environment", () => {
    const ast = parse("f.limit > 1");
    const env = environment({ variables: { f: objectOf({ limit: { type: DOUBLE, nullable: true } }) } });
    expect(env.compile(ast).diagnostics.map((d) => d.code)).toEqual(["unguarded"]);
    expect(environment({ variables: { f: DYN } }).compile(ast).diagnostics).toEqual([]);
  });

  it("finds the error behind any number of hints, so an expression that cannot compile never passes", () => {
    const env = environment({
      variables: { f: objectOf({ unlimited_amounts: BOOL }, { open: true, name: "f" }) },
    });
    const hints = Array.from({ length: 300 }, (_, at) => `f.unlimited_amount${at}`).join(" || ");
    const errors = (source: string) => env.check(source).diagnostics.filter(({ severity }) => severity === "error");
    expect(env.check(hints).diagnostics.length).toBeGreaterThan(100);
    expect(errors(hints)).toEqual([]);
    expect(errors(`${hints} || nope`)).toMatchObject([{ code: "undeclared_name" }]);
  });

  it("says that a condition must be bool", () => {
    const env = environment({ variables: { facts: DYN }, result: BOOL });
    expect(env.check("1 + 1").diagnostics[0]?.code).toBe("wrong_result");
    expect(env.check("facts.x").diagnostics).toEqual([]);
    expect(env.compile("1 + 1", { result: null }).evaluate({})).toEqual(value(2));
  });
});

describe("quoted fields", () => {
  it("with dots in their names are fields, not paths", () => {
    const facts = { "b.c": 1, b: { c: 2 } };
    expect(
      evaluate("facts.`b.c` == 1 && facts.b.c == 2 && has(facts.`b.c`) && !has(facts.b.`b.c`)", { facts }),
    ).toEqual(value(true));
    expect(evaluate("has(facts.`b.c`) && facts.b.c == 2 && has(facts.b.c) && facts.`b.c` == 1", { facts })).toEqual(
      value(true),
    );
  });
});
