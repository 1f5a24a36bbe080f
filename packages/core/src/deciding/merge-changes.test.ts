import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Change } from "../policy/compile.ts";
import { applyPatch } from "../values/json-patch.ts";
import { isJsonLarger } from "../values/json-value.ts";
import { mergeChanges, redactContent } from "./merge-changes.ts";

const content = {
  amount_usd: 900,
  ssn: "123",
  person: { name: "Ada", ssn: "456" },
  items: [{ id: 1 }, { id: 2 }, { id: 3 }],
};
const ask = (op: Change["op"], path: string, value?: unknown, policy = "p"): Change => ({
  policy_id: `pol_${policy}`,
  policy,
  op,
  path,
  ...(value === undefined ? {} : { value }),
});
const plan = (...requests: Change[]) => {
  const result = mergeChanges(content, requests);
  return result.kind === "merged" ? result.operations.map(({ op, path, value }) => [op, path, value]) : [result.kind];
};

describe("modifications", () => {
  test.each([
    [256, "merged"],
    [5_000, "conflict"],
  ])("%d small values together: %s", (count, kind) => {
    const requests = Array.from({ length: count }, (_, n) => ask("set", `/new_${n}`, "x".repeat(250)));
    const result = mergeChanges(content, requests);
    expect(result.kind).toBe(kind);
    if (result.kind === "conflict") expect(result.conflicts[0]?.message).toContain("more than 1048576 bytes");
  });

  test.each(["set", "redact", "remove"] as const)(
    "come by the ten thousand, as policies may ask for them: %s",
    (op) => {
      const requests = Array.from({ length: 10_000 }, (_, n) => ask(op, `/m${n}`, op === "set" ? n : undefined));
      const filled = op === "set" ? {} : Object.fromEntries(requests.map(({ path }) => [path.slice(1), "x"]));
      const result = mergeChanges(filled, requests);
      expect(result.kind === "merged" && result.operations.length).toBe(10_000);
    },
  );

  test("become RFC 6902 operations in the order of their places", () => {
    expect(
      plan(
        ask("set", "/note", "x"),
        ask("cap", "/amount_usd", 500),
        ask("redact", "/ssn"),
        ask("remove", "/person/ssn"),
      ),
    ).toEqual([
      ["replace", "/amount_usd", 500],
      ["add", "/note", "x"],
      ["replace", "/ssn", "[redacted]"],
      ["remove", "/person/ssn", undefined],
    ]);
  });

  test("no value copies what another rule hides, entirely, in part or nested", () => {
    const secret = { ...content, ssn: "123-45-6789", account: 40_440_532 };
    const asked = (value: unknown, ...hides: Change[]) =>
      mergeChanges(secret, [ask("set", "/note", value, "q"), ...hides]);
    for (const value of ["123-45-6789", "SSN 123-45-6789.", { a: [{ b: "123-45-6789" }] }]) {
      for (const hide of [ask("redact", "/ssn"), ask("remove", "/ssn")])
        expect(asked(value, hide)).toMatchObject({ conflicts: [{ path: "/note", policies: ["q"] }] });
      expect(asked(value)).toMatchObject({ kind: "merged" });
    }
    expect(asked(40_440_532, ask("redact", "/account"))).toMatchObject({ kind: "conflict" });
    expect(asked("the end of 6789", ask("redact", "/ssn"))).toMatchObject({ kind: "merged" });
    // A text that also occurs in a visible place is not hidden.
    expect(
      mergeChanges({ ...secret, copy: "123-45-6789" }, [ask("set", "/note", "123-45-6789"), ask("redact", "/ssn")]),
    ).toMatchObject({ kind: "merged" });
  });

  test("a change that already holds makes no operation", () => {
    expect(
      plan(
        ask("cap", "/amount_usd", 900),
        ask("floor", "/amount_usd", 900),
        ask("set", "/ssn", "123"),
        ask("remove", "/none"),
      ),
    ).toEqual([]);
  });

  test("the lowest cap and the highest floor count", () => {
    expect(plan(ask("cap", "/amount_usd", 500), ask("cap", "/amount_usd", 300, "q"))).toEqual([
      ["replace", "/amount_usd", 300],
    ]);
    expect(plan(ask("floor", "/amount_usd", 1000), ask("floor", "/amount_usd", 2000, "q"))).toEqual([
      ["replace", "/amount_usd", 2000],
    ]);
  });

  test.each([
    ["cap", 4, "conflict"],
    ["cap", 5, "merged"],
    ["cap", 6, "merged"],
    ["floor", 4, "merged"],
    ["floor", 5, "merged"],
    ["floor", 6, "conflict"],
    ["cap", "x", "conflict"],
  ] as const)("a 5 that one rule sets and a %s of %j that another one puts on it are %3$s", (op, bound, kind) => {
    const result = mergeChanges({ n: 1 }, [ask("set", "/n", 5), ask(op, "/n", bound, "q")]);
    expect(result).toMatchObject(
      kind === "merged"
        ? { kind, operations: [{ op: "replace", path: "/n", value: 5, policy_id: "pol_p" }] }
        : { kind, conflicts: [{ path: "/n", policies: ["p", "q"] }] },
    );
  });

  test("two rules that set equal values agree, whatever the order of their members", () => {
    const asked = [ask("set", "/to", { a: 1, b: [2] }), ask("set", "/to", { b: [2], a: 1 }, "q")];
    expect(mergeChanges({}, asked)).toMatchObject({
      kind: "merged",
      operations: [{ path: "/to", policy_id: "pol_p" }],
    });
    expect(mergeChanges({}, [...asked, ask("set", "/to", { a: 1 }, "r")])).toMatchObject({ kind: "conflict" });
  });

  test("remove and redact beat a set at or below their place; remove beats redact", () => {
    expect(plan(ask("set", "/person/ssn", "x"), ask("redact", "/person", undefined, "q"))).toEqual([
      ["replace", "/person", "[redacted]"],
    ]);
    for (const [redacts, removes] of [
      ["p", "q"],
      ["q", "p"],
    ])
      expect(
        mergeChanges(content, [ask("redact", "/ssn", undefined, redacts), ask("remove", "/ssn", undefined, removes)]),
      ).toMatchObject({ operations: [{ op: "remove", path: "/ssn", policy_id: `pol_${removes}` }] });
    // Equal changes are attributed to the policy whose name sorts first.
    for (const op of ["redact", "remove"] as const)
      expect(mergeChanges(content, [ask(op, "/ssn", undefined, "q"), ask(op, "/ssn", undefined, "p")])).toMatchObject({
        operations: [{ path: "/ssn", policy_id: "pol_p" }],
      });
    expect(plan(ask("redact", "/person"), ask("remove", "/person/ssn"))).toEqual([
      ["replace", "/person", "[redacted]"],
    ]);
  });

  test("names that differ after 200 characters are two places", () => {
    const [one, two] = [`${"a".repeat(200)}1`, `${"a".repeat(200)}2`];
    const result = mergeChanges({ [one]: "123", [two]: "456" }, [ask("redact", `/${one}`), ask("redact", `/${two}`)]);
    expect(result).toMatchObject({ content: { [one]: "[redacted]", [two]: "[redacted]" } });
  });

  test("a set above a hidden place cannot bring the value back", () => {
    const result = mergeChanges(content, [
      ask("set", "/person", { ssn: "789" }),
      ask("remove", "/person/ssn", undefined, "q"),
    ]);
    expect(result).toMatchObject({ kind: "merged", content: { person: {} } });
  });

  test("entries of a list are removed from the end", () => {
    const result = mergeChanges(content, [
      ask("remove", "/items/0"),
      ask("remove", "/items/2"),
      ask("remove", "/items/10"),
    ]);
    expect(result).toMatchObject({ kind: "merged", content: { items: [{ id: 2 }] } });
  });

  test("an appended entry comes after numbered entries and replaces none", () => {
    const result = mergeChanges({ list: [1] }, [ask("set", "/list/-", "last"), ask("set", "/list/1", "second", "q")]);
    expect(result).toMatchObject({ kind: "merged", content: { list: [1, "second", "last"] } });
  });

  test("missing parent objects are created once", () => {
    expect(plan(ask("set", "/a/b/c", 1), ask("set", "/a/b/d", 2))).toEqual([
      ["add", "/a", {}],
      ["add", "/a/b", {}],
      ["add", "/a/b/c", 1],
      ["add", "/a/b/d", 2],
    ]);
  });

  test.each([
    ["two different values", [ask("set", "/ssn", "x"), ask("set", "/ssn", "y", "q")]],
    ["a place inside another", [ask("set", "/person", {}), ask("set", "/person/name", "y", "q")]],
    ["a cap below a floor", [ask("cap", "/amount_usd", 10), ask("floor", "/amount_usd", 20, "q")]],
    ["a cap on a text", [ask("cap", "/ssn", 10)]],
    ["a cap on nothing", [ask("cap", "/none", 10)]],
    ["a bound that is no number", [ask("cap", "/amount_usd", "10")]],
    ["a set above the cap", [ask("set", "/amount_usd", 50), ask("cap", "/amount_usd", 10, "q")]],
    ["a parent that is no object", [ask("set", "/ssn/part", 1)]],
  ])("%s is a conflict", (_, requests) => {
    expect(mergeChanges(content, requests).kind).toBe("conflict");
  });

  test("all conflicts are reported with their policies", () => {
    const requests = [
      ask("cap", "/ssn", 10),
      ask("set", "/person", {}, "q"),
      ask("set", "/person/name", "y", "r"),
      ask("redact", "/person/ssn", undefined, "s"),
    ];
    const parts = [ask("set", "/ssn/part", 1), ask("set", "/note", 1), ask("set", "/amount_usd/part", 1, "q")];
    const between = (of: Change[]) => {
      const result = mergeChanges(content, of);
      return result.kind === "conflict" ? result.conflicts.map(({ path, policies }) => [path, ...policies]) : [];
    };
    expect(between(requests)).toEqual([
      ["/person/name", "q", "r"],
      ["/ssn", "p"],
    ]);
    expect(between(parts)).toEqual([
      ["/amount_usd/part", "q"],
      ["/ssn/part", "p"],
    ]);
  });

  test("values that make the content too large are a conflict, even if they repeat one text", () => {
    const text = "é".repeat(100_000);
    const asked = (...requests: Change[]) => mergeChanges({ text }, requests).kind;
    expect(asked(...[1, 2, 3, 4].map((n) => ask("set", `/z${n}`, text)))).toBe("merged");
    expect(asked(...[1, 2, 3, 4, 5].map((n) => ask("set", `/z${n}`, text)))).toBe("conflict");
    expect(asked(ask("set", "/z", Array(10_000).fill(text)))).toBe("conflict");
    expect(asked(ask("set", "/text", Array(5).fill(text)))).toBe("merged");
    // Redactions never conflict.
    expect(mergeChanges({ text: text.repeat(9) }, [ask("redact", "/none")]).kind).toBe("merged");
  });

  test.each([[{ a: [1, "é\n", null, true], ü: {}, b: [] }], [["\ud800", 1e21, -0.5, [[]], { a: { b: "" } }]]])(
    "the size of %j is that of its JSON",
    (value) => {
      const bytes = Buffer.byteLength(JSON.stringify(value));
      expect([isJsonLarger(value, bytes), isJsonLarger(value, bytes - 1)]).toEqual([false, true]);
    },
  );

  test("redacted content has no redacted value, and its operations name their places", () => {
    const hides = [ask("redact", "/ssn"), ask("remove", "/person/ssn", undefined, "q"), ask("redact", "/none")];
    const redacted = redactContent(content, hides);
    expect(redacted.content).toEqual({ ...content, ssn: "[redacted]", person: { name: "Ada" } });
    expect(redacted.operations.map(({ path }) => path)).toEqual(["/ssn", "/person/ssn"]);
    expect(redactContent(content, []).content).toBe(content);
  });

  test("numbers and names have one order for any order of changes", () => {
    const [nine, ten, letter] = [ask("set", "/9", 1), ask("set", "/10", 1), ask("set", "/1a", 1)];
    for (const asked of [
      [nine, ten, letter],
      [ten, letter, nine],
      [letter, nine, ten],
    ])
      expect(plan(...asked).map(([, path]) => path)).toEqual(["/9", "/10", "/1a"]);
  });

  test("the order of changes never matters, and the patch produces the result", () => {
    const path = fc.constantFrom("/a", "/a/b", "/n", "/l/0", "/l/1", "/l/2", "/l/-", "/x/y");
    const op = fc.constantFrom("remove", "redact", "set", "cap", "floor") as fc.Arbitrary<Change["op"]>;
    const request = fc
      .tuple(op, path, fc.integer({ min: 0, max: 3 }), fc.constantFrom("p", "q", "r"))
      .map(([o, at, v, p]) => ask(o, at, v, p));
    const original = { a: { b: 1 }, n: 2, l: [1, 2] };
    const pair = fc
      .array(request, { maxLength: 6 })
      .chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })));
    fc.assert(
      fc.property(pair, ([requests, shuffled]) => {
        const result = mergeChanges(original, requests);
        const other = mergeChanges(original, shuffled);
        expect(other.kind).toBe(result.kind);
        if (result.kind !== "merged") return;
        expect(JSON.stringify(other)).toBe(JSON.stringify(result));
        expect(applyPatch(original, result.operations)).toEqual({ ok: true, document: result.content });
      }),
    );
  });
});
