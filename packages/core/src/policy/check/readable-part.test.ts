import fc from "fast-check";
import { expect, test } from "vitest";
import { checkPolicy } from "./check.ts";

type Members = Record<string, unknown>;

const right = {
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: { name: "p" } as Members,
  spec: { variables: [{ name: "v", expr: "params.a" }], when: "vars.v > 1", effect: "block" } as Members,
};
const pathsIn = (document: Members): string[] => checkPolicy(document).diagnostics.map(({ path }) => path);
const withSpec = (spec: Members): string[] => pathsIn({ ...right, spec: { ...right.spec, ...spec } });

/** Faults in a single member. */
const faults: readonly [path: string, at: "metadata" | "spec", members: Members][] = [
  ["/spec/override", "spec", { override: "Never" }],
  ["/spec/when", "spec", { when: "parms.a > 1" }],
  ["/spec/require", "spec", { require: "1 +" }],
  ["/spec/message", "spec", { message: "{{ nothing.here }}" }],
  ["/spec/escalation/timeout", "spec", { escalation: { timeout: "0s" } }],
  ["/spec/match/actions/0", "spec", { match: { actions: ["Payment"] } }],
  ["/spec/nope", "spec", { nope: 1 }],
  ["/metadata/effective_from", "metadata", { effective_from: "2026-02-30T00:00:00Z" }],
  ["/metadata/severity", "metadata", { severity: "grave" }],
];

test("all problems of form, meaning and expressions are reported together", () => {
  fc.assert(
    fc.property(fc.subarray([...faults]), (chosen) => {
      const document = structuredClone(right);
      for (const [, at, members] of chosen) Object.assign(document[at], members);
      expect(pathsIn(document).sort()).toEqual(chosen.map(([path]) => path).sort());
    }),
  );
});

test("a name with an unreadable declaration gives no finding", () => {
  expect(withSpec({ variables: [{ name: "v", expr: 1 }] })).toEqual(["/spec/variables/0/expr"]);
  expect(withSpec({ variables: "v" })).toEqual(["/spec/variables"]);
  const { variables, ...rest } = right.spec;
  expect(pathsIn({ ...right, spec: { ...rest, variabels: variables } })).toEqual(["/spec/variabels"]);
  expect(pathsIn({ ...right, spec: rest, variables })).toEqual(["/variables"]);
  expect(pathsIn({ ...right, spec: { ...rest, tests: [] } })).toEqual(["/spec/when", "/spec/tests"]);
});

test("relations between parts are checked only if all parts are readable", () => {
  expect(withSpec({ when: 1 })).toEqual(["/spec/when"]);
  expect(withSpec({ effect: "approve", modify: [{ op: "remove", path: "/a" }] })).toEqual(["/spec/effect"]);
});

test("a document without a readable spec has only findings about its form", () => {
  const { spec: _, ...headless } = right;
  expect(pathsIn(headless)).toEqual([""]);
  expect(pathsIn({ ...right, metadata: [], spec: [] })).toEqual(["/metadata", "/spec"]);
});
