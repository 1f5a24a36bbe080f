import { describe, expect, it } from "vitest";
import {
  BOOL,
  type CallContext,
  DOUBLE,
  DYN,
  type EvaluationContext,
  environment,
  INT,
  lazy,
  mapOf,
  objectOf,
  STRING,
  unknown,
} from "./index.ts";

const value = (v: unknown) => ({ kind: "value", value: v });
const because = (...causes: [path: string, reason: string][]) => ({
  kind: "unknown",
  unknowns: causes.map(([path, reason]) => ({ path, reason })),
});

describe("host functions", () => {
  const seen: unknown[] = [];
  const env = environment({
    variables: { facts: DYN },
    functions: [
      { name: "double2", parameters: [DOUBLE], result: DOUBLE, implementation: (_, x: number) => x * 2 },
      { name: "daysSince", parameters: [STRING], result: INT, implementation: () => 12 },
      {
        name: "geo.distance",
        parameters: [DOUBLE, DOUBLE],
        result: DOUBLE,
        implementation: (_, a: number, b: number) => Math.abs(a - b),
      },
      {
        name: "shout",
        parameters: [STRING],
        result: STRING,
        member: true,
        implementation: (_, s: string) => s.toUpperCase(),
      },
      {
        name: "documented",
        parameters: [DYN],
        result: BOOL,
        acceptsUnknown: true,
        implementation: (_, x: unknown) => {
          seen.push(x);
          return x === true;
        },
      },
      {
        name: "hourNow",
        parameters: [],
        result: INT,
        implementation: (c: CallContext) => Math.floor((c.now?.seconds ?? 0) / 3600) % 24,
      },
      {
        name: "limitOf",
        parameters: [STRING],
        result: DOUBLE,
        implementation: (_, name: string) => unknown(`limits.${name}`, "missing"),
      },
      {
        name: "heavy",
        parameters: [],
        result: BOOL,
        implementation: (c: CallContext) => {
          c.charge(1_000_000);
          return true;
        },
      },
    ],
  });
  const run = (source: string, facts: unknown = {}) => env.compile(source).evaluate({ facts }, { now: 8 * 3_600_000 });

  it("get numbers where they declare double, and may return whole numbers for int", () => {
    expect(run("double2(2) == 4 && double2(size('ab') * 1) == 4 && double2(facts.n) == 3", { n: 1.5 })).toEqual(
      value(true),
    );
    expect(
      run("daysSince('x') > 11 && daysSince('x') % 5 == 2 && geo.distance(1, 4) == 3 && 'a'.shout() == 'A'"),
    ).toEqual(value(true));
  });

  it("are not called with arguments of other types: the result is unknown and names the argument", () => {
    expect(run("double2(facts.s) > 1", { s: "x" })).toEqual(because(["facts.s", "type"]));
    expect(run("double2(facts.s) > 1", { s: null })).toEqual(because(["facts.s", "null"]));
    expect(run("double2(facts.s) > 1")).toEqual(because(["facts.s", "missing"]));
  });

  it("that accept unknowns are called with them, and with null", () => {
    seen.length = 0;
    expect(run("documented(facts.a) || documented(facts.b) || documented(facts.c)", { b: null, c: true })).toEqual(
      value(true),
    );
    expect(seen).toEqual([unknown("facts.a", "missing"), null, true]);
  });

  it("know now, may return an unknown, and may charge the budget", () => {
    expect(run("hourNow() == 8")).toEqual(value(true));
    expect(run("limitOf('wire') > 1.0")).toEqual(because(["limits.wire", "missing"]));
    expect(run("heavy()")).toEqual(because(["", "cost"]));
  });

  it("that throw are a fault of the host, which the caller sees", () => {
    const broken = environment({
      functions: [
        {
          name: "broken",
          parameters: [],
          result: BOOL,
          implementation: () => {
            throw new RangeError("bug");
          },
        },
      ],
    });
    expect(() => broken.compile("broken() || true").evaluate({})).toThrow(RangeError);
  });
});

describe("lazy variables", () => {
  const env = environment({
    variables: { facts: DYN, vars: objectOf({ limit: DOUBLE, twice: DOUBLE, loop: DYN, open: DYN }) },
  });
  const limit = env.compile("facts.limit + 1");
  const twice = env.compile("vars.limit * 2");
  const loop = env.compile("vars.loop");
  const open = env.compile("facts.gone.deep > 1");
  let computed = 0;
  const thunks = new Map<string, (c: EvaluationContext) => unknown>([
    [
      "limit",
      (c) => {
        computed++;
        return limit.resolve(c);
      },
    ],
    ["twice", (c) => twice.resolve(c)],
    ["loop", (c) => loop.resolve(c)],
    ["open", (c) => open.resolve(c)],
  ]);
  const run = (source: string, left = 1_000) => {
    computed = 0;
    return env.compile(source).evaluate({ facts: { limit: 4 }, vars: lazy(thunks) }, { budget: { left } });
  };

  it("are computed on first use, once, and may use each other", () => {
    expect(run("vars.twice == 10 && vars.limit == 5 && vars.limit < 6")).toEqual(value(true));
    expect(computed).toBe(1);
    expect(run("true || vars.limit > 1")).toEqual(value(true));
    expect(computed).toBe(0);
  });

  it("keep their own reasons, count against the budget, and cannot be circular", () => {
    expect(run("vars.open")).toEqual(because(["facts.gone.deep", "missing"]));
    expect(run("has(vars.limit) && !has(vars.open)")).toEqual(value(true));
    expect(run("vars.limit > 1", 6)).toEqual(because(["", "cost"]));
    expect(run("vars.loop == 1")).toEqual({ kind: "error", message: "`vars.loop` is defined by itself" });
  });
});

describe("a shared evaluation", () => {
  const env = environment({ variables: { facts: DYN, vars: DYN } });
  const beside = environment({ variables: { facts: DYN, vars: objectOf({ x: DOUBLE }) }, beside: env });
  const alien = environment({ variables: { facts: DYN } });

  it("gives the same answers as separate ones, also in programs of other environments", () => {
    const sources = [
      "facts.a.n > 1",
      "has(facts.a.m) && facts.a.m > 1",
      "facts.b.n == 'x'",
      "facts.list.all(x, x > 0)",
      "facts.c.d.e.f == 1",
      "facts.toString == 1",
    ];
    const bindings = { facts: { a: { n: 2, m: 3 }, b: null, list: [1, 2], c: { d: { e: { f: 1 } } } } };
    for (const e of [env, beside, alien]) {
      const evaluation = env.begin(bindings);
      for (const source of [...sources, ...sources]) {
        const program = e.compile(source);
        expect(program.evaluateIn(evaluation), source).toEqual(program.evaluate(bindings));
      }
      expect(evaluation.left).toBeLessThan(100_000);
    }
  });

  it("runs programs of a shared base, which does not see the programs of its users", () => {
    const base = environment({ variables: { facts: DYN } });
    const bindings = { facts: { a: { n: 1 }, b: { n: 2 }, c: { n: 3 }, d: { n: 4 } } };
    const early = base.compile("facts.a.n == 1");
    const first = environment({ variables: { facts: DYN }, base });
    const second = environment({ variables: { facts: DYN }, base });
    const programs = [early, first.compile("facts.b.n == 2"), second.compile("facts.c.n == 3")];
    // The other programs began earlier, so they already use the next slots of the base.
    programs.push(base.compile("facts.d.n == 4"), first.compile("facts.d.n == 4"));
    programs.push(environment({ variables: { facts: DYN }, base: first }).compile("facts.b.n == 2"));
    for (const env of [first, second, base]) {
      const evaluation = env.begin(bindings);
      for (const program of [...programs, ...programs]) expect(program.evaluateIn(evaluation)).toEqual(value(true));
    }
  });

  it("makes a comparison of a declared path with a value of another kind unknown", () => {
    const params = environment({ variables: { params: mapOf(STRING, DYN) } });
    const bindings = { params: { amount: 5, "cost-center": 7, other: 5 } };
    const found = (source: string, paths = ["params.amount", 'params["cost-center"]']) =>
      params.compile(source).evaluateIn(params.begin(bindings, { declared: new Set(paths) }));
    for (const source of ["params.amount == '5'", "'5' != params['amount']", "params.amount in ['5', '6']"])
      expect(found(source), source).toEqual(because(["params.amount", "type"]));
    expect(found("params['cost-center'] == '7'")).toEqual(because(['params["cost-center"]', "type"]));
    expect(found("params.amount == 5 && params.amount != null && params.amount in ['5', 5]")).toEqual(value(true));
    expect(found("params.other == '5'")).toEqual(value(false));
    expect(found("params.amount == '5'", [])).toEqual(value(false));
  });

  it("shares one budget", () => {
    const program = env.compile("facts.a > 1");
    const evaluation = env.begin({ facts: { a: 2 } }, { units: 6 });
    expect(program.evaluateIn(evaluation)).toEqual(value(true));
    expect(program.evaluateIn(evaluation)).toEqual(because(["", "cost"]));
  });
});

describe("an unknown without a path", () => {
  const env = environment({ variables: { x: DYN }, result: BOOL });
  it.each(["(x.a) + (1)", "(x.a + 1) * (x.a)", "(x.a == 1) ? 1 * x.a : (x.b)"])(
    "is named by its whole expression, brackets included: %s",
    (source) => {
      expect(env.compile(source).evaluate({ x: { a: 1 } })).toEqual(because([source, "type"]));
    },
  );
});
